/* dropout, whose mask is drawn again instead of stored: backends/mask.h. */
#include "backends/simd/internal.h"
#include "wengert/ops/random.h"

static void run_dropout(wg_call *c)
{
    const wg_dropout_attrs *attrs = c->node->attrs;
    simd_dropout a = {.x = c->in[0],
                      .y = c->out[0],
                      .count = wg_value_count(c->node->out[0]),
                      .mask = wgi_mask_of(c->seed, c->step, (uint64_t)attrs->key, attrs->p),
                      .threads = c->threads};
    simd_floats(c)->dropout(&a);
}

const simd_kernel wgi_simd_dropout[] = {
    {&wg_op_dropout, "mask", wgi_simd_refuses_other_floats, NULL, run_dropout},
    {.op = NULL},
};
