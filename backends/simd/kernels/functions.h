/* Functions of single numbers, of f32 or f64, for loops that the compiler vectorises.  Errors are
 * at most a few units in the last place of max(1, |y|). */
#ifndef WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_H
#define WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"

#ifdef SIMD_F64
#include "backends/simd/kernels/functions_f64.h"
#else
#include "backends/simd/kernels/functions_f32.h"
#endif

#include <tgmath.h> /* fabs(x) is fabsf(x) where real is float */

/* 1 / (1 + exp(-x)); 0 where exp(-x) is infinite, below x = -88, in f64 -709 */
static inline real simd_sigmoid(real x)
{
    return 1 / (1 + simd_exp(-x));
}

/* ln(w) + r / w, where w + r = 1 + x and r is what the sum lost of x, since ln(w + r) = ln w + r /
 * w + ...; where x is small that is r.  -inf for -1, NaN below; 0 keeps its sign. */
static inline real simd_log1p(real x)
{
    real w = 1 + x, rest = x - (w - 1);
    real y = simd_log(w) + (w > 0 && w < INFINITY ? rest / w : 0);
    return x == 0 ? x : y;
}

/* With t = exp(|x|) - 1, (t + t / (t + 1)) / 2, which loses nothing near 0; where exp(|x|)
 * overflows, its half as a product, since the result may not.  0 keeps its sign. */
static inline real simd_sinh(real x)
{
    real w = fabs(x), t = simd_expm1(w), half = simd_exp_of_any((real)0.5 * w);
    real y = t < (real)INFINITY ? (real)0.5 * (t + t / (t + 1)) : (real)0.5 * half * half;
    return x != x ? x : copysign(y, x);
}

static inline real simd_cosh(real x)
{
    real w = fabs(x), e = simd_exp_of_any(w), half = simd_exp_of_any((real)0.5 * w);
    real y = e < (real)INFINITY ? (real)0.5 * (e + 1 / e) : (real)0.5 * half * half;
    return x != x ? x : y;
}

/* ln(w + sqrt(w^2 + 1)) for w = |x|, as ln(1 + t) with t = w + w^2 / (1 + sqrt(w^2 + 1)), which
 * loses nothing near 0; from 2^28 on, where w^2 + 1 is w^2 (and may overflow), as ln(2 w).  0 keeps
 * its sign. */
static inline real simd_asinh(real x)
{
    real w = fabs(x), near = w < 0x1p28F ? w : 1, z = near * near;
    real t = near + z / (1 + sqrt(z + 1)), sum = 1 + t, rest = t - (sum - 1);
    bool far = !(w < 0x1p28F);
    real y = simd_log(far ? w : sum) + (far ? (real)0.69314718055994531 : rest / sum);
    return x != x ? x : copysign(y, x);
}

/* ln(x + sqrt(x^2 - 1)), as ln(1 + t) with t = u + sqrt(u (u + 2)) for u = x - 1; from 2^28 on as
 * ln(2 x).  NaN below 1: the root of u */
static inline real simd_acosh(real x)
{
    bool far = !(x < 0x1p28F);
    real u = far ? 1 : x - 1, t = u + sqrt(u * (u > 0 ? u + 2 : 1));
    real sum = 1 + t, rest = t - (sum - 1);
    return simd_log(far ? x : sum) + (far ? (real)0.69314718055994531 : rest / sum);
}

/* ln((1 + w) / (1 - w)) / 2 for w = |x|, as ln(1 + 2 w / (1 - w)) / 2.  NaN beyond 1; 0 keeps its
 * sign. */
static inline real simd_atanh(real x)
{
    real w = fabs(x), y = (real)0.5 * simd_log1p(2 * w / (1 - w));
    return x != x ? x : copysign(y, x);
}

/* For w = |x| above 1/2 arcsin w = pi / 2 - 2 arcsin sqrt((1 - w) / 2), whose argument is small. */
static inline real simd_asin(real x)
{
    bool above;
    real arc = simd_arc(fabs(x), &above);
    return copysign(above ? (real)1.5707963267948966 - 2 * arc : arc, x);
}

static inline real simd_acos(real x)
{
    bool above;
    real arc = simd_arc(fabs(x), &above),
         far = x < 0 ? (real)3.1415926535897932 - 2 * arc : 2 * arc;
    return above ? far : (real)1.5707963267948966 - copysign(arc, x);
}

/* The angle of the point (x, y), by the arctangent of the smaller over the larger coordinate: of
 * two infinite ones, as of equal ones, and 0 for 0 over 0.  (Their quotient chosen afterwards would
 * be a division on a condition, which compilers do not vectorise.) */
static inline real simd_atan2(real y, real x)
{
    real u = fabs(y), v = fabs(x);
    bool far = (u == (real)INFINITY) & (v == (real)INFINITY);
    u = far ? 1 : u;
    v = far ? 1 : v;
    real large = u > v ? u : v, small = u > v ? v : u;
    large = large == 0 ? 1 : large;
    real arc = simd_atan(small / large);
    arc = u > v ? (real)1.5707963267948966 - arc : arc;
    arc = copysign((real)1, x) < 0 ? (real)3.1415926535897932 - arc : arc;
    return copysign(arc, y);
}

/* max(x, 0) + ln(1 + exp(-|x|)) */
static inline real simd_softplus(real x)
{
    return (x > 0 ? x : 0) + simd_log1p_to_1(simd_exp(-fabs(x)));
}

#endif
