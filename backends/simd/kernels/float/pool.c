/* The largest number of each window of a plane and where it is, and the gradient.  Windows of a row
 * of y go side by side: for each tap, one loop over those in which it lies within the plane.  A NaN
 * is larger than any number; of equal numbers the first counts. */
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/window.h"

#include <math.h>

/* `place`: of as many bytes as a number.  EVERY_SECOND: of a vector and of the one that begins with
 * its last number. */
#ifdef SIMD_F64
typedef uint64_t place;
#else
typedef uint32_t place;
#endif
#if defined(SIMD_F64) && !defined(__AVX512F__)
enum { LANES = 4 };
#define EVERY_LANE 0, 1, 2, 3
#define EVERY_SECOND 0, 2, 5, 7
#else
enum { LANES = 8 };
#define EVERY_LANE 0, 1, 2, 3, 4, 5, 6, 7
#define EVERY_SECOND 0, 2, 4, 6, 9, 11, 13, 15
#endif
enum { COLUMNS = 256, BYTES = LANES * sizeof(real), NONE = -1 }; /* COLUMNS: windows at a time */
typedef real numbers __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias));
typedef place places __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias));

/* Windows [first, first + count) of a row: the best so far, and where in the plane. */
typedef struct windows {
    int64_t first, count;
    real best[COLUMNS + LANES];
    real_bits at[COLUMNS + LANES];
} windows;

/* The numbers that are better than the best so far become the best.  No choice depends on a branch,
 * which random numbers make slow. */
static inline void take_places(const numbers *v, const places *here, real *best, real_bits *where)
{
    numbers b = *(const numbers *)best;
    places better = (places)(~(*v <= b) & (b == b));
    *(places *)best = ((places)*v & better) | ((places)b & ~better);
    *(places *)where = (*here & better) | (*(const places *)where & ~better);
}

static inline void take_vector(const numbers *v, int64_t at, int64_t stride, real *best,
                               real_bits *where)
{
    static const places lane = {EVERY_LANE};
    places here = (place)at + lane * (place)stride;
    take_places(v, &here, best, where);
}

/* LANES numbers from `x` on, `stride` apart: 2 by vectors that end where the last number is, 4 by
 * two of these. */
static inline void load(numbers *v, const real *x, int64_t stride)
{
    if (stride <= 2) {
        *v = *(const numbers *)x;
        if (stride == 2)
            *v = __builtin_shufflevector(*v, *(const numbers *)(x + LANES - 1), EVERY_SECOND);
    } else if (stride == 4) {
        const real *y = x + 2 * (LANES - 1);
        numbers first = *(const numbers *)x, last = *(const numbers *)y;
        first = __builtin_shufflevector(first, *(const numbers *)(x + LANES - 1), EVERY_SECOND);
        last = __builtin_shufflevector(last, *(const numbers *)(y + LANES - 1), EVERY_SECOND);
        *v = __builtin_shufflevector(first, last, EVERY_SECOND);
    } else {
        *v = (numbers){0};
        for (int l = 0; l < LANES; l++)
            (*v)[l] = x[l * stride];
    }
}

/* `n` windows whose tap is at place `at` of the plane and `stride` further for each: whole vectors,
 * of which the last begins early.  What it takes twice is not better the second time. */
SIMD_INLINE void take_vectors(const real *x, int64_t at, int64_t stride, int64_t n,
                              real *restrict best, real_bits *restrict where)
{
    for (int64_t k = 0; k < n; k += LANES) {
        int64_t q = k + LANES <= n ? k : n - LANES;
        numbers v;
        load(&v, x + at + q * stride, stride);
        take_vector(&v, at + q * stride, stride, best + q, where + q);
    }
}

/* The same for any n and stride: what fills the last vector up is never better. */
static void take_some(const real *x, int64_t at, int64_t stride, int64_t n, real *restrict best,
                      real_bits *restrict where)
{
    for (int64_t q = 0; q < n; q += LANES) {
        real value[LANES];
        for (int64_t l = 0; l < LANES; l++)
            value[l] = q + l < n ? x[at + (q + l) * stride] : -INFINITY;
        take_vector((const numbers *)value, at + q * stride, stride, best + q, where + q);
    }
}

static void take(const real *x, int64_t at, int64_t stride, int64_t n, real *restrict best,
                 real_bits *restrict where)
{
    if (n >= LANES && stride == 1)
        take_vectors(x, at, 1, n, best, where);
    else if (n >= LANES && stride == 2)
        take_vectors(x, at, 2, n, best, where);
    else if (n >= LANES && stride == 3)
        take_vectors(x, at, 3, n, best, where);
    else if (n >= LANES && stride == 4)
        take_vectors(x, at, 4, n, best, where);
    else if (n >= LANES)
        take_vectors(x, at, stride, n, best, where);
    else
        take_some(x, at, stride, n, best, where);
}

/* One tap, in all windows of the row in which it lies within the plane. */
static void take_tap(const simd_window *w, const real *x, int64_t row, int64_t tap, windows *of)
{
    int64_t from, to;
    window_range(w, tap, &from, &to);
    from = from > of->first ? from : of->first;
    to = simd_smaller(to, of->first + of->count);
    if (from >= to)
        return;
    real *best = of->best + (from - of->first);
    real_bits *where = of->at + (from - of->first);
    int64_t at = row * w->size + window_position(w, from, tap);
    take(x, at, w->stride, to - from, best, where);
}

/* Some windows of row p of a plane's y; `at` is NONE where there is nothing but -inf. */
static void run_windows(const simd_pool *a, const real *x, int64_t p, windows *of)
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

/* ---- one window after the other -------------------------------------------------------------- */

/* Whether that takes fewer vectors than windows side by side, by half if these fill vectors: there
 * are few in a row, and they are wide, as in a pooling of whole planes. */
static bool is_wide(const simd_window *w)
{
    int64_t side_by_side = w->kernel * simd_divide_up(w->count, LANES),
            in_turn = w->count * simd_divide_up(w->kernel, LANES);
    return w->dilation == 1 && (w->count < LANES ? in_turn : 2 * in_turn) < side_by_side;
}

/* n numbers that lie side by side, of which number i has lane i % LANES */
static void take_run(const real *x, int64_t at, int64_t n, real *best, real_bits *where)
{
    int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        take_vector((const numbers *)(x + at + i), at + i, 1, best, where);
    if (whole < n)
        take_some(x, at + whole, 1, n - whole, best, where);
}

/* The best of the lanes; of equal ones, or NaNs, the first in the plane. */
static int best_lane(const real *best, const real_bits *at)
{
    int top = 0;
    for (int l = 1; l < LANES; l++) {
        bool same = best[l] == best[top] || (best[l] != best[l] && best[top] != best[top]),
             more = !(best[l] <= best[top]) && best[top] == best[top];
        top = (same ? (place)at[l] < (place)at[top] : more) ? l : top;
    }
    return top;
}

/* Window (p, q).  Rows that are whole rows of the plane are one run. */
static void max_of_window(const simd_pool *a, const real *x, int64_t p, int64_t q, real *y,
                          int64_t *index)
{
    const simd_window *h = &a->h, *w = &a->w;
    real best[LANES];
    real_bits at[LANES];
    for (int l = 0; l < LANES; l++) {
        best[l] = -INFINITY;
        at[l] = NONE;
    }
    int64_t tap = window_first_tap(h, p), rows = window_end_tap(h, p) - tap,
            first = window_first_tap(w, q), n = window_end_tap(w, q) - first;
    int64_t from = window_position(h, p, tap) * w->size + window_position(w, q, first);
    if (n == w->size && h->dilation == 1) {
        n *= rows;
        rows = 1;
    }
    for (int64_t i = 0; i < rows; i++)
        take_run(x, from + i * h->dilation * w->size, n, best, at);
    int top = best_lane(best, at);
    *y = best[top];
    *index = at[top] == NONE ? from : at[top];
}

static void max_of_windows(const void *args, int64_t row)
{
    const simd_pool *a = args;
    const real *x = (const real *)a->x + row / a->h.count * a->h.size * a->w.size;
    for (int64_t q = 0; q < a->w.count; q++)
        max_of_window(a, x, row % a->h.count, q, (real *)a->y + row * a->w.count + q,
                      a->index + row * a->w.count + q);
}

/* ---- small planes ---------------------------------------------------------------------------- */

/* Whether all taps of all windows lie within the axis. */
static bool is_within(const simd_window *w)
{
    return w->padding == 0 && window_position(w, w->count - 1, w->kernel - 1) < w->size;
}

/* Whether LANES windows are taken together whatever their rows: a row has fewer, and that takes
 * fewer vectors than one window after the other, whose rows mostly end within a vector.  A tap
 * outside of the plane reads the nearest number within, which without dilation is one of the
 * window's: it is met twice, in the same order, which changes nothing.  Planes are not divided, so
 * there must be some for each thread. */
static bool is_small(const simd_pool *a)
{
    const simd_window *h = &a->h, *w = &a->w;
    int64_t windows_of_plane = h->count * w->count,
            together = w->kernel * simd_divide_up(windows_of_plane, LANES),
            in_turn = 2 * windows_of_plane * simd_divide_up(w->kernel, LANES);
    bool within = is_within(h) && is_within(w), dense = h->dilation == 1 && w->dilation == 1;
    return w->count < LANES && together < in_turn && (within || dense) && h->kernel <= h->size &&
           w->kernel <= w->size && a->planes >= LANES * a->threads;
}

/* LANES windows: where their first taps lie, perhaps outside of the plane */
typedef struct lanes {
    int32_t row[LANES], column[LANES];
    real_bits at[LANES];
    real best[LANES];
} lanes;

static inline int32_t clamped(int32_t i, int64_t size)
{
    int32_t last = (int32_t)size - 1;
    return i < 0 ? 0 : i > last ? last : i;
}

static void run_lanes(const simd_pool *a, const real *x, lanes *of)
{
    for (int l = 0; l < LANES; l++) {
        of->best[l] = -INFINITY;
        of->at[l] =
            clamped(of->row[l], a->h.size) * (int32_t)a->w.size + clamped(of->column[l], a->w.size);
    }
    for (int64_t i = 0; i < a->h.kernel; i++)
        for (int64_t j = 0; j < a->w.kernel; j++) {
            real_bits here[LANES];
            int32_t down = (int32_t)(i * a->h.dilation), right = (int32_t)(j * a->w.dilation);
            real v[LANES];
#pragma omp simd
            for (int l = 0; l < LANES; l++)
                here[l] = clamped(of->row[l] + down, a->h.size) * (int32_t)a->w.size +
                          clamped(of->column[l] + right, a->w.size);
            for (int l = 0; l < LANES; l++)
                v[l] = x[here[l]];
            take_places((const numbers *)v, (const places *)here, of->best, of->at);
        }
}

/* Lanes beyond the last window repeat it. */
static void max_of_plane(const void *args, int64_t plane)
{
    const simd_pool *a = args;
    int64_t count = a->h.count * a->w.count, p = 0, q = 0;
    const real *x = (const real *)a->x + plane * a->h.size * a->w.size;
    real *y = (real *)a->y + plane * count;
    int64_t *index = a->index + plane * count;
    for (int64_t o = 0; o < count; o += LANES) {
        lanes of;
        for (int l = 0; l < LANES; l++) {
            of.row[l] = (int32_t)window_position(&a->h, p, 0);
            of.column[l] = (int32_t)window_position(&a->w, q, 0);
            if (o + l + 1 < count && ++q == a->w.count) {
                q = 0;
                p++;
            }
        }
        run_lanes(a, x, &of);
        for (int64_t l = 0; l < LANES && o + l < count; l++) {
            y[o + l] = of.best[l];
            index[o + l] = of.at[l];
        }
    }
}

/* ---------------------------------------------------------------------------------------------- */

static void max_row(const void *args, int64_t row)
{
    const simd_pool *a = args;
    windows of;
    const real *x = (const real *)a->x + row / a->h.count * a->h.size * a->w.size;
    for (of.first = 0; of.first < a->w.count; of.first += COLUMNS) {
        of.count = simd_smaller(COLUMNS, a->w.count - of.first);
        run_windows(a, x, row % a->h.count, &of);
        real *y = (real *)a->y + row * a->w.count + of.first;
        int64_t *index = a->index + row * a->w.count + of.first;
        memcpy(y, of.best, (size_t)of.count * sizeof *y);
        real_bits none = 0;
        for (int64_t q = 0; q < of.count; q++) {
            index[q] = of.at[q];
            none |= of.at[q] == NONE;
        }
        for (int64_t q = 0; none && q < of.count; q++)
            if (of.at[q] == NONE)
                index[q] = first_place(a, row % a->h.count, of.first + q);
    }
}

void SIMD(max_pool)(const simd_pool *a)
{
    int64_t rows = a->planes * a->h.count, work = rows * a->w.count * a->h.kernel * a->w.kernel;
    int threads = work < 1 << 14 ? 1 : a->threads;
    if (is_small(a))
        simd_tasks(threads, a->planes, max_of_plane, a);
    else if (is_wide(&a->w))
        simd_tasks(threads, rows, max_of_windows, a);
    else
        simd_tasks(threads, rows, max_row, a);
}

/* Sets *failed if an index lies outside the plane. */
static void scatter_plane(const void *args, int64_t plane)
{
    const simd_pool_scatter *a = args;
    const real *y = (const real *)a->y + plane * a->windows;
    const int64_t *index = a->index + plane * a->windows;
    real *x = (real *)a->x + plane * a->size;
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
