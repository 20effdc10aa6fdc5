/* sin, cos and tan of single numbers in f32, for loops that the compiler vectorises; those of f64
 * have the same names (functions_f64.h), and far_angles.h has the angles beyond.
 *
 * x = q pi/2 + r with |r| <= pi/4.  pi/2 is taken in three parts, the first two of so few bits that
 * their products with q are exact.  The polynomials are those of Cephes' sinf and cosf
 * (Moshier). */
#ifndef WG_BACKENDS_SIMD_KERNELS_ANGLES_H
#define WG_BACKENDS_SIMD_KERNELS_ANGLES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static const float SIMD_ANGLE_MOST = 8192;  /* of simd_quarter */
static const float SIMD_FAR_MOST = 0x1p31f; /* of simd_far_quarter */

/* r and q; those of 0 for numbers beyond, and NaN */
static inline float simd_quarter(float x, int32_t *q)
{
    const float magic = 12582912.0f; /* 1.5 2^23: adding it rounds to an integer */
    float angle = fabsf(x) <= SIMD_ANGLE_MOST ? x : 0.0f;
    float n = (angle * 0.636619772f + magic) - magic;
    *q = (int32_t)n;
    return ((angle - n * 1.5703125f) - n * 4.837512969970703125e-4f) - n * 7.54978995489188216e-8f;
}

/* The same up to SIMD_FAR_MOST, in f64.  The first two parts have 22 bits, q has 31; the error is
 * below 2^-66. */
static inline float simd_far_quarter(float x, int32_t *q)
{
    double angle = fabsf(x) <= SIMD_FAR_MOST ? (double)x : 0.0;
    double shifted = angle * 0.63661977236758134 + 0x1.8p52, n = shifted - 0x1.8p52;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    *q = (int32_t)(bits & 3);
    return (float)(((angle - n * 0x1.921fbp+0) - n * 0x1.5110bp-22) - n * 0x1.18469898cc517p-44);
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

/* sin / cos of r + q pi/2 */
static inline float simd_tan_of_quarter(float r, int32_t q)
{
    float sine = simd_sin_of_rest(r), cosine = simd_cos_of_rest(r);
    return q & 1 ? -cosine / sine : sine / cosine;
}

/* 0 keeps its sign */
static inline float simd_tan(float x)
{
    int32_t q;
    float r = simd_quarter(x, &q), y = simd_tan_of_quarter(r, q);
    return x == 0.0f ? x : y;
}

#endif
