#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <string.h>

static const wg_attr concat_attrs[] = {WG_ATTR(AXIS, wg_concat_attrs, axis)};

/* ---- concat ---------------------------------------------------------------------------------- */

static bool infer_concat(wg_node *n)
{
    const wg_concat_attrs *a = n->attrs;
    char first[160], other[160];
    int axis;
    if (n->n_in < 1)
        return wg_fail(n, WG_EINVAL, "nothing to put together");
    if (!wg_need_axis(n, 0, a->axis, &axis))
        return false;
    wg_shape s = n->in[0]->shape;
    for (int i = 1; i < n->n_in; i++) {
        const wg_shape *x = &n->in[i]->shape;
        if (!wg_need_same_dtype(n, 0, i) || !wg_need_rank(n, i, s.rank, s.rank))
            return false;
        for (int k = 0; k < s.rank; k++)
            if (k != axis && x->dim[k] != s.dim[k])
                return wg_fail(n, WG_ESHAPE,
                               "%s and %s do not fit along axis %d: sizes %lld and %lld at axis %d",
                               wg_shape_text(&n->in[0]->shape, first, sizeof first),
                               wg_shape_text(x, other, sizeof other), axis, (long long)s.dim[k],
                               (long long)x->dim[k], k);
        if (x->dim[axis] > INT64_MAX - s.dim[axis])
            return wg_fail(n, WG_ESHAPE, "the size of axis %d overflows 64 bits", axis);
        s.dim[axis] += x->dim[axis];
    }
    return wg_set_result(n, 0, n->in[0]->dtype, s);
}

static void grad_concat(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_concat_attrs *a = n->attrs;
    int axis = wg_normalize_axis(a->axis, n->out[0]->shape.rank);
    int64_t from = 0;
    for (int i = 0; i < n->n_in; i++) {
        int64_t to = from + n->in[i]->shape.dim[axis];
        if (wg_dtype_is_float(n->in[i]->dtype))
            dx[i] = wg_slice(dy[0], axis, from, to, 1);
        from = to;
    }
}

static const wg_sample concat_samples[] = {
    {"rows",
     &(const wg_concat_attrs){0},
     2,
     {WG_FLOATS(-2, 2, 2, 2, 3), WG_FLOATS(-2, 2, 2, 1, 3)}},
    {"middle axis",
     &(const wg_concat_attrs){-2},
     3,
     {WG_FLOATS(-2, 2, 3, 2, 1, 3), WG_FLOATS(-2, 2, 3, 2, 3, 3), WG_FLOATS(-2, 2, 3, 2, 2, 3)}},
    {"an empty one",
     &(const wg_concat_attrs){1},
     2,
     {WG_FLOATS(-2, 2, 2, 2, 0), WG_FLOATS(-2, 2, 2, 2, 3)}},
    {"one", &(const wg_concat_attrs){0}, 1, {WG_FLOATS(-2, 2, 1, 3)}},
};

const wg_op wg_op_concat = {
    .name = "concat",
    .formula = "operands one after the other along axis",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x*",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_concat_attrs, concat_attrs),
    .infer = infer_concat,
    .grad = grad_concat,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(concat_samples),
};

wg_value *(wg_concat)(const char *at, wg_value *const *x, size_t n, int axis)
{
    return wgi_apply_list(at, &wg_op_concat, &(wg_concat_attrs){axis}, x, n);
}

/* ---- stack: concat along an axis of size 1 --------------------------------------------------- */

/* The shape of each operand with the new axis, which counts in the result. */
static wg_shape unsqueezed(const wg_shape *x, int axis)
{
    wg_shape s = {.rank = x->rank + 1};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i == axis ? 1 : x->dim[i < axis ? i : i - 1];
    return s;
}

static bool infer_stack(wg_node *n)
{
    const wg_concat_attrs *a = n->attrs;
    char text[160];
    if (n->n_in < 1)
        return wg_fail(n, WG_EINVAL, "nothing to stack");
    if (!wg_need_rank(n, 0, 0, WG_MAX_RANK - 1))
        return false;
    const wg_shape *x = &n->in[0]->shape;
    int axis = wg_normalize_axis(a->axis, x->rank + 1);
    if (axis < 0)
        return wg_fail(n, WG_ESHAPE, "axis %lld is outside the stack of %s", (long long)a->axis,
                       wg_shape_text(x, text, sizeof text));
    for (int i = 1; i < n->n_in; i++)
        if (!wg_need_same_dtype(n, 0, i) || !wg_need_same_shape(n, 0, i))
            return false;
    wg_shape s = unsqueezed(x, axis);
    s.dim[axis] = n->n_in;
    return wg_set_result(n, 0, n->in[0]->dtype, s);
}

static void expand_stack(wg_node *n, wg_value **y)
{
    const wg_concat_attrs *a = n->attrs;
    int axis = wg_normalize_axis(a->axis, n->out[0]->shape.rank);
    wg_value **x = wg_graph_alloc(n->graph, sizeof *x * (size_t)n->n_in);
    for (int i = 0; x && i < n->n_in; i++)
        x[i] = wg_reshape(n->in[i], unsqueezed(&n->in[i]->shape, axis));
    y[0] = x ? wg_concat(x, n->n_in, axis) : NULL;
}

static const wg_sample stack_samples[] = {
    {"first axis",
     &(const wg_concat_attrs){0},
     2,
     {WG_FLOATS(-2, 2, 2, 2, 3), WG_FLOATS(-2, 2, 2, 2, 3)}},
    {"last axis",
     &(const wg_concat_attrs){-1},
     3,
     {WG_FLOATS(-2, 2, 1, 2), WG_FLOATS(-2, 2, 1, 2), WG_FLOATS(-2, 2, 1, 2)}},
    {"scalars", &(const wg_concat_attrs){0}, 2, {WG_FLOATS(-2, 2, 0, 0), WG_FLOATS(-2, 2, 0, 0)}},
};

const wg_op wg_op_stack = {
    .name = "stack",
    .formula = "y[.., i, ..] = x_i along a new axis",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x*",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_concat_attrs, concat_attrs),
    .infer = infer_stack,
    .expand = expand_stack,
    WG_SAMPLES(stack_samples),
};

wg_value *(wg_stack)(const char *at, wg_value *const *x, size_t n, int axis)
{
    return wgi_apply_list(at, &wg_op_stack, &(wg_concat_attrs){axis}, x, n);
}

/* ---- split: a slice for each piece ----------------------------------------------------------- */

static const wg_attr split_attrs[] = {
    WG_ATTR(AXIS, wg_split_attrs, axis),
    WG_ATTR(DATA, wg_split_attrs, sizes),
};

static int64_t piece(const wg_split_attrs *a, size_t i)
{
    int64_t size;
    memcpy(&size, (const char *)a->sizes.bytes + i * sizeof size, sizeof size);
    return size;
}

static bool infer_split(wg_node *n)
{
    const wg_split_attrs *a = n->attrs;
    wg_shape s = n->in[0]->shape;
    int axis;
    size_t count = a->sizes.size / sizeof(int64_t);
    if (!wg_need_axis(n, 0, a->axis, &axis))
        return false;
    if (count < 1 || count > INT32_MAX || a->sizes.size % sizeof(int64_t))
        return wg_fail(n, WG_EINVAL, "its sizes are %zu bytes of int64_t", a->sizes.size);
    if (!wg_set_result_count(n, (int)count))
        return false;
    int64_t whole = s.dim[axis], used = 0;
    for (size_t i = 0; i < count; i++) {
        s.dim[axis] = piece(a, i);
        if (s.dim[axis] < 0 || s.dim[axis] > whole - used)
            return wg_fail(n, WG_ESHAPE,
                           "piece %zu of %lld does not fit into the %lld left of axis %d", i,
                           (long long)s.dim[axis], (long long)(whole - used), axis);
        used += s.dim[axis];
        if (!wg_set_result(n, (int)i, n->in[0]->dtype, s))
            return false;
    }
    return used == whole || wg_fail(n, WG_ESHAPE, "the pieces sum to %lld, axis %d has %lld",
                                    (long long)used, axis, (long long)whole);
}

static void expand_split(wg_node *n, wg_value **y)
{
    const wg_split_attrs *a = n->attrs;
    int axis = wg_normalize_axis(a->axis, n->in[0]->shape.rank);
    int64_t from = 0;
    for (int i = 0; i < n->n_out; i++) {
        y[i] = wg_slice(n->in[0], axis, from, from + piece(a, (size_t)i), 1);
        from += piece(a, (size_t)i);
    }
}

/* One concat, where the expansion would add up a padded tensor for each piece. */
static void grad_split(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_split_attrs *a = n->attrs;
    wg_value **d = wg_graph_alloc(n->graph, sizeof *d * (size_t)n->n_out);
    for (int i = 0; d && i < n->n_out; i++)
        d[i] = dy[i] ? dy[i] : wg_zeros_like(n->out[i]);
    dx[0] = d ? wg_concat(d, n->n_out, (int)a->axis) : NULL;
}

static const int64_t three_one[] = {3, 1}, one_none_two[] = {1, 0, 2};
static const wg_sample split_samples[] = {
    {"columns",
     &(const wg_split_attrs){1, {three_one, sizeof three_one}},
     1,
     {WG_FLOATS(-2, 2, 2, 2, 4)}},
    {"an empty piece",
     &(const wg_split_attrs){-2, {one_none_two, sizeof one_none_two}},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 2)}},
};

const wg_op wg_op_split = {
    .name = "split",
    .formula = "x cut along axis into pieces of the given sizes",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y*",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_split_attrs, split_attrs),
    .infer = infer_split,
    .grad = grad_split,
    .reads = WG_READS_NOTHING,
    .expand = expand_split,
    WG_SAMPLES(split_samples),
};

wg_value *(wg_split)(const char *at, wg_value *x, int axis, const int64_t *sizes, size_t n)
{
    if (!x)
        return NULL;
    wg_graph *g = wg_graph_of(x);
    int k = wg_normalize_axis(axis, x->shape.rank);
    if (n < 1 || n > INT32_MAX)
        return wg_graph_fail(g, WG_EINVAL, at, "split", "n is %s, must be 1 to %d",
                             n ? "too large, or negative" : "0", INT32_MAX);
    if (!sizes && k >= 0 && x->shape.dim[k] % (int64_t)n != 0)
        return wg_graph_fail(g, WG_ESHAPE, at, "split",
                             "axis %d of size %lld does not cut into %zu equal pieces", axis,
                             (long long)x->shape.dim[k], n);
    if (!sizes) {
        int64_t *equal = wg_graph_alloc(g, sizeof *equal * n);
        if (!equal)
            return NULL;
        for (size_t i = 0; i < n; i++)
            equal[i] = k < 0 ? 0 : x->shape.dim[k] / (int64_t)n;
        sizes = equal;
    }
    wg_split_attrs a = {axis, {sizes, sizeof *sizes * n}};
    return wg_apply1(at, &wg_op_split, &a, x);
}

/* ---- tile: [n] as [1, n], broadcast to [times, n], as [times n] ------------------------------ */

static const wg_attr tile_attrs[] = {WG_ATTR(SHAPE, wg_tile_attrs, times)};

static bool infer_tile(wg_node *n)
{
    const wg_tile_attrs *a = n->attrs;
    char text[160];
    wg_shape s = n->in[0]->shape;
    if (a->times.rank != s.rank)
        return wg_fail(n, WG_ESHAPE, "%d repetitions for %s of rank %d", a->times.rank,
                       wg_shape_text(&s, text, sizeof text), s.rank);
    for (int k = 0; k < s.rank; k++) {
        if (a->times.dim[k] < 0)
            return wg_fail(n, WG_EINVAL, "%lld repetitions of axis %d", (long long)a->times.dim[k],
                           k);
        if (s.dim[k] > 0 && a->times.dim[k] > INT64_MAX / s.dim[k])
            return wg_fail(n, WG_ESHAPE, "the size of axis %d overflows 64 bits", k);
        s.dim[k] *= a->times.dim[k];
    }
    return wg_set_result(n, 0, n->in[0]->dtype, s);
}

/* From the last axis, one axis at a time: [outer, n, inner] to [outer, times, n inner] to [outer,
 * times n, inner].  So no more than three axes are needed, whatever the rank. */
static void expand_tile(wg_node *n, wg_value **y)
{
    const wg_tile_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    wg_shape s = x->shape;
    if (wg_value_count(n->out[0]) == 0) { /* the way there might overflow */
        y[0] = wg_zeros_like(n->out[0]);
        return;
    }
    for (int k = s.rank - 1; k >= 0; k--) {
        int64_t outer = 1, block = 1;
        for (int i = 0; i < s.rank; i++)
            *(i < k ? &outer : &block) *= s.dim[i];
        if (a->times.dim[k] == 1)
            continue;
        x = wg_expand(wg_reshape(x, WG_SHAPE(outer, 1, block)),
                      WG_SHAPE(outer, a->times.dim[k], block));
        s.dim[k] *= a->times.dim[k];
        x = wg_reshape(x, s);
    }
    y[0] = x;
}

static const wg_sample tile_samples[] = {
    {"both axes", &(const wg_tile_attrs){{2, {2, 3}}}, 1, {WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"once", &(const wg_tile_attrs){{2, {1, 1}}}, 1, {WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"never", &(const wg_tile_attrs){{2, {2, 0}}}, 1, {WG_FLOATS(-2, 2, 2, 3, 2)}},
};

const wg_op wg_op_tile = {
    .name = "tile",
    .formula = "x repeated as a whole along each axis",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_tile_attrs, tile_attrs),
    .infer = infer_tile,
    .expand = expand_tile,
    WG_SAMPLES(tile_samples),
};

wg_value *(wg_tile)(const char *at, wg_value *x, wg_shape times)
{
    return wg_apply1(at, &wg_op_tile, &(wg_tile_attrs){times}, x);
}
