/* The kernels of the simd backend.
 *
 * Each source of this folder is written once and compiled for the baseline, for AVX2 and for
 * AVX-512: SIMD(name) is wgi_simd_name_base, _avx2 or _avx512.  Those with products of integers are
 * also compiled for both with VNNI, _avx2vnni and _avx512vnni, where SIMD_OTHERS, of all other
 * kernels, is avx2 or avx512; and again for AMX, _amx, together with amx/, which has a product of
 * f32.
 * Those of float/ are compiled for f32 like the others and once more for f64 (real.h), _base_f64
 * and so on.  Loops are plain C that the compiler vectorises.
 *
 * The parameters of each kernel, and the tables of all.  Parameters of a subject are in its header,
 * which this includes. */
#ifndef WG_BACKENDS_SIMD_KERNELS_KERNELS_H
#define WG_BACKENDS_SIMD_KERNELS_KERNELS_H

#include "backends/simd/kernels/attention.h"
#include "backends/simd/kernels/axis.h"
#include "backends/simd/kernels/conv.h"
#include "backends/simd/kernels/elements.h"
#include "backends/simd/kernels/fft.h"
#include "backends/simd/kernels/loss.h"
#include "backends/simd/kernels/norm.h"
#include "backends/simd/kernels/product.h"
#include "backends/simd/kernels/resample.h"
#include "backends/simd/kernels/scatter.h"

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
    X(attention_bias, simd_attention)                                                              \
    X(paged_attention, simd_paged)                                                                 \
    X(topk, simd_topk)                                                                             \
    X(linear_topk, simd_linear_topk)                                                               \
    X(pack_classes, simd_linear_topk)                                                              \
    X(layernorm_forward, simd_norm)                                                                \
    X(layernorm_backward, simd_norm)                                                               \
    X(layernorm_f64_forward, simd_norm_f64)                                                        \
    X(layernorm_f64_backward, simd_norm_f64)                                                       \
    X(resample, simd_resample)                                                                     \
    X(scan_forward, simd_scan)                                                                     \
    X(scan_backward, simd_scan)                                                                    \
    X(recurrent_forward, simd_recurrent)                                                           \
    X(recurrent_backward, simd_recurrent)                                                          \
    X(select_rows, simd_select)                                                                    \
    X(sort, simd_sort)                                                                             \
    X(divide, simd_divide)                                                                         \
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
    X(channel_norm_forward, simd_channel_norm)                                                     \
    X(channel_norm_backward, simd_channel_norm)                                                    \
    X(column_norm_forward, simd_channel_norm)                                                      \
    X(column_norm_backward, simd_channel_norm)                                                     \
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
    X(fft, simd_fft)                                                                               \
    X(gather, simd_gather)                                                                         \
    X(group_runs_forward, simd_channel_norm)                                                       \
    X(group_runs_backward, simd_channel_norm)                                                      \
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
    X(scatter, simd_scatter)                                                                       \
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
    const char *isa; /* "base", "avx2", "avx2vnni", "avx512", "avx512vnni", "amx" */
    const simd_float_table *f32, *f64;
#define X(name, args) void (*name)(const args *);
    SIMD_INTEGER_KERNELS(X)
    SIMD_OTHER_KERNELS(X)
    SIMD_AMX_KERNELS(X) /* NULL but in that for AMX */
#undef X
} simd_table;

extern const simd_table wgi_simd_table_base, wgi_simd_table_avx2, wgi_simd_table_avx2vnni,
    wgi_simd_table_avx512, wgi_simd_table_avx512vnni, wgi_simd_table_amx;

#endif
