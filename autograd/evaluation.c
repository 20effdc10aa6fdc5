/* Values of a trial's graph at its points.
 *
 * stop_gradient(x) has the derivative 0 by definition, but its value changes with x, and
 * differences would see that.  They are therefore taken of a copy of the graph in which each
 * stop_gradient is an input that holds the value at the trial's points. */
#include "autograd/trial.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

static bool is_stop(const wg_node *n)
{
    return n->op == &wg_op_stop_gradient && wg_dtype_is_float(n->out[0]->dtype);
}

/* The results of stop_gradient in g; writes as many as there are, if `out` is not NULL. */
static size_t find_stops(const wg_graph *g, wg_value **out)
{
    size_t count = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (is_stop(n) && out)
            out[count] = n->out[0];
        count += is_stop(n);
    }
    return count;
}

static bool hold(void *context, wg_graph *to, const wg_node *n, wg_value *const *in, wg_value **y)
{
    (void)context;
    (void)in;
    if (!is_stop(n))
        return false;
    char name[64];
    snprintf(name, sizeof name, "held by stop_gradient %u", n->id);
    y[0] = wg_input(to, name, n->out[0]->dtype, n->out[0]->shape);
    return true;
}

/* ---- numbers of leaves ----------------------------------------------------------------------- */

static wg_status copy_in(const wgi_evaluation *e, const wg_value *leaf, const void *data)
{
    size_t bytes = wg_value_bytes(leaf);
    void *to = bytes ? wgi_evaluation_data(e, leaf) : NULL;
    if (bytes && (!to || !data))
        return WG_ENOMEM;
    if (bytes)
        memcpy(to, data, bytes);
    return WG_OK;
}

static wg_status fill_points(const wgi_evaluation *e)
{
    wg_status status = WG_OK;
    for (size_t i = 0; status == WG_OK && i < e->t->n_points; i++)
        status = copy_in(e, e->t->points[i].leaf, e->t->points[i].data);
    return status;
}

/* Fills the inputs that stand for `stops` in the copy. */
static wg_status fill_held(const wgi_evaluation *e, wg_value *const *stops, size_t n)
{
    wgi_evaluation plain;
    wg_status status = wgi_evaluation_open(&plain, e->t, stops, n, false);
    if (status == WG_OK)
        status = wgi_evaluation_run(&plain);
    for (size_t i = 0; status == WG_OK && i < n; i++)
        status = copy_in(e, stops[i], wgi_evaluation_data(&plain, stops[i]));
    wgi_evaluation_close(&plain);
    return status;
}

/* ---- evaluations ----------------------------------------------------------------------------- */

/* The copy with constants in the place of stop_gradient. */
static wg_status make_copy(wgi_evaluation *e)
{
    const wg_clone_options options = {.keep_all = true, .replace = hold};
    e->map = calloc(wg_graph_value_count(e->t->g) + 1, sizeof *e->map);
    if (!e->map || !(e->held = wg_graph_clone(e->t->g, &options, e->map)))
        return WG_ENOMEM;
    return wg_graph_status(e->held);
}

static wg_status create_run(wgi_evaluation *e, wg_value *const *outputs, size_t n)
{
    const wg_evaluator *evaluator = e->t->options->evaluator;
    if (!e->held)
        return evaluator->create(&e->run, e->t->g, outputs, n);
    wg_value **mapped = malloc(sizeof *mapped * (n + 1));
    if (!mapped)
        return WG_ENOMEM;
    for (size_t i = 0; i < n; i++)
        mapped[i] = e->map[outputs[i]->id];
    wg_status status = evaluator->create(&e->run, e->held, mapped, n);
    free(mapped);
    return status;
}

wg_status wgi_evaluation_open(wgi_evaluation *e, const wgi_trial *t, wg_value *const *outputs,
                              size_t n, bool with_hold)
{
    *e = (wgi_evaluation){.t = t};
    size_t n_stops = with_hold ? find_stops(t->g, NULL) : 0;
    wg_value **stops = malloc(sizeof *stops * (n_stops + 1));
    wg_status status = stops ? WG_OK : WG_ENOMEM;
    if (status == WG_OK && n_stops)
        status = make_copy(e);
    if (status == WG_OK)
        status = create_run(e, outputs, n);
    if (status == WG_OK)
        status = fill_points(e);
    if (status == WG_OK && n_stops) {
        find_stops(t->g, stops);
        status = fill_held(e, stops, n_stops);
    }
    free(stops);
    return status;
}

void wgi_evaluation_close(wgi_evaluation *e)
{
    if (e->t)
        e->t->options->evaluator->destroy(e->run);
    wg_graph_free(e->held);
    free(e->map);
    *e = (wgi_evaluation){.t = NULL};
}

void *wgi_evaluation_data(const wgi_evaluation *e, const wg_value *v)
{
    return e->t->options->evaluator->data(e->run, e->map ? e->map[v->id] : v);
}

wg_status wgi_evaluation_run(const wgi_evaluation *e)
{
    return e->t->options->evaluator->run(e->run, e->t->options->step);
}

const char *wgi_evaluation_message(const wgi_evaluation *e)
{
    if (e->run)
        return e->t->options->evaluator->message(e->run);
    return wg_graph_message(e->held ? e->held : e->t->g);
}
