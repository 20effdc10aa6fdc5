/* Products of many matrices so small that a call for each would cost more than its arithmetic.
 *
 * A row of C is the sum of a row of A's numbers times rows of B, each in vectors.  A row that is
 * not a whole number of vectors is written beyond its end, where the next row comes later; and rows
 * of B are read beyond theirs.  So the last matrices of a thread's share, those within a vector of
 * its end, go through copies that have room. */
#include "backends/simd/kernels/product.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/vector.h"

/* Numbers of a vector for rows of up to FOUR and for longer ones: no more than a register holds. */
enum {
    FOUR = 4,
    EIGHT = 8,
    SHORT = LANES < FOUR ? LANES : FOUR,
    LONG = LANES < EIGHT ? LANES : EIGHT,
    ROOM = SIMD_TINY * SIMD_TINY + EIGHT
};

typedef real short_vector
    __attribute__((vector_size(SHORT * sizeof(real)), aligned(sizeof(real)), may_alias));
typedef real long_vector
    __attribute__((vector_size(LONG * sizeof(real)), aligned(sizeof(real)), may_alias));

/* c [m, n] = a b, where number (q, j) of b lies at b[q b_step + j] */
#define MULTIPLY(name, type, lanes)                                                                \
    static void name(const simd_tiny *t, const real *a, const real *b, int64_t b_step, real *c)    \
    {                                                                                              \
        for (int64_t i = 0; i < t->m; i++, a += t->a_row, c += t->n)                               \
            for (int64_t j = 0; j < t->n; j += (lanes)) {                                          \
                type sum = a[0] * *(const type *)(b + j);                                          \
                for (int64_t q = 1; q < t->k; q++)                                                 \
                    sum += a[q * t->a_step] * *(const type *)(b + q * b_step + j);                 \
                *(type *)(c + j) = sum;                                                            \
            }                                                                                      \
    }
MULTIPLY(multiply_short, short_vector, SHORT)
MULTIPLY(multiply_long, long_vector, LONG)

typedef void multiply(const simd_tiny *t, const real *a, const real *b, int64_t b_step, real *c);

static void copy_b(const simd_tiny *t, const real *b, real *to)
{
    for (int64_t q = 0; q < t->k; q++)
        for (int64_t j = 0; j < t->n; j++)
            to[q * t->n + j] = b[q * t->b_step + j * t->b_column];
}

static void some_products(const void *args, simd_member me)
{
    const simd_tiny *t = args;
    multiply *product = t->n <= FOUR ? multiply_short : multiply_long;
    const int64_t end = simd_end(me, t->count), size = t->m * t->n;
    const int64_t least = simd_smaller(size, t->k * t->n);
    const bool copies = t->b_column != 1 || t->b_next == 0; /* B throughout */
    real copy[ROOM] = {0}, result[ROOM];
    for (int64_t i = simd_first(me, t->count), first = i; i < end; i++) {
        const real *a = (const real *)t->a + i * t->a_next, *b = (const real *)t->b + i * t->b_next;
        real *c = (real *)t->c + i * size;
        bool last = (end - 1 - i) * least < EIGHT, other = i == first || t->b_next;
        if ((copies || last) && other)
            copy_b(t, b, copy);
        if (copies || last)
            product(t, a, copy, t->n, last ? result : c);
        else
            product(t, a, b, t->b_step, c);
        if (last)
            memcpy(c, result, (size_t)size * sizeof *c);
    }
}

void SIMD(tiny)(const simd_tiny *t)
{
    simd_team(t->threads, some_products, t);
}
