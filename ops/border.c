/* Padding that continues x beyond its border. */
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const char *const border_names[] = {"reflect", "edge", "wrap", NULL};
static const wg_attr pad_border_attrs[] = {
    WG_ATTR(SHAPE, wg_pad_border_attrs, before),
    WG_ATTR(SHAPE, wg_pad_border_attrs, after),
    WG_ATTR_NAMED(wg_pad_border_attrs, border, border_names),
};

/* How many elements can be added at either end of an axis of that size. */
static int64_t most(wg_border border, int64_t size)
{
    if (border == WG_BORDER_EDGE)
        return size ? INT64_MAX / 4 : 0;
    return border == WG_BORDER_WRAP || size == 0 ? size : size - 1;
}

static bool infer_pad_border(wg_node *n)
{
    const wg_pad_border_attrs *a = n->attrs;
    char text[160];
    wg_shape s = n->in[0]->shape;
    if (a->before.rank != s.rank || a->after.rank != s.rank)
        return wg_fail(n, WG_ESHAPE, "%d and %d paddings for %s of rank %d", a->before.rank,
                       a->after.rank, wg_shape_text(&s, text, sizeof text), s.rank);
    for (int k = 0; k < s.rank; k++) {
        int64_t before = a->before.dim[k], after = a->after.dim[k], max = most(a->border, s.dim[k]);
        if (before < 0 || after < 0 || before > max || after > max)
            return wg_fail(n, WG_ESHAPE,
                           "the padding of axis %d, of size %lld, is %lld and %lld, must be 0 to "
                           "%lld with border %s",
                           k, (long long)s.dim[k], (long long)before, (long long)after,
                           (long long)max, border_names[a->border]);
        s.dim[k] += before + after;
    }
    return wg_set_result(n, 0, n->in[0]->dtype, s);
}

/* Element `at` of the axis, `count` times. */
static wg_value *repeated(wg_value *x, int axis, int64_t at, int64_t count)
{
    wg_value *one = wg_slice(x, axis, at, at + 1, 1);
    if (!one)
        return NULL;
    wg_shape s = one->shape;
    s.dim[axis] = count;
    return wg_expand(one, s);
}

/* What comes before the axis, and what after it. */
static wg_value *lead(wg_value *x, int axis, int64_t count, wg_border border)
{
    int64_t size = x->shape.dim[axis];
    if (border == WG_BORDER_EDGE)
        return repeated(x, axis, 0, count);
    return border == WG_BORDER_WRAP ? wg_slice(x, axis, size - count, size, 1)
                                    : wg_slice(x, axis, count, 0, -1);
}

static wg_value *trail(wg_value *x, int axis, int64_t count, wg_border border)
{
    int64_t size = x->shape.dim[axis], end = size - 2 - count;
    if (border == WG_BORDER_EDGE)
        return repeated(x, axis, size - 1, count);
    return border == WG_BORDER_WRAP ? wg_slice(x, axis, 0, count, 1)
                                    : wg_slice(x, axis, size - 2, end < 0 ? WG_TO_START : end, -1);
}

/* One axis after the other: corners continue what the axes before them added. */
static void expand_pad_border(wg_node *n, wg_value **y)
{
    const wg_pad_border_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    for (int k = 0; k < n->in[0]->shape.rank && x; k++) {
        wg_value *parts[3];
        size_t count = 0;
        if (a->before.dim[k])
            parts[count++] = lead(x, k, a->before.dim[k], a->border);
        parts[count++] = x;
        if (a->after.dim[k])
            parts[count++] = trail(x, k, a->after.dim[k], a->border);
        x = count > 1 ? wg_concat(parts, count, k) : x;
    }
    y[0] = x;
}

static const wg_sample pad_border_samples[] = {
    {"reflect",
     &(const wg_pad_border_attrs){{2, {1, 3}}, {2, {2, 0}}, WG_BORDER_REFLECT},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"edge",
     &(const wg_pad_border_attrs){{2, {0, 1}}, {2, {5, 2}}, WG_BORDER_EDGE},
     1,
     {WG_FLOATS(-2, 2, 2, 2, 3)}},
    {"wrap",
     &(const wg_pad_border_attrs){{2, {2, 1}}, {2, {1, 3}}, WG_BORDER_WRAP},
     1,
     {WG_FLOATS(-2, 2, 2, 2, 3)}},
    {"middle axis",
     &(const wg_pad_border_attrs){{3, {0, 1, 0}}, {3, {0, 1, 0}}, WG_BORDER_REFLECT},
     1,
     {WG_FLOATS(-2, 2, 3, 2, 3, 2)}},
    {"nothing",
     &(const wg_pad_border_attrs){{1, {0}}, {1, {0}}, WG_BORDER_WRAP},
     1,
     {WG_FLOATS(-2, 2, 1, 3)}},
};

const wg_op wg_op_pad_border = {
    .name = "pad_border",
    .formula = "y[before + i] = x[i], continued beyond the border",
    .family = WG_FAMILY_MOVEMENT,
    .operands = "x",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_pad_border_attrs, pad_border_attrs),
    .infer = infer_pad_border,
    .expand = expand_pad_border,
    WG_SAMPLES(pad_border_samples),
};

wg_value *(wg_pad_border)(const char *at, wg_value *x, wg_shape before, wg_shape after,
                          wg_border border)
{
    return wg_apply1(at, &wg_op_pad_border, &(wg_pad_border_attrs){before, after, border}, x);
}
