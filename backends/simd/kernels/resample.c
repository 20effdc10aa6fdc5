/* Planes resampled along rows and columns, both given by their taps: interpolation, and its
 * transpose.  Columns take a gather for each tap, rows only additions of what lies side by side; so
 * columns are resampled where there are fewer rows.  If that is in x, rows of x become rows of
 * y's width, of which a ring of as many is kept as a row of y has taps.  Columns that
 * keep their number (from = to) are copied: they have no list, and threads need no scratch. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"

enum { BLOCK = 32 /* rows of a plane that are one task */ };

/* y[o] = the sum of the taps of x; `most` is a constant where this is called. */
SIMD_INLINE void sum_taps(const simd_taps *t, int64_t first, int most, bool add, const float *x,
                          float *restrict y)
{
    const int32_t *index = t->index + first * t->to;
    const float *weight = t->weight + first * t->to;
    for (int64_t o = 0; o < t->to; o++) {
        float sum = weight[o] * x[index[o]];
        SIMD_UNROLLED
        for (int k = 1; k < most; k++)
            sum += weight[k * t->to + o] * x[index[k * t->to + o]];
        y[o] = add ? y[o] + sum : sum;
    }
}

/* The same of four, as two and two. */
static void sum_four_taps(const simd_taps *t, const float *x, float *restrict y)
{
    const int32_t *index = t->index;
    const float *weight = t->weight;
    int64_t to = t->to;
    for (int64_t o = 0; o < to; o++) {
        float a = weight[o] * x[index[o]], b = weight[2 * to + o] * x[index[2 * to + o]];
        a += weight[to + o] * x[index[to + o]];
        b += weight[3 * to + o] * x[index[3 * to + o]];
        y[o] = a + b;
    }
}

/* x has a 0 behind its last number. */
static void resample_row(const simd_taps *t, const float *x, float *restrict y)
{
    if (t->most == 4) {
        sum_four_taps(t, x, y);
        return;
    }
    if (t->most % 2)
        sum_taps(t, 0, 1, false, x, y);
    else
        sum_taps(t, 0, 2, false, x, y);
    for (int64_t k = t->most % 2 ? 1 : 2; k < t->most; k += 2)
        sum_taps(t, k, 2, true, x, y);
}

/* y = weight x, or y + weight x */
SIMD_INLINE void add_row(const float *x, float weight, int64_t n, bool add, float *restrict y)
{
    for (int64_t j = 0; j < n; j++)
        y[j] = add ? y[j] + weight * x[j] : weight * x[j];
}

SIMD_INLINE void add_two_rows(const float *a, float s, const float *b, float t, int64_t n, bool add,
                              float *restrict y)
{
    for (int64_t j = 0; j < n; j++) {
        float sum = s * a[j] + t * b[j];
        y[j] = add ? y[j] + sum : sum;
    }
}

/* The same of four, as two and two. */
static void add_four_rows(const float *const x[4], const float weight[4], int64_t n,
                          float *restrict y)
{
    const float *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    for (int64_t j = 0; j < n; j++) {
        float sum = weight[0] * a[j] + weight[1] * b[j];
        y[j] = sum + (weight[2] * c[j] + weight[3] * d[j]);
    }
}

/* y [width] = the weighted sum of the rows that row o of the result takes; row i lies at
 * x + (i % period) width. */
static void combine_rows(const simd_taps *t, int64_t o, const float *x, int64_t period,
                         int64_t width, float *restrict y)
{
    const int32_t *index = t->index + o;
    const float *weight = t->weight + o;
    int64_t k = 0;
    if (t->most == 4 && index[3 * t->to] < t->from) {
        const float *four[4],
            of[4] = {weight[0], weight[t->to], weight[2 * t->to], weight[3 * t->to]};
        for (; k < 4; k++)
            four[k] = x + index[k * t->to] % period * width;
        add_four_rows(four, of, width, y);
        return;
    }
    for (; k + 1 < t->most && index[(k + 1) * t->to] < t->from; k += 2) {
        const float *a = x + index[k * t->to] % period * width,
                    *b = x + index[(k + 1) * t->to] % period * width;
        if (k == 0)
            add_two_rows(a, weight[0], b, weight[t->to], width, false, y);
        else
            add_two_rows(a, weight[k * t->to], b, weight[(k + 1) * t->to], width, true, y);
    }
    if (k < t->most && index[k * t->to] < t->from) {
        const float *a = x + index[k * t->to] % period * width;
        if (k == 0)
            add_row(a, weight[0], width, false, y);
        else
            add_row(a, weight[k * t->to], width, true, y);
    } else if (k == 0) {
        memset(y, 0, (size_t)width * sizeof *y); /* no number of x reaches this row */
    }
}

/* A thread's room */
typedef struct room {
    float *row;  /* [columns.from + 1], the last one 0 */
    float *ring; /* [rows.most, columns.to] */
} room;

static room room_of(const simd_resample *a, int me)
{
    int64_t ring = a->rows.from < a->rows.to ? a->rows.most : 0;
    int64_t size = simd_resample_scratch(a->columns.from, a->columns.to, ring);
    float *row = a->scratch + me * size;
    row[a->columns.from] = 0;
    return (room){row, row + a->columns.from + 1};
}

/* Rows [first, end) of y, from rows of x of y's width */
static void columns_first(const simd_resample *a, const float *x, int64_t first, int64_t end,
                          room r, float *y)
{
    const simd_taps *rows = &a->rows, *columns = &a->columns;
    int64_t done = -1; /* the last row of x that is in the ring */
    for (int64_t o = first; o < end; o++, y += columns->to) {
        for (int64_t k = 0; k < rows->most; k++) {
            int64_t row = rows->index[k * rows->to + o];
            if (row >= rows->from || row <= done)
                continue;
            memcpy(r.row, x + row * columns->from, (size_t)columns->from * sizeof *x);
            resample_row(columns, r.row, r.ring + row % rows->most * columns->to);
            done = row;
        }
        combine_rows(rows, o, r.ring, rows->most, columns->to, y);
    }
}

/* The same where y has no more rows than x: a row is combined, then resampled. */
static void rows_first(const simd_resample *a, const float *x, int64_t first, int64_t end, room r,
                       float *y)
{
    const simd_taps *rows = &a->rows, *columns = &a->columns;
    for (int64_t o = first; o < end; o++, y += columns->to) {
        combine_rows(rows, o, x, rows->from, columns->from, r.row);
        resample_row(columns, r.row, y);
    }
}

/* The same where columns stay. */
static void rows_only(const simd_resample *a, const float *x, int64_t first, int64_t end, float *y)
{
    for (int64_t o = first; o < end; o++, y += a->columns.to)
        combine_rows(&a->rows, o, x, a->rows.from, a->columns.from, y);
}

static void resample_block(const void *args, int64_t block, int me)
{
    const simd_resample *a = args;
    const simd_taps *rows = &a->rows, *columns = &a->columns;
    int64_t blocks = simd_divide_up(rows->to, BLOCK), plane = block / blocks;
    int64_t first = block % blocks * BLOCK, end = simd_smaller(first + BLOCK, rows->to);
    const float *x = a->x + plane * rows->from * columns->from;
    float *y = a->y + (plane * rows->to + first) * columns->to;
    if (columns->from == columns->to)
        rows_only(a, x, first, end, y);
    else
        (rows->from < rows->to ? columns_first : rows_first)(a, x, first, end, room_of(a, me), y);
}

void SIMD(resample)(const simd_resample *a)
{
    int64_t blocks = a->planes * simd_divide_up(a->rows.to, BLOCK);
    simd_uneven_tasks(a->threads, blocks, simd_larger(1, blocks / (8 * a->threads)), resample_block,
                      a);
}
