/* The gradient of an embedding. */
#include "graph/ids.h"
#include "backends/simd/internal.h"
#include "wengert/ops/index.h"

/* dy ids -> dw */
static void run_embedding_grad(wg_call *c)
{
    const wg_value *dw = c->node->out[0], *ids = c->node->in[1];
    bool wide = ids->dtype == WG_I64;
    simd_embedding a = {.dy = c->in[0],
                        .dw = c->out[0],
                        .ids64 = wide ? c->in[1] : NULL,
                        .ids32 = wide ? NULL : c->in[1],
                        .rows = dw->shape.dim[0],
                        .count = wg_value_count(ids),
                        .width = dw->shape.dim[1],
                        .threads = c->threads};
    if (wgi_ids_valid(c, 1, a.rows))
        simd_kernels(c)->embedding_grad(&a);
}

const simd_kernel wgi_simd_embedding[] = {
    {&wg_op_embedding_grad, "rows by id", wgi_simd_refuses_other_than_f32, NULL,
     run_embedding_grad},
    {.op = NULL},
};
