#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdio.h>
#include <string.h>

static const char *const modes[] = {"nearest", "bilinear", "bicubic", NULL};
static const char *const modes_of_axes[] = {"nearest", "linear", "cubic", NULL};

/* clang-format off */
#define CORNERS WG_ATTR(BOOL, wg_upsample_attrs, align_corners)
#define PLANE WG_ATTR(INT, wg_upsample_attrs, height), WG_ATTR(INT, wg_upsample_attrs, width)

static const wg_attr attrs[] = {
    WG_ATTR_NAMED(wg_upsample_attrs, mode, modes), CORNERS, PLANE,
};
static const wg_attr attrs_1d[] = {
    WG_ATTR_NAMED(wg_upsample_attrs, mode, modes_of_axes), CORNERS,
    {"size", WG_ATTR_INT, offsetof(wg_upsample_attrs, width), 0},
};
static const wg_attr attrs_3d[] = {
    WG_ATTR_NAMED(wg_upsample_attrs, mode, modes_of_axes), CORNERS,
    PLANE, WG_ATTR(INT, wg_upsample_attrs, depth),
};
/* clang-format on */

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Below 2^31, the products of two sizes are exact in int64_t. */
static bool need_size(wg_node *n, const char *what, int64_t size)
{
    return (size >= 1 && size <= INT32_MAX) ||
           wg_fail(n, WG_ESHAPE, "%s is %lld, must be 1 to %d", what, (long long)size, INT32_MAX);
}

/* An axis of x[N, C, ...] and its size in the result. */
typedef struct axis {
    const char *name;
    int64_t size;
} axis;

static bool infer_axes(wg_node *n, const axis *axes, int count)
{
    const wg_upsample_attrs *a = n->attrs;
    wg_shape y = n->in[0]->shape;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2 + count, 2 + count))
        return false;
    if (a->align_corners && a->mode == WG_NEAREST)
        return wg_fail(n, WG_EINVAL, "corners cannot be aligned in mode nearest");
    for (int i = 0; i < count; i++) {
        char what[32];
        snprintf(what, sizeof what, "the operand's %s", axes[i].name);
        if (!need_size(n, what, y.dim[2 + i]) || !need_size(n, axes[i].name, axes[i].size))
            return false;
        y.dim[2 + i] = axes[i].size;
    }
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

static bool infer(wg_node *n)
{
    const wg_upsample_attrs *a = n->attrs;
    return infer_axes(n, (axis[]){{"height", a->height}, {"width", a->width}}, 2);
}

static bool infer_1d(wg_node *n)
{
    const wg_upsample_attrs *a = n->attrs;
    return infer_axes(n, &(axis){"size", a->width}, 1);
}

static bool infer_3d(wg_node *n)
{
    const wg_upsample_attrs *a = n->attrs;
    return infer_axes(n, (axis[]){{"depth", a->depth}, {"height", a->height}, {"width", a->width}},
                      3);
}

/* ---- one axis and three, as planes ----------------------------------------------------------- */

/* Planes [height, width] of x in another size */
static wg_value *resample(const wg_node *n, wg_value *x, const int64_t *planes, int64_t height,
                          int64_t width, int64_t to_height, int64_t to_width)
{
    wg_upsample_attrs a = *(const wg_upsample_attrs *)n->attrs;
    if (height == to_height && width == to_width)
        return x;
    a.height = to_height;
    a.width = to_width;
    return wg_apply1(n->at, &wg_op_upsample2d, &a,
                     wg_reshape(x, WG_SHAPE(planes[0], planes[1], height, width)));
}

static void expand_1d(wg_node *n, wg_value **y)
{
    const int64_t *from = n->in[0]->shape.dim, *to = n->out[0]->shape.dim;
    y[0] = wg_reshape(resample(n, n->in[0], from, 1, from[2], 1, to[2]), n->out[0]->shape);
}

/* D as rows of planes [D, H W], and planes [H, W]: first that which leaves less for the other. */
static void expand_3d(wg_node *n, wg_value **y)
{
    const int64_t *from = n->in[0]->shape.dim, *to = n->out[0]->shape.dim;
    int64_t before = from[3] * from[4], after = to[3] * to[4];
    bool depth_first = (double)to[2] * (double)before <= (double)from[2] * (double)after;
    int64_t volumes[] = {from[0], from[1]}, slices[] = {from[0], from[1] * from[2]};
    wg_value *x = n->in[0];
    if (depth_first) {
        x = resample(n, x, volumes, from[2], before, to[2], before);
        slices[1] = from[1] * to[2];
    }
    x = resample(n, x, slices, from[3], from[4], to[3], to[4]);
    if (!depth_first)
        x = resample(n, x, volumes, from[2], after, to[2], after);
    y[0] = wg_reshape(x, n->out[0]->shape);
}

/* ---- gradients, costs ------------------------------------------------------------------------ */

/* The other op, back to the operand's size. */
static wg_value *transposed(wg_node *n, const wg_op *op, wg_value *dy)
{
    wg_upsample_attrs a = *(const wg_upsample_attrs *)n->attrs;
    a.height = n->in[0]->shape.dim[2];
    a.width = n->in[0]->shape.dim[3];
    return wg_apply1(n->at, op, &a, dy);
}

static void grad_upsample(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = transposed(n, &wg_op_upsample2d_grad, dy[0]);
}

static void grad_upsample_grad(wg_node *n, wg_value *const *v, wg_value **dx)
{
    dx[0] = transposed(n, &wg_op_upsample2d, v[0]);
}

/* each element of the larger one meets so many of the other along each of two axes, with their
 * weights */
static double flops_of(const wg_node *n, const wg_value *larger)
{
    const wg_upsample_attrs *a = n->attrs;
    const double flops[] = {[WG_NEAREST] = 1, [WG_BILINEAR] = 8, [WG_BICUBIC] = 32};
    return (double)wg_value_count(larger) * flops[a->mode];
}

static double flops_upsample(const wg_node *n)
{
    return flops_of(n, n->out[0]);
}

static double flops_upsample_grad(const wg_node *n)
{
    return flops_of(n, n->in[0]);
}

/* clang-format off */
#define F(...) WG_FLOATS(-2, 2, __VA_ARGS__)
#define TO(mode, align, h, w) TO3D(mode, align, 0, h, w)
#define TO3D(mode, align, d, h, w) &(const wg_upsample_attrs){WG_##mode, align, h, w, d}

static const wg_sample samples[] = {
    {"nearest", TO(NEAREST, false, 4, 6), 1, {F(4, 1, 2, 2, 3)}},
    {"nearest, uneven", TO(NEAREST, false, 5, 2), 1, {F(4, 2, 1, 3, 3)}},
    {"bilinear", TO(BILINEAR, false, 4, 6), 1, {F(4, 1, 2, 2, 3)}},
    {"bilinear, uneven", TO(BILINEAR, false, 5, 4), 1, {F(4, 1, 2, 3, 7)}},
    {"corners aligned", TO(BILINEAR, true, 5, 4), 1, {F(4, 2, 1, 3, 3)}},
    {"from one element", TO(BILINEAR, true, 3, 1), 1, {F(4, 1, 2, 1, 2)}},
    {"bicubic", TO(BICUBIC, false, 4, 6), 1, {F(4, 1, 2, 2, 3)}},
    {"bicubic, uneven", TO(BICUBIC, false, 5, 4), 1, {F(4, 1, 2, 3, 7)}},
    {"bicubic, corners aligned", TO(BICUBIC, true, 7, 4), 1, {F(4, 2, 1, 5, 3)}},
    {"an axis that stays", TO(BICUBIC, false, 3, 5), 1, {F(4, 1, 2, 3, 2)}},
};
static const wg_sample samples_1d[] = {
    {"nearest", TO(NEAREST, false, 0, 5), 1, {F(3, 2, 2, 3)}},
    {"linear", TO(LINEAR, false, 0, 6), 1, {F(3, 1, 2, 4)}},
    {"corners aligned", TO(LINEAR, true, 0, 3), 1, {F(3, 2, 1, 5)}},
    {"cubic", TO(CUBIC, false, 0, 7), 1, {F(3, 1, 2, 4)}},
    {"the same size", TO(LINEAR, false, 0, 4), 1, {F(3, 1, 2, 4)}},
};
static const wg_sample samples_3d[] = {
    {"nearest", TO3D(NEAREST, false, 3, 4, 2), 1, {F(5, 1, 2, 2, 2, 3)}},
    {"linear", TO3D(LINEAR, false, 3, 4, 5), 1, {F(5, 2, 1, 2, 2, 3)}},
    {"smaller planes first", TO3D(LINEAR, false, 4, 2, 2), 1, {F(5, 1, 1, 2, 3, 4)}},
    {"corners aligned", TO3D(LINEAR, true, 3, 3, 1), 1, {F(5, 1, 2, 2, 4, 2)}},
    {"cubic", TO3D(CUBIC, false, 3, 2, 4), 1, {F(5, 1, 1, 2, 3, 3)}},
    {"planes that stay", TO3D(LINEAR, false, 4, 2, 3), 1, {F(5, 1, 2, 3, 2, 3)}},
};
static const wg_sample grad_samples[] = {
    {"nearest", TO(NEAREST, false, 2, 3), 1, {F(4, 1, 2, 4, 6)}},
    {"nearest, uneven", TO(NEAREST, false, 3, 3), 1, {F(4, 2, 1, 5, 2)}},
    {"bilinear", TO(BILINEAR, false, 2, 3), 1, {F(4, 1, 2, 4, 6)}},
    {"bilinear, uneven", TO(BILINEAR, false, 3, 7), 1, {F(4, 1, 2, 5, 4)}},
    {"corners aligned", TO(BILINEAR, true, 3, 3), 1, {F(4, 2, 1, 5, 4)}},
    {"bicubic", TO(BICUBIC, false, 2, 3), 1, {F(4, 1, 2, 4, 6)}},
    {"bicubic, uneven", TO(BICUBIC, false, 3, 7), 1, {F(4, 1, 2, 5, 4)}},
    {"bicubic, corners aligned", TO(BICUBIC, true, 5, 3), 1, {F(4, 2, 1, 7, 4)}},
};

/* linear, but with weights such as 1/3 that round: so not checked as exact */
#define UPSAMPLING                                                                                 \
    .family = WG_FAMILY_UPSAMPLING, .reads = WG_READS_NOTHING

const wg_op wg_op_upsample2d = {
    .name = "upsample2d", .formula = "y = x resampled to another height and width", UPSAMPLING,
    .operands = "x", .results = "y", WG_ATTRS(wg_upsample_attrs, attrs), .infer = infer,
    .grad = grad_upsample, .flops = flops_upsample,
    WG_SAMPLES(samples),
};
const wg_op wg_op_upsample2d_grad = {
    .name = "upsample2d_grad", .formula = "<x, dx> = <upsample2d(x), dy> for all x", UPSAMPLING,
    .operands = "dy", .results = "dx", WG_ATTRS(wg_upsample_attrs, attrs), .infer = infer,
    .grad = grad_upsample_grad, .flops = flops_upsample_grad,
    WG_SAMPLES(grad_samples),
};
const wg_op wg_op_upsample1d = {
    .name = "upsample1d", .formula = "y = x resampled to another size",
    .family = WG_FAMILY_UPSAMPLING, .operands = "x", .results = "y",
    WG_ATTRS(wg_upsample_attrs, attrs_1d), .infer = infer_1d, .expand = expand_1d,
    .flops = flops_upsample,
    WG_SAMPLES(samples_1d),
};
const wg_op wg_op_upsample3d = {
    .name = "upsample3d", .formula = "y = x resampled to another depth, height and width",
    .family = WG_FAMILY_UPSAMPLING, .operands = "x", .results = "y",
    WG_ATTRS(wg_upsample_attrs, attrs_3d), .infer = infer_3d, .expand = expand_3d,
    .flops = flops_upsample,
    WG_SAMPLES(samples_3d),
};
/* clang-format on */

/* ---- builders -------------------------------------------------------------------------------- */

/* What a builder was asked for, of any number of axes. */
typedef struct request {
    const char *at;
    const wg_op *op;
    wg_value *x;
    const char *axes; /* their names */
    const int64_t *size;
    const double *scale;
} request;

/* The size of axis i, given or by its scale; the shape rule refuses a given one. */
static bool size_of(const request *r, int i, int64_t *size)
{
    int64_t from = r->x->shape.dim[2 + i];
    double to = (double)from * r->scale[i];
    *size = r->size[i];
    if (r->size[i] != 0 || from == 0)
        return true;
    if (r->scale[i] == 0)
        return wg_graph_fail(wg_graph_of(r->x), WG_EINVAL, r->at, r->op->name,
                             "neither a size nor a scale is given for %c", r->axes[i]);
    if (!(to >= 1 && to <= INT32_MAX))
        return wg_graph_fail(wg_graph_of(r->x), WG_EINVAL, r->at, r->op->name,
                             "a scale of %g makes %g of %lld along %c, must be 1 to %d",
                             r->scale[i], to, (long long)from, r->axes[i], INT32_MAX);
    *size = (int64_t)to;
    return true;
}

static wg_value *upsample(const request *r, wg_upsample_mode mode, bool align_corners)
{
    wg_upsample_attrs a = {.mode = mode, .align_corners = align_corners};
    int count = (int)strlen(r->axes);
    int64_t *const sizes[] = {&a.depth, &a.height, &a.width};
    bool axes = r->x && r->x->shape.rank == 2 + count; /* otherwise the shape rule says so */
    for (int i = 0; i < count && axes; i++)
        if (!size_of(r, i, sizes[3 - count + i]))
            return NULL;
    return wg_apply1(r->at, r->op, &a, r->x);
}

wg_value *(wg_upsample1d)(const char *at, wg_value *x, const wg_upsample1d_options *options)
{
    wg_upsample1d_options o = options ? *options : (wg_upsample1d_options){.mode = WG_NEAREST};
    return upsample(&(request){at, &wg_op_upsample1d, x, "L", &o.size, &o.scale}, o.mode,
                    o.align_corners);
}

wg_value *(wg_upsample2d)(const char *at, wg_value *x, const wg_upsample2d_options *options)
{
    wg_upsample2d_options o = options ? *options : (wg_upsample2d_options){.mode = WG_NEAREST};
    return upsample(&(request){at, &wg_op_upsample2d, x, "HW", o.size, o.scale}, o.mode,
                    o.align_corners);
}

wg_value *(wg_upsample3d)(const char *at, wg_value *x, const wg_upsample3d_options *options)
{
    wg_upsample3d_options o = options ? *options : (wg_upsample3d_options){.mode = WG_NEAREST};
    return upsample(&(request){at, &wg_op_upsample3d, x, "DHW", o.size, o.scale}, o.mode,
                    o.align_corners);
}

wg_value *(wg_upsample2d_grad)(const char *at, wg_value *dy, const wg_upsample_attrs *a)
{
    return wg_apply1(at, &wg_op_upsample2d_grad, a, dy);
}
