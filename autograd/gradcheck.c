/* The gradient check: whole graphs, single ops, order by order. */
#include "autograd/check.h"
#include "graph/element.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the graph's own message says, if it is in error. */
static wg_status graph_error(wgi_trial *t, wg_status status)
{
    if (status != WG_OK && !*t->report->message)
        wgi_trial_error(t, status, "%s",
                        wg_graph_status(t->g) == WG_OK ? wg_status_text(status)
                                                       : wg_graph_message(t->g));
    return status;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* The gradient becomes the function: y := dx, wrt := wrt and dy.  Takes dx. */
static wg_status differentiate_again(wgi_trial *t, wg_value *const *dy, wg_value **dx)
{
    size_t n_y = t->n_y, n_wrt = t->n_wrt;
    wg_value **wrt = realloc(t->wrt, sizeof *wrt * (n_wrt + n_y + 1));
    if (!wrt)
        return WG_ENOMEM;
    memcpy(wrt + n_wrt, dy, sizeof *wrt * n_y);
    free(t->y);
    t->y = dx;
    t->n_y = n_wrt;
    t->wrt = wrt;
    t->n_wrt = n_wrt + n_y;
    return WG_OK;
}

static wg_status check_order(wgi_trial *t, int order, bool last)
{
    size_t failed = t->report->failed;
    wg_vjp_options vjp = {.hook = order == 1 ? t->options->hook : NULL};
    wg_value **dy = calloc(t->n_y + 1, sizeof *dy), **dx = calloc(t->n_wrt + 1, sizeof *dx);
    wg_status status = dy && dx ? wgi_draw_cotangents(t, order, dy) : WG_ENOMEM;
    if (status == WG_OK)
        status = wg_vjp(t->y, dy, t->n_y, t->wrt, t->n_wrt, &vjp, dx);
    if (status == WG_OK)
        status = wgi_compare_differences(t, order, dy, dx);
    if (status == WG_OK && t->report->failed > failed && !t->options->no_blame)
        status = wgi_blame(t);
    if (status == WG_OK && !last) {
        status = differentiate_again(t, dy, dx);
        if (status == WG_OK)
            dx = NULL; /* the trial's now */
    }
    free(dy);
    free(dx);
    return graph_error(t, status);
}

static wg_status check_orders(wgi_trial *t)
{
    int orders = t->options->order > 0 ? t->options->order : 1;
    wg_status status = WG_OK;
    for (int order = 1; order <= orders && status == WG_OK && !t->report->failed; order++)
        status = check_order(t, order, order == orders);
    return status;
}

/* The verdict, once all has been compared. */
static wg_status verdict(wgi_trial *t)
{
    wg_gradcheck_report *r = t->report;
    if (r->failed)
        return wgi_trial_error(t, WG_EDATA,
                               "order %d: %s[%lld]: gradient %.17g, differences %.17g, error %.3g "
                               "above %.3g (%zu of %zu "
                               "elements); %s%s",
                               r->order, r->leaf, (long long)r->index, r->analytic, r->numeric,
                               r->worst, r->tolerance, r->failed, r->compared,
                               *r->guilty ? "the rule at fault: " : "each rule alone is right",
                               r->guilty);
    if (!r->compared && !r->empty && !r->no_derivative)
        return wgi_trial_error(t, WG_EDATA, "nothing was compared");
    if (r->skipped * 20 > r->skipped + r->compared)
        return wgi_trial_error(t, WG_EDATA, "%zu of %zu elements lie at a kink, more than 5%%",
                               r->skipped, r->skipped + r->compared);
    return wgi_trial_error(
        t, WG_OK, "%zu elements compared, %zu skipped, largest error %.3g (tolerance %.3g)",
        r->compared, r->skipped, r->worst, r->tolerance);
}

static void set_differences(wgi_trial *t, wg_smoothness smoothness)
{
    t->four_point = smoothness == WG_SMOOTH;
    t->dyadic = smoothness == WG_PIECEWISE_LINEAR;
    t->h = t->four_point ? 0x1p-10 : 6e-6;
    t->tolerance = t->report->tolerance = t->four_point ? 1e-9 : t->dyadic ? 1e-15 : 1e-8;
}

static wg_status check_options(const wg_gradcheck_options *o, wg_gradcheck_report *r)
{
    if (o && o->evaluator && o->order >= 0 && (!o->n_leaves || o->leaves) && (!o->n_y || o->y) &&
        (!o->n_wrt || o->wrt))
        return WG_OK;
    snprintf(r->message, sizeof r->message,
             "the options lack an evaluator, or an array of which they give the size");
    return WG_EINVAL;
}

/* ---- one op ---------------------------------------------------------------------------------- */

/* The op on its sample in f64: one input for each operand.  Without a node, the graph is in error
 * or NULL. */
static wg_graph *build_sample(const wg_op *op, const wg_sample *s, wg_node **node)
{
    wg_value *in[WG_MAX_SAMPLE_OPERANDS] = {NULL};
    wg_graph *g = wg_graph_new();
    wg_graph *f64 = NULL;
    for (int i = 0; i < s->n_in && i < WG_MAX_SAMPLE_OPERANDS; i++) {
        const wg_sample_operand *x = &s->in[i];
        char name[64];
        snprintf(name, sizeof name, "operand%d", i);
        in[i] = wg_input(g, name, x->dtype ? x->dtype : WG_F64, x->shape);
    }
    wg_apply(WG_HERE, g, op, s->attrs, in, s->n_in);
    if (wg_graph_status(g) == WG_OK)
        f64 = wg_graph_clone(g, &(wg_clone_options){.floats_as = WG_F64, .keep_all = true}, NULL);
    else
        return g;
    wg_graph_free(g);
    if (wg_graph_status(f64) == WG_OK)
        *node = wg_graph_node(f64, wg_graph_node_count(f64) - 1);
    return f64;
}

static wg_status open_sample(wgi_trial *t, const wg_op *op, const wg_sample *s)
{
    wg_node *n = NULL;
    t->g = build_sample(op, s, &n);
    if (!n)
        return graph_error(t, wg_graph_status(t->g));
    t->y = calloc((size_t)n->n_out + 1, sizeof *t->y);
    t->wrt = calloc((size_t)n->n_in + 1, sizeof *t->wrt);
    if (!t->y || !t->wrt)
        return WG_ENOMEM;
    t->report->empty = true;
    for (int i = 0; i < n->n_in; i++) {
        const wg_sample_operand *x = &s->in[i];
        bool is_float = n->in[i]->dtype == WG_F64, none = x->lo == 0 && x->hi == 0;
        double lo = none ? (is_float ? -2 : 0) : x->lo, hi = none ? 2 : x->hi;
        if (!wgi_trial_add_point(t, n->in[i], lo, hi))
            return WG_ENOMEM;
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

/* Where there is no derivative, the gradient is made of exact zeros. */
static wg_status check_zeros(wgi_trial *t)
{
    const wg_evaluator *e = t->options->evaluator;
    void *run = NULL;
    wg_value **dy = calloc(t->n_y + 1, sizeof *dy), **dx = calloc(t->n_wrt + 1, sizeof *dx);
    wg_status status = dy && dx ? wgi_draw_cotangents(t, 1, dy) : WG_ENOMEM;
    if (status == WG_OK)
        status = wg_vjp(t->y, dy, t->n_y, t->wrt, t->n_wrt, NULL, dx);
    if (status == WG_OK)
        status = wgi_trial_open(t, dx, t->n_wrt, &run);
    if (status == WG_OK)
        status = e->run(run, t->options->step);
    for (size_t i = 0; status == WG_OK && i < t->n_wrt; i++) {
        const double *d = e->data(run, dx[i]);
        int64_t count = wg_value_count(dx[i]);
        for (int64_t k = 0; k < count && status == WG_OK; k++, t->report->compared++)
            if (!(d[k] == 0))
                status = wgi_trial_error(t, WG_EDATA, "the op is discrete, yet its gradient is %g",
                                         d[k]);
    }
    e->destroy(run);
    free(dy);
    free(dx);
    return graph_error(t, status);
}

static wg_status check_sample(wgi_trial *t, const wg_op *op, const wg_sample *sample, int only)
{
    set_differences(t, t->options->differences == WG_DIFFERENCES_DEFAULT     ? op->smoothness
                       : t->options->differences == WG_DIFFERENCES_TWO_POINT ? WG_KINKED
                                                                             : WG_SMOOTH);
    t->max = SIZE_MAX / 2;
    wg_status status = open_sample(t, op, sample);
    if (status == WG_OK && only >= 0 && only < (int)t->n_y) {
        t->y[0] = t->y[only];
        t->n_y = 1;
    }
    if (status == WG_OK && t->n_y && t->n_wrt)
        status = t->report->no_derivative ? check_zeros(t) : check_orders(t);
    return graph_error(t, status);
}

wg_status wg_gradcheck_op(const wg_op *op, const wg_sample *sample,
                          const wg_gradcheck_options *options, wg_gradcheck_report *report)
{
    wg_gradcheck_report own, *r = report ? report : &own;
    *r = (wg_gradcheck_report){0};
    wg_status status = check_options(options, r);
    if (status == WG_OK && (!op || !sample)) {
        snprintf(r->message, sizeof r->message, "the %s is NULL", op ? "sample" : "op");
        return WG_EINVAL;
    }
    size_t results = 1;
    for (int only = -1; status == WG_OK && only < (int)results && !r->failed; only++) {
        /* -1: all results together; then each alone */
        wgi_trial t = {.random = options->seed, .options = options, .report = r};
        status = check_sample(&t, op, sample, only);
        if (only < 0)
            results = t.n_y > 1 ? t.n_y : 0;
        if (status == WG_OK && (r->failed || only + 1 == (int)results))
            status = verdict(&t);
        wgi_trial_close(&t);
        wg_graph_free(t.g);
    }
    return status;
}

/* ---- a whole graph --------------------------------------------------------------------------- */

static bool holds_data(const wg_node *n)
{
    return n->op->flags & WG_OP_LEAF && n->op->flags & WG_OP_OPAQUE; /* not a constant */
}

/* The user's numbers, floats widened as the graph was. */
static void take_data(wgi_point *p, const wg_value *from, const void *data)
{
    int64_t count = wg_value_count(from);
    if (!wg_dtype_is_float(from->dtype))
        memcpy(p->data, data, wg_value_bytes(from));
    else
        for (int64_t i = 0; i < count; i++)
            ((double *)p->data)[i] = wgi_get_element(data, from->dtype, i);
}

static wg_status fill_leaf(wgi_trial *t, const wg_value *from, wg_value *leaf)
{
    const wg_gradcheck_leaf *given = NULL;
    for (size_t i = 0; i < t->options->n_leaves && !given; i++)
        if (t->options->leaves[i].leaf == from)
            given = &t->options->leaves[i];
    char name[128];
    wg_value_text(from, name, sizeof name);
    if (wg_dtype_is_int(leaf->dtype) && (!given || (!given->data && !(given->lo < given->hi))))
        return wgi_trial_error(t, WG_EINVAL, "%s holds integers: give its data or a range", name);
    bool ranged = given && given->lo < given->hi;
    wgi_point *p = wgi_trial_add_point(t, leaf, ranged ? given->lo : -1, ranged ? given->hi : 1);
    if (!p)
        return WG_ENOMEM;
    if (given && given->data)
        take_data(p, from, given->data);
    else
        wgi_draw_point(p, &t->random);
    return WG_OK;
}

/* y and wrt, in the copy: those of the options, or all. */
static wg_status choose_values(wgi_trial *t, const wg_graph *from, wg_value **map)
{
    const wg_gradcheck_options *o = t->options;
    size_t values = wg_graph_value_count(from), outputs = wg_graph_output_count(from);
    t->y = calloc(o->n_y + outputs + 1, sizeof *t->y);
    t->wrt = calloc(o->n_wrt + values + 1, sizeof *t->wrt);
    if (!t->y || !t->wrt)
        return WG_ENOMEM;
    for (size_t i = 0; i < o->n_y; i++) {
        if (!o->y[i] || wg_graph_of(o->y[i]) != from || map[o->y[i]->id]->dtype != WG_F64)
            return wgi_trial_error(t, WG_EINVAL, "y[%zu] is no f32 or f64 value of the graph", i);
        t->y[t->n_y++] = map[o->y[i]->id];
    }
    for (size_t i = 0; !o->n_y && i < outputs; i++)
        if (map[wg_graph_output(from, i)->id]->dtype == WG_F64)
            t->y[t->n_y++] = map[wg_graph_output(from, i)->id];
    for (size_t i = 0; i < o->n_wrt; i++) {
        wg_value *v = o->wrt[i];
        if (!v || wg_graph_of(v) != from || map[v->id]->dtype != WG_F64 || !holds_data(v->node))
            return wgi_trial_error(t, WG_EINVAL, "wrt[%zu] is no f32 or f64 leaf of the graph", i);
        t->wrt[t->n_wrt++] = map[v->id];
    }
    for (size_t i = 0; !o->n_wrt && i < values; i++) {
        const wg_value *v = wg_graph_value(from, i);
        if (holds_data(v->node) && map[i]->dtype == WG_F64)
            t->wrt[t->n_wrt++] = map[i];
    }
    if (!t->n_y || !t->n_wrt)
        return wgi_trial_error(t, WG_EINVAL, "no float %s",
                               t->n_y ? "leaf to differentiate in" : "output");
    return WG_OK;
}

static wg_status open_graph(wgi_trial *t, wg_graph *g)
{
    const wg_clone_options clone = {.floats_as = WG_F64, .keep_all = true};
    size_t values = wg_graph_value_count(g);
    wg_value **map = calloc(values + 1, sizeof *map);
    wg_status status = WG_ENOMEM;
    if (!map || !(t->g = wg_graph_clone(g, &clone, map)))
        goto done;
    if ((status = wg_graph_status(t->g)) == WG_OK)
        status = choose_values(t, g, map);
    for (size_t i = 0; i < values && status == WG_OK; i++)
        if (holds_data(wg_graph_value(g, i)->node))
            status = fill_leaf(t, wg_graph_value(g, i), map[i]);
done:
    free(map);
    return t->g ? graph_error(t, status) : status;
}

wg_status wg_gradcheck(wg_graph *g, const wg_gradcheck_options *options,
                       wg_gradcheck_report *report)
{
    wg_gradcheck_report own, *r = report ? report : &own;
    *r = (wg_gradcheck_report){0};
    wg_status status = check_options(options, r);
    if (status == WG_OK && (status = wg_graph_status(g)) != WG_OK)
        snprintf(r->message, sizeof r->message, "%s", wg_graph_message(g));
    if (status != WG_OK)
        return status;
    wgi_trial t = {.random = options->seed,
                   .options = options,
                   .report = r,
                   .may_skip = true,
                   .max = options->max ? options->max : 64};
    set_differences(&t, options->differences == WG_DIFFERENCES_FOUR_POINT ? WG_SMOOTH : WG_KINKED);
    status = open_graph(&t, g);
    if (status == WG_OK)
        status = check_orders(&t);
    if (status == WG_OK)
        status = verdict(&t);
    wgi_trial_close(&t);
    wg_graph_free(t.g);
    return status;
}
