/* The largest number of each window of a plane and where it is, and the gradient.  Windows of a row
 * of y go side by side: for each tap, one loop over those in which it lies within the plane.  A NaN
 * is larger than any number; of equal numbers the first counts. */
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/window.h"

#include <math.h>

enum { COLUMNS = 256, LANES = 16, NONE = -1 }; /* windows of a row at a time; of a vector */

/* Windows [first, first + count) of a row: the best so far, and where in the plane. */
typedef struct windows {
    int64_t first, count;
    float best[COLUMNS + LANES];
    int32_t at[COLUMNS + LANES];
} windows;

/* `n` windows whose tap is at place `at` of the plane, and `stride` further for each.  Whole
 * vectors are compared, so that no choice depends on a branch, which random numbers make slow; what
 * fills the last one up is never better. */
static void take(const float *x, int64_t at, int64_t stride, int64_t n, float *restrict best,
                 int32_t *restrict where)
{
    float value[COLUMNS + LANES];
    for (int64_t q = 0; q < n; q++)
        value[q] = x[at + q * stride];
    for (int64_t q = n; q % LANES; q++)
        value[q] = -INFINITY;
    for (int64_t q = 0; q < n; q += LANES) {
        const uint32_t first = (uint32_t)(at + q * stride), step = (uint32_t)stride;
#pragma omp simd
        for (uint32_t l = 0; l < LANES; l++) {
            float v = value[q + l], b = best[q + l];
            bool better = !(v <= b) & (b == b);
            best[q + l] = better ? v : b;
            where[q + l] = better ? (int32_t)(first + l * step) : where[q + l];
        }
    }
}

/* One tap, in all windows of the row in which it lies within the plane. */
static void take_tap(const simd_window *w, const float *x, int64_t row, int64_t tap, windows *of)
{
    int64_t from, to;
    window_range(w, tap, &from, &to);
    from = from > of->first ? from : of->first;
    to = simd_smaller(to, of->first + of->count);
    if (from >= to)
        return;
    float *best = of->best + (from - of->first);
    int32_t *where = of->at + (from - of->first);
    int64_t at = row * w->size + window_position(w, from, tap);
    take(x, at, w->stride, to - from, best, where);
}

/* Some windows of row p of a plane's y; `at` is NONE where there is nothing but -inf. */
static void run_windows(const simd_pool *a, const float *x, int64_t p, windows *of)
{
    int64_t tap = window_first_tap(&a->h, p);
    for (int64_t q = 0; q < of->count + LANES; q++) {
        of->best[q] = -INFINITY;
        of->at[q] = NONE;
    }
    for (; tap < a->h.kernel && window_position(&a->h, p, tap) < a->h.size; tap++)
        for (int64_t l = 0; l < a->w.kernel; l++)
            take_tap(&a->w, x, window_position(&a->h, p, tap), l, of);
}

/* The first place of a window that lies within the plane. */
static int64_t first_place(const simd_pool *a, int64_t p, int64_t q)
{
    return window_position(&a->h, p, window_first_tap(&a->h, p)) * a->w.size +
           window_position(&a->w, q, window_first_tap(&a->w, q));
}

static void max_row(const void *args, int64_t row)
{
    const simd_pool *a = args;
    windows of;
    const float *x = a->x + row / a->h.count * a->h.size * a->w.size;
    for (of.first = 0; of.first < a->w.count; of.first += COLUMNS) {
        of.count = simd_smaller(COLUMNS, a->w.count - of.first);
        run_windows(a, x, row % a->h.count, &of);
        int64_t to = row * a->w.count + of.first;
        for (int64_t q = 0; q < of.count; q++) {
            a->y[to + q] = of.best[q];
            a->index[to + q] =
                of.at[q] != NONE ? of.at[q] : first_place(a, row % a->h.count, of.first + q);
        }
    }
}

void SIMD(max_pool)(const simd_pool *a)
{
    int64_t rows = a->planes * a->h.count, work = rows * a->w.count * a->h.kernel * a->w.kernel;
    simd_tasks(work < 1 << 14 ? 1 : a->threads, rows, max_row, a);
}

/* Sets *failed if an index lies outside the plane. */
static void scatter_plane(const void *args, int64_t plane)
{
    const simd_pool_scatter *a = args;
    const float *y = a->y + plane * a->windows;
    const int64_t *index = a->index + plane * a->windows;
    float *x = a->x + plane * a->size;
    memset(x, 0, (size_t)a->size * sizeof *x);
    for (int64_t o = 0; o < a->windows; o++) {
        if ((uint64_t)index[o] >= (uint64_t)a->size) {
#pragma omp atomic write
            *a->failed = true;
            return;
        }
        x[index[o]] += y[o];
    }
}

void SIMD(pool_scatter)(const simd_pool_scatter *a)
{
    int threads = a->planes * (a->size + a->windows) < 1 << 14 ? 1 : a->threads;
    simd_tasks(threads, a->planes, scatter_plane, a);
}
