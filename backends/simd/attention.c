/* attention and its gradient by kernels/attention.c, wherever its operands lie. */

#include "backends/call.h"
#include "backends/lengths.h"
#include "backends/simd/internal.h"
#include "wengert/ops/fused.h"

#include <math.h>

/* How the operands of an op lie in memory. */
typedef enum layout {
    HEADS_FIRST,  /* [B, H, T, d]                             */
    TOKENS_FIRST, /* [B, T, H, d]                             */
    PACKED        /* q, k and v in one [B, T, H d + Hk (d + dv)] */
} layout;

/* What tells the ops apart besides their attributes. */
typedef struct form {
    const wg_op *op;
    layout layout;
    bool forward;
} form;

static const form forms[] = {
    {&wg_op_attention, HEADS_FIRST, true},
    {&wg_op_attention_grad, HEADS_FIRST, false},
    {&wg_op_attention_bias_grad, HEADS_FIRST, false},
    {&wg_op_attention_by_token, TOKENS_FIRST, true},
    {&wg_op_attention_by_token_grad, TOKENS_FIRST, false},
    {&wg_op_packed_attention, PACKED, true},
    {&wg_op_packed_attention_grad, PACKED, false},
};

static const form *form_of(const wg_node *n)
{
    const form *f = forms;
    while (f->op != n->op)
        f++;
    return f;
}

/* The operand that holds q; k and v follow, unless it holds them too. */
static int first_of(const form *f)
{
    return f->forward ? 0 : 1;
}

/* The operand after q, k and v: the lengths, if there are any. */
static int lengths_of(const form *f)
{
    return first_of(f) + (f->layout == PACKED ? 1 : 3);
}

static const wg_attention_attrs *attrs_of(const wg_node *n)
{
    const wg_packed_attention_attrs *packed = n->attrs;
    return form_of(n)->layout == PACKED ? &packed->attention : n->attrs;
}

/* B, H, Hk, T, S and the widths of a head of keys and of values. */
typedef struct sizes {
    int64_t batches, heads, key_heads, T, S, d, d_v;
} sizes;

static sizes sizes_of(const wg_node *n)
{
    const form *f = form_of(n);
    wg_value *const *in = n->in + first_of(f);
    const int64_t *q = in[0]->shape.dim;
    if (f->layout == PACKED) {
        const wg_packed_attention_attrs *a = n->attrs;
        return (sizes){.batches = q[0],
                       .heads = a->heads,
                       .key_heads = a->key_heads,
                       .T = q[1],
                       .S = q[1],
                       .d = a->d,
                       .d_v = (q[2] - (a->heads + a->key_heads) * a->d) / a->key_heads};
    }
    const int64_t *v = in[2]->shape.dim;
    int head = f->layout == TOKENS_FIRST ? 2 : 1, token = 3 - head;
    return (sizes){q[0], q[head], v[head], q[token], v[token], q[3], v[3]};
}

/* A dense [B, H, T, d] or [B, T, H, d]. */
static simd_heads dense_heads(void *data, bool by_token, int64_t heads, int64_t tokens, int64_t d)
{
    return (simd_heads){data, heads * tokens * d, by_token ? d : tokens * d,
                        by_token ? heads * d : d};
}

/* Of the result, or its cotangent. */
static simd_heads result_heads(const form *f, const sizes *s, const void *data)
{
    return dense_heads((void *)(uintptr_t)data, f->layout != HEADS_FIRST, s->heads, s->T, s->d_v);
}

/* Of queries, keys and values, or their cotangents, whose memory begins at data[0], data[1] and
 * data[2], or all of them at data[0]. */
static void set_heads(const form *f, const sizes *s, const void *const *data, simd_heads *q,
                      simd_heads *k, simd_heads *v)
{
    float *x = (float *)(uintptr_t)data[0];
    int64_t queries = s->heads * s->d, keys = s->key_heads * s->d,
            width = queries + keys + s->key_heads * s->d_v;
    if (f->layout == PACKED) {
        *q = (simd_heads){x, s->T * width, s->d, width};
        *k = (simd_heads){x + queries, s->T * width, s->d, width};
        *v = (simd_heads){x + queries + keys, s->T * width, s->d_v, width};
        return;
    }
    bool by_token = f->layout == TOKENS_FIRST;
    *q = dense_heads(x, by_token, s->heads, s->T, s->d);
    *k = dense_heads((void *)(uintptr_t)data[1], by_token, s->key_heads, s->S, s->d);
    *v = dense_heads((void *)(uintptr_t)data[2], by_token, s->key_heads, s->S, s->d_v);
}

/* Where bias [B or 1, H or 1, T or 1, S or 1] repeats, its strides are 0. */
static void set_bias(simd_attention *a, const wg_value *bias, const void *data)
{
    const int64_t *d = bias->shape.dim;
    a->bias = (simd_heads){(float *)(uintptr_t)data, d[0] > 1 ? d[1] * d[2] * d[3] : 0,
                           d[1] > 1 ? d[2] * d[3] : 0, d[2] > 1 ? d[3] : 0};
    a->bias_step = d[3] > 1;
}

/* How many of its keys a query sees at most. */
static int64_t seen_keys(const wg_node *n)
{
    wg_key_span span = wg_attention_span(attrs_of(n));
    return span.last - span.first + 1;
}

static simd_attention attention_of(const wg_call *c)
{
    const wg_node *n = c->node;
    const form *f = form_of(n);
    const wg_attention_attrs *attrs = attrs_of(n);
    const wg_key_span span = wg_attention_span(attrs);
    const sizes s = sizes_of(n);
    int lengths = lengths_of(f);
    simd_attention a = {
        .batches = s.batches,
        .heads = s.heads,
        .groups = s.key_heads ? s.heads / s.key_heads : 1,
        .T = s.T,
        .S = s.S,
        .d = s.d,
        .d_v = s.d_v,
        .scale = (float)(attrs->scale != 0 ? attrs->scale : 1 / sqrt((double)s.d)),
        .first = span.first,
        .last = span.last,
        .threads = c->threads,
        .scratch = c->scratch,
    };
    set_heads(f, &s, c->in + first_of(f), &a.q, &a.k, &a.v);
    if (attrs->dropout > 0)
        a.mask = wgi_mask_of(c->seed, c->step, (uint64_t)attrs->key, attrs->dropout);
    if (n->n_in > lengths) {
        bool wide = n->in[lengths]->dtype == WG_I64;
        a.lengths64 = wide ? c->in[lengths] : NULL;
        a.lengths32 = wide ? NULL : c->in[lengths];
    }
    if (n->n_in > lengths + 1)
        set_bias(&a, n->in[lengths + 1], c->in[lengths + 1]);
    return a;
}

static bool lengths_valid(wg_call *c)
{
    int lengths = lengths_of(form_of(c->node));
    return c->node->n_in <= lengths || wgi_lengths_valid(c, lengths, sizes_of(c->node).S, NULL);
}

static void run_kernel(wg_call *c, simd_attention *a, void (*kernel)(const simd_attention *))
{
    bool failed = false;
    a->failed = &failed;
    kernel(a);
    if (failed)
        wgi_call_lacks_memory(c, "a product of attention");
}

static void run_forward(wg_call *c)
{
    const sizes s = sizes_of(c->node);
    if (!lengths_valid(c))
        return;
    simd_attention a = attention_of(c);
    a.y = result_heads(form_of(c->node), &s, c->out[0]);
    run_kernel(c, &a, simd_kernels(c)->attention_forward);
}

static void run_backward(wg_call *c)
{
    const form *f = form_of(c->node);
    const sizes s = sizes_of(c->node);
    if (!lengths_valid(c))
        return;
    simd_attention a = attention_of(c);
    a.dy = result_heads(f, &s, c->in[0]);
    set_heads(f, &s, (const void *const *)c->out, &a.dq, &a.dk, &a.dv);
    run_kernel(c, &a, simd_kernels(c)->attention_backward);
}

static void run_bias(wg_call *c)
{
    const sizes s = sizes_of(c->node);
    if (!lengths_valid(c))
        return;
    simd_attention a = attention_of(c);
    a.dy = result_heads(form_of(c->node), &s, c->in[0]);
    a.dbias = a.bias;
    a.dbias.data = c->out[0];
    run_kernel(c, &a, simd_kernels(c)->attention_bias);
}

enum { SHORT = 64 }; /* measured by bench/kernels.c */

static const char *refuses(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty(n);
    if (why)
        return why;
    /* Elsewhere the tiles save permutations or copies, which pays at any length. */
    const sizes s = sizes_of(n);
    if (form_of(n)->layout == HEADS_FIRST && s.T * s.S <= SHORT * SHORT)
        return "so short that batched products are faster";
    return NULL;
}

static size_t scratch(const wg_node *n, int threads)
{
    const sizes s = sizes_of(n);
    return (size_t)threads * (size_t)simd_attention_scratch(s.T, s.S, seen_keys(n), s.d, s.d_v) *
           sizeof(float);
}

/* ---- attention over slots of a pool ---------------------------------------------------------- */

/* Slots that are read must be in the pool. */
static bool slots_valid(wg_call *c, const simd_paged *a, int64_t size)
{
    /* NOLINTBEGIN(clang-analyzer-core.NullDereference): one of each two arrays is given */
    for (int64_t r = 0; r < a->rows; r++) {
        int64_t n = a->lengths64 ? a->lengths64[r] : a->lengths32[r];
        for (int64_t i = r * a->max; i < r * a->max + n; i++) {
            int64_t slot = a->slots64 ? a->slots64[i] : a->slots32[i];
            if (slot < 0 || slot >= size) {
                wg_call_fail(c, "id %lld is outside [0,%lld)", (long long)slot, (long long)size);
                return false;
            }
        }
    }
    /* NOLINTEND(clang-analyzer-core.NullDereference) */
    return true;
}

static void run_paged(wg_call *c)
{
    const wg_node *n = c->node;
    const int64_t *q = n->in[0]->shape.dim, *k = n->in[1]->shape.dim, *v = n->in[2]->shape.dim;
    double scale = ((const wg_paged_attention_attrs *)n->attrs)->scale;
    bool wide_slots = n->in[3]->dtype == WG_I64, wide_lengths = n->in[4]->dtype == WG_I64;
    const simd_paged a = {
        .q = c->in[0],
        .k = c->in[1],
        .v = c->in[2],
        .y = c->out[0],
        .slots64 = wide_slots ? c->in[3] : NULL,
        .slots32 = wide_slots ? NULL : c->in[3],
        .lengths64 = wide_lengths ? c->in[4] : NULL,
        .lengths32 = wide_lengths ? NULL : c->in[4],
        .rows = q[0],
        .heads = q[1],
        .groups = q[1] / k[1],
        .d = q[2],
        .d_v = v[2],
        .max = n->in[3]->shape.dim[1],
        .scale = (float)(scale != 0 ? scale : 1 / sqrt((double)q[2])),
        .threads = c->threads,
        .scratch = c->scratch,
    };
    if (wgi_lengths_valid(c, 4, a.max, NULL) && slots_valid(c, &a, k[0]))
        simd_kernels(c)->paged_attention(&a);
}

static size_t paged_scratch(const wg_node *n, int threads)
{
    int64_t one = simd_paged_scratch(n->in[0]->shape.dim[1], n->in[3]->shape.dim[1]);
    return (size_t)threads * (size_t)one * sizeof(float);
}

const simd_kernel wgi_simd_attention[] = {
    {&wg_op_paged_attention, "paged attention", wgi_simd_refuses_empty, paged_scratch, run_paged},
    {&wg_op_attention, "fused attention", refuses, scratch, run_forward},
    {&wg_op_attention_grad, "fused attention", refuses, scratch, run_backward},
    {&wg_op_attention_bias_grad, "fused attention", refuses, scratch, run_bias},
    {&wg_op_attention_by_token, "fused attention", refuses, scratch, run_forward},
    {&wg_op_attention_by_token_grad, "fused attention", refuses, scratch, run_backward},
    {&wg_op_packed_attention, "fused attention", refuses, scratch, run_forward},
    {&wg_op_packed_attention_grad, "fused attention", refuses, scratch, run_backward},
    {.op = NULL},
};
