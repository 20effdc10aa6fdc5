/* Activations of single numbers, for loops that the compiler vectorises.  Errors are at most a few
 * units in the last place of max(1, |y|). */
#ifndef WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_H
#define WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_H

#include "backends/simd/kernels/exp.h"
#include "backends/simd/kernels/kernels.h"

#include <math.h>

/* 1 / (1 + exp(-x)), of which exp(-|x|) does not overflow; the other of the two sums to 1 with it,
 * and is not made by a subtraction, which would lose digits */
static inline float simd_sigmoid(float x)
{
    float u = simd_exp(-fabsf(x)), large = 1.0f / (1.0f + u);
    return x < 0.0f ? u * large : x != x ? x : large;
}

/* (1 - v) / (1 + v), v = exp(-2 |x|), with the sign of x; below 0.625 x + x^3 p(x^2), where p is
 * that of Cephes' tanhf (Moshier), since the difference would lose digits */
static inline float simd_tanh(float x)
{
    float z = x * x, v = simd_exp(-2.0f * fabsf(x)), large = (1.0f - v) / (1.0f + v);
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float small = x + x * z * p;
    return z < 0.390625f ? small : copysignf(large, x);
}

#endif
