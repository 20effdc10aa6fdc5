/* Activations of single numbers, for loops that the compiler vectorises.  Errors are at most a few
 * units in the last place of max(1, |y|). */
#ifndef WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_H
#define WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_H

#include "backends/simd/kernels/exp.h"
#include "backends/simd/kernels/kernels.h"

#include <math.h>

/* 1 / (1 + exp(-x)); 0 where exp(-x) is infinite, below x = -88 */
static inline float simd_sigmoid(float x)
{
    return 1.0f / (1.0f + simd_exp(-x));
}

/* x p(x^2) / q(x^2), fitted for |x| <= 9.02, where tanh begins to round to 1: the quotient differs
 * from tanh x by at most 2.1e-8 of it, rounded numbers by 6e-7 (test_simd_rows). */
static inline float simd_tanh(float x)
{
    float low = -9.02f > x ? -9.02f : x, t = 9.02f < low ? 9.02f : low; /* NaN stays */
    float z = t * t;
    float p = 1.33191401e-8f, q = 7.76204879e-7f;
    p = p * z + 2.05835354e-5f;
    p = p * z + 3.49403807e-3f;
    p = p * z + 1.33797210e-1f;
    p = p * z + 1.0f;
    q = q * z + 3.28309842e-4f;
    q = q * z + 2.58710868e-2f;
    q = q * z + 4.67130362e-1f;
    q = q * z + 1.0f;
    float y = t * p / q;
    y = -1.0f > y ? -1.0f : y;
    return 1.0f < y ? 1.0f : y;
}

/* x p(x^2) below 1, else 1 - exp(-x^2) n(|x|) / d(|x|), so that near 1 there is no error but that
 * of rounding: to -1, 1 may be added.  Fitted to 2e-9 of erf and to 1.5e-7 of 1 - erf; from 4 on
 * erf is 1. */
static inline float simd_erf(float x)
{
    float w = fabsf(x), t = w < 4.0f ? w : 4.0f, z = t * t;
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

#endif
