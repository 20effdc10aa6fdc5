/* The gradient check of one op on a sample. */
#include "autograd/check.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* The op on its sample in f64: one input for each operand, named as the op names it.  `at` outlives
 * the graph.  Without a node, the graph is in error or NULL. */
static wg_graph *build_sample(const char *at, const wg_op *op, const wg_sample *s, wg_node **node)
{
    wg_value *in[WG_MAX_SAMPLE_OPERANDS] = {NULL};
    wg_graph *g = wg_graph_new();
    wg_graph *f64 = NULL;
    for (int i = 0; i < s->n_in && i < WG_MAX_SAMPLE_OPERANDS; i++) {
        const wg_sample_operand *x = &s->in[i];
        char name[64];
        wg_op_operand_name(op, i, name, sizeof name);
        in[i] = wg_input(g, name, x->dtype ? x->dtype : WG_F64, x->shape);
    }
    wg_apply(at, g, op, s->attrs, in, s->n_in);
    if (wg_graph_status(g) == WG_OK)
        f64 = wg_graph_clone(g, &(wg_clone_options){.floats_as = WG_F64, .keep_all = true}, NULL);
    else
        return g;
    wg_graph_free(g);
    if (wg_graph_status(f64) == WG_OK)
        *node = wg_graph_node(f64, wg_graph_node_count(f64) - 1);
    return f64;
}

static wg_status open_sample(wgi_trial *t, const char *at, const wg_op *op, const wg_sample *s)
{
    wg_node *n = NULL;
    t->g = build_sample(at, op, s, &n);
    if (!n)
        return wgi_graph_error(t, wg_graph_status(t->g));
    t->y = calloc((size_t)n->n_out + 1, sizeof *t->y);
    t->wrt = calloc((size_t)n->n_in + 1, sizeof *t->wrt);
    if (!t->y || !t->wrt)
        return WG_ENOMEM;
    t->report->empty = true;
    for (int i = 0; i < n->n_in; i++) {
        const wg_sample_operand *x = &s->in[i];
        bool is_float = n->in[i]->dtype == WG_F64, none = x->lo == 0 && x->hi == 0;
        double lo = none ? (is_float ? -2 : 0) : x->lo, hi = none ? 2 : x->hi;
        wgi_point *p = wgi_trial_add_point(t, n->in[i], lo, hi);
        if (!p)
            return WG_ENOMEM;
        p->matrices = x->matrices;
        if (!is_float)
            continue;
        t->wrt[t->n_wrt++] = n->in[i];
        t->report->empty &= wg_value_count(n->in[i]) == 0;
    }
    t->report->empty &= t->n_wrt > 0;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->dtype == WG_F64)
            t->y[t->n_y++] = n->out[i];
    t->report->no_derivative = op->flags & WG_OP_DISCRETE || !t->n_y || !t->n_wrt;
    return wgi_draw_grid(t, op->kinks, op->n_kinks);
}

/* A gradient that must be zero. */
static wg_status expect_zeros(wgi_trial *t, const double *d, int64_t count)
{
    for (int64_t k = 0; k < count; k++, t->report->compared++)
        if (!(d[k] == 0)) {
            t->report->verdict = WG_GRADCHECK_WRONG;
            return wgi_trial_error(t, WG_EDATA, "the op is discrete, yet its gradient is %g", d[k]);
        }
    return WG_OK;
}

/* Where there is no derivative, the gradient is made of exact zeros. */
static wg_status check_zeros(wgi_trial *t)
{
    wgi_evaluation e = {.t = NULL};
    wg_value **dy = calloc(t->n_y + 1, sizeof *dy), **dx = calloc(t->n_wrt + 1, sizeof *dx);
    wg_status status = dy && dx ? wgi_draw_cotangents(t, 1, dy) : WG_ENOMEM;
    if (status == WG_OK)
        status = wg_vjp(t->y, dy, t->n_y, t->wrt, t->n_wrt, NULL, dx);
    if (status == WG_OK)
        status = wgi_evaluation_open(&e, t, dx, t->n_wrt, false);
    if (status == WG_OK)
        status = wgi_evaluation_run(&e);
    for (size_t i = 0; status == WG_OK && i < t->n_wrt; i++)
        status = expect_zeros(t, wgi_evaluation_data(&e, dx[i]), wg_value_count(dx[i]));
    wgi_evaluation_close(&e);
    free(dy);
    free(dx);
    return wgi_graph_error(t, status);
}

/* All float results, whose number is put into *results, or `only` one of them. */
static wg_status check_sample(wgi_trial *t, const char *at, const wg_op *op,
                              const wg_sample *sample, int only, int *results)
{
    wgi_set_differences(t, t->options->differences == WG_DIFFERENCES_DEFAULT     ? op->smoothness
                           : t->options->differences == WG_DIFFERENCES_TWO_POINT ? WG_KINKED
                                                                                 : WG_SMOOTH);
    t->max = SIZE_MAX / 2;
    wg_status status = open_sample(t, at, op, sample);
    *results = (int)t->n_y;
    if (status == WG_OK && only >= 0) {
        t->y[0] = t->y[only];
        t->n_y = 1;
    }
    if (status == WG_OK && t->n_y && t->n_wrt)
        status = t->report->no_derivative ? check_zeros(t) : wgi_check_orders(t);
    return wgi_graph_error(t, status);
}

wg_status wg_gradcheck_op(const wg_op *op, const wg_sample *sample,
                          const wg_gradcheck_options *options, wg_gradcheck_report *report)
{
    wg_gradcheck_report own, *r = report ? report : &own;
    *r = (wg_gradcheck_report){0};
    wg_status status = wgi_gradcheck_options_check(options, r);
    if (status == WG_OK && (!op || !sample)) {
        snprintf(r->message, sizeof r->message, "the %s is NULL", op ? "sample" : "op");
        return WG_EINVAL;
    }
    char at[120]; /* outlives the graphs */
    snprintf(at, sizeof at, "sample '%s'", status == WG_OK && sample->name ? sample->name : "only");
    int end = 0; /* of the passes: -1 for all results together, then one for each alone */
    for (int only = -1; status == WG_OK && !r->failed && only < end; only++) {
        int results;
        wgi_trial t = {.random = options->seed, .options = options, .report = r};
        *r->message = '\0'; /* nothing is known of this pass */
        r->verdict = WG_GRADCHECK_NONE;
        status = check_sample(&t, at, op, sample, only, &results);
        end = results > 1 ? results : 0;
        if (status == WG_OK)
            status = wgi_verdict(&t);
        wgi_trial_close(&t);
        wg_graph_free(t.g);
    }
    return status;
}
