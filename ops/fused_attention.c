/* Attention as projections make its operands, so that nothing has to be moved: tokens before heads,
 * and queries, keys and values side by side. */
#include "ops/ops_internal.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* ---- attention on [B, T, H, d] --------------------------------------------------------------- */
/* Projections make [B, T, H d], which is [B, T, H, d] without moving anything; attention wants [B,
 * H, T, d].  Its kernels can read either, so the permutations before and after it need not be
 * carried out. */

static wg_value *swapped(wg_value *x)
{
    return x && x->shape.rank == 4 ? wg_permute(x, WG_AXES(0, 2, 1, 3)) : x;
}

static void swap_shape(wg_value *x)
{
    int64_t tokens = x->shape.dim[1];
    x->shape.dim[1] = x->shape.dim[2];
    x->shape.dim[2] = tokens;
}

enum { MAX_OPERANDS = 6 }; /* dy q k v lengths bias */

/* Whether operand i has heads and tokens to be exchanged: not lengths and bias, which stay. */
static bool has_tokens(const wg_node *n, int i)
{
    return i < (n->n_out == 1 ? 3 : 4) && n->in[i]->shape.rank == 4;
}

/* The shape rule of `inner` on operands with tokens and heads exchanged, and so its results. */
static bool infer_by_token(wg_node *n, const wg_op *inner)
{
    wg_value copies[MAX_OPERANDS], *in[MAX_OPERANDS];
    wg_node seen = *n;
    for (int i = 0; i < n->n_in; i++) {
        copies[i] = *n->in[i];
        if (has_tokens(n, i))
            swap_shape(&copies[i]);
        in[i] = &copies[i];
    }
    seen.in = in;
    if (!inner->infer(&seen))
        return false;
    for (int i = 0; i < n->n_out; i++)
        swap_shape(n->out[i]);
    return true;
}

static void expand_by_token(wg_node *n, const wg_op *inner, wg_value **y)
{
    wg_value *in[MAX_OPERANDS];
    for (int i = 0; i < n->n_in; i++)
        in[i] = has_tokens(n, i) ? swapped(n->in[i]) : n->in[i];
    wg_node *m = wg_apply(WG_HERE, n->graph, inner, n->attrs, in, n->n_in);
    for (int i = 0; m && i < n->n_out; i++)
        y[i] = swapped(m->out[i]);
}

static bool infer_attention(wg_node *n)
{
    return infer_by_token(n, &wg_op_attention);
}

static bool infer_attention_grad(wg_node *n)
{
    return infer_by_token(n, &wg_op_attention_grad);
}

static void expand_attention(wg_node *n, wg_value **y)
{
    expand_by_token(n, &wg_op_attention, y);
}

static void expand_attention_grad(wg_node *n, wg_value **y)
{
    expand_by_token(n, &wg_op_attention_grad, y);
}

/* Of the matrix products, as for attention. */
static double products(const wg_node *n, int q, double widths)
{
    const int64_t *d = n->in[q]->shape.dim;
    return (double)d[0] * (double)d[1] * (double)d[2] * (double)n->in[q + 1]->shape.dim[1] *
           (2 * widths + 5);
}

static double flops_attention(const wg_node *n)
{
    return products(n, 0, (double)(n->in[0]->shape.dim[3] + n->in[2]->shape.dim[3]));
}

static double flops_attention_grad(const wg_node *n)
{
    return products(n, 1, (double)(3 * n->in[1]->shape.dim[3] + 2 * n->in[3]->shape.dim[3]));
}

/* clang-format off */
static const wg_attention_attrs plain = {0}, causal = {.causal = true},
                                dropped = {.causal = true, .dropout = 0.25, .key = 5},
                                window = {.window = true, .left = 1, .right = 1};

#define F(...) WG_FLOATS(-2, 2, 4, __VA_ARGS__)
static const wg_sample attention_samples[] = {
    {"plain", &plain, 3, {F(2, 3, 2, 4), F(2, 3, 2, 4), F(2, 3, 2, 4)}},
    {"causal, lengths, grouped", &causal, 4,
     {F(2, 3, 4, 2), F(2, 3, 2, 2), F(2, 3, 2, 3), WG_INTS(1, 4, 1, 2)}},
    {"dropout", &dropped, 3, {F(1, 4, 2, 3), F(1, 4, 2, 3), F(1, 4, 2, 3)}},
    {"window, bias", &window, 5,
     {F(2, 4, 2, 3), F(2, 3, 1, 3), F(2, 3, 1, 3), WG_INTS(1, 4, 1, 2), F(1, 2, 4, 3)}},
};
static const wg_sample attention_grad_samples[] = {
    {"plain", &plain, 4, {F(1, 3, 2, 2), F(1, 3, 2, 4), F(1, 3, 2, 4), F(1, 3, 2, 2)}},
    {"causal, lengths, grouped", &causal, 5,
     {F(2, 3, 4, 2), F(2, 3, 4, 2), F(2, 3, 2, 2), F(2, 3, 2, 2), WG_INTS(1, 4, 1, 2)}},
    {"dropout", &dropped, 4, {F(1, 4, 2, 3), F(1, 4, 2, 3), F(1, 4, 2, 3), F(1, 4, 2, 3)}},
    {"window, bias", &window, 6,
     {F(2, 4, 2, 3), F(2, 4, 2, 3), F(2, 3, 1, 3), F(2, 3, 1, 3), WG_INTS(1, 4, 1, 2),
      F(2, 1, 1, 3)}},
};

#define BY_TOKEN                                                                                   \
    .family = WG_FAMILY_FUSED, .flags = WG_OP_RANDOM,                                              \
    WG_ATTRS(wg_attention_attrs, wgi_attention_table)

const wg_op wg_op_attention_by_token = {
    .name = "attention_by_token",
    .formula = "attention of q, k, v [B, T, H, d]: tokens before heads", BY_TOKEN,
    .operands = "q k v lengths? bias?", .results = "y", .infer = infer_attention,
    .expand = expand_attention, .flops = flops_attention, WG_SAMPLES(attention_samples),
};
const wg_op wg_op_attention_by_token_grad = {
    .name = "attention_by_token_grad", .formula = "attention_grad of dy, q, k, v [B, T, H, d]",
    BY_TOKEN,
    .operands = "dy q k v lengths? bias?", .results = "dq dk dv", .infer = infer_attention_grad,
    .expand = expand_attention_grad, .flops = flops_attention_grad,
    WG_SAMPLES(attention_grad_samples),
};
/* clang-format on */

/* ---- attention of x [B, T, H d + Hk (d + dv)] ------------------------------------------------ */
/* One projection makes queries, keys and values of all heads at once.  Cut apart they would be
 * copied, as would the three gradients to be put together again. */

/* The width of a head of values. */
static int64_t value_width(const wg_packed_attention_attrs *a, const wg_value *x)
{
    return (x->shape.dim[2] - (a->heads + a->key_heads) * a->d) / a->key_heads;
}

/* The operand at i, and whether its last axis can be cut. */
static bool need_packed(wg_node *n, int i)
{
    enum { MOST = 1 << 20 };
    const wg_packed_attention_attrs *a = n->attrs;
    if (!wg_need_float(n, i) || !wg_need_rank(n, i, 3, 3))
        return false;
    if (a->heads < 1 || a->key_heads < 1 || a->d < 1 || a->heads > MOST || a->key_heads > MOST ||
        a->d > MOST)
        return wg_fail(n, WG_EINVAL, "heads %lld, key_heads %lld and d %lld must be in [1, 2^20]",
                       (long long)a->heads, (long long)a->key_heads, (long long)a->d);
    int64_t width = n->in[i]->shape.dim[2], rest = width - (a->heads + a->key_heads) * a->d;
    return (rest >= 0 && rest % a->key_heads == 0) ||
           wg_fail(n, WG_ESHAPE,
                   "a last axis of %lld is not %lld heads of queries and %lld of keys of %lld "
                   "elements, and as many of values",
                   (long long)width, (long long)a->heads, (long long)a->key_heads, (long long)a->d);
}

/* The shape rule of attention on the q, k, v in operand i, whose result [B, H, T, dv] is y. */
static bool infer_unpacked(wg_node *n, int i, wg_value *y)
{
    const wg_packed_attention_attrs *a = n->attrs;
    const wg_value *x = n->in[i];
    wg_value parts[3] = {*x, *x, *x}, *in[MAX_OPERANDS], *out[] = {y};
    wg_node seen = *n;
    int64_t B = x->shape.dim[0], T = x->shape.dim[1];
    parts[0].shape = WG_SHAPE(B, a->heads, T, a->d);
    parts[1].shape = WG_SHAPE(B, a->key_heads, T, a->d);
    parts[2].shape = WG_SHAPE(B, a->key_heads, T, value_width(a, x));
    for (seen.n_in = 0; seen.n_in < 3; seen.n_in++)
        in[seen.n_in] = &parts[seen.n_in];
    for (int k = i + 1; k < n->n_in; k++)
        in[seen.n_in++] = n->in[k];
    seen.in = in;
    seen.out = out;
    seen.n_out = 1;
    seen.attrs = (void *)(uintptr_t)&a->attention;
    if (!wg_op_attention.infer(&seen))
        return false;
    swap_shape(y);
    return true;
}

static bool infer_packed(wg_node *n)
{
    return need_packed(n, 0) && infer_unpacked(n, 0, n->out[0]);
}

static bool infer_packed_grad(wg_node *n)
{
    char is[160], must[160];
    wg_value y = *n->out[0];
    if (!need_packed(n, 1) || !wg_need_same_dtype(n, 0, 1) || !infer_unpacked(n, 1, &y))
        return false;
    if (!wg_shape_equal(&n->in[0]->shape, &y.shape))
        return wg_fail(n, WG_ESHAPE, "dy is %s, must be %s",
                       wg_shape_text(&n->in[0]->shape, is, sizeof is),
                       wg_shape_text(&y.shape, must, sizeof must));
    return wg_set_result(n, 0, n->in[1]->dtype, n->in[1]->shape);
}

/* q, k, v [B, T, heads, width] of x. */
static void unpack(const wg_packed_attention_attrs *a, wg_value *x, wg_value *part[3])
{
    if (!x)
        return;
    const int64_t heads[] = {a->heads, a->key_heads, a->key_heads},
                  width[] = {a->d, a->d, value_width(a, x)},
                  sizes[] = {heads[0] * width[0], heads[1] * width[1], heads[2] * width[2]};
    wg_value *q = wg_split(x, -1, sizes, 3);
    for (int i = 0; i < 3; i++)
        part[i] = wg_reshape(wg_result_of(q, i),
                             WG_SHAPE(x->shape.dim[0], x->shape.dim[1], heads[i], width[i]));
}

/* `op` on the operands before x, on q, k, v, and on what follows x, operand i. */
static wg_node *apply_unpacked(wg_node *n, const wg_op *op, int i)
{
    const wg_packed_attention_attrs *a = n->attrs;
    wg_value *in[MAX_OPERANDS] = {n->in[0]};
    int count = i;
    unpack(a, n->in[i], in + i);
    count += 3;
    for (int k = i + 1; k < n->n_in; k++)
        in[count++] = n->in[k];
    return wg_apply(WG_HERE, n->graph, op, &a->attention, in, count);
}

static void expand_packed(wg_node *n, wg_value **y)
{
    wg_node *m = apply_unpacked(n, &wg_op_attention_by_token, 0);
    y[0] = m ? m->out[0] : NULL;
}

static void expand_packed_grad(wg_node *n, wg_value **dx)
{
    wg_node *m = apply_unpacked(n, &wg_op_attention_by_token_grad, 1);
    const wg_shape *x = &n->in[1]->shape;
    wg_value *part[3];
    for (int i = 0; m && i < 3; i++) {
        const int64_t *d = m->out[i]->shape.dim;
        part[i] = wg_reshape(m->out[i], WG_SHAPE(x->dim[0], x->dim[1], d[2] * d[3]));
    }
    dx[0] = m ? wg_concat(part, 3, -1) : NULL;
}

/* As above, of x at operand i; `keys` and `values` count how often their widths are met. */
static double packed_flops(const wg_node *n, int i, double keys, double values)
{
    const wg_packed_attention_attrs *a = n->attrs;
    const int64_t *x = n->in[i]->shape.dim;
    return (double)x[0] * (double)a->heads * (double)x[1] * (double)x[1] *
           (2 * (keys * (double)a->d + values * (double)value_width(a, n->in[i])) + 5);
}

static double flops_packed(const wg_node *n)
{
    return packed_flops(n, 0, 1, 1);
}

static double flops_packed_grad(const wg_node *n)
{
    return packed_flops(n, 1, 3, 2);
}

#define SIZE(field) WG_ATTR(INT, wg_packed_attention_attrs, field)
static const wg_attr packed_table[] = {WGI_ATTENTION_ATTRS, SIZE(heads), SIZE(key_heads), SIZE(d)};

/* clang-format off */
static const wg_packed_attention_attrs
    two_heads = {.heads = 2, .key_heads = 2, .d = 3},
    grouped = {{.causal = true}, .heads = 4, .key_heads = 2, .d = 2},
    masked = {{.causal = true, .dropout = 0.25, .key = 5}, .heads = 2, .key_heads = 2, .d = 3},
    near = {{.window = true, .left = 1, .right = 1}, .heads = 2, .key_heads = 1, .d = 3};

#define X(...) WG_FLOATS(-2, 2, 3, __VA_ARGS__)
static const wg_sample packed_samples[] = {
    {"plain", &two_heads, 1, {X(2, 3, 20)}},
    {"causal, lengths, grouped", &grouped, 2, {X(2, 3, 18), WG_INTS(1, 4, 1, 2)}},
    {"dropout", &masked, 1, {X(1, 4, 18)}},
    {"window, bias", &near, 3, {X(2, 4, 12), WG_INTS(1, 5, 1, 2), F(1, 2, 4, 4)}},
};
static const wg_sample packed_grad_samples[] = {
    {"plain", &two_heads, 2, {F(2, 3, 2, 4), X(2, 3, 20)}},
    {"causal, lengths, grouped", &grouped, 3,
     {F(2, 3, 4, 3), X(2, 3, 18), WG_INTS(1, 4, 1, 2)}},
    {"dropout", &masked, 2, {F(1, 4, 2, 3), X(1, 4, 18)}},
    {"window, bias", &near, 4,
     {F(2, 4, 2, 3), X(2, 4, 12), WG_INTS(1, 5, 1, 2), F(2, 1, 1, 4)}},
};

#define PACKED                                                                                     \
    .family = WG_FAMILY_FUSED, .flags = WG_OP_RANDOM,                                              \
    WG_ATTRS(wg_packed_attention_attrs, packed_table)

const wg_op wg_op_packed_attention = {
    .name = "packed_attention",
    .formula = "attention of the q, k, v side by side in x [B, T, H d + Hk (d + dv)]", PACKED,
    .operands = "x lengths? bias?", .results = "y", .infer = infer_packed,
    .expand = expand_packed, .flops = flops_packed, WG_SAMPLES(packed_samples),
};
const wg_op wg_op_packed_attention_grad = {
    .name = "packed_attention_grad",
    .formula = "attention_grad of the q, k, v side by side in x", PACKED,
    .operands = "dy x lengths? bias?", .results = "dx", .infer = infer_packed_grad,
    .expand = expand_packed_grad, .flops = flops_packed_grad, WG_SAMPLES(packed_grad_samples),
};
/* clang-format on */
