#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- what all have in common ----------------------------------------------------------------- */

static const wg_attr segment_attrs[] = {
    WG_ATTR(AXIS, wg_segment_attrs, axis),
    WG_ATTR(INT, wg_segment_attrs, n_segments),
};

/* x is [a.., ids.., b..], the axes of ids from `axis` on; *reduced is [a.., n_segments, b..]. */
static bool need_segments(wg_node *n, wg_shape *reduced)
{
    const wg_segment_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape, *ids = &n->in[1]->shape;
    char text[160], more[160];
    if (!wg_need_int(n, 1))
        return false;
    wg_shape s = {.rank = x->rank - ids->rank + 1};
    int axis = wg_normalize_axis(a->axis, s.rank);
    if (s.rank < 1 || s.rank > WG_MAX_RANK || axis < 0)
        return wg_fail(n, WG_ESHAPE, "x, %s, has no place for ids of %s at axis %lld",
                       wg_shape_text(x, more, sizeof more), wg_shape_text(ids, text, sizeof text),
                       (long long)a->axis);
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < axis ? x->dim[i] : i == axis ? a->n_segments : x->dim[i + ids->rank - 1];
    for (int i = 0; i < ids->rank; i++)
        if (x->dim[axis + i] != ids->dim[i])
            return wg_fail(n, WG_ESHAPE, "ids are %s but x, %s, has %lld at axis %d",
                           wg_shape_text(ids, text, sizeof text),
                           wg_shape_text(x, more, sizeof more), (long long)x->dim[axis + i],
                           axis + i);
    *reduced = s;
    return true;
}

static bool infer_reduced(wg_node *n)
{
    wg_shape s;
    return wg_need_number(n, 0) && need_segments(n, &s) && wg_set_result(n, 0, n->in[0]->dtype, s);
}

static bool infer_reduced_float(wg_node *n)
{
    return wg_need_float(n, 0) && infer_reduced(n);
}

/* The axis as it counts in the result. */
static int axis_of(const wg_node *n)
{
    const wg_segment_attrs *a = n->attrs;
    return wg_normalize_axis(a->axis, n->in[0]->shape.rank - n->in[1]->shape.rank + 1);
}

/* Each element's own of what is one for each segment. */
static wg_value *own(const wg_node *n, wg_value *of_segments)
{
    return wg_take(of_segments, n->in[1], axis_of(n));
}

static wg_value *total(const wg_node *n, wg_value *v)
{
    const wg_segment_attrs *a = n->attrs;
    return wg_segment_sum(v, n->in[1], axis_of(n), a->n_segments);
}

static double segment_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[0]);
}

/* As the transposes of what reads whole rows, of which some may be read by nobody. */
static const wg_sample sum_samples[] = {
    {"rows", &(const wg_segment_attrs){0, 4}, 2, {WG_FLOATS(-2, 2, 2, 6, 3), WG_INTS(0, 4, 1, 6)}},
    {"sentences",
     &(const wg_segment_attrs){0, 5},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 4, 3), WG_INTS(0, 5, 2, 2, 4)}},
    {"last axis, matrix of ids",
     &(const wg_segment_attrs){-1, 3},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 2, 2), WG_INTS(0, 3, 2, 2, 2)}},
    {"no ids",
     &(const wg_segment_attrs){0, 4},
     2,
     {WG_FLOATS(-2, 2, 2, 0, 3), WG_INTS(0, 4, 1, 0)}},
};
/* Few segments: with almost all seeds none is empty. */
static const wg_sample few_samples[] = {
    {"rows",
     &(const wg_segment_attrs){0, 2},
     2,
     {WG_FLOATS(-2, 2, 2, 12, 3), WG_INTS(0, 2, 1, 12)}},
    {"last axis, matrix of ids",
     &(const wg_segment_attrs){-1, 2},
     2,
     {WG_FLOATS(-2, 2, 3, 3, 4, 4), WG_INTS(0, 2, 2, 4, 4)}},
};

#define SEGMENTS                                                                                   \
    .family = WG_FAMILY_INDEXING, .operands = "x ids", .results = "y",                             \
    WG_ATTRS(wg_segment_attrs, segment_attrs), .flops = segment_flops

#define BUILDER(name)                                                                              \
    wg_value *(wg_##name)(const char *at, wg_value *x, wg_value *ids, int axis,                    \
                          int64_t n_segments)                                                      \
    {                                                                                              \
        return wg_apply2(at, &wg_op_##name, &(wg_segment_attrs){axis, n_segments}, x, ids);        \
    }

/* ---- sum ------------------------------------------------------------------------------------- */

static void grad_sum(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = own(n, dy[0]);
}

const wg_op wg_op_segment_sum = {
    .name = "segment_sum",
    .formula = "y[.., s, ..] = sum of x[.., i, ..] over ids[i] = s",
    SEGMENTS,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_reduced,
    .grad = grad_sum,
    .reads = WG_READS_X,
    WG_SAMPLES(sum_samples),
};
BUILDER(segment_sum)

/* ---- mean ------------------------------------------------------------------------------------ */

/* [n_segments, 1..]: the number of elements of each segment, or 1 if there is none */
static wg_value *sizes(const wg_node *n)
{
    const wg_segment_attrs *a = n->attrs;
    wg_value *ids = n->in[1], *one = wg_fill(n->graph, n->in[0]->dtype, ids->shape, 1);
    wg_value *count = wg_segment_sum(one, ids, 0, a->n_segments);
    wg_shape column = {.rank = n->out[0]->shape.rank - axis_of(n), .dim = {a->n_segments}};
    for (int i = 1; i < column.rank; i++)
        column.dim[i] = 1;
    return wg_reshape(wg_clamp(count, 1, INFINITY), column);
}

static void expand_mean(wg_node *n, wg_value **y)
{
    y[0] = wg_div(total(n, n->in[0]), sizes(n));
}

const wg_op wg_op_segment_mean = {
    .name = "segment_mean",
    .formula = "y[.., s, ..] = mean of x[.., i, ..] over ids[i] = s",
    SEGMENTS,
    .infer = infer_reduced_float,
    .expand = expand_mean,
    WG_SAMPLES(sum_samples),
};
BUILDER(segment_mean)

/* ---- max, min -------------------------------------------------------------------------------- */

/* Each element that equals y gets an equal share of dy. */
static void grad_extreme(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0], *is_y = wg_equal(x, own(n, n->out[0]));
    wg_value *share = wg_div(dy[0], total(n, wg_cast(is_y, x->dtype)));
    dx[0] = wg_where(is_y, own(n, share), wg_scalar_like(x, 0));
}

#define EXTREME                                                                                    \
    SEGMENTS, .smoothness = WG_PIECEWISE_LINEAR, .infer = infer_reduced, .grad = grad_extreme,     \
              .reads = WG_READS_X | WG_READS_Y, WG_SAMPLES(few_samples)

const wg_op wg_op_segment_max = {
    .name = "segment_max",
    .formula = "y[.., s, ..] = largest x[.., i, ..] with ids[i] = s",
    EXTREME,
};
const wg_op wg_op_segment_min = {
    .name = "segment_min",
    .formula = "y[.., s, ..] = smallest x[.., i, ..] with ids[i] = s",
    EXTREME,
};
BUILDER(segment_max)
BUILDER(segment_min)

/* ---- softmax --------------------------------------------------------------------------------- */

static bool infer_softmax(wg_node *n)
{
    wg_shape s;
    return wg_need_float(n, 0) && need_segments(n, &s) &&
           (wg_shape_valid(&s, n->in[0]->dtype) ||
            wg_fail(n, WG_ESHAPE, "n_segments is %lld, which gives no valid shape",
                    (long long)((const wg_segment_attrs *)n->attrs)->n_segments)) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* The largest element of each segment is subtracted first; 0 where that is -inf, since nothing may
 * become inf - inf. */
static void expand_softmax(wg_node *n, wg_value **y)
{
    const wg_segment_attrs *a = n->attrs;
    wg_value *top = wg_stop_gradient(wg_segment_max(n->in[0], n->in[1], axis_of(n), a->n_segments));
    wg_value *zero = wg_scalar_like(top, 0), *one = wg_scalar_like(top, 1);
    wg_value *shift = wg_where(wg_equal(top, wg_scalar_like(top, -INFINITY)), zero, top);
    wg_value *e = wg_exp(wg_sub(n->in[0], own(n, shift))), *sum = total(n, e);
    y[0] = wg_div(e, own(n, wg_where(wg_equal(sum, zero), one, sum)));
}

/* dx = y (dy - sum of y dy over the segment) */
static void grad_softmax(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *y = n->out[0], *mean = own(n, total(n, wg_mul(y, dy[0])));
    dx[0] = wg_mul(y, wg_sub(dy[0], mean));
}

static double softmax_flops(const wg_node *n)
{
    return 5 * segment_flops(n);
}

const wg_op wg_op_segment_softmax = {
    .name = "segment_softmax",
    .formula = "y[.., i, ..] = exp(x[.., i, ..]) / sum of exp(x[.., j, ..]) over ids[j] = ids[i]",
    .family = WG_FAMILY_INDEXING,
    .operands = "x ids",
    .results = "y",
    WG_ATTRS(wg_segment_attrs, segment_attrs),
    .infer = infer_softmax,
    .grad = grad_softmax,
    .reads = WG_READS_X | WG_READS_Y,
    .expand = expand_softmax,
    .flops = softmax_flops,
    WG_SAMPLES(few_samples),
};
BUILDER(segment_softmax)
