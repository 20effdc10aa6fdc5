/* Elementwise arithmetic, with broadcasting where there are two operands.  Comparisons and choices
 * are in wengert/ops/compare.h, activations in wengert/ops/activation.h. */
#ifndef WG_OPS_ELEMENTWISE_H
#define WG_OPS_ELEMENTWISE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of cast. */
typedef struct wg_cast_attrs {
    wg_dtype dtype; /**< of y */
} wg_cast_attrs;

/** Attributes of clamp and clamp_grad. */
typedef struct wg_clamp_attrs {
    double min; /**< -INFINITY: no bound */
    double max; /**< INFINITY: no bound */
} wg_clamp_attrs;

/** Maximum order of polygamma. */
enum { WG_MAX_POLYGAMMA = 30 };

/** Attributes of polygamma. */
typedef struct wg_polygamma_attrs {
    int64_t order; /**< 1 to WG_MAX_POLYGAMMA */
} wg_polygamma_attrs;

/* ---- two operands: same dtype, shapes broadcast ---------------------------------------------- */

/** y = a + b. */
WG_API wg_value *(wg_add)(const char *at, wg_value *a, wg_value *b);
#define wg_add(...) wg_add(WG_HERE, __VA_ARGS__)
/** y = a - b. */
WG_API wg_value *(wg_sub)(const char *at, wg_value *a, wg_value *b);
#define wg_sub(...) wg_sub(WG_HERE, __VA_ARGS__)
/** y = a b. */
WG_API wg_value *(wg_mul)(const char *at, wg_value *a, wg_value *b);
#define wg_mul(...) wg_mul(WG_HERE, __VA_ARGS__)
/** y = a / b; floats. */
WG_API wg_value *(wg_div)(const char *at, wg_value *a, wg_value *b);
#define wg_div(...) wg_div(WG_HERE, __VA_ARGS__)

/** y = a^b as C's pow; numbers.  dy/da is 0 where b = 0; at a = 0 it is 1 for b = 1 and infinite
 * for 0 < b < 1.  dy/db is 0 where a = 0 and b >= 0, and NaN where a < 0.  Integers exactly, but
 * wrapping around beyond their range; a negative exponent ends the run with WG_EDATA. */
WG_API wg_value *(wg_pow)(const char *at, wg_value *a, wg_value *b);
#define wg_pow(...) wg_pow(WG_HERE, __VA_ARGS__)
/** y = max(a, b); NaN if either is NaN.  Where a = b, each gets half of the derivative. */
WG_API wg_value *(wg_maximum)(const char *at, wg_value *a, wg_value *b);
#define wg_maximum(...) wg_maximum(WG_HERE, __VA_ARGS__)
/** y = min(a, b); otherwise like wg_maximum. */
WG_API wg_value *(wg_minimum)(const char *at, wg_value *a, wg_value *b);
#define wg_minimum(...) wg_minimum(WG_HERE, __VA_ARGS__)

/** da = 0 where a < b, dy / 2 where a = b, else dy: the derivative of the maximum as an op; that of
 * the minimum has a and b in the other order.  Floats; shapes broadcast. */
WG_API wg_value *(wg_maximum_grad)(const char *at, wg_value *a, wg_value *b, wg_value *dy);
#define wg_maximum_grad(...) wg_maximum_grad(WG_HERE, __VA_ARGS__)

/** y = a - b floor(a / b), numbers: the remainder with the sign of the divisor b, as Python's % and
 * torch.remainder.  (C's fmod has the sign of a; IEEE 754's remainder is the nearest to 0.)  -1 and
 * 3 give 2, 1 and -3 give -2.  Floats: NaN where b = 0 or a is infinite; a remainder may round up
 * to b.  Integers: b = 0 ends the run with WG_EDATA.  dy/da = 1, dy/db = -floor(a / b). */
WG_API wg_value *(wg_remainder)(const char *at, wg_value *a, wg_value *b);
#define wg_remainder(...) wg_remainder(WG_HERE, __VA_ARGS__)
/** y = floor(a / b), numbers: the quotient that belongs to wg_remainder, as Python's // and
 * torch.floor_divide; -1 and 3 give -1.  Integers exactly, where wg_floor(wg_div(a, b)) has floats
 * alone; b = 0 ends the run with WG_EDATA.  Floats: a / b where b = 0, NaN where a is infinite.
 * Discrete: no gradient. */
WG_API wg_value *(wg_floor_divide)(const char *at, wg_value *a, wg_value *b);
#define wg_floor_divide(...) wg_floor_divide(WG_HERE, __VA_ARGS__)
/** y = angle of the point (b, a) in (-pi, pi], as C's atan2(a, b); floats.  The derivative is 0 at
 * the origin, and NaN where an operand is infinite. */
WG_API wg_value *(wg_atan2)(const char *at, wg_value *a, wg_value *b);
#define wg_atan2(...) wg_atan2(WG_HERE, __VA_ARGS__)

/** y = s x, for a number s. */
WG_API wg_value *(wg_scale)(const char *at, wg_value *x, double s);
#define wg_scale(...) wg_scale(WG_HERE, __VA_ARGS__)
/** y = x + s, for a number s. */
WG_API wg_value *(wg_shift)(const char *at, wg_value *x, double s);
#define wg_shift(...) wg_shift(WG_HERE, __VA_ARGS__)

/* ---- one operand ----------------------------------------------------------------------------- */

/** y = -x. */
WG_API wg_value *(wg_neg)(const char *at, wg_value *x);
#define wg_neg(...) wg_neg(WG_HERE, __VA_ARGS__)
/** y = exp(x). */
WG_API wg_value *(wg_exp)(const char *at, wg_value *x);
#define wg_exp(...) wg_exp(WG_HERE, __VA_ARGS__)
/** y = ln(x); x <= 0 gives -inf or NaN, as C's log does. */
WG_API wg_value *(wg_log)(const char *at, wg_value *x);
#define wg_log(...) wg_log(WG_HERE, __VA_ARGS__)
/** y = ln(1 + x), accurate where x is small; -inf at -1, NaN below. */
WG_API wg_value *(wg_log1p)(const char *at, wg_value *x);
#define wg_log1p(...) wg_log1p(WG_HERE, __VA_ARGS__)
/** y = exp(x) - 1, accurate where x is small. */
WG_API wg_value *(wg_expm1)(const char *at, wg_value *x);
#define wg_expm1(...) wg_expm1(WG_HERE, __VA_ARGS__)
/** y = |x|; the derivative at 0 is 0. */
WG_API wg_value *(wg_abs)(const char *at, wg_value *x);
#define wg_abs(...) wg_abs(WG_HERE, __VA_ARGS__)
/** y = -1, 0 or 1, in x's dtype; 0 for NaN.  The derivative is 0. */
WG_API wg_value *(wg_sign)(const char *at, wg_value *x);
#define wg_sign(...) wg_sign(WG_HERE, __VA_ARGS__)
/** y = x^2. */
WG_API wg_value *(wg_square)(const char *at, wg_value *x);
#define wg_square(...) wg_square(WG_HERE, __VA_ARGS__)
/** y = sqrt(x); the derivative at 0 is infinite. */
WG_API wg_value *(wg_sqrt)(const char *at, wg_value *x);
#define wg_sqrt(...) wg_sqrt(WG_HERE, __VA_ARGS__)
/** y = 1 / sqrt(x). */
WG_API wg_value *(wg_rsqrt)(const char *at, wg_value *x);
#define wg_rsqrt(...) wg_rsqrt(WG_HERE, __VA_ARGS__)
/** y = 1 / x. */
WG_API wg_value *(wg_reciprocal)(const char *at, wg_value *x);
#define wg_reciprocal(...) wg_reciprocal(WG_HERE, __VA_ARGS__)
/** y = sin(x), x in radians. */
WG_API wg_value *(wg_sin)(const char *at, wg_value *x);
#define wg_sin(...) wg_sin(WG_HERE, __VA_ARGS__)
/** y = cos(x), x in radians. */
WG_API wg_value *(wg_cos)(const char *at, wg_value *x);
#define wg_cos(...) wg_cos(WG_HERE, __VA_ARGS__)
/** y = tan(x), x in radians. */
WG_API wg_value *(wg_tan)(const char *at, wg_value *x);
#define wg_tan(...) wg_tan(WG_HERE, __VA_ARGS__)
/** y = arcsin(x) in [-pi/2, pi/2]; NaN outside [-1, 1]; the derivative at -1 and 1 is infinite. */
WG_API wg_value *(wg_asin)(const char *at, wg_value *x);
#define wg_asin(...) wg_asin(WG_HERE, __VA_ARGS__)
/** y = arccos(x) in [0, pi]; otherwise like wg_asin. */
WG_API wg_value *(wg_acos)(const char *at, wg_value *x);
#define wg_acos(...) wg_acos(WG_HERE, __VA_ARGS__)
/** y = arctan(x) in [-pi/2, pi/2]. */
WG_API wg_value *(wg_atan)(const char *at, wg_value *x);
#define wg_atan(...) wg_atan(WG_HERE, __VA_ARGS__)
/** y = (exp(x) - exp(-x)) / 2, the hyperbolic sine. */
WG_API wg_value *(wg_sinh)(const char *at, wg_value *x);
#define wg_sinh(...) wg_sinh(WG_HERE, __VA_ARGS__)
/** y = (exp(x) + exp(-x)) / 2, the hyperbolic cosine. */
WG_API wg_value *(wg_cosh)(const char *at, wg_value *x);
#define wg_cosh(...) wg_cosh(WG_HERE, __VA_ARGS__)
/** y = ln(x + sqrt(x^2 + 1)), the inverse of wg_sinh. */
WG_API wg_value *(wg_asinh)(const char *at, wg_value *x);
#define wg_asinh(...) wg_asinh(WG_HERE, __VA_ARGS__)
/** y = ln(x + sqrt(x^2 - 1)) >= 0, the inverse of wg_cosh; NaN for x < 1; the derivative at 1 is
 * infinite. */
WG_API wg_value *(wg_acosh)(const char *at, wg_value *x);
#define wg_acosh(...) wg_acosh(WG_HERE, __VA_ARGS__)
/** y = ln((1 + x) / (1 - x)) / 2, the inverse of wg_tanh; infinite at -1 and 1, NaN beyond. */
WG_API wg_value *(wg_atanh)(const char *at, wg_value *x);
#define wg_atanh(...) wg_atanh(WG_HERE, __VA_ARGS__)
/** y = erf(x), the error function. */
WG_API wg_value *(wg_erf)(const char *at, wg_value *x);
#define wg_erf(...) wg_erf(WG_HERE, __VA_ARGS__)
/** y = ln |gamma(x)|; infinite at 0, -1, -2, ....  The derivative is wg_digamma.  Derivatives of
 * these end where wg_polygamma does, at its order WG_MAX_POLYGAMMA. */
WG_API wg_value *(wg_lgamma)(const char *at, wg_value *x);
#define wg_lgamma(...) wg_lgamma(WG_HERE, __VA_ARGS__)
/** y = gamma'(x) / gamma(x), the derivative of wg_lgamma.  At the poles: -inf at 0, inf at -0, NaN
 * at -1, -2, ....  The derivative is wg_polygamma of order 1. */
WG_API wg_value *(wg_digamma)(const char *at, wg_value *x);
#define wg_digamma(...) wg_digamma(WG_HERE, __VA_ARGS__)
/** y = derivative number `order`, 1 to WG_MAX_POLYGAMMA, of wg_digamma at x; order 1 is the
 * trigamma function.  At the poles -1, -2, ...: inf for odd orders, NaN for even ones. */
WG_API wg_value *(wg_polygamma)(const char *at, wg_value *x, int64_t order);
#define wg_polygamma(...) wg_polygamma(WG_HERE, __VA_ARGS__)
/** y = the largest whole number <= x; floats.  The derivative is 0. */
WG_API wg_value *(wg_floor)(const char *at, wg_value *x);
#define wg_floor(...) wg_floor(WG_HERE, __VA_ARGS__)
/** y = the smallest whole number >= x; floats.  The derivative is 0. */
WG_API wg_value *(wg_ceil)(const char *at, wg_value *x);
#define wg_ceil(...) wg_ceil(WG_HERE, __VA_ARGS__)
/** y = the nearest whole number, halves to even; floats.  The derivative is 0. */
WG_API wg_value *(wg_round)(const char *at, wg_value *x);
#define wg_round(...) wg_round(WG_HERE, __VA_ARGS__)
/** y = min(max(x, min), max), numbers, min <= max; NaN stays NaN.  The derivative is 1 in
 * [min, max], else 0.  Of integers this is a wg_maximum and a wg_minimum, whose bounds, if they are
 * not infinite, must be numbers of x's dtype. */
WG_API wg_value *(wg_clamp)(const char *at, wg_value *x, double min, double max);
#define wg_clamp(...) wg_clamp(WG_HERE, __VA_ARGS__)
/** dx = dy where min <= x <= max, else 0: the derivative of clamp as an op.  Shapes broadcast. */
WG_API wg_value *(wg_clamp_grad)(const char *at, wg_value *x, wg_value *dy, double min, double max);
#define wg_clamp_grad(...) wg_clamp_grad(WG_HERE, __VA_ARGS__)
/** y = x, with the derivative 0. */
WG_API wg_value *(wg_stop_gradient)(const char *at, wg_value *x);
#define wg_stop_gradient(...) wg_stop_gradient(WG_HERE, __VA_ARGS__)
/** y = x in another dtype.  Floats round to nearest, ties to even; bf16 and f16 become infinite
 * where x is too large.  To integers, x is truncated; beyond their range it becomes the nearest
 * limit, and NaN becomes 0: -1.5 is -1 as i8 and 0 as u8.  Anything to bool is x != 0. */
WG_API wg_value *(wg_cast)(const char *at, wg_value *x, wg_dtype dtype);
#define wg_cast(...) wg_cast(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
