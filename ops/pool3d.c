/* Pooling of volumes: along H and W of each plane, then along D.  The maximum of a window is that
 * of its planes' maxima, and the mean that of their means, since each plane of a window has as many
 * elements, padding counted or not. */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* clang-format off */
#define FIELD(name, field) {name, WG_ATTR_INT, offsetof(wg_pool3d_attrs, field), 0}
#define AXES(name)                                                                                 \
    FIELD(#name "_d", name[0]), FIELD(#name "_h", name[1]), FIELD(#name "_w", name[2])
/* clang-format on */
static const wg_attr attrs_max[] = {AXES(kernel), AXES(stride), AXES(padding), AXES(dilation)};
static const wg_attr attrs_avg[] = {AXES(kernel), AXES(stride), AXES(padding), AXES(dilation),
                                    WG_ATTR(BOOL, wg_pool3d_attrs, exclude_padding)};

static bool infer(wg_node *n)
{
    static const char *const axes[] = {"D", "H", "W"};
    const wg_pool3d_attrs *a = n->attrs;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 5, 5))
        return false;
    wg_shape y = n->in[0]->shape;
    for (int k = 0; k < 3; k++) {
        wg_sliding w = {y.dim[2 + k], a->kernel[k], a->stride[k], a->padding[k], a->dilation[k], 0};
        if (!wgi_need_pool_window(n, axes[k], &w))
            return false;
        y.dim[2 + k] = w.count;
    }
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

static bool infer_avg(wg_node *n)
{
    const int64_t *d = ((const wg_pool3d_attrs *)n->attrs)->dilation;
    if (d[0] != 1 || d[1] != 1 || d[2] != 1)
        return wg_fail(n, WG_EINVAL,
                       "a mean has no dilation: it must be 1, not %lld, %lld and %lld",
                       (long long)d[0], (long long)d[1], (long long)d[2]);
    return infer(n);
}

/* Along D as along H of planes [D, P Q]. */
static void expand(wg_node *n, wg_value **y, const wg_op *two)
{
    const wg_pool3d_attrs *a = n->attrs;
    const int64_t *k = a->kernel, *s = a->stride, *p = a->padding, *d = a->dilation;
    const int64_t *x = n->in[0]->shape.dim, *to = n->out[0]->shape.dim;
    const wg_pool_attrs planes = {
        k[1], k[2], s[1], s[2], p[1], p[2], d[1], d[2], a->exclude_padding, 0, 0};
    const wg_pool_attrs depth = {k[0], 1, s[0], 1, p[0], 0, d[0], 1, a->exclude_padding, 0, 0};
    wg_value *v = wg_reshape(n->in[0], WG_SHAPE(x[0], x[1] * x[2], x[3], x[4]));
    v = wg_apply1(n->at, two, &planes, v);
    v = wg_reshape(v, WG_SHAPE(x[0], x[1], x[2], to[3] * to[4]));
    v = wg_apply1(n->at, two, &depth, v);
    y[0] = wg_reshape(v, n->out[0]->shape);
}

static void expand_max(wg_node *n, wg_value **y)
{
    expand(n, y, &wg_op_max_pool2d);
}

static void expand_avg(wg_node *n, wg_value **y)
{
    expand(n, y, &wg_op_avg_pool2d);
}

static double flops(const wg_node *n)
{
    const wg_pool3d_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    double planes = (double)(y->dim[0] * y->dim[1]) * (double)(y->dim[3] * y->dim[4]);
    return planes * ((double)x->dim[2] * (double)(a->kernel[1] * a->kernel[2]) +
                     (double)y->dim[2] * (double)a->kernel[0]);
}

/* clang-format off */
#define WINDOW(exclude, ...) &(const wg_pool3d_attrs){__VA_ARGS__, exclude}
#define F(...) WG_FLOATS(-2, 2, 5, __VA_ARGS__)

static const wg_sample max_samples[] = {
    {"plain", WINDOW(false, {2, 2, 2}, {2, 2, 2}, {0}, {1, 1, 1}), 1, {F(1, 2, 2, 4, 5)}},
    {"overlap, padding", WINDOW(false, {2, 3, 2}, {1, 1, 2}, {1, 1, 0}, {1, 1, 1}), 1,
     {F(2, 1, 2, 3, 4)}},
    {"dilation", WINDOW(false, {2, 1, 2}, {1, 2, 1}, {0}, {2, 1, 3}), 1, {F(1, 1, 4, 3, 4)}},
    {"empty batch", WINDOW(false, {1, 2, 2}, {1, 2, 2}, {0}, {1, 1, 1}), 1, {F(0, 2, 3, 4, 4)}},
};
/* means of 4, 8 or 16 elements: exact in binary */
static const wg_sample avg_samples[] = {
    {"plain", WINDOW(false, {2, 2, 2}, {2, 2, 2}, {0}, {1, 1, 1}), 1, {F(1, 2, 2, 4, 5)}},
    {"overlap, padding", WINDOW(false, {2, 4, 2}, {1, 1, 2}, {1, 1, 0}, {1, 1, 1}), 1,
     {F(2, 1, 2, 3, 4)}},
    {"without padding", WINDOW(true, {2, 2, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}), 1,
     {F(1, 1, 3, 2, 2)}},
};
/* clang-format on */

#define POOLING                                                                                    \
    .family = WG_FAMILY_POOLING, .smoothness = WG_PIECEWISE_LINEAR, .operands = "x",               \
    .results = "y", .flops = flops

const wg_op wg_op_max_pool3d = {
    .name = "max_pool3d",
    .formula = "y = max of x over each window",
    POOLING,
    WG_ATTRS(wg_pool3d_attrs, attrs_max),
    .infer = infer,
    .expand = expand_max,
    WG_SAMPLES(max_samples),
};

const wg_op wg_op_avg_pool3d = {
    .name = "avg_pool3d",
    .formula = "y = mean of x over each window",
    POOLING,
    WG_ATTRS(wg_pool3d_attrs, attrs_avg),
    .infer = infer_avg,
    .expand = expand_avg,
    WG_SAMPLES(avg_samples),
};

/* ---- builders -------------------------------------------------------------------------------- */

static wg_pool3d_attrs attrs_of(const wg_pool3d_options *options)
{
    wg_pool3d_options o = options ? *options : (wg_pool3d_options){.kernel = {0}};
    wg_pool3d_attrs a = {.exclude_padding = o.exclude_padding};
    for (int k = 0; k < 3; k++) {
        a.kernel[k] = o.kernel[k];
        a.stride[k] = o.stride[k] ? o.stride[k] : o.kernel[k];
        a.padding[k] = o.padding[k];
        a.dilation[k] = o.dilation[k] ? o.dilation[k] : 1;
    }
    return a;
}

wg_value *(wg_max_pool3d)(const char *at, wg_value *x, const wg_pool3d_options *options)
{
    wg_pool3d_attrs a = attrs_of(options);
    return wg_apply1(at, &wg_op_max_pool3d, &a, x);
}

wg_value *(wg_avg_pool3d)(const char *at, wg_value *x, const wg_pool3d_options *options)
{
    wg_pool3d_attrs a = attrs_of(options);
    return wg_apply1(at, &wg_op_avg_pool3d, &a, x);
}
