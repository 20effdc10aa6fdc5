/* Counter-based random numbers: Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011; Random123).  A number is a pure function of (seed, step, key, element), so
 * that a mask can be recomputed rather than stored, is the same at any number of threads, and a
 * resumed run draws it again.
 *
 * Philox turns a counter of four words into four random words:
 *
 *     counter = {element / 4, step, domain, 0},  key = {seed, key}
 *
 * of which word element % 4 belongs to the element. */
#ifndef WG_PRIVATE_GRAPH_RANDOM_H
#define WG_PRIVATE_GRAPH_RANDOM_H

#include <math.h>
#include <stdint.h>

#include <Random123/philox.h>

/* What the numbers are for: two domains never share a counter. */
typedef enum wgi_random_domain { WGI_RANDOM_OP = 0, WGI_RANDOM_INIT = 1 } wgi_random_domain;

typedef struct wgi_random {
    uint64_t seed, step, key;
    wgi_random_domain domain;
} wgi_random;

/* The stream of one node in one run: wgi_random_of(c->seed, c->step, attrs->key). */
static inline wgi_random wgi_random_of(uint64_t seed, uint64_t step, uint64_t key)
{
    wgi_random r = {seed, step, key, WGI_RANDOM_OP};
    return r;
}

/* The words of the elements 4 block ... 4 block + 3. */
static inline void wgi_random_words(const wgi_random *r, uint64_t block, uint64_t word[4])
{
    philox4x64_ctr_t counter = {{block, r->step, (uint64_t)r->domain, 0}};
    philox4x64_key_t key = {{r->seed, r->key}};
    philox4x64_ctr_t y = philox4x64(counter, key);
    for (int i = 0; i < 4; i++)
        word[i] = y.v[i];
}

/* A word as a number of [0, 1): its upper 53 bits. */
static inline double wgi_unit(uint64_t word)
{
    return (double)(word >> 11) * 0x1p-53;
}

/* Uniform in [0, 1), for the four elements of a block, or for one. */
static inline void wgi_uniform4(const wgi_random *r, uint64_t block, double u[4])
{
    uint64_t word[4];
    wgi_random_words(r, block, word);
    for (int i = 0; i < 4; i++)
        u[i] = wgi_unit(word[i]);
}

static inline double wgi_uniform(const wgi_random *r, uint64_t element)
{
    double u[4];
    wgi_uniform4(r, element / 4, u);
    return u[element % 4];
}

/* Standard normal, by Box and Muller (1958): each pair (u, v) of uniforms, u in (0, 1], gives
 *     sqrt(-2 ln u) cos(2 pi v),  sqrt(-2 ln u) sin(2 pi v). */
static inline void wgi_normal4(const wgi_random *r, uint64_t block, double z[4])
{
    double u[4];
    wgi_uniform4(r, block, u);
    for (int i = 0; i < 4; i += 2) {
        double radius = sqrt(-2 * log(1 - u[i])), angle = 6.283185307179586 * u[i + 1];
        z[i] = radius * cos(angle);
        z[i + 1] = radius * sin(angle);
    }
}

static inline double wgi_normal(const wgi_random *r, uint64_t element)
{
    double z[4];
    wgi_normal4(r, element / 4, z);
    return z[element % 4];
}

#endif
