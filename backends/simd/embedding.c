/* Sums over segments: the gradient of an embedding. */
#include "graph/ids.h"
#include "backends/simd/internal.h"
#include "wengert/ops/segment.h"

/* Whole rows only: the axes of ids come first. */
static const char *refuses(const wg_node *n)
{
    const wg_segment_attrs *a = n->attrs;
    if (wg_normalize_axis(a->axis, n->out[0]->shape.rank) != 0)
        return "ids of another axis than the first";
    return wgi_simd_refuses_other_than_f32(n);
}

/* The elements of one position. */
static int64_t width_of(const wg_shape *y)
{
    int64_t width = 1;
    for (int i = 1; i < y->rank; i++)
        width *= y->dim[i];
    return width;
}

/* x ids -> y: in terms of an embedding, dy ids -> dw */
static void run_segment_sum(wg_call *c)
{
    const wg_value *dw = c->node->out[0], *ids = c->node->in[1];
    bool wide = ids->dtype == WG_I64;
    simd_embedding a = {.dy = c->in[0],
                        .dw = c->out[0],
                        .ids64 = wide ? c->in[1] : NULL,
                        .ids32 = wide ? NULL : c->in[1],
                        .rows = dw->shape.dim[0],
                        .count = wg_value_count(ids),
                        .width = width_of(&dw->shape),
                        .threads = c->threads};
    if (wgi_ids_valid(c, 1, a.rows))
        simd_kernels(c)->embedding_grad(&a);
}

const simd_kernel wgi_simd_embedding[] = {
    {&wg_op_segment_sum, "rows by id", refuses, NULL, run_segment_sum},
    {.op = NULL},
};
