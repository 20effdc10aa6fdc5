/* Casts between all dtypes. */

#include "backends/simd/internal.h"

/* wg_cast makes no node where the dtype stays; a graph that is made otherwise may. */
static const char *refuses(const wg_node *n)
{
    return n->in[0]->dtype != n->out[0]->dtype ? NULL : "the dtype stays";
}

static void run(wg_call *c)
{
    const wg_node *n = c->node;
    simd_cast a = {.x = c->in[0],
                   .y = c->out[0],
                   .count = wg_value_count(n->out[0]),
                   .from = n->in[0]->dtype,
                   .to = n->out[0]->dtype,
                   .threads = c->threads};
    simd_kernels(c)->cast(&a);
}

const simd_kernel wgi_simd_cast[] = {
    {&wg_op_cast, "conversion", refuses, NULL, run},
    {.op = NULL},
};
