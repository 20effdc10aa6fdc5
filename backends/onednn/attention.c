/* attention and attention_grad by fast/attention.c. */
#include "backends/onednn/fast/fast.h"
#include "backends/onednn/internal.h"
#include "ops/attention.h"

#include <math.h>

/* x [B, H, T, d], dense */
static fast_heads heads_of(const wg_value *x, const void *data)
{
    const int64_t *dim = x->shape.dim;
    return (fast_heads){(float *)(uintptr_t)data, dim[1] * dim[2] * dim[3], dim[2] * dim[3],
                        dim[3]};
}

/* Of a call whose operands from `first` on are q k v lengths?. */
static fast_attention attention_of(const wg_call *c, int first)
{
    const wg_node *n = c->node;
    const wg_attention_attrs *attrs = n->attrs;
    const int64_t *q = n->in[first]->shape.dim, *v = n->in[first + 2]->shape.dim;
    fast_attention a = {
        .q = heads_of(n->in[first], c->in[first]),
        .k = heads_of(n->in[first + 1], c->in[first + 1]),
        .v = heads_of(n->in[first + 2], c->in[first + 2]),
        .batches = q[0],
        .heads = q[1],
        .groups = v[1] ? q[1] / v[1] : 1,
        .T = q[2],
        .S = v[2],
        .d = q[3],
        .d_v = v[3],
        .scale = (float)(attrs->scale != 0 ? attrs->scale : 1 / sqrt((double)q[3])),
        .causal = attrs->causal,
        .offset = attrs->causal_offset,
        .threads = c->threads,
        .scratch = c->scratch,
    };
    if (attrs->dropout > 0)
        a.mask = wg_mask_of(c->seed, c->step, (uint64_t)attrs->key, attrs->dropout);
    if (n->n_in > first + 3) {
        bool wide = n->in[first + 3]->dtype == WG_I64;
        a.lengths64 = wide ? c->in[first + 3] : NULL;
        a.lengths32 = wide ? NULL : c->in[first + 3];
    }
    return a;
}

static void run_forward(wg_call *c)
{
    fast_attention a = attention_of(c, 0);
    a.y = heads_of(c->node->out[0], c->out[0]);
    od_fast()->attention_forward(&a);
}

static void run_backward(wg_call *c)
{
    fast_attention a = attention_of(c, 1);
    a.dy = heads_of(c->node->in[0], c->in[0]);
    a.dq = heads_of(c->node->out[0], c->out[0]);
    a.dk = heads_of(c->node->out[1], c->out[1]);
    a.dv = heads_of(c->node->out[2], c->out[2]);
    od_fast()->attention_backward(&a);
}

static const char *refuses(const wg_node *n)
{
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    for (int i = 0; i < n->n_in; i++)
        if (wg_value_count(n->in[i]) == 0)
            return "an empty operand";
    return NULL;
}

/* q is operand 0 forward, 1 backward; the values are two further. */
static size_t scratch(const od_backend *b, const wg_node *n)
{
    int first = n->op == &wg_op_attention ? 0 : 1;
    int64_t T = n->in[first]->shape.dim[2], S = n->in[first + 2]->shape.dim[2];
    return (size_t)b->threads * (size_t)fast_attention_scratch(T, S) * sizeof(float);
}

const od_own od_own_attention[] = {
    {&wg_op_attention, "fused attention", refuses, scratch, run_forward},
    {&wg_op_attention_grad, "fused attention", refuses, scratch, run_backward},
    {NULL},
};
