#include "models/layers.h"

#include <math.h>

/* ---- the scope of a layer -------------------------------------------------------------------- */

/* Opens the scope; what is built in it is at the caller's line.  Returns what `leave` needs. */
static wg_origin enter(const char *at, wg_graph *g, const char *name)
{
    wg_origin before = wg_graph_origin(g);
    wg_scope_push(g, "%s", name);
    wg_origin inside = wg_graph_origin(g);
    inside.at = before.at ? before.at : at;
    wg_graph_set_origin(g, inside);
    return before;
}

static wg_value *leave(wg_graph *g, wg_origin before, wg_value *y)
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

wg_value *(wg_dense)(const char *at, const char *name, wg_value *x, int64_t features,
                     wg_activation activation)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = enter(at, g, name);
    wg_value *w =
        wg_parameter(g, "weight", x->dtype, WG_SHAPE(features, size_of(x, -1)), wg_xavier(1));
    wg_value *b = wg_parameter(g, "bias", x->dtype, WG_SHAPE(features), wg_zeros());
    return leave(g, before, wg_linear(x, w, b, activation));
}

wg_value *(wg_layer_norm)(const char *at, const char *name, wg_value *x)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = enter(at, g, name);
    wg_value *gain = wg_parameter(g, "gain", x->dtype, WG_SHAPE(size_of(x, -1)), wg_ones());
    wg_value *bias = wg_parameter(g, "bias", x->dtype, WG_SHAPE(size_of(x, -1)), wg_zeros());
    return leave(g, before, wg_layernorm(x, gain, bias, 1, 1e-5));
}

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

wg_value *(wg_multi_head_attention)(const char *at, const char *name, wg_value *x, wg_value *memory,
                                    const wg_multi_head_options *options)
{
    static const char who[] = "wg_multi_head_attention";
    const wg_multi_head_options o = options ? *options : (wg_multi_head_options){0};
    int64_t heads = o.heads ? o.heads : 1, d = x ? size_of(x, -1) : 0;
    wg_graph *g = wg_graph_of(x);
    if (!g || !memory)
        return NULL;
    if (x->shape.rank != 3 || memory->shape.rank != 3)
        return wg_graph_fail(g, WG_ESHAPE, at, who,
                             "x and memory have %d and %d axes, must have 3 [B, T, d]",
                             x->shape.rank, memory->shape.rank);
    if (heads < 0 || d % heads != 0)
        return wg_graph_fail(g, WG_ESHAPE, at, who, "%lld heads do not divide %lld features",
                             (long long)heads, (long long)d);

    wg_origin before = enter(at, g, name);
    wg_value *q = split_heads(wg_dense("q", x, d, WG_ACTIVATION_NONE), heads);
    wg_value *k = split_heads(wg_dense("k", memory, d, WG_ACTIVATION_NONE), heads);
    wg_value *v = split_heads(wg_dense("v", memory, d, WG_ACTIVATION_NONE), heads);
    wg_value *y = wg_attention(q, k, v, o.lengths,
                               &(wg_attention_attrs){.causal = o.causal, .dropout = o.dropout});
    return leave(g, before, wg_dense("out", join_heads(y), d, WG_ACTIVATION_NONE));
}

wg_value *(wg_feed_forward)(const char *at, const char *name, wg_value *x, int64_t features)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = enter(at, g, name);
    wg_value *h = wg_dense("inner", x, features, WG_ACTIVATION_RELU);
    return leave(g, before, wg_dense("outer", h, size_of(x, -1), WG_ACTIVATION_NONE));
}

wg_value *(wg_conv_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                          int64_t kernel, const wg_conv2d_options *options)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = enter(at, g, name);
    int64_t groups = options && options->groups > 0 ? options->groups : 1;
    int64_t channels = size_of(x, 1) / groups;
    double bound = 1 / sqrt((double)channels * (double)kernel * (double)kernel + 1e-300);
    wg_value *w = wg_parameter(g, "weight", x->dtype, WG_SHAPE(features, channels, kernel, kernel),
                               wg_uniform_init(bound));
    wg_value *b = wg_parameter(g, "bias", x->dtype, WG_SHAPE(features), wg_zeros());
    return leave(g, before, wg_conv2d(x, w, b, options));
}

wg_value *(wg_embedding_layer)(const char *at, const char *name, wg_value *ids, int64_t rows,
                               int64_t features, wg_dtype dtype)
{
    wg_graph *g = wg_graph_of(ids);
    if (!g)
        return NULL;
    wg_origin before = enter(at, g, name);
    double std = 1 / sqrt(features > 0 ? (double)features : 1);
    wg_value *w = wg_parameter(g, "weight", dtype, WG_SHAPE(rows, features), wg_normal_init(std));
    return leave(g, before, wg_embedding(w, ids));
}

wg_value *(wg_lstm_layer)(const char *at, const char *name, wg_value *x, int64_t features)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    if (features <= 0 || features > INT64_MAX / 4)
        return wg_graph_fail(g, WG_EINVAL, at, "wg_lstm_layer", "%lld features",
                             (long long)features);
    wg_origin before = enter(at, g, name);
    wg_init init = wg_uniform_init(1 / sqrt((double)features));
    wg_value *wi = wg_parameter(g, "wi", x->dtype, WG_SHAPE(4 * features, size_of(x, -1)), init);
    wg_value *wh = wg_parameter(g, "wh", x->dtype, WG_SHAPE(4 * features, features), init);
    wg_value *bi = wg_parameter(g, "bi", x->dtype, WG_SHAPE(4 * features), wg_zeros());
    return leave(g, before, wg_lstm(x, wi, wh, bi, NULL, NULL));
}
