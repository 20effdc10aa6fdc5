/* exp as a polynomial that a compiler vectorises: libm's is not inlined. */
#ifndef WG_BACKENDS_SIMD_KERNELS_EXP_H
#define WG_BACKENDS_SIMD_KERNELS_EXP_H

#include <stdint.h>
#include <string.h>

/* x = n ln 2 + r with |r| <= ln 2 / 2; returns (exp(r) - 1 - r) / r^2 by the Taylor polynomial of
 * degree 7 of exp (error below 1e-8). */
static inline float simd_exp_tail(float x, float *n, float *r)
{
    const float magic = 12582912.0f; /* 1.5 2^23: adding it rounds to an integer */
    *n = (x * 1.44269504f + magic) - magic;
    *r = x - *n * 0.693145752f - *n * 1.42860677e-6f;
    float p = 1.98412698e-4f;
    p = p * *r + 1.38888889e-3f;
    p = p * *r + 8.33333333e-3f;
    p = p * *r + 4.16666667e-2f;
    p = p * *r + 1.66666667e-1f;
    return p * *r + 0.5f;
}

/* 2^n for n in [-126, 127], by the exponent's bits; 128 gives infinity */
static inline float simd_power(int32_t n)
{
    int32_t bits = (n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* exp(x) to 2 ulp for x in [-87, 88], as after a maximum was subtracted; 0 below, +inf above, NaN
 * for NaN.  Branch-free. */
static inline float simd_exp(float x)
{
    float low = x > -87.0f ? x : -87.0f,
          clamped = low < 88.72f ? low : 88.72f; /* NaN becomes -87 */
    float n, r, p = simd_exp_tail(clamped, &n, &r);
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    float y = p * simd_power((int32_t)n); /* infinite above 127.5 ln 2 = 88.38 */
    y = x < -87.0f ? 0.0f : y;
    return x != x ? x : y;
}

/* exp(x) to 2 ulp for any x: 2^n in halves, since 2^128 overflows where the result does not. */
static inline float simd_exp_of_any(float x)
{
    float low = x > -104.0f ? x : -104.0f, clamped = low < 89.0f ? low : 89.0f;
    float n, r, p = simd_exp_tail(clamped, &n, &r);
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int32_t whole = (int32_t)n, half = whole >> 1;
    float y = p * simd_power(half) * simd_power(whole - half);
    return x != x ? x : y;
}

#endif
