/* Functions of single numbers in f32, for loops that the compiler vectorises; those of f64 have the
 * same names (functions_f64.h).  Errors are at most a few units in the last place of max(1,
 * |y|). */
#ifndef WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_F32_H
#define WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_F32_H

#include "backends/simd/kernels/angles.h"
#include "backends/simd/kernels/exp.h"

#include <math.h>
#include <stdbool.h>

/* ln(x) = e ln 2 + ln(m), x = 2^e m, m in [1/sqrt 2, sqrt 2), ln 2 in two parts.  With f = m - 1,
 * which is exact, ln(m) = f - f^2 / 2 + f^3 p(f), where p is that of Cephes' logf (Moshier): so
 * ln(1) is 0.  -inf for 0, NaN below. */
static inline float simd_log(float x)
{
    const uint32_t lowest = 0x3f3504f3; /* the bits of 1 / sqrt 2 */
    bool subnormal = x < 0x1p-126f;
    float normal = subnormal ? x * 0x1p24f : x;
    uint32_t bits;
    memcpy(&bits, &normal, sizeof bits);
    uint32_t shifted = bits - lowest, mantissa = bits - (shifted & 0xff800000u);
    float m, e = (float)((int32_t)shifted >> 23) - (subnormal ? 24.0f : 0.0f);
    memcpy(&m, &mantissa, sizeof m);
    float f = m - 1.0f, z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    float y = f * z * p - 2.12194440e-4f * e - 0.5f * z;
    y = f + y + 0.693359375f * e;
    float other = x == 0.0f ? -INFINITY : x < 0.0f ? NAN : x; /* x is infinite or NaN */
    return x > 0.0f && x < INFINITY ? y : other;
}

/* 2^n (exp(r) - 1) + (2^n - 1), x = n ln 2 + r; in halves, since 2^128 overflows where the result
 * does not.  0 keeps its sign. */
static inline float simd_expm1(float x)
{
    float n, r, tail = simd_exp_tail(simd_clamp(x, -30.0f, 89.0f), &n, &r), p = r + r * r * tail;
    float half = simd_power(n - 1.0f);
    float y = 2.0f * (half * p + (half - 0.5f));
    return x != x || x == 0.0f ? x : y;
}

/* ln(1 + u) for 0 <= u <= 1: u p(u - 1/2), fitted to 8e-9 of it */
static inline float simd_log1p_to_1(float u)
{
    float s = u - 0.5f, p = -3.17605702e-3f;
    p = p * s + 5.25027068e-3f;
    p = p * s - 6.78801695e-3f;
    p = p * s + 1.15776854e-2f;
    p = p * s - 2.05631824e-2f;
    p = p * s + 3.66352342e-2f;
    p = p * s - 6.76881897e-2f;
    p = p * s + 1.32609016e-1f;
    p = p * s - 2.88527101e-1f;
    return u * (p * s + 8.1093022e-1f);
}

/* a + z + z^3 p(z^2), where arctan |x| = a + arctan z for a = 0, pi / 4 or pi / 2, so that |z| <=
 * tan(pi / 8); p is that of Cephes' atanf (Moshier) */
static inline float simd_atan(float x)
{
    float w = fabsf(x);
    bool large = w > 2.41421356f, middle = !large && w > 0.414213562f;
    float above = large    ? -1.0f
                  : middle ? w - 1.0f
                           : w,
          below = large    ? w
                  : middle ? w + 1.0f
                           : 1.0f;
    float z = above / below, s = z * z, p = 8.05374449538e-2f;
    p = p * s - 1.38776856032e-1f;
    p = p * s + 1.99777106478e-1f;
    p = p * s - 3.33329491539e-1f;
    float y = z + z * s * p + (large ? 1.57079633f : middle ? 0.785398163f : 0.0f);
    return copysignf(y, x);
}

/* arcsin s = s + s^3 p(s^2), where s = w up to 1/2, *above it sqrt((1 - w) / 2): see simd_asin; p
 * is that of Cephes' asinf (Moshier).  NaN if w > 1 */
static inline float simd_arc(float w, bool *above)
{
    *above = w > 0.5f;
    float z = *above ? 0.5f * (1.0f - w) : w * w, s = *above ? sqrtf(z) : w;
    float p = 4.2163199048e-2f;
    p = p * z + 2.4181311049e-2f;
    p = p * z + 4.5470025998e-2f;
    p = p * z + 7.4953002686e-2f;
    p = p * z + 1.6666752422e-1f;
    return s + s * z * p;
}

/* x p(x^2) / q(x^2), fitted for |x| <= 9.02, where tanh begins to round to 1: the quotient differs
 * from tanh x by at most 2.1e-8 of it, rounded numbers by 6e-7 (test_simd_rows). */
static inline float simd_tanh(float x)
{
    float t = simd_clamp(x, -9.02f, 9.02f), z = t * t;
    float p = 1.33191401e-8f, q = 7.76204879e-7f;
    p = p * z + 2.05835354e-5f;
    p = p * z + 3.49403807e-3f;
    p = p * z + 1.33797210e-1f;
    p = p * z + 1.0f;
    q = q * z + 3.28309842e-4f;
    q = q * z + 2.58710868e-2f;
    q = q * z + 4.67130362e-1f;
    q = q * z + 1.0f;
    return x != x ? x : simd_clamp(t * p / q, -1.0f, 1.0f);
}

/* x p(x^2) below 1, else 1 - exp(-x^2) n(|x|) / d(|x|), so that near 1 there is no error but that
 * of rounding: to -1, 1 may be added.  Fitted to 2e-9 of erf and to 1.5e-7 of 1 - erf; from 4 on
 * erf is 1. */
static inline float simd_erf(float x)
{
    float t = fabsf(simd_clamp(x, -4.0f, 4.0f)), z = t * t;
    float p = 7.85385491e-5f;
    p = p * z - 8.01019138e-4f;
    p = p * z + 5.18832728e-3f;
    p = p * z - 2.6853811e-2f;
    p = p * z + 1.12835854e-1f;
    p = p * z - 3.7612626e-1f;
    p = p * z + 1.12837911f;
    float n = (0.30371803f * t + 0.835360587f) * t + 1.00366354f;
    float d = ((0.537798822f * t + 1.48950136f) * t + 1.98398209f) * t + 1.0f;
    float y = copysignf(t < 1.0f ? t * p : 1.0f - simd_exp(-z) * (n / d), x);
    return x != x ? x : y;
}

/* Phi(-|x|), where Phi is the distribution function of the normal distribution, given e =
 * exp(-x^2 / 2).  With z = |x| / sqrt 2 and t = 1 / (1 + 0.3275911 z), erfc(z) = (a1 t + ... + a5
 * t^5) exp(-z^2) to 1.5e-7 (Abramowitz and Stegun 7.1.26). */
static inline float simd_normal_tail(float x, float e)
{
    float z = fabsf(x) * 0.70710678f, t = 1.0f / (1.0f + 0.3275911f * z);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    return 0.5f * p * t * e;
}

#endif
