/* Attention of single queries over keys and values at slots of a pool, as a decoder has it.  A row is done by one thread
 * in one order, so its bits depend neither on the other rows nor on the number of threads. */
#include "backends/onednn/fast/fast.h"

#include <math.h>
#include <omp.h>

#define X(name, args) void FAST(name)(const args *);
FAST_KERNELS(X)
#undef X

/* ---- paged attention -------------------------------------------------------------------------------------- */

static int64_t id_at(const int64_t *wide, const int32_t *narrow, int64_t i)
{
    return wide ? wide[i] : narrow[i];
}

enum { AHEAD = 3, LINE = 64 / sizeof(float) };

/* Slots lie anywhere: what comes next is asked for in time. */
static void prefetch(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += LINE)
        __builtin_prefetch(x + i);
}

static float dot(const float *a, const float *b, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* exp(s - max s) in place; returns 1 / their sum.  Up to a whole number of lanes s is filled with -inf, so that short
 * rows, which are the usual ones, go through vectors as well. */
static float exponentials(float *s, int64_t keys)
{
    int64_t n = fast_paged_stride(keys);
    for (int64_t i = keys; i < n; i++)
        s[i] = -INFINITY;
    float top = -INFINITY, sum = 0;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++)
        top = s[i] > top ? s[i] : top;
    top = top == -INFINITY ? 0 : top;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) {
        s[i] = fast_exp(s[i] - top);
        sum += s[i];
    }
    return sum > 0 || sum != sum ? 1 / sum : 0;
}

static const float *slot_of(const fast_paged *a, const float *pool, int64_t width, int64_t r,
                            int64_t i)
{
    return pool + id_at(a->slots64, a->slots32, r * a->most + i) * (a->heads / a->groups) * width;
}

/* Of query r: s[h, i] = scale q[h] . k[slot i, h / groups] for its n slots. */
static inline void scores_of_width(const fast_paged *a, int64_t r, int64_t n, float *s, int64_t d)
{
    const float *q = a->q + r * a->heads * d;
    int64_t stride = fast_paged_stride(a->most);
    for (int64_t i = 0; i < n; i++) {
        const float *k = slot_of(a, a->k, d, r, i);
        if (i + AHEAD < n)
            prefetch(slot_of(a, a->k, d, r, i + AHEAD), d * (a->heads / a->groups));
        prefetch(slot_of(a, a->v, a->d_v, r, i), a->d_v * (a->heads / a->groups));
        for (int64_t h = 0, g = 0, in_group = 0; h < a->heads; h++) {
            s[h * stride + i] = a->scale * dot(q + h * d, k + g * d, d);
            if (++in_group == a->groups)
                in_group = 0, g++;
        }
    }
}

/* y[h] += s[h, i] v[slot i, h / groups] */
static inline void add_of_width(const fast_paged *a, int64_t r, int64_t n, const float *s, float *y,
                                int64_t d)
{
    int64_t stride = fast_paged_stride(a->most);
    for (int64_t i = 0; i < n; i++) {
        const float *v = slot_of(a, a->v, d, r, i);
        for (int64_t h = 0, g = 0, in_group = 0; h < a->heads; h++) {
            float w = s[h * stride + i];
#pragma omp simd
            for (int64_t j = 0; j < d; j++)
                y[h * d + j] += w * v[g * d + j];
            if (++in_group == a->groups)
                in_group = 0, g++;
        }
    }
}

/* The usual widths as constants, for which the compiler unrolls the loops over a head. */
static void scores(const fast_paged *a, int64_t r, int64_t n, float *s)
{
    if (a->d == 32)
        scores_of_width(a, r, n, s, 32);
    else if (a->d == 64)
        scores_of_width(a, r, n, s, 64);
    else
        scores_of_width(a, r, n, s, a->d);
}

static void add(const fast_paged *a, int64_t r, int64_t n, const float *s, float *y)
{
    if (a->d_v == 32)
        add_of_width(a, r, n, s, y, 32);
    else if (a->d_v == 64)
        add_of_width(a, r, n, s, y, 64);
    else
        add_of_width(a, r, n, s, y, a->d_v);
}

static void attend(const fast_paged *a, int64_t r, int64_t n, float *s)
{
    float *y = a->y + r * a->heads * a->d_v;
    int64_t stride = fast_paged_stride(a->most);
    memset(y, 0, (size_t)(a->heads * a->d_v) * sizeof *y);
    scores(a, r, n, s);
    for (int64_t h = 0; h < a->heads; h++) {
        float inverse = exponentials(s + h * stride, n);
        for (int64_t i = 0; i < n; i++)
            s[h * stride + i] *= inverse;
    }
    add(a, r, n, s, y);
}

void FAST(paged_attention)(const fast_paged *a)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(a->threads)
    for (int64_t r = 0; r < a->rows; r++) {
        int64_t n = id_at(a->lengths64, a->lengths32, r);
        float *s = a->scratch + omp_get_thread_num() * a->heads * fast_paged_stride(a->most);
        attend(a, r, n < 0 ? 0 : n > a->most ? a->most : n, s);
    }
}
