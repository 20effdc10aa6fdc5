/* Activations and their derivatives.  Exponents are never positive, so that nothing overflows. */
#include "backends/cpu/elementwise.h"
#include "wengert/ops/activation.h"

static inline real sigmoid(real x)
{
    real e = exp(-fabs(x)), negative = x < 0;
    return (negative * e + (1 - negative)) / (1 + e); /* no branch: the sign cannot be predicted */
}

/* Phi(x) = (1 + erf(x / sqrt 2)) / 2: the normal distribution */
static inline real gelu_erf(real x)
{
    return x * ((real)0.5 * (1 + erf(x * (real)0.70710678118654752440)));
}

/* Phi(x) + x phi(x) */
static inline real gelu_erf_slope(real x)
{
    real density = (real)0.39894228040143267794 * exp(-(real)0.5 * x * x);
    return (real)0.5 * (1 + erf(x * (real)0.70710678118654752440)) +
           (density > 0 ? x * density : 0);
}

/* x (1 + tanh u) / 2,  u = sqrt(2/pi) (x + c x^3) */
static inline real gelu_tanh(real x)
{
    real u = (real)0.79788456080286535588 * (x + (real)0.044715 * x * x * x);
    return (real)0.5 * x * (1 + tanh(u));
}

/* (1 + t) / 2 + x (1 - t^2) u' / 2,  t = tanh u; u' may be infinite where 1 - t^2 is 0 */
static inline real gelu_tanh_slope(real x)
{
    real t = tanh((real)0.79788456080286535588 * (x + (real)0.044715 * x * x * x)), s = 1 - t * t;
    real du = (real)0.79788456080286535588 * (1 + 3 * (real)0.044715 * x * x);
    return (real)0.5 * (1 + t) + (s > 0 ? (real)0.5 * x * s * du : 0);
}

static inline real silu_slope(real x)
{
    real s = sigmoid(x);
    return s * (1 + x * (1 - s));
}

/* clang-format off */
/* The operand where it is positive or NaN, else what the formula says. */
#define UNLESS_POSITIVE(formula) (x <= 0 ? (formula) : x)

UNARY(tanh, tanh(x))
UNARY(relu, UNLESS_POSITIVE(0))
UNARY(sigmoid, sigmoid(x))
UNARY(silu, x * sigmoid(x))
UNARY(softplus, (x > 0 ? x : 0) + log1p(exp(-fabs(x))))

BINARY(relu_grad, a > 0 ? b : 0)
BINARY(silu_grad, silu_slope(a) * b)

/* ---- with attributes ------------------------------------------------------------------------- */

static UNARY_OF(gelu_by_erf, real, real, gelu_erf(x))
static UNARY_OF(gelu_by_tanh, real, real, gelu_tanh(x))
static BINARY_OF(gelu_grad_by_erf, real, real, gelu_erf_slope(a) * b)
static BINARY_OF(gelu_grad_by_tanh, real, real, gelu_tanh_slope(a) * b)
    /* clang-format on */

    void KERNEL(gelu)(wg_call *call)
{
    const wg_gelu_attrs *a = call->node->attrs;
    (a->kind == WG_GELU_TANH ? gelu_by_tanh : gelu_by_erf)(call);
}

void KERNEL(gelu_grad)(wg_call *call)
{
    const wg_gelu_attrs *a = call->node->attrs;
    (a->kind == WG_GELU_TANH ? gelu_grad_by_tanh : gelu_grad_by_erf)(call);
}

#define ATTRIBUTE(type, field) ((real)((const type *)call->node->attrs)->field)

/* clang-format off */
UNARY(leaky_relu, UNLESS_POSITIVE(ATTRIBUTE(wg_leaky_relu_attrs, slope) * x))
UNARY(elu, UNLESS_POSITIVE(ATTRIBUTE(wg_elu_attrs, alpha) * expm1(x)))
