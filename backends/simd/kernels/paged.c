/* Attention of single queries over keys and values at slots of a pool, as a decoder has it.  One
 * thread does a row, in one order, so its bits depend neither on the other rows nor on the number
 * of threads. */
#include "backends/simd/kernels/exp.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/small.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

/* ---- slots ----------------------------------------------------------------------------------- */

enum { CHUNK = 16 /* slots */, LINE = 64 / sizeof(float), MAX_LINES = 512 };

static int64_t length_of(const simd_paged *a, int64_t r)
{
    return a->lengths64 ? a->lengths64[r] : a->lengths32[r];
}

/* The slots of row r from its `first` on, a chunk at most; returns how many. */
static int64_t slots_of(const simd_paged *a, int64_t r, int64_t first, int64_t *slot)
{
    int64_t n = simd_smaller(length_of(a, r) - first, CHUNK), at = r * a->max + first;
    for (int64_t i = 0; i < n; i++)
        slot[i] = a->slots64 ? a->slots64[at + i] : a->slots32[at + i];
    return n;
}

/* Floats of a slot */
static int64_t width_of(const simd_paged *a, int64_t head)
{
    return a->heads / a->groups * head;
}

/* Slots lie anywhere, so a chunk of them is prefetched at once, except for those that the row
 * before also has: adjacent rows are mostly hypotheses of one sentence, which share its source and
 * their beginnings.  (Inlined, since compilers take a function that only prefetches for one that
 * does nothing.) */
SIMD_INLINE void ask_for(const simd_paged *a, const int64_t *slot, int64_t n, const int64_t *before,
                         int64_t n_before)
{
    int64_t k_width = width_of(a, a->d), v_width = width_of(a, a->d_v);
    for (int64_t i = 0, lines = 0; i < n && lines < MAX_LINES; i++) {
        if (i < n_before && slot[i] == before[i])
            continue;
        for (int64_t j = 0; j < k_width; j += LINE, lines++)
            __builtin_prefetch(a->k + slot[i] * k_width + j);
        for (int64_t j = 0; j < v_width; j += LINE, lines++)
            __builtin_prefetch(a->v + slot[i] * v_width + j);
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
    float sum[CHUNK][4];
    for (int64_t i = 0; i < n; i++)
        *(four *)sum[i] = products(q, k[i] + at, d);
    for (int64_t i = n; i < CHUNK; i++)
        *(four *)sum[i] = (four){0};
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

/* Of query r: s[h, i] = scale q[h] . k[slot i, h / groups] for its n slots; v[i]: where the values
 * of slot i are. */
static void scores(const simd_paged *a, int64_t r, int64_t n, float *s, const float **v)
{
    const float *q = a->q + r * a->heads * a->d, *k[CHUNK];
    int64_t stride = simd_paged_stride(a->max), slot[CHUNK], before[CHUNK];
    for (int64_t first = 0; first < n; first += CHUNK) {
        int64_t some = slots_of(a, r, first, slot);
        ask_for(a, slot, some, before, r > 0 ? slots_of(a, r - 1, first, before) : 0);
        for (int64_t i = 0; i < some; i++) {
            k[i] = a->k + slot[i] * width_of(a, a->d);
            v[first + i] = a->v + slot[i] * width_of(a, a->d_v);
        }
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

enum { WIDE = 4 }; /* vectors of a weighted sum at most */

/* y = factor sum over i of s[i] v[i], `vectors` vectors from column `at` of v[i] on */
SIMD_INLINE void weigh(const float *const *v, int64_t n, const float *s, float factor, int64_t at,
                       float *y, int vectors)
{
    simd_vector sum[2][WIDE] = {{{0}}}; /* of even and of odd slots */
    for (int64_t i = 0; i < n; i++) {
        SIMD_UNROLLED
        for (int k = 0; k < vectors; k++)
            sum[0][k] += s[i] * *(const simd_vector *)(v[i] + at + k * SIMD_LANES);
        if (++i == n)
            break;
        SIMD_UNROLLED
        for (int k = 0; k < vectors; k++)
            sum[1][k] += s[i] * *(const simd_vector *)(v[i] + at + k * SIMD_LANES);
    }
    SIMD_UNROLLED
    for (int k = 0; k < vectors; k++)
        *(simd_vector *)(y + k * SIMD_LANES) = factor * (sum[0][k] + sum[1][k]);
}

/* The same of a head of `width` columns */
static void add(const float *const *v, int64_t n, const float *s, float factor, int64_t at,
                int64_t width, float *y)
{
    int64_t j = 0;
    for (; j + WIDE * SIMD_LANES <= width; j += WIDE * SIMD_LANES)
        weigh(v, n, s, factor, at + j, y + j, WIDE);
    for (; j + 2 * SIMD_LANES <= width; j += 2 * SIMD_LANES)
        weigh(v, n, s, factor, at + j, y + j, 2);
    for (; j + SIMD_LANES <= width; j += SIMD_LANES)
        weigh(v, n, s, factor, at + j, y + j, 1);
    for (; j < width; j++) {
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += s[i] * v[i][at + j];
        y[j] = factor * sum;
    }
}

static void attend(const void *args, int64_t r, int me)
{
    const simd_paged *a = args;
    float *s = a->scratch + me * simd_paged_scratch(a->heads, a->max);
    int64_t n = length_of(a, r), stride = simd_paged_stride(a->max);
    const float **v = (const float **)(s + a->heads * stride);
    scores(a, r, n, s, v);
    for (int64_t h = 0; h < a->heads; h++) {
        float *own = s + h * stride, inverse = exponentials(own, n);
        add(v, n, own, inverse, h / a->groups * a->d_v, a->d_v, a->y + (r * a->heads + h) * a->d_v);
    }
}

void SIMD(paged_attention)(const simd_paged *a)
{
    simd_uneven_tasks(a->threads, a->rows, 16, attend, a);
}
