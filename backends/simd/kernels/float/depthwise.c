/* Gradients of the weights of depthwise convolutions, whose windows move by one along rows:
 *
 *     dw[c, i, j] = sum of dy[b, c, r, q] x[b, c, r s + i d - p, q + j d - p]
 *
 * over examples b, rows r and columns q of dy.
 *
 * A thread takes a channel.  Of each row of x, some columns are copied between zeros, and
 * multiplied with each row of dy that its taps meet, a vector at a time; a tap's sums are lanes,
 * which are added up in double after every ROWS rows.  Zeros of the padding make NaN of infinity:
 * numbers that are not finite are multiplied one by one. */
#include "backends/simd/kernels/finite.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/vector.h"
#include "backends/simd/kernels/window.h"

enum { TAPS = 4 }; /* of a row of the kernel, whose sums are in registers together */
enum { COLUMNS = 512, ROWS = 512 };

/* A channel's sums, and the rows that are multiplied. */
typedef struct sums {
    vector lane[SIMD_DEPTHWISE_TAPS];
    double sum[SIMD_DEPTHWISE_TAPS];
    int64_t rows; /* that are in the lanes */
    real x[COLUMNS + LANES + SIMD_DEPTHWISE_REACH], dy[LANES];
} sums;

/* Numbers `from` to `from + n` of a row of `size`, zeros beyond its ends */
static void copy_row(const real *row, int64_t size, int64_t from, int64_t n, real *to)
{
    int64_t first = from < 0 ? simd_smaller(-from, n) : 0;
    int64_t end = simd_smaller(size - from, n);
    end = end > first ? end : first;
    memset(to, 0, (size_t)first * sizeof *to);
    memcpy(to + first, row + from + first, (size_t)(end - first) * sizeof *to);
    memset(to + end, 0, (size_t)(n - end) * sizeof *to);
}

/* sum[j] += dy x[j dilation ..], n numbers in whole vectors; `taps` is a constant where this is
 * called. */
SIMD_INLINE void add_taps(const real *x, const real *dy, int64_t n, int64_t dilation, int taps,
                          vector *sum)
{
    vector s[TAPS];
    SIMD_UNROLLED
    for (int j = 0; j < taps; j++)
        s[j] = sum[j];
    for (int64_t q = 0; q < n; q += LANES) {
        vector y = *(const vector *)(dy + q);
        SIMD_UNROLLED
        for (int j = 0; j < taps; j++)
            s[j] += y * *(const vector *)(x + q + j * dilation);
    }
    SIMD_UNROLLED
    for (int j = 0; j < taps; j++)
        sum[j] = s[j];
}

/* n numbers of a row of dy, in whole vectors */
static void add_row(const simd_window *w, const real *x, const real *dy, int64_t n, vector *sum)
{
    int64_t j = 0;
    for (; j + TAPS <= w->kernel; j += TAPS)
        add_taps(x + j * w->dilation, dy, n, w->dilation, TAPS, sum + j);
    for (; j < w->kernel; j++)
        add_taps(x + j * w->dilation, dy, n, w->dilation, 1, sum + j);
}

static void add_lanes(sums *s, int64_t taps)
{
    for (int64_t t = 0; t < taps; t++) {
        for (int l = 0; l < LANES; l++)
            s->sum[t] += (double)s->lane[t][l];
        s->lane[t] = (vector){0};
    }
    s->rows = 0;
}

/* Columns `first` to `first + count` of y, of one example: row r of x meets tap i of row
 * (r + p - i d) / s of dy. */
static void add_columns(const simd_conv *a, const real *x, const real *dy, int64_t first,
                        int64_t count, sums *s)
{
    const simd_window *h = &a->h, *w = &a->w;
    int64_t whole = count / LANES * LANES, n = simd_round_up(count, LANES);
    for (int64_t r = 0; r < h->size; r++) {
        copy_row(x + r * w->size, w->size, first - w->padding, n + (w->kernel - 1) * w->dilation,
                 s->x);
        for (int64_t i = 0; i < h->kernel; i++) {
            int64_t at = r + h->padding - i * h->dilation, row = at / h->stride;
            if (at < 0 || at % h->stride || row >= h->count)
                continue;
            const real *of_row = dy + row * w->count + first;
            vector *sum = s->lane + i * w->kernel;
            add_row(w, s->x, of_row, whole, sum);
            if (whole < count) {
                copy_row(of_row + whole, count - whole, 0, LANES, s->dy);
                add_row(w, s->x + whole, s->dy, LANES, sum);
            }
            s->rows++;
        }
        if (s->rows >= ROWS)
            add_lanes(s, h->kernel * w->kernel);
    }
}

static void one_channel(const void *args, int64_t channel)
{
    const simd_conv *a = args;
    int64_t taps = a->h.kernel * a->w.kernel, of_x = a->h.size * a->w.size,
            of_y = a->h.count * a->w.count;
    sums s;
    s.rows = 0;
    memset(s.lane, 0, (size_t)taps * sizeof *s.lane);
    memset(s.sum, 0, (size_t)taps * sizeof *s.sum);
    for (int64_t b = 0; b < a->batch; b++) {
        int64_t plane = b * a->groups + channel;
        for (int64_t first = 0; first < a->w.count; first += COLUMNS)
            add_columns(a, (const real *)a->x + plane * of_x, (const real *)a->y + plane * of_y,
                        first, simd_smaller(COLUMNS, a->w.count - first), &s);
    }
    add_lanes(&s, taps);
    for (int64_t t = 0; t < taps; t++)
        ((real *)a->to)[channel * taps + t] = (real)s.sum[t];
}

/* By the definition, without zeros */
static void plain_channel(const void *args, int64_t channel)
{
    const simd_conv *a = args;
    const simd_window *h = &a->h, *w = &a->w;
    for (int64_t i = 0; i < h->kernel; i++)
        for (int64_t j = 0; j < w->kernel; j++) {
            int64_t rows, last_row, columns, last_column;
            double sum = 0;
            window_range(h, i, &rows, &last_row);
            window_range(w, j, &columns, &last_column);
            for (int64_t b = 0; b < a->batch; b++)
                for (int64_t r = rows; r < last_row; r++)
                    for (int64_t q = columns; q < last_column; q++) {
                        int64_t plane = b * a->groups + channel;
                        int64_t row = plane * h->size + window_position(h, r, i);
                        const real *x = (const real *)a->x + row * w->size,
                                   *dy = (const real *)a->y + (plane * h->count + r) * w->count;
                        sum += (double)dy[q] * (double)x[window_position(w, q, j)];
                    }
            ((real *)a->to)[(channel * h->kernel + i) * w->kernel + j] = (real)sum;
        }
}

void SIMD(depthwise_grad_w)(const simd_conv *a)
{
    int64_t planes = a->batch * a->groups;
    bool finite = simd_all_finite(a->x, planes * a->h.size * a->w.size) &&
                  simd_all_finite(a->y, planes * a->h.count * a->w.count);
    simd_tasks(a->threads, a->groups, finite ? one_channel : plain_channel, a);
}
