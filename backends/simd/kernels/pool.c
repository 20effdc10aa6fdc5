/* The largest number of each window of a plane and where it is, and the gradient.  Windows of a row
 * of y go side by side: for each tap, one loop over those in which it lies within the plane.  A NaN
 * is larger than any number; of equal numbers the first counts. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

#define X(name, args) void SIMD(name)(const args *);
SIMD_KERNELS(X)
#undef X

enum { COLUMNS = 256 }; /* windows of a row at a time */

/* Windows [first, first + count) of a row: the best so far, and where in the plane. */
typedef struct windows {
    int64_t first, count;
    float best[COLUMNS];
    int32_t at[COLUMNS];
} windows;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* a / b for a > 0, rounded up; 0 for others */
static int64_t divide_up(int64_t a, int64_t b)
{
    return a > 0 ? (a + b - 1) / b : 0;
}

static int64_t position(const simd_window *w, int64_t window, int64_t tap)
{
    return window * w->stride - w->padding + tap * w->dilation;
}

/* The first tap of a window that lies within the axis. */
static int64_t first_tap(const simd_window *w, int64_t window)
{
    return divide_up(w->padding - window * w->stride, w->dilation);
}

/* The windows [*from, *to) in which a tap lies within the axis. */
static void windows_of_tap(const simd_window *w, int64_t tap, int64_t *from, int64_t *to)
{
    *from = divide_up(w->padding - tap * w->dilation, w->stride);
    *to = smaller(w->count, divide_up(w->size + w->padding - tap * w->dilation, w->stride));
}

/* `n` windows whose tap is at place `at` of the plane, and `stride` further for each. */
SIMD_INLINE void take(const float *x, int64_t at, int64_t stride, int64_t n, float *restrict best,
                      int32_t *restrict where)
{
#pragma omp simd
    for (int64_t q = 0; q < n; q++) {
        float v = x[at + q * stride], b = best[q];
        bool better = !(v <= b) & (b == b);
        best[q] = better ? v : b;
        where[q] = better ? (int32_t)(at + q * stride) : where[q];
    }
}

/* One tap, in all windows of the row in which it lies within the plane. */
static void take_tap(const simd_window *w, const float *x, int64_t row, int64_t tap, windows *of)
{
    int64_t from, to;
    windows_of_tap(w, tap, &from, &to);
    from = from > of->first ? from : of->first;
    to = smaller(to, of->first + of->count);
    if (from >= to)
        return;
    float *best = of->best + (from - of->first);
    int32_t *where = of->at + (from - of->first);
    int64_t at = row * w->size + position(w, from, tap);
    if (w->stride == 1)
        take(x, at, 1, to - from, best, where);
    else if (w->stride == 2)
        take(x, at, 2, to - from, best, where);
    else
        take(x, at, w->stride, to - from, best, where);
}

/* Some windows of row p of a plane's y. */
static void run_windows(const simd_pool *a, const float *x, int64_t p, windows *of)
{
    int64_t tap = first_tap(&a->h, p);
    for (int64_t q = 0; q < of->count; q++) {
        int64_t window = of->first + q;
        of->best[q] = -INFINITY;
        of->at[q] = (int32_t)(position(&a->h, p, tap) * a->w.size +
                              position(&a->w, window, first_tap(&a->w, window)));
    }
    for (; tap < a->h.kernel && position(&a->h, p, tap) < a->h.size; tap++)
        for (int64_t l = 0; l < a->w.kernel; l++)
            take_tap(&a->w, x, position(&a->h, p, tap), l, of);
}

static void max_row(const void *args, int64_t row)
{
    const simd_pool *a = args;
    windows of;
    const float *x = a->x + row / a->h.count * a->h.size * a->w.size;
    for (of.first = 0; of.first < a->w.count; of.first += COLUMNS) {
        of.count = smaller(COLUMNS, a->w.count - of.first);
        run_windows(a, x, row % a->h.count, &of);
        int64_t to = row * a->w.count + of.first;
        for (int64_t q = 0; q < of.count; q++) {
            a->y[to + q] = of.best[q];
            a->index[to + q] = of.at[q];
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
