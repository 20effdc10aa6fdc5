/* Additive attention: y = dropout(softmax over s of (w . tanh(q_t + k_s))) v. */
#include "ops/attention_mask.h"
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

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
    if (!wgi_need_mask_attrs(n, a->causal_offset, a->dropout) || !wg_need_float(n, 0) ||
        !wg_need_rank(n, 0, 3, 4))
        return false;
    int rank = n->in[0]->shape.rank;
    const int64_t *q = n->in[0]->shape.dim;
    if (!need_batch_and_heads(n, 1, rank) || !wg_need_dim(n, 1, -1, q[rank - 1]) ||
        !wg_need_same_dtype(n, 2, 0) || !wg_need_rank(n, 2, rank - 2, rank - 2) ||
        !wg_need_dim(n, 2, -1, q[rank - 1]) || (rank == 4 && !wg_need_dim(n, 2, 0, q[1])) ||
        !need_batch_and_heads(n, 3, rank) ||
        !wg_need_dim(n, 3, -2, n->in[1]->shape.dim[rank - 2]) || !wgi_need_lengths(n, 4))
        return false;
    return wg_set_result(n, 0, n->in[0]->dtype,
                         wgi_with_last(n->in[0], n->in[3]->shape.dim[rank - 1]));
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
    wg_value *q = n->in[0], *k = n->in[1], *w = n->in[2], *v = n->in[3],
             *lengths = wgi_lengths_of(n, 4, k->shape.dim[k->shape.rank - 2]);
    int rank = q->shape.rank;
    int64_t queries = q->shape.dim[rank - 2], keys = k->shape.dim[rank - 2];
    wg_value *each_query = wg_unsqueeze(q, rank - 1),
             *each_key = wg_unsqueeze(wgi_live(k, lengths), -3);
    wg_value *scores = wg_matmul(wg_tanh(wg_add(each_query, each_key)), column(w));
    wg_key_span span = wg_attention_span(
        &(wg_attention_attrs){.causal = a->causal, .causal_offset = a->causal_offset});
    wg_value *seen = wgi_seen_keys(n->graph, lengths, span, queries, keys, rank);
    wg_value *weights = wg_softmax(wgi_only(seen, wg_squeeze(scores, -1), -HUGE_VAL), -1);
    y[0] = wg_matmul(wgi_drop_weights(weights, a->dropout, a->key), wgi_live(v, lengths));
}

static double flops_additive(const wg_node *n)
{
    const wg_shape *q = &n->in[0]->shape, *v = &n->in[3]->shape;
    double d = (double)q->dim[q->rank - 1], dv = (double)v->dim[v->rank - 1];
    double queries = d > 0 ? (double)wg_shape_count(q) / d : 0;
    return queries * (double)v->dim[v->rank - 2] * (4 * d + 2 * dv + 5);
}

#define F(...) WG_FLOATS(-2, 2, 4, __VA_ARGS__)
#define LENGTHS(lo, hi) WG_INTS(lo, hi, 1, 2)
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
