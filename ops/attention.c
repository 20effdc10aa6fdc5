/* Dot-product attention.  With W = softmax(scale q k' + bias + mask) and M = dropout(W):
 *     y = M v,   dv = M' dy,   dW = dropout(dy v'),   dS = W (dW - sum over s of dW W),
 *     dq = scale dS k,   dk = scale dS' q,   dbias = dS,
 * where both dropouts have the same mask.  Where heads are grouped, queries are [B, Hk, H/Hk, T,
 * d], and keys [B, Hk, 1, S, d] broadcast against them. */
#include "ops/attention_mask.h"
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

const wg_attr wgi_attention_table[8] = {WGI_ATTENTION_ATTRS};

/* ---- shape rules ----------------------------------------------------------------------------- */

static bool need_attrs(wg_node *n)
{
    const wg_attention_attrs *a = n->attrs;
    if (!(fabs(a->scale) < 1e30))
        return wg_fail(n, WG_EINVAL, "scale is %g, must be finite", a->scale);
    if (a->left < 0 || a->left > INT32_MAX || a->right < 0 || a->right > INT32_MAX)
        return wg_fail(n, WG_EINVAL, "left is %lld and right is %lld, must be in [0, 2^31) each",
                       (long long)a->left, (long long)a->right);
    if (!a->window && (a->left || a->right))
        return wg_fail(n, WG_EINVAL, "left is %lld and right is %lld, but window is false",
                       (long long)a->left, (long long)a->right);
    return wgi_need_mask_attrs(n, a->causal_offset, a->dropout);
}

/* q and k at operands i and i + 1 */
static bool need_query_and_keys(wg_node *n, int i)
{
    if (!wg_need_float(n, i) || !wg_need_same_dtype(n, i + 1, i) || !wg_need_rank(n, i, 4, 4) ||
        !wg_need_rank(n, i + 1, 4, 4))
        return false;
    const int64_t *q = n->in[i]->shape.dim, *k = n->in[i + 1]->shape.dim;
    if (!wg_need_dim(n, i + 1, 0, q[0]) || !wg_need_dim(n, i + 1, 3, q[3]))
        return false;
    return (k[1] > 0 && q[1] % k[1] == 0) || (k[1] == 0 && q[1] == 0) ||
           wg_fail(n, WG_ESHAPE, "%lld heads of queries cannot share %lld heads of keys",
                   (long long)q[1], (long long)k[1]);
}

/* v at operand i, k before it */
static bool need_values(wg_node *n, int i)
{
    const int64_t *k = n->in[i - 1]->shape.dim;
    return wg_need_same_dtype(n, i, i - 1) && wg_need_rank(n, i, 4, 4) &&
           wg_need_dim(n, i, 0, k[0]) && wg_need_dim(n, i, 1, k[1]) && wg_need_dim(n, i, 2, k[2]);
}

/* The bias at operand i, if there is one: broadcastable to the scores [B, H, T, S] of q and k at
 * `first`. */
static bool need_bias(wg_node *n, int i, int first)
{
    if (i >= n->n_in)
        return true;
    if (!wg_need_same_dtype(n, i, first) || !wg_need_rank(n, i, 4, 4))
        return false;
    char is[160], must[160];
    const wg_shape scores = wgi_with_last(n->in[first], n->in[first + 1]->shape.dim[2]);
    const wg_shape *bias = &n->in[i]->shape;
    for (int axis = 0; axis < 4; axis++)
        if (bias->dim[axis] != 1 && bias->dim[axis] != scores.dim[axis])
            return wg_fail(n, WG_ESHAPE, "bias is %s, must broadcast to the scores %s",
                           wg_shape_text(bias, is, sizeof is),
                           wg_shape_text(&scores, must, sizeof must));
    return true;
}

static bool infer_weights(wg_node *n)
{
    return need_attrs(n) && need_query_and_keys(n, 0) && wgi_need_lengths(n, 2) &&
           need_bias(n, 3, 0) &&
           wg_set_result(n, 0, n->in[0]->dtype, wgi_with_last(n->in[0], n->in[1]->shape.dim[2]));
}

static bool infer_attention(wg_node *n)
{
    return need_attrs(n) && need_query_and_keys(n, 0) && need_values(n, 2) &&
           wgi_need_lengths(n, 3) && need_bias(n, 4, 0) &&
           wg_set_result(n, 0, n->in[0]->dtype, wgi_with_last(n->in[0], n->in[2]->shape.dim[3]));
}

/* dy q k v lengths? bias? */
static bool need_gradient_operands(wg_node *n)
{
    char is[160], must[160];
    if (!need_attrs(n) || !need_query_and_keys(n, 1) || !need_values(n, 3) ||
        !wg_need_same_dtype(n, 0, 1))
        return false;
    wg_shape y = wgi_with_last(n->in[1], n->in[3]->shape.dim[3]);
    if (!wg_shape_equal(&n->in[0]->shape, &y))
        return wg_fail(n, WG_ESHAPE, "dy is %s, must be %s",
                       wg_shape_text(&n->in[0]->shape, is, sizeof is),
                       wg_shape_text(&y, must, sizeof must));
    return wgi_need_lengths(n, 4) && need_bias(n, 5, 1);
}

static bool infer_attention_grad(wg_node *n)
{
    if (!need_gradient_operands(n))
        return false;
    for (int i = 0; i < 3; i++)
        if (!wg_set_result(n, i, n->in[i + 1]->dtype, n->in[i + 1]->shape))
            return false;
    return true;
}

static bool infer_bias_grad(wg_node *n)
{
    return need_gradient_operands(n) && wg_set_result(n, 0, n->in[5]->dtype, n->in[5]->shape);
}

/* ---- heads ----------------------------------------------------------------------------------- */

static int64_t group_size(const wg_value *q, const wg_value *k)
{
    return k->shape.dim[1] > 0 ? q->shape.dim[1] / k->shape.dim[1] : 1;
}

static wg_value *regroup(wg_value *x, int64_t heads, int64_t groups)
{
    if (!x || groups == 1)
        return x;
    const int64_t *d = x->shape.dim;
    return wg_reshape(x, WG_SHAPE(d[0], heads, x->shape.dim[1] / heads, d[2], d[3]));
}

/* matmul over heads of queries (a) and of keys (b), grouped or not */
static wg_value *matmul_heads(wg_value *a, wg_value *b, int transposes)
{
    if (!a || !b)
        return NULL;
    int64_t groups = group_size(a, b), heads = b->shape.dim[1];
    wg_value *y = wg_matmul_t(regroup(a, heads, groups), regroup(b, heads, groups), transposes);
    if (!y || groups == 1)
        return y;
    const int64_t *d = y->shape.dim;
    return wg_reshape(y, WG_SHAPE(d[0], d[1] * d[2], d[3], d[4]));
}

/* a' b of two that have heads of queries, summed over the group into heads of keys */
static wg_value *matmul_to_keys(wg_value *a, wg_value *b, const wg_value *k)
{
    if (!a || !b)
        return NULL;
    int64_t groups = group_size(a, k), heads = k->shape.dim[1];
    wg_value *y = wg_matmul_t(regroup(a, heads, groups), regroup(b, heads, groups), WG_TN);
    return groups == 1 ? y : wg_sum(y, WG_AXES(2), WG_DROP);
}

/* ---- expansions ------------------------------------------------------------------------------ */

static double scale_of(const wg_attention_attrs *a, const wg_value *q)
{
    int64_t d = q->shape.dim[3];
    return a->scale != 0 ? a->scale : d > 0 ? 1 / sqrt((double)d) : 1;
}

/* scale q k'.  The scores are scaled unless they have more elements than q: nothing else reads
 * them, so a plan scales them in place, while q, which others read, would have to be copied. */
static wg_value *scores_of(const wg_attention_attrs *a, wg_value *q, wg_value *k)
{
    double scale = scale_of(a, q);
    if (k && k->shape.dim[2] <= q->shape.dim[3])
        return wg_scale(matmul_heads(q, k, WG_NT), scale);
    return matmul_heads(wg_scale(q, scale), k, WG_NT);
}

static wg_value *operand(const wg_node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

static void expand_weights(wg_node *n, wg_value **y)
{
    const wg_attention_attrs *a = n->attrs;
    wg_value *q = n->in[0], *k = n->in[1], *bias = operand(n, 3);
    int64_t queries = q->shape.dim[2], keys = k->shape.dim[2];
    wg_value *lengths = wgi_lengths_of(n, 2, keys);
    wg_value *scores = scores_of(a, q, wgi_live(k, lengths));
    if (bias)
        scores = wg_add(scores, bias);
    wg_value *seen = wgi_seen_keys(n->graph, lengths, wg_attention_span(a), queries, keys, 4);
    y[0] = wg_softmax(wgi_only(seen, scores, -HUGE_VAL), -1);
}

/* W of the q and k at operands i and i + 1, with the lengths and the bias behind v: the same node
 * in the forward and in the backward pass, which a plan merges. */
static wg_value *weights_of(const wg_node *n, int i)
{
    wg_attention_attrs a = *(const wg_attention_attrs *)n->attrs;
    a.dropout = 0;
    a.key = 0;
    wg_value *in[] = {n->in[i], n->in[i + 1], operand(n, i + 3), operand(n, i + 4)};
    return wgi_apply_list(WG_HERE, &wg_op_attention_weights, &a, in, 4);
}

static void expand_attention(wg_node *n, wg_value **y)
{
    const wg_attention_attrs *a = n->attrs;
    wg_value *lengths = wgi_lengths_of(n, 3, n->in[1]->shape.dim[2]);
    wg_value *w = weights_of(n, 0);
    y[0] =
        matmul_heads(wgi_drop_weights(w, a->dropout, a->key), wgi_live(n->in[2], lengths), WG_NN);
}

/* dS = W (dW - sum over s of dW W),  dW = dropout(dy v') */
static wg_value *score_cotangent(const wg_node *n, wg_value *w, wg_value *lengths)
{
    const wg_attention_attrs *a = n->attrs;
    wg_value *dy = n->in[0], *v = wgi_live(n->in[3], lengths);
    wg_value *dw = wgi_drop_weights(matmul_heads(dy, v, WG_NT), a->dropout, a->key);
    return wg_mul(w, wg_sub(dw, wg_sum(wg_mul(dw, w), WG_AXES(-1), WG_KEEP)));
}

static void expand_attention_grad(wg_node *n, wg_value **y)
{
    const wg_attention_attrs *a = n->attrs;
    wg_value *dy = n->in[0], *q = n->in[1], *k = n->in[2];
    wg_value *lengths = wgi_lengths_of(n, 4, k->shape.dim[2]);
    wg_value *w = weights_of(n, 1);
    wg_value *ds = wg_scale(score_cotangent(n, w, lengths), scale_of(a, q));
    y[0] = matmul_heads(ds, wgi_live(k, lengths), WG_NN);
    y[1] = matmul_to_keys(ds, q, k);
    y[2] = matmul_to_keys(wgi_drop_weights(w, a->dropout, a->key), dy, k);
}

/* dS, summed over the axes along which the bias was repeated */
static void expand_bias_grad(wg_node *n, wg_value **y)
{
    wg_value *lengths = wgi_lengths_of(n, 4, n->in[2]->shape.dim[2]);
    wg_value *ds = score_cotangent(n, weights_of(n, 1), lengths);
    wg_axes repeated = {0};
    for (int i = 0; ds && i < 4; i++)
        if (ds->shape.dim[i] != n->in[5]->shape.dim[i])
            repeated.axis[repeated.count++] = i;
    y[0] = repeated.count ? wg_sum(ds, repeated, WG_KEEP) : ds;
}

static void grad_attention(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *in[] = {dy[0], n->in[0], n->in[1], n->in[2], operand(n, 3), operand(n, 4)};
    wg_node *d = wg_apply(WG_HERE, NULL, &wg_op_attention_grad, n->attrs, in, 6);
    for (int i = 0; d && i < 3; i++)
        dx[i] = d->out[i];
    if (d && n->n_in > 4)
        dx[4] = wgi_apply_list(WG_HERE, &wg_op_attention_bias_grad, n->attrs, in, 6);
}

/* ---- the ops --------------------------------------------------------------------------------- */

/* Of the matrix products: 2 T S d for each, and the softmax between, with q and k at operands i and
 * i + 1.  Of S keys, a window leaves those in it. */
static double products(const wg_node *n, int i, double widths)
{
    const wg_attention_attrs *a = n->attrs;
    const int64_t *d = n->in[i]->shape.dim;
    double keys = (double)n->in[i + 1]->shape.dim[2];
    if (a->window)
        keys = fmin(keys, (double)(a->left + a->right + 1));
    return (double)d[0] * (double)d[1] * (double)d[2] * keys * (2 * widths + 5);
}

static double flops_weights(const wg_node *n)
{
    return products(n, 0, (double)n->in[0]->shape.dim[3]);
}

static double flops_attention(const wg_node *n)
{
    return products(n, 0, (double)(n->in[0]->shape.dim[3] + n->in[2]->shape.dim[3]));
}

static double flops_attention_grad(const wg_node *n)
{
    double d = (double)n->in[1]->shape.dim[3], dv = (double)n->in[3]->shape.dim[3];
    return products(n, 1, 3 * d + 2 * dv);
}

static double flops_bias_grad(const wg_node *n)
{
    return products(n, 1, (double)(n->in[1]->shape.dim[3] + n->in[3]->shape.dim[3]));
}

static const wg_attention_attrs plain = {0}, causal = {.causal = true},
                                last_aligned = {.causal = true, .causal_offset = 2, .scale = 0.7},
                                blind_first = {.causal = true, .causal_offset = -1},
                                with_dropout = {.causal = true, .dropout = 0.25, .key = 5},
                                window = {.window = true, .left = 2, .right = 1},
                                past = {.causal = true, .window = true, .left = 1, .right = 3},
                                far = {.window = true, .causal_offset = -2, .left = 1};

#define F(...) WG_FLOATS(-2, 2, 4, __VA_ARGS__)
#define LENGTHS(lo, hi) WG_INTS(lo, hi, 1, 2)
static const wg_sample weights_samples[] = {
    {"plain", &plain, 2, {F(2, 2, 3, 4), F(2, 2, 3, 4)}},
    {"causal, lengths", &causal, 3, {F(2, 1, 4, 3), F(2, 1, 4, 3), LENGTHS(1, 5)}},
    {"grouped, last aligned", &last_aligned, 2, {F(1, 4, 2, 3), F(1, 2, 4, 3)}},
    {"window, lengths, bias",
     &window,
     4,
     {F(2, 2, 4, 3), F(2, 1, 5, 3), LENGTHS(1, 6), F(1, 2, 1, 5)}},
};
static const wg_sample attention_samples[] = {
    {"plain", &plain, 3, {F(2, 2, 3, 4), F(2, 2, 3, 4), F(2, 2, 3, 4)}},
    {"causal", &causal, 3, {F(1, 2, 4, 3), F(1, 2, 4, 3), F(1, 2, 4, 2)}},
    {"lengths, S != T", &plain, 4, {F(2, 1, 2, 3), F(2, 1, 4, 3), F(2, 1, 4, 3), LENGTHS(1, 5)}},
    {"causal, lengths, grouped",
     &causal,
     4,
     {F(2, 4, 3, 2), F(2, 2, 3, 2), F(2, 2, 3, 3), LENGTHS(1, 4)}},
    {"one key head, last aligned", &last_aligned, 3, {F(1, 3, 2, 3), F(1, 1, 4, 3), F(1, 1, 4, 2)}},
    {"masked rows", &blind_first, 4, {F(2, 1, 3, 2), F(2, 1, 3, 2), F(2, 1, 3, 2), LENGTHS(0, 2)}},
    {"dropout", &with_dropout, 3, {F(1, 2, 4, 3), F(1, 2, 4, 3), F(1, 2, 4, 3)}},
    {"bias",
     &plain,
     5,
     {F(2, 2, 3, 2), F(2, 2, 4, 2), F(2, 2, 4, 2), LENGTHS(1, 5), F(2, 2, 3, 4)}},
    {"causal, bias of heads, grouped",
     &causal,
     5,
     {F(2, 4, 3, 2), F(2, 2, 3, 2), F(2, 2, 3, 3), LENGTHS(3, 4), F(1, 4, 3, 3)}},
    {"window", &window, 3, {F(1, 2, 5, 3), F(1, 2, 6, 3), F(1, 2, 6, 2)}},
    {"causal window, bias of keys",
     &past,
     5,
     {F(2, 1, 4, 2), F(2, 1, 4, 2), F(2, 1, 4, 2), LENGTHS(1, 5), F(2, 1, 1, 4)}},
    {"window with blind rows",
     &far,
     4,
     {F(2, 2, 5, 2), F(2, 2, 3, 2), F(2, 2, 3, 2), LENGTHS(0, 3)}},
    {"empty batch", &plain, 3, {F(0, 2, 3, 4), F(0, 2, 3, 4), F(0, 2, 3, 4)}},
    {"no keys", &plain, 3, {F(1, 2, 3, 4), F(1, 2, 0, 4), F(1, 2, 0, 4)}},
};
static const wg_sample attention_grad_samples[] = {
    {"plain", &plain, 4, {F(1, 2, 3, 2), F(1, 2, 3, 4), F(1, 2, 3, 4), F(1, 2, 3, 2)}},
    {"causal, lengths, grouped",
     &causal,
     5,
     {F(2, 4, 3, 2), F(2, 4, 3, 2), F(2, 2, 3, 2), F(2, 2, 3, 2), LENGTHS(1, 4)}},
    {"dropout", &with_dropout, 4, {F(1, 2, 4, 3), F(1, 2, 4, 3), F(1, 2, 4, 3), F(1, 2, 4, 3)}},
    {"window, bias",
     &window,
     6,
     {F(2, 2, 4, 2), F(2, 2, 4, 2), F(2, 1, 4, 2), F(2, 1, 4, 2), LENGTHS(1, 5), F(1, 2, 1, 4)}},
};
static const wg_sample bias_grad_samples[] = {
    {"full",
     &causal,
     6,
     {F(2, 2, 3, 2), F(2, 2, 3, 2), F(2, 1, 3, 2), F(2, 1, 3, 2), LENGTHS(1, 4), F(2, 2, 3, 3)}},
    {"of heads, dropout",
     &with_dropout,
     6,
     {F(2, 2, 3, 2), F(2, 2, 3, 3), F(2, 2, 3, 3), F(2, 2, 3, 2), LENGTHS(1, 4), F(1, 2, 1, 3)}},
    {"of keys, window", /* of one number or of each query it would be zero but for rounding */
     &window,
     6,
     {F(2, 2, 3, 2), F(2, 2, 3, 2), F(2, 2, 4, 2), F(2, 2, 4, 2), LENGTHS(0, 5), F(1, 1, 1, 4)}},
};

#define ATTENTION .family = WG_FAMILY_ATTENTION, WG_ATTRS(wg_attention_attrs, wgi_attention_table)

const wg_op wg_op_attention_weights = {
    .name = "attention_weights",
    .formula = "w = softmax(scale q k' + bias + mask)",
    ATTENTION,
    .operands = "q k lengths? bias?",
    .results = "w",
    .flops = flops_weights,
    .infer = infer_weights,
    .expand = expand_weights,
    WG_SAMPLES(weights_samples),
};
const wg_op wg_op_attention = {
    .name = "attention",
    .formula = "y = dropout(softmax(scale q k' + bias + mask)) v",
    ATTENTION,
    .operands = "q k v lengths? bias?",
    .results = "y",
    .flags = WG_OP_RANDOM,
    .flops = flops_attention,
    .infer = infer_attention,
    .expand = expand_attention,
    .grad = grad_attention,
    .reads = WG_READS_X,
    WG_SAMPLES(attention_samples),
};
const wg_op wg_op_attention_grad = {
    .name = "attention_grad",
    .formula = "dv = M' dy, dq = scale dS k, dk = scale dS' q, dS = W (dW - sum dW W)",
    ATTENTION,
    .operands = "dy q k v lengths? bias?",
    .results = "dq dk dv",
    .flags = WG_OP_RANDOM,
    .flops = flops_attention_grad,
    .infer = infer_attention_grad,
    .expand = expand_attention_grad,
    WG_SAMPLES(attention_grad_samples),
};

const wg_op wg_op_attention_bias_grad = {
    .name = "attention_bias_grad",
    .formula = "dbias = dS, summed over the axes of size 1 of bias",
    ATTENTION,
    .operands = "dy q k v lengths bias",
    .results = "dbias",
    .flags = WG_OP_RANDOM,
    .flops = flops_bias_grad,
    .infer = infer_bias_grad,
    .expand = expand_bias_grad,
    WG_SAMPLES(bias_grad_samples),
};

/* ---- builders -------------------------------------------------------------------------------- */

/* Operands lengths and bias.  Only a trailing operand may be absent: before a bias, the number of
 * keys takes the place of missing lengths.  A mask of bools becomes 0 and -infinity. */
static void set_lengths_and_bias(const char *at, const wg_value *q, const wg_value *k,
                                 wg_value *lengths, wg_value *bias, wg_value *in[2])
{
    in[0] = lengths;
    in[1] = bias;
    if (!bias || q->shape.rank != 4 || k->shape.rank != 4)
        return;
    wg_graph *g = wg_graph_of(q);
    if (!lengths)
        in[0] = (wg_fill)(at, g, WG_I64, WG_SHAPE(q->shape.dim[0]), (double)k->shape.dim[2]);
    if (bias->dtype == WG_BOOL)
        in[1] = (wg_where)(at, bias, (wg_fill)(at, g, q->dtype, WG_SCALAR, 0),
                           (wg_fill)(at, g, q->dtype, WG_SCALAR, -HUGE_VAL));
}

wg_value *(wg_biased_attention_weights)(const char *at, wg_value *q, wg_value *k, wg_value *bias,
                                        wg_value *lengths, const wg_attention_attrs *options)
{
    wg_value *in[4] = {q, k};
    if (!q || !k)
        return NULL;
    set_lengths_and_bias(at, q, k, lengths, bias, &in[2]);
    return wgi_apply_list(at, &wg_op_attention_weights, options, in, 4);
}

wg_value *(wg_attention_weights)(const char *at, wg_value *q, wg_value *k, wg_value *lengths,
                                 const wg_attention_attrs *options)
{
    return (wg_biased_attention_weights)(at, q, k, NULL, lengths, options);
}

wg_value *(wg_biased_attention)(const char *at, wg_value *q, wg_value *k, wg_value *v,
                                wg_value *bias, wg_value *lengths,
                                const wg_attention_attrs *options)
{
    wg_value *in[5] = {q, k, v};
    wg_attention_attrs a = options ? *options : (wg_attention_attrs){0};
    if (!q || !k || !v)
        return NULL;
    set_lengths_and_bias(at, q, k, lengths, bias, &in[3]);
    if (a.dropout > 0 && a.key == 0)
        a.key = (int64_t)wg_graph_new_key(wg_graph_of(q));
    return wgi_apply_list(at, &wg_op_attention, &a, in, 5);
}

wg_value *(wg_attention)(const char *at, wg_value *q, wg_value *k, wg_value *v, wg_value *lengths,
                         const wg_attention_attrs *options)
{
    return (wg_biased_attention)(at, q, k, v, NULL, lengths, options);
}
