/* Triangles of matrices of any element size. */
#include "backends/batch.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/triangle.h"

static int64_t between(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* Row i keeps columns [first, end), which are copied; the others become 0. */
void wgi_cpu_triangle(wg_call *c)
{
    const wg_triangle_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0];
    wgi_batch b = wgi_batch_of(&x->shape);
    int64_t rows = b.count * b.rows, size = (int64_t)wg_dtype_size(x->dtype);
    int64_t shift = between(a->diagonal, -b.rows, b.columns);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, rows *b.columns))
    for (int64_t row = 0; row < rows; row++) {
        int64_t edge = row % b.rows + shift;
        int64_t first = a->triangle == WG_UPPER ? between(edge, 0, b.columns) : 0;
        int64_t end = a->triangle == WG_LOWER ? between(edge + 1, 0, b.columns) : b.columns;
        const char *from = (const char *)c->in[0] + row * b.columns * size;
        char *to = (char *)c->out[0] + row * b.columns * size;
        if (to != from)
            memcpy(to + first * size, from + first * size, (size_t)((end - first) * size));
        memset(to, 0, (size_t)(first * size));
        memset(to + end * size, 0, (size_t)((b.columns - end) * size));
    }
}
