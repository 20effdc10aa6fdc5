#include "wengert/ops/scan.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const wg_attr attrs[] = {
    WG_ATTR(AXIS, wg_linear_scan_attrs, axis),
    WG_ATTR(BOOL, wg_linear_scan_attrs, reverse),
};

/* The shape of one step: x's without the axis. */
static wg_shape step_shape(const wg_shape *x, int axis)
{
    wg_axes along = {.count = 1, .axis = {axis}};
    return wg_shape_reduced(x, &along, WG_DROP);
}

/* Operand i is the state before the first step of x. */
static bool need_initial(wg_node *n, int i, const wg_shape *x, int axis)
{
    char is[160], must[160];
    wg_shape wanted = step_shape(x, axis);
    return wg_need_same_dtype(n, i, 0) &&
           (wg_shape_equal(&n->in[i]->shape, &wanted) ||
            wg_fail(n, WG_ESHAPE, "initial is %s, must be %s: x without axis %d",
                    wg_shape_text(&n->in[i]->shape, is, sizeof is),
                    wg_shape_text(&wanted, must, sizeof must), axis));
}

static bool infer_scan(wg_node *n)
{
    const wg_linear_scan_attrs *a = n->attrs;
    int axis;
    return wg_need_float(n, 0) && wg_need_same_dtype(n, 0, 1) && wg_need_same_shape(n, 0, 1) &&
           wg_need_axis(n, 1, a->axis, &axis) &&
           (n->n_in < 3 || need_initial(n, 2, &n->in[1]->shape, axis)) &&
           wg_set_result(n, 0, n->in[1]->dtype, n->in[1]->shape);
}

/* dy a y initial? -> da dx dinitial */
static bool infer_scan_grad(wg_node *n)
{
    const wg_linear_scan_attrs *a = n->attrs;
    const wg_value *dy = n->in[0];
    int axis;
    return wg_need_float(n, 0) && wg_need_same_dtype(n, 0, 1) && wg_need_same_dtype(n, 0, 2) &&
           wg_need_same_shape(n, 0, 1) && wg_need_same_shape(n, 0, 2) &&
           wg_need_axis(n, 0, a->axis, &axis) &&
           (n->n_in < 4 || need_initial(n, 3, &dy->shape, axis)) &&
           wg_set_result(n, 0, dy->dtype, dy->shape) && wg_set_result(n, 1, dy->dtype, dy->shape) &&
           wg_set_result(n, 2, dy->dtype, step_shape(&dy->shape, axis));
}

static void grad_scan(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *in[] = {dy[0], n->in[0], n->out[0], n->n_in > 2 ? n->in[2] : NULL};
    wg_node *back =
        wg_apply(WG_HERE, n->graph, &wg_op_linear_scan_grad, n->attrs, in, n->n_in > 2 ? 4 : 3);
    for (int i = 0; i < n->n_in && back; i++)
        dx[i] = back->out[i];
}

/* v with `first` before its first step and without its last one, in the direction of the scan. */
static wg_value *delayed(wg_value *v, wg_value *first, int axis, bool reverse)
{
    if (!v || !first || v->shape.dim[axis] == 0)
        return v;
    int64_t size = v->shape.dim[axis];
    wg_value *rest =
        reverse ? wg_slice(v, axis, 1, WG_TO_END, 1) : wg_slice(v, axis, 0, size - 1, 1);
    wg_value *step = wg_unsqueeze(first, axis);
    return wg_concat((wg_value *[]){reverse ? rest : step, reverse ? step : rest}, 2, axis);
}

static wg_value *step_of(wg_value *v, int axis, int64_t t)
{
    return wg_squeeze(wg_slice(v, axis, t, t + 1, 1), axis);
}

/* The cotangent of y[t] comes from dy[t] and, through the next step, from that of y[t+1]:
 *
 *     dx[t] = dy[t] + a[t+1] dx[t+1],   da[t] = dx[t] y[t-1],   dinitial = a[0] dx[0] */
static void expand_scan_grad(wg_node *n, wg_value **out)
{
    const wg_linear_scan_attrs *s = n->attrs;
    wg_value *dy = n->in[0], *a = n->in[1], *y = n->in[2];
    int axis = wg_normalize_axis(s->axis, dy->shape.rank);
    int64_t size = dy->shape.dim[axis];
    wg_value *zero = wg_fill(n->graph, dy->dtype, n->out[2]->shape, 0);
    wg_value *initial = n->n_in > 3 ? n->in[3] : zero;
    wg_value *next = delayed(a, zero, axis, !s->reverse);
    out[1] = wg_linear_scan(next, dy, NULL, &(wg_linear_scan_attrs){axis, !s->reverse});
    out[0] = wg_mul(out[1], delayed(y, initial, axis, s->reverse));
    int64_t start = s->reverse ? size - 1 : 0;
    out[2] = size == 0 ? zero : wg_mul(step_of(a, axis, start), step_of(out[1], axis, start));
}

static double flops_scan(const wg_node *n)
{
    return 2.0 * (double)wg_value_count(n->out[0]);
}

static double flops_scan_grad(const wg_node *n)
{
    return 3.0 * (double)wg_value_count(n->out[0]);
}

static const wg_linear_scan_attrs last = {-1, false}, first = {0, false}, middle = {1, false},
                                  back = {1, true}, back_last = {-1, true};

#define NUMBERS(...) WG_FLOATS(-1, 1, __VA_ARGS__)
static const wg_sample samples[] = {
    {"last axis", &last, 2, {NUMBERS(2, 2, 5), NUMBERS(2, 2, 5)}},
    {"first axis, initial", &first, 3, {NUMBERS(2, 4, 3), NUMBERS(2, 4, 3), NUMBERS(1, 3)}},
    {"middle axis", &middle, 2, {NUMBERS(3, 2, 4, 3), NUMBERS(3, 2, 4, 3)}},
    {"reverse, initial", &back, 3, {NUMBERS(3, 2, 4, 3), NUMBERS(3, 2, 4, 3), NUMBERS(2, 2, 3)}},
    {"reverse, last axis", &back_last, 2, {NUMBERS(2, 9, 4), NUMBERS(2, 9, 4)}},
    {"one step, initial", &first, 3, {NUMBERS(2, 1, 3), NUMBERS(2, 1, 3), NUMBERS(1, 3)}},
    {"no steps, initial", &last, 3, {NUMBERS(2, 2, 0), NUMBERS(2, 2, 0), NUMBERS(1, 2)}},
};
static const wg_sample grad_samples[] = {
    {"last axis", &last, 3, {NUMBERS(2, 2, 5), NUMBERS(2, 2, 5), NUMBERS(2, 2, 5)}},
    {"first axis, initial",
     &first,
     4,
     {NUMBERS(2, 4, 3), NUMBERS(2, 4, 3), NUMBERS(2, 4, 3), NUMBERS(1, 3)}},
    {"reverse, initial",
     &back,
     4,
     {NUMBERS(3, 2, 4, 3), NUMBERS(3, 2, 4, 3), NUMBERS(3, 2, 4, 3), NUMBERS(2, 2, 3)}},
    {"reverse, last axis", &back_last, 3, {NUMBERS(2, 9, 4), NUMBERS(2, 9, 4), NUMBERS(2, 9, 4)}},
    {"no steps", &last, 3, {NUMBERS(2, 2, 0), NUMBERS(2, 2, 0), NUMBERS(2, 2, 0)}},
};

const wg_op wg_op_linear_scan = {
    .name = "linear_scan",
    .formula = "y[t] = a[t] y[t-1] + x[t] along axis, y[-1] = initial or 0",
    .family = WG_FAMILY_RECURRENT,
    .operands = "a x initial?",
    .results = "y",
    .inplace = 1 << 0 | 1 << 1,
    .flops = flops_scan,
    WG_ATTRS(wg_linear_scan_attrs, attrs),
    .infer = infer_scan,
    .grad = grad_scan,
    .reads = WG_READS_X | WG_READS_Y,
    WG_SAMPLES(samples),
};
const wg_op wg_op_linear_scan_grad = {
    .name = "linear_scan_grad",
    .formula = "dx[t] = dy[t] + a[t+1] dx[t+1], da[t] = dx[t] y[t-1], dinitial = a[0] dx[0]",
    .family = WG_FAMILY_RECURRENT,
    .operands = "dy a y initial?",
    .results = "da dx dinitial",
    .flops = flops_scan_grad,
    WG_ATTRS(wg_linear_scan_attrs, attrs),
    .infer = infer_scan_grad,
    .expand = expand_scan_grad,
    WG_SAMPLES(grad_samples),
};

/* Sizes are compared from the last one on. */
static bool expands_to(const wg_shape *a, const wg_shape *x)
{
    bool fits = a->rank <= x->rank;
    for (int k = 1; fits && k <= a->rank; k++)
        fits = a->dim[a->rank - k] == 1 || a->dim[a->rank - k] == x->dim[x->rank - k];
    return fits;
}

wg_value *(wg_linear_scan)(const char *at, wg_value *a, wg_value *x, wg_value *initial,
                           const wg_linear_scan_attrs *options)
{
    if (a && x && !wg_shape_equal(&a->shape, &x->shape) && expands_to(&a->shape, &x->shape))
        a = (wg_expand)(at, a, x->shape);
    return wg_apply3(at, &wg_op_linear_scan, options, a, x, initial);
}
