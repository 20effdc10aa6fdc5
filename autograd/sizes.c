/* Numbers of which no differences can be taken. */
#include "autograd/check.h"
#include "autograd/internal.h"

#include <math.h>
#include <stdlib.h>

/* NaN, or a finite number that is absurdly large.  Infinities are left out: masks have them. */
static bool is_absurd(const double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (isnan(x[i]) || (isfinite(x[i]) && fabs(x[i]) > WGI_ABSURD))
            return true;
    return false;
}

/* The f64 results of nodes on the path; returns how many. */
static size_t results_on_path(const wgi_path *p, wg_value **out)
{
    size_t count = 0;
    for (uint32_t id = p->first; id < p->end; id++) {
        const wg_node *n = wg_graph_node(p->g, id);
        for (int i = 0; p->matters[id - p->first] && i < n->n_out; i++)
            if (n->out[i]->dtype == WG_F64)
                out[count++] = n->out[i];
    }
    return count;
}

wg_status wgi_find_absurd(wgi_trial *t)
{
    wgi_path path = {0};
    wgi_evaluation e = {.t = NULL};
    wg_value **out = calloc(wg_graph_value_count(t->g) + 1, sizeof *out);
    bool found = out && wgi_path_find(&path, t->g, 0, t->y, t->n_y, t->wrt, t->n_wrt);
    size_t count = found ? results_on_path(&path, out) : 0;
    wg_status status = found ? wgi_evaluation_open(&e, t, out, count, true) : WG_ENOMEM;
    if (status == WG_OK)
        status = wgi_evaluation_run(&e);
    for (size_t i = 0; i < count && status == WG_OK; i++)
        if (is_absurd(wgi_evaluation_data(&e, out[i]), wg_value_count(out[i]))) {
            wgi_place_text(out[i]->node, t->report->absurd, sizeof t->report->absurd);
            break;
        }
    wgi_evaluation_close(&e);
    wgi_path_free(&path);
    free(out);
    return status;
}
