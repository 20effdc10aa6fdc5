/* Products of many pairs of vectors, whose numbers lie side by side: of a row and a column, their
 * dot product, and of a column and a row, all products of their numbers. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/product.h"
#include "backends/simd/kernels/team.h"

static real dot(const real *a, const real *b, int64_t k)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t q = 0; q < k; q++)
        sum += a[q] * b[q];
    return sum;
}

static void scale(const real *x, real by, int64_t n, real *restrict y)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        y[j] = by * x[j];
}

static void some_vectors(const void *args, simd_member me)
{
    const simd_tiny *t = args;
    for (int64_t i = simd_first(me, t->count); i < simd_end(me, t->count); i++) {
        const real *a = (const real *)t->a + i * t->a_next, *b = (const real *)t->b + i * t->b_next;
        real *c = (real *)t->c + i * t->m * t->n;
        if (t->k > 1 || t->m * t->n == 1)
            *c = dot(a, b, t->k);
        else if (t->n == 1)
            scale(a, *b, t->m, c);
        else
            for (int64_t r = 0; r < t->m; r++)
                scale(b, a[r], t->n, c + r * t->n);
    }
}

void SIMD(vectors)(const simd_tiny *t)
{
    simd_team(t->threads, some_vectors, t);
}
