/* Convolutions in blocks of channels: x[N, C, H, W] lies as [N, C / b, H, W, b], so that the b
 * channels of one position, which all taps of a kernel multiply, are one vector.  A plan keeps
 * chains of convolutions in this layout (backends/plan/blocks.c). */
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "ops/conv_internal.h"
#include "wengert/ops/table.h"

/* ---- to blocks and back ---------------------------------------------------------------------- */

static bool need_block(wg_node *n, int64_t block, int64_t channels)
{
    return (block > 0 && channels % block == 0) ||
           wg_fail(n, WG_ESHAPE, "blocks of %lld do not divide %lld channels", (long long)block,
                   (long long)channels);
}

static wg_shape blocked(const wg_shape *x, int64_t block)
{
    return (wg_shape){5, {x->dim[0], x->dim[1] / block, x->dim[2], x->dim[3], block}};
}

static wg_shape unblocked(const wg_shape *x)
{
    return (wg_shape){4, {x->dim[0], x->dim[1] * x->dim[4], x->dim[2], x->dim[3]}};
}

static int64_t block_of(const wg_node *n)
{
    return ((const wg_block_attrs *)n->attrs)->block;
}

static bool infer_block(wg_node *n)
{
    const wg_shape *x = &n->in[0]->shape;
    return wg_need_float(n, 0) && wg_need_rank(n, 0, 4, 4) &&
           need_block(n, block_of(n), x->dim[1]) &&
           wg_set_result(n, 0, n->in[0]->dtype, blocked(x, block_of(n)));
}

/* The channels of operand i, which is in blocks, can be counted. */
static bool need_blocks(wg_node *n, int i)
{
    const int64_t *x = n->in[i]->shape.dim;
    return wg_need_rank(n, i, 5, 5) && wgi_conv_need_groups(n, x[4], x[1]);
}

static bool infer_unblock(wg_node *n)
{
    return wg_need_float(n, 0) && need_blocks(n, 0) &&
           wg_set_result(n, 0, n->in[0]->dtype, unblocked(&n->in[0]->shape));
}

static wg_value *to_blocks(wg_value *x, int64_t block)
{
    return wg_apply1(WG_HERE, &wg_op_block_channels, &(wg_block_attrs){block}, x);
}

static wg_value *from_blocks(wg_value *x)
{
    return wg_apply1(WG_HERE, &wg_op_unblock_channels, NULL, x);
}

static void expand_block(wg_node *n, wg_value **y)
{
    const int64_t *x = n->in[0]->shape.dim, b = block_of(n);
    y[0] = wg_permute(wg_reshape(n->in[0], WG_SHAPE(x[0], x[1] / b, b, x[2], x[3])),
                      WG_AXES(0, 1, 3, 4, 2));
}

static void expand_unblock(wg_node *n, wg_value **y)
{
    y[0] = wg_reshape(wg_permute(n->in[0], WG_AXES(0, 1, 4, 2, 3)), n->out[0]->shape);
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* The shape rule of conv2d for x as it is without blocks, which an image of few channels is. */
static bool infer_conv(wg_node *n)
{
    const wg_blocked_conv_attrs *a = n->attrs;
    bool is_image = n->in[0]->shape.rank == 4;
    if (!wg_need_float(n, 0) || (!is_image && !need_blocks(n, 0)))
        return false;
    wg_value x = *n->in[0], *in[] = {&x, n->in[1], n->n_in > 2 ? n->in[2] : NULL};
    x.shape = is_image ? x.shape : unblocked(&x.shape);
    wg_node plain = *n;
    plain.in = in;
    plain.n_in = n->n_in < 3 ? n->n_in : 3;
    if (!wg_op_conv2d.infer(&plain) || !need_block(n, a->block, n->out[0]->shape.dim[1]))
        return false;
    wg_shape y = blocked(&n->out[0]->shape, a->block);
    char is[160], must[160];
    if (n->n_in > 3 && !wg_need_same_dtype(n, 0, 3))
        return false;
    if (n->n_in > 3 && !wg_shape_equal(&n->in[3]->shape, &y))
        return wg_fail(n, WG_ESHAPE, "c is %s, must be %s",
                       wg_shape_text(&n->in[3]->shape, is, sizeof is),
                       wg_shape_text(&y, must, sizeof must));
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

static void expand_conv(wg_node *n, wg_value **y)
{
    const wg_blocked_conv_attrs *a = n->attrs;
    wg_value *x = n->in[0]->shape.rank == 5 ? from_blocks(n->in[0]) : n->in[0];
    wg_value *bias = n->n_in > 2 ? n->in[2] : NULL;
    y[0] = to_blocks(wg_apply3(WG_HERE, &wg_op_conv2d, &a->conv, x, n->in[1], bias), a->block);
    if (n->n_in > 3)
        y[0] = wg_add(y[0], n->in[3]);
    if (a->relu)
        y[0] = wg_relu(y[0]);
}

static double flops_conv(const wg_node *n)
{
    return wgi_conv_flops(n->out[0], n->in[1]) +
           (n->n_in > 3 ? (double)wg_value_count(n->out[0]) : 0);
}

/* clang-format off */
static const wg_attr block_attrs[] = {WG_ATTR(INT, wg_block_attrs, block)};
static const wg_attr conv_attrs[] = {
    WGI_CONV_FIELDS_2D, WG_ATTR(INT, wg_blocked_conv_attrs, block),
    WG_ATTR(BOOL, wg_blocked_conv_attrs, relu),
};

#define F WGI_F
static const wg_block_attrs two = {2};
static const wg_sample block_samples[] = {
    {"two blocks", &two, 1, {F(4, 2, 4, 3, 2)}},
    {"one", &two, 1, {F(4, 1, 2, 1, 3)}},
    {"empty", &two, 1, {F(4, 0, 4, 3, 2)}},
};
static const wg_sample unblock_samples[] = {
    {"two blocks", NULL, 1, {F(5, 2, 2, 3, 2, 2)}},
    {"one", NULL, 1, {F(5, 1, 1, 1, 3, 2)}},
    {"empty", NULL, 1, {F(5, 0, 2, 3, 2, 2)}},
};

/* CONV(stride, padding, dilation: along H and W; groups; block; relu) */
#define CONV(s, p, d, g, b, r)                                                                     \
    &(const wg_blocked_conv_attrs){{.stride = WGI_DHW(1, s, s), .padding = WGI_DHW(0, p, p),       \
                                    .dilation = WGI_DHW(1, d, d), .groups = g}, b, r}
static const wg_sample conv_samples[] = {
    {"image", CONV(1, 0, 1, 1, 2, false), 2, {F(4, 2, 3, 4, 5), F(4, 4, 3, 3, 2)}},
    {"bias, padding", CONV(1, 1, 1, 1, 2, false), 3,
     {F(5, 1, 2, 3, 3, 2), F(4, 2, 4, 3, 3), F(1, 2)}},
    {"sum, relu", CONV(2, 1, 1, 1, 2, true), 4,
     {F(5, 1, 1, 4, 3, 2), F(4, 4, 2, 3, 3), F(1, 4), F(5, 1, 2, 2, 2, 2)}},
    {"1x1, relu", CONV(1, 0, 1, 1, 2, true), 2, {F(5, 1, 2, 2, 3, 2), F(4, 2, 4, 1, 1)}},
    {"dilation, groups", CONV(1, 2, 2, 2, 2, false), 3,
     {F(5, 1, 2, 3, 4, 2), F(4, 4, 2, 3, 2), F(1, 4)}},
    {"blocks of 8", CONV(1, 1, 1, 1, 8, true), 4,
     {F(5, 1, 1, 4, 3, 8), F(4, 8, 8, 3, 3), F(1, 8), F(5, 1, 1, 4, 3, 8)}},
    {"empty batch", CONV(1, 0, 1, 1, 2, false), 2, {F(5, 0, 1, 3, 3, 2), F(4, 2, 2, 2, 2)}},
};

const wg_op wg_op_block_channels = {
    .name = "block_channels", .formula = "y[N, C / b, H, W, b] = x[N, C, H, W]",
    .family = WG_FAMILY_FUSED, .operands = "x", .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_block_attrs, block_attrs),
    .infer = infer_block, .expand = expand_block, WG_SAMPLES(block_samples),
};
const wg_op wg_op_unblock_channels = {
    .name = "unblock_channels", .formula = "y[N, C, H, W] = x[N, C / b, H, W, b]",
    .family = WG_FAMILY_FUSED, .operands = "x", .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_unblock, .expand = expand_unblock, WG_SAMPLES(unblock_samples),
};
const wg_op wg_op_blocked_conv2d = {
    .name = "blocked_conv2d",
    .formula = "y = relu(conv2d(x, weight, bias) + c), with y, c and an x of rank 5 in blocks",
    .family = WG_FAMILY_FUSED, .smoothness = WG_KINKED, .operands = "x weight bias? c?",
    .inplace = 1 << 3, WG_ATTRS(wg_blocked_conv_attrs, conv_attrs),
    .infer = infer_conv, .expand = expand_conv, .flops = flops_conv, WG_SAMPLES(conv_samples),
};
/* clang-format on */
