/* Attention and rotary positions. */
#include "onnx/ops.h"

#include <math.h>
#include <string.h>

/* ---- attention ------------------------------------------------------------------------------- */

/* The operands with axes of their own for heads: q [B, H, T, d], k [B, Hk, S, d], v [B, Hk, S,
 * dv]. */
typedef struct heads {
    ox_node *n;
    wg_value *q, *k, *v;
    wg_value *mask; /* of four axes, of q's dtype or bools; or NULL */
    bool rows;      /* operands and result have no axis of heads: [B, T, H d] */
    wg_attention_attrs attrs;
    double cap; /* scores are cap tanh(score / cap); 0: as they are */
} heads;

/* [B, T, H d] as [B, H, T, d]. */
static wg_value *split(ox_node *n, wg_value *x, const char *attribute)
{
    int64_t count = wgi_ox_int(n, attribute, 0);
    if (!x || x->shape.rank == 4)
        return x;
    if (x->shape.rank != 3 || count < 1 || x->shape.dim[2] % count)
        return wgi_ox_fail(n, WG_ESHAPE, "%s = %lld, with an operand of %d axes", attribute,
                           (long long)count, x->shape.rank);
    const int64_t *d = x->shape.dim;
    return wg_permute(wg_reshape(x, WG_SHAPE(d[0], d[1], count, d[2] / count)),
                      WG_AXES(0, 2, 1, 3));
}

/* The keys or values of before, and behind them those of now. */
static wg_value *continued(ox_node *n, int past, int present, wg_value *now)
{
    wg_value *both[] = {wgi_ox_in(n, past), now};
    wg_value *all = both[0] ? wg_concat(both, 2, 2) : now;
    wgi_ox_set(n, present, all);
    return all;
}

/* The mask with four axes. */
static wg_value *mask_of(ox_node *n, const wg_value *like)
{
    wg_value *mask = wgi_ox_in(n, 3);
    if (!mask || !like)
        return NULL;
    wg_shape s = {4, {1, 1, 1, 1}};
    if (mask->shape.rank > 4)
        return wgi_ox_fail(n, WG_ESHAPE, "a mask of %d axes", mask->shape.rank);
    for (int k = 0; k < mask->shape.rank; k++)
        s.dim[4 - mask->shape.rank + k] = mask->shape.dim[k];
    mask = wg_reshape(mask, s);
    return mask && mask->dtype != WG_BOOL ? wgi_ox_cast(mask, like->dtype) : mask;
}

/* Versions of the standard differ in what a cap does to what is masked, and where the queries of a
 * causal mask stand after keys of before. */
static bool check(const heads *h)
{
    ox_node *n = h->n;
    bool masked = h->mask || h->attrs.causal;
    if (h->cap != 0 && masked)
        wgi_ox_refuse(n, "softcap with a mask");
    if (h->attrs.causal && wgi_ox_has(n, 4))
        wgi_ox_refuse(n, "is_causal with past_key");
    if (wgi_ox_has(n, 6))
        wgi_ox_refuse(n, "nonpad_kv_seqlen");
    if (wgi_ox_has(n, 4) != wgi_ox_has(n, 5))
        wgi_ox_fail(n, WG_EDATA, "past_key and past_value must be there together");
    if (wgi_ox_wants(n, 3) && (h->cap != 0 || wgi_ox_int(n, "qk_matmul_output_mode", 0) == 2))
        wgi_ox_refuse(n, "scores as a result after softcap");
    return !wgi_ox_failed(n);
}

static bool begin(heads *h, ox_node *n)
{
    *h = (heads){.n = n, .cap = wgi_ox_real(n, "softcap", 0)};
    h->rows = wgi_ox_in(n, 0) && wgi_ox_in(n, 0)->shape.rank == 3;
    h->q = split(n, wgi_ox_in(n, 0), "q_num_heads");
    h->k = continued(n, 4, 1, split(n, wgi_ox_in(n, 1), "kv_num_heads"));
    h->v = continued(n, 5, 2, split(n, wgi_ox_in(n, 2), "kv_num_heads"));
    h->mask = mask_of(n, h->q);
    h->attrs.causal = wgi_ox_int(n, "is_causal", 0) != 0;
    h->attrs.scale = wgi_ox_real(n, "scale", 0);
    return h->q && h->k && h->v && check(h);
}

/* Keys or values for each head of the queries: head h reads head h / (H / Hk). */
static wg_value *repeated(wg_value *x, int64_t count)
{
    if (!x || x->shape.dim[1] == count || x->shape.dim[1] < 1)
        return x;
    const int64_t *d = x->shape.dim;
    wg_value *y = wg_reshape(x, WG_SHAPE(d[0], d[1], 1, d[2], d[3]));
    y = wg_expand(y, WG_SHAPE(d[0], d[1], count / d[1], d[2], d[3]));
    return wg_reshape(y, WG_SHAPE(d[0], count, d[2], d[3]));
}

/* scale q k', capped. */
static wg_value *scores_of(const heads *h)
{
    double d = (double)h->q->shape.dim[3], scale = h->attrs.scale;
    wg_value *k = repeated(h->k, h->q->shape.dim[1]);
    wg_value *s = wg_scale(wg_matmul_t(h->q, k, WG_NT), scale != 0 ? scale : 1 / sqrt(d));
    return h->cap != 0 ? wg_scale(wg_tanh(wg_scale(s, 1 / h->cap)), h->cap) : s;
}

/* Scores with what is masked at -infinity. */
static wg_value *masked(const heads *h, wg_value *scores)
{
    wg_value *mask = h->mask;
    if (mask && mask->dtype == WG_BOOL)
        scores = wg_masked_fill(scores, wg_logical_not(mask), -INFINITY);
    else if (mask)
        scores = wg_add(scores, mask);
    if (!h->attrs.causal || !scores)
        return scores;
    wg_value *t = wg_iota(h->n->graph, WG_I64, WG_SHAPE(scores->shape.dim[2], 1), 0, 0, 1),
             *s = wg_iota(h->n->graph, WG_I64, WG_SHAPE(1, scores->shape.dim[3]), 1, 0, 1);
    return wg_masked_fill(scores, wg_greater(s, t), -INFINITY);
}

/* Result 3: the scores, with the mask (1), or as weights (3). */
static wg_value *scores_shown(const heads *h)
{
    int64_t mode = wgi_ox_int(h->n, "qk_matmul_output_mode", 0);
    if (mode == 3)
        return wg_biased_attention_weights(h->q, h->k, h->mask, NULL, &h->attrs);
    return mode == 1 ? masked(h, scores_of(h)) : scores_of(h);
}

wg_value *wgi_ox_attention(ox_node *n)
{
    heads h;
    if (!begin(&h, n))
        return NULL;
    wg_value *y = NULL;
    if (h.cap != 0)
        y = wg_matmul(wg_softmax(scores_of(&h), -1), repeated(h.v, h.q->shape.dim[1]));
    else
        y = wg_biased_attention(h.q, h.k, h.v, h.mask, NULL, &h.attrs);
    if (wgi_ox_wants(n, 3))
        wgi_ox_set(n, 3, scores_shown(&h));
    if (!y || !h.rows)
        return y;
    const int64_t *d = y->shape.dim;
    return wg_reshape(wg_permute(y, WG_AXES(0, 2, 1, 3)), WG_SHAPE(d[0], d[2], d[1] * d[3]));
}

/* ---- rotary positions ------------------------------------------------------------------------ */

/* cos or sin of each position, as [B, 1, S, d / 2]: rows of the table [P, d / 2] at the positions
 * of operand 3 [B, S], or given as [B, S, d / 2]. */
static wg_value *turns(ox_node *n, int i)
{
    wg_value *table = wgi_ox_in(n, i), *at = wgi_ox_in(n, 3);
    wg_value *all = at && table ? wg_take(table, at, 0) : table;
    if (!all || all->shape.rank != 3)
        return all ? wgi_ox_fail(n, WG_ESHAPE, "a table of %d axes", all->shape.rank) : NULL;
    return wg_unsqueeze(all, 1);
}

/* Pairs (a, b) of x [B, H, S, d] become (a cos - b sin, a sin + b cos).  Pairs are neighbours, or
 * lie half of d apart. */
static wg_value *rotated(ox_node *n, wg_value *x, bool interleaved)
{
    wg_value *cos = turns(n, 1), *sin = turns(n, 2), *part[2];
    if (!x || !cos || !sin)
        return NULL;
    const int64_t *d = x->shape.dim, half = d[3] / 2;
    for (int k = 0; k < 2; k++)
        part[k] = interleaved ? wg_slice(x, 3, k, WG_TO_END, 2)
                              : wg_slice(x, 3, k * half, (k + 1) * half, 1);
    wg_value *turned[] = {wg_sub(wg_mul(part[0], cos), wg_mul(part[1], sin)),
                          wg_add(wg_mul(part[0], sin), wg_mul(part[1], cos))};
    if (!interleaved)
        return wg_concat(turned, 2, 3);
    return wg_reshape(wg_stack(turned, 2, 4), WG_SHAPE(d[0], d[1], d[2], d[3]));
}

/* Only the first rotary_embedding_dim elements of each head are turned. */
wg_value *wgi_ox_rotary_embedding(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *all = split(n, x, "num_heads");
    if (!all)
        return NULL;
    int64_t d = all->shape.dim[3], turned = wgi_ox_int(n, "rotary_embedding_dim", 0);
    turned = turned ? turned : d;
    if (turned < 2 || turned % 2 || turned > d)
        return wgi_ox_fail(n, WG_ESHAPE, "rotary_embedding_dim %lld of %lld", (long long)turned,
                           (long long)d);
    wg_value *first = turned < d ? wg_slice(all, 3, 0, turned, 1) : all;
    wg_value *y = rotated(n, first, wgi_ox_int(n, "interleaved", 0) != 0);
    if (turned < d) {
        wg_value *both[] = {y, wg_slice(all, 3, turned, d, 1)};
        y = wg_concat(both, 2, 3);
    }
    return x->shape.rank == 4 ? y : wg_reshape(wg_permute(y, WG_AXES(0, 2, 1, 3)), x->shape);
}
