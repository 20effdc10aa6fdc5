#include "wengert/models/layers.h"
#include "models/internal.h"

#include <math.h>

/* ---- the scope of a layer -------------------------------------------------------------------- */

wg_origin wgi_layer_enter(const char *at, wg_graph *g, const char *name)
{
    wg_origin before = wg_graph_origin(g);
    wg_scope_push(g, "%s", name);
    wg_origin inside = wg_graph_origin(g);
    inside.at = before.at ? before.at : at;
    wg_graph_set_origin(g, inside);
    return before;
}

wg_value *wgi_layer_leave(wg_graph *g, wg_origin before, wg_value *y)
{
    wg_graph_set_origin(g, before);
    return y;
}

int64_t wgi_layer_size(const wg_value *x, int i)
{
    i = i < 0 ? i + x->shape.rank : i;
    return i >= 0 && i < x->shape.rank ? x->shape.dim[i] : 0;
}

/* ---- layers ---------------------------------------------------------------------------------- */

wg_value *(wg_dense_with)(const char *at, const char *name, wg_value *x, int64_t features,
                          const wg_dense_options *options)
{
    const wg_dense_options o = options ? *options : (wg_dense_options){0};
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    const wg_shape rows = WG_SHAPE(features), matrix = WG_SHAPE(features, wgi_layer_size(x, -1));
    wg_value *w = wg_parameter(g, "weight", x->dtype, matrix, wg_xavier(o.gain != 0 ? o.gain : 1));
    wg_value *b = o.no_bias ? NULL : wg_parameter(g, "bias", x->dtype, rows, wg_zeros());
    return wgi_layer_leave(g, before, wg_linear(x, w, b, o.activation));
}

wg_value *(wg_dense)(const char *at, const char *name, wg_value *x, int64_t features,
                     wg_activation activation)
{
    const wg_dense_options o = {.activation = activation};
    return (wg_dense_with)(at, name, x, features, &o);
}

wg_value *(wg_norm_layer)(const char *at, const char *name, wg_value *x, wg_norm_kind kind,
                          double eps)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    const wg_shape d = WG_SHAPE(wgi_layer_size(x, -1));
    wg_value *gain = wg_parameter(g, "gain", x->dtype, d, wg_ones()), *y;
    if (kind == WG_RMSNORM)
        y = wg_rmsnorm(x, gain, WG_LAST_AXIS, eps);
    else
        y = wg_layernorm(x, gain, wg_parameter(g, "bias", x->dtype, d, wg_zeros()), WG_LAST_AXIS,
                         eps);
    return wgi_layer_leave(g, before, y);
}

wg_value *(wg_layernorm_layer)(const char *at, const char *name, wg_value *x)
{
    return (wg_norm_layer)(at, name, x, WG_LAYERNORM, 1e-5);
}

wg_value *(wg_feed_forward)(const char *at, const char *name, wg_value *x, int64_t features,
                            const wg_feed_forward_options *options)
{
    const wg_feed_forward_options o = options ? *options : (wg_feed_forward_options){0};
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    wg_activation act = o.activation ? o.activation : WG_ACTIVATION_RELU;
    wg_value *h = wg_dense("inner", x, features, act);
    if (o.gated)
        h = wg_mul(h, wg_dense("gate", x, features, WG_ACTIVATION_NONE));
    if (o.dropout > 0)
        h = wg_dropout(h, o.dropout);
    return wgi_layer_leave(g, before,
                           wg_dense("outer", h, wgi_layer_size(x, -1), WG_ACTIVATION_NONE));
}

wg_value *(wg_conv_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                          int64_t kernel, const wg_conv2d_options *options)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    int64_t groups = options && options->groups > 0 ? options->groups : 1;
    int64_t channels = wgi_layer_size(x, 1) / groups;
    double bound = 1 / sqrt((double)channels * (double)kernel * (double)kernel + 1e-300);
    wg_value *w = wg_parameter(g, "weight", x->dtype, WG_SHAPE(features, channels, kernel, kernel),
                               wg_uniform_init(bound));
    wg_value *b = wg_parameter(g, "bias", x->dtype, WG_SHAPE(features), wg_zeros());
    return wgi_layer_leave(g, before, wg_conv2d(x, w, b, options));
}

wg_value *(wg_embedding_layer)(const char *at, const char *name, wg_value *ids, int64_t rows,
                               int64_t features, wg_dtype dtype)
{
    wg_graph *g = wg_graph_of(ids);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    double std = 1 / sqrt(features > 0 ? (double)features : 1);
    wg_value *w = wg_parameter(g, "weight", dtype, WG_SHAPE(rows, features), wg_normal_init(std));
    return wgi_layer_leave(g, before, wg_embedding(w, ids));
}

wg_value *(wg_lstm_layer)(const char *at, const char *name, wg_value *x, int64_t features)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    if (features <= 0 || features > INT64_MAX / 4)
        return wg_graph_fail(g, WG_EINVAL, at, "wg_lstm_layer", "%lld features",
                             (long long)features);
    wg_origin before = wgi_layer_enter(at, g, name);
    wg_init init = wg_uniform_init(1 / sqrt((double)features));
    wg_value *wi =
        wg_parameter(g, "wi", x->dtype, WG_SHAPE(4 * features, wgi_layer_size(x, -1)), init);
    wg_value *wh = wg_parameter(g, "wh", x->dtype, WG_SHAPE(4 * features, features), init);
    wg_value *bi = wg_parameter(g, "bi", x->dtype, WG_SHAPE(4 * features), wg_zeros());
    return wgi_layer_leave(g, before, wg_lstm(x, wi, wh, bi, NULL, NULL));
}
