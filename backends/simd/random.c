/* uniform and normal: graph/random.h.  dropout, whose mask is drawn again instead of stored:
 * backends/mask.h. */
#include "backends/simd/internal.h"
#include "wengert/ops/random.h"

static const char *refuses_random(const wg_node *n)
{
    wg_dtype dtype = n->out[0]->dtype;
    return dtype == WG_F32 || dtype == WG_F64 ? NULL : "neither f32 nor f64";
}

static simd_random random_of(const wg_call *c)
{
    const wg_random_attrs *attrs = c->node->attrs;
    return (simd_random){.stream = wgi_random_of(c->seed, c->step, (uint64_t)attrs->key),
                         .y = c->out[0],
                         .count = wg_value_count(c->node->out[0]),
                         .is_f64 = attrs->dtype == WG_F64,
                         .threads = c->threads};
}

static void run_uniform(wg_call *c)
{
    const wg_random_attrs *attrs = c->node->attrs;
    simd_random a = random_of(c);
    a.shift = attrs->a;
    a.scale = attrs->b - attrs->a;
    simd_kernels(c)->uniform(&a);
}

static void run_normal(wg_call *c)
{
    const wg_random_attrs *attrs = c->node->attrs;
    simd_random a = random_of(c);
    a.shift = attrs->a;
    a.scale = attrs->b;
    simd_kernels(c)->normal(&a);
}

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

const simd_kernel wgi_simd_random[] = {
    {&wg_op_uniform, "numbers", refuses_random, NULL, run_uniform},
    {&wg_op_normal, "numbers", refuses_random, NULL, run_normal},
    {&wg_op_dropout, "mask", wgi_simd_refuses_other_floats, NULL, run_dropout},
    {.op = NULL},
};
