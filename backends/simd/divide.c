/* remainder and floor_divide of integers; those of floats are in elementwise.c. */
#include "backends/divide.h"
#include "backends/simd/internal.h"

static const char *refuses(const wg_node *n)
{
    const wg_dtype dtype = n->out[0]->dtype;
    if (dtype != WG_I32 && dtype != WG_I64)
        return "neither i32 nor i64";
    return wg_value_count(n->out[0]) ? NULL : "an empty result";
}

static void run(wg_call *c)
{
    const wgi_rows rows = wgi_rows_of(c->node);
    const simd_divide a = {.a = c->in[0],
                           .b = c->in[1],
                           .y = c->out[0],
                           .is_i64 = c->node->out[0]->dtype == WG_I64,
                           .remainder = c->node->op == &wg_op_remainder,
                           .rows = &rows,
                           .threads = c->threads};
    if (wgi_divides(c))
        simd_kernels(c)->divide(&a);
}

const simd_kernel wgi_simd_divide[] = {
    {&wg_op_remainder, "integers", refuses, NULL, run},
    {&wg_op_floor_divide, "integers", refuses, NULL, run},
    {.op = NULL},
};
