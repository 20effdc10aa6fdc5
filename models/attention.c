/* Multi-head attention (Vaswani et al. 2017, section 3.2.2): h heads of queries, which share g
 * heads of keys and values, with queries and keys of d_k numbers and values of d_v.  Between the
 * layers, the numbers of all heads stand side by side: q [B, T, h d_k], k [B, S, g d_k] and v
 * [B, S, g d_v]. */
#include "models/internal.h"

#include <math.h>

/* ---- heads ----------------------------------------------------------------------------------- */

/* [B, T, h w] -> [B, h, T, w] */
static wg_value *split_heads(wg_value *x, int64_t heads)
{
    if (!x)
        return NULL;
    const int64_t *d = x->shape.dim;
    return wg_permute(wg_reshape(x, WG_SHAPE(d[0], d[1], heads, d[2] / heads)),
                      WG_AXES(0, 2, 1, 3));
}

/* [B, h, T, w] -> [B, T, h w] */
static wg_value *join_heads(wg_value *x)
{
    x = wg_permute(x, WG_AXES(0, 2, 1, 3));
    return x ? wg_reshape(
                   x, WG_SHAPE(x->shape.dim[0], x->shape.dim[1], x->shape.dim[2] * x->shape.dim[3]))
             : NULL;
}

static int64_t heads_of(const wg_multi_head_options *o)
{
    return o->heads ? o->heads : 1;
}

static int64_t key_heads_of(const wg_multi_head_options *o)
{
    return o->key_heads ? o->key_heads : heads_of(o);
}

static const char who[] = "wg_multi_head_attention";

static bool has_three_axes(const char *at, const char *what, const wg_value *x)
{
    if (x && x->shape.rank != 3)
        wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, who, "%s has %d axes, must have 3 [B, T, d]",
                      what, x->shape.rank);
    return !x || x->shape.rank == 3;
}

static bool splits_into_heads(const char *at, const wg_value *x, int64_t heads)
{
    if (x->shape.dim[2] % heads == 0)
        return true;
    wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, who, "%lld heads do not divide %lld features",
                  (long long)heads, (long long)x->shape.dim[2]);
    return false;
}

/* Numbers of heads and of their parts that can be multiplied with each other. */
static bool has_valid_sizes(const char *at, const wg_value *x, const wg_multi_head_options *o)
{
    enum { MAX = 1 << 30 };
    int64_t heads = heads_of(o), key_heads = key_heads_of(o);
    bool small =
        heads > 0 && heads <= MAX && o->d_k >= 0 && o->d_k <= MAX && o->d_v >= 0 && o->d_v <= MAX;
    bool shared = key_heads > 0 && heads % key_heads == 0;
    if (!small)
        wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, who,
                      "heads is %lld, d_k %lld, d_v %lld: out of range", (long long)o->heads,
                      (long long)o->d_k, (long long)o->d_v);
    else if (!shared)
        wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, who,
                      "%lld heads of queries cannot share %lld heads of keys", (long long)heads,
                      (long long)key_heads);
    return small && shared && ((o->d_k && o->d_v) || splits_into_heads(at, x, heads));
}

/* ---- projections ----------------------------------------------------------------------------- */

/* Each head rotated by its position: [B, T, h d_k]. */
static wg_value *rotate(wg_value *x, int64_t heads, const wg_multi_head_options *o)
{
    if (!o->rotary)
        return x;
    const wg_rotary_attrs a = {.first = o->first_position};
    x = split_heads(x, heads);
    return join_heads(o->positions ? wg_rotary_at(x, o->positions, &a) : wg_rotary(x, &a));
}

wg_projections(wg_attention_projections)(const char *at, wg_value *x, wg_value *memory,
                                         const wg_multi_head_options *options)
{
    const wg_multi_head_options none = {0}, *o = options ? options : &none;
    wg_value *from = x ? x : memory;
    wg_projections p = {0};
    if (!has_three_axes(at, "x", x) || !has_three_axes(at, "memory", memory) || !from ||
        !has_valid_sizes(at, from, o))
        return p;
    int64_t heads = heads_of(o), key_heads = key_heads_of(o), d = from->shape.dim[2];
    int64_t d_k = o->d_k ? o->d_k : d / heads, d_v = o->d_v ? o->d_v : d / heads;
    int64_t queries = heads * d_k, keys = key_heads * d_k, values = key_heads * d_v;
    const wg_dense_options dense = {.no_bias = o->no_bias, .gain = o->gain};
    p.features = d;
    if (o->fused && x == memory) {
        wg_value *qkv = wg_dense_with("qkv", x, queries + keys + values, &dense);
        const int64_t sizes[] = {queries, keys, values};
        p.q = wg_split(qkv, -1, sizes, 3); /* its gradient is one concat, that of slices a sum */
        p.k = wg_result_of(p.q, 1);
        p.v = wg_result_of(p.q, 2);
    } else {
        p.q = wg_dense_with("q", x, queries, &dense);
        p.k = wg_dense_with("k", memory, keys, &dense);
        p.v = wg_dense_with("v", memory, values, &dense);
    }
    p.q = rotate(p.q, heads, o);
    p.k = rotate(p.k, key_heads, o);
    return p;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Of additive attention: w [h, d_k]. */
static wg_value *score_weight(wg_value *q, int64_t heads, int64_t width)
{
    return wgi_layer_parameter(wg_graph_of(q), "score", q->dtype, WG_SHAPE(heads, width),
                               wg_uniform_init(1 / sqrt(fmax(1, (double)width))));
}

/* Of q.k, as ops take it: 0 is 1 / sqrt(d_k). */
static double scale_of(const wg_multi_head_options *o)
{
    return o->kind == WG_ATTENTION_UNSCALED ? 1 : 0;
}

/* Which keys answer which query, by the kind wanted: [B, T, h d_v]. */
static wg_value *attend(const wg_projections *p, const wg_multi_head_options *o)
{
    int64_t heads = heads_of(o), key_heads = key_heads_of(o);
    wg_value *q = split_heads(p->q, heads), *k = split_heads(p->k, key_heads),
             *v = split_heads(p->v, key_heads), *y;
    if (!q || !k || !v)
        return NULL;
    if (o->kind == WG_ATTENTION_ADDITIVE)
        y = wg_additive_attention(q, k, score_weight(q, heads, wg_value_dim(q, -1)), v, o->lengths,
                                  &(wg_additive_attrs){.causal = o->causal, .dropout = o->dropout});
    else
        y = wg_biased_attention(q, k, v, o->bias, o->lengths,
                                &(wg_attention_attrs){.causal = o->causal,
                                                      .scale = scale_of(o),
                                                      .dropout = o->dropout,
                                                      .window = o->window,
                                                      .left = o->left,
                                                      .right = o->right});
    return join_heads(y);
}

/* What only dot-product attention over all keys has. */
static bool has_valid_options(const char *at, const wg_value *x, const wg_multi_head_options *o)
{
    const char *kind = o->kind == WG_ATTENTION_ADDITIVE ? "additive attention"
                       : o->slots                       ? "attention over slots"
                                                        : NULL;
    bool grouped = o->kind == WG_ATTENTION_ADDITIVE && key_heads_of(o) != heads_of(o);
    const char *what = o->bias ? "bias" : o->window ? "window" : grouped ? "key_heads" : NULL;
    if (kind && what)
        wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, who, "%s has no %s", kind, what);
    return !kind || !what;
}

/* The same for single queries (T = 1) over the rows of pools k [N, 1, h d_k] and v [N, 1, h d_v]
 * that they name. */
static wg_value *attend_slots(const wg_projections *p, const wg_multi_head_options *o)
{
    int64_t rows = wg_value_dim(p->q, 0), heads = heads_of(o), slots = wg_value_dim(p->k, 0);
    int64_t key_heads = key_heads_of(o), d_k = wg_value_dim(p->q, 2) / heads,
            d_v = wg_value_dim(p->v, 2) / key_heads;
    wg_value *k = wg_reshape(p->k, WG_SHAPE(slots, key_heads, d_k));
    wg_value *v = wg_reshape(p->v, WG_SHAPE(slots, key_heads, d_v));
    wg_value *q, *y;
    if (o->kind != WG_ATTENTION_ADDITIVE) {
        q = wg_reshape(p->q, WG_SHAPE(rows, heads, d_k));
        y = wg_paged_attention(q, k, v, o->slots, o->lengths, scale_of(o));
    } else {
        q = wg_reshape(p->q, WG_SHAPE(rows, heads, 1, d_k));
        k = wg_permute(wg_take(k, o->slots, 0), WG_AXES(0, 2, 1, 3));
        v = wg_permute(wg_take(v, o->slots, 0), WG_AXES(0, 2, 1, 3));
        y = q ? wg_additive_attention(q, k, score_weight(q, heads, d_k), v, o->lengths, NULL)
              : NULL;
    }
    return wg_reshape(y, WG_SHAPE(rows, 1, heads * d_v));
}

wg_value *(wg_attention_heads)(const char *at, wg_projections p,
                               const wg_multi_head_options *options)
{
    const wg_multi_head_options none = {0}, *o = options ? options : &none;
    int64_t heads = heads_of(o), key_heads = key_heads_of(o);
    if (!p.q || !p.k || !p.v || !has_three_axes(at, "q", p.q) || !has_three_axes(at, "k", p.k) ||
        !has_three_axes(at, "v", p.v) || !has_valid_sizes(at, p.q, o) ||
        !splits_into_heads(at, p.q, heads) || !splits_into_heads(at, p.k, key_heads) ||
        !splits_into_heads(at, p.v, key_heads) || !has_valid_options(at, p.q, o))
        return NULL;
    wg_value *y = o->slots ? attend_slots(&p, o) : attend(&p, o);
    const wg_dense_options dense = {.no_bias = o->no_bias};
    return wg_dense_with("out", y, p.features ? p.features : p.q->shape.dim[2], &dense);
}

wg_value *(wg_multi_head_attention)(const char *at, const char *name, wg_value *x, wg_value *memory,
                                    const wg_multi_head_options *options)
{
    wg_graph *g = wg_graph_of(x);
    if (!g || !memory)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    wg_projections p = (wg_attention_projections)(at, x, memory, options);
    return wgi_layer_leave(g, before, (wg_attention_heads)(at, p, options));
}
