/* Dot-product attention.  With W = softmax(scale q k' + mask) and M = dropout(W):
 *     y = M v,   dv = M' dy,   dW = dropout(dy v'),   dS = W (dW - sum over s of dW W),
 *     dq = scale dS k,   dk = scale dS' q,
 * where both dropouts have the same mask.  Where heads are grouped, queries are [B, Hk, H/Hk, T,
 * d], and keys [B, Hk, 1, S, d] broadcast against them. */
#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

#include <math.h>

const wg_attr wgi_attention_table[5] = {
    WG_ATTR(BOOL, wg_attention_attrs, causal), WG_ATTR(INT, wg_attention_attrs, causal_offset),
    WG_ATTR(REAL, wg_attention_attrs, scale),  WG_ATTR(REAL, wg_attention_attrs, dropout),
    WG_ATTR(KEY, wg_attention_attrs, key),
};

/* ---- shape rules ----------------------------------------------------------------------------- */

static bool need_mask_attrs(wg_node *n, int64_t causal_offset, double dropout)
{
    if (!(dropout >= 0 && dropout < 1))
        return wg_fail(n, WG_EINVAL, "dropout is %g, must be in [0, 1)", dropout);
    return (causal_offset >= INT32_MIN && causal_offset <= INT32_MAX) ||
           wg_fail(n, WG_EINVAL, "causal_offset is %lld, must fit in 32 bits",
                   (long long)causal_offset);
}

static bool need_attrs(wg_node *n)
{
    const wg_attention_attrs *a = n->attrs;
    if (!(fabs(a->scale) < 1e30))
        return wg_fail(n, WG_EINVAL, "scale is %g, must be finite", a->scale);
    return need_mask_attrs(n, a->causal_offset, a->dropout);
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

static bool need_lengths(wg_node *n, int i)
{
    return i >= n->n_in || (wg_need_int(n, i) && wg_need_rank(n, i, 1, 1) &&
                            wg_need_dim(n, i, 0, n->in[0]->shape.dim[0]));
}

static wg_shape with_last(const wg_value *v, int64_t size)
{
    wg_shape s = v->shape;
    s.dim[s.rank - 1] = size;
    return s;
}

static bool infer_weights(wg_node *n)
{
    return need_attrs(n) && need_query_and_keys(n, 0) && need_lengths(n, 2) &&
           wg_set_result(n, 0, n->in[0]->dtype, with_last(n->in[0], n->in[1]->shape.dim[2]));
}

static bool infer_attention(wg_node *n)
{
    return need_attrs(n) && need_query_and_keys(n, 0) && need_values(n, 2) && need_lengths(n, 3) &&
           wg_set_result(n, 0, n->in[0]->dtype, with_last(n->in[0], n->in[2]->shape.dim[3]));
}

static bool infer_attention_grad(wg_node *n)
{
    char is[160], must[160];
    if (!need_attrs(n) || !need_query_and_keys(n, 1) || !need_values(n, 3) ||
        !wg_need_same_dtype(n, 0, 1))
        return false;
    wg_shape y = with_last(n->in[1], n->in[3]->shape.dim[3]);
    if (!wg_shape_equal(&n->in[0]->shape, &y))
        return wg_fail(n, WG_ESHAPE, "dy is %s, must be %s",
                       wg_shape_text(&n->in[0]->shape, is, sizeof is),
                       wg_shape_text(&y, must, sizeof must));
    if (!need_lengths(n, 4))
        return false;
    for (int i = 0; i < 3; i++)
        if (!wg_set_result(n, i, n->in[i + 1]->dtype, n->in[i + 1]->shape))
            return false;
    return true;
}

/* ---- masks ----------------------------------------------------------------------------------- */

static wg_value *operand(const wg_node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

/* [B, 1.., S, 1] (or [B, 1.., 1, S] for `across`) of the given rank: key s is within lengths[b].
 * NULL for no lengths. */
static wg_value *within(wg_value *lengths, int64_t keys, int rank, bool across)
{
    if (!lengths)
        return NULL;
    int axis = across ? rank - 1 : rank - 2;
    wg_shape position = {.rank = rank}, batch = {.rank = rank};
    for (int i = 0; i < rank; i++)
        position.dim[i] = batch.dim[i] = 1;
    position.dim[axis] = keys;
    batch.dim[0] = lengths->shape.dim[0];
    wg_value *s = wg_iota(wg_graph_of(lengths), lengths->dtype, position, axis, 0, 1);
    return wg_less(s, wg_reshape(lengths, batch));
}

/* [T, S]: s <= t + offset */
static wg_value *not_later(wg_graph *g, int64_t offset, int64_t queries, int64_t keys)
{
    wg_value *s = wg_iota(g, WG_I64, WG_SHAPE(1, keys), 1, 0, 1);
    wg_value *t = wg_iota(g, WG_I64, WG_SHAPE(queries, 1), 0, (double)offset, 1);
    return wg_less_equal(s, t);
}

/* Which keys a query may see, broadcastable to scores [B, 1.., T, S] of the given rank; NULL:
 * all. */
static wg_value *seen_keys(wg_graph *g, wg_value *lengths, bool causal, int64_t offset,
                           int64_t queries, int64_t keys, int rank)
{
    wg_value *seen = within(lengths, keys, rank, true);
    wg_value *past = causal ? not_later(g, offset, queries, keys) : NULL;
    return seen && past ? wg_logical_and(seen, past) : seen ? seen : past;
}

static wg_value *only(wg_value *mask, wg_value *x, double otherwise) /* x where the mask is set */
{
    return mask && x ? wg_where(mask, x, wg_scalar_like(x, otherwise)) : x;
}

/* k or v with rows past the lengths made 0: a weight of 0 does not remove a NaN. */
static wg_value *live(wg_value *v, wg_value *lengths)
{
    return only(within(lengths, v->shape.dim[v->shape.rank - 2], v->shape.rank, false), v, 0);
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

/* scale q k'.  The scores are scaled unless there are more of them than of q: nothing else reads
 * them, so a plan does it in their place, while q, which others read, would have to be copied. */
static wg_value *scores_of(const wg_attention_attrs *a, wg_value *q, wg_value *k)
{
    double scale = scale_of(a, q);
    if (k && k->shape.dim[2] <= q->shape.dim[3])
        return wg_scale(matmul_heads(q, k, WG_NT), scale);
    return matmul_heads(wg_scale(q, scale), k, WG_NT);
}

static void expand_weights(wg_node *n, wg_value **y)
{
    const wg_attention_attrs *a = n->attrs;
    wg_value *q = n->in[0], *k = n->in[1], *lengths = operand(n, 2);
    int64_t queries = q->shape.dim[2], keys = k->shape.dim[2];
    wg_value *scores = scores_of(a, q, live(k, lengths));
    wg_value *seen = seen_keys(n->graph, lengths, a->causal, a->causal_offset, queries, keys, 4);
    y[0] = wg_softmax(only(seen, scores, -HUGE_VAL), -1);
}

/* W of the given q and k: the same node in the forward and in the backward pass, which a plan
 * merges. */
static wg_value *weights_of(const wg_node *n, wg_value *q, wg_value *k, wg_value *lengths)
{
    wg_attention_attrs a = *(const wg_attention_attrs *)n->attrs;
    a.dropout = 0;
    a.key = 0;
    return wg_attention_weights(q, k, lengths, &a);
}

static wg_value *dropped(wg_value *w, double p, int64_t key)
{
    wg_dropout_attrs d = {p, key};
    return p > 0 ? wg_apply1(WG_HERE, &wg_op_dropout, &d, w) : w;
}

static void expand_attention(wg_node *n, wg_value **y)
{
    const wg_attention_attrs *a = n->attrs;
    wg_value *lengths = operand(n, 3);
    wg_value *w = weights_of(n, n->in[0], n->in[1], lengths);
    y[0] = matmul_heads(dropped(w, a->dropout, a->key), live(n->in[2], lengths), WG_NN);
}

static void expand_attention_grad(wg_node *n, wg_value **y)
{
    const wg_attention_attrs *a = n->attrs;
    wg_value *dy = n->in[0], *q = n->in[1], *k = n->in[2], *v = n->in[3], *lengths = operand(n, 4);
    wg_value *w = weights_of(n, q, k, lengths);
    wg_value *dw = dropped(matmul_heads(dy, live(v, lengths), WG_NT), a->dropout, a->key);
    wg_value *ds = wg_mul(w, wg_sub(dw, wg_sum(wg_mul(dw, w), WG_AXES(-1), WG_KEEP)));
    ds = wg_scale(ds, scale_of(a, q));
    y[0] = matmul_heads(ds, live(k, lengths), WG_NN);
    y[1] = matmul_to_keys(ds, q, k);
    y[2] = matmul_to_keys(dropped(w, a->dropout, a->key), dy, k);
}

static void grad_attention(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *in[] = {dy[0], n->in[0], n->in[1], n->in[2], operand(n, 3)};
    wg_node *d = wg_apply(WG_HERE, NULL, &wg_op_attention_grad, n->attrs, in, 5);
    for (int i = 0; d && i < 3; i++)
        dx[i] = d->out[i];
}

/* ---- the ops --------------------------------------------------------------------------------- */

/* Of the matrix products: 2 T S d for each, and the softmax between. */
static double products(const wg_value *q, const wg_value *k, double widths)
{
    const int64_t *d = q->shape.dim;
    double scores = (double)d[0] * (double)d[1] * (double)d[2] * (double)k->shape.dim[2];
    return scores * (2 * widths + 5);
}

static double flops_weights(const wg_node *n)
{
    return products(n->in[0], n->in[1], (double)n->in[0]->shape.dim[3]);
}

static double flops_attention(const wg_node *n)
{
    return products(n->in[0], n->in[1], (double)(n->in[0]->shape.dim[3] + n->in[2]->shape.dim[3]));
}

static double flops_attention_grad(const wg_node *n)
{
    double d = (double)n->in[1]->shape.dim[3], dv = (double)n->in[3]->shape.dim[3];
    return products(n->in[1], n->in[2], 3 * d + 2 * dv);
}

static const wg_attention_attrs plain = {false, 0, 0, 0, 0}, causal = {true, 0, 0, 0, 0},
                                last_aligned = {true, 2, 0.7, 0, 0},
                                blind_first = {true, -1, 0, 0, 0},
                                with_dropout = {true, 0, 0, 0.25, 5};

#define F(...) WG_FLOATS(-2, 2, 4, __VA_ARGS__)
#define LENGTHS(lo, hi) WG_INTS(lo, hi, 1, 2)
static const wg_sample weights_samples[] = {
    {"plain", &plain, 2, {F(2, 2, 3, 4), F(2, 2, 3, 4)}},
    {"causal, lengths", &causal, 3, {F(2, 1, 4, 3), F(2, 1, 4, 3), LENGTHS(1, 5)}},
    {"grouped, last aligned", &last_aligned, 2, {F(1, 4, 2, 3), F(1, 2, 4, 3)}},
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
};

#define ATTENTION .family = WG_FAMILY_ATTENTION, WG_ATTRS(wg_attention_attrs, wgi_attention_table)

const wg_op wg_op_attention_weights = {
    .name = "attention_weights",
    .formula = "w = softmax(scale q k' + mask)",
    ATTENTION,
    .operands = "q k lengths?",
    .results = "w",
    .flops = flops_weights,
    .infer = infer_weights,
    .expand = expand_weights,
    WG_SAMPLES(weights_samples),
};
const wg_op wg_op_attention = {
    .name = "attention",
    .formula = "y = dropout(softmax(scale q k' + mask)) v",
    ATTENTION,
    .operands = "q k v lengths?",
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
    .operands = "dy q k v lengths?",
    .results = "dq dk dv",
    .flags = WG_OP_RANDOM,
    .flops = flops_attention_grad,
    .infer = infer_attention_grad,
    .expand = expand_attention_grad,
    WG_SAMPLES(attention_grad_samples),
};

wg_value *(wg_attention_weights)(const char *at, wg_value *q, wg_value *k, wg_value *lengths,
                                 const wg_attention_attrs *options)
{
    return wg_apply3(at, &wg_op_attention_weights, options, q, k, lengths);
}

wg_value *(wg_attention)(const char *at, wg_value *q, wg_value *k, wg_value *v, wg_value *lengths,
                         const wg_attention_attrs *options)
{
    wg_value *in[] = {q, k, v, lengths};
    wg_attention_attrs a = options ? *options : (wg_attention_attrs){0};
    if (a.dropout > 0 && a.key == 0 && q)
        a.key = (int64_t)wg_graph_new_key(wg_graph_of(q));
    return wgi_apply_list(at, &wg_op_attention, &a, in, 4);
}

/* ---- additive attention ---------------------------------------------------------------------- */

static const wg_attr additive_attrs[] = {
    WG_ATTR(BOOL, wg_additive_attrs, causal),
    WG_ATTR(INT, wg_additive_attrs, causal_offset),
    WG_ATTR(REAL, wg_additive_attrs, dropout),
    WG_ATTR(KEY, wg_additive_attrs, key),
};

/* Operand i agrees with q but for its last two axes. */
static bool need_batch_and_heads(wg_node *n, int i, int rank)
{
    bool ok = wg_need_same_dtype(n, i, 0) && wg_need_rank(n, i, rank, rank);
    for (int axis = 0; ok && axis < rank - 2; axis++)
        ok = wg_need_dim(n, i, axis, n->in[0]->shape.dim[axis]);
    return ok;
}

static bool infer_additive(wg_node *n)
{
    const wg_additive_attrs *a = n->attrs;
    if (!need_mask_attrs(n, a->causal_offset, a->dropout) || !wg_need_float(n, 0) ||
        !wg_need_rank(n, 0, 3, 4))
        return false;
    int rank = n->in[0]->shape.rank;
    const int64_t *q = n->in[0]->shape.dim;
    if (!need_batch_and_heads(n, 1, rank) || !wg_need_dim(n, 1, -1, q[rank - 1]) ||
        !wg_need_same_dtype(n, 2, 0) || !wg_need_rank(n, 2, rank - 2, rank - 2) ||
        !wg_need_dim(n, 2, -1, q[rank - 1]) || (rank == 4 && !wg_need_dim(n, 2, 0, q[1])) ||
        !need_batch_and_heads(n, 3, rank) ||
        !wg_need_dim(n, 3, -2, n->in[1]->shape.dim[rank - 2]) || !need_lengths(n, 4))
        return false;
    return wg_set_result(n, 0, n->in[0]->dtype, with_last(n->in[0], n->in[3]->shape.dim[rank - 1]));
}

/* w [d] or [H, d] as columns [d, 1] or [H, 1, d, 1], for products with [B, H, T, S, d] */
static wg_value *column(wg_value *w)
{
    const int64_t *d = w->shape.dim;
    return w->shape.rank == 1 ? wg_reshape(w, WG_SHAPE(d[0], 1))
                              : wg_reshape(w, WG_SHAPE(d[0], 1, d[1], 1));
}

static void expand_additive(wg_node *n, wg_value **y)
{
    const wg_additive_attrs *a = n->attrs;
    wg_value *q = n->in[0], *k = n->in[1], *w = n->in[2], *v = n->in[3], *lengths = operand(n, 4);
    int rank = q->shape.rank;
    int64_t queries = q->shape.dim[rank - 2], keys = k->shape.dim[rank - 2];
    wg_value *each_query = wg_unsqueeze(q, rank - 1),
             *each_key = wg_unsqueeze(live(k, lengths), -3);
    wg_value *scores = wg_matmul(wg_tanh(wg_add(each_query, each_key)), column(w));
    wg_value *seen = seen_keys(n->graph, lengths, a->causal, a->causal_offset, queries, keys, rank);
    wg_value *weights = wg_softmax(only(seen, wg_squeeze(scores, -1), -HUGE_VAL), -1);
    y[0] = wg_matmul(dropped(weights, a->dropout, a->key), live(v, lengths));
}

static double flops_additive(const wg_node *n)
{
    const wg_shape *q = &n->in[0]->shape, *v = &n->in[3]->shape;
    double d = (double)q->dim[q->rank - 1], dv = (double)v->dim[v->rank - 1];
    double queries = d > 0 ? (double)wg_shape_count(q) / d : 0;
    return queries * (double)v->dim[v->rank - 2] * (4 * d + 2 * dv + 5);
}

#define F3(...) WG_FLOATS(-2, 2, 3, __VA_ARGS__)
static const wg_additive_attrs additive_plain = {0}, additive_causal = {true, 0, 0, 0},
                               additive_dropout = {true, 1, 0.25, 7};
static const wg_sample additive_samples[] = {
    {"plain", &additive_plain, 4, {F3(2, 3, 4), F3(2, 2, 4), WG_FLOATS(-2, 2, 1, 4), F3(2, 2, 3)}},
    {"lengths",
     &additive_plain,
     5,
     {F3(2, 2, 3), F3(2, 4, 3), WG_FLOATS(-2, 2, 1, 3), F3(2, 4, 2), LENGTHS(0, 5)}},
    {"heads, causal, lengths",
     &additive_causal,
     5,
     {F(2, 2, 3, 3), F(2, 2, 3, 3), WG_FLOATS(-2, 2, 2, 2, 3), F(2, 2, 3, 2), LENGTHS(1, 4)}},
    {"heads, dropout",
     &additive_dropout,
     4,
     {F(1, 2, 3, 2), F(1, 2, 4, 2), WG_FLOATS(-2, 2, 2, 2, 2), F(1, 2, 4, 2)}},
};

const wg_op wg_op_additive_attention = {
    .name = "additive_attention",
    .formula = "y = dropout(softmax over s of (w . tanh(q_t + k_s))) v",
    .family = WG_FAMILY_ATTENTION,
    WG_ATTRS(wg_additive_attrs, additive_attrs),
    .flags = WG_OP_RANDOM,
    .operands = "q k w v lengths?",
    .results = "y",
    .flops = flops_additive,
    .infer = infer_additive,
    .expand = expand_additive,
    WG_SAMPLES(additive_samples),
};

wg_value *(wg_additive_attention)(const char *at, wg_value *q, wg_value *k, wg_value *w,
                                  wg_value *v, wg_value *lengths, const wg_additive_attrs *options)
{
    wg_value *in[] = {q, k, w, v, lengths};
    wg_additive_attrs a = options ? *options : (wg_additive_attrs){0};
    if (a.dropout > 0 && a.key == 0 && q)
        a.key = (int64_t)wg_graph_new_key(wg_graph_of(q));
    return wgi_apply_list(at, &wg_op_additive_attention, &a, in, 5);
}
