/* Convolutions and their two adjoints in two and three dimensions, and conv1d: see the head of
 * wengert/ops/conv.h.  What is said here about axes holds for all ranks: attributes have an entry
 * for each of D, H and W, and an op uses those of its axes. */
#include "ops/conv_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* clang-format off */
static const wg_attr attrs_1d[] = {WGI_CONV_FIELDS_1D};
static const wg_attr attrs_2d[] = {WGI_CONV_FIELDS_2D};
static const wg_attr attrs_3d[] = {WGI_CONV_FIELDS_3D};
#define SIZE_2D WGI_CONV_FIELD("height", size[WGI_H]), WGI_CONV_FIELD("width", size[WGI_W])
static const wg_attr attrs_adjoint_2d[] = {WGI_CONV_FIELDS_2D, SIZE_2D};
static const wg_attr attrs_adjoint_3d[] = {
    WGI_CONV_FIELDS_3D, WGI_CONV_FIELD("depth", size[WGI_D]), SIZE_2D,
};
/* clang-format on */

/* The primitives by the rank of their tensors: primitive(5, GRAD_X) is conv3d_grad_x. */
enum { FORWARD, GRAD_X, GRAD_W };
static const wg_op *primitive(int rank, int which)
{
    static const wg_op *const ops[2][3] = {
        {&wg_op_conv2d, &wg_op_conv2d_grad_x, &wg_op_conv2d_grad_w},
        {&wg_op_conv3d, &wg_op_conv3d_grad_x, &wg_op_conv3d_grad_w},
    };
    return ops[rank == 5][which];
}

/* ---- geometry -------------------------------------------------------------------------------- */

const char *wgi_conv_axis(int rank, int k)
{
    static const char *const names[WGI_CONV_AXES] = {"D", "H", "W"};
    return rank == 3 ? "L" : names[k];
}

wg_sliding wgi_conv_windows(const wg_conv_attrs *a, const wg_shape *x, const wg_shape *w, int k)
{
    int i = wgi_conv_dim(x->rank, k);
    return (wg_sliding){x->dim[i],      w->dim[i], a->stride[k], a->padding[k],
                        a->dilation[k], 0,         false};
}

static wg_sliding windows_onto(const wg_conv_attrs *a, const wg_shape *x, const wg_shape *w,
                               const wg_shape *y, int k)
{
    if (k < wgi_conv_first(x->rank))
        return (wg_sliding){1, 1, 1, 0, 1, 1, false};
    wg_sliding s = wgi_conv_windows(a, x, w, k);
    s.count = y->dim[wgi_conv_dim(x->rank, k)];
    return s;
}

wg_conv_geometry wg_conv_geometry_of(const wg_conv_attrs *a, const wg_shape *x, const wg_shape *w,
                                     const wg_shape *y)
{
    return (wg_conv_geometry){
        .batch = x->dim[0],
        .groups = a->groups,
        .in = w->dim[1],
        .out = w->dim[0] / a->groups,
        .d = windows_onto(a, x, w, y, WGI_D),
        .h = windows_onto(a, x, w, y, WGI_H),
        .w = windows_onto(a, x, w, y, WGI_W),
    };
}

void wgi_conv_set_size(wg_conv_attrs *a, const wg_shape *s)
{
    for (int k = wgi_conv_first(s->rank); k < WGI_CONV_AXES; k++)
        a->size[k] = s->dim[wgi_conv_dim(s->rank, k)];
}

/* [first, second, a->size ...] */
static wg_shape shape_of_size(const wg_conv_attrs *a, int rank, int64_t first, int64_t second)
{
    wg_shape s = {rank, {first, second}};
    for (int k = wgi_conv_first(rank); k < WGI_CONV_AXES; k++)
        s.dim[wgi_conv_dim(rank, k)] = a->size[k];
    return s;
}

double wgi_conv_flops(const wg_value *each, const wg_value *weight)
{
    double taps = 1;
    for (int i = 1; i < weight->shape.rank; i++)
        taps *= (double)weight->shape.dim[i];
    return 2.0 * (double)wg_value_count(each) * taps;
}

/* Always false: the channels of x are not those that w takes. */
static bool need_channels(wg_node *n, const wg_conv_attrs *a, const wg_shape *x, const wg_shape *w)
{
    char is[160], weight[160], groups[80] = "";
    if (a->groups > 1)
        snprintf(groups, sizeof groups, " in each of %lld groups", (long long)a->groups);
    return wg_fail(n, WG_ESHAPE,
                   "x is %s, of %lld channels along axis 1; w is %s, for %lld channels%s",
                   wg_shape_text(x, is, sizeof is), (long long)x->dim[1],
                   wg_shape_text(w, weight, sizeof weight), (long long)w->dim[1], groups);
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
        return need_channels(n, a, x, w);
    *y = (wg_shape){x->rank, {x->dim[0], out}};
    for (int k = wgi_conv_first(x->rank); k < WGI_CONV_AXES; k++) {
        wg_sliding s = wgi_conv_windows(a, x, w, k);
        if (!wg_need_sliding(n, wgi_conv_axis(x->rank, k), &s))
            return false;
        y->dim[wgi_conv_dim(x->rank, k)] = s.count;
    }
    return true;
}

bool wgi_conv_need_floats(wg_node *n, int rank)
{
    return wg_need_float(n, 0) && wg_need_same_dtype(n, 0, 1) && wg_need_rank(n, 0, rank, rank) &&
           wg_need_rank(n, 1, rank, rank);
}

bool wgi_conv_need_bias(wg_node *n, int64_t channels)
{
    return n->n_in < 3 || (wg_need_same_dtype(n, 0, 2) && wg_need_rank(n, 2, 1, 1) &&
                           wg_need_dim(n, 2, 0, channels));
}

bool wgi_conv_need_groups(wg_node *n, int64_t groups, int64_t each)
{
    return (groups >= 1 && each <= INT64_MAX / groups) ||
           wg_fail(n, WG_ESHAPE, "%lld groups of %lld channels", (long long)groups,
                   (long long)each);
}

/* The builders of both directions share their options. */
static bool need_no_output_padding(wg_node *n)
{
    const wg_conv_attrs *a = n->attrs;
    for (int k = 0; k < WGI_CONV_AXES; k++)
        if (a->output_padding[k] != 0)
            return wg_fail(n, WG_EINVAL,
                           "an output padding (%lld along %s) is for transposed convolutions only",
                           (long long)a->output_padding[k], wgi_conv_axis(n->in[0]->shape.rank, k));
    return true;
}

/* ---- the three primitives -------------------------------------------------------------------- */

static bool infer_conv(wg_node *n, int rank)
{
    wg_shape y;
    return wgi_conv_need_floats(n, rank) && need_no_output_padding(n) &&
           need_geometry(n, n->attrs, &n->in[0]->shape, &n->in[1]->shape, &y) &&
           wgi_conv_need_bias(n, y.dim[1]) && wg_set_result(n, 0, n->in[0]->dtype, y);
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

static bool infer_grad_x(wg_node *n, int rank)
{
    const wg_conv_attrs *a = n->attrs;
    const wg_shape *dy = &n->in[0]->shape, *w = &n->in[1]->shape;
    if (!wgi_conv_need_floats(n, rank) || !wgi_conv_need_groups(n, a->groups, w->dim[1]))
        return false;
    wg_shape x = shape_of_size(a, rank, dy->dim[0], a->groups * w->dim[1]);
    return wg_set_result(n, 0, n->in[0]->dtype, x) && need_cotangent(n, 0, &x, w);
}

static bool infer_grad_w(wg_node *n, int rank)
{
    const wg_conv_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape, *dy = &n->in[1]->shape;
    if (!wgi_conv_need_floats(n, rank) || !wgi_conv_need_groups(n, a->groups, 0))
        return false;
    wg_shape w = shape_of_size(a, rank, dy->dim[1], x->dim[1] / a->groups);
    return wg_set_result(n, 0, n->in[0]->dtype, w) && need_cotangent(n, 1, x, &w);
}

static bool infer_conv1d(wg_node *n)
{
    return infer_conv(n, 3);
}
static bool infer_conv2d(wg_node *n)
{
    return infer_conv(n, 4);
}
static bool infer_conv3d(wg_node *n)
{
    return infer_conv(n, 5);
}
static bool infer_grad_x_2d(wg_node *n)
{
    return infer_grad_x(n, 4);
}
static bool infer_grad_x_3d(wg_node *n)
{
    return infer_grad_x(n, 5);
}
static bool infer_grad_w_2d(wg_node *n)
{
    return infer_grad_w(n, 4);
}
static bool infer_grad_w_3d(wg_node *n)
{
    return infer_grad_w(n, 5);
}

static wg_value *forward(const wg_node *n, wg_value *x, wg_value *w)
{
    return wg_apply2(n->at, primitive(x->shape.rank, FORWARD), n->attrs, x, w);
}

/* An adjoint on operands a and b, whose result has the size of `like`. */
static wg_value *adjoint(const wg_node *n, int which, wg_value *a, wg_value *b,
                         const wg_value *like)
{
    wg_conv_attrs attrs = *(const wg_conv_attrs *)n->attrs;
    wgi_conv_set_size(&attrs, &like->shape);
    return wg_apply2(n->at, primitive(like->shape.rank, which), &attrs, a, b);
}

static void grad_conv(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *x = n->in[0], *w = n->in[1];
    dx[0] = adjoint(n, GRAD_X, dy[0], w, x);
    dx[1] = adjoint(n, GRAD_W, x, dy[0], w);
    wg_axes all_but_channels = {x->shape.rank - 1, {0, 2, 3, 4}};
    if (n->n_in > 2)
        dx[2] = wg_sum(dy[0], all_but_channels, WG_DROP);
}

/* v: a cotangent of dx, with the shape of x */
static void grad_grad_x(wg_node *n, wg_value *const *v, wg_value **dx)
{
    wg_value *dy = n->in[0], *w = n->in[1];
    dx[0] = forward(n, v[0], w);
    dx[1] = adjoint(n, GRAD_W, v[0], dy, w);
}

/* u: a cotangent of dw, with the shape of w */
static void grad_grad_w(wg_node *n, wg_value *const *u, wg_value **dx)
{
    wg_value *x = n->in[0], *dy = n->in[1];
    dx[0] = adjoint(n, GRAD_X, dy, u[0], x);
    dx[1] = forward(n, x, u[0]);
}

static double flops_conv(const wg_node *n)
{
    return wgi_conv_flops(n->out[0], n->in[1]);
}
static double flops_grad_x(const wg_node *n)
{
    return wgi_conv_flops(n->in[0], n->in[1]);
}
static double flops_grad_w(const wg_node *n)
{
    return wgi_conv_flops(n->in[1], n->out[0]);
}

/* clang-format off */

#define F WGI_F

/* CONV3D(stride, padding, dilation, groups, size), each but the groups a WGI_DHW;
 * CONV(stride, padding, dilation: along H, W; groups; height, width). */
#define CONV3D(s, p, d, g, z)                                                                      \
    &(const wg_conv_attrs){.stride = s, .padding = p, .dilation = d, .groups = g, .size = z}
#define CONV(sh, sw, ph, pw, dh, dw, g, h, w)                                                      \
    CONV3D(WGI_DHW(1, sh, sw), WGI_DHW(0, ph, pw), WGI_DHW(1, dh, dw), g, WGI_DHW(0, h, w))
#define CONV1D(s, p, d, g) CONV(1, s, 0, p, 1, d, g, 0, 0)
#define ONES WGI_DHW(1, 1, 1)
#define NONE WGI_DHW(0, 0, 0)

static const wg_sample conv1d_samples[] = {
    {"plain", CONV1D(1, 0, 1, 1), 2, {F(3, 2, 2, 5), F(3, 3, 2, 3)}},
    {"all options", CONV1D(2, 2, 2, 2), 3, {F(3, 2, 4, 6), F(3, 2, 2, 3), F(1, 2)}},
};
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
static const wg_sample grad_x_2d_samples[] = {
    {"plain", CONV(1, 1, 0, 0, 1, 1, 1, 4, 5), 2, {F(4, 2, 3, 2, 4), F(4, 3, 2, 3, 2)}},
    {"stride with a rest", CONV(2, 3, 1, 0, 1, 1, 1, 4, 6), 2,
     {F(4, 1, 2, 2, 2), F(4, 2, 2, 3, 2)}},
    {"dilation, groups", CONV(1, 2, 2, 1, 2, 1, 2, 3, 4), 2, {F(4, 1, 2, 3, 3), F(4, 2, 2, 3, 2)}},
    {"stride over kernel", CONV(3, 2, 0, 0, 1, 1, 1, 5, 5), 2,
     {F(4, 1, 2, 2, 3), F(4, 2, 2, 1, 1)}},
};
static const wg_sample grad_w_2d_samples[] = {
    {"plain", CONV(1, 1, 0, 0, 1, 1, 1, 3, 2), 2, {F(4, 2, 2, 4, 5), F(4, 2, 3, 2, 4)}},
    {"stride with a rest", CONV(2, 3, 1, 0, 1, 1, 1, 3, 2), 2,
     {F(4, 1, 2, 4, 6), F(4, 1, 2, 2, 2)}},
    {"dilation, groups", CONV(1, 2, 2, 1, 2, 1, 2, 3, 2), 2, {F(4, 1, 4, 3, 4), F(4, 1, 2, 3, 3)}},
    {"empty batch", CONV(1, 1, 0, 0, 1, 1, 1, 2, 2), 2, {F(4, 0, 2, 3, 3), F(4, 0, 2, 2, 2)}},
};
static const wg_sample conv3d_samples[] = {
    {"plain", CONV3D(ONES, NONE, ONES, 1, NONE), 2, {F(5, 2, 2, 3, 4, 3), F(5, 3, 2, 2, 3, 1)}},
    {"bias, padding", CONV3D(ONES, WGI_DHW(1, 0, 2), ONES, 1, NONE), 3,
     {F(5, 1, 2, 2, 3, 2), F(5, 2, 2, 3, 2, 3), F(1, 2)}},
    {"stride with a rest", CONV3D(WGI_DHW(3, 2, 1), WGI_DHW(0, 1, 0), ONES, 1, NONE), 3,
     {F(5, 1, 1, 6, 4, 2), F(5, 2, 1, 2, 3, 2), F(1, 2)}},
    {"dilation, groups", CONV3D(WGI_DHW(1, 1, 2), WGI_DHW(0, 2, 1), WGI_DHW(2, 1, 2), 2, NONE), 3,
     {F(5, 1, 4, 3, 1, 3), F(5, 2, 2, 2, 3, 2), F(1, 2)}},
    {"depthwise", CONV3D(ONES, ONES, ONES, 2, NONE), 2, {F(5, 1, 2, 2, 3, 2), F(5, 2, 1, 3, 3, 3)}},
    {"empty batch", CONV3D(ONES, NONE, ONES, 1, NONE), 2,
     {F(5, 0, 2, 2, 3, 3), F(5, 2, 2, 2, 2, 2)}},
};
static const wg_sample grad_x_3d_samples[] = {
    {"plain", CONV3D(ONES, NONE, ONES, 1, WGI_DHW(3, 4, 3)), 2,
     {F(5, 2, 3, 2, 2, 3), F(5, 3, 2, 2, 3, 1)}},
    {"stride with a rest",
     CONV3D(WGI_DHW(3, 2, 1), WGI_DHW(0, 1, 0), ONES, 1, WGI_DHW(6, 4, 2)), 2,
     {F(5, 1, 2, 2, 2, 1), F(5, 2, 1, 2, 3, 2)}},
    {"dilation, groups",
     CONV3D(WGI_DHW(1, 1, 2), WGI_DHW(0, 2, 1), WGI_DHW(2, 1, 2), 2, WGI_DHW(3, 1, 3)), 2,
     {F(5, 1, 2, 1, 3, 2), F(5, 2, 2, 2, 3, 2)}},
};
static const wg_sample grad_w_3d_samples[] = {
    {"plain", CONV3D(ONES, NONE, ONES, 1, WGI_DHW(2, 3, 1)), 2,
     {F(5, 2, 2, 3, 4, 3), F(5, 2, 3, 2, 2, 3)}},
    {"stride with a rest",
     CONV3D(WGI_DHW(3, 2, 1), WGI_DHW(0, 1, 0), ONES, 1, WGI_DHW(2, 3, 2)), 2,
     {F(5, 1, 1, 6, 4, 2), F(5, 1, 2, 2, 2, 1)}},
    {"dilation, groups",
     CONV3D(WGI_DHW(1, 1, 2), WGI_DHW(0, 2, 1), WGI_DHW(2, 1, 2), 2, WGI_DHW(2, 3, 2)), 2,
     {F(5, 1, 4, 3, 1, 3), F(5, 1, 2, 1, 3, 2)}},
    {"empty batch", CONV3D(ONES, NONE, ONES, 1, WGI_DHW(2, 2, 2)), 2,
     {F(5, 0, 2, 2, 3, 3), F(5, 0, 2, 1, 2, 2)}},
};

/* The three primitives of `dims` dimensions. */
#define PRIMITIVES(dims, FORMULA)                                                                  \
    const wg_op wg_op_conv##dims = {                                                               \
        .name = "conv" #dims, .formula = FORMULA,                                                  \
        WGI_CONVOLUTION, .operands = "x weight bias?", .results = "y",                             \
        WG_ATTRS(wg_conv_attrs, attrs_##dims),                                                     \
        .infer = infer_conv##dims, .grad = grad_conv, .reads = WG_READS_X, .flops = flops_conv,    \
        WG_SAMPLES(conv##dims##_samples),                                                          \
    };                                                                                             \
    const wg_op wg_op_conv##dims##_grad_x = {                                                      \
        .name = "conv" #dims "_grad_x",                                                            \
        .formula = "<x, dx> = <conv" #dims "(x, weight), dy> for all x",                           \
        WGI_CONVOLUTION, .operands = "dy weight", .results = "dx",                                 \
        WG_ATTRS(wg_conv_attrs, attrs_adjoint_##dims),                                             \
        .infer = infer_grad_x_##dims, .grad = grad_grad_x, .reads = WG_READS_X,                    \
        .flops = flops_grad_x, WG_SAMPLES(grad_x_##dims##_samples),                                \
    };                                                                                             \
    const wg_op wg_op_conv##dims##_grad_w = {                                                      \
        .name = "conv" #dims "_grad_w",                                                            \
        .formula = "<w, dw> = <conv" #dims "(x, w), dy> for all w",                                \
        WGI_CONVOLUTION, .operands = "x dy", .results = "dw",                                      \
        WG_ATTRS(wg_conv_attrs, attrs_adjoint_##dims),                                             \
        .infer = infer_grad_w_##dims, .grad = grad_grad_w, .reads = WG_READS_X,                    \
        .flops = flops_grad_w, WG_SAMPLES(grad_w_##dims##_samples),                                \
    };                                                                                             \
    wg_value *(wg_conv##dims##_grad_x)(const char *at, wg_value *dy, wg_value *weight,             \
                                       const wg_conv_attrs *a)                                     \
    {                                                                                              \
        return wg_apply2(at, &wg_op_conv##dims##_grad_x, a, dy, weight);                           \
    }                                                                                              \
    wg_value *(wg_conv##dims##_grad_w)(const char *at, wg_value *x, wg_value *dy,                  \
                                       const wg_conv_attrs *a)                                     \
    {                                                                                              \
        return wg_apply2(at, &wg_op_conv##dims##_grad_w, a, x, dy);                                \
    }

PRIMITIVES(2d, "y[b,o,p,q] = sum over c, k, l of "
               "w[o,c,k,l] x[b,c,p s - pad + k d, q ... l ...] + bias[o]")
PRIMITIVES(3d, "y[b,o,r,p,q] = sum over c, m, k, l of "
               "w[o,c,m,k,l] x[b,c,r s - pad + m d, p ... k ..., q ... l ...] + bias[o]")
/* clang-format on */

/* ---- one dimension is two with H = 1 --------------------------------------------------------- */

static wg_shape with_height(const wg_shape *s)
{
    return WG_SHAPE(s->dim[0], s->dim[1], 1, s->dim[2]);
}

void wgi_conv_expand_1d(wg_node *n, wg_value **y, const wg_op *two)
{
    wg_conv_attrs a = *(const wg_conv_attrs *)n->attrs;
    a.stride[WGI_H] = a.dilation[WGI_H] = 1;
    a.padding[WGI_H] = a.output_padding[WGI_H] = 0;
    wg_value *x = wg_reshape(n->in[0], with_height(&n->in[0]->shape));
    wg_value *w = wg_reshape(n->in[1], with_height(&n->in[1]->shape));
    y[0] = wg_reshape(wg_apply3(n->at, two, &a, x, w, n->n_in > 2 ? n->in[2] : NULL),
                      n->out[0]->shape);
}

static void expand_conv1d(wg_node *n, wg_value **y)
{
    wgi_conv_expand_1d(n, y, &wg_op_conv2d);
}

const wg_op wg_op_conv1d = {
    .name = "conv1d",
    .formula = "y[b,o,p] = sum over c, k of w[o,c,k] x[b,c,p s - pad + k d] + bias[o]",
    WGI_CONVOLUTION,
    .operands = "x weight bias?",
    .results = "y",
    WG_ATTRS(wg_conv_attrs, attrs_1d),
    .infer = infer_conv1d,
    .expand = expand_conv1d,
    .flops = flops_conv,
    WG_SAMPLES(conv1d_samples),
};

/* ---- builders -------------------------------------------------------------------------------- */

wg_conv_attrs wgi_conv_attrs_3d(const wg_conv3d_options *options)
{
    wg_conv3d_options o = options ? *options : (wg_conv3d_options){0};
    wg_conv_attrs a = {.groups = o.groups ? o.groups : 1};
    for (int k = 0; k < WGI_CONV_AXES; k++) {
        a.stride[k] = o.stride[k] ? o.stride[k] : 1;
        a.padding[k] = o.padding[k];
        a.dilation[k] = o.dilation[k] ? o.dilation[k] : 1;
        a.output_padding[k] = o.output_padding[k];
    }
    return a;
}

wg_conv_attrs wgi_conv_attrs_2d(const wg_conv2d_options *options)
{
    wg_conv2d_options o = options ? *options : (wg_conv2d_options){0};
    return wgi_conv_attrs_3d(
        &(wg_conv3d_options){.stride = {0, o.stride[0], o.stride[1]},
                             .padding = {0, o.padding[0], o.padding[1]},
                             .dilation = {0, o.dilation[0], o.dilation[1]},
                             .groups = o.groups,
                             .output_padding = {0, o.output_padding[0], o.output_padding[1]}});
}

wg_conv_attrs wgi_conv_attrs_1d(const wg_conv1d_options *options)
{
    wg_conv1d_options o = options ? *options : (wg_conv1d_options){0};
    return wgi_conv_attrs_3d(&(wg_conv3d_options){.stride = {0, 0, o.stride},
                                                  .padding = {0, 0, o.padding},
                                                  .dilation = {0, 0, o.dilation},
                                                  .groups = o.groups,
                                                  .output_padding = {0, 0, o.output_padding}});
}

wg_value *(wg_conv1d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                      const wg_conv1d_options *options)
{
    wg_conv_attrs a = wgi_conv_attrs_1d(options);
    return wg_apply3(at, &wg_op_conv1d, &a, x, weight, bias);
}

wg_value *(wg_conv2d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                      const wg_conv2d_options *options)
{
    wg_conv_attrs a = wgi_conv_attrs_2d(options);
    return wg_apply3(at, &wg_op_conv2d, &a, x, weight, bias);
}

wg_value *(wg_conv3d)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                      const wg_conv3d_options *options)
{
    wg_conv_attrs a = wgi_conv_attrs_3d(options);
    return wg_apply3(at, &wg_op_conv3d, &a, x, weight, bias);
}
