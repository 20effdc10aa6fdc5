/* Shapes, and the movement of elements. */
#include "onnx/ops.h"

#include <string.h>

/* ---- shapes as numbers ----------------------------------------------------------------------- */

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

wg_value *wgi_ox_shape(ox_node *n)
{
    const wg_value *x = wgi_ox_in(n, 0);
    if (!x)
        return NULL;
    int64_t rank = x->shape.rank, start = wgi_ox_int(n, "start", 0),
            end = wgi_ox_int(n, "end", rank);
    start = clamp(start < 0 ? start + rank : start, 0, rank);
    end = clamp(end < 0 ? end + rank : end, start, rank);
    n->type[0] = wgi_ox_type_of(WG_I64);
    return wgi_ox_indices(n->graph, x->shape.dim + start, end - start);
}

wg_value *wgi_ox_size(ox_node *n)
{
    int64_t count = wg_value_count(wgi_ox_in(n, 0));
    n->type[0] = wgi_ox_type_of(WG_I64);
    return wg_constant(n->graph, WG_I64, WG_SCALAR, &count);
}

/* ---- reshape and its kind -------------------------------------------------------------------- */

/* A list of sizes as a shape. */
static bool take_shape(ox_node *n, const ox_ints *sizes, wg_shape *s)
{
    if (sizes->n > WG_MAX_RANK) {
        wgi_ox_refuse(n, "a shape of %zu axes", sizes->n);
        return false;
    }
    *s = wg_shape_make((int)sizes->n, sizes->at);
    return true;
}

wg_value *wgi_ox_reshape(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints sizes;
    wg_shape s;
    if (!x || !wgi_ox_ints_of(n, 1, "shape", &sizes) || !take_shape(n, &sizes, &s))
        return NULL;
    bool keep_zero = wgi_ox_int(n, "allowzero", 0);
    for (int k = 0; k < s.rank; k++)
        if (s.dim[k] == 0 && !keep_zero) {
            if (k >= x->shape.rank)
                return wgi_ox_fail(n, WG_ESHAPE, "size 0 stands for axis %d, where the rank is %d",
                                   k, x->shape.rank);
            s.dim[k] = x->shape.dim[k];
        }
    return wg_reshape(x, s);
}

wg_value *wgi_ox_flatten(ox_node *n)
{
    const wg_value *x = wgi_ox_in(n, 0);
    int64_t axis = wgi_ox_int(n, "axis", 1);
    if (!x)
        return NULL;
    if (axis != x->shape.rank)
        axis = wgi_ox_axis(n, axis, x->shape.rank);
    return axis < 0 ? NULL : wgi_ox_matrix(wgi_ox_in(n, 0), (int)axis);
}

/* Marks the axes of a list; false after an error. */
static bool mark_axes(ox_node *n, const ox_ints *axes, int rank, bool mark[WG_MAX_RANK])
{
    for (size_t i = 0; i < axes->n; i++) {
        int axis = wgi_ox_axis(n, axes->at[i], rank);
        if (axis < 0)
            return false;
        if (mark[axis]) {
            wgi_ox_fail(n, WG_EINVAL, "axis %d is given twice", axis);
            return false;
        }
        mark[axis] = true;
    }
    return true;
}

wg_value *wgi_ox_squeeze(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    bool gone[WG_MAX_RANK] = {false};
    ox_ints axes;
    wg_shape s = {0};
    if (!x)
        return NULL;
    bool given = wgi_ox_ints_of(n, 1, "axes", &axes);
    if (given && !mark_axes(n, &axes, x->shape.rank, gone))
        return NULL;
    for (int k = 0; k < x->shape.rank; k++) {
        bool drop = given ? gone[k] : x->shape.dim[k] == 1;
        if (drop && x->shape.dim[k] != 1)
            return wgi_ox_fail(n, WG_ESHAPE, "axis %d to remove has size %lld", k,
                               (long long)x->shape.dim[k]);
        if (!drop)
            s.dim[s.rank++] = x->shape.dim[k];
    }
    return wg_reshape(x, s);
}

wg_value *wgi_ox_unsqueeze(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    bool is_new[WG_MAX_RANK] = {false};
    ox_ints axes;
    wg_shape s = {0};
    if (!x || !wgi_ox_ints_of(n, 1, "axes", &axes))
        return x ? wgi_ox_fail(n, WG_EDATA, "no axes") : NULL;
    int rank = x->shape.rank + (axes.n < WG_MAX_RANK ? (int)axes.n : WG_MAX_RANK);
    if (rank > WG_MAX_RANK)
        return wgi_ox_refuse(n, "a result of %d axes", rank);
    if (!mark_axes(n, &axes, rank, is_new))
        return NULL;
    for (int from = 0; s.rank < rank;) {
        s.dim[s.rank] = is_new[s.rank] ? 1 : x->shape.dim[from++];
        s.rank++;
    }
    return wg_reshape(x, s);
}

wg_value *wgi_ox_expand(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints sizes;
    wg_shape s;
    if (!x || !wgi_ox_ints_in(n, 1, &sizes) || !take_shape(n, &sizes, &s))
        return NULL;
    while (s.rank < x->shape.rank) { /* either may have fewer axes */
        memmove(s.dim + 1, s.dim, (size_t)s.rank * sizeof *s.dim);
        s.dim[0] = 1;
        s.rank++;
    }
    for (int k = 1; k <= x->shape.rank; k++)
        if (s.dim[s.rank - k] == 1)
            s.dim[s.rank - k] = x->shape.dim[x->shape.rank - k];
    return wg_expand(x, s);
}

wg_value *wgi_ox_transpose(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints perm;
    wg_axes order = {0};
    if (!x)
        return NULL;
    bool given = wgi_ox_ints(n, "perm", &perm);
    if (given && perm.n != (size_t)x->shape.rank)
        return wgi_ox_fail(n, WG_ESHAPE, "perm has %zu axes, the operand %d", perm.n,
                           x->shape.rank);
    order.count = x->shape.rank;
    for (int k = 0; k < order.count; k++) {
        order.axis[k] = given ? wgi_ox_axis(n, perm.at[k], order.count) : order.count - 1 - k;
        if (order.axis[k] < 0)
            return NULL;
    }
    return wg_permute(x, order);
}

/* ---- joining and cutting --------------------------------------------------------------------- */

wg_value *wgi_ox_concat(ox_node *n)
{
    wg_value **x = wgi_ox_alloc(n, (n->n_operands + 1) * sizeof(wg_value *));
    for (size_t i = 0; x && i < n->n_operands; i++)
        if (!(x[i] = wgi_ox_in(n, (int)i)))
            return wgi_ox_fail(n, WG_EDATA, "operand %zu is missing", i);
    if (!x)
        return NULL;
    int axis = wgi_ox_axis(n, wgi_ox_int(n, "axis", 1), x[0]->shape.rank);
    return axis < 0 ? NULL : wg_concat(x, n->n_operands, axis);
}

/* The sizes of the pieces: given, or equal; the last may be smaller from opset 18 on. */
static const int64_t *piece_sizes(ox_node *n, int64_t size, size_t pieces)
{
    ox_ints given;
    int64_t *sizes = wgi_ox_alloc(n, (pieces + 1) * sizeof *sizes);
    if (!sizes)
        return NULL;
    if (wgi_ox_ints_of(n, 1, "split", &given)) {
        if (given.n != pieces)
            wgi_ox_fail(n, WG_ESHAPE, "%zu sizes for %zu results", given.n, pieces);
        return given.n == pieces ? given.at : NULL;
    }
    int64_t count = wgi_ox_int(n, "num_outputs", (int64_t)pieces);
    if (count != (int64_t)pieces)
        return (void *)wgi_ox_fail(n, WG_ESHAPE, "num_outputs is %lld for %zu results",
                                   (long long)count, pieces);
    if (n->opset < 18 && size % count)
        return (void *)wgi_ox_fail(n, WG_ESHAPE, "%lld elements in %zu equal pieces",
                                   (long long)size, pieces);
    int64_t each = (size + (int64_t)pieces - 1) / (int64_t)pieces;
    for (size_t i = 0; i < pieces; i++) {
        sizes[i] = each < size ? each : size;
        size -= sizes[i];
    }
    return sizes;
}

wg_value *wgi_ox_split(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    size_t pieces = n->proto->n_output;
    int axis = x ? wgi_ox_axis(n, wgi_ox_int(n, "axis", 0), x->shape.rank) : -1;
    if (axis < 0 || !pieces || pieces > OX_MAX_RESULTS)
        return x && axis >= 0 ? wgi_ox_refuse(n, "%zu results", pieces) : NULL;
    const int64_t *sizes = piece_sizes(n, x->shape.dim[axis], pieces);
    wg_value *y = sizes && !wgi_ox_failed(n) ? wg_split(x, axis, sizes, pieces) : NULL;
    for (size_t i = 1; y && i < pieces; i++) {
        n->type[i] = wgi_ox_type_in(n, 0);
        wgi_ox_set(n, (int)i, wg_result_of(y, (int)i));
    }
    return y;
}

/* Positions before the first element and behind the last are what clamping makes of them. */
static int64_t slice_stop(int64_t stop, int64_t step, int64_t size)
{
    if (step > 0)
        return stop > size ? size : stop;
    return stop < -size ? WG_TO_START : stop;
}

wg_value *wgi_ox_slice(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints start, stop, axes, step = {0};
    if (!x || !wgi_ox_ints_of(n, 1, "starts", &start) || !wgi_ox_ints_of(n, 2, "ends", &stop))
        return NULL;
    bool has_axes = wgi_ox_ints_of(n, 3, "axes", &axes);
    bool has_step = wgi_ox_has(n, 4) && wgi_ox_ints_in(n, 4, &step);
    if (start.n != stop.n || (has_axes && axes.n != start.n) || (has_step && step.n != start.n))
        return wgi_ox_fail(n, WG_ESHAPE, "starts, ends, axes and steps differ in length");
    for (size_t i = 0; i < start.n && x && !wgi_ox_failed(n); i++) {
        int axis = wgi_ox_axis(n, has_axes ? axes.at[i] : (int64_t)i, x->shape.rank);
        int64_t by = has_step ? step.at[i] : 1;
        if (axis < 0)
            return NULL;
        x = wg_slice(x, axis, start.at[i], slice_stop(stop.at[i], by, x->shape.dim[axis]), by);
    }
    return x;
}

/* ---- padding and repeating ------------------------------------------------------------------- */

/* Paddings of some axes as those of all: [begin of each, end of each]. */
static bool spread_pads(ox_node *n, const ox_ints *pads, int rank, int64_t *before, int64_t *after)
{
    ox_ints axes = {0};
    bool some = wgi_ox_has(n, 3) && wgi_ox_ints_in(n, 3, &axes);
    size_t count = some ? axes.n : (size_t)rank;
    if (pads->n != 2 * count) {
        wgi_ox_fail(n, WG_ESHAPE, "%zu paddings for %zu axes", pads->n, count);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        int axis = wgi_ox_axis(n, some ? axes.at[i] : (int64_t)i, rank);
        if (axis < 0)
            return false;
        before[axis] = pads->at[i];
        after[axis] = pads->at[count + i];
    }
    return true;
}

static wg_value *pad_border(ox_node *n, wg_value *x, const int64_t *before, const int64_t *after,
                            const char *mode)
{
    wg_shape b = wg_shape_make(x->shape.rank, before), a = wg_shape_make(x->shape.rank, after);
    for (int k = 0; k < b.rank; k++)
        if (b.dim[k] < 0 || a.dim[k] < 0)
            return wgi_ox_refuse(n, "negative padding in the mode %s", mode);
    if (strcmp(mode, "reflect") == 0)
        return wg_pad_border(x, b, a, WG_BORDER_REFLECT);
    if (strcmp(mode, "edge") == 0)
        return wg_pad_border(x, b, a, WG_BORDER_EDGE);
    return wg_pad_border(x, b, a, WG_BORDER_WRAP);
}

wg_value *wgi_ox_pad_op(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    const char *mode = wgi_ox_word(n, "mode", "constant");
    int64_t before[WG_MAX_RANK] = {0}, after[WG_MAX_RANK] = {0};
    ox_ints pads;
    bool given = wgi_ox_ints_of(n, 1, n->opset < 2 ? "paddings" : "pads", &pads);
    if (!x || !given || !spread_pads(n, &pads, x->shape.rank, before, after))
        return NULL;
    if (strcmp(mode, "constant") != 0)
        return pad_border(n, x, before, after, mode);
    double value = n->opset < 11 ? wgi_ox_real(n, "value", 0) : wgi_ox_real_in(n, 2, 0);
    return wgi_ox_pad(n, x, before, after, value);
}

wg_value *wgi_ox_tile(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints times;
    wg_shape s;
    if (!x || !wgi_ox_ints_in(n, 1, &times))
        return NULL;
    if (n->opset < 6) { /* operands: how often, along which axis */
        int axis = wgi_ox_axis(n, wgi_ox_int_in(n, 2, 0), x->shape.rank);
        s = x->shape;
        for (int k = 0; k < s.rank; k++)
            s.dim[k] = k == axis && times.n ? times.at[0] : 1;
        return axis < 0 ? NULL : wg_tile(x, s);
    }
    return take_shape(n, &times, &s) ? wg_tile(x, s) : NULL;
}

wg_value *wgi_ox_center_crop_pad(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints sizes, axes;
    int64_t before[WG_MAX_RANK] = {0}, after[WG_MAX_RANK] = {0};
    if (!x || !wgi_ox_ints_in(n, 1, &sizes))
        return NULL;
    bool some = wgi_ox_ints(n, "axes", &axes);
    if (sizes.n != (some ? axes.n : (size_t)x->shape.rank))
        return wgi_ox_fail(n, WG_ESHAPE, "%zu sizes", sizes.n);
    for (size_t i = 0; i < sizes.n; i++) {
        int axis = wgi_ox_axis(n, some ? axes.at[i] : (int64_t)i, x->shape.rank);
        if (axis < 0 || sizes.at[i] < 0)
            return axis < 0 ? NULL : wgi_ox_fail(n, WG_ESHAPE, "size %lld", (long long)sizes.at[i]);
        int64_t more = sizes.at[i] - x->shape.dim[axis];
        before[axis] = more >= 0 ? more / 2 : -(-more / 2);
        after[axis] = more - before[axis];
    }
    return wgi_ox_pad(n, x, before, after, 0);
}

wg_value *wgi_ox_trilu(ox_node *n)
{
    int64_t k = wgi_ox_int_in(n, 1, 0);
    return wgi_ox_int(n, "upper", 1) ? wg_triu(wgi_ox_in(n, 0), k) : wg_tril(wgi_ox_in(n, 0), k);
}

/* ---- depth and space ------------------------------------------------------------------------- */

static int64_t block_of(ox_node *n, const wg_value *x)
{
    int64_t b = wgi_ox_int(n, "blocksize", 0);
    if (!x)
        return 0;
    const int64_t *d = x->shape.dim;
    wg_shape blocks = {6, {b, b, d[0], d[1], d[2], d[3]}}; /* so that no size overflows */
    if (x->shape.rank == 4 && b > 0 && wg_shape_valid(&blocks, x->dtype))
        return b;
    wgi_ox_fail(n, WG_ESHAPE, "blocksize %lld and rank %d", (long long)b, x->shape.rank);
    return 0;
}

wg_value *wgi_ox_depth_to_space(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int64_t b = block_of(n, x);
    if (!b)
        return NULL;
    const int64_t *d = x->shape.dim;
    bool crd = strcmp(wgi_ox_word(n, "mode", "DCR"), "CRD") == 0;
    int64_t c = d[1] / (b * b);
    wg_value *y = crd ? wg_permute(wg_reshape(x, WG_SHAPE(d[0], c, b, b, d[2], d[3])),
                                   WG_AXES(0, 1, 4, 2, 5, 3))
                      : wg_permute(wg_reshape(x, WG_SHAPE(d[0], b, b, c, d[2], d[3])),
                                   WG_AXES(0, 3, 4, 1, 5, 2));
    return wg_reshape(y, WG_SHAPE(d[0], c, d[2] * b, d[3] * b));
}

wg_value *wgi_ox_space_to_depth(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int64_t b = block_of(n, x);
    if (!b)
        return NULL;
    const int64_t *d = x->shape.dim;
    int64_t h = d[2] / b, w = d[3] / b;
    wg_value *y =
        wg_permute(wg_reshape(x, WG_SHAPE(d[0], d[1], h, b, w, b)), WG_AXES(0, 3, 5, 1, 2, 4));
    return wg_reshape(y, WG_SHAPE(d[0], d[1] * b * b, h, w));
}
