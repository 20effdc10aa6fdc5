/* attention and its gradient by kernels/attention.c, with heads before tokens ([B, H, T, d]) or
 * after ([B, T, H, d]). */

#include "backends/call.h"
#include "backends/lengths.h"
#include "backends/simd/internal.h"
#include "wengert/ops/attention.h"

#include <math.h>

static bool is_by_token(const wg_op *op)
{
    return op == &wg_op_attention_by_token || op == &wg_op_attention_by_token_grad;
}

static bool is_forward(const wg_op *op)
{
    return op == &wg_op_attention || op == &wg_op_attention_by_token;
}

/* Dimensions of a dense x as B, H, T, d whatever their order, and its strides. */
typedef struct extent {
    int64_t batches, heads, tokens, width;
} extent;

static extent extent_of(const wg_value *x, bool by_token)
{
    const int64_t *d = x->shape.dim;
    return (extent){d[0], d[by_token ? 2 : 1], d[by_token ? 1 : 2], d[3]};
}

static simd_heads heads_of(const wg_value *x, const void *data, bool by_token)
{
    extent e = extent_of(x, by_token);
    simd_heads h = {(float *)(uintptr_t)data, e.heads * e.tokens * e.width, e.tokens * e.width,
                    e.width};
    if (by_token) {
        h.head = e.width;
        h.row = e.heads * e.width;
    }
    return h;
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
    wg_key_span span = wg_attention_span(n->attrs);
    return span.last - span.first + 1;
}

/* Of a call whose operands from `first` on are q k v lengths? bias?. */
static simd_attention attention_of(const wg_call *c, int first)
{
    const wg_node *n = c->node;
    const wg_attention_attrs *attrs = n->attrs;
    bool by_token = is_by_token(n->op);
    wg_key_span span = wg_attention_span(attrs);
    extent q = extent_of(n->in[first], by_token), v = extent_of(n->in[first + 2], by_token);
    simd_attention a = {
        .q = heads_of(n->in[first], c->in[first], by_token),
        .k = heads_of(n->in[first + 1], c->in[first + 1], by_token),
        .v = heads_of(n->in[first + 2], c->in[first + 2], by_token),
        .batches = q.batches,
        .heads = q.heads,
        .groups = v.heads ? q.heads / v.heads : 1,
        .T = q.tokens,
        .S = v.tokens,
        .d = q.width,
        .d_v = v.width,
        .scale = (float)(attrs->scale != 0 ? attrs->scale : 1 / sqrt((double)q.width)),
        .first = span.first,
        .last = span.last,
        .threads = c->threads,
        .scratch = c->scratch,
    };
    if (attrs->dropout > 0)
        a.mask = wgi_mask_of(c->seed, c->step, (uint64_t)attrs->key, attrs->dropout);
    if (n->n_in > first + 3) {
        bool wide = n->in[first + 3]->dtype == WG_I64;
        a.lengths64 = wide ? c->in[first + 3] : NULL;
        a.lengths32 = wide ? NULL : c->in[first + 3];
    }
    if (n->n_in > first + 4)
        set_bias(&a, n->in[first + 4], c->in[first + 4]);
    return a;
}

/* Lengths, if there are any, behind the q k v that begin at `first`. */
static bool lengths_valid(wg_call *c, int first)
{
    int64_t keys = extent_of(c->node->in[first + 1], is_by_token(c->node->op)).tokens;
    return c->node->n_in <= first + 3 || wgi_lengths_valid(c, first + 3, keys, NULL);
}

static void run_forward(wg_call *c)
{
    bool by_token = is_by_token(c->node->op), failed = false;
    if (!lengths_valid(c, 0))
        return;
    simd_attention a = attention_of(c, 0);
    a.y = heads_of(c->node->out[0], c->out[0], by_token);
    a.failed = &failed;
    simd_kernels(c)->attention_forward(&a);
    if (failed)
        wgi_call_lacks_memory(c, "a product of attention");
}

static void run_backward(wg_call *c)
{
    bool by_token = is_by_token(c->node->op), failed = false;
    if (!lengths_valid(c, 1))
        return;
    simd_attention a = attention_of(c, 1);
    a.dy = heads_of(c->node->in[0], c->in[0], by_token);
    a.dq = heads_of(c->node->out[0], c->out[0], by_token);
    a.dk = heads_of(c->node->out[1], c->out[1], by_token);
    a.dv = heads_of(c->node->out[2], c->out[2], by_token);
    a.failed = &failed;
    simd_kernels(c)->attention_backward(&a);
    if (failed)
        wgi_call_lacks_memory(c, "a product of attention");
}

enum { SHORT = 64 }; /* measured by bench/kernels.c */

static const char *refuses(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty(n);
    if (why)
        return why;
    /* With tokens first the tiles save four permutations, which pays at any length. */
    int first = is_forward(n->op) ? 0 : 1;
    int64_t T = n->in[first]->shape.dim[2], S = n->in[first + 2]->shape.dim[2];
    if (!is_by_token(n->op) && T * S <= SHORT * SHORT)
        return "so short that batched products are faster";
    return NULL;
}

/* q is operand 0 forward, 1 backward; the values are two further. */
static size_t scratch(const wg_node *n, int threads)
{
    int first = is_forward(n->op) ? 0 : 1;
    extent q = extent_of(n->in[first], is_by_token(n->op)),
           v = extent_of(n->in[first + 2], is_by_token(n->op));
    return (size_t)threads *
           (size_t)simd_attention_scratch(q.tokens, v.tokens, seen_keys(n), q.width, v.width) *
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
    int64_t stride = simd_paged_stride(n->in[3]->shape.dim[1]);
    return (size_t)threads * (size_t)(n->in[0]->shape.dim[1] * stride) * sizeof(float);
}

const simd_kernel wgi_simd_attention[] = {
    {&wg_op_paged_attention, "paged attention", wgi_simd_refuses_empty, paged_scratch, run_paged},
    {&wg_op_attention, "fused attention", refuses, scratch, run_forward},
    {&wg_op_attention_grad, "fused attention", refuses, scratch, run_backward},
    {&wg_op_attention_by_token, "fused attention", refuses, scratch, run_forward},
    {&wg_op_attention_by_token_grad, "fused attention", refuses, scratch, run_backward},
    {.op = NULL},
};
