/* Linear algebra. */
#ifndef WG_OPS_LINALG_H
#define WG_OPS_LINALG_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_matmul_attrs {
    bool transpose_a, transpose_b;
} wg_matmul_attrs;

/* What linear applies to its result. */
typedef enum wg_activation {
    WG_ACTIVATION_NONE = 0,
    WG_ACTIVATION_RELU,
    WG_ACTIVATION_TANH,
    WG_ACTIVATION_SIGMOID,
    WG_ACTIVATION_GELU,      /* by erf  */
    WG_ACTIVATION_GELU_TANH, /* by tanh */
    WG_ACTIVATION_SILU,
} wg_activation;

typedef struct wg_linear_attrs {
    wg_activation activation; /**< of the result */
    bool in_first; /**< weight is [in, out]: what a plan makes of matmul(x, weight) + bias */
} wg_linear_attrs;

enum {
    WG_NN = 0,
    WG_TN = 1,
    WG_NT = 2,
    WG_TT = 3
}; /* which operands of wg_matmul_t are transposed */

/** y[..., M, N] = a[..., M, K] b[..., K, N]; leading axes broadcast. */
WG_API wg_value *(wg_matmul)(const char *at, wg_value *a, wg_value *b);
#define wg_matmul(...) wg_matmul(WG_HERE, __VA_ARGS__)
/** The same with a given as [..., K, M] (WG_TN, WG_TT) or b as [..., N, K] (WG_NT, WG_TT). */
WG_API wg_value *(wg_matmul_t)(const char *at, wg_value *a, wg_value *b, int transposes);
#define wg_matmul_t(...) wg_matmul_t(WG_HERE, __VA_ARGS__)

/** y[..., out] = activation(x[..., in] weight' + bias) for weight [out, in] and bias [out], which
 *  may be NULL. */
WG_API wg_value *(wg_linear)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                             wg_activation activation);
#define wg_linear(...) wg_linear(WG_HERE, __VA_ARGS__)

/** What wg_linear applies to its result; x itself for WG_ACTIVATION_NONE. */
WG_API wg_value *(wg_activate)(const char *at, wg_value *x, wg_activation activation);
#define wg_activate(...) wg_activate(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
