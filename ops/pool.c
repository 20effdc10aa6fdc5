#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* clang-format off */
#define FIELD(name, kind, field) {name, WG_ATTR_##kind, offsetof(wg_pool_attrs, field), 0}
#define CEIL FIELD("ceil_mode", BOOL, ceil_mode)
#define DEPTH                                                                                      \
    FIELD("kernel_d", INT, kernel_d), FIELD("stride_d", INT, stride_d),                            \
    FIELD("padding_d", INT, padding_d), FIELD("dilation_d", INT, dilation_d)
#define WINDOW_2D                                                                                  \
    FIELD("kernel_h", INT, kernel_h), FIELD("kernel_w", INT, kernel_w),                            \
    FIELD("stride_h", INT, stride_h), FIELD("stride_w", INT, stride_w),                            \
    FIELD("padding_h", INT, padding_h), FIELD("padding_w", INT, padding_w),                        \
    FIELD("dilation_h", INT, dilation_h), FIELD("dilation_w", INT, dilation_w)
#define WINDOW_1D                                                                                  \
    FIELD("kernel", INT, kernel_w), FIELD("stride", INT, stride_w),                                \
    FIELD("padding", INT, padding_w), FIELD("dilation", INT, dilation_w)
#define EXCLUDE FIELD("exclude_padding", BOOL, exclude_padding)
#define SIZE FIELD("height", INT, height), FIELD("width", INT, width)

static const wg_attr attrs_max2d[] = {WINDOW_2D, CEIL};
static const wg_attr attrs_max1d[] = {WINDOW_1D, CEIL};
static const wg_attr attrs_max3d[] = {WINDOW_2D, CEIL, DEPTH};
static const wg_attr attrs_avg2d[] = {WINDOW_2D, EXCLUDE, CEIL};
static const wg_attr attrs_avg1d[] = {WINDOW_1D, EXCLUDE, CEIL};
static const wg_attr attrs_avg3d[] = {WINDOW_2D, EXCLUDE, CEIL, DEPTH};
static const wg_attr attrs_avg_grad[] = {WINDOW_2D, EXCLUDE, SIZE, CEIL};
static const wg_attr attrs_scatter[] = {SIZE};
/* clang-format on */

/* ---- geometry -------------------------------------------------------------------------------- */

void wg_pool_windows(const wg_pool_attrs *a, const wg_shape *from, const wg_shape *to,
                     wg_sliding *h, wg_sliding *w)
{
    *h = (wg_sliding){from->dim[2],  a->kernel_h, a->stride_h, a->padding_h,
                      a->dilation_h, to->dim[2],  a->ceil_mode};
    *w = (wg_sliding){from->dim[3],  a->kernel_w, a->stride_w, a->padding_w,
                      a->dilation_w, to->dim[3],  a->ceil_mode};
}

/* No window may lie in the padding alone: its maximum would be nothing and its mean 0/0.  With a
 * padding of half the kernel at most, every window begins before the end of x and ends after its
 * begin, so that only a dilation larger than x could step over it. */
static bool need_element(wg_node *n, const char *axis, const wg_sliding *w)
{
    if (w->padding > w->kernel / 2)
        return wg_fail(n, WG_EINVAL,
                       "the padding along %s is %lld, more than half of the kernel of %lld", axis,
                       (long long)w->padding, (long long)w->kernel);
    return w->padding == 0 || w->dilation <= w->size ||
           wg_fail(n, WG_ESHAPE, "along %s a dilation of %lld steps over the size %lld", axis,
                   (long long)w->dilation, (long long)w->size);
}

/* *y becomes the shape of x pooled; x has rank 4. */
static bool need_pooled(wg_node *n, const wg_pool_attrs *a, const wg_shape *x, wg_shape *y)
{
    wg_sliding h, w;
    const char *last = n->in[0]->shape.rank == 3 ? "L" : "W"; /* the only one of x[N, C, L] */
    wg_pool_windows(a, x, x, &h, &w);
    if (!wg_need_sliding(n, "H", &h) || !need_element(n, "H", &h) ||
        !wg_need_sliding(n, last, &w) || !need_element(n, last, &w))
        return false;
    *y = WG_SHAPE(x->dim[0], x->dim[1], h.count, w.count);
    return true;
}

static bool need_no_dilation(wg_node *n, const wg_pool_attrs *a)
{
    return (a->dilation_h == 1 && a->dilation_w == 1) ||
           wg_fail(n, WG_EINVAL,
                   "a mean has no dilation: dilation_h and dilation_w must be 1, not %lld and %lld",
                   (long long)a->dilation_h, (long long)a->dilation_w);
}

/* One dimension is two with H = 1. */
static wg_pool_attrs flat(const wg_pool_attrs *a)
{
    wg_pool_attrs b = *a;
    b.kernel_h = b.stride_h = b.dilation_h = 1;
    b.padding_h = 0;
    return b;
}

static bool need_pooled_1d(wg_node *n, const wg_pool_attrs *a, wg_shape *y)
{
    const wg_shape *x = &n->in[0]->shape;
    wg_shape two = WG_SHAPE(x->dim[0], x->dim[1], 1, x->dim[2]);
    if (!need_pooled(n, a, &two, y))
        return false;
    *y = WG_SHAPE(y->dim[0], y->dim[1], y->dim[3]);
    return true;
}

static void expand_1d(wg_node *n, wg_value **y, const wg_op *two)
{
    const wg_shape *x = &n->in[0]->shape;
    wg_pool_attrs a = flat(n->attrs);
    wg_value *pooled = wg_apply1(
        n->at, two, &a, wg_reshape(n->in[0], WG_SHAPE(x->dim[0], x->dim[1], 1, x->dim[2])));
    for (int i = 0; i < n->n_out; i++)
        y[i] = wg_reshape(wg_result_of(pooled, i), n->out[i]->shape);
}

/* each element of a window is looked at once */
static double flops_pool(const wg_node *n)
{
    const wg_pool_attrs *a = n->attrs;
    int rank = n->out[0]->shape.rank;
    return (double)wg_value_count(n->out[0]) * (rank > 4 ? (double)a->kernel_d : 1) *
           (rank > 3 ? (double)a->kernel_h : 1) * (double)a->kernel_w;
}

/* ---- volumes --------------------------------------------------------------------------------- */

/* Windows along D, as those of planes [D, ...] along H. */
static wg_pool_attrs along_depth(const wg_pool_attrs *a)
{
    return (wg_pool_attrs){.kernel_h = a->kernel_d,
                           .kernel_w = 1,
                           .stride_h = a->stride_d,
                           .stride_w = 1,
                           .padding_h = a->padding_d,
                           .dilation_h = a->dilation_d,
                           .dilation_w = 1,
                           .exclude_padding = a->exclude_padding,
                           .ceil_mode = a->ceil_mode};
}

static bool infer_volumes(wg_node *n)
{
    const wg_pool_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 5, 5))
        return false;
    wg_sliding d = {x->dim[2],     a->kernel_d, a->stride_d, a->padding_d,
                    a->dilation_d, x->dim[2],   a->ceil_mode};
    wg_shape planes = WG_SHAPE(x->dim[0], x->dim[1], x->dim[3], x->dim[4]), y;
    return wg_need_sliding(n, "D", &d) && need_element(n, "D", &d) &&
           need_pooled(n, a, &planes, &y) &&
           wg_set_result(n, 0, n->in[0]->dtype,
                         WG_SHAPE(x->dim[0], x->dim[1], d.count, y.dim[2], y.dim[3]));
}

/* A maximum or a mean of windows is that of their planes' maxima or means; the first largest of the
 * planes' first ones is the first of the window. */
static void expand_volumes(wg_node *n, wg_value **y, const wg_op *two)
{
    const int64_t *x = n->in[0]->shape.dim, *to = n->out[0]->shape.dim;
    wg_pool_attrs planes = *(const wg_pool_attrs *)n->attrs, depth = along_depth(n->attrs);
    wg_value *z = wg_reshape(n->in[0], WG_SHAPE(x[0], x[1] * x[2], x[3], x[4]));
    z = wg_apply1(n->at, two, &planes, z);
    z = wg_reshape(z, WG_SHAPE(x[0], x[1], x[2], to[3] * to[4]));
    y[0] = wg_reshape(wg_apply1(n->at, two, &depth, z), n->out[0]->shape);
}

/* ---- maxima ---------------------------------------------------------------------------------- */

static bool infer_max2d(wg_node *n)
{
    wg_shape y;
    return wg_need_float(n, 0) && wg_need_rank(n, 0, 4, 4) &&
           need_pooled(n, n->attrs, &n->in[0]->shape, &y) &&
           wg_set_result(n, 0, n->in[0]->dtype, y) && wg_set_result(n, 1, WG_I64, y);
}

static bool infer_max1d(wg_node *n)
{
    wg_shape y;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 3, 3))
        return false;
    wg_pool_attrs a = flat(n->attrs);
    return need_pooled_1d(n, &a, &y) && wg_set_result(n, 0, n->in[0]->dtype, y) &&
           wg_set_result(n, 1, WG_I64, y);
}

static void expand_max1d(wg_node *n, wg_value **y)
{
    expand_1d(n, y, &wg_op_max_pool2d);
}

static void expand_max3d(wg_node *n, wg_value **y)
{
    expand_volumes(n, y, &wg_op_max_pool2d);
}

static void grad_max2d(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_shape *x = &n->in[0]->shape;
    dx[0] = wg_pool_scatter(dy[0], n->out[1], x->dim[2], x->dim[3]);
}

/* ---- planes by index ------------------------------------------------------------------------- */

static bool infer_scatter(wg_node *n)
{
    const wg_pool_attrs *a = n->attrs;
    const wg_shape *y = &n->in[0]->shape;
    return wg_need_float(n, 0) && wg_need_rank(n, 0, 4, 4) && wg_need_dtype(n, 1, WG_I64) &&
           wg_need_same_shape(n, 0, 1) &&
           wg_set_result(n, 0, n->in[0]->dtype,
                         WG_SHAPE(y->dim[0], y->dim[1], a->height, a->width));
}

static bool infer_gather(wg_node *n)
{
    return wg_need_float(n, 0) && wg_need_rank(n, 0, 4, 4) && wg_need_dtype(n, 1, WG_I64) &&
           wg_need_rank(n, 1, 4, 4) && wg_need_dim(n, 1, 0, n->in[0]->shape.dim[0]) &&
           wg_need_dim(n, 1, 1, n->in[0]->shape.dim[1]) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[1]->shape);
}

static void grad_scatter(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_pool_gather(dy[0], n->in[1]);
}

static void grad_gather(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_shape *x = &n->in[0]->shape;
    dx[0] = wg_pool_scatter(dy[0], n->in[1], x->dim[2], x->dim[3]);
}

/* ---- means ----------------------------------------------------------------------------------- */

static bool infer_avg2d(wg_node *n)
{
    wg_shape y;
    return wg_need_float(n, 0) && wg_need_rank(n, 0, 4, 4) && need_no_dilation(n, n->attrs) &&
           need_pooled(n, n->attrs, &n->in[0]->shape, &y) &&
           wg_set_result(n, 0, n->in[0]->dtype, y);
}

static bool infer_avg1d(wg_node *n)
{
    wg_shape y;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 3, 3))
        return false;
    wg_pool_attrs a = flat(n->attrs);
    return need_no_dilation(n, &a) && need_pooled_1d(n, &a, &y) &&
           wg_set_result(n, 0, n->in[0]->dtype, y);
}

static void expand_avg1d(wg_node *n, wg_value **y)
{
    expand_1d(n, y, &wg_op_avg_pool2d);
}

static bool infer_avg3d(wg_node *n)
{
    const wg_pool_attrs *a = n->attrs;
    return need_no_dilation(n, a) &&
           (a->dilation_d == 1 ||
            wg_fail(n, WG_EINVAL, "a mean has no dilation: dilation_d must be 1, not %lld",
                    (long long)a->dilation_d)) &&
           infer_volumes(n);
}

static void expand_avg3d(wg_node *n, wg_value **y)
{
    expand_volumes(n, y, &wg_op_avg_pool2d);
}

static bool infer_avg_grad(wg_node *n)
{
    const wg_pool_attrs *a = n->attrs;
    const wg_shape *dy = &n->in[0]->shape;
    char is[160], wanted[160];
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 4, 4) || !need_no_dilation(n, a))
        return false;
    wg_shape x = WG_SHAPE(dy->dim[0], dy->dim[1], a->height, a->width), y;
    if (!wg_set_result(n, 0, n->in[0]->dtype, x) || !need_pooled(n, a, &x, &y))
        return false;
    return wg_shape_equal(&y, dy) ||
           wg_fail(n, WG_ESHAPE, "dy is %s, the pooled x is %s", wg_shape_text(dy, is, sizeof is),
                   wg_shape_text(&y, wanted, sizeof wanted));
}

static void grad_avg2d(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_pool_attrs a = *(const wg_pool_attrs *)n->attrs;
    a.height = n->in[0]->shape.dim[2];
    a.width = n->in[0]->shape.dim[3];
    dx[0] = wg_apply1(n->at, &wg_op_avg_pool2d_grad, &a, dy[0]);
}

static void grad_avg_grad(wg_node *n, wg_value *const *v, wg_value **dx)
{
    dx[0] = wg_apply1(n->at, &wg_op_avg_pool2d, n->attrs, v[0]);
}

static double flops_avg_grad(const wg_node *n)
{
    const wg_pool_attrs *a = n->attrs;
    return (double)wg_value_count(n->in[0]) * (double)a->kernel_h * (double)a->kernel_w;
}

/* ---- the ops --------------------------------------------------------------------------------- */

/* clang-format off */
#define F(...) WG_FLOATS(-2, 2, __VA_ARGS__)
#define WINDOWS(kh, kw, sh, sw, ph, pw)                                                            \
    .kernel_h = kh, .kernel_w = kw, .stride_h = sh, .stride_w = sw, .padding_h = ph, .padding_w = pw
#define MAX2D(kh, kw, sh, sw, ph, pw, dh, dw)                                                      \
    &(const wg_pool_attrs){WINDOWS(kh, kw, sh, sw, ph, pw), .dilation_h = dh, .dilation_w = dw}
#define MAX1D(k, s, p, d) MAX2D(1, k, 1, s, 0, p, 1, d)
#define AVG2D(kh, kw, sh, sw, ph, pw, exclude, h, w)                                               \
    &(const wg_pool_attrs){WINDOWS(kh, kw, sh, sw, ph, pw), .dilation_h = 1, .dilation_w = 1,      \
                           .exclude_padding = exclude, .height = h, .width = w}
#define AVG1D(k, s, p, exclude) AVG2D(1, k, 1, s, 0, p, exclude, 0, 0)
#define CEIL2D(kh, kw, sh, sw, ph, pw, exclude, h, w)                                              \
    &(const wg_pool_attrs){WINDOWS(kh, kw, sh, sw, ph, pw), .dilation_h = 1, .dilation_w = 1,      \
                           .exclude_padding = exclude, .height = h, .width = w, .ceil_mode = true}
#define MAX3D(kd, kh, kw, sd, sh, sw, pd, ph, pw, dd, dh, dw, ceil)                                \
    &(const wg_pool_attrs){WINDOWS(kh, kw, sh, sw, ph, pw), .dilation_h = dh, .dilation_w = dw,    \
                           .kernel_d = kd, .stride_d = sd, .padding_d = pd, .dilation_d = dd,      \
                           .ceil_mode = ceil}
#define AVG3D(kd, kh, kw, sd, sh, sw, pd, ph, pw, exclude, ceil)                                   \
    &(const wg_pool_attrs){WINDOWS(kh, kw, sh, sw, ph, pw), .dilation_h = 1, .dilation_w = 1,      \
                           .kernel_d = kd, .stride_d = sd, .padding_d = pd, .dilation_d = 1,       \
                           .exclude_padding = exclude, .ceil_mode = ceil}
#define PLANE(h, w) &(const wg_pool_attrs){.height = h, .width = w}

static const wg_sample max2d_samples[] = {
    {"plain", MAX2D(2, 2, 2, 2, 0, 0, 1, 1), 1, {F(4, 1, 2, 4, 4)}},
    {"overlap, padding", MAX2D(3, 2, 1, 1, 1, 1, 1, 1), 1, {F(4, 2, 1, 3, 4)}},
    {"dilation, stride with a rest", MAX2D(2, 3, 2, 3, 0, 1, 2, 1), 1, {F(4, 1, 2, 4, 6)}},
    {"empty batch", MAX2D(2, 2, 2, 2, 0, 0, 1, 1), 1, {F(4, 0, 2, 4, 4)}},
    {"partial windows", CEIL2D(2, 3, 2, 2, 0, 1, false, 0, 0), 1, {F(4, 1, 2, 5, 4)}},
};
static const wg_sample max1d_samples[] = {
    {"plain", MAX1D(2, 2, 0, 1), 1, {F(3, 2, 2, 5)}},
    {"padding, dilation", MAX1D(3, 1, 1, 2), 1, {F(3, 1, 3, 6)}},
};
static const wg_sample max3d_samples[] = {
    {"plain", MAX3D(2, 2, 2, 2, 2, 2, 0, 0, 0, 1, 1, 1, false), 1, {F(5, 1, 2, 4, 2, 4)}},
    {"dilation", MAX3D(3, 2, 2, 1, 2, 1, 1, 0, 1, 1, 2, 1, false), 1, {F(5, 2, 1, 3, 3, 2)}},
    {"partial windows", MAX3D(2, 2, 1, 2, 2, 1, 0, 0, 0, 1, 1, 1, true), 1, {F(5, 1, 1, 3, 3, 2)}},
};
/* means of 2, 4 or 8 elements: exact in binary */
static const wg_sample avg2d_samples[] = {
    {"plain", AVG2D(2, 2, 2, 2, 0, 0, false, 0, 0), 1, {F(4, 1, 2, 4, 5)}},
    {"overlap, padding", AVG2D(4, 2, 1, 2, 1, 1, false, 0, 0), 1, {F(4, 2, 1, 4, 4)}},
    {"without padding", AVG2D(2, 2, 2, 1, 1, 1, true, 0, 0), 1, {F(4, 1, 2, 4, 3)}},
    {"stride over kernel", AVG2D(2, 1, 3, 2, 0, 0, false, 0, 0), 1, {F(4, 1, 2, 5, 5)}},
    {"partial windows", CEIL2D(2, 4, 2, 4, 0, 1, false, 0, 0), 1, {F(4, 1, 2, 5, 8)}},
    {"parts of x", CEIL2D(2, 2, 2, 2, 0, 1, true, 0, 0), 1, {F(4, 1, 2, 5, 5)}},
};
static const wg_sample avg1d_samples[] = {
    {"plain", AVG1D(2, 2, 0, false), 1, {F(3, 2, 2, 5)}},
    {"without padding", AVG1D(2, 1, 1, true), 1, {F(3, 1, 3, 6)}},
};
static const wg_sample avg3d_samples[] = {
    {"plain", AVG3D(2, 2, 2, 2, 2, 2, 0, 0, 0, false, false), 1, {F(5, 1, 2, 2, 4, 5)}},
    {"overlap, padding", AVG3D(2, 2, 4, 1, 1, 2, 1, 0, 1, false, false), 1, {F(5, 1, 2, 3, 2, 4)}},
    {"without padding", AVG3D(2, 2, 1, 2, 1, 1, 1, 1, 0, true, false), 1, {F(5, 2, 1, 3, 2, 2)}},
    {"partial windows", AVG3D(2, 1, 2, 2, 1, 2, 0, 0, 0, false, true), 1, {F(5, 1, 1, 3, 2, 3)}},
};
static const wg_sample avg_grad_samples[] = {
    {"plain", AVG2D(2, 2, 2, 2, 0, 0, false, 4, 5), 1, {F(4, 1, 2, 2, 2)}},
    {"overlap, padding", AVG2D(4, 2, 1, 2, 1, 1, false, 4, 4), 1, {F(4, 2, 1, 3, 3)}},
    {"without padding", AVG2D(2, 2, 2, 1, 1, 1, true, 4, 3), 1, {F(4, 1, 2, 3, 4)}},
    {"partial windows", CEIL2D(2, 4, 2, 4, 0, 1, false, 5, 8), 1, {F(4, 1, 2, 3, 3)}},
};
static const wg_sample scatter_samples[] = {
    {"into a plane", PLANE(2, 3), 2, {F(4, 2, 2, 2, 2), WG_INTS(0, 6, 4, 2, 2, 2, 2)}},
    {"repeated", PLANE(1, 2), 2, {F(4, 1, 2, 2, 3), WG_INTS(0, 2, 4, 1, 2, 2, 3)}},
};
static const wg_sample gather_samples[] = {
    {"from a plane", NULL, 2, {F(4, 2, 2, 2, 3), WG_INTS(0, 6, 4, 2, 2, 2, 2)}},
    {"repeated", NULL, 2, {F(4, 1, 2, 1, 2), WG_INTS(0, 2, 4, 1, 2, 2, 3)}},
};

#define POOLING .family = WG_FAMILY_POOLING, .smoothness = WG_PIECEWISE_LINEAR

const wg_op wg_op_max_pool2d = {
    .name = "max_pool2d",
    .formula = "y = max of x over each window, index = where it lies in its plane",
    POOLING, .operands = "x", .results = "y index", WG_ATTRS(wg_pool_attrs, attrs_max2d),
    .infer = infer_max2d, .grad = grad_max2d, .reads = WG_READS_Y, .flops = flops_pool,
    WG_SAMPLES(max2d_samples),
};
const wg_op wg_op_max_pool1d = {
    .name = "max_pool1d",
    .formula = "y = max of x over each window, index = where it lies in its row",
    POOLING, .operands = "x", .results = "y index", WG_ATTRS(wg_pool_attrs, attrs_max1d),
    .infer = infer_max1d, .expand = expand_max1d, .flops = flops_pool,
    WG_SAMPLES(max1d_samples),
};
const wg_op wg_op_max_pool3d = {
    .name = "max_pool3d", .formula = "y = max of x over each window",
    POOLING, .operands = "x", .results = "y", WG_ATTRS(wg_pool_attrs, attrs_max3d),
    .infer = infer_volumes, .expand = expand_max3d, .flops = flops_pool,
    WG_SAMPLES(max3d_samples),
};
const wg_op wg_op_pool_scatter = {
    .name = "pool_scatter",
    .formula = "x[b,c,i] = sum of y[b,c,o] over the o with index[b,c,o] = i",
    POOLING, .operands = "y index", .results = "x", WG_ATTRS(wg_pool_attrs, attrs_scatter),
    .infer = infer_scatter, .grad = grad_scatter, .reads = WG_READS_X,
    WG_SAMPLES(scatter_samples),
};
const wg_op wg_op_pool_gather = {
    .name = "pool_gather", .formula = "y[b,c,o] = x[b,c,index[b,c,o]]",
    .family = WG_FAMILY_POOLING, .smoothness = WG_PIECEWISE_LINEAR,
    .operands = "x index", .results = "y",
    .infer = infer_gather, .grad = grad_gather, .reads = WG_READS_X,
    WG_SAMPLES(gather_samples),
};
const wg_op wg_op_avg_pool2d = {
    .name = "avg_pool2d", .formula = "y = mean of x over each window",
    POOLING, .operands = "x", .results = "y", WG_ATTRS(wg_pool_attrs, attrs_avg2d),
    .infer = infer_avg2d, .grad = grad_avg2d, .reads = WG_READS_NOTHING, .flops = flops_pool,
    WG_SAMPLES(avg2d_samples),
};
const wg_op wg_op_avg_pool1d = {
    .name = "avg_pool1d", .formula = "y = mean of x over each window",
    POOLING, .operands = "x", .results = "y", WG_ATTRS(wg_pool_attrs, attrs_avg1d),
    .infer = infer_avg1d, .expand = expand_avg1d, .flops = flops_pool,
    WG_SAMPLES(avg1d_samples),
};
const wg_op wg_op_avg_pool3d = {
    .name = "avg_pool3d", .formula = "y = mean of x over each window",
    POOLING, .operands = "x", .results = "y", WG_ATTRS(wg_pool_attrs, attrs_avg3d),
    .infer = infer_avg3d, .expand = expand_avg3d, .flops = flops_pool,
    WG_SAMPLES(avg3d_samples),
};
const wg_op wg_op_avg_pool2d_grad = {
    .name = "avg_pool2d_grad", .formula = "<x, dx> = <avg_pool2d(x), dy> for all x",
    POOLING, .operands = "dy", .results = "dx", WG_ATTRS(wg_pool_attrs, attrs_avg_grad),
    .infer = infer_avg_grad, .grad = grad_avg_grad, .reads = WG_READS_NOTHING,
    .flops = flops_avg_grad,
    WG_SAMPLES(avg_grad_samples),
};
/* clang-format on */

/* ---- builders -------------------------------------------------------------------------------- */

static wg_pool_attrs attrs_of_2d(const wg_pool2d_options *options)
{
    wg_pool2d_options o = options ? *options : (wg_pool2d_options){0};
    return (wg_pool_attrs){
        .kernel_h = o.kernel[0],
        .kernel_w = o.kernel[1],
        .stride_h = o.stride[0] ? o.stride[0] : o.kernel[0],
        .stride_w = o.stride[1] ? o.stride[1] : o.kernel[1],
        .padding_h = o.padding[0],
        .padding_w = o.padding[1],
        .dilation_h = o.dilation[0] ? o.dilation[0] : 1,
        .dilation_w = o.dilation[1] ? o.dilation[1] : 1,
        .exclude_padding = o.exclude_padding,
        .ceil_mode = o.ceil_mode,
    };
}

static wg_pool_attrs attrs_of_1d(const wg_pool1d_options *options)
{
    wg_pool1d_options o = options ? *options : (wg_pool1d_options){0};
    return attrs_of_2d(&(wg_pool2d_options){.kernel = {1, o.kernel},
                                            .stride = {1, o.stride},
                                            .padding = {0, o.padding},
                                            .dilation = {1, o.dilation},
                                            .exclude_padding = o.exclude_padding,
                                            .ceil_mode = o.ceil_mode});
}

static wg_pool_attrs attrs_of_3d(const wg_pool3d_options *options)
{
    wg_pool3d_options o = options ? *options : (wg_pool3d_options){0};
    wg_pool_attrs a = attrs_of_2d(&(wg_pool2d_options){.kernel = {o.kernel[1], o.kernel[2]},
                                                       .stride = {o.stride[1], o.stride[2]},
                                                       .padding = {o.padding[1], o.padding[2]},
                                                       .dilation = {o.dilation[1], o.dilation[2]},
                                                       .exclude_padding = o.exclude_padding,
                                                       .ceil_mode = o.ceil_mode});
    a.kernel_d = o.kernel[0];
    a.stride_d = o.stride[0] ? o.stride[0] : o.kernel[0];
    a.padding_d = o.padding[0];
    a.dilation_d = o.dilation[0] ? o.dilation[0] : 1;
    return a;
}

wg_value *(wg_max_pool2d)(const char *at, wg_value *x, const wg_pool2d_options *options)
{
    wg_pool_attrs a = attrs_of_2d(options);
    return wg_apply1(at, &wg_op_max_pool2d, &a, x);
}

wg_value *(wg_max_pool1d)(const char *at, wg_value *x, const wg_pool1d_options *options)
{
    wg_pool_attrs a = attrs_of_1d(options);
    return wg_apply1(at, &wg_op_max_pool1d, &a, x);
}

wg_value *(wg_avg_pool2d)(const char *at, wg_value *x, const wg_pool2d_options *options)
{
    wg_pool_attrs a = attrs_of_2d(options);
    return wg_apply1(at, &wg_op_avg_pool2d, &a, x);
}

wg_value *(wg_avg_pool1d)(const char *at, wg_value *x, const wg_pool1d_options *options)
{
    wg_pool_attrs a = attrs_of_1d(options);
    return wg_apply1(at, &wg_op_avg_pool1d, &a, x);
}

wg_value *(wg_max_pool3d)(const char *at, wg_value *x, const wg_pool3d_options *options)
{
    wg_pool_attrs a = attrs_of_3d(options);
    return wg_apply1(at, &wg_op_max_pool3d, &a, x);
}

wg_value *(wg_avg_pool3d)(const char *at, wg_value *x, const wg_pool3d_options *options)
{
    wg_pool_attrs a = attrs_of_3d(options);
    return wg_apply1(at, &wg_op_avg_pool3d, &a, x);
}

/* One window, as large as the plane or the volume. */
static wg_value *global(const char *at, wg_value *x, int rank, const wg_op *op)
{
    wg_pool3d_options o = {.kernel = {1, 1, 1}, .stride = {1, 1, 1}};
    for (int k = 2; x && x->shape.rank == rank && k < rank; k++) /* else the shape rule says so */
        o.kernel[k - rank + 3] = x->shape.dim[k];
    wg_pool_attrs a = attrs_of_3d(&o);
    return wg_apply1(at, op, &a, x);
}

wg_value *(wg_global_max_pool2d)(const char *at, wg_value *x)
{
    return global(at, x, 4, &wg_op_max_pool2d);
}

wg_value *(wg_global_avg_pool2d)(const char *at, wg_value *x)
{
    return global(at, x, 4, &wg_op_avg_pool2d);
}

wg_value *(wg_global_max_pool3d)(const char *at, wg_value *x)
{
    return global(at, x, 5, &wg_op_max_pool3d);
}

wg_value *(wg_global_avg_pool3d)(const char *at, wg_value *x)
{
    return global(at, x, 5, &wg_op_avg_pool3d);
}

wg_value *(wg_pool_gather)(const char *at, wg_value *x, wg_value *index)
{
    return wg_apply2(at, &wg_op_pool_gather, NULL, x, index);
}

wg_value *(wg_pool_scatter)(const char *at, wg_value *y, wg_value *index, int64_t height,
                            int64_t width)
{
    return wg_apply2(at, &wg_op_pool_scatter, &(wg_pool_attrs){.height = height, .width = width}, y,
                     index);
}
