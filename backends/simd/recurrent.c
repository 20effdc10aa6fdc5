/* All steps of lstm and gru. */
#include "backends/simd/internal.h"
#include "wengert/ops/recurrent.h"

static bool is_gru(const wg_node *n)
{
    return n->op == &wg_op_gru_steps || n->op == &wg_op_gru_steps_grad;
}

/* Sizes by result `h`, [B, T, H] or [B, H], and operand 0, [B, T, ...]. */
static simd_recurrent sizes_of(const wg_node *n)
{
    const wg_shape *x = &n->in[0]->shape, *h = &n->out[n->n_out - 1]->shape;
    return (simd_recurrent){.gru = is_gru(n),
                            .reverse = ((const wg_recurrent_attrs *)n->attrs)->reverse,
                            .batch = x->dim[0],
                            .steps = x->dim[1],
                            .units = h->dim[h->rank - 1]};
}

static size_t scratch(const wg_node *n, int threads)
{
    (void)threads;
    simd_recurrent s = sizes_of(n);
    return (size_t)simd_recurrent_scratch(s.batch, s.units) * sizeof(float);
}

/* lengths are operand i, if there is one. */
static simd_recurrent steps_of(const wg_call *c, int i)
{
    simd_recurrent s = sizes_of(c->node);
    s.threads = c->threads;
    s.scratch = c->scratch;
    if (i < c->node->n_in && c->node->in[i]->dtype == WG_I64)
        s.lengths64 = c->in[i];
    else if (i < c->node->n_in)
        s.lengths32 = c->in[i];
    return s;
}

/* p wh h c lengths? -> gates h c */
static void run_lstm(wg_call *c)
{
    simd_recurrent s = steps_of(c, 4);
    s.p = c->in[0], s.wh = c->in[1], s.h0 = c->in[2], s.c0 = c->in[3];
    s.gates = c->out[0], s.h = c->out[1], s.c = c->out[2];
    simd_kernels(c)->recurrent_forward(&s);
}

/* p wh bh h lengths? -> gates m h */
static void run_gru(wg_call *c)
{
    simd_recurrent s = steps_of(c, 4);
    s.p = c->in[0], s.wh = c->in[1], s.bh = c->in[2], s.h0 = c->in[3];
    s.gates = c->out[0], s.m = c->out[1], s.h = c->out[2];
    simd_kernels(c)->recurrent_forward(&s);
}

/* What a gradient only reads. */
static float *read_only(const wg_call *c, int i)
{
    return (float *)(uintptr_t)c->in[i];
}

/* gates dh dc c wh c0 lengths? -> dp dh0 dc0 */
static void run_lstm_grad(wg_call *c)
{
    simd_recurrent s = steps_of(c, 6);
    s.gates = read_only(c, 0), s.dh = c->in[1], s.dc = c->in[2], s.c = read_only(c, 3);
    s.wh = c->in[4], s.c0 = c->in[5];
    s.dp = c->out[0], s.dh0 = c->out[1], s.dc0 = c->out[2];
    simd_kernels(c)->recurrent_backward(&s);
}

/* gates m dh h wh h0 lengths? -> dq dp dh0 */
static void run_gru_grad(wg_call *c)
{
    simd_recurrent s = steps_of(c, 6);
    s.gates = read_only(c, 0), s.m = read_only(c, 1), s.dh = c->in[2], s.h = read_only(c, 3);
    s.wh = c->in[4], s.h0 = c->in[5];
    s.dq = c->out[0], s.dp = c->out[1], s.dh0 = c->out[2];
    simd_kernels(c)->recurrent_backward(&s);
}

const simd_kernel wgi_simd_recurrent[] = {
    {&wg_op_lstm_steps, "steps", wgi_simd_refuses_empty, scratch, run_lstm},
    {&wg_op_lstm_steps_grad, "steps", wgi_simd_refuses_empty, scratch, run_lstm_grad},
    {&wg_op_gru_steps, "steps", wgi_simd_refuses_empty, scratch, run_gru},
    {&wg_op_gru_steps_grad, "steps", wgi_simd_refuses_empty, scratch, run_gru_grad},
    {.op = NULL},
};
