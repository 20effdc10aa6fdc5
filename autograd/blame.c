/* Which rule is wrong: each node between wrt and y is checked alone, at the operand values that it
 * had. */
#include "autograd/check.h"
#include "autograd/internal.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLAME_MAX = 12 }; /* elements of an operand: a wrong rule is wrong nearly everywhere */

/* The values that nodes on the path read, each once; false without memory. */
static bool operands_on_path(const wgi_path *p, wg_value **out, size_t *count)
{
    bool *seen = calloc(p->end_value + 1, sizeof *seen);
    if (!seen)
        return false;
    for (uint32_t id = p->first; id < p->end; id++) {
        const wg_node *n = wg_graph_node(p->g, id);
        for (int i = 0; p->matters[id - p->first] && i < n->n_in; i++) {
            if (!seen[n->in[i]->id])
                out[(*count)++] = n->in[i];
            seen[n->in[i]->id] = true;
        }
    }
    free(seen);
    return true;
}

/* The node n in a graph of its own, with inputs for operands, at the values of `run`. */
static wg_status build_alone(wgi_trial *one, const wgi_trial *t, const wg_node *n, void *run)
{
    size_t n_in = (size_t)n->n_in, n_out = (size_t)n->n_out;
    wg_value **in = calloc(n_in + 1, sizeof *in);
    one->g = wg_graph_new();
    one->y = calloc(n_out + 1, sizeof *one->y);
    one->wrt = calloc(n_in + 1, sizeof *one->wrt);
    wg_status status = in && one->g && one->y && one->wrt ? WG_OK : WG_ENOMEM;
    for (size_t i = 0; status == WG_OK && i < n_in; i++) {
        char name[32];
        snprintf(name, sizeof name, "operand%zu", i);
        size_t first = 0; /* f(x, x) is checked as such */
        while (n->in[first] != n->in[i])
            first++;
        if (first < i) {
            in[i] = in[first];
            continue;
        }
        in[i] = wg_input(one->g, name, n->in[i]->dtype, n->in[i]->shape);
        wgi_point *p = wgi_trial_add_point(one, in[i], 0, 0);
        size_t bytes = wg_value_bytes(n->in[i]);
        const void *data = bytes ? t->options->evaluator->data(run, n->in[i]) : NULL;
        if (!p || (bytes && !data))
            status = WG_ENOMEM;
        else if (bytes)
            memcpy(p->data, data, bytes);
        if (in[i] && n->in[i]->dtype == WG_F64)
            one->wrt[one->n_wrt++] = in[i];
    }
    wg_node *copy = status == WG_OK ? wg_node_copy(one->g, n, in, WG_DTYPE_DEFAULT) : NULL;
    for (size_t i = 0; copy && i < n_out; i++)
        if (copy->out[i]->dtype == WG_F64)
            one->y[one->n_y++] = copy->out[i];
    free(in);
    return status == WG_OK ? wg_graph_status(one->g) : status;
}

/* The largest error of n's rule into *error; 0 if it cannot be checked alone.  Fails only without
 * memory. */
static wg_status error_alone(const wgi_trial *t, const wg_node *n, void *run, double *error)
{
    wg_gradcheck_report report = {0};
    wgi_trial one = {.random = t->options->seed + n->id,
                     .may_skip = true,
                     .h = 6e-6,
                     .tolerance = 1e-8,
                     .max = BLAME_MAX,
                     .options = t->options,
                     .report = &report};
    wg_vjp_options vjp = {.hook = t->options->hook};
    wg_value **dy = NULL, **dx = NULL;
    wg_status status = build_alone(&one, t, n, run);
    if (status == WG_OK && one.n_y && one.n_wrt) {
        dy = calloc(one.n_y, sizeof *dy);
        dx = calloc(one.n_wrt, sizeof *dx);
        status = dy && dx ? wgi_draw_cotangents(&one, 1, dy) : WG_ENOMEM;
        if (status == WG_OK)
            status = wg_vjp(one.y, dy, one.n_y, one.wrt, one.n_wrt, &vjp, dx);
        if (status == WG_OK)
            status = wgi_compare_differences(&one, 1, dy, dx);
    }
    free(dy);
    free(dx);
    wgi_trial_close(&one);
    wg_graph_free(one.g);
    bool wrong = status == WG_OK && report.failed;
    *error = !wrong ? 0 : isnan(report.worst) ? INFINITY : report.worst;
    return status == WG_ENOMEM ? status : WG_OK;
}

static void name_guilty(wg_gradcheck_report *r, const wg_node *n)
{
    static const char *const phases[] = {"forward", "backward", "update"};
    const char *path = n->scope->path, *slash = n->at ? strrchr(n->at, '/') : NULL;
    snprintf(r->guilty, sizeof r->guilty, "op %s%s%.100s at %.80s (%s)", n->op->name,
             *path ? " in " : "", path, n->at ? (slash ? slash + 1 : n->at) : "no line",
             phases[n->phase]);
}

wg_status wgi_blame(wgi_trial *t)
{
    wgi_path path = {0};
    void *run = NULL;
    wg_value **values = calloc(wg_graph_value_count(t->g) + 1, sizeof *values);
    size_t n_values = 0;
    bool found = values && wgi_path_find(&path, t->g, 0, t->y, t->n_y, t->wrt, t->n_wrt) &&
                 operands_on_path(&path, values, &n_values);
    wg_status status = found ? wgi_trial_open(t, values, n_values, &run) : WG_ENOMEM;
    if (status == WG_OK)
        status = t->options->evaluator->run(run, t->options->step);
    double worst = 0;
    for (uint32_t id = 0; status == WG_OK && id < path.end; id++) {
        const wg_node *n = wg_graph_node(t->g, id);
        double error = 0;
        if (path.matters[id])
            status = error_alone(t, n, run, &error);
        if (error > worst)
            name_guilty(t->report, n);
        worst = fmax(worst, error);
    }
    t->options->evaluator->destroy(run);
    wgi_path_free(&path);
    free(values);
    return status;
}
