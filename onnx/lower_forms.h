/* What the functions that write ops share, and their names. */
#ifndef WG_ONNX_LOWER_FORMS_H
#define WG_ONNX_LOWER_FORMS_H

#include "onnx/lower.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <string.h>

static inline const char *in(ox_export *e, const wg_node *n, int i)
{
    return i < n->n_in ? wgi_ox_name(e, n->in[i]) : "";
}

static inline const char *out(ox_export *e, const wg_node *n)
{
    return wgi_ox_name(e, n->out[0]);
}

static inline const char *apply1(ox_export *e, const char *op, const char *a, const char *y)
{
    return wgi_ox_result(wgi_ox_node(e, op, &a, 1, y));
}

static inline const char *apply2(ox_export *e, const char *op, const char *a, const char *b,
                                 const char *y)
{
    const char *const operands[] = {a, b};
    return wgi_ox_result(wgi_ox_node(e, op, operands, 2, y));
}

static inline void apply3(ox_export *e, const char *op, const char *a, const char *b, const char *c,
                          const char *y)
{
    const char *const operands[] = {a, b, c};
    wgi_ox_node(e, op, operands, 3, y);
}

/* The node that the op's first two operands make. */
static inline ox_node_proto *node_of(ox_export *e, const wg_node *n, const char *op, int n_in)
{
    const char *operands[8];
    for (int i = 0; i < n_in && i < WG_COUNT(operands); i++)
        operands[i] = in(e, n, i);
    return wgi_ox_node(e, op, operands, (size_t)n_in, out(e, n));
}

/* A list of axes as integers; returns their number. */
static inline size_t axes_of(const wg_axes *axes, int64_t at[WG_MAX_RANK])
{
    for (int k = 0; k < axes->count; k++)
        at[k] = axes->axis[k];
    return (size_t)axes->count;
}

/* The name of the same op in ONNX, or NULL. */
const char *wgi_ox_same_name(const wg_op *op);

/* lower_elementwise.c */
ox_writer wgi_ox_write_same, wgi_ox_write_identity, wgi_ox_write_constant, wgi_ox_write_fill,
    wgi_ox_write_iota, wgi_ox_write_one_hot, wgi_ox_write_square, wgi_ox_write_rsqrt,
    wgi_ox_write_log1p, wgi_ox_write_expm1, wgi_ox_write_not_equal, wgi_ox_write_isfinite,
    wgi_ox_write_remainder, wgi_ox_write_floor_divide, wgi_ox_write_silu, wgi_ox_write_gelu,
    wgi_ox_write_leaky_relu, wgi_ox_write_elu, wgi_ox_write_relu_grad, wgi_ox_write_clamp,
    wgi_ox_write_cast, wgi_ox_write_masked_fill, wgi_ox_write_dropout, wgi_ox_write_reduction,
    wgi_ox_write_any_all, wgi_ox_write_norm, wgi_ox_write_var, wgi_ox_write_arg, wgi_ox_write_topk,
    wgi_ox_write_sort, wgi_ox_write_cumsum, wgi_ox_write_fft, wgi_ox_write_rfft,
    wgi_ox_write_bitwise_not;
/* lower_layout.c */
ox_writer wgi_ox_write_shaped, wgi_ox_write_permute, wgi_ox_write_slice, wgi_ox_write_pad,
    wgi_ox_write_slice_grad, wgi_ox_write_concat, wgi_ox_write_triangle, wgi_ox_write_embedding,
    wgi_ox_write_take, wgi_ox_write_scatter, wgi_ox_write_put_rows, wgi_ox_write_segment_sum,
    wgi_ox_write_matmul, wgi_ox_write_slogdet, wgi_ox_write_linear, wgi_ox_write_conv,
    wgi_ox_write_conv_transpose, wgi_ox_write_pool, wgi_ox_write_upsample, wgi_ox_write_softmax,
    wgi_ox_write_layernorm, wgi_ox_write_batchnorm, wgi_ox_write_cross_entropy;

#endif
