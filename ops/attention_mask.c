/* Query t sees the keys s with  t + first <= s <= t + last  (wg_key_span)  and  s < lengths[b]. */
#include "ops/attention_mask.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

enum { NO_BOUND = 40 }; /* 2^40 keys before or after a query: all that there are */

wg_key_span wg_attention_span(const wg_attention_attrs *a)
{
    const int64_t far = (int64_t)1 << NO_BOUND, diagonal = a->causal_offset;
    wg_key_span span = {-far, a->causal ? diagonal : far};
    if (a->window) {
        int64_t last = diagonal + a->right;
        span.first = diagonal - a->left;
        span.last = last < span.last ? last : span.last;
    }
    return span;
}

/* ---- shape rules ----------------------------------------------------------------------------- */

bool wgi_need_mask_attrs(wg_node *n, int64_t causal_offset, double dropout)
{
    if (!(dropout >= 0 && dropout < 1))
        return wg_fail(n, WG_EINVAL, "dropout is %g, must be in [0, 1)", dropout);
    return (causal_offset >= INT32_MIN && causal_offset <= INT32_MAX) ||
           wg_fail(n, WG_EINVAL, "causal_offset is %lld, must fit in 32 bits",
                   (long long)causal_offset);
}

bool wgi_need_lengths(wg_node *n, int i)
{
    return i >= n->n_in || (wg_need_int(n, i) && wg_need_rank(n, i, 1, 1) &&
                            wg_need_dim(n, i, 0, n->in[0]->shape.dim[0]));
}

wg_shape wgi_with_last(const wg_value *v, int64_t size)
{
    wg_shape s = v->shape;
    s.dim[s.rank - 1] = size;
    return s;
}

/* ---- masks ----------------------------------------------------------------------------------- */

wg_value *wgi_lengths_of(const wg_node *n, int i, int64_t keys)
{
    if (i >= n->n_in)
        return NULL;
    const wg_node *from = n->in[i]->node;
    bool all =
        from->op == &wg_op_fill && ((const wg_fill_attrs *)from->attrs)->value == (double)keys;
    return all ? NULL : wg_check_lengths(n->in[i], keys, "attention");
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

/* s [1, S], or t + offset [T, 1] */
static wg_value *key_positions(wg_graph *g, int64_t keys)
{
    return wg_iota(g, WG_I64, WG_SHAPE(1, keys), 1, 0, 1);
}

static wg_value *query_positions(wg_graph *g, int64_t offset, int64_t queries)
{
    return wg_iota(g, WG_I64, WG_SHAPE(queries, 1), 0, (double)offset, 1);
}

static wg_value *both(wg_value *a, wg_value *b)
{
    return a && b ? wg_logical_and(a, b) : a ? a : b;
}

wg_value *wgi_seen_keys(wg_graph *g, wg_value *lengths, wg_key_span span, int64_t queries,
                        int64_t keys, int rank)
{
    const int64_t far = (int64_t)1 << NO_BOUND;
    wg_value *seen = within(lengths, keys, rank, true), *bound = NULL;
    if (span.last < far)
        bound = wg_less_equal(key_positions(g, keys), query_positions(g, span.last, queries));
    if (span.first > -far)
        bound = both(bound, wg_greater_equal(key_positions(g, keys),
                                             query_positions(g, span.first, queries)));
    return both(seen, bound);
}

wg_value *wgi_only(wg_value *mask, wg_value *x, double otherwise)
{
    return mask && x ? wg_where(mask, x, wg_scalar_like(x, otherwise)) : x;
}

wg_value *wgi_live(wg_value *v, wg_value *lengths)
{
    return wgi_only(within(lengths, v->shape.dim[v->shape.rank - 2], v->shape.rank, false), v, 0);
}

wg_value *wgi_drop_weights(wg_value *w, double p, int64_t key)
{
    wg_dropout_attrs d = {p, key};
    return p > 0 ? wg_apply1(WG_HERE, &wg_op_dropout, &d, w) : w;
}
