/* Activations of floats, elementwise, and gated units. */
#ifndef WG_OPS_ACTIVATION_H
#define WG_OPS_ACTIVATION_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How gelu is computed. */
typedef enum wg_gelu_kind {
    WG_GELU_ERF = 0, /**< by erf, exact */
    WG_GELU_TANH     /**< by tanh, approximate */
} wg_gelu_kind;

/** What wg_gated applies to the second half. */
typedef enum wg_gate {
    WG_GLU = 0, /**< sigmoid */
    WG_REGLU,   /**< relu */
    WG_GEGLU,   /**< gelu by erf */
    WG_SWIGLU   /**< silu */
} wg_gate;

/** Attributes of leaky_relu. */
typedef struct wg_leaky_relu_attrs {
    double slope; /**< of y where x <= 0 */
} wg_leaky_relu_attrs;

/** Attributes of elu. */
typedef struct wg_elu_attrs {
    double alpha; /**< y tends to -alpha as x tends to -infinity */
} wg_elu_attrs;

/** Attributes of gelu and gelu_grad. */
typedef struct wg_gelu_attrs {
    wg_gelu_kind kind; /**< by erf or by tanh */
} wg_gelu_attrs;

/** Attributes of gated. */
typedef struct wg_gated_attrs {
    wg_gate kind; /**< what is applied to the second half */
} wg_gated_attrs;

/** y = tanh(x). */
WG_API wg_value *(wg_tanh)(const char *at, wg_value *x);
#define wg_tanh(...) wg_tanh(WG_HERE, __VA_ARGS__)
/** y = max(x, 0); the derivative at 0 is 0; NaN stays NaN. */
WG_API wg_value *(wg_relu)(const char *at, wg_value *x);
#define wg_relu(...) wg_relu(WG_HERE, __VA_ARGS__)
/** y = x where x > 0, else slope x; the derivative at 0 is the slope. */
WG_API wg_value *(wg_leaky_relu)(const char *at, wg_value *x, double slope);
#define wg_leaky_relu(...) wg_leaky_relu(WG_HERE, __VA_ARGS__)
/** y = x where x > 0, else alpha (exp(x) - 1). */
WG_API wg_value *(wg_elu)(const char *at, wg_value *x, double alpha);
#define wg_elu(...) wg_elu(WG_HERE, __VA_ARGS__)
/** y = 1 / (1 + exp(-x)). */
WG_API wg_value *(wg_sigmoid)(const char *at, wg_value *x);
#define wg_sigmoid(...) wg_sigmoid(WG_HERE, __VA_ARGS__)
/** y = x sigmoid(x), also called swish. */
WG_API wg_value *(wg_silu)(const char *at, wg_value *x);
#define wg_silu(...) wg_silu(WG_HERE, __VA_ARGS__)
/** y = ln(1 + exp(x)). */
WG_API wg_value *(wg_softplus)(const char *at, wg_value *x);
#define wg_softplus(...) wg_softplus(WG_HERE, __VA_ARGS__)
/** y = x clamp(x + 3, 0, 6) / 6; NaN for -inf (Howard et al., "Searching for MobileNetV3", 2019).
 * At -3 and 3, where the slope jumps, it is that between them. */
WG_API wg_value *(wg_hardswish)(const char *at, wg_value *x);
#define wg_hardswish(...) wg_hardswish(WG_HERE, __VA_ARGS__)
/** y = x (1 + erf(x / sqrt 2)) / 2, or its approximation x (1 + tanh(sqrt(2/pi) (x + 0.044715
 * x^3))) / 2 (Hendrycks and Gimpel, "Gaussian error linear units", 2016). */
WG_API wg_value *(wg_gelu)(const char *at, wg_value *x, wg_gelu_kind kind);
#define wg_gelu(...) wg_gelu(WG_HERE, __VA_ARGS__)

/** Splits the last axis, of even size, into halves a and b: y = a act(b) with act sigmoid (WG_GLU),
 * relu (WG_REGLU), gelu by erf (WG_GEGLU) or silu (WG_SWIGLU).  x: [..., 2 d], y: [..., d]
 * (Shazeer, "GLU variants improve transformer", 2020; the order of the halves is PyTorch's glu).
 */
WG_API wg_value *(wg_gated)(const char *at, wg_value *x, wg_gate kind);
#define wg_gated(...) wg_gated(WG_HERE, __VA_ARGS__)

/* ---- derivatives as ops: a single pass over memory ------------------------------------------- */

/** dx = dy where y > 0, else 0; y is relu's result or its operand.  Shapes broadcast. */
WG_API wg_value *(wg_relu_grad)(const char *at, wg_value *y, wg_value *dy);
#define wg_relu_grad(...) wg_relu_grad(WG_HERE, __VA_ARGS__)
/** dx = dy silu'(x). */
WG_API wg_value *(wg_silu_grad)(const char *at, wg_value *x, wg_value *dy);
#define wg_silu_grad(...) wg_silu_grad(WG_HERE, __VA_ARGS__)
/** dx = dy hardswish'(x). */
WG_API wg_value *(wg_hardswish_grad)(const char *at, wg_value *x, wg_value *dy);
#define wg_hardswish_grad(...) wg_hardswish_grad(WG_HERE, __VA_ARGS__)
/** dx = dy gelu'(x). */
WG_API wg_value *(wg_gelu_grad)(const char *at, wg_value *x, wg_value *dy, wg_gelu_kind kind);
#define wg_gelu_grad(...) wg_gelu_grad(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
