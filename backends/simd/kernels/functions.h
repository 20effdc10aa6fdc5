/* Activations of single numbers, for loops that the compiler vectorises.  Errors are at most a few
 * units in the last place of max(1, |y|). */
#ifndef WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_H
#define WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_H

#include "backends/simd/kernels/exp.h"
#include "backends/simd/kernels/kernels.h"

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

/* x p(x^2) / q(x^2), fitted for |x| <= 3.92, where erf begins to round to 1: the quotient differs
 * from erf x by at most 1.9e-8 of it, rounded numbers by 6e-7 (test_simd_rows). */
static inline float simd_erf(float x)
{
    float low = -3.92f > x ? -3.92f : x, t = 3.92f < low ? 3.92f : low; /* NaN stays */
    float z = t * t;
    float p = 2.05007473e-6f, q = 3.80916608e-5f;
    p = p * z + 2.84884154e-4f;
    p = p * z + 3.76568409e-3f;
    p = p * z + 5.27489334e-2f;
    p = p * z + 1.90408036e-1f;
    p = p * z + 1.12837911f;
    q = q * z + 1.16255158e-3f;
    q = q * z + 1.49693517e-2f;
    q = q * z + 1.14109762e-1f;
    q = q * z + 5.02077460e-1f;
    q = q * z + 1.0f;
    float y = t * p / q;
    y = -1.0f > y ? -1.0f : y;
    return 1.0f < y ? 1.0f : y;
}

#endif
