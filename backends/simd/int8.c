/* quantize and quantized_linear by kernels/int8.c. */

#include "backends/simd/internal.h"
#include "wengert/ops/quantize.h"

static const char *refuses_quantize(const wg_node *n)
{
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    return wg_value_count(n->in[0]) ? NULL : "an empty operand";
}

static void run_quantize(wg_call *c)
{
    const wg_shape *s = &c->node->in[0]->shape;
    const simd_quantize a = {.x = c->in[0],
                             .q = c->out[0],
                             .scale = c->out[1],
                             .rows = wg_value_count(c->node->out[1]),
                             .width = s->dim[s->rank - 1],
                             .steps = (float)WG_QUANTIZE_STEPS,
                             .min = (float)WG_QUANTIZE_MIN,
                             .threads = c->threads};
    simd_kernels(c)->quantize(&a);
}

static const char *refuses_linear(const wg_node *n)
{
    if (n->in[1]->dtype != WG_F32)
        return "not f32";
    return wg_value_count(n->in[0]) && wg_value_count(n->in[2]) ? NULL : "an empty operand";
}

static size_t linear_scratch(const wg_node *n, int threads)
{
    return simd_int8_scratch(wg_value_count(n->in[1]), n->in[2]->shape.dim[1], threads);
}

/* x x_scale weight weight_scale bias? */
static void run_linear(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_quantized_linear_attrs *attrs = n->attrs;
    const simd_int8 a = {.x = c->in[0],
                         .x_scale = c->in[1],
                         .weight = c->in[2],
                         .weight_scale = c->in[3],
                         .bias = n->n_in > 4 ? c->in[4] : NULL,
                         .y = c->out[0],
                         .rows = wg_value_count(n->in[1]),
                         .width = n->in[2]->shape.dim[1],
                         .outputs = n->in[2]->shape.dim[0],
                         .relu = attrs->relu,
                         .threads = c->threads,
                         .scratch = c->scratch};
    simd_kernels(c)->int8_linear(&a);
}

const simd_kernel wgi_simd_int8[] = {
    {&wg_op_quantize, "int8 rows", refuses_quantize, NULL, run_quantize},
    {&wg_op_quantized_linear, "int8 product", refuses_linear, linear_scratch, run_linear},
    {.op = NULL},
};
