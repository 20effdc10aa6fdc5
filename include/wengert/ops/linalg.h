/* Matrix products. */
#ifndef WG_OPS_LINALG_H
#define WG_OPS_LINALG_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of matmul: which operands are transposed in their last two axes. */
typedef struct wg_matmul_attrs {
    bool transpose_a; /**< a is [..., K, M] */
    bool transpose_b; /**< b is [..., N, K] */
} wg_matmul_attrs;

/** The function that linear applies to its result. */
typedef enum wg_activation {
    WG_ACTIVATION_NONE = 0,  /**< y = x */
    WG_ACTIVATION_RELU,      /**< wg_relu */
    WG_ACTIVATION_TANH,      /**< wg_tanh */
    WG_ACTIVATION_SIGMOID,   /**< wg_sigmoid */
    WG_ACTIVATION_GELU,      /**< wg_gelu by erf */
    WG_ACTIVATION_GELU_TANH, /**< wg_gelu by tanh */
    WG_ACTIVATION_SILU,      /**< wg_silu */
} wg_activation;

/** Attributes of linear. */
typedef struct wg_linear_attrs {
    wg_activation activation; /**< of the result */
    bool in_first; /**< weight is [in, out]: a plan fuses matmul(x, weight) + bias into it */
} wg_linear_attrs;

/** Which operands of wg_matmul_t are transposed. */
enum {
    WG_NN = 0, /**< none */
    WG_TN = 1, /**< a */
    WG_NT = 2, /**< b */
    WG_TT = 3  /**< both */
};

/** y[..., M, N] = a[..., M, K] b[..., K, N]; leading axes broadcast.  A vector counts as NumPy's
 * matmul has it: a [K] gives y[..., N], b [K] gives y[..., M], both give a scalar. */
WG_API wg_value *(wg_matmul)(const char *at, wg_value *a, wg_value *b);
#define wg_matmul(...) wg_matmul(WG_HERE, __VA_ARGS__)
/** The same with transposed operands.  `transposes` is WG_NN (none), WG_TN (a is [..., K, M]),
 * WG_NT (b is [..., N, K]) or WG_TT (both).  A vector is its own transpose. */
WG_API wg_value *(wg_matmul_t)(const char *at, wg_value *a, wg_value *b, int transposes);
#define wg_matmul_t(...) wg_matmul_t(WG_HERE, __VA_ARGS__)

/** y[..., out] = activation(x[..., in] weight' + bias) for weight [out, in] and bias [out], which
 * may be NULL. */
WG_API wg_value *(wg_linear)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                             wg_activation activation);
#define wg_linear(...) wg_linear(WG_HERE, __VA_ARGS__)

/** The activation as an op of its own; x itself for WG_ACTIVATION_NONE. */
WG_API wg_value *(wg_activate)(const char *at, wg_value *x, wg_activation activation);
#define wg_activate(...) wg_activate(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
