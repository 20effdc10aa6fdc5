/* The mean of each window of a plane, and the gradient; there is no dilation.  The rows of a window
 * are added first, as whole rows of the plane, which lie side by side; then, in this one row of
 * sums, the taps of each window.  So what is read with a stride is one row for each row of windows.
 * The gradient goes the other way: a row of dy is spread over the taps, then added to the rows of
 * its windows. */
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/window.h"

enum {
    COLUMNS = SIMD_MEAN_POOL_COLUMNS,
    LANES = 16,
    WIDE = 16 /* taps of a window, from which on they are added as vectors */
};

/* Taps [first, end). */
typedef struct taps {
    int64_t first, end;
} taps;

/* Mostly all, which needs no division. */
static taps taps_of(const simd_window *w, int64_t window)
{
    int64_t first = window_position(w, window, 0);
    if (first >= 0 && first + w->kernel <= w->size)
        return (taps){0, w->kernel};
    return (taps){window_first_tap(w, window), window_end_tap(w, window)};
}

/* A call, and the windows [from, to) of a row of which all taps lie within it. */
typedef struct job {
    const simd_mean_pool *a;
    int64_t from, to;
} job;

static job job_of(const simd_mean_pool *a)
{
    int64_t from, to, unused;
    window_range(&a->w, 0, &from, &unused);
    window_range(&a->w, a->w.kernel - 1, &unused, &to);
    from = simd_smaller(from, a->w.count);
    return (job){a, from, to > from ? to : from};
}

/* The window after q, of those that are not in [from, to). */
static int64_t next_in_part(int64_t q, int64_t from, int64_t to)
{
    return q + 1 == from ? to : q + 1;
}

/* What sums are divided by where all taps of a row of windows lie within W. */
static real whole_divisor(const simd_mean_pool *a, int64_t p, taps k)
{
    int64_t rows = a->exclude_padding ? k.end - k.first : window_padded_taps(&a->h, p);
    return (real)(rows * a->w.kernel);
}

/* By how much window q of fewer taps counts more. */
static real share_of(const simd_mean_pool *a, int64_t q, taps l)
{
    int64_t columns = a->exclude_padding ? l.end - l.first : window_padded_taps(&a->w, q);
    return (real)a->w.kernel / (real)columns;
}

/* ---- means ----------------------------------------------------------------------------------- */

/* The sum of the rows of window p, in `columns` unless it is one row. */
static const real *add_rows(const simd_mean_pool *a, const real *x, int64_t p, taps k,
                            real *columns)
{
    const real *row = x + window_position(&a->h, p, k.first) * a->w.size;
    if (k.end - k.first == 1)
        return row;
    const real *next = row + a->w.size;
    for (int64_t j = 0; j < a->w.size; j++)
        columns[j] = row[j] + next[j];
    for (int64_t i = k.first + 2; i < k.end; i++) {
        next += a->w.size;
        for (int64_t j = 0; j < a->w.size; j++)
            columns[j] += next[j];
    }
    return columns;
}

static real sum_side_by_side(const real *x, int64_t n)
{
    real lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += x[i + l];
    for (; i < n; i++)
        sum += x[i];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return sum + lane[0];
}

SIMD_INLINE void add_tap(const real *x, int64_t stride, int64_t n, real *restrict y)
{
    for (int64_t q = 0; q < n; q++)
        y[q] += x[q * stride];
}

/* y[q] = the sum of the taps of each of n windows, which lie within the row. */
static void sum_windows(const simd_window *w, const real *x, int64_t n, real *restrict y)
{
    for (int64_t q = 0; q < n; q++)
        y[q] = 0;
    for (int64_t l = 0; l < w->kernel; l++, x++)
        if (w->stride == 1)
            add_tap(x, 1, n, y);
        else if (w->stride == 2)
            add_tap(x, 2, n, y);
        else
            add_tap(x, w->stride, n, y);
}

static void mean_row(const void *args, int64_t row)
{
    const job *j = args;
    const simd_mean_pool *a = j->a;
    real columns[COLUMNS], *y = (real *)a->to + row * a->w.count;
    int64_t p = row % a->h.count, from = j->from, to = a->w.kernel < WIDE ? j->to : from;
    taps k = taps_of(&a->h, p);
    const real *x = (const real *)a->from + row / a->h.count * a->h.size * a->w.size,
               *sum = add_rows(a, x, p, k, columns), divisor = whole_divisor(a, p, k);
    if (from < to)
        sum_windows(&a->w, sum + window_position(&a->w, from, 0), to - from, y + from);
    for (int64_t q = next_in_part(-1, from, to); q < a->w.count; q = next_in_part(q, from, to)) {
        taps l = taps_of(&a->w, q);
        y[q] = sum_side_by_side(sum + window_position(&a->w, q, l.first), l.end - l.first) *
               share_of(a, q, l);
    }
    for (int64_t q = 0; q < a->w.count; q++)
        y[q] /= divisor;
}

/* Too little work for more than one thread. */
static int threads_for(const simd_mean_pool *a)
{
    int64_t work = a->planes * (a->h.count * a->w.count + a->h.size * a->w.size);
    return work < 1 << 14 ? 1 : a->threads;
}

static bool is_one_window(const simd_window *w)
{
    return w->count == 1 && w->kernel == w->size && w->padding == 0;
}

/* A plane that is one window is one row. */
static simd_mean_pool with_rows_joined(const simd_mean_pool *a)
{
    simd_mean_pool joined = *a;
    if (is_one_window(&a->h) && is_one_window(&a->w)) {
        joined.w.size = joined.w.kernel = a->h.size * a->w.size;
        joined.h.size = joined.h.kernel = 1;
    }
    return joined;
}

void SIMD(mean_pool)(const simd_mean_pool *given)
{
    const simd_mean_pool joined = with_rows_joined(given), *a = &joined;
    const job j = job_of(a);
    simd_tasks(threads_for(a), a->planes * a->h.count, mean_row, &j);
}

/* ---- the gradient ---------------------------------------------------------------------------- */

SIMD_INLINE void spread_tap(const real *dy, int64_t stride, int64_t n, real *restrict dx)
{
    for (int64_t q = 0; q < n; q++)
        dx[q * stride] += dy[q];
}

/* Adds dy of each window of a row to its taps in dx, and divides dx. */
static void spread_row(const job *j, const real *dy, real divisor, real *restrict dx)
{
    const simd_window *w = &j->a->w;
    int64_t from = j->from, to = j->to;
    for (int64_t l = 0; l < w->kernel && from < to; l++) {
        real *at = dx + window_position(w, from, l);
        if (w->stride == 1)
            spread_tap(dy + from, 1, to - from, at);
        else if (w->stride == 2)
            spread_tap(dy + from, 2, to - from, at);
        else
            spread_tap(dy + from, w->stride, to - from, at);
    }
    for (int64_t q = next_in_part(-1, from, to); q < w->count; q = next_in_part(q, from, to)) {
        taps t = taps_of(w, q);
        real share = dy[q] * share_of(j->a, q, t);
        for (int64_t l = t.first; l < t.end; l++)
            dx[window_position(w, q, l)] += share;
    }
    for (int64_t i = 0; i < w->size; i++)
        dx[i] /= divisor;
}

static void spread_plane(const void *args, int64_t plane)
{
    const job *j = args;
    const simd_mean_pool *a = j->a;
    int64_t W = a->w.size;
    real row[COLUMNS], *dx = (real *)a->to + plane * a->h.size * W;
    memset(dx, 0, (size_t)(a->h.size * W) * sizeof *dx);
    for (int64_t p = 0; p < a->h.count; p++) {
        const real *dy = (const real *)a->from + (plane * a->h.count + p) * a->w.count;
        taps k = taps_of(&a->h, p);
        real *to = dx + window_position(&a->h, p, k.first) * W;
        if (a->h.kernel == 1) { /* each row of windows has a row of its own */
            spread_row(j, dy, whole_divisor(a, p, k), to);
            continue;
        }
        memset(row, 0, (size_t)W * sizeof *row);
        spread_row(j, dy, whole_divisor(a, p, k), row);
        for (; k.first < k.end; k.first++, to += W)
            for (int64_t i = 0; i < W; i++)
                to[i] += row[i];
    }
}

void SIMD(mean_pool_grad)(const simd_mean_pool *a)
{
    const job j = job_of(a);
    simd_tasks(threads_for(a), a->planes, spread_plane, &j);
}
