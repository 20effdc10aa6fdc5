/* Fused ops: a plan puts one in the place of several plain ops (backends/plan/fuse.c) if a backend
 * has a kernel for it.  Each is defined by its expansion into the plain ops; models do not build
 * them. */
#ifndef WG_OPS_FUSED_H
#define WG_OPS_FUSED_H

#include "wengert/graph/op.h"
#include "wengert/ops/attention.h"
#include "wengert/ops/conv.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of packed_attention and packed_attention_grad: queries, keys and values side by side
 * in the last axis of x [B, T, heads d + key_heads (d + dv)]. */
typedef struct wg_packed_attention_attrs {
    wg_attention_attrs attention; /**< of each head */
    int64_t heads;                /**< of queries */
    int64_t key_heads;            /**< of keys and values */
    int64_t d;                    /**< width of a head of queries and keys */
} wg_packed_attention_attrs;

/** Attributes of residual_layernorm and residual_layernorm_grad. */
typedef struct wg_residual_layernorm_attrs {
    double p;    /**< of dropout on the branch; 0: none */
    int64_t key; /**< of its mask */
    double eps;  /**< added to the variance */
} wg_residual_layernorm_attrs;

/** Attributes of block_channels. */
typedef struct wg_block_attrs {
    int64_t block; /**< channels side by side */
} wg_block_attrs;

/** Attributes of blocked_conv2d. */
typedef struct wg_blocked_conv_attrs {
    wg_conv_attrs conv; /**< as of conv2d */
    int64_t block;      /**< channels of y side by side */
    bool relu;          /**< of the sum */
} wg_blocked_conv_attrs;

/** Attributes of fused_elementwise. */
typedef struct wg_fused_elementwise_attrs {
    const char *steps; /**< "t0=mul(x0,x1) y0=tanh(t0)": x are operands, y results */
    const char *lines; /**< scope and source line of each step, "head@model.c:41;@model.c:42", or
                          NULL */
} wg_fused_elementwise_attrs;

#ifdef __cplusplus
}
#endif
#endif
