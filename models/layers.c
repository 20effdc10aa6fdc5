#include "models/layers.h"
#include "models/internal.h"

#include <math.h>

/* ---- the scope of a layer -------------------------------------------------------------------- */

wg_origin wg_layer_enter(const char *at, wg_graph *g, const char *name)
{
    wg_origin before = wg_graph_origin(g);
    wg_scope_push(g, "%s", name);
    wg_origin inside = wg_graph_origin(g);
    inside.at = before.at ? before.at : at;
    wg_graph_set_origin(g, inside);
    return before;
}

wg_value *wg_layer_leave(wg_graph *g, wg_origin before, wg_value *y)
{
    wg_graph_set_origin(g, before);
    return y;
}

/* Size of axis i, or 0 where there is none: the op that reads x then says so. */
static int64_t size_of(const wg_value *x, int i)
{
    i = i < 0 ? i + x->shape.rank : i;
    return i >= 0 && i < x->shape.rank ? x->shape.dim[i] : 0;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* activation(x weight' + bias) in the present scope */
static wg_value *dense(wg_value *x, int64_t features, bool biased, wg_activation activation)
{
    wg_graph *g = wg_graph_of(x);
    wg_value *w =
        wg_parameter(g, "weight", x->dtype, WG_SHAPE(features, size_of(x, -1)), wg_xavier(1));
    wg_value *b = biased ? wg_parameter(g, "bias", x->dtype, WG_SHAPE(features), wg_zeros()) : NULL;
    return wg_linear(x, w, b, activation);
}

wg_value *(wg_dense)(const char *at, const char *name, wg_value *x, int64_t features,
                     wg_activation activation)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wg_layer_enter(at, g, name);
    return wg_layer_leave(g, before, dense(x, features, true, activation));
}

wg_value *(wg_dense_unbiased)(const char *at, const char *name, wg_value *x, int64_t features,
                              wg_activation activation)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wg_layer_enter(at, g, name);
    return wg_layer_leave(g, before, dense(x, features, false, activation));
}

wg_value *(wg_norm_layer)(const char *at, const char *name, wg_value *x, wg_norm_kind kind,
                          double eps)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wg_layer_enter(at, g, name);
    const wg_shape d = WG_SHAPE(size_of(x, -1));
    wg_value *gain = wg_parameter(g, "gain", x->dtype, d, wg_ones()), *y;
    if (kind == WG_NORM_RMS)
        y = wg_rmsnorm(x, gain, 1, eps);
    else
        y = wg_layernorm(x, gain, wg_parameter(g, "bias", x->dtype, d, wg_zeros()), 1, eps);
    return wg_layer_leave(g, before, y);
}

wg_value *(wg_layer_norm)(const char *at, const char *name, wg_value *x)
{
    return (wg_norm_layer)(at, name, x, WG_NORM_LAYER, 1e-5);
}

/* ---- multi-head attention ---------------------------------------------------------------------- */

/* [B, T, d] -> [B, heads, T, d / heads] */
static wg_value *split_heads(wg_value *x, int64_t heads)
{
    if (!x)
        return NULL;
    x = wg_reshape(x, WG_SHAPE(size_of(x, 0), size_of(x, 1), heads, size_of(x, 2) / heads));
    return wg_permute(x, WG_AXES(0, 2, 1, 3));
}

/* [B, heads, T, d / heads] -> [B, T, d] */
static wg_value *join_heads(wg_value *x)
{
    x = wg_permute(x, WG_AXES(0, 2, 1, 3));
    return x ? wg_reshape(x, WG_SHAPE(size_of(x, 0), size_of(x, 1), size_of(x, 2) * size_of(x, 3)))
             : NULL;
}

static int64_t heads_of(const wg_multi_head_options *o)
{
    return o && o->heads ? o->heads : 1;
}

/* Three axes, and heads that divide the last; x may be NULL. */
static bool splits_into_heads(const char *at, const char *what, const wg_value *x, int64_t heads)
{
    static const char who[] = "wg_multi_head_attention";
    if (!x)
        return true;
    wg_graph *g = wg_graph_of(x);
    if (x->shape.rank != 3)
        wg_graph_fail(g, WG_ESHAPE, at, who, "%s has %d axes, must have 3 [B, T, d]", what,
                      x->shape.rank);
    else if (heads < 0 || x->shape.dim[2] % heads != 0)
        wg_graph_fail(g, WG_ESHAPE, at, who, "%lld heads do not divide %lld features",
                      (long long)heads, (long long)x->shape.dim[2]);
    return wg_graph_status(g) == WG_OK;
}

/* Each head rotated by its position; [B, T, d]. */
static wg_value *rotate(wg_value *x, const wg_multi_head_options *o)
{
    if (!o || !o->rotary)
        return x;
    const wg_rotary_attrs a = {.first = o->first_position};
    wg_value *heads = split_heads(x, heads_of(o));
    return join_heads(o->positions ? wg_rotary_at(heads, o->positions, &a) : wg_rotary(heads, &a));
}

static wg_value *project(const char *name, wg_value *x, int64_t features,
                         const wg_multi_head_options *o)
{
    return o && o->no_bias ? wg_dense_unbiased(name, x, features, WG_ACTIVATION_NONE)
                           : wg_dense(name, x, features, WG_ACTIVATION_NONE);
}

/* Part i of three of the last axis. */
static wg_value *third(wg_value *x, int64_t i)
{
    int64_t d = size_of(x, -1) / 3;
    return wg_slice(x, -1, i * d, (i + 1) * d, 1);
}

wg_projections(wg_attention_projections)(const char *at, wg_value *x, wg_value *memory,
                                         const wg_multi_head_options *o)
{
    wg_projections p = {0};
    int64_t heads = heads_of(o);
    if (!splits_into_heads(at, "x", x, heads) ||
        !splits_into_heads(at, "memory", memory, x ? 1 : heads))
        return p;
    if (o && o->fused && x && x == memory) {
        wg_value *qkv = project("qkv", x, 3 * size_of(x, -1), o);
        if (qkv)
            p = (wg_projections){third(qkv, 0), third(qkv, 1), third(qkv, 2)};
    } else {
        int64_t d = size_of(x ? x : memory, -1);
        p.q = project("q", x, d, o);
        p.k = project("k", memory, d, o);
        p.v = project("v", memory, d, o);
    }
    p.q = rotate(p.q, o);
    p.k = rotate(p.k, o);
    return p;
}

/* Of additive attention: w [heads, d / heads]. */
static wg_value *score_weight(wg_value *q, int64_t heads, int64_t width)
{
    return wg_parameter(wg_graph_of(q), "score", q->dtype, WG_SHAPE(heads, width),
                        wg_uniform_init(1 / sqrt(fmax(1, (double)width))));
}

/* Which keys answer which query, by the kind wanted; q, k, v and y [B, heads, T or S, d / heads]. */
static wg_value *attend(wg_value *q, wg_value *k, wg_value *v, const wg_multi_head_options *o)
{
    if (!q || !k || !v)
        return NULL;
    if (o->kind != WG_ATTENTION_ADDITIVE)
        return wg_attention(q, k, v, o->lengths,
                            &(wg_attention_attrs){.causal = o->causal, .dropout = o->dropout});
    return wg_additive_attention(q, k, score_weight(q, size_of(q, 1), size_of(q, 3)), v, o->lengths,
                                 &(wg_additive_attrs){.causal = o->causal, .dropout = o->dropout});
}

/* The same for single queries q [B, 1, d] over the rows of pools k, v [N, 1, d] that they name; y [B, 1, d]. */
static wg_value *attend_slots(wg_value *q, wg_value *k, wg_value *v, const wg_multi_head_options *o)
{
    int64_t rows = size_of(q, 0), heads = heads_of(o), width = size_of(q, 2) / heads;
    const wg_shape shape = q->shape, pool = WG_SHAPE(size_of(k, 0), heads, width);
    k = wg_reshape(k, pool);
    v = wg_reshape(v, pool);
    wg_value *y;
    if (o->kind != WG_ATTENTION_ADDITIVE) {
        q = wg_reshape(q, WG_SHAPE(rows, heads, width));
        y = wg_paged_attention(q, k, v, o->slots, o->lengths, 0);
    } else {
        q = wg_reshape(q, WG_SHAPE(rows, heads, 1, width));
        k = wg_permute(wg_take(k, o->slots, 0), WG_AXES(0, 2, 1, 3));
        v = wg_permute(wg_take(v, o->slots, 0), WG_AXES(0, 2, 1, 3));
        y = wg_additive_attention(q, k, score_weight(q, heads, width), v, o->lengths, NULL);
    }
    return y ? wg_reshape(y, shape) : NULL;
}

wg_value *(wg_attention_heads)(const char *at, wg_projections p, const wg_multi_head_options *o)
{
    static const wg_multi_head_options none = {0};
    int64_t heads = heads_of(o);
    if (!p.q || !p.k || !p.v || !splits_into_heads(at, "q", p.q, heads) ||
        !splits_into_heads(at, "k", p.k, heads) || !splits_into_heads(at, "v", p.v, heads))
        return NULL;
    if (o && o->slots)
        return project("out", attend_slots(p.q, p.k, p.v, o), size_of(p.q, -1), o);
    wg_value *y = attend(split_heads(p.q, heads), split_heads(p.k, heads), split_heads(p.v, heads),
                         o ? o : &none);
    return project("out", join_heads(y), size_of(p.q, -1), o);
}

wg_value *(wg_multi_head_attention)(const char *at, const char *name, wg_value *x, wg_value *memory,
                                    const wg_multi_head_options *options)
{
    wg_graph *g = wg_graph_of(x);
    if (!g || !memory)
        return NULL;
    wg_origin before = wg_layer_enter(at, g, name);
    wg_projections p = (wg_attention_projections)(at, x, memory, options);
    return wg_layer_leave(g, before, (wg_attention_heads)(at, p, options));
}

/* ---- the other layers -------------------------------------------------------------------------- */

wg_value *(wg_feed_forward)(const char *at, const char *name, wg_value *x, int64_t features,
                            const wg_feed_forward_options *options)
{
    const wg_feed_forward_options o = options ? *options : (wg_feed_forward_options){0};
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wg_layer_enter(at, g, name);
    wg_activation act = o.activation ? (wg_activation)o.activation : WG_ACTIVATION_RELU;
    wg_value *h = wg_dense("inner", x, features, act);
    if (o.gated)
        h = wg_mul(h, wg_dense("gate", x, features, WG_ACTIVATION_NONE));
    if (o.dropout > 0)
        h = wg_dropout(h, o.dropout);
    return wg_layer_leave(g, before, wg_dense("outer", h, size_of(x, -1), WG_ACTIVATION_NONE));
}

wg_value *(wg_conv_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                          int64_t kernel, const wg_conv2d_options *options)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wg_layer_enter(at, g, name);
    int64_t groups = options && options->groups > 0 ? options->groups : 1;
    int64_t channels = size_of(x, 1) / groups;
    double bound = 1 / sqrt((double)channels * (double)kernel * (double)kernel + 1e-300);
    wg_value *w = wg_parameter(g, "weight", x->dtype, WG_SHAPE(features, channels, kernel, kernel),
                               wg_uniform_init(bound));
    wg_value *b = wg_parameter(g, "bias", x->dtype, WG_SHAPE(features), wg_zeros());
    return wg_layer_leave(g, before, wg_conv2d(x, w, b, options));
}

wg_value *(wg_embedding_layer)(const char *at, const char *name, wg_value *ids, int64_t rows,
                               int64_t features, wg_dtype dtype)
{
    wg_graph *g = wg_graph_of(ids);
    if (!g)
        return NULL;
    wg_origin before = wg_layer_enter(at, g, name);
    double std = 1 / sqrt(features > 0 ? (double)features : 1);
    wg_value *w = wg_parameter(g, "weight", dtype, WG_SHAPE(rows, features), wg_normal_init(std));
    return wg_layer_leave(g, before, wg_embedding(w, ids));
}

wg_value *(wg_lstm_layer)(const char *at, const char *name, wg_value *x, int64_t features)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    if (features <= 0 || features > INT64_MAX / 4)
        return wg_graph_fail(g, WG_EINVAL, at, "wg_lstm_layer", "%lld features",
                             (long long)features);
    wg_origin before = wg_layer_enter(at, g, name);
    wg_init init = wg_uniform_init(1 / sqrt((double)features));
    wg_value *wi = wg_parameter(g, "wi", x->dtype, WG_SHAPE(4 * features, size_of(x, -1)), init);
    wg_value *wh = wg_parameter(g, "wh", x->dtype, WG_SHAPE(4 * features, features), init);
    wg_value *bi = wg_parameter(g, "bi", x->dtype, WG_SHAPE(4 * features), wg_zeros());
    return wg_layer_leave(g, before, wg_lstm(x, wi, wh, bi, NULL, NULL));
}
