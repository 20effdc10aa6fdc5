/* conv2d, its two adjoints, and what is made of them: see the head of conv.h. */
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#define FIELD(name, field)                                                                         \
    {                                                                                              \
        name, WG_ATTR_INT, offsetof(wg_conv_attrs, field), 0                                       \
    }

/* clang-format off */
#define GEOMETRY_2D                                                                                \
    FIELD("stride_h", stride_h), FIELD("stride_w", stride_w),                                      \
    FIELD("padding_h", padding_h), FIELD("padding_w", padding_w),                                  \
    FIELD("dilation_h", dilation_h), FIELD("dilation_w", dilation_w), FIELD("groups", groups)
#define GEOMETRY_1D                                                                                \
    FIELD("stride", stride_w), FIELD("padding", padding_w), FIELD("dilation", dilation_w),         \
    FIELD("groups", groups)

static const wg_attr attrs_2d[] = {GEOMETRY_2D};
static const wg_attr attrs_adjoint[] = {GEOMETRY_2D, FIELD("height", height),
    FIELD("width", width)};
static const wg_attr attrs_transpose2d[] = {
    GEOMETRY_2D, FIELD("output_padding_h", output_padding_h),
        FIELD("output_padding_w", output_padding_w),
};
static const wg_attr attrs_1d[] = {GEOMETRY_1D};
static const wg_attr attrs_transpose1d[] = {GEOMETRY_1D, FIELD("output_padding", output_padding_w)};
/* clang-format on */

/* ---- geometry -------------------------------------------------------------------------------- */

wg_conv_geometry wg_conv_geometry_of(const wg_conv_attrs *a, const wg_shape *x, const wg_shape *w,
                                     const wg_shape *y)
{
    return (wg_conv_geometry){
        .batch = x->dim[0],
        .groups = a->groups,
        .in = w->dim[1],
        .out = w->dim[0] / a->groups,
        .h = {x->dim[2], w->dim[2], a->stride_h, a->padding_h, a->dilation_h, y->dim[2]},
        .w = {x->dim[3], w->dim[3], a->stride_w, a->padding_w, a->dilation_w, y->dim[3]},
    };
}

static double conv_flops(const wg_value *y, const wg_value *weight)
{
    const wg_shape *w = &weight->shape;
    return 2.0 * (double)wg_value_count(y) * (double)w->dim[1] * (double)w->dim[2] *
           (double)w->dim[3];
}

/* Checks an x and a w, given or wanted; *y becomes the shape of their convolution. */
static bool need_geometry(wg_node *n, const wg_conv_attrs *a, const wg_shape *x, const wg_shape *w,
                          wg_shape *y)
{
    int64_t in = x->dim[1], out = w->dim[0];
    if (a->groups < 1 || in % a->groups || out % a->groups)
        return wg_fail(n, WG_ESHAPE,
                       "%lld groups do not divide %lld input and %lld output channels",
                       (long long)a->groups, (long long)in, (long long)out);
    if (in / a->groups != w->dim[1])
        return wg_fail(
            n, WG_ESHAPE,
            "%lld input channels in %lld groups need a weight of %lld per group, not %lld",
            (long long)in, (long long)a->groups, (long long)(in / a->groups), (long long)w->dim[1]);
    wg_sliding h = {x->dim[2], w->dim[2], a->stride_h, a->padding_h, a->dilation_h, 0};
    wg_sliding v = {x->dim[3], w->dim[3], a->stride_w, a->padding_w, a->dilation_w, 0};
    if (!wg_need_sliding(n, "H", &h) || !wg_need_sliding(n, "W", &v))
        return false;
    *y = WG_SHAPE(x->dim[0], out, h.count, v.count);
    return true;
}

static bool need_floats(wg_node *n, int rank)
{
    return wg_need_float(n, 0) && wg_need_same_dtype(n, 0, 1) && wg_need_rank(n, 0, rank, rank) &&
           wg_need_rank(n, 1, rank, rank);
}

static bool need_bias(wg_node *n, int64_t channels)
{
    return n->n_in < 3 || (wg_need_same_dtype(n, 0, 2) && wg_need_rank(n, 2, 1, 1) &&
                           wg_need_dim(n, 2, 0, channels));
}

/* For a result of groups * each channels: the product must exist. */
static bool need_groups(wg_node *n, int64_t groups, int64_t each)
{
    return (groups >= 1 && each <= INT64_MAX / groups) ||
           wg_fail(n, WG_ESHAPE, "%lld groups of %lld channels", (long long)groups,
                   (long long)each);
}

/* The builders of both directions share their options. */
static bool need_no_output_padding(wg_node *n)
{
    const wg_conv_attrs *a = n->attrs;
    return (a->output_padding_h == 0 && a->output_padding_w == 0) ||
           wg_fail(n, WG_EINVAL,
                   "an output padding of %lld and %lld is for transposed convolutions only",
                   (long long)a->output_padding_h, (long long)a->output_padding_w);
}

/* ---- the three primitives -------------------------------------------------------------------- */

static bool infer_conv2d(wg_node *n)
{
    wg_shape y;
    return need_floats(n, 4) && need_no_output_padding(n) &&
           need_geometry(n, n->attrs, &n->in[0]->shape, &n->in[1]->shape, &y) &&
           need_bias(n, y.dim[1]) && wg_set_result(n, 0, n->in[0]->dtype, y);
}

/* The cotangent must be as large as the convolution of x with w. */
static bool need_cotangent(wg_node *n, int i, const wg_shape *x, const wg_shape *w)
{
    wg_shape y;
    char is[160], wanted[160];
    if (!need_geometry(n, n->attrs, x, w, &y))
        return false;
    return wg_shape_equal(&y, &n->in[i]->shape) ||
           wg_fail(n, WG_ESHAPE, "dy is %s, the convolution is %s",
                   wg_shape_text(&n->in[i]->shape, is, sizeof is),
                   wg_shape_text(&y, wanted, sizeof wanted));
}

static bool infer_grad_x(wg_node *n)
{
    const wg_conv_attrs *a = n->attrs;
    const wg_shape *dy = &n->in[0]->shape, *w = &n->in[1]->shape;
    if (!need_floats(n, 4) || !need_groups(n, a->groups, w->dim[1]))
        return false;
    wg_shape x = WG_SHAPE(dy->dim[0], a->groups * w->dim[1], a->height, a->width);
    return wg_set_result(n, 0, n->in[0]->dtype, x) && need_cotangent(n, 0, &x, w);
}

static bool infer_grad_w(wg_node *n)
{
    const wg_conv_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape, *dy = &n->in[1]->shape;
    if (!need_floats(n, 4) || !need_groups(n, a->groups, 0))
        return false;
    wg_shape w = WG_SHAPE(dy->dim[1], x->dim[1] / a->groups, a->height, a->width);
    return wg_set_result(n, 0, n->in[0]->dtype, w) && need_cotangent(n, 1, x, &w);
}

static wg_value *adjoint_x(wg_node *n, wg_value *dy, wg_value *w, const wg_value *x)
{
    wg_conv_attrs a = *(const wg_conv_attrs *)n->attrs;
    a.height = x->shape.dim[2];
    a.width = x->shape.dim[3];
    return wg_conv2d_grad_x(dy, w, &a);
}

static wg_value *adjoint_w(wg_node *n, wg_value *x, wg_value *dy, const wg_value *w)
{
    wg_conv_attrs a = *(const wg_conv_attrs *)n->attrs;
    a.height = w->shape.dim[2];
    a.width = w->shape.dim[3];
    return wg_conv2d_grad_w(x, dy, &a);
}

static wg_value *forward(const wg_node *n, wg_value *x, wg_value *w)
{
    return wg_apply2(n->at, &wg_op_conv2d, n->attrs, x, w);
}

static void grad_conv2d(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0], *w = n->in[1];
    dx[0] = adjoint_x(n, dy[0], w, x);
    dx[1] = adjoint_w(n, x, dy[0], w);
    if (n->n_in > 2)
        dx[2] = wg_sum(dy[0], WG_AXES(0, 2, 3), WG_DROP);
}

/* v: a cotangent of dx, with the shape of x */
static void grad_grad_x(wg_node *n, wg_value *const *v, wg_value **dx)
{
    wg_value *dy = n->in[0], *w = n->in[1];
    dx[0] = forward(n, v[0], w);
    dx[1] = adjoint_w(n, v[0], dy, w);
}

/* u: a cotangent of dw, with the shape of w */
static void grad_grad_w(wg_node *n, wg_value *const *u, wg_value **dx)
{
    wg_value *x = n->in[0], *dy = n->in[1];
    dx[0] = adjoint_x(n, dy, u[0], x);
    dx[1] = forward(n, x, u[0]);
}

static double flops_conv2d(const wg_node *n)
{
    return conv_flops(n->out[0], n->in[1]);
}
static double flops_grad_x(const wg_node *n)
{
    return conv_flops(n->in[0], n->in[1]);
}
static double flops_grad_w(const wg_node *n)
{
    return conv_flops(n->in[1], n->out[0]);
}

/* clang-format off */

/* CONV(stride, padding, dilation: along H, W; groups; height, width) */
#define CONV(sh, sw, ph, pw, dh, dw, g, h, w)                                                      \
    &(const wg_conv_attrs){sh, sw, ph, pw, dh, dw, g, 0, 0, h, w}
#define F(...) WG_FLOATS(-2, 2, __VA_ARGS__)

static const wg_sample conv2d_samples[] = {
    {"plain", CONV(1, 1, 0, 0, 1, 1, 1, 0, 0), 2, {F(4, 2, 2, 4, 5), F(4, 3, 2, 3, 2)}},
    {"bias, padding", CONV(1, 1, 1, 2, 1, 1, 1, 0, 0), 3,
     {F(4, 1, 2, 3, 3), F(4, 2, 2, 3, 3), F(1, 2)}},
    {"stride with a rest", CONV(2, 3, 1, 0, 1, 1, 1, 0, 0), 3,
     {F(4, 1, 2, 4, 6), F(4, 2, 2, 3, 2), F(1, 2)}},
    {"dilation, groups", CONV(1, 2, 2, 1, 2, 1, 2, 0, 0), 3,
     {F(4, 1, 4, 3, 4), F(4, 2, 2, 3, 2), F(1, 2)}},
    {"depthwise", CONV(1, 1, 1, 1, 1, 1, 3, 0, 0), 2, {F(4, 1, 3, 3, 3), F(4, 3, 1, 3, 3)}},
    {"1x1", CONV(1, 1, 0, 0, 1, 1, 1, 0, 0), 2, {F(4, 2, 3, 2, 2), F(4, 2, 3, 1, 1)}},
    {"stride over kernel", CONV(3, 2, 0, 0, 1, 1, 1, 0, 0), 2,
     {F(4, 1, 2, 5, 5), F(4, 2, 2, 1, 1)}},
    {"empty batch", CONV(1, 1, 0, 0, 1, 1, 1, 0, 0), 2, {F(4, 0, 2, 3, 3), F(4, 2, 2, 2, 2)}},
};
static const wg_sample grad_x_samples[] = {
    {"plain", CONV(1, 1, 0, 0, 1, 1, 1, 4, 5), 2, {F(4, 2, 3, 2, 4), F(4, 3, 2, 3, 2)}},
    {"stride with a rest", CONV(2, 3, 1, 0, 1, 1, 1, 4, 6), 2,
     {F(4, 1, 2, 2, 2), F(4, 2, 2, 3, 2)}},
    {"dilation, groups", CONV(1, 2, 2, 1, 2, 1, 2, 3, 4), 2, {F(4, 1, 2, 3, 3), F(4, 2, 2, 3, 2)}},
    {"stride over kernel", CONV(3, 2, 0, 0, 1, 1, 1, 5, 5), 2,
     {F(4, 1, 2, 2, 3), F(4, 2, 2, 1, 1)}},
};
static const wg_sample grad_w_samples[] = {
    {"plain", CONV(1, 1, 0, 0, 1, 1, 1, 3, 2), 2, {F(4, 2, 2, 4, 5), F(4, 2, 3, 2, 4)}},
    {"stride with a rest", CONV(2, 3, 1, 0, 1, 1, 1, 3, 2), 2,
     {F(4, 1, 2, 4, 6), F(4, 1, 2, 2, 2)}},
    {"dilation, groups", CONV(1, 2, 2, 1, 2, 1, 2, 3, 2), 2, {F(4, 1, 4, 3, 4), F(4, 1, 2, 3, 3)}},
    {"empty batch", CONV(1, 1, 0, 0, 1, 1, 1, 2, 2), 2, {F(4, 0, 2, 3, 3), F(4, 0, 2, 2, 2)}},
};

#define CONVOLUTION                                                                                \
    .family = WG_FAMILY_CONVOLUTION, .smoothness = WG_PIECEWISE_LINEAR

const wg_op wg_op_conv2d = {
    .name = "conv2d",
    .formula = "y[b,o,p,q] = sum over c, k, l of "
               "w[o,c,k,l] x[b,c,p s - pad + k d, q ... l ...] + bias[o]",
    CONVOLUTION, .operands = "x weight bias?", .results = "y",
    WG_ATTRS(wg_conv_attrs, attrs_2d),
    .infer = infer_conv2d, .grad = grad_conv2d, .reads = WG_READS_X, .flops = flops_conv2d,
    WG_SAMPLES(conv2d_samples),
};
const wg_op wg_op_conv2d_grad_x = {
    .name = "conv2d_grad_x", .formula = "<x, dx> = <conv2d(x, weight), dy> for all x",
    CONVOLUTION, .operands = "dy weight", .results = "dx",
    WG_ATTRS(wg_conv_attrs, attrs_adjoint),
    .infer = infer_grad_x, .grad = grad_grad_x, .reads = WG_READS_X, .flops = flops_grad_x,
    WG_SAMPLES(grad_x_samples),
};
const wg_op wg_op_conv2d_grad_w = {
    .name = "conv2d_grad_w", .formula = "<w, dw> = <conv2d(x, w), dy> for all w",
    CONVOLUTION, .operands = "x dy", .results = "dw",
    WG_ATTRS(wg_conv_attrs, attrs_adjoint),
    .infer = infer_grad_w, .grad = grad_grad_w, .reads = WG_READS_X, .flops = flops_grad_w,
    WG_SAMPLES(grad_w_samples),
};
/* clang-format on */

wg_value *(wg_conv2d_grad_x)(const char *at, wg_value *dy, wg_value *weight, const wg_conv_attrs *a)
{
    return wg_apply2(at, &wg_op_conv2d_grad_x, a, dy, weight);
}

wg_value *(wg_conv2d_grad_w)(const char *at, wg_value *x, wg_value *dy, const wg_conv_attrs *a)
{
    return wg_apply2(at, &wg_op_conv2d_grad_w, a, x, dy);
}

/* ---- one dimension is two with H = 1 --------------------------------------------------------- */

static wg_shape with_height(const wg_shape *s)
{
    return WG_SHAPE(s->dim[0], s->dim[1], 1, s->dim[2]);
}

static wg_conv_attrs flat(const wg_conv_attrs *a)
{
    wg_conv_attrs b = *a;
    b.stride_h = b.dilation_h = 1;
    b.padding_h = b.output_padding_h = 0;
    return b;
}

static bool infer_conv1d(wg_node *n)
{
    if (!need_floats(n, 3) || !need_no_output_padding(n))
        return false;
    wg_conv_attrs a = flat(n->attrs);
    wg_shape x = with_height(&n->in[0]->shape), w = with_height(&n->in[1]->shape), y;
    return need_geometry(n, &a, &x, &w, &y) && need_bias(n, y.dim[1]) &&
           wg_set_result(n, 0, n->in[0]->dtype, WG_SHAPE(y.dim[0], y.dim[1], y.dim[3]));
}

/* The op of two dimensions on x and w seen as [.., .., 1, ..]. */
static void expand_1d(wg_node *n, wg_value **y, const wg_op *two)
{
    wg_conv_attrs a = flat(n->attrs);
    wg_value *x = wg_reshape(n->in[0], with_height(&n->in[0]->shape));
    wg_value *w = wg_reshape(n->in[1], with_height(&n->in[1]->shape));
    y[0] = wg_reshape(wg_apply3(n->at, two, &a, x, w, n->n_in > 2 ? n->in[2] : NULL),
                      n->out[0]->shape);
}

static void expand_conv1d(wg_node *n, wg_value **y)
{
    expand_1d(n, y, &wg_op_conv2d);
}

static double flops_conv1d(const wg_node *n)
{
    const wg_shape *w = &n->in[1]->shape;
    return 2.0 * (double)wg_value_count(n->out[0]) * (double)w->dim[1] * (double)w->dim[2];
}

/* ---- transposed convolution: conv2d_grad_x with the size that the options say ---------------- */

static bool need_transposed_size(wg_node *n, const char *axis, wg_sliding *w,
                                 int64_t output_padding, int64_t *size)
{
    int64_t windows = w->size;
    w->size = INT64_MAX / 8; /* the result's size is yet unknown: only the numbers are checked */
    if (!wg_need_sliding(n, axis, w))
        return false;
    if (output_padding < 0 || output_padding >= w->stride)
        return wg_fail(n, WG_EINVAL,
                       "the output padding along %s is %lld, must be 0 to stride - 1 = %lld", axis,
                       (long long)output_padding, (long long)w->stride - 1);
    if (windows < 1 || windows - 1 > INT64_MAX / 8 / w->stride)
        return wg_fail(n, WG_ESHAPE, "x has size %lld along %s", (long long)windows, axis);
    *size = (windows - 1) * w->stride - 2 * w->padding + w->dilation * (w->kernel - 1) + 1 +
            output_padding;
    return *size >= 1 || wg_fail(n, WG_ESHAPE, "the result would have size %lld along %s",
                                 (long long)*size, axis);
}

/* x[N, C, H, W] and w[C, O/groups, kH, kW] play dy and w of conv2d_grad_x. */
static bool need_transposed(wg_node *n, const wg_conv_attrs *a, const wg_shape *x,
                            const wg_shape *w, wg_shape *y)
{
    wg_sliding h = {x->dim[2], w->dim[2], a->stride_h, a->padding_h, a->dilation_h, 0};
    wg_sliding v = {x->dim[3], w->dim[3], a->stride_w, a->padding_w, a->dilation_w, 0};
    int64_t height, width;
    if (x->dim[1] != w->dim[0])
        return wg_fail(n, WG_ESHAPE, "x has %lld channels, weight is for %lld",
                       (long long)x->dim[1], (long long)w->dim[0]);
    if (!need_groups(n, a->groups, w->dim[1]) ||
        !need_transposed_size(n, "H", &h, a->output_padding_h, &height) ||
        !need_transposed_size(n, "W", &v, a->output_padding_w, &width))
        return false;
    if (w->dim[0] % a->groups)
        return wg_fail(n, WG_ESHAPE, "%lld groups do not divide %lld input channels",
                       (long long)a->groups, (long long)w->dim[0]);
    *y = WG_SHAPE(x->dim[0], a->groups * w->dim[1], height, width);
    return true;
}

static bool infer_transpose2d(wg_node *n)
{
    wg_shape y;
    return need_floats(n, 4) &&
           need_transposed(n, n->attrs, &n->in[0]->shape, &n->in[1]->shape, &y) &&
           need_bias(n, y.dim[1]) && wg_set_result(n, 0, n->in[0]->dtype, y);
}

static void expand_transpose2d(wg_node *n, wg_value **y)
{
    wg_conv_attrs a = *(const wg_conv_attrs *)n->attrs;
    const wg_shape *s = &n->out[0]->shape;
    a.height = s->dim[2];
    a.width = s->dim[3];
    a.output_padding_h = a.output_padding_w = 0;
    y[0] = wg_conv2d_grad_x(n->in[0], n->in[1], &a);
    if (n->n_in > 2)
        y[0] = wg_add(y[0], wg_reshape(n->in[2], WG_SHAPE(s->dim[1], 1, 1)));
}

static bool infer_transpose1d(wg_node *n)
{
    if (!need_floats(n, 3))
        return false;
    wg_conv_attrs a = flat(n->attrs);
    wg_shape x = with_height(&n->in[0]->shape), w = with_height(&n->in[1]->shape), y;
    return need_transposed(n, &a, &x, &w, &y) && need_bias(n, y.dim[1]) &&
           wg_set_result(n, 0, n->in[0]->dtype, WG_SHAPE(y.dim[0], y.dim[1], y.dim[3]));
}

static void expand_transpose1d(wg_node *n, wg_value **y)
{
    expand_1d(n, y, &wg_op_conv_transpose2d);
}

/* each element of x meets each weight of its channel once */
static double flops_transpose(const wg_node *n)
{
    const wg_shape *w = &n->in[1]->shape;
    double taps = 1;
    for (int i = 1; i < w->rank; i++)
        taps *= (double)w->dim[i];
    return 2.0 * (double)wg_value_count(n->in[0]) * taps;
}

/* clang-format off */
#define CONV1D(s, p, d, g, out) &(const wg_conv_attrs){1, s, 0, p, 1, d, g, 0, out, 0, 0}
#define TRANSPOSE2D(sh, sw, ph, pw, dh, dw, g, oh, ow)                                             \
    &(const wg_conv_attrs){sh, sw, ph, pw, dh, dw, g, oh, ow, 0, 0}

static const wg_sample conv1d_samples[] = {
    {"plain", CONV1D(1, 0, 1, 1, 0), 2, {F(3, 2, 2, 5), F(3, 3, 2, 3)}},
    {"all options", CONV1D(2, 2, 2, 2, 0), 3, {F(3, 2, 4, 6), F(3, 2, 2, 3), F(1, 2)}},
};
static const wg_sample transpose2d_samples[] = {
    {"plain", TRANSPOSE2D(1, 1, 0, 0, 1, 1, 1, 0, 0), 2, {F(4, 2, 2, 2, 3), F(4, 2, 3, 2, 3)}},
    {"all options", TRANSPOSE2D(2, 3, 1, 0, 1, 2, 2, 1, 2), 3,
     {F(4, 1, 4, 2, 2), F(4, 4, 2, 3, 2), F(1, 4)}},
};
static const wg_sample transpose1d_samples[] = {
    {"plain", CONV1D(1, 0, 1, 1, 0), 2, {F(3, 2, 2, 4), F(3, 2, 3, 3)}},
    {"all options", CONV1D(3, 1, 2, 2, 2), 3, {F(3, 1, 4, 3), F(3, 4, 1, 3), F(1, 2)}},
};

const wg_op wg_op_conv1d = {
    .name = "conv1d",
    .formula = "y[b,o,p] = sum over c, k of w[o,c,k] x[b,c,p s - pad + k d] + bias[o]",
    CONVOLUTION, .operands = "x weight bias?", .results = "y",
    WG_ATTRS(wg_conv_attrs, attrs_1d),
    .infer = infer_conv1d, .expand = expand_conv1d, .flops = flops_conv1d,
    WG_SAMPLES(conv1d_samples),
};
const wg_op wg_op_conv_transpose2d = {
    .name = "conv_transpose2d",
    .formula = "y[b,o,i s - pad + k d, j ... l ...] += w[c,o,k,l] x[b,c,i,j], plus bias[o]",
    CONVOLUTION, .operands = "x weight bias?", .results = "y",
    WG_ATTRS(wg_conv_attrs, attrs_transpose2d),
    .infer = infer_transpose2d, .expand = expand_transpose2d, .flops = flops_transpose,
    WG_SAMPLES(transpose2d_samples),
};
const wg_op wg_op_conv_transpose1d = {
    .name = "conv_transpose1d",
    .formula = "y[b,o,i s - pad + k d] += w[c,o,k] x[b,c,i], plus bias[o]",
    CONVOLUTION, .operands = "x weight bias?", .results = "y",
    WG_ATTRS(wg_conv_attrs, attrs_transpose1d),
    .infer = infer_transpose1d, .expand = expand_transpose1d, .flops = flops_transpose,
    WG_SAMPLES(transpose1d_samples),
};
/* clang-format on */

/* ---- builders -------------------------------------------------------------------------------- */

static int64_t or_one(int64_t x)
{
    return x ? x : 1;
}

static wg_conv_attrs attrs_of_2d(const wg_conv2d_options *options)
{
    wg_conv2d_options o = options ? *options : (wg_conv2d_options){0};
    return (wg_conv_attrs){
        .stride_h = or_one(o.stride[0]),
        .stride_w = or_one(o.stride[1]),
        .padding_h = o.padding[0],
        .padding_w = o.padding[1],
        .dilation_h = or_one(o.dilation[0]),
        .dilation_w = or_one(o.dilation[1]),
        .groups = or_one(o.groups),
        .output_padding_h = o.output_padding[0],
        .output_padding_w = o.output_padding[1],
    };
}

static wg_conv_attrs attrs_of_1d(const wg_conv1d_options *options)
{
    wg_conv1d_options o = options ? *options : (wg_conv1d_options){0};
    return attrs_of_2d(&(wg_conv2d_options){.stride = {1, o.stride},
                                            .padding = {0, o.padding},
                                            .dilation = {1, o.dilation},
                                            .groups = o.groups,
                                            .output_padding = {0, o.output_padding}});
}

wg_value *(wg_conv2d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                      const wg_conv2d_options *options)
{
    wg_conv_attrs a = attrs_of_2d(options);
    return wg_apply3(at, &wg_op_conv2d, &a, x, weight, bias);
}

wg_value *(wg_conv1d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                      const wg_conv1d_options *options)
{
    wg_conv_attrs a = attrs_of_1d(options);
    return wg_apply3(at, &wg_op_conv1d, &a, x, weight, bias);
}

wg_value *(wg_conv_transpose2d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                                const wg_conv2d_options *options)
{
    wg_conv_attrs a = attrs_of_2d(options);
    return wg_apply3(at, &wg_op_conv_transpose2d, &a, x, weight, bias);
}

wg_value *(wg_conv_transpose1d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                                const wg_conv1d_options *options)
{
    wg_conv_attrs a = attrs_of_1d(options);
    return wg_apply3(at, &wg_op_conv_transpose1d, &a, x, weight, bias);
}
