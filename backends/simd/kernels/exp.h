/* exp as a polynomial that a compiler vectorises: libm's is not inlined. */
#ifndef WG_BACKENDS_SIMD_KERNELS_EXP_H
#define WG_BACKENDS_SIMD_KERNELS_EXP_H

#include <stdint.h>
#include <string.h>

static inline uint32_t simd_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float simd_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x within [low, high], low < 0 < high; one of the two for NaN.  Numbers of one sign are in the
 * order of their bits, and a minimum of integers is one instruction: that of floats, which minds
 * NaN, is a comparison and a choice. */
static inline float simd_clamp(float x, float low, float high)
{
    uint32_t bits = simd_bits(x), lowest = simd_bits(low);
    int32_t above = (int32_t)(bits < lowest ? bits : lowest), highest = (int32_t)simd_bits(high);
    return simd_float((uint32_t)(above < highest ? above : highest));
}

/* Adding it to x, |x| < 2^22, rounds x to an integer n: the lowest bits of the sum are n + 127, the
 * exponent of the float 2^n. */
static const float SIMD_MAGIC = 0x1.8p23f + 127;

/* x = n ln 2 + r with |r| <= ln 2 / 2; returns (exp(r) - 1 - r) / r^2 by the Taylor polynomial of
 * degree 7 of exp (error below 1e-8). */
static inline float simd_exp_tail(float x, float *n, float *r)
{
    *n = (x * 1.44269504f + SIMD_MAGIC) - SIMD_MAGIC;
    *r = x - *n * 0.693145752f - *n * 1.42860677e-6f;
    float p = 1.98412698e-4f;
    p = p * *r + 1.38888889e-3f;
    p = p * *r + 8.33333333e-3f;
    p = p * *r + 4.16666667e-2f;
    p = p * *r + 1.66666667e-1f;
    return p * *r + 0.5f;
}

/* 2^n for a whole n in [-126, 127], by the exponent's bits; -127 gives 0, 128 infinity */
static inline float simd_power(float n)
{
    return simd_float(simd_bits(n + SIMD_MAGIC) << 23);
}

/* exp(x) to 2 ulp for x in [-87, 88], as after a maximum was subtracted; 0 below -87.7, +inf above
 * 88.4, NaN for NaN.  Branch-free. */
static inline float simd_exp(float x)
{
    float n, r, p = simd_exp_tail(simd_clamp(x, -88.0f, 88.72f), &n, &r);
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    float y = p * simd_power(n); /* infinite above 127.5 ln 2 = 88.38, 0 below -126.5 ln 2 */
    return x != x ? x : y;
}

/* exp(x) to 2 ulp for any x: 2^n in halves, since 2^128 overflows where the result does not. */
static inline float simd_exp_of_any(float x)
{
    float n, r, p = simd_exp_tail(simd_clamp(x, -104.0f, 89.0f), &n, &r);
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    float half = (n * 0.5f + SIMD_MAGIC) - SIMD_MAGIC;
    float y = p * simd_power(half) * simd_power(n - half);
    return x != x ? x : y;
}

#endif
