#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const char *const modes[] = {"nearest", "bilinear", NULL};

static const wg_attr attrs[] = {
    WG_ATTR_NAMED(wg_upsample_attrs, mode, modes),
    WG_ATTR(BOOL, wg_upsample_attrs, align_corners),
    WG_ATTR(INT, wg_upsample_attrs, height),
    WG_ATTR(INT, wg_upsample_attrs, width),
};

/* Below 2^31, the products of two sizes are exact in int64_t. */
static bool need_size(wg_node *n, const char *what, int64_t size)
{
    return (size >= 1 && size <= INT32_MAX) ||
           wg_fail(n, WG_ESHAPE, "%s is %lld, must be 1 to %d", what, (long long)size, INT32_MAX);
}

static bool infer(wg_node *n)
{
    const wg_upsample_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 4, 4))
        return false;
    if (a->align_corners && a->mode != WG_BILINEAR)
        return wg_fail(n, WG_EINVAL, "corners can be aligned in mode bilinear only");
    return need_size(n, "the operand's height", x->dim[2]) &&
           need_size(n, "the operand's width", x->dim[3]) && need_size(n, "height", a->height) &&
           need_size(n, "width", a->width) &&
           wg_set_result(n, 0, n->in[0]->dtype,
                         WG_SHAPE(x->dim[0], x->dim[1], a->height, a->width));
}

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

/* each element of the larger plane meets one element of the other, or four with their weights */
static double flops_of(const wg_node *n, const wg_value *larger)
{
    const wg_upsample_attrs *a = n->attrs;
    return (double)wg_value_count(larger) * (a->mode == WG_NEAREST ? 1 : 8);
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
#define TO(mode, align, h, w) &(const wg_upsample_attrs){WG_##mode, align, h, w}

static const wg_sample samples[] = {
    {"nearest", TO(NEAREST, false, 4, 6), 1, {F(4, 1, 2, 2, 3)}},
    {"nearest, uneven", TO(NEAREST, false, 5, 2), 1, {F(4, 2, 1, 3, 3)}},
    {"bilinear", TO(BILINEAR, false, 4, 6), 1, {F(4, 1, 2, 2, 3)}},
    {"bilinear, uneven", TO(BILINEAR, false, 5, 4), 1, {F(4, 1, 2, 3, 7)}},
    {"corners aligned", TO(BILINEAR, true, 5, 4), 1, {F(4, 2, 1, 3, 3)}},
    {"from one element", TO(BILINEAR, true, 3, 1), 1, {F(4, 1, 2, 1, 2)}},
};
static const wg_sample grad_samples[] = {
    {"nearest", TO(NEAREST, false, 2, 3), 1, {F(4, 1, 2, 4, 6)}},
    {"nearest, uneven", TO(NEAREST, false, 3, 3), 1, {F(4, 2, 1, 5, 2)}},
    {"bilinear", TO(BILINEAR, false, 2, 3), 1, {F(4, 1, 2, 4, 6)}},
    {"bilinear, uneven", TO(BILINEAR, false, 3, 7), 1, {F(4, 1, 2, 5, 4)}},
    {"corners aligned", TO(BILINEAR, true, 3, 3), 1, {F(4, 2, 1, 5, 4)}},
};

/* linear, but with weights such as 1/3 that round: so not checked as exact */
#define UPSAMPLING                                                                                 \
    .family = WG_FAMILY_UPSAMPLING, WG_ATTRS(wg_upsample_attrs, attrs), .infer = infer,            \
    .reads = WG_READS_NOTHING

const wg_op wg_op_upsample2d = {
    .name = "upsample2d", .formula = "y = x resampled to another height and width", UPSAMPLING,
    .operands = "x", .results = "y", .grad = grad_upsample, .flops = flops_upsample,
    WG_SAMPLES(samples),
};
const wg_op wg_op_upsample2d_grad = {
    .name = "upsample2d_grad", .formula = "<x, dx> = <upsample2d(x), dy> for all x", UPSAMPLING,
    .operands = "dy", .results = "dx", .grad = grad_upsample_grad, .flops = flops_upsample_grad,
    WG_SAMPLES(grad_samples),
};
/* clang-format on */

/* The size of axis i of H and W, given or by its scale; the shape rule refuses a given one. */
static bool size_of(const char *at, wg_value *x, const wg_upsample2d_options *o, int i,
                    int64_t *size)
{
    int64_t from = x->shape.dim[2 + i];
    double to = (double)from * o->scale[i];
    *size = o->size[i];
    if (o->size[i] != 0 || from == 0)
        return true;
    if (o->scale[i] == 0)
        return wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, "upsample2d",
                             "neither a size nor a scale is given for %c", "HW"[i]);
    if (!(to >= 1 && to <= INT32_MAX))
        return wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, "upsample2d",
                             "a scale of %g makes %g of %lld along %c, must be 1 to %d",
                             o->scale[i], to, (long long)from, "HW"[i], INT32_MAX);
    *size = (int64_t)to;
    return true;
}

wg_value *(wg_upsample2d)(const char *at, wg_value *x, const wg_upsample2d_options *options)
{
    wg_upsample2d_options o = options ? *options : (wg_upsample2d_options){.mode = WG_NEAREST};
    bool planes = x && x->shape.rank == 4; /* otherwise the shape rule says so */
    wg_upsample_attrs a = {.mode = o.mode, .align_corners = o.align_corners};
    if (planes && (!size_of(at, x, &o, 0, &a.height) || !size_of(at, x, &o, 1, &a.width)))
        return NULL;
    return wg_apply1(at, &wg_op_upsample2d, &a, x);
}

wg_value *(wg_upsample2d_grad)(const char *at, wg_value *dy, const wg_upsample_attrs *a)
{
    return wg_apply1(at, &wg_op_upsample2d_grad, a, dy);
}
