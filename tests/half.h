/* bf16 and f16 in tests: the two formats, their numbers without the library's conversions, and
 * plans on each backend. */
#ifndef WG_TESTS_HALF_H
#define WG_TESTS_HALF_H

#include "graph/element.h"
#include "tests/plans.h"
#include "wengert/backends/load.h"
#include "wengert/backends/onednn.h"

#include <math.h>

typedef struct half_format {
    wg_dtype dtype;
    int fraction; /* bits of it                                      */
    int infinity; /* its bits; all smaller ones are finite, positive */
    float (*to_f32)(uint16_t h);
    uint16_t (*from_f32)(float x);
    uint16_t (*from_f64)(double x);
} half_format;

static const half_format halves[] = {
    {WG_BF16, 7, 0x7f80, wg_bf16_to_f32, wg_bf16_from_f32, wg_bf16_from_f64},
    {WG_F16, 10, 0x7c00, wg_f16_to_f32, wg_f16_from_f32, wg_f16_from_f64},
};
enum { HALVES = WG_COUNT(halves) };

/* The number of the format with those bits, of which infinity's stand for the power of two that
 * would follow the largest number: fraction 2^exponent. */
static inline double half_number(const half_format *f, int bits)
{
    int bias = f->infinity >> (f->fraction + 1), one = 1 << f->fraction;
    int exponent = bits >> f->fraction, fraction = bits & (one - 1);
    return exponent ? ldexp(one + fraction, exponent - bias - f->fraction)
                    : ldexp(fraction, 1 - bias - f->fraction);
}

/* The f32 that is the nearest number of the format. */
static inline float half_rounded(const half_format *f, float x)
{
    return f->to_f32(f->from_f32(x));
}

/* ---- cases of rounding ----------------------------------------------------------------------- */

/* Each positive number of a format with the next one above: they, their middle, and what is just
 * beside it. */
enum { ROUNDINGS = 5, MAX_ROUNDINGS = 0x7f80 * ROUNDINGS };

/* Writes ROUNDINGS numbers, which are f32 if `single`, and what they round to. */
static inline void half_roundings(const half_format *f, int bits, bool single, double x[ROUNDINGS],
                                  uint16_t y[ROUNDINGS])
{
    double a = half_number(f, bits), b = half_number(f, bits + 1), middle = (a + b) / 2;
    uint16_t below = (uint16_t)bits, above = (uint16_t)(bits + 1);
    x[0] = a, y[0] = below;
    x[1] = single ? (double)nextafterf((float)middle, 0) : nextafter(middle, 0), y[1] = below;
    x[2] = middle, y[2] = bits & 1 ? above : below;
    x[3] = single ? (double)nextafterf((float)middle, INFINITY) : nextafter(middle, INFINITY);
    y[3] = above;
    x[4] = single ? (double)nextafterf((float)b, 0) : nextafter(b, 0), y[4] = above;
    if (single && b == 0x1p128)
        x[4] = (double)nextafterf(INFINITY, 0);
}

/* All of them as f32; returns how many there are. */
static inline int half_all_roundings(const half_format *f, float *x, uint16_t *y)
{
    for (int bits = 0; bits < f->infinity; bits++) {
        double each[ROUNDINGS];
        half_roundings(f, bits, true, each, y + bits * ROUNDINGS);
        for (int i = 0; i < ROUNDINGS; i++)
            x[bits * ROUNDINGS + i] = (float)each[i];
    }
    return f->infinity * ROUNDINGS;
}

/* The bits of the f32 with the value of h.  A NaN keeps its fraction; of f16 it becomes quiet. */
static inline uint32_t half_widened_bits(const half_format *f, uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, size = h & 0x7fff, bits;
    float x = (float)half_number(f, (int)size);
    memcpy(&bits, &x, sizeof bits);
    if ((int)size >= f->infinity)
        bits = 0x7f800000 | (size - (uint32_t)f->infinity) << (23 - f->fraction);
    if ((int)size > f->infinity && f->dtype == WG_F16)
        bits |= 0x400000;
    return sign | bits;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Before cpu, which comes last in any case; of 0: none. */
static inline const wg_backend *backend_at(int i)
{
    return i ? wg_backend_at((size_t)i - 1) : NULL;
}

static inline int n_backends(void)
{
    return (int)wg_backend_list_built_in().count;
}

static inline wg_plan *plan_on(const wg_backend *backend, wg_graph *g, wg_value *const *y, size_t n)
{
    return plan_of(g, &(wg_plan_options){.outputs = y,
                                         .n_outputs = n,
                                         .backends = &backend,
                                         .n_backends = backend ? 1 : 0,
                                         .reference = !backend,
                                         .threads = 2,
                                         .seed = 5});
}

#endif
