#include "distributed/tree_sum.h"

#include <string.h>

enum { BLOCK = 256 }; /* elements at a time: a block of each level of the tree stays in the cache */

static int left_part(int n)
{
    int m = 1;
    while (2 * m < n)
        m *= 2;
    return m;
}

/* y[0..count) = the tree over x[0..n) from element `at` on, for at most BLOCK elements. */
#define TREE(name, type)                                                                           \
    static void name(type *y, const void *const *x, int n, size_t at, size_t count)                \
    {                                                                                              \
        if (n == 1) {                                                                              \
            memcpy(y, (const type *)x[0] + at, count * sizeof *y);                                 \
            return;                                                                                \
        }                                                                                          \
        type right[BLOCK];                                                                         \
        int m = left_part(n);                                                                      \
        name(y, x, m, at, count);                                                                  \
        name(right, x + m, n - m, at, count);                                                      \
        for (size_t i = 0; i < count; i++)                                                         \
            y[i] += right[i];                                                                      \
    }
TREE(tree_f32, float)
TREE(tree_f64, double)

void wgi_tree_sum(wg_dtype dtype, void *y, const void *const *x, int n, size_t count)
{
    union {
        float f32[BLOCK];
        double f64[BLOCK];
    } sum; /* apart from y, which may be read for it */
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t some = count - at < BLOCK ? count - at : BLOCK;
        if (dtype == WG_F64) {
            tree_f64(sum.f64, x, n, at, some);
            memcpy((double *)y + at, sum.f64, some * sizeof(double));
        } else {
            tree_f32(sum.f32, x, n, at, some);
            memcpy((float *)y + at, sum.f32, some * sizeof(float));
        }
    }
}
