/* The kernels of the simd backend.
 *
 * Each source of this folder is written once and compiled for the baseline, for AVX2 and for
 * AVX-512: SIMD(name) is wgi_simd_name_base, _avx2 or _avx512.  Those with products of integers are
 * also compiled for AVX-512 with VNNI, _avx512vnni, where SIMD_OTHERS, of all other kernels, is
 * avx512; and again for AMX, _amx, together with amx/, which has a product of f32.
 * Those of float/ are compiled for f32 like the others and once more for f64 (real.h), _base_f64
 * and so on.  Loops are plain C that the compiler vectorises. */
#ifndef WG_BACKENDS_SIMD_KERNELS_KERNELS_H
#define WG_BACKENDS_SIMD_KERNELS_KERNELS_H

#include "backends/simd/kernels/axis.h"
#include "backends/simd/kernels/conv.h"
#include "backends/simd/kernels/elements.h"
#include "backends/simd/kernels/loss.h"
#include "backends/simd/kernels/product.h"
#include "backends/simd/kernels/resample.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SIMD_PASTE_(a, b) wgi_simd_##a##_##b
#define SIMD_PASTE(a, b) SIMD_PASTE_(a, b)
#define SIMD(name) SIMD_PASTE(name, SIMD_SUFFIX)

#ifndef SIMD_OTHERS
#define SIMD_OTHERS SIMD_SUFFIX
#endif
#define SIMD_OTHER(name) SIMD_PASTE(name, SIMD_OTHERS)

/* Numbers of the mask are drawn in groups of so many elements; a range of them needs room for two
 * groups more. */
enum { SIMD_MASK_GROUP = 128, SIMD_MASK_ROOM = 2 * SIMD_MASK_GROUP };

/* One operand of attention: element (b, h, t, i) lies at data[b batch + h head + t row + i]. */
typedef struct simd_heads {
    float *data;
    int64_t batch, head, row;
} simd_heads;

/* y = softmax(scale q k' + bias + mask) v for each batch and head; q is [T, d], k [S, d] and v
 * [S, dv].  groups query heads share one key-value head.  Query t sees those keys from t + first to
 * t + last that are before lengths[b].  Scratch: simd_attention_scratch floats a thread. */
typedef struct simd_attention {
    simd_heads q, k, v, y;     /* forward; backward reads q, k, v  */
    simd_heads dy, dq, dk, dv; /* backward: all of dq, dk, dv      */
    const int64_t *lengths64;  /* [batch] or NULL                  */
    const int32_t *lengths32;
    simd_heads bias;   /* of the scores, rows of keys; data NULL: none */
    int64_t bias_step; /* 1, or 0: one number for all keys             */
    int64_t batches, heads, groups, T, S, d, d_v;
    float scale;
    int64_t first, last;
    wgi_mask mask; /* of dropout on the weights, as a [batches, heads, T, S] tensor; keep 0: none */
    int threads;
    float *scratch;
    bool *failed; /* set if a product lacked memory: simd_gemm */
} simd_attention;

/* Rows of q in a tile: the tile's scores [rows, keys] stay in the cache. */
static inline int64_t simd_attention_rows(int64_t T, int64_t S)
{
    int64_t keys = S > 0 ? S : 1, rows = (1 << 15) / keys; /* 128 KiB of scores */
    if (rows < 64)
        rows = (1 << 16) / keys < 64 ? (1 << 16) / keys
                                     : 64; /* long rows: twice that, as thin products are slow */
    rows = rows < 32 ? 32 : rows > 256 ? 256 : rows / 16 * 16;
    return rows < T ? rows : T;
}

/* A tile has `rows` rows, which see at most `keys` keys together: of S keys, a row sees at most
 * `span`, and each further row of a window one more. */
typedef struct simd_tile {
    int64_t rows, keys;
} simd_tile;

enum { SIMD_WINDOW_ROWS = 64 }; /* about as many rows of a window are a tile */
static inline simd_tile simd_attention_tile(int64_t T, int64_t S, int64_t span)
{
    bool narrow = span < S - SIMD_WINDOW_ROWS;
    int64_t rows = simd_attention_rows(T, narrow ? span + SIMD_WINDOW_ROWS : S);
    int64_t keys = narrow && span + rows - 1 < S ? span + rows - 1 : S;
    simd_tile tile = {rows, keys};
    return tile;
}

/* From one row of a tile's scores to the next: whole vectors. */
static inline int64_t simd_attention_ld(simd_tile tile)
{
    return (tile.keys + 15) / 16 * 16;
}

/* Of one thread: the weights of a tile, their cotangents, and the mask's numbers, of 16 bits. */
static inline int64_t simd_attention_room(simd_tile tile)
{
    return 2 * tile.rows * simd_attention_ld(tile) +
           (tile.rows * tile.keys + SIMD_MASK_ROOM + 31) / 32 * 16;
}

/* The same and what its products need. */
static inline int64_t simd_attention_scratch(int64_t T, int64_t S, int64_t span, int64_t d,
                                             int64_t d_v)
{
    simd_tile tile = simd_attention_tile(T, S, span);
    int64_t width = d > d_v ? d : d_v;
    int64_t scores = simd_gemm_scratch(tile.rows, tile.keys, width),
            sums = simd_gemm_scratch(tile.rows, width, tile.keys),
            gradients = simd_gemm_scratch(tile.keys, width, tile.rows), products = scores;
    products = sums > products ? sums : products;
    products = gradients > products ? gradients : products;
    return simd_attention_room(tile) + (products + 15) / 16 * 16;
}

/* Rows of a layer normalisation, without a mean of rmsnorm; see norm.c.  mean and rstd are [rows];
 * gain, bias and their cotangents [width] or NULL.  Scratch of the backward pass: 2
 * simd_norm_blocks(rows) width floats. */
typedef struct simd_norm {
    const float *x, *gain, *bias, *dy;
    float *y, *mean, *rstd; /* results forward, read backward; mean NULL: rmsnorm */
    float *dx, *dgain, *dbias;
    const float *residual, *branch, *more; /* NULL: none */
    float *sum, *dbranch;
    wgi_mask mask; /* keep 0: no dropout */
    int64_t rows, width;
    float eps;
    int threads;
    float *scratch;
} simd_norm;

/* Blocks of rows for the sums over rows: 32, or as many as leave a block SIMD_NORM_ROWS rows.
 * Within a block sums are made in float, so this bounds their rounding error, however many rows
 * there are: see norm.c. */
enum { SIMD_NORM_BLOCKS = 32, SIMD_NORM_ROWS = 128 };
static inline int64_t simd_norm_blocks(int64_t rows)
{
    int64_t blocks = (rows + SIMD_NORM_ROWS - 1) / SIMD_NORM_ROWS;
    blocks = blocks > SIMD_NORM_BLOCKS ? blocks : SIMD_NORM_BLOCKS;
    return blocks < rows ? blocks : rows;
}

/* batchnorm and groupnorm of x [examples, channels, size], and their gradients; see channel_norm.c;
 * where size is small, channel_columns.c (batchnorm, at most SIMD_COLUMN_NORM_COLUMNS) and
 * group_runs.c (groupnorm).  A plane is the `size` numbers of one channel of one example.  A set of
 * planes has one mean: the channel's planes of all examples, or with `groups` > 0 the planes of one
 * example whose channels are a group. */
typedef struct simd_channel_norm {
    const float *x, *dy, *gain, *bias; /* gain, bias: [channels] or NULL */
    float *y, *dx, *dgain, *dbias;     /* dgain, dbias: [channels] */
    /* [sets], results forward, read backward: with groups 1 / sqrt(var + eps), else var */
    float *mean, *spread;
    int64_t examples, channels, size, groups;
    float eps;
    int threads;
    double *scratch; /* simd_channel_norm_scratch doubles */
} simd_channel_norm;

/* Of a small call, threads would take longer to wake than one to compute. */
static inline int simd_channel_norm_threads(const simd_channel_norm *a)
{
    return a->examples * a->channels * a->size < 1 << 14 ? 1 : a->threads;
}

/* Where the sets' planes lie: plane j of set k is number k step + j plane_step of all.  Sums are
 * made piece by piece, of SIMD_PLANE_PIECE numbers or a little less: some planes of a set, or one
 * of `chunks` parts of a plane. */
typedef struct simd_plane_sets {
    int64_t count, planes, step, plane_step;
    int64_t pieces, planes_of_piece, chunks; /* pieces: of a set */
} simd_plane_sets;

enum { SIMD_PLANE_PIECE = 4096, SIMD_PLANE_SUMS = 4, SIMD_COLUMN_NORM_COLUMNS = 64 };

/* `apart`: no piece has planes of two channels. */
static inline simd_plane_sets simd_plane_sets_of(const simd_channel_norm *a, bool apart)
{
    int64_t of_group = a->groups ? a->channels / a->groups : 0, per = SIMD_PLANE_PIECE / a->size;
    simd_plane_sets s = {.count = a->groups ? a->examples * a->groups : a->channels,
                         .planes = a->groups ? of_group : a->examples,
                         .step = a->groups ? of_group : 1,
                         .plane_step = a->groups ? 1 : a->channels,
                         .chunks = (a->size + SIMD_PLANE_PIECE - 1) / SIMD_PLANE_PIECE};
    s.planes_of_piece = per < 1 || (apart && a->groups) ? 1 : per;
    s.pieces = (s.planes + s.planes_of_piece - 1) / s.planes_of_piece * s.chunks;
    return s;
}

/* The sums of each piece, and what follows from them for each set. */
static inline int64_t simd_channel_norm_scratch(const simd_channel_norm *a)
{
    simd_plane_sets s = simd_plane_sets_of(a, true);
    return (s.pieces + 1) * SIMD_PLANE_SUMS * s.count;
}

/* In doubles as well: sums, two rows of all channels, and two runs for each thread. */
enum { SIMD_GROUP_RUN_EXAMPLES = 64 };
static inline int64_t simd_group_runs_scratch(const simd_channel_norm *a, int threads)
{
    int64_t blocks = (a->examples + SIMD_GROUP_RUN_EXAMPLES - 1) / SIMD_GROUP_RUN_EXAMPLES;
    int64_t row = a->channels * a->size, run = row / a->groups;
    return blocks * a->channels * 2 + row + threads * run;
}

/* See paged.c.  q [rows, heads, d], k [slots, heads / groups, d], v [slots, heads / groups, d_v], y
 * [rows, heads, d_v]; row r sees the slots [r max, r max + lengths[r]).  Scratch, aligned as
 * pointers: simd_paged_scratch floats a thread. */
typedef struct simd_paged {
    const float *q, *k, *v;
    float *y;
    const int64_t *slots64, *lengths64; /* or NULL: */
    const int32_t *slots32, *lengths32;
    int64_t rows, heads, groups, d, d_v, max;
    float scale;
    int threads;
    float *scratch;
} simd_paged;

static inline int64_t simd_paged_stride(int64_t keys)
{
    return (keys + 15) / 16 * 16;
}

/* The scores of all heads, and where the values of each slot are */
static inline int64_t simd_paged_scratch(int64_t heads, int64_t keys)
{
    return (heads + (int64_t)(sizeof(void *) / sizeof(float))) * simd_paged_stride(keys);
}

/* The k > 0 largest of log_softmax(x) in each row, descending, and where they are; see topk.c.
 * Scratch: as in topk.h. */
typedef struct simd_topk {
    const float *x;
    float *values;
    int64_t *ids;
    int64_t rows, width, k;
    int threads;
    void *scratch;
} simd_topk;

/* The same of x w' + bias, x [rows, width], w [classes, width], bias [classes] or NULL, or the
 * largest of that itself; see linear_topk.c.  panels: a whole number of groups of rows (topk.h). */
typedef struct simd_linear_topk {
    const float *x, *w, *bias;
    float *values;
    int64_t *ids;
    int64_t rows, width, classes, k;
    int threads;
    float *panels;
    void *scratch;
    float *packed; /* w as pack_classes packs it, simd_topk_packed floats; NULL: it is not */
    bool as_they_are;
} simd_linear_topk;

/* The same, as they are, by what approximates w: see screened_topk.c.  approximate_classes makes
 * it.  Scratch: simd_screened_scratch bytes, panels included (topk.h). */
typedef struct simd_screened_topk {
    simd_linear_topk of; /* not its panels, packed or scratch */
    void *approximate;   /* simd_approximate_bytes, aligned as cache lines */
    void *scratch;       /* the same */
} simd_screened_topk;

/* y, index [outer, size, inner]: x in order along the middle axis, equal ones in order of index,
 * NaN as largest; and where each was.  size > 0, below 2^32.  y may be x.  Scratch: 16 bytes for
 * each element of a line, for each thread.  See sort.c. */
typedef enum simd_sort_kind {
    SIMD_SORT_F32,
    SIMD_SORT_F64,
    SIMD_SORT_I32,
    SIMD_SORT_I64
} simd_sort_kind;

typedef struct simd_sort {
    const void *x;
    void *y;
    int64_t *index;
    int64_t outer, size, inner;
    simd_sort_kind kind;
    bool descending;
    int threads;
    void *scratch; /* aligned as any type */
} simd_sort;

/* softmax and log_softmax over [outer, width, inner] along the middle axis; see softmax.c. */
typedef struct simd_softmax {
    const void *x;
    void *y;
    int64_t outer, width, inner;
    int threads;
} simd_softmax;

/* y[j] = sum over i of x[i, j], by blocks of rows; see column_sum.c.  Scratch:
 * simd_column_blocks(rows) width floats. */
typedef struct simd_columns {
    const void *x;
    void *y;
    int64_t rows, width;
    int threads;
    void *scratch;
} simd_columns;

enum { SIMD_COLUMN_ROWS = 128 }; /* of a block */
static inline int64_t simd_column_blocks(int64_t rows)
{
    return (rows + SIMD_COLUMN_ROWS - 1) / SIMD_COLUMN_ROWS;
}

/* All steps of an lstm or a gru, and their gradient: see recurrent.c.  With U units and G gates (4,
 * of gru 3): p, gates, dp and dq [batch, steps, G U], the other sequences [batch, steps, U]; wh
 * [G U, U], bh [3 U]; first states [batch, U].  gates may lie where p lies, and dp (of gru dq)
 * where gates lie.  Sequence b has the steps t < lengths[b]. */
typedef struct simd_recurrent {
    bool gru, reverse;
    int64_t batch, steps, units;
    const float *p, *wh, *bh, *h0, *c0; /* bh: of gru; c0: of lstm */
    float *gates, *h, *c, *m;           /* written forward, read backward; m: of gru */
    const float *dh, *dc;               /* dc: of lstm */
    float *dp, *dq, *dh0, *dc0;         /* dq: of gru; dc0: of lstm */
    const int64_t *lengths64;           /* [batch] or NULL */
    const int32_t *lengths32;
    int threads;
    float *scratch; /* simd_recurrent_scratch floats, aligned to 64 bytes */
} simd_recurrent;

/* Of both directions and all instruction sets: wh packed for 64 units at a time, and two tensors
 * like the gates of a step, with such rows. */
static inline int64_t simd_recurrent_scratch(int64_t batch, int64_t units)
{
    int64_t padded = (units + 63) / 64 * 64;
    return 4 * padded * padded + (2 * 4 + 2) * batch * padded;
}

/* y[r] of row r of x; see reduce.c. */
typedef enum simd_reduction {
    SIMD_SUM,
    SIMD_MEAN,
    SIMD_PROD,
    SIMD_MAX, /* NaN if there is one */
    SIMD_MIN,
    SIMD_VAR, /* divided by width - correction */
    SIMD_LOGSUMEXP,
    SIMD_NORM /* Euclidean */
} simd_reduction;

typedef struct simd_reduce {
    const void *x;
    void *y;
    int64_t rows, width; /* width > 0 */
    simd_reduction how;
    int64_t correction;
    int threads;
    double *partial; /* [rows, simd_reduce_pieces], where these are several */
} simd_reduce;

/* Long rows are cut into pieces, so that threads can share them; but not for variances. */
enum { SIMD_REDUCE_PIECE = 1 << 14 };
static inline int64_t simd_reduce_pieces(simd_reduction how, int64_t width)
{
    return how == SIMD_VAR ? 1 : (width + SIMD_REDUCE_PIECE - 1) / SIMD_REDUCE_PIECE;
}

/* The same where x is [outer, middle, inner]: over the middle, y [outer, inner], or over both ends,
 * y [middle]; see reduce_axes.c.  With inner 1, rows are SIMD_SHORT_ROW numbers at most. */
enum { SIMD_SHORT_ROW = 32 };
typedef struct simd_reduce_axes {
    const void *x;
    void *y;
    int64_t outer, middle, inner; /* none 0 */
    bool ends;
    simd_reduction how;
    int64_t correction; /* of var */
    int threads;
} simd_reduce_axes;

/* Maxima of the windows of each plane, and where in the plane they are; see pool.c. */
typedef struct simd_pool {
    const void *x;
    void *y;
    int64_t *index;
    int64_t planes;
    simd_window h, w; /* planes below 2^31 numbers */
    int threads;
} simd_pool;

/* Means of the windows of each plane, from x to y, and the gradient, from dy to dx; see
 * mean_pool.c. */
typedef struct simd_mean_pool {
    const void *from;
    void *to;
    int64_t planes;
    simd_window h, w;     /* rows of up to SIMD_MEAN_POOL_COLUMNS numbers, unless h.kernel is 1 */
    bool exclude_padding; /* from what a window's sum is divided by */
    int threads;
} simd_mean_pool;

enum { SIMD_MEAN_POOL_COLUMNS = 4096 };

/* x[plane, index[o]] = sum of y[plane, o]; *failed is set if an index is outside the plane. */
typedef struct simd_pool_scatter {
    const void *y;
    const int64_t *index;
    void *x;
    int64_t planes, size, windows; /* size: numbers of a plane of x */
    int threads;
    bool *failed;
} simd_pool_scatter;

/* q = round(x / scale), scale = max |x| / steps of each row; max |x| <= least: q = 0, scale 0.  As
 * wengert/ops/quantize.h says. */
typedef struct simd_quantize {
    const float *x;
    int8_t *q;
    float *scale; /* [rows] */
    int64_t rows, width;
    float steps, min;
    int threads;
} simd_quantize;

/* See int8.c.  x [rows, width], weight [outputs, width], y [rows, outputs]; scratch:
 * simd_int8_scratch bytes, aligned to 64. */
typedef struct simd_int8 {
    const int8_t *x, *weight;
    const float *x_scale, *weight_scale, *bias; /* bias NULL: none */
    float *y;
    int64_t rows, width, outputs;
    bool relu;
    int threads;
    void *scratch;
} simd_int8;

/* Of the instruction set that needs most: numbers of 16 bits, panels of 64 outputs. */
static inline size_t simd_int8_scratch(int64_t rows, int64_t width, int threads)
{
    size_t padded = ((size_t)width + 3) / 4 * 4, one_row = padded * sizeof(int32_t);
    return ((size_t)rows * sizeof(int32_t) + 63) / 64 * 64 +
           ((size_t)rows * one_row + 63) / 64 * 64 + (size_t)threads * 64 * one_row;
}

/* The k > 0 largest of log_softmax(y) for such an y, and which outputs they are; see int8_topk.c
 * and topk.h.  Scratch: simd_int8_topk_panels bytes, and simd_topk_scratch bytes at `best`. */
typedef struct simd_int8_topk {
    const int8_t *x, *weight;
    const float *x_scale, *weight_scale, *bias;
    float *values;
    int64_t *ids;
    int64_t rows, width, outputs, k;
    int threads;
    void *panels, *best;
} simd_int8_topk;

/* See embedding.c.  dw [rows, width], dy [count, width], every id in [0, rows). */
typedef struct simd_embedding {
    const float *dy;
    float *dw;
    const int64_t *ids64; /* [count], or NULL: */
    const int32_t *ids32;
    int64_t rows, count, width;
    int threads;
} simd_embedding;

/* Work on several tensors is shared out by pieces of so many elements. */
enum { SIMD_PIECE = 1 << 14 };
static inline int64_t simd_pieces(int64_t count)
{
    return (count + SIMD_PIECE - 1) / SIMD_PIECE;
}

/* See adam.c.  The new tensors may be the old ones of the same parameter. */
typedef struct simd_adam_tensor {
    const void *p, *g, *m, *v;
    void *new_p, *new_m, *new_v;
    int64_t count;
} simd_adam_tensor;

typedef struct simd_adam {
    const simd_adam_tensor *tensor;
    int64_t n_tensors;
    double beta1, beta2, share1, share2, eps, rate, root_scale;
    double factor; /* of every gradient                */
    double shrink; /* AdamW: lr decay; else 0          */
    double decay;  /* Adam with L2: added to g; else 0 */
    int threads;
} simd_adam;

/* See sgd.c.  velocity NULL: no momentum.  The new tensors may be the old ones. */
typedef struct simd_sgd {
    const void *p, *g, *velocity;
    void *new_p, *new_velocity;
    int64_t count;
    double rate, momentum, decay;
    bool nesterov;
    int threads;
} simd_sgd;

/* y = the Euclidean norm of all spans together; see adam.c.  partial has a place for each of their
 * pieces. */
typedef struct simd_span {
    const void *data;
    int64_t count;
} simd_span;

typedef struct simd_spans {
    const simd_span *span;
    int64_t n_spans;
    double *partial;
    void *y;
    int threads;
} simd_spans;

#define SIMD_INTEGER_KERNELS(X)                                                                    \
    X(quantize, simd_quantize)                                                                     \
    X(int8_linear, simd_int8)                                                                      \
    X(int8_topk, simd_int8_topk)                                                                   \
    X(screened_topk, simd_screened_topk)                                                           \
    X(approximate_classes, simd_screened_topk)

#define SIMD_OTHER_KERNELS(X)                                                                      \
    X(attention_forward, simd_attention)                                                           \
    X(attention_backward, simd_attention)                                                          \
    X(paged_attention, simd_paged)                                                                 \
    X(topk, simd_topk)                                                                             \
    X(linear_topk, simd_linear_topk)                                                               \
    X(pack_classes, simd_linear_topk)                                                              \
    X(layernorm_forward, simd_norm)                                                                \
    X(layernorm_backward, simd_norm)                                                               \
    X(channel_norm_forward, simd_channel_norm)                                                     \
    X(channel_norm_backward, simd_channel_norm)                                                    \
    X(column_norm_forward, simd_channel_norm)                                                      \
    X(column_norm_backward, simd_channel_norm)                                                     \
    X(group_runs_forward, simd_channel_norm)                                                       \
    X(group_runs_backward, simd_channel_norm)                                                      \
    X(resample, simd_resample)                                                                     \
    X(scan_forward, simd_scan)                                                                     \
    X(scan_backward, simd_scan)                                                                    \
    X(recurrent_forward, simd_recurrent)                                                           \
    X(recurrent_backward, simd_recurrent)                                                          \
    X(select_rows, simd_select)                                                                    \
    X(sort, simd_sort)                                                                             \
    X(cast, simd_cast)                                                                             \
    X(uniform, simd_random)                                                                        \
    X(normal, simd_random)                                                                         \
    X(embedding_grad, simd_embedding)                                                              \
    X(fold, simd_fold)                                                                             \
    X(linear_loss, simd_loss)                                                                      \
    X(winograd_forward, simd_conv)                                                                 \
    X(winograd_grad_x, simd_conv)                                                                  \
    X(winograd_grad_w, simd_conv)

/* Of amx/ */
#define SIMD_AMX_KERNELS(X) X(amx_product, simd_product)

/* Of float/: for f32 and for f64 */
#define SIMD_FLOAT_KERNELS(X)                                                                      \
    X(adam, simd_adam)                                                                             \
    X(arg, simd_arg)                                                                               \
    X(column_sum, simd_columns)                                                                    \
    X(compare, simd_compare)                                                                       \
    X(conv_forward, simd_conv)                                                                     \
    X(conv_grad_x, simd_conv)                                                                      \
    X(conv_grad_w, simd_conv)                                                                      \
    X(cumulate, simd_cumulate)                                                                     \
    X(direct_forward, simd_conv)                                                                   \
    X(direct_grad_x, simd_conv)                                                                    \
    X(direct_grad_w, simd_conv)                                                                    \
    X(dropout, simd_dropout)                                                                       \
    X(elementwise, simd_elementwise)                                                               \
    X(log_softmax, simd_softmax)                                                                   \
    X(max_pool, simd_pool)                                                                         \
    X(mean_pool, simd_mean_pool)                                                                   \
    X(mean_pool_grad, simd_mean_pool)                                                              \
    X(norm, simd_spans)                                                                            \
    X(pack_product, simd_product)                                                                  \
    X(permute, simd_permute)                                                                       \
    X(pool_scatter, simd_pool_scatter)                                                             \
    X(product, simd_product)                                                                       \
    X(reduce, simd_reduce)                                                                         \
    X(reduce_axes, simd_reduce_axes)                                                               \
    X(row_losses, simd_row_losses)                                                                 \
    X(sgd, simd_sgd)                                                                               \
    X(softmax, simd_softmax)                                                                       \
    X(steps, simd_steps)                                                                           \
    X(vectors, simd_tiny)                                                                          \
    X(tiny, simd_tiny)                                                                             \
    X(where, simd_where)

#ifdef SIMD_SUFFIX
#define X(name, args) void SIMD(name)(const args *);
SIMD_INTEGER_KERNELS(X)
#if defined(SIMD_AMX)
SIMD_AMX_KERNELS(X)
#endif
#undef X
#define X(name, args) void SIMD_OTHER(name)(const args *);
SIMD_OTHER_KERNELS(X)
SIMD_FLOAT_KERNELS(X)
#undef X
#endif

typedef struct simd_float_table {
#define X(name, args) void (*name)(const args *);
    SIMD_FLOAT_KERNELS(X)
#undef X
} simd_float_table;

typedef struct simd_table {
    const char *isa; /* "base", "avx2", "avx512", "avx512vnni", "amx" */
    const simd_float_table *f32, *f64;
#define X(name, args) void (*name)(const args *);
    SIMD_INTEGER_KERNELS(X)
    SIMD_OTHER_KERNELS(X)
    SIMD_AMX_KERNELS(X) /* NULL but in that for AMX */
#undef X
} simd_table;

extern const simd_table wgi_simd_table_base, wgi_simd_table_avx2, wgi_simd_table_avx512,
    wgi_simd_table_avx512vnni, wgi_simd_table_amx;

#endif
