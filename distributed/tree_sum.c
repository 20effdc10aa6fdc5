#include "distributed/tree_sum.h"
#include "wengert/graph/half.h"

#include <string.h>

enum { BLOCK = 256 }; /* elements at a time: a block of each level of the tree stays in the cache */

static int left_part(int n)
{
    int m = 1;
    while (2 * m < n)
        m *= 2;
    return m;
}

/* y[0..count) = the tree over x[0..n) from element `at` on, for at most BLOCK elements, which
 * `take` reads. */
#define TREE(name, type, element, take)                                                            \
    static void name(type *y, const void *const *x, int n, size_t at, size_t count)                \
    {                                                                                              \
        if (n == 1) {                                                                              \
            const element *from = (const element *)x[0] + at;                                      \
            for (size_t i = 0; i < count; i++)                                                     \
                y[i] = take(from[i]);                                                              \
            return;                                                                                \
        }                                                                                          \
        type right[BLOCK];                                                                         \
        int m = left_part(n);                                                                      \
        name(y, x, m, at, count);                                                                  \
        name(right, x + m, n - m, at, count);                                                      \
        for (size_t i = 0; i < count; i++)                                                         \
            y[i] += right[i];                                                                      \
    }
#define AS_IT_IS(x) (x)
TREE(tree_f32, float, float, AS_IT_IS)
TREE(tree_f64, double, double, AS_IT_IS)
TREE(tree_bf16, float, uint16_t, wg_bf16_to_f32)

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
        } else if (dtype == WG_F32) {
            tree_f32(sum.f32, x, n, at, some);
            memcpy((float *)y + at, sum.f32, some * sizeof(float));
        } else {
            tree_bf16(sum.f32, x, n, at, some);
            for (size_t i = 0; i < some; i++)
                ((uint16_t *)y)[at + i] = wg_bf16_from_f32(sum.f32[i]);
        }
    }
}
