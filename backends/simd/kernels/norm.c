/* Layer normalisation over rows of `width`:
 *
 *     h = (x - mean) rstd,  rstd = 1 / sqrt(mean of (x - mean)^2 + eps),  y = h gain + bias
 *
 * and backward, with e = dy gain:
 *
 *     dx    = rstd (e - mean(e) - h mean(e h))
 *     dgain = sum over rows of dy h
 *     dbias = sum over rows of dy
 *
 * rmsnorm is the same with 0 for the means, mean(e) too, and without bias.
 *
 * With a branch, x is first made from the residual connection, x = residual + dropout(branch), and
 * kept as `sum`; backward `more`, another cotangent of x, is added to dx, and the branch's
 * cotangent is dropout(dx) with the same mask.
 *
 * A row is read from memory once: its further passes hit the cache.  The sums over rows are made in
 * blocks of rows that do not depend on the number of threads, in float within a block, and the
 * blocks are added up in double.  So a term of dgain is rounded at most 4 + n times, n <=
 * SIMD_NORM_ROWS the rows of a block: three times when it is made, once when the sum is stored.
 * The error is at most (4 + n) 2^-24 of the sum of the terms' magnitudes, to first order; of dgain
 * itself it may be any share, since the terms cancel. */
#include "backends/simd/kernels/ahead.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/column_sum.h"
#include "backends/simd/kernels/lanes.h"
#include "backends/simd/kernels/mask.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/stream.h"
#include "backends/simd/kernels/tail.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

enum {
    STREAMED_WIDTH = 2048, /* most, of rows that go past the caches */
    FEW = 16,              /* numbers of a row that are not worth lanes */
};

/* Sums of x - shift and of its squares. */
typedef struct moments {
    double sum, squares;
} moments;

/* Of a short row: folding lanes would take longer than the sums. */
static moments moments_of_few(const float *restrict x, int64_t n, float shift)
{
    moments m = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        double d = (double)(x[i] - shift);
        m.sum += d;
        m.squares += d * d;
    }
    return m;
}

/* Numbers from `whole` on: a vector or two, whose last may be made of the row's last numbers. */
SIMD_INLINE void add_end(const float *restrict x, int64_t n, int64_t whole, float shift,
                         float *restrict sum, float *restrict squares)
{
    float tail[SIMD_TAIL];
    if (n - whole >= SIMD_TAIL) {
#pragma omp simd
        for (int l = 0; l < SIMD_TAIL; l++) {
            float d = x[whole + l] - shift;
            sum[l] += d;
            squares[l] += d * d;
        }
        whole += SIMD_TAIL;
    }
    if (whole == n)
        return;
    simd_tail_of(x, n, shift, tail); /* whose d is 0 */
#pragma omp simd
    for (int l = 0; l < SIMD_TAIL; l++) {
        float d = tail[l] - shift;
        sum[l] += d;
        squares[l] += d * d;
    }
}

static moments moments_of(const float *restrict x, int64_t n, float shift)
{
    if (n < FEW)
        return moments_of_few(x, n, shift);
    float sum[SIMD_SUM_LANES] = {0}, squares[SIMD_SUM_LANES] = {0};
    int64_t whole = n / SIMD_SUM_LANES * SIMD_SUM_LANES;
    for (int64_t i = 0; i < whole; i += SIMD_SUM_LANES)
#pragma omp simd
        for (int l = 0; l < SIMD_SUM_LANES; l++) {
            float d = x[i + l] - shift;
            sum[l] += d;
            squares[l] += d * d;
        }
    add_end(x, n, whole, shift, sum, squares);
    return (moments){simd_folded(sum), simd_folded(squares)};
}

static double sum_of(const float *restrict x, int64_t n)
{
    if (n < FEW)
        return moments_of_few(x, n, 0).sum;
    float sum[SIMD_SUM_LANES] = {0};
    int64_t whole = n / SIMD_SUM_LANES * SIMD_SUM_LANES;
    for (int64_t i = 0; i < whole; i += SIMD_SUM_LANES)
#pragma omp simd
        for (int l = 0; l < SIMD_SUM_LANES; l++)
            sum[l] += x[i + l];
    float squares[SIMD_SUM_LANES] = {0}; /* nobody reads them */
    add_end(x, n, whole, 0, sum, squares);
    return simd_folded(sum);
}

/* Rows that go through each step of a norm together: the folds, divisions and roots of one take the
 * processor as long as its passes, those of four overlap. */
enum { TOGETHER = 4 };

/* Where a row is, and what has been found out about it.  The mean is mean + rest: rounded to one
 * float it would be wrong by much of a small deviation. */
typedef struct row_state {
    const float *x;
    float *y;
    float mean, rest, rstd;
} row_state;

/* scaled, shifted: by gain, by bias; constants where this is called */
SIMD_INLINE void normalize_with(const simd_norm *a, const row_state *r, bool scaled, bool shifted)
{
    const float *restrict x = r->x, *restrict gain = a->gain, *restrict bias = a->bias;
    float *restrict y = r->y, mean = r->mean, rest = r->rest, rstd = r->rstd;
    int64_t width = a->width;
#pragma omp simd
    for (int64_t i = 0; i < width; i++) {
        float h = (x[i] - mean - rest) * rstd;
        h = scaled ? h * gain[i] : h;
        y[i] = shifted ? h + bias[i] : h;
    }
}

static void normalize(const simd_norm *a, const row_state *r)
{
    if (a->gain && a->bias)
        normalize_with(a, r, true, true);
    else if (a->gain)
        normalize_with(a, r, true, false);
    else if (a->bias)
        normalize_with(a, r, false, true);
    else
        normalize_with(a, r, false, false);
}

/* `n` rows from `row` on, at most TOGETHER, whose results y lie one after the other, as do the sums
 * with a branch, which have been made, unless that is NULL. */
static void forward_rows(const simd_norm *a, int64_t row, int n, const float *sum, float *y)
{
    int64_t width = a->width;
    row_state r[TOGETHER] = {{.x = NULL}};
    for (int k = 0; k < n; k++) {
        int64_t at = (row + k) * width;
        if (!sum)
            simd_ask_ahead(a->x + at, width);
        if (y + k * width == a->y + at) /* writing a line begins with reading it */
            simd_ask_ahead(a->y + at, width);
        r[k].x = sum ? sum + k * width : a->x + at;
        r[k].y = y + k * width;
    }
    for (int k = 0; k < n && a->mean; k++)
        r[k].mean = (float)(sum_of(r[k].x, width) / (double)width);
    for (int k = 0; k < n; k++) {
        moments d = moments_of(r[k].x, width, r[k].mean);
        float rest = a->mean ? (float)(d.sum / (double)width) : 0;
        r[k].rest = rest;
        r[k].rstd = 1 / sqrtf((float)(d.squares / (double)width) - rest * rest + a->eps);
    }
    for (int k = 0; k < n; k++) {
        if (a->mean)
            a->mean[row + k] = isfinite(r[k].mean) ? r[k].mean + r[k].rest : r[k].mean;
        a->rstd[row + k] = r[k].rstd;
        normalize(a, &r[k]);
    }
}

/* sum = residual + dropout(branch), elements first ... first + count - 1 of the tensor */
static void make_sum(const simd_norm *a, int64_t first, int64_t count, float *sum)
{
    simd_drop(&a->mask, first, count, a->branch + first, a->residual + first, sum);
}

/* Is it worth while to wake other threads? */
static int threads_for(const simd_norm *a)
{
    return a->rows * a->width < 1 << 13 ? 1 : a->threads;
}

/* ---- forward, past the caches ---------------------------------------------------------------- */

/* Is it worth while for results a and b, b perhaps NULL? */
static bool streams(const simd_norm *n, const float *a, const float *b)
{
    return n->width <= STREAMED_WIDTH &&
           simd_streams(n->rows * n->width * (b ? 2 : 1), n->width, a, b);
}

/* A row of up to two results on its way past the caches. */
typedef struct streamed {
    _Alignas(64) float first[STREAMED_WIDTH], second[STREAMED_WIDTH];
} streamed;

/* How much of a row is stored at a time: what a mask is drawn for. */
static int64_t piece_of(int64_t width)
{
    return width % SIMD_MASK_GROUP ? width : SIMD_MASK_GROUP;
}

/* Numbers i ... i + n - 1 of row `row` of y, and of the sum if there is one. */
static void stream_piece(const simd_norm *a, int64_t row, const streamed *r, int64_t i, int64_t n)
{
    int64_t at = row * a->width + i;
    simd_stream(a->y + at, r->first + i, n);
    if (a->branch)
        simd_stream(a->sum + at, r->second + i, n);
}

/* A whole row of streaming stores at once keeps the processor waiting: the row before is stored
 * piece by piece, between the draws of this row's mask. */
static void forward_past(const simd_norm *a, int64_t first, int64_t end)
{
    streamed room[2];
    int64_t width = a->width, piece = piece_of(width);
    for (int64_t row = first; row <= end; row++) {
        streamed *now = &room[row % 2];
        for (int64_t i = 0; i < width; i += piece) {
            if (a->branch && row < end)
                make_sum(a, row * width + i, piece, now->second + i);
            if (row > first)
                stream_piece(a, row - 1, &room[(row + 1) % 2], i, piece);
        }
        if (row < end)
            forward_rows(a, row, 1, a->branch ? now->second : NULL, now->first);
    }
    simd_stream_end();
}

static void forward_share(const void *args, simd_member m)
{
    const simd_norm *a = args;
    float *sum = a->branch ? a->sum : NULL;
    int64_t first = simd_first(m, a->rows), end = simd_end(m, a->rows);
    if (streams(a, a->y, sum)) {
        forward_past(a, first, end);
        return;
    }
    for (int64_t row = first, n; row < end; row += n) {
        int64_t at = row * a->width;
        n = end - row < TOGETHER ? end - row : TOGETHER;
        if (sum)
            make_sum(a, at, n * a->width, sum + at);
        forward_rows(a, row, (int)n, sum ? sum + at : NULL, a->y + at);
    }
}

void SIMD(layernorm_forward)(const simd_norm *a)
{
    simd_team(threads_for(a), forward_share, a);
}

/* With h = (x - mean) rstd and e = dy gain: the sums of e and of e h, in lanes, over row `row`;
 * adds to the block's sums for dgain and dbias. */
static void backward_sums(const simd_norm *a, int64_t row, float *restrict dgain,
                          float *restrict dbias, float *restrict sums, float *restrict products)
{
    const float *restrict x = a->x + row * a->width, *restrict dy = a->dy + row * a->width;
    const float *gain = a->gain;
    float mean = a->mean ? a->mean[row] : 0, rstd = a->rstd[row];
    int64_t width = a->width, whole = width / SIMD_SUM_LANES * SIMD_SUM_LANES;
    simd_ask_ahead(x, width);
    simd_ask_ahead(dy, width);
    simd_ask_ahead(a->more ? a->more + row * width : NULL, width);
    for (int64_t i = 0; i < whole; i += SIMD_SUM_LANES)
#pragma omp simd
        for (int l = 0; l < SIMD_SUM_LANES; l++) {
            float d = dy[i + l], h = (x[i + l] - mean) * rstd, e = gain ? d * gain[i + l] : d;
            sums[l] += e;
            products[l] += e * h;
            dgain[i + l] += d * h;
            dbias[i + l] += d;
        }
    for (int64_t i = whole; i < width; i++) {
        float d = dy[i], h = (x[i] - mean) * rstd, e = gain ? d * gain[i] : d;
        sums[i - whole] += e;
        products[i - whole] += e * h;
        dgain[i] += d * h;
        dbias[i] += d;
    }
}

/* Row `row` of dx, and of dbranch unless that is NULL, with the means of e and of e h. */
static void backward_row(const simd_norm *a, int64_t row, float mean_e, float mean_eh,
                         float *restrict dx)
{
    const float *restrict x = a->x + row * a->width, *restrict dy = a->dy + row * a->width;
    const float *gain = a->gain;
    float mean = a->mean ? a->mean[row] : 0, rstd = a->rstd[row];
    int64_t width = a->width;
#pragma omp simd
    for (int64_t i = 0; i < width; i++) {
        float h = (x[i] - mean) * rstd, e = gain ? dy[i] * gain[i] : dy[i];
        dx[i] = rstd * (e - mean_e - h * mean_eh);
    }
    if (a->more)
#pragma omp simd
        for (int64_t i = 0; i < width; i++)
            dx[i] += a->more[row * width + i];
}

/* dbranch = dropout(dx), elements first ... first + count - 1 of the tensor */
static void drop_back(const simd_norm *a, int64_t first, int64_t count, const float *dx,
                      float *dbranch)
{
    simd_drop(&a->mask, first, count, dx, NULL, dbranch);
}

/* `n` rows of dx from `row` on, at most TOGETHER, which lie one after the other. */
static void backward_rows(const simd_norm *a, int64_t row, int n, float *dgain, float *dbias,
                          float *dx)
{
    int64_t width = a->width;
    float sums[TOGETHER][SIMD_SUM_LANES] = {{0}}, products[TOGETHER][SIMD_SUM_LANES] = {{0}};
    float mean_e[TOGETHER], mean_eh[TOGETHER];
    for (int k = 0; k < n; k++)
        backward_sums(a, row + k, dgain, dbias, sums[k], products[k]);
    for (int k = 0; k < n; k++) {
        mean_e[k] = a->mean ? (float)(simd_folded(sums[k]) / (double)width) : 0;
        mean_eh[k] = (float)(simd_folded(products[k]) / (double)width);
    }
    for (int k = 0; k < n; k++)
        backward_row(a, row + k, mean_e[k], mean_eh[k], dx + k * width);
}

/* Rows [from, to), with their sums for dgain and dbias. */
static void backward_block(const simd_norm *a, int64_t from, int64_t to, float *sums)
{
    int64_t width = a->width;
    for (int64_t row = from, n; row < to; row += n) {
        int64_t at = row * width;
        n = to - row < TOGETHER ? to - row : TOGETHER;
        backward_rows(a, row, (int)n, sums, sums + width, a->dx + at);
        if (a->dbranch)
            drop_back(a, at, n * width, a->dx + at, a->dbranch + at);
    }
}

/* The same past the caches: each piece is stored while the next one's mask is drawn. */
static void backward_block_past(const simd_norm *a, int64_t from, int64_t to, float *sums)
{
    streamed room;
    int64_t width = a->width, piece = piece_of(width);
    for (int64_t row = from; row < to; row++) {
        backward_rows(a, row, 1, sums, sums + width, room.first);
        for (int64_t i = 0, at = row * width; i < width; i += piece) {
            if (a->dbranch) {
                drop_back(a, at + i, piece, room.first + i, room.second + i);
                simd_stream(a->dbranch + at + i, room.second + i, piece);
            }
            simd_stream(a->dx + at + i, room.first + i, piece);
        }
    }
    simd_stream_end();
}

static void backward_share(const void *args, simd_member m)
{
    const simd_norm *a = args;
    int64_t blocks = simd_norm_blocks(a->rows), width = a->width;
    int64_t joins = simd_divide_up(width, SIMD_LINE);
    bool past = streams(a, a->dx, a->dbranch);
    for (int64_t b = simd_first(m, blocks); b < simd_end(m, blocks); b++) {
        float *sums = a->scratch + b * 2 * width;
        memset(sums, 0, (size_t)(2 * width) * sizeof *sums);
        (past ? backward_block_past : backward_block)(a, a->rows * b / blocks,
                                                      a->rows * (b + 1) / blocks, sums);
    }
    simd_meet(m);
    for (int64_t join = simd_first(m, joins); join < simd_end(m, joins); join++) {
        int64_t i = join * SIMD_LINE, columns = simd_smaller(width - i, SIMD_LINE);
        simd_join(a->scratch + i, blocks, 2 * width, columns, a->dgain + i);
        if (a->dbias)
            simd_join(a->scratch + width + i, blocks, 2 * width, columns, a->dbias + i);
    }
}

void SIMD(layernorm_backward)(const simd_norm *a)
{
    simd_team(threads_for(a), backward_share, a);
}
