/* Elementwise functions that cost arithmetic, not only memory.  (Those of the simd backend take
 * sums, products and relu.)  log is our own (backends/simd/kernels/float/elementwise.c): oneDNN
 * 2.6's log(1) is -1.4e-6.  So is exp: of NaN, oneDNN's is infinity. */
#include "backends/onednn/internal.h"
#include "wengert/ops/activation.h"

static const struct {
    const wg_op *op;
    dnnl_alg_kind_t alg;
    float alpha;
} functions[] = {
    {&wg_op_tanh, dnnl_eltwise_tanh, 0},
    {&wg_op_sigmoid, dnnl_eltwise_logistic, 0},
    {&wg_op_silu, dnnl_eltwise_swish, 1},
    {&wg_op_gelu, dnnl_eltwise_gelu_erf, 0}, /* or gelu_tanh: see below */
};

const char *wgi_od_slow_function(const od_backend *b, dnnl_alg_kind_t alg)
{
    bool slow = b->avx2 && (alg == dnnl_eltwise_tanh || alg == dnnl_eltwise_gelu_tanh);
    return slow ? "tanh, with AVX2" : NULL;
}

const char *wgi_od_make_eltwise(const od_backend *b, const wg_node *n, od_plan *plan)
{
    int i = 0;
    while (i < WG_COUNT(functions) && functions[i].op != n->op)
        i++;
    if (i == WG_COUNT(functions))
        return "oneDNN has no such function";
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    if (!wg_value_count(n->in[0]))
        return "an empty operand";
    dnnl_alg_kind_t alg = functions[i].alg;
    if (n->op == &wg_op_gelu && ((const wg_gelu_attrs *)n->attrs)->kind == WG_GELU_TANH)
        alg = dnnl_eltwise_gelu_tanh;
    if (alg == dnnl_eltwise_gelu_erf && !OD_GELU_ERF)
        return "its gelu of infinity is NaN";
    plan->yields = wgi_od_slow_function(b, alg);
    od_md md = wgi_od_md_flat(n->in[0]);
    dnnl_status_t made =
        md ? wgi_od_eltwise(&plan->pd, b->engine, alg, md, functions[i].alpha, 0, b->attr)
           : dnnl_out_of_memory;
    wgi_od_md_free(md);
    wgi_od_bind(plan, DNNL_ARG_SRC, OD_IN, 0);
    wgi_od_bind(plan, DNNL_ARG_DST, OD_OUT, 0);
    return made == dnnl_success ? NULL : "oneDNN has no such function";
}
