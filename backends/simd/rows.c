/* Own kernels over dense rows: softmax, layer normalisation, dropout, the gradient of an
 * embedding. */
#include "backends/cpu/ids.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/onednn/internal.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/index.h"
#include "wengert/ops/norm.h"
#include "wengert/ops/random.h"
#include "wengert/ops/softmax.h"

/* ---- softmax --------------------------------------------------------------------------------- */

static const char *refuses_softmax(const wg_node *n)
{
    const wg_softmax_attrs *a = n->attrs;
    const wg_shape *s = &n->in[0]->shape;
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    return wg_axis_of(a->axis, s->rank) == s->rank - 1 ? NULL : "not along the last axis";
}

static simd_rows rows_of(const wg_call *c)
{
    const wg_shape *s = &c->node->in[0]->shape;
    int64_t width = s->dim[s->rank - 1];
    return (simd_rows){c->in[0], c->out[0], width ? wg_shape_count(s) / width : 0, width,
                       c->threads};
}

static void run_softmax(wg_call *c)
{
    simd_rows a = rows_of(c);
    wgi_simd_kernels()->softmax(&a);
}

static void run_log_softmax(wg_call *c)
{
    simd_rows a = rows_of(c);
    wgi_simd_kernels()->log_softmax(&a);
}

/* ---- layer normalisation --------------------------------------------------------------------- */

static const char *refuses_norm(const wg_node *n)
{
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    return wg_value_count(n->in[0]) ? NULL : "an empty operand";
}

static simd_norm norm_of(const wg_call *c, int x)
{
    const wg_node *n = c->node;
    const wg_rownorm_attrs *attrs = n->attrs;
    const wg_shape *s = &n->in[x]->shape;
    simd_norm a = {.x = c->in[x],
                   .eps = (float)attrs->eps,
                   .width = 1,
                   .threads = c->threads,
                   .scratch = c->scratch};
    for (int64_t i = 0; i < (attrs->axes ? attrs->axes : 1); i++)
        a.width *= s->dim[s->rank - 1 - i];
    a.rows = wg_shape_count(s) / a.width;
    return a;
}

static const float *optional(const wg_call *c, int i)
{
    return i < c->node->n_in ? c->in[i] : NULL;
}

/* x gain? bias? -> y mean rstd; of rmsnorm x gain? -> y rstd */
static void run_norm(wg_call *c)
{
    bool rms = c->node->op == &wg_op_rmsnorm;
    simd_norm a = norm_of(c, 0);
    a.gain = optional(c, 1);
    a.bias = optional(c, 2);
    a.y = c->out[0];
    a.mean = rms ? NULL : c->out[1];
    a.rstd = c->out[rms ? 1 : 2];
    wgi_simd_kernels()->layernorm_forward(&a);
}

/* Operands dy x mean? rstd gain? and results dx dgain dbias?, which all gradients begin with; those
 * of rmsnorm have no mean and no bias.  Returns the place after `gain`. */
static int bind_gradient(const wg_call *c, bool rms, simd_norm *a)
{
    int rstd = rms ? 2 : 3;
    a->dy = c->in[0];
    a->x = c->in[1];
    a->mean = rms ? NULL : (float *)(uintptr_t)c->in[2]; /* read only in this direction */
    a->rstd = (float *)(uintptr_t)c->in[rstd];
    a->gain = optional(c, rstd + 1);
    a->dx = c->out[0];
    a->dgain = c->out[1];
    a->dbias = rms ? NULL : c->out[2];
    return rstd + 2;
}

static void run_norm_grad(wg_call *c)
{
    simd_norm a = norm_of(c, 1);
    bind_gradient(c, c->node->op == &wg_op_rmsnorm_grad, &a);
    wgi_simd_kernels()->layernorm_backward(&a);
}

static size_t norm_grad_scratch(const od_backend *b, const wg_node *n)
{
    (void)b;
    int64_t width = wg_value_count(n->out[1]), rows = wg_value_count(n->in[1]) / width;
    return 2 * (size_t)(simd_norm_blocks(rows) * width) * sizeof(float);
}

/* ---- layernorm(residual + dropout(branch)) --------------------------------------------------- */

static simd_norm residual_of(const wg_call *c)
{
    const wg_residual_layernorm_attrs *attrs = c->node->attrs;
    const wg_shape *s = &c->node->in[0]->shape;
    simd_norm a = {.eps = (float)attrs->eps,
                   .width = s->dim[s->rank - 1],
                   .threads = c->threads,
                   .scratch = c->scratch};
    a.rows = wg_shape_count(s) / a.width;
    if (attrs->p > 0)
        a.mask = wgi_mask_of(c->seed, c->step, (uint64_t)attrs->key, attrs->p);
    return a;
}

static void run_residual(wg_call *c)
{
    simd_norm a = residual_of(c);
    a.residual = c->in[0];
    a.branch = c->in[1];
    a.gain = optional(c, 2);
    a.bias = optional(c, 3);
    a.y = c->out[0];
    a.mean = c->out[1];
    a.rstd = c->out[2];
    a.sum = c->out[3];
    wgi_simd_kernels()->layernorm_forward(&a);
}

/* dy sum mean rstd gain? dsum? -> dx dgain dbias dbranch */
static void run_residual_grad(wg_call *c)
{
    simd_norm a = residual_of(c);
    int dsum = bind_gradient(c, false, &a);
    a.more = optional(c, dsum);
    a.dbranch = c->out[c->node->n_out - 1];
    wgi_simd_kernels()->layernorm_backward(&a);
}

/* ---- dropout --------------------------------------------------------------------------------- */

static const char *refuses_dropout(const wg_node *n)
{
    return n->in[0]->dtype == WG_F32 ? NULL : "not f32";
}

static void run_dropout(wg_call *c)
{
    const wg_dropout_attrs *attrs = c->node->attrs;
    simd_dropout a = {.x = c->in[0],
                      .y = c->out[0],
                      .count = wg_value_count(c->node->out[0]),
                      .mask = wgi_mask_of(c->seed, c->step, (uint64_t)attrs->key, attrs->p),
                      .threads = c->threads};
    wgi_simd_kernels()->dropout(&a);
}

/* ---- embedding ------------------------------------------------------------------------------- */

static const char *refuses_embedding_grad(const wg_node *n)
{
    return n->in[0]->dtype == WG_F32 ? NULL : "not f32";
}

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
    if (cpu_ids_valid(c, 1, a.rows))
        wgi_simd_kernels()->embedding_grad(&a);
}

const od_own wgi_od_own_rows[] = {
    {&wg_op_softmax, "rows", refuses_softmax, NULL, run_softmax},
    {&wg_op_log_softmax, "rows", refuses_softmax, NULL, run_log_softmax},
    {&wg_op_layernorm, "rows", refuses_norm, NULL, run_norm},
    {&wg_op_layernorm_grad, "rows", refuses_norm, norm_grad_scratch, run_norm_grad},
    {&wg_op_rmsnorm, "rows", refuses_norm, NULL, run_norm},
    {&wg_op_rmsnorm_grad, "rows", refuses_norm, norm_grad_scratch, run_norm_grad},
    {&wg_op_residual_layernorm, "fused rows", refuses_norm, NULL, run_residual},
    {&wg_op_residual_layernorm_grad, "fused rows", refuses_norm, norm_grad_scratch,
     run_residual_grad},
    {&wg_op_dropout, "mask", refuses_dropout, NULL, run_dropout},
    {&wg_op_embedding_grad, "rows by id", refuses_embedding_grad, NULL, run_embedding_grad},
    {.op = NULL},
};
