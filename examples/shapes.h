/* Pictures of four shapes, for examples that classify images: a disc, a square, a triangle or a
 * cross, of any size at any place, in noise. */
#ifndef WG_EXAMPLES_SHAPES_H
#define WG_EXAMPLES_SHAPES_H

#include <math.h>
#include <stdint.h>

enum { SHAPE_PIXELS = 16, SHAPE_KINDS = 4 }; /* an image is [1, SHAPE_PIXELS, SHAPE_PIXELS] */

/* A number in [0, 1), the next one of a sequence (Steele, Lea, Flood 2014: SplitMix64). */
static inline float shape_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (float)((z ^ (z >> 31)) >> 40) / 0x1p24f;
}

/* Negative within the shape of radius 1 around (0, 0), positive outside. */
static inline float shape_outline(int kind, float x, float y)
{
    float u = fabsf(x), v = fabsf(y);
    switch (kind) {
    case 0: return hypotf(x, y) - 1;
    case 1: return fmaxf(u, v) - 0.85f;
    case 2: return fmaxf(0.87f * u - 0.5f * y, y) - 0.6f;
    default: return fminf(fmaxf(u - 1, v - 0.3f), fmaxf(u - 0.3f, v - 1));
    }
}

/* Draws image i of a sequence and returns its kind, which is i % SHAPE_KINDS. */
static inline int shape_draw(float *image, uint64_t sequence, int i)
{
    uint64_t state = sequence << 32 | (uint32_t)i;
    float radius = 3 + 2.5f * shape_random(&state);
    float x0 = 5.5f + 5 * shape_random(&state), y0 = 5.5f + 5 * shape_random(&state);
    for (int y = 0; y < SHAPE_PIXELS; y++)
        for (int x = 0; x < SHAPE_PIXELS; x++) {
            float d =
                shape_outline(i % SHAPE_KINDS, ((float)x - x0) / radius, ((float)y - y0) / radius);
            float noise = shape_random(&state) + shape_random(&state) - 1; /* deviation 0.41 */
            image[y * SHAPE_PIXELS + x] = (d < 0) + 0.5f * noise;
        }
    return i % SHAPE_KINDS;
}

#endif
