/* The 16-bit floats bf16 and f16.  They are storage formats; computation is in f32.  In memory each
 * number is a uint16_t; rounding is to nearest, ties to even.
 *
 *     dtype   exponent   fraction   largest    smallest normal   smallest
 *     bf16    8 bits     7 bits     3.4e38     1.2e-38           9.2e-41
 *     f16     5 bits     10 bits    65504      6.1e-5            6.0e-8
 *
 * bf16 is the upper half of an f32; f16 is binary16 of IEEE 754. */
#ifndef WG_GRAPH_HALF_H
#define WG_GRAPH_HALF_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast" /* C has no others */
extern "C" {
#endif

/** The f32 of the same value; exact. */
static inline float wg_bf16_to_f32(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/** The nearest bf16; values beyond the largest finite one become infinite, NaN stays NaN. */
static inline uint16_t wg_bf16_from_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, quiet_nan = (bits >> 16) | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
}

/** The f32 of the same value; exact.  A signalling NaN becomes quiet, as on processors.
 *
 * Exponent and fraction move to their places in an f32, and the difference of the biases, 127 - 15,
 * is added to the exponent.  A subnormal number is fraction 2^-24 = (2^-14 + fraction 2^-24) -
 * 2^-14, a difference of normal numbers, which is exact in any floating-point mode. */
static inline float wg_f16_to_f32(uint16_t h)
{
    const uint32_t exponents = 0x1f << 23, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t moved = (uint32_t)(h & 0x7fff) << 13, exponent = moved & exponents;
    uint32_t normal = moved + ((127 - 15) << 23), above = moved + ((127 - 14) << 23), below;
    uint32_t special = moved | 0x7f800000 | (moved > exponents ? 0x400000 : 0);
    float x;
    memcpy(&x, &above, sizeof x);
    x -= 6.103515625e-5f;
    memcpy(&below, &x, sizeof below);
    uint32_t bits = sign | (exponent == exponents ? special : exponent ? normal : below);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/** The nearest f16; magnitudes of 65520 and above become infinite, NaN stays NaN.
 *
 * Below 2^-14 results are multiples of 2^-24, which is the last place of the f32 between 1/2 and 1:
 * the addition of 1/2 rounds. */
static inline uint16_t wg_f16_from_f32(float x)
{
    uint32_t bits, sum;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000, size = bits & 0x7fffffff, last = (size >> 13) & 1;
    uint32_t normal = (size - ((127 - 15) << 23) + 0xfff + last) >> 13;
    memcpy(&x, &size, sizeof x);
    x += 0.5f;
    memcpy(&sum, &x, sizeof sum);
    uint32_t below = sum - 0x3f000000, quiet_nan = 0x7e00 | ((size >> 13) & 0x3ff);
    uint32_t rounded = size < (127 - 14) << 23 ? below : normal;
    uint32_t large = size > 0x7f800000 ? quiet_nan : 0x7c00;
    return (uint16_t)(sign | (size < (127 + 16) << 23 ? rounded : large));
}

/** The f32 next to x in the direction of 0, with its last bit set if it is not x itself ("rounded
 * to odd"; NaN stays NaN).  It is never halfway between two numbers of 16 bits, so that rounding
 * it to one of them rounds x. */
static inline float wg_f64_to_odd_f32(double x)
{
    float f = (float)x;
    double back = (double)f;
    if (back != x && x == x) {
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        bits -= x < 0 ? back < x : back > x; /* towards zero */
        bits |= 1;
        memcpy(&f, &bits, sizeof f);
    }
    return f;
}

/** The bf16 nearest to an f64, in one rounding. */
static inline uint16_t wg_bf16_from_f64(double x)
{
    return wg_bf16_from_f32(wg_f64_to_odd_f32(x));
}

/** The f16 nearest to an f64, in one rounding. */
static inline uint16_t wg_f16_from_f64(double x)
{
    return wg_f16_from_f32(wg_f64_to_odd_f32(x));
}

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif
#endif
