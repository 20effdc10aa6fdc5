/* Tiles of attention: the weights of some query rows, which stay in the cache, and their
 * cotangents.  attention.c says what is computed of them, and why so. */
#ifndef WG_BACKENDS_SIMD_KERNELS_ATTENTION_TILE_H
#define WG_BACKENDS_SIMD_KERNELS_ATTENTION_TILE_H

#include "backends/simd/kernels/exp.h"
#include "backends/simd/kernels/gemm.h"
#include "backends/simd/kernels/mask.h"
#include "backends/simd/kernels/small.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/transpose.h"

#include <math.h>

/* Few enough to share work evenly, not so few that asking for them costs more than short ones. */
static inline int64_t tasks_at_a_time(int64_t tasks, int threads)
{
    return 1 + tasks / (32 * (int64_t)threads);
}

static inline int64_t visible_keys(const simd_attention *a, int64_t b)
{
    return a->lengths64 ? a->lengths64[b] : a->lengths32 ? a->lengths32[b] : a->S;
}

static inline float *head(const simd_heads *x, int64_t b, int64_t h, int64_t t)
{
    return x->data + b * x->batch + h * x->head + t * x->row;
}

/* The keys from ... to - 1. */
typedef struct keys_of {
    int64_t from, to;
} keys_of;

/* What row t may see of the first `visible` keys.  Both ends grow with t. */
static inline keys_of row_keys(const simd_attention *a, int64_t t, int64_t visible)
{
    int64_t from = t + a->first, to = t + a->last + 1;
    to = to < 0 ? 0 : to < visible ? to : visible;
    from = from < 0 ? 0 : from < to ? from : to;
    return (keys_of){from, to};
}

/* Some rows of one head, and room for their weights. */
typedef struct tile {
    int64_t b, h, t, rows; /* t ... t + rows - 1 of head h of example b */
    int64_t visible;       /* keys within the length */
    keys_of keys;          /* that some row sees */
    float *p;              /* [rows, ld] */
    int64_t ld;
    float *more; /* [rows, ld] for the cotangents of p, then the mask's numbers */
    float *room; /* for products */
} tile;

/* At the first rows of its head, with the room of thread `me`. */
static inline tile first_tile(const simd_attention *a, int me, int64_t b, int64_t h)
{
    simd_tile most = simd_attention_tile(a->T, a->S, a->last - a->first + 1);
    int64_t each = simd_attention_scratch(a->T, a->S, a->last - a->first + 1, a->d, a->d_v);
    tile w = {.b = b, .h = h, .visible = visible_keys(a, b), .ld = simd_attention_ld(most)};
    w.p = a->scratch + me * each;
    w.more = w.p + most.rows * w.ld;
    w.room = w.p + simd_attention_room(most);
    return w;
}

/* The same room for the rows t ... t + rows - 1. */
static inline tile tile_at(const simd_attention *a, const tile *w, int64_t t, int64_t rows)
{
    tile part = *w;
    part.t = t;
    part.rows = rows;
    part.keys =
        (keys_of){row_keys(a, t, w->visible).from, row_keys(a, t + rows - 1, w->visible).to};
    return part;
}

/* Rows of scores have room for whole vectors, and are worked on in these: short rows have few
 * elements besides. */
static inline int64_t whole_vectors(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* `count` of the mask's numbers, and zeros where a row's whole vectors go beyond them. */
static const uint16_t *draw(const simd_attention *a, uint64_t first, int64_t count, uint16_t *room)
{
    uint16_t *end = room + first % SIMD_MASK_GROUP + count;
    const uint16_t *number = simd_mask_range(&a->mask, first, (uint64_t)count, room);
    memset(end, 0, 16 * sizeof *end);
    return number;
}

/* The mask's numbers of the tile's keys in row i, and others to the end of a vector.  Those of a
 * tile that sees all keys are drawn at once, with row 0. */
static const uint16_t *row_mask(const simd_attention *a, const tile *w, int64_t i, int64_t rows)
{
    simd_tile most = simd_attention_tile(a->T, a->S, a->last - a->first + 1);
    uint16_t *room = (uint16_t *)(w->more + most.rows * w->ld);
    uint64_t first = (uint64_t)(((w->b * a->heads + w->h) * a->T + w->t) * a->S);
    if (!a->mask.keep)
        return NULL;
    if (most.keys < a->S)
        return draw(a, first + (uint64_t)(i * a->S + w->keys.from), w->keys.to - w->keys.from,
                    room);
    if (i == 0)
        draw(a, first, rows * a->S, room);
    return room + first % SIMD_MASK_GROUP + i * a->S + w->keys.from;
}

/* x = dropout(x) for a row of n; no mask, no change. */
static inline void drop_row(const simd_attention *a, const uint16_t *number, float *x, int64_t n)
{
    int32_t keep = (int32_t)a->mask.keep;
    float scale = (float)a->mask.scale;
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        x[j] = (int32_t)number[j] < keep ? x[j] * scale : 0.0f;
}

enum {
    TOGETHER = SIMD_LANES == 16 ? 4 : 2, /* rows of a softmax: one alone would wait for its sums */
    LANES = 16,
};

static inline void fill(float *s, int64_t from, int64_t to, float value)
{
    for (int64_t j = from; j < to; j++)
        s[j] = value;
}

/* Zeros from s[n] to the end of its vector, without a call of memset. */
static inline void zero_tail(float *s, int64_t n)
{
    float *last = s + (whole_vectors(n) - LANES);
    int32_t kept = (int32_t)(n - (last - s));
#pragma omp simd
    for (int32_t l = 0; l < LANES; l++)
        last[l] = l < kept ? last[l] : 0;
}

/* The larger of two, or of all lanes.  A comparison drops NaN; the sum of exps does not. */
SIMD_INLINE float larger(float x, float y)
{
    return x > y ? x : y;
}

SIMD_INLINE float largest(const float *x)
{
    float eight[8], four[4];
    for (int l = 0; l < 8; l++)
        eight[l] = larger(x[l], x[8 + l]);
    for (int l = 0; l < 4; l++)
        four[l] = larger(eight[l], eight[4 + l]);
    return larger(larger(four[0], four[2]), larger(four[1], four[3]));
}

SIMD_INLINE float sum_of_lanes(const float *x)
{
    float eight[8], four[4];
    for (int l = 0; l < 8; l++)
        eight[l] = x[l] + x[8 + l];
    for (int l = 0; l < 4; l++)
        four[l] = eight[l] + eight[4 + l];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* Takes the largest of the keys from ... to - 1, whole vectors, of each row into its lanes.  With
 * `hides`, -inf, of which exp makes 0, takes the place of what the row does not see. */
SIMD_INLINE void take_largest(float *s, int64_t ld, const keys_of *seen, int rows, int64_t from,
                              int64_t to, bool hides, float (*lane)[LANES])
{
    for (int64_t j = from; j < to; j += LANES) {
        SIMD_UNROLLED
        for (int r = 0; r < rows; r++) {
            float *x = s + r * ld + j;
            int32_t first = (int32_t)(seen[r].from - j), end = (int32_t)(seen[r].to - j);
#pragma omp simd
            for (int32_t l = 0; l < LANES; l++) {
                float y = !hides || (l >= first && l < end) ? x[l] : -INFINITY;
                if (hides)
                    x[l] = y;
                lane[r][l] = larger(y, lane[r][l]);
            }
        }
    }
}

/* softmax in place of the keys that each of `rows` rows of s sees; zeros elsewhere, up to `width`,
 * whole vectors.  No visible key gives zeros.  `rows` is a constant where this is called. */
SIMD_INLINE void softmax_rows(float *s, int64_t ld, const keys_of *seen, int rows, int64_t width)
{
    float lane[TOGETHER][LANES], top[TOGETHER], factor[TOGETHER];
    keys_of some = seen[0], all = seen[0]; /* vectors of which a row sees some, all rows all */
    for (int r = 0; r < rows; r++) {
        some.from = seen[r].from < some.from ? seen[r].from : some.from;
        some.to = seen[r].to > some.to ? seen[r].to : some.to;
        all.from = seen[r].from > all.from ? seen[r].from : all.from;
        all.to = seen[r].to < all.to ? seen[r].to : all.to;
        fill(lane[r], 0, LANES, -INFINITY);
    }
    some = (keys_of){some.from / LANES * LANES, whole_vectors(some.to)};
    all = (keys_of){whole_vectors(all.from), all.to / LANES * LANES};
    if (all.from >= all.to)
        all = (keys_of){some.to, some.to};
    take_largest(s, ld, seen, rows, some.from, all.from, true, lane);
    take_largest(s, ld, seen, rows, all.from, all.to, false, lane);
    take_largest(s, ld, seen, rows, all.to, some.to, true, lane);
    for (int r = 0; r < rows; r++) {
        top[r] = largest(lane[r]);
        top[r] = top[r] == -INFINITY ? 0 : top[r];
        fill(lane[r], 0, LANES, 0);
    }
    for (int64_t j = some.from; j < some.to; j += LANES) {
        SIMD_UNROLLED
        for (int r = 0; r < rows; r++) {
            float *x = s + r * ld + j;
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                x[l] = simd_exp(x[l] - top[r]);
                lane[r][l] += x[l];
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        float sum = sum_of_lanes(lane[r]);
        factor[r] = sum > 0 || sum != sum ? 1 / sum : 0;
    }
    for (int r = 0; r < rows; r++) {
        float *x = s + r * ld;
#pragma omp simd
        for (int64_t j = some.from; j < some.to; j++)
            x[j] *= factor[r];
        fill(x, 0, some.from, 0);
        fill(x, some.to, width, 0);
    }
}

/* c = alpha a b', small: through a transposed copy of b, whose columns are made up to whole vectors
 * by zeros. */
static inline void small_by_transpose(int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                                      int64_t lda, const float *b, int64_t ldb, float *c,
                                      int64_t ldc)
{
    float turned[SIMD_SMALL * SIMD_SMALL];
    int64_t columns = (n + SIMD_SMALL_COLUMNS - 1) / SIMD_SMALL_COLUMNS * SIMD_SMALL_COLUMNS;
    simd_transpose_matrix(b, ldb, n, k, turned, columns);
    for (int64_t i = 0; i < k; i++)
        zero_tail(turned + i * columns, n);
    simd_small_product(&(simd_small){.m = m,
                                     .n = columns,
                                     .k = k,
                                     .alpha = alpha,
                                     .a = a,
                                     .a_row = lda,
                                     .a_step = 1,
                                     .b = turned,
                                     .ldb = columns,
                                     .c = c,
                                     .ldc = ldc});
}

/* c = alpha op(a) b + beta c, small, with these b and c of n columns, whole vectors */
static inline void small_product(const simd_product *p, int64_t n, const float *b, int64_t ldb,
                                 float *c, int64_t ldc)
{
    simd_small_product(&(simd_small){.m = p->m,
                                     .n = n,
                                     .k = p->k,
                                     .alpha = (float)p->alpha,
                                     .a = p->a,
                                     .a_row = p->ta ? 1 : p->lda,
                                     .a_step = p->ta ? p->lda : 1,
                                     .b = b,
                                     .ldb = ldb,
                                     .add = p->beta != 0,
                                     .c = c,
                                     .ldc = ldc});
}

/* The same where rows are no whole vectors, through copies that are.  A library's product could
 * have other bits for other numbers of rows: of the same sentence, padded otherwise. */
static inline void small_by_copies(const simd_product *p)
{
    float b[SIMD_SMALL * SIMD_SMALL], c[SIMD_SMALL * SIMD_SMALL];
    size_t row = (size_t)p->n * sizeof(float);
    int64_t columns = (p->n + SIMD_LANES - 1) / SIMD_LANES * SIMD_LANES;
    for (int64_t i = 0; i < p->k; i++) {
        memcpy(b + i * columns, simd_product_b(p, i, 0), row);
        fill(b, i * columns + p->n, (i + 1) * columns, 0);
    }
    for (int64_t i = 0; p->beta != 0 && i < p->m; i++)
        memcpy(c + i * columns, simd_product_c(p, i, 0), row);
    small_product(p, columns, b, columns, c, columns);
    for (int64_t i = 0; i < p->m; i++)
        memcpy(simd_product_c(p, i, 0), c + i * columns, row);
}

/* beta is 0 or 1.  With b transposed, c's rows have room for n made up to a multiple of 16. */
static inline void gemm(const simd_product *p, bool *failed)
{
    bool small = simd_is_small(p->m, p->n, p->k);
    if (small && p->tb)
        small_by_transpose(p->m, p->n, p->k, (float)p->alpha, p->a, p->lda, p->b, p->ldb, p->c,
                           p->ldc);
    else if (small && p->n % SIMD_LANES == 0)
        small_product(p, p->n, p->b, p->ldb, p->c, p->ldc);
    else if (small)
        small_by_copies(p);
    else
        simd_gemm(p, failed);
}

static inline bool finite_rows(const float *x, int64_t rows, int64_t columns, int64_t stride)
{
    simd_vector sums = {0}; /* of x 0: NaN if any is not finite */
    float sum = 0;
    int64_t whole = columns / SIMD_LANES * SIMD_LANES;
    for (int64_t i = 0; i < rows; i++, x += stride) {
        for (int64_t j = 0; j < whole; j += SIMD_LANES)
            sums += *(const simd_vector *)(x + j) * 0.0f;
        for (int64_t j = whole; j < columns; j++)
            sum += x[j] * 0.0f;
    }
    for (int i = 0; i < SIMD_LANES; i++)
        sum += sums[i];
    return sum == 0;
}

static inline void zero_rows(float *x, int64_t rows, int64_t columns, int64_t stride)
{
    for (int64_t i = 0; i < rows; i++)
        memset(x + i * stride, 0, (size_t)columns * sizeof *x);
}

/* s += bias for the tile's keys in row t. */
static inline void add_bias(const simd_attention *a, const tile *w, int64_t t, float *restrict s)
{
    const float *restrict bias = head(&a->bias, w->b, w->h, t) + w->keys.from * a->bias_step;
    int64_t n = w->keys.to - w->keys.from;
    if (a->bias_step == 0) {
        float added = *bias;
        for (int64_t j = 0; j < n; j++)
            s[j] += added;
        return;
    }
    for (int64_t j = 0; j < n; j++)
        s[j] += bias[j];
}

/* Rows i ... i + rows - 1 of P from those of S */
SIMD_INLINE void softmax_of(const simd_attention *a, const tile *w, int64_t i, int rows)
{
    keys_of seen[TOGETHER];
    for (int r = 0; r < rows; r++) { /* of the tile's keys */
        keys_of k = row_keys(a, w->t + i + r, w->visible);
        seen[r].from = k.from > w->keys.from ? k.from - w->keys.from : 0;
        seen[r].to = k.to > w->keys.from ? k.to - w->keys.from : 0;
    }
    softmax_rows(w->p + i * w->ld, w->ld, seen, rows, whole_vectors(w->keys.to - w->keys.from));
}

/* P of the tile, [rows, keys], and zeros to the end of their vector. */
static inline void weights(const simd_attention *a, const tile *w)
{
    int64_t keys = w->keys.to - w->keys.from;
    gemm(&(simd_product){w->rows, keys, a->d, a->scale, head(&a->q, w->b, w->h, w->t), a->q.row,
                         false, head(&a->k, w->b, w->h / a->groups, w->keys.from), a->k.row, true,
                         0, w->p, w->ld, NULL, false, 1, w->room, NULL, false},
         a->failed);
    for (int64_t i = 0; a->bias.data && i < w->rows; i++)
        add_bias(a, w, w->t + i, w->p + i * w->ld);
    int64_t i = 0;
    for (; i + TOGETHER <= w->rows; i += TOGETHER)
        softmax_of(a, w, i, TOGETHER);
    for (; i < w->rows; i++)
        softmax_of(a, w, i, 1);
}

/* Whether the keys of x that only some rows of the tile see are finite. */
static inline bool finite_where_hidden(const simd_attention *a, const tile *w, const simd_heads *x,
                                       int64_t width)
{
    int64_t kv = w->h / a->groups, from = row_keys(a, w->t + w->rows - 1, w->visible).from,
            to = row_keys(a, w->t, w->visible).to; /* all rows see those between */
    from = from < w->keys.to ? from : w->keys.to;
    to = to > from ? to : from;
    return finite_rows(head(x, w->b, kv, w->keys.from), from - w->keys.from, width, x->row) &&
           finite_rows(head(x, w->b, kv, to), w->keys.to - to, width, x->row);
}

/* Rows of a tile, and how many tiles a head has.  Where later rows see more keys, a short tile
 * leaves out more of what its rows do not see; long products want more rows. */
enum { CAUSAL_ROWS = 32, CAUSAL_LONG = 256 };
typedef struct tiling {
    const simd_attention *a;
    int64_t rows, tiles;
} tiling;

static inline tiling tiling_of(const simd_attention *a)
{
    int64_t rows = simd_attention_tile(a->T, a->S, a->last - a->first + 1).rows;
    int64_t few = a->S > CAUSAL_LONG ? 2 * CAUSAL_ROWS : CAUSAL_ROWS;
    if (a->last + 1 < a->S && rows > few)
        rows = few;
    return (tiling){a, rows, rows ? (a->T + rows - 1) / rows : 0};
}

/* ---- cotangents ------------------------------------------------------------------------------ */

/* P and the cotangent of dropout(P), in place of dP, give dropout(P), in place of P, and dS. */
static inline void backward_dropped_row(const simd_attention *a, const uint16_t *number, float *p,
                                        float *dp, int64_t n)
{
    int32_t keep = (int32_t)a->mask.keep;
    float scale = (float)a->mask.scale, dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t j = 0; j < n; j++) {
        float kept = (int32_t)number[j] < keep ? scale : 0.0f;
        dp[j] *= kept;
        dot += p[j] * dp[j];
    }
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        float kept = (int32_t)number[j] < keep ? scale : 0.0f, weight = p[j];
        p[j] = weight * kept;
        dp[j] = weight * (dp[j] - dot) * a->scale;
    }
}

/* The same without dropout: dS from P and dP, in place of dP. */
static inline void backward_row(const float *p, float *dp, int64_t n, float scale)
{
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t j = 0; j < n; j++)
        dot += p[j] * dp[j];
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        dp[j] = p[j] * (dp[j] - dot) * scale;
}

/* dropout(P) in place of P, and dS in place of dP. */
static inline void score_cotangents(const simd_attention *a, const tile *w)
{
    int64_t keys = w->keys.to - w->keys.from, columns = whole_vectors(keys);
    for (int64_t i = 0; i < w->rows; i++) {
        float *p = w->p + i * w->ld, *dp = w->more + i * w->ld;
        zero_tail(dp, keys);
        if (a->mask.keep)
            backward_dropped_row(a, row_mask(a, w, i, w->rows), p, dp, columns);
        else
            backward_row(p, dp, columns, a->scale);
    }
}

#endif
