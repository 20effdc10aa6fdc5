/* bf16: the upper half of an f32, 8 bits of exponent and 7 of fraction.  A storage format:
 * computation is in f32.  Numbers of this dtype are uint16_t in memory; rounding is to nearest,
 * ties to even. */
#ifndef WG_GRAPH_BF16_H
#define WG_GRAPH_BF16_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
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

/** The nearest bf16 of an f64.  The intermediate f32 is rounded to odd where it is inexact, so it
 * is never a tie and the two roundings act as one. */
static inline uint16_t wg_bf16_from_f64(double x)
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
    return wg_bf16_from_f32(f);
}

#ifdef __cplusplus
}
#endif
#endif
