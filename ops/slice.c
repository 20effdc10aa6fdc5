#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* ---- windows: the positions start + i step, 0 <= i < size, of each axis ---------------------- */

/* Whether all positions of a window lie within a tensor of shape `whole`, which is operand or
 * result. */
static bool need_window(wg_node *n, const wg_shape *whole, const wg_shape *start,
                        const wg_shape *size, const wg_shape *step)
{
    char text[160];
    if (start->rank != whole->rank || size->rank != whole->rank || step->rank != whole->rank)
        return wg_fail(n, WG_ESHAPE, "%d starts, %d sizes and %d steps for %s of rank %d",
                       start->rank, size->rank, step->rank, wg_shape_text(whole, text, sizeof text),
                       whole->rank);
    for (int k = 0; k < whole->rank; k++) {
        int64_t first = start->dim[k], count = size->dim[k], by = step->dim[k], dim = whole->dim[k];
        if (by == 0)
            return wg_fail(n, WG_EINVAL, "the step along axis %d is 0", k);
        if (count < 0)
            return wg_fail(n, WG_ESHAPE, "the size along axis %d is %lld", k, (long long)count);
        if (count == 0)
            continue;
        bool inside =
            first >= 0 && first < dim && (by > 0 ? dim - 1 - first : -first) / by >= count - 1;
        if (!inside)
            return wg_fail(n, WG_ESHAPE,
                           "%lld positions from %lld in steps of %lld leave axis %d of %s",
                           (long long)count, (long long)first, (long long)by, k,
                           wg_shape_text(whole, text, sizeof text));
    }
    return true;
}

/* ---- slice ----------------------------------------------------------------------------------- */

static const wg_attr slice_attrs[] = {
    WG_ATTR(SHAPE, wg_slice_attrs, start),
    WG_ATTR(SHAPE, wg_slice_attrs, size),
    WG_ATTR(SHAPE, wg_slice_attrs, step),
};

static bool infer_slice(wg_node *n)
{
    const wg_slice_attrs *a = n->attrs;
    return need_window(n, &n->in[0]->shape, &a->start, &a->size, &a->step) &&
           wg_set_result(n, 0, n->in[0]->dtype, a->size);
}

static void grad_slice(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_slice_attrs *a = n->attrs;
    dx[0] = wg_slice_grad(dy[0], n->in[0]->shape, a->start, a->step);
}

static const wg_sample slice_samples[] = {
    {"steps",
     &(const wg_slice_attrs){{2, {1, 0}}, {2, {2, 2}}, {2, {1, 3}}},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"backwards",
     &(const wg_slice_attrs){{2, {2, 3}}, {2, {3, 2}}, {2, {-1, -2}}},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"middle axis",
     &(const wg_slice_attrs){{3, {0, 1, 0}}, {3, {2, 2, 3}}, {3, {1, 1, 1}}},
     1,
     {WG_FLOATS(-2, 2, 3, 2, 4, 3)}},
    {"nothing", &(const wg_slice_attrs){{1, {0}}, {1, {0}}, {1, {1}}}, 1, {WG_FLOATS(-2, 2, 1, 3)}},
    {"scalar", &(const wg_slice_attrs){{0, {0}}, {0, {0}}, {0, {0}}}, 1, {WG_FLOATS(-2, 2, 0, 0)}},
};

const wg_op wg_op_slice = {
    .name = "slice",
    .formula = "y[i] = x[start + i step]",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .flags = WG_OP_SELECTS,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_slice_attrs, slice_attrs),
    .infer = infer_slice,
    .grad = grad_slice,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(slice_samples),
};

wg_value *(wg_window)(const char *at, wg_value *x, wg_shape start, wg_shape size, wg_shape step)
{
    return wg_apply1(at, &wg_op_slice, &(wg_slice_attrs){start, size, step}, x);
}

/* The window of all of x, to be narrowed along some axes. */
static wg_slice_attrs everything(const wg_shape *x)
{
    wg_slice_attrs a = {{.rank = x->rank}, *x, {.rank = x->rank}};
    for (int i = 0; i < x->rank; i++)
        a.step.dim[i] = 1;
    return a;
}

static int64_t clamped(int64_t position, int64_t size, int64_t min, int64_t max)
{
    if (position < 0)
        position = position < -size ? -1 : position + size;
    return position < min ? min : position > max ? max : position;
}

wg_value *(wg_slice)(const char *at, wg_value *x, int axis, int64_t start, int64_t stop,
                     int64_t step)
{
    char text[160];
    if (!x)
        return NULL;
    int k = wg_normalize_axis(axis, x->shape.rank);
    if (k < 0)
        return wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, "slice",
                             "axis %d is outside x, which is %s", axis,
                             wg_shape_text(&x->shape, text, sizeof text));
    wg_slice_attrs a = everything(&x->shape);
    int64_t size = x->shape.dim[k], min = step < 0 ? -1 : 0, max = step < 0 ? size - 1 : size;
    int64_t first = clamped(start, size, min, max), last = clamped(stop, size, min, max);
    a.start.dim[k] = first;
    a.step.dim[k] = step;
    if (step != 0) /* the shape rule refuses 0 */
        a.size.dim[k] = step > 0 ? (last > first ? (last - first - 1) / step + 1 : 0)
                                 : (last < first ? (last - first + 1) / step + 1 : 0);
    if (a.size.dim[k] == 0)
        a.start.dim[k] = 0;
    return step == 1 && a.size.dim[k] == size ? x : (wg_window)(at, x, a.start, a.size, a.step);
}

/* ---- slice_grad ------------------------------------------------------------------------------ */

static const wg_attr slice_grad_attrs[] = {
    WG_ATTR(SHAPE, wg_slice_grad_attrs, shape),
    WG_ATTR(SHAPE, wg_slice_grad_attrs, start),
    WG_ATTR(SHAPE, wg_slice_grad_attrs, step),
};

static bool infer_slice_grad(wg_node *n)
{
    const wg_slice_grad_attrs *a = n->attrs;
    return wg_set_result(n, 0, n->in[0]->dtype, a->shape) &&
           need_window(n, &a->shape, &a->start, &n->in[0]->shape, &a->step);
}

static void grad_slice_grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_slice_grad_attrs *a = n->attrs;
    dx[0] = wg_window(dy[0], a->start, n->in[0]->shape, a->step);
}

static const wg_sample slice_grad_samples[] = {
    {"steps",
     &(const wg_slice_grad_attrs){{2, {3, 4}}, {2, {1, 0}}, {2, {1, 3}}},
     1,
     {WG_FLOATS(-2, 2, 2, 2, 2)}},
    {"backwards",
     &(const wg_slice_grad_attrs){{2, {3, 4}}, {2, {2, 3}}, {2, {-1, -2}}},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"nothing",
     &(const wg_slice_grad_attrs){{1, {3}}, {1, {0}}, {1, {1}}},
     1,
     {WG_FLOATS(-2, 2, 1, 0)}},
};

const wg_op wg_op_slice_grad = {
    .name = "slice_grad",
    .formula = "zeros, but dx[start + i step] = dy[i]",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "dy",
    .results = "dx",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_slice_grad_attrs, slice_grad_attrs),
    .infer = infer_slice_grad,
    .grad = grad_slice_grad,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(slice_grad_samples),
};

wg_value *(wg_slice_grad)(const char *at, wg_value *dy, wg_shape shape, wg_shape start,
                          wg_shape step)
{
    return wg_apply1(at, &wg_op_slice_grad, &(wg_slice_grad_attrs){shape, start, step}, dy);
}

/* ---- pad ------------------------------------------------------------------------------------- */

static const wg_attr pad_attrs[] = {
    WG_ATTR(SHAPE, wg_pad_attrs, before),
    WG_ATTR(SHAPE, wg_pad_attrs, after),
    WG_ATTR(REAL, wg_pad_attrs, value),
};

static bool infer_pad(wg_node *n)
{
    const wg_pad_attrs *a = n->attrs;
    char text[160];
    wg_shape s = n->in[0]->shape;
    if (a->before.rank != s.rank || a->after.rank != s.rank)
        return wg_fail(n, WG_ESHAPE, "%d and %d paddings for %s of rank %d", a->before.rank,
                       a->after.rank, wg_shape_text(&s, text, sizeof text), s.rank);
    for (int k = 0; k < s.rank; k++) {
        int64_t before = a->before.dim[k], after = a->after.dim[k];
        if (before < 0 || after < 0)
            return wg_fail(n, WG_ESHAPE,
                           "the padding of axis %d is %lld and %lld, must not be negative", k,
                           (long long)before, (long long)after);
        if (before > INT64_MAX - s.dim[k] || after > INT64_MAX - s.dim[k] - before)
            return wg_fail(n, WG_ESHAPE, "the size of axis %d overflows 64 bits", k);
        s.dim[k] += before + after;
    }
    return wg_need_held(n, "value", a->value, n->in[0]->dtype) &&
           wg_set_result(n, 0, n->in[0]->dtype, s);
}

static void grad_pad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_pad_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    dx[0] = wg_window(dy[0], a->before, *x, everything(x).step);
}

static const wg_sample pad_samples[] = {
    {"zeros", &(const wg_pad_attrs){{2, {1, 0}}, {2, {0, 2}}, 0}, 1, {WG_FLOATS(-2, 2, 2, 2, 3)}},
    {"a number", &(const wg_pad_attrs){{1, {2}}, {1, {1}}, -1.5}, 1, {WG_FLOATS(-2, 2, 1, 3)}},
    {"empty", &(const wg_pad_attrs){{2, {0, 1}}, {2, {0, 1}}, 1}, 1, {WG_FLOATS(-2, 2, 2, 2, 0)}},
};

const wg_op wg_op_pad = {
    .name = "pad",
    .formula = "y[before + i] = x[i], value elsewhere",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_pad_attrs, pad_attrs),
    .infer = infer_pad,
    .grad = grad_pad,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(pad_samples),
};

wg_value *(wg_pad)(const char *at, wg_value *x, wg_shape before, wg_shape after, double value)
{
    return wg_apply1(at, &wg_op_pad, &(wg_pad_attrs){before, after, value}, x);
}

/* ---- flip: a window that runs backwards ------------------------------------------------------ */

static const wg_attr flip_attrs[] = {WG_ATTR(AXES, wg_flip_attrs, axes)};

static bool infer_flip(wg_node *n)
{
    const wg_flip_attrs *a = n->attrs;
    wg_axes axes;
    return wg_need_axes(n, 0, &a->axes, &axes) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static void expand_flip(wg_node *n, wg_value **y)
{
    const wg_flip_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    wg_axes axes = wg_normalize_axes(&a->axes, x->rank);
    wg_slice_attrs w = everything(x);
    for (int i = 0; i < axes.count; i++) {
        w.start.dim[axes.axis[i]] = x->dim[axes.axis[i]] - 1;
        w.step.dim[axes.axis[i]] = -1;
    }
    y[0] = wg_window(n->in[0], w.start, w.size, w.step);
}

static void grad_flip(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_flip_attrs *a = n->attrs;
    dx[0] = wg_flip(dy[0], a->axes);
}

static const wg_sample flip_samples[] = {
    {"last axis", &(const wg_flip_attrs){{1, {-1}}}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"all", &(const wg_flip_attrs){{0, {0}}}, 1, {WG_FLOATS(-2, 2, 3, 2, 3, 2)}},
    {"empty", &(const wg_flip_attrs){{1, {0}}}, 1, {WG_FLOATS(-2, 2, 2, 0, 2)}},
};

const wg_op wg_op_flip = {
    .name = "flip",
    .formula = "y[i] = x[size - 1 - i] along axes",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_flip_attrs, flip_attrs),
    .infer = infer_flip,
    .grad = grad_flip,
    .reads = WG_READS_NOTHING,
    .expand = expand_flip,
    WG_SAMPLES(flip_samples),
};

wg_value *(wg_flip)(const char *at, wg_value *x, wg_axes axes)
{
    return wg_apply1(at, &wg_op_flip, &(wg_flip_attrs){axes}, x);
}

/* ---- roll: the two parts exchanged ----------------------------------------------------------- */

static const wg_attr roll_attrs[] = {
    WG_ATTR(INT, wg_roll_attrs, shift),
    WG_ATTR(AXIS, wg_roll_attrs, axis),
};

static bool infer_roll(wg_node *n)
{
    const wg_roll_attrs *a = n->attrs;
    int axis;
    return wg_need_axis(n, 0, a->axis, &axis) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

int64_t wgi_rolled(const wg_node *n)
{
    const wg_roll_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    int64_t size = x->dim[wg_normalize_axis(a->axis, x->rank)];
    int64_t shift = size ? a->shift % size : 0;
    return shift < 0 ? shift + size : shift;
}

static void expand_roll(wg_node *n, wg_value **y)
{
    const wg_roll_attrs *a = n->attrs;
    int axis = wg_normalize_axis(a->axis, n->in[0]->shape.rank);
    int64_t cut = n->in[0]->shape.dim[axis] - wgi_rolled(n);
    wg_value *parts[] = {wg_slice(n->in[0], axis, cut, WG_TO_END, 1),
                         wg_slice(n->in[0], axis, 0, cut, 1)};
    y[0] = wgi_rolled(n) == 0 ? n->in[0] : wg_concat(parts, 2, axis);
}

static void grad_roll(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_roll_attrs *a = n->attrs;
    dx[0] = wg_roll(dy[0], -wgi_rolled(n), (int)a->axis);
}

static const wg_sample roll_samples[] = {
    {"forward", &(const wg_roll_attrs){1, 1}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"backward, more than once round",
     &(const wg_roll_attrs){-5, 0},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"by nothing", &(const wg_roll_attrs){0, -1}, 1, {WG_FLOATS(-2, 2, 1, 3)}},
};

const wg_op wg_op_roll = {
    .name = "roll",
    .formula = "y[i + shift] = x[i] along axis, round the end",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_roll_attrs, roll_attrs),
    .infer = infer_roll,
    .grad = grad_roll,
    .reads = WG_READS_NOTHING,
    .expand = expand_roll,
    WG_SAMPLES(roll_samples),
};

wg_value *(wg_roll)(const char *at, wg_value *x, int64_t shift, int axis)
{
    return wg_apply1(at, &wg_op_roll, &(wg_roll_attrs){shift, axis}, x);
}
