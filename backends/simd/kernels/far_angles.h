/* sin, cos and tan of angles beyond SIMD_ANGLE_MOST, as many as a loop finds. */
#ifndef WG_BACKENDS_SIMD_KERNELS_FAR_ANGLES_H
#define WG_BACKENDS_SIMD_KERNELS_FAR_ANGLES_H

#include "backends/simd/kernels/functions.h"

/* 64 bits of 0, then 2 / pi */
static const uint64_t simd_two_over_pi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

__extension__ typedef unsigned __int128 simd_u128;

/* x = q pi/2 + r with |r| <= pi/4, for |x| >= 1: Payne and Hanek, "Radian reduction for
 * trigonometric functions" (1983).  x = m 2^k with a whole m < 2^53.  Of x 2 / pi, bits of 2 / pi
 * that make multiples of 4 are left out, and 126 bits behind the point are taken, since a double
 * comes as close as 2^-62 to a multiple of pi/2; of f32, which come as close as 2^-30, 62 bits.
 * NaN for infinity and NaN. */
static inline double simd_farthest_quarter(double x, int *q)
{
    const bool is_f32 = sizeof(real) == sizeof(float);
    uint64_t bits;
    *q = 0;
    if (!(fabs(x) < (double)INFINITY))
        return x - x;
    memcpy(&bits, &x, sizeof bits);
    const int from = (int)(bits >> 52 & 0x7ff) - 1013, shift = from & 63;
    const uint64_t *w = simd_two_over_pi + from / 64, m = (bits & 0xfffffffffffff) | 1LL << 52;
    uint64_t part[3];
    for (int i = 0; i < 3; i++)
        part[i] = w[i] << shift | w[i + 1] >> 1 >> (63 - shift);
    simd_u128 f = (simd_u128)m * part[1] + (is_f32 ? 0 : (simd_u128)m * part[2] >> 64);
    uint64_t high = m * part[0] + (uint64_t)(f >> 64), low = (uint64_t)f;
    uint64_t n = (high + (1ULL << 61)) >> 62, sign = bits >> 63;
    high -= n << 62;
    uint64_t below = high >> 63; /* a whole number: then -f, but for its last bit */
    double r = (double)(int64_t)(high ^ -below);
    r += is_f32 ? 0 : (double)(int64_t)((low ^ -below) >> 1) * 0x1p-63;
    r *= 1.5707963267948966 * 0x1p-62;
    *q = (int)((n ^ -sign) + sign) & 3;
    memcpy(&bits, &r, sizeof bits);
    bits ^= (below ^ sign) << 63;
    memcpy(&r, &bits, sizeof r);
    return r;
}

/* r and q of n angles, however large */
static void simd_far_quarters(const real *x, real *r, real_bits *q, int64_t n)
{
    int beyond = 0;
#pragma omp simd reduction(| : beyond)
    for (int64_t i = 0; i < n; i++) {
        r[i] = simd_far_quarter(x[i], &q[i]);
        beyond |= !(fabs(x[i]) <= SIMD_FAR_MOST);
    }
    for (int64_t i = 0; beyond && i < n; i++)
        if (!(fabs(x[i]) <= SIMD_FAR_MOST)) {
            int quarters;
            r[i] = (real)simd_farthest_quarter(x[i], &quarters);
            q[i] = quarters;
        }
}

#endif
