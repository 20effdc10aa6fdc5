/* Attention of single queries over keys and values at slots of a pool, as a decoder has it.  One
 * thread does a row, in one order, so its bits depend neither on the other rows nor on the number
 * of threads. */
#include "backends/simd/kernels/exp.h"
#include "backends/simd/kernels/small.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

/* ---- paged attention ------------------------------------------------------------------------- */

static int64_t id_at(const int64_t *wide, const int32_t *narrow, int64_t i)
{
    return wide ? wide[i] : narrow[i];
}

static const float *slot_of(const simd_paged *a, const float *pool, int64_t width, int64_t r,
                            int64_t i)
{
    return pool + id_at(a->slots64, a->slots32, r * a->max + i) * width;
}

static int64_t length_of(const simd_paged *a, int64_t r)
{
    return id_at(a->lengths64, a->lengths32, r);
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum { CHUNK = 16 /* slots */, LINE = 64 / sizeof(float), MAX_LINES = 256 };

/* Slots lie anywhere, so a chunk of row r's slots is prefetched at once, except for those that the
 * row before it also has: adjacent rows are mostly hypotheses of one sentence, which share its
 * source and their beginnings.  (Inlined, since compilers take a function that only prefetches for
 * one that does nothing.) */
SIMD_INLINE void ask_for(const simd_paged *a, const float *pool, int64_t width, int64_t r,
                         int64_t first)
{
    int64_t n = length_of(a, r), end = n - first < CHUNK ? n : first + CHUNK, lines = 0;
    for (int64_t i = first; i < end && lines < MAX_LINES; i++) {
        const float *x = slot_of(a, pool, width, r, i);
        if (r > 0 && i < length_of(a, r - 1) && x == slot_of(a, pool, width, r - 1, i))
            continue;
        for (int64_t j = 0; j < width; j += LINE, lines++)
            __builtin_prefetch(x + j);
    }
}

/* ---- scores ---------------------------------------------------------------------------------- */

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

/* q . k as four numbers that are still to be added up: sums across a vector are made for CHUNK
 * slots at once. */
static inline four products(const float *q, const float *k, int64_t d)
{
    simd_vector sum = {0};
    int64_t j = 0;
    for (; j + SIMD_LANES <= d; j += SIMD_LANES)
        sum += *(const simd_vector *)(q + j) * *(const simd_vector *)(k + j);
    four part[SIMD_LANES / 4];
    memcpy(part, &sum, sizeof sum);
    for (int half = SIMD_LANES / 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            part[i] += part[i + half];
    for (; j < d; j++)
        part[0][0] += q[j] * k[j];
    return part[0];
}

/* s[i] = scale q . (k[i] + at), i < CHUNK; there are n <= CHUNK of them. */
static inline void chunk_of_width(const float *q, const float *const *k, int64_t at, int64_t n,
                                  float scale, float *s, int64_t d)
{
    float sum[CHUNK][4] = {{0}};
    for (int64_t i = 0; i < n; i++)
        *(four *)sum[i] = products(q, k[i] + at, d);
    for (int64_t i = 0; i < CHUNK; i++)
        s[i] = scale * ((sum[i][0] + sum[i][2]) + (sum[i][1] + sum[i][3]));
}

/* The usual widths as constants, for which the compiler unrolls the loops over a head. */
static void chunk(const float *q, const float *const *k, int64_t at, int64_t n, float scale,
                  float *s, int64_t d)
{
    if (d == 32)
        chunk_of_width(q, k, at, n, scale, s, 32);
    else if (d == 64)
        chunk_of_width(q, k, at, n, scale, s, 64);
    else
        chunk_of_width(q, k, at, n, scale, s, d);
}

/* Of query r: s[h, i] = scale q[h] . k[slot i, h / groups] for its n slots. */
static void scores(const simd_paged *a, int64_t r, int64_t n, float *s)
{
    const float *q = a->q + r * a->heads * a->d, *k[CHUNK];
    int64_t stride = simd_paged_stride(a->max), kv_heads = a->heads / a->groups;
    for (int64_t first = 0; first < n; first += CHUNK) {
        int64_t some = n - first < CHUNK ? n - first : CHUNK;
        ask_for(a, a->k, kv_heads * a->d, r, first);
        ask_for(a, a->v, kv_heads * a->d_v, r, first);
        for (int64_t i = 0; i < some; i++)
            k[i] = slot_of(a, a->k, kv_heads * a->d, r, first + i);
        for (int64_t h = 0; h < a->heads; h++)
            chunk(q + h * a->d, k, h / a->groups * a->d, some, a->scale, s + h * stride + first,
                  a->d);
    }
}

/* ---- the weighted sum ------------------------------------------------------------------------ */

/* exp(s - max s) in place; returns 1 / their sum.  Up to a whole number of chunks s is filled with
 * -inf.  Lanes are put together by halves, as each row of the usual few keys is a sum of its
 * own. */
static float exponentials(float *s, int64_t keys)
{
    int64_t n = simd_paged_stride(keys);
    float top[CHUNK], sum[CHUNK] = {0};
    for (int64_t i = keys; i < n; i++)
        s[i] = -INFINITY;
    for (int i = 0; i < CHUNK; i++)
        top[i] = -INFINITY;
    for (int64_t c = 0; c < n; c += CHUNK)
#pragma omp simd
        for (int i = 0; i < CHUNK; i++)
            top[i] = s[c + i] > top[i] ? s[c + i] : top[i];
    for (int half = CHUNK / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            top[i] = top[i + half] > top[i] ? top[i + half] : top[i];
    float shift = top[0] == -INFINITY ? 0 : top[0];
    for (int64_t c = 0; c < n; c += CHUNK)
#pragma omp simd
        for (int i = 0; i < CHUNK; i++) {
            s[c + i] = simd_exp(s[c + i] - shift);
            sum[i] += s[c + i];
        }
    for (int half = CHUNK / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            sum[i] += sum[i + half];
    return sum[0] > 0 || sum[0] != sum[0] ? 1 / sum[0] : 0;
}

/* y = factor sum over i of s[i] (v of slot i), `vectors` vectors from column `at` of the slots
 * on. */
SIMD_INLINE void weigh(const simd_paged *a, int64_t r, int64_t n, const float *s, float factor,
                       int64_t width, int64_t at, float *y, int vectors)
{
    simd_vector sum[2][2] = {{{0}}}; /* of even and of odd slots */
    for (int64_t i = 0; i < n; i++) {
        const float *v = slot_of(a, a->v, width, r, i) + at;
        SIMD_UNROLLED
        for (int k = 0; k < vectors; k++)
            sum[0][k] += s[i] * *(const simd_vector *)(v + k * SIMD_LANES);
        if (++i == n)
            break;
        v = slot_of(a, a->v, width, r, i) + at;
        SIMD_UNROLLED
        for (int k = 0; k < vectors; k++)
            sum[1][k] += s[i] * *(const simd_vector *)(v + k * SIMD_LANES);
    }
    SIMD_UNROLLED
    for (int k = 0; k < vectors; k++)
        *(simd_vector *)(y + k * SIMD_LANES) = factor * (sum[0][k] + sum[1][k]);
}

static void add(const simd_paged *a, int64_t r, int64_t n, const float *s, float factor, int64_t h,
                float *y)
{
    int64_t width = a->heads / a->groups * a->d_v, at = h / a->groups * a->d_v, j = 0;
    for (; j + 2 * SIMD_LANES <= a->d_v; j += 2 * SIMD_LANES)
        weigh(a, r, n, s, factor, width, at + j, y + j, 2);
    for (; j + SIMD_LANES <= a->d_v; j += SIMD_LANES)
        weigh(a, r, n, s, factor, width, at + j, y + j, 1);
    for (; j < a->d_v; j++) {
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += s[i] * slot_of(a, a->v, width, r, i)[at + j];
        y[j] = factor * sum;
    }
}

static void attend(const void *args, int64_t r, int me)
{
    const simd_paged *a = args;
    float *s = a->scratch + me * a->heads * simd_paged_stride(a->max);
    int64_t n = length_of(a, r), stride = simd_paged_stride(a->max);
    scores(a, r, n, s);
    for (int64_t h = 0; h < a->heads; h++) {
        float *own = s + h * stride, inverse = exponentials(own, n);
        add(a, r, n, own, inverse, h, a->y + (r * a->heads + h) * a->d_v);
    }
}

void SIMD(paged_attention)(const simd_paged *a)
{
    simd_uneven_tasks(a->threads, a->rows, 16, attend, a);
}
