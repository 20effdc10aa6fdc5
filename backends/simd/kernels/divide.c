/* floor(a / b) of integers, and what it leaves, a - b floor(a / b).
 *
 * Vectors divide no integers.  Of |a| and |b| below 2^51 both are made in double: a / b is a whole
 * number, or at least 1 / |b| away from one, 2^-51 of itself, and so is not rounded to one; and
 * b floor(a / b) is exact.  Larger numbers are divided one by one. */
#include "backends/simd/kernels/functions_f64.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/unrolled.h"

enum { STRIP = 512, FEW = 1 << 12 /* numbers that one thread divides */ };

static inline double double_of_i32(int32_t x)
{
    return (double)x;
}

/* Of |x| <= 2^51: the sum with the magic number has its digits below that number's. */
static inline double double_of_i64(int64_t x)
{
    return simd_double(simd_bits(SIMD_MAGIC) + (uint64_t)x) - SIMD_MAGIC;
}

/* The reverse */
static inline int64_t whole_of(double x)
{
    return (int64_t)(simd_bits(x + SIMD_MAGIC) - simd_bits(SIMD_MAGIC));
}

static inline bool has_large_i32(const int32_t *x, int64_t n)
{
    (void)x, (void)n;
    return false;
}

static inline bool has_large_i64(const int64_t *x, int64_t n)
{
    const uint64_t most = UINT64_C(1) << 51;
    uint64_t beyond = 0;
#pragma omp simd reduction(| : beyond)
    for (int64_t i = 0; i < n; i++)
        beyond |= ((uint64_t)x[i] + most) >> 52;
    return beyond != 0;
}

/* By C's quotient, which is rounded towards 0; the least integer by -1 wraps around. */
static inline int64_t divided(int64_t a, int64_t b, bool remainder)
{
    if (b == -1)
        return remainder ? 0 : (int64_t)(0 - (uint64_t)a);
    const int64_t q = a / b, r = a % b;
    const bool lacks = r != 0 && (r < 0) != (b < 0);
    return remainder ? (lacks ? r + b : r) : q - lacks;
}

/* Elements of a and b lie `a_step` and `b_step` apart, constants where this is called as is
 * `remainder`. */
#define STRIPS(name, type)                                                                         \
    SIMD_INLINE void strips_of_##name(const type *a, int a_step, const type *b, int b_step,        \
                                      type *y, int64_t n, bool remainder)                          \
    {                                                                                              \
        for (int64_t from = 0; from < n; from += STRIP) {                                          \
            const int64_t count = simd_smaller(STRIP, n - from);                                   \
            const type *u = a + from * a_step, *v = b + from * b_step;                             \
            type *to = y + from;                                                                   \
            if (has_large_##name(u, a_step ? count : 1) ||                                         \
                has_large_##name(v, b_step ? count : 1)) {                                         \
                for (int64_t i = 0; i < count; i++)                                                \
                    to[i] = (type)divided(u[i * a_step], v[i * b_step], remainder);                \
                continue;                                                                          \
            }                                                                                      \
            _Pragma("omp simd") for (int64_t i = 0; i < count; i++)                                \
            {                                                                                      \
                const double s = double_of_##name(u[i * a_step]),                                  \
                             t = double_of_##name(v[i * b_step]), q = floor(s / t);                \
                to[i] = (type)whole_of(remainder ? s - q * t : q);                                 \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SIMD_INLINE void row_of_##name(const simd_divide *d, const wgi_cursor *k, bool remainder)      \
    {                                                                                              \
        const type *a = (const type *)d->a + k->at[0], *b = (const type *)d->b + k->at[1];         \
        const type one_a = *a, one_b = *b; /* y may lie there */                                   \
        type *y = (type *)d->y + k->out;                                                           \
        if (d->rows->step[0] && d->rows->step[1])                                                  \
            strips_of_##name(a, 1, b, 1, y, k->size, remainder);                                   \
        else if (d->rows->step[0])                                                                 \
            strips_of_##name(a, 1, &one_b, 0, y, k->size, remainder);                              \
        else                                                                                       \
            strips_of_##name(&one_a, 0, b, 1, y, k->size, remainder);                              \
    }
STRIPS(i32, int32_t)
STRIPS(i64, int64_t)

static void divide_task(const void *args, int64_t task)
{
    const simd_divide *d = args;
    for (wgi_cursor k = wgi_cursor_at(d->rows, task); k.left > 0; wgi_cursor_next(d->rows, &k))
        if (d->is_i64 && d->remainder)
            row_of_i64(d, &k, true);
        else if (d->is_i64)
            row_of_i64(d, &k, false);
        else if (d->remainder)
            row_of_i32(d, &k, true);
        else
            row_of_i32(d, &k, false);
}

void SIMD(divide)(const simd_divide *a)
{
    const wgi_rows *r = a->rows;
    simd_tasks(r->rows * r->size < FEW ? 1 : a->threads, r->tasks, divide_task, a);
}
