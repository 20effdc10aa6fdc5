/* sin, cos and tan of single numbers up to SIMD_ANGLE_MOST, for loops that the compiler vectorises.
 *
 * x = q pi/2 + r with |r| <= pi/4.  pi/2 is taken in three parts, the first two of so few bits that
 * their products with q are exact.  The polynomials are those of Cephes' sinf and cosf
 * (Moshier). */
#ifndef WG_BACKENDS_SIMD_KERNELS_ANGLES_H
#define WG_BACKENDS_SIMD_KERNELS_ANGLES_H

#include <math.h>
#include <stdint.h>

static const float SIMD_ANGLE_MOST = 8192;

/* r and q; those of 0 for numbers beyond, and NaN */
static inline float simd_quarter(float x, int32_t *q)
{
    const float magic = 12582912.0f; /* 1.5 2^23: adding it rounds to an integer */
    float angle = fabsf(x) <= SIMD_ANGLE_MOST ? x : 0.0f;
    float n = (angle * 0.636619772f + magic) - magic;
    *q = (int32_t)n;
    return ((angle - n * 1.5703125f) - n * 4.837512969970703125e-4f) - n * 7.54978995489188216e-8f;
}

static inline float simd_sin_of_rest(float r)
{
    float z = r * r, p = -1.9515295891e-4f;
    p = p * z + 8.3321608736e-3f;
    p = p * z - 1.6666654611e-1f;
    return r + r * z * p;
}

static inline float simd_cos_of_rest(float r)
{
    float z = r * r, p = 2.443315711809948e-5f;
    p = p * z - 1.388731625493765e-3f;
    p = p * z + 4.166664568298827e-2f;
    return (1.0f - 0.5f * z) + z * z * p;
}

/* sin(r + q pi/2) */
static inline float simd_sin_of_quarter(float r, int32_t q)
{
    float y = q & 1 ? simd_cos_of_rest(r) : simd_sin_of_rest(r);
    return q & 2 ? -y : y;
}

/* 0 keeps its sign */
static inline float simd_sin(float x)
{
    int32_t q;
    float r = simd_quarter(x, &q), y = simd_sin_of_quarter(r, q);
    return x == 0.0f ? x : y;
}

static inline float simd_cos(float x)
{
    int32_t q;
    float r = simd_quarter(x, &q);
    return simd_sin_of_quarter(r, q + 1);
}

/* sin / cos; 0 keeps its sign */
static inline float simd_tan(float x)
{
    int32_t q;
    float r = simd_quarter(x, &q), sine = simd_sin_of_rest(r), cosine = simd_cos_of_rest(r);
    float y = q & 1 ? -cosine / sine : sine / cosine;
    return x == 0.0f ? x : y;
}

#endif
