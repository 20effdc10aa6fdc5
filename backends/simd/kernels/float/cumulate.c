/* Cumulative sums and products over x [outer, size, inner] along the middle axis.  An element waits
 * for the one before, so lines are advanced side by side: columns where they are adjacent in
 * memory, else (inner 1) SIDE lines at a time.  More lines would fall on the same few places of a
 * cache where their size is a power of two.  Each number is made in double, in the order of the
 * reference: the bits are the reference's. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"

enum { SIDE = 4, COLUMNS = 64 };

static inline double joined(double sofar, real x, bool products)
{
    return products ? sofar * (double)x : sofar + (double)x;
}

/* Columns [first, first + width) of one outer index, from `at` on; `products` is a constant where
 * this is inlined. */
static inline void columns(const simd_cumulate *c, int64_t at, int64_t width, bool products)
{
    double sofar[COLUMNS];
    for (int64_t j = 0; j < width; j++)
        sofar[j] = products;
    for (int64_t k = 0; k < c->size; k++) {
        int64_t i = at + (c->reverse ? c->size - 1 - k : k) * c->inner;
        const real *x = (const real *)c->x + i;
        real *y = (real *)c->y + i;
        /* NOLINTNEXTLINE(bugprone-branch-clone): it does not look into `omp simd` loops */
        if (c->exclusive)
#pragma omp simd
            for (int64_t j = 0; j < width; j++) {
                double next = joined(sofar[j], x[j], products);
                y[j] = (real)sofar[j];
                sofar[j] = next;
            }
        else
#pragma omp simd
            for (int64_t j = 0; j < width; j++) {
                sofar[j] = joined(sofar[j], x[j], products);
                y[j] = (real)sofar[j];
            }
    }
}

/* One line. */
static inline void line(const simd_cumulate *c, int64_t at, bool products)
{
    const real *x = (const real *)c->x + at;
    real *y = (real *)c->y + at;
    double sofar = products;
    for (int64_t k = 0; k < c->size; k++) {
        int64_t i = c->reverse ? c->size - 1 - k : k;
        double before = sofar;
        sofar = joined(sofar, x[i], products);
        y[i] = (real)(c->exclusive ? before : sofar);
    }
}

typedef double simd_side __attribute__((vector_size(SIDE * sizeof(double))));

/* SIDE lines, one after the other in memory. */
static inline void lines(const simd_cumulate *c, int64_t at, bool products)
{
    bool exclusive = c->exclusive;
    int64_t n = c->size, step = c->reverse ? -1 : 1, start = at + (c->reverse ? n - 1 : 0);
    const real *x = (const real *)c->x + start;
    real *y = (real *)c->y + start;
    simd_side sofar = {products, products, products, products};
    for (int64_t k = 0; k < n; k++, x += step, y += step) {
        simd_side next = {x[0], x[n], x[2 * n], x[3 * n]}, before = sofar;
        sofar = products ? sofar * next : sofar + next;
        simd_side out = exclusive ? before : sofar;
        y[0] = (real)out[0];
        y[n] = (real)out[1];
        y[2 * n] = (real)out[2];
        y[3 * n] = (real)out[3];
    }
}

static int64_t blocks_across(const simd_cumulate *c)
{
    return (c->inner + COLUMNS - 1) / COLUMNS;
}

SIMD_INLINE void one_block(const simd_cumulate *c, int64_t b, bool products)
{
    int64_t across = blocks_across(c), first = b % across * COLUMNS,
            count = simd_smaller(SIDE, c->outer - b * SIDE);
    if (c->inner > 1)
        columns(c, b / across * c->size * c->inner + first, simd_smaller(COLUMNS, c->inner - first),
                products);
    else if (count == SIDE)
        lines(c, b * SIDE * c->size, products);
    else
        for (int64_t l = 0; l < count; l++)
            line(c, (b * SIDE + l) * c->size, products);
}

static void block_of_sums(const void *c, int64_t b)
{
    one_block(c, b, false);
}

static void block_of_products(const void *c, int64_t b)
{
    one_block(c, b, true);
}

void SIMD(cumulate)(const simd_cumulate *c)
{
    int64_t blocks = c->inner == 1 ? (c->outer + SIDE - 1) / SIDE : c->outer * blocks_across(c);
    simd_tasks(c->threads, blocks, c->products ? block_of_products : block_of_sums, c);
}
