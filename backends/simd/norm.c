/* layernorm, rmsnorm, layernorm(residual + dropout(branch)), and their gradients. */
#include "backends/simd/internal.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/norm.h"

static const char *refuses_norm(const wg_node *n)
{
    const char *why = wgi_simd_refuses_other_floats(n);
    return why ? why : wg_value_count(n->in[0]) ? NULL : "an empty operand";
}

static const char *refuses_residual(const wg_node *n)
{
    const char *why = wgi_simd_refuses_other_than_f32(n);
    return why ? why : refuses_norm(n);
}

static int64_t width_of(const wg_node *n, int x)
{
    const wg_rownorm_attrs *attrs = n->attrs;
    const wg_shape *s = &n->in[x]->shape;
    int64_t width = 1;
    for (int64_t i = 0; i < (attrs->axes ? attrs->axes : 1); i++)
        width *= s->dim[s->rank - 1 - i];
    return width;
}

static simd_norm norm_of(const wg_call *c, int x)
{
    const wg_node *n = c->node;
    const int64_t width = width_of(n, x);
    return (simd_norm){.x = c->in[x],
                       .eps = (float)((const wg_rownorm_attrs *)n->attrs)->eps,
                       .rows = wg_value_count(n->in[x]) / width,
                       .width = width,
                       .threads = c->threads,
                       .scratch = c->scratch};
}

static simd_norm_f64 norm_f64_of(const wg_call *c, int x)
{
    const wg_node *n = c->node;
    const int64_t width = width_of(n, x);
    return (simd_norm_f64){.x = c->in[x],
                           .eps = ((const wg_rownorm_attrs *)n->attrs)->eps,
                           .rows = wg_value_count(n->in[x]) / width,
                           .width = width,
                           .threads = c->threads,
                           .scratch = c->scratch};
}

static const void *optional(const wg_call *c, int i)
{
    return i < c->node->n_in ? c->in[i] : NULL;
}

static void run_norm_f64(wg_call *c, bool rms)
{
    simd_norm_f64 a = norm_f64_of(c, 0);
    a.gain = optional(c, 1);
    a.bias = optional(c, 2);
    a.y = c->out[0];
    a.mean = rms ? NULL : c->out[1];
    a.rstd = c->out[rms ? 1 : 2];
    simd_kernels(c)->layernorm_f64_forward(&a);
}

/* x gain? bias? -> y mean rstd; of rmsnorm x gain? -> y rstd */
static void run_norm(wg_call *c)
{
    bool rms = c->node->op == &wg_op_rmsnorm;
    if (c->node->in[0]->dtype == WG_F64) {
        run_norm_f64(c, rms);
        return;
    }
    simd_norm a = norm_of(c, 0);
    a.gain = optional(c, 1);
    a.bias = optional(c, 2);
    a.y = c->out[0];
    a.mean = rms ? NULL : c->out[1];
    a.rstd = c->out[rms ? 1 : 2];
    simd_kernels(c)->layernorm_forward(&a);
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

/* The same in f64, up to dbias */
static void run_norm_grad_f64(wg_call *c, bool rms)
{
    const int rstd = rms ? 2 : 3;
    simd_norm_f64 a = norm_f64_of(c, 1);
    a.dy = c->in[0];
    a.mean = rms ? NULL : (double *)(uintptr_t)c->in[2]; /* read only in this direction */
    a.rstd = (double *)(uintptr_t)c->in[rstd];
    a.gain = optional(c, rstd + 1);
    a.dx = c->out[0];
    a.dgain = c->out[1];
    a.dbias = rms ? NULL : c->out[2];
    simd_kernels(c)->layernorm_f64_backward(&a);
}

static void run_norm_grad(wg_call *c)
{
    bool rms = c->node->op == &wg_op_rmsnorm_grad;
    if (c->node->in[0]->dtype == WG_F64) {
        run_norm_grad_f64(c, rms);
        return;
    }
    simd_norm a = norm_of(c, 1);
    bind_gradient(c, rms, &a);
    simd_kernels(c)->layernorm_backward(&a);
}

static size_t norm_grad_scratch(const wg_node *n, int threads)
{
    (void)threads;
    int64_t width = wg_value_count(n->out[1]), rows = wg_value_count(n->in[1]) / width;
    return 2 * (size_t)(simd_norm_blocks(rows) * width) * wg_dtype_size(n->in[0]->dtype);
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
    simd_kernels(c)->layernorm_forward(&a);
}

/* dy sum mean rstd gain? dsum? -> dx dgain dbias dbranch */
static void run_residual_grad(wg_call *c)
{
    simd_norm a = residual_of(c);
    int dsum = bind_gradient(c, false, &a);
    a.more = optional(c, dsum);
    a.dbranch = c->out[c->node->n_out - 1];
    simd_kernels(c)->layernorm_backward(&a);
}

const simd_kernel wgi_simd_norm[] = {
    {&wg_op_layernorm, "rows", refuses_norm, NULL, run_norm},
    {&wg_op_layernorm_grad, "rows", refuses_norm, norm_grad_scratch, run_norm_grad},
    {&wg_op_rmsnorm, "rows", refuses_norm, NULL, run_norm},
    {&wg_op_rmsnorm_grad, "rows", refuses_norm, norm_grad_scratch, run_norm_grad},
    {&wg_op_residual_layernorm, "fused rows", refuses_residual, NULL, run_residual},
    {&wg_op_residual_layernorm_grad, "fused rows", refuses_residual, norm_grad_scratch,
     run_residual_grad},
    {.op = NULL},
};
