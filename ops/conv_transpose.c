/* Transposed convolution: conv2d_grad_x or conv3d_grad_x with the size that the options say. */
#include "ops/conv_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <string.h>

/* clang-format off */
static const wg_attr attrs_1d[] = {
    WGI_CONV_FIELDS_1D, WGI_CONV_FIELD("output_padding", output_padding[WGI_W]),
};
static const wg_attr attrs_2d[] = {
    WGI_CONV_FIELDS_2D, WGI_CONV_HW("output_padding", output_padding),
};
static const wg_attr attrs_3d[] = {
    WGI_CONV_FIELDS_3D, WGI_CONV_DHW("output_padding", output_padding),
};
/* clang-format on */

/* ---- shape rule ------------------------------------------------------------------------------ */

static bool need_transposed_size(wg_node *n, const char *axis, wg_sliding *w,
                                 int64_t output_padding, int64_t *size)
{
    int64_t windows = w->size;
    w->size = INT64_MAX / 8; /* the result's size is not known yet: only the numbers are checked */
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

/* x[N, C, D, H, W] and w[C, O/groups, kD, kH, kW] play dy and w of the adjoint. */
static bool need_transposed(wg_node *n, const wg_shape *x, const wg_shape *w, wg_shape *y)
{
    const wg_conv_attrs *a = n->attrs;
    if (x->dim[1] != w->dim[0])
        return wg_fail(n, WG_ESHAPE, "x has %lld channels, weight is for %lld",
                       (long long)x->dim[1], (long long)w->dim[0]);
    if (!wgi_conv_need_groups(n, a->groups, w->dim[1]))
        return false;
    *y = (wg_shape){x->rank, {x->dim[0], a->groups * w->dim[1]}};
    for (int k = wgi_conv_first(x->rank); k < WGI_CONV_AXES; k++) {
        wg_sliding s = wgi_conv_windows(a, x, w, k);
        if (!need_transposed_size(n, wgi_conv_axis(x->rank, k), &s, a->output_padding[k],
                                  &y->dim[wgi_conv_dim(x->rank, k)]))
            return false;
    }
    return w->dim[0] % a->groups == 0 ||
           wg_fail(n, WG_ESHAPE, "%lld groups do not divide %lld input channels",
                   (long long)a->groups, (long long)w->dim[0]);
}

static bool infer(wg_node *n, int rank)
{
    wg_shape y = {0};
    return wgi_conv_need_floats(n, rank) &&
           need_transposed(n, &n->in[0]->shape, &n->in[1]->shape, &y) &&
           wgi_conv_need_bias(n, y.dim[1]) && wg_set_result(n, 0, n->in[0]->dtype, y);
}

static bool infer_1d(wg_node *n)
{
    return infer(n, 3);
}
static bool infer_2d(wg_node *n)
{
    return infer(n, 4);
}
static bool infer_3d(wg_node *n)
{
    return infer(n, 5);
}

/* ---- expansions ------------------------------------------------------------------------------ */

static void expand(wg_node *n, wg_value **y, const wg_op *adjoint)
{
    wg_conv_attrs a = *(const wg_conv_attrs *)n->attrs;
    const wg_shape *s = &n->out[0]->shape;
    wgi_conv_set_size(&a, s);
    memset(a.output_padding, 0, sizeof a.output_padding);
    y[0] = wg_apply2(n->at, adjoint, &a, n->in[0], n->in[1]);
    wg_shape column = {s->rank - 1, {s->dim[1], 1, 1, 1}};
    if (n->n_in > 2)
        y[0] = wg_add(y[0], wg_reshape(n->in[2], column));
}

static void expand_1d(wg_node *n, wg_value **y)
{
    wgi_conv_expand_1d(n, y, &wg_op_conv_transpose2d);
}
static void expand_2d(wg_node *n, wg_value **y)
{
    expand(n, y, &wg_op_conv2d_grad_x);
}
static void expand_3d(wg_node *n, wg_value **y)
{
    expand(n, y, &wg_op_conv3d_grad_x);
}

static double flops(const wg_node *n)
{
    return wgi_conv_flops(n->in[0], n->in[1]);
}

/* ---- the ops --------------------------------------------------------------------------------- */

/* clang-format off */
#define F WGI_F

/* TRANSPOSED(stride, padding, dilation, groups, output padding), each but the groups a WGI_DHW */
#define TRANSPOSED(s, p, d, g, o)                                                                  \
    &(const wg_conv_attrs){                                                                        \
        .stride = s, .padding = p, .dilation = d, .groups = g, .output_padding = o}
#define PLAIN                                                                                      \
    TRANSPOSED(WGI_DHW(1, 1, 1), WGI_DHW(0, 0, 0), WGI_DHW(1, 1, 1), 1, WGI_DHW(0, 0, 0))

static const wg_sample samples_1d[] = {
    {"plain", PLAIN, 2, {F(3, 2, 2, 4), F(3, 2, 3, 3)}},
    {"all options",
     TRANSPOSED(WGI_DHW(1, 1, 3), WGI_DHW(0, 0, 1), WGI_DHW(1, 1, 2), 2, WGI_DHW(0, 0, 2)), 3,
     {F(3, 1, 4, 3), F(3, 4, 1, 3), F(1, 2)}},
};
static const wg_sample samples_2d[] = {
    {"plain", PLAIN, 2, {F(4, 2, 2, 2, 3), F(4, 2, 3, 2, 3)}},
    {"all options",
     TRANSPOSED(WGI_DHW(1, 2, 3), WGI_DHW(0, 1, 0), WGI_DHW(1, 1, 2), 2, WGI_DHW(0, 1, 2)), 3,
     {F(4, 1, 4, 2, 2), F(4, 4, 2, 3, 2), F(1, 4)}},
};
static const wg_sample samples_3d[] = {
    {"plain", PLAIN, 2, {F(5, 2, 2, 2, 1, 3), F(5, 2, 3, 2, 3, 2)}},
    {"all options",
     TRANSPOSED(WGI_DHW(3, 2, 1), WGI_DHW(0, 1, 0), WGI_DHW(2, 1, 1), 2, WGI_DHW(2, 1, 0)), 3,
     {F(5, 1, 4, 2, 2, 2), F(5, 4, 1, 2, 3, 2), F(1, 2)}},
};

#define TRANSPOSED_OP(dims, FORMULA)                                                               \
    const wg_op wg_op_conv_transpose##dims = {                                                     \
        .name = "conv_transpose" #dims, .formula = FORMULA,                                        \
        WGI_CONVOLUTION, .operands = "x weight bias?", .results = "y",                             \
        WG_ATTRS(wg_conv_attrs, attrs_##dims),                                                     \
        .infer = infer_##dims, .expand = expand_##dims, .flops = flops,                            \
        WG_SAMPLES(samples_##dims),                                                                \
    };                                                                                             \
    wg_value *(wg_conv_transpose##dims)(const char *at, wg_value *x, wg_value *weight,             \
                                        wg_value *bias, const wg_conv##dims##_options *options)    \
    {                                                                                              \
        wg_conv_attrs a = wgi_conv_attrs_##dims(options);                                          \
        return wg_apply3(at, &wg_op_conv_transpose##dims, &a, x, weight, bias);                    \
    }

TRANSPOSED_OP(1d, "y[b,o,i s - pad + k d] += w[c,o,k] x[b,c,i], plus bias[o]")
TRANSPOSED_OP(2d, "y[b,o,i s - pad + k d, j ... l ...] += w[c,o,k,l] x[b,c,i,j], plus bias[o]")
TRANSPOSED_OP(3d, "y[b,o,h s - pad + m d, i ... k ..., j ... l ...] += w[c,o,m,k,l] x[b,c,h,i,j], "
                  "plus bias[o]")
/* clang-format on */
