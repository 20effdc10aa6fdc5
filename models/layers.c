#include "wengert/models/layers.h"
#include "graph/call.h"
#include "graph/marks.h"
#include "models/internal.h"

#include <math.h>

/* ---- the scope of a layer -------------------------------------------------------------------- */

wg_origin wgi_layer_enter(const char *at, wg_graph *g, const char *name)
{
    wg_origin before = wg_graph_origin(g), inside = before;
    inside.at = before.at ? before.at : at;
    wg_graph_set_origin(g, inside);
    const char *caller = wgi_graph_enter(g, "layer");
    if (name)
        wg_scope_push(g, "%s", name);
    else
        wg_graph_fail(g, WG_EINVAL, at, "layer",
                      "its name is NULL: name the scope that its parameters are in");
    wgi_graph_leave(g, caller);
    return before;
}

wg_value *wgi_layer_leave(wg_graph *g, wg_origin before, wg_value *y)
{
    wg_graph_set_origin(g, before);
    return y;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The dtype in which layers keep parameters for activations of `dtype`. */
static wg_dtype kept_dtype(const wg_graph *g, wg_dtype dtype)
{
    const wg_scope *s = wg_graph_origin(g).scope;
    while (s && s->parameter_dtype == WG_DTYPE_DEFAULT)
        s = s->parent;
    return s ? s->parameter_dtype : dtype;
}

/* x in that dtype; x itself if it has it. */
static wg_value *in_dtype(wg_value *x, wg_dtype dtype)
{
    return x && x->dtype != dtype ? wg_cast(x, dtype) : x;
}

wg_value *wgi_layer_parameter(wg_graph *g, const char *name, wg_dtype dtype, wg_shape shape,
                              wg_init init)
{
    if (!wg_dtype_is_float(dtype))
        return wg_graph_fail(g, WG_EDTYPE, NULL, "layer",
                             "its input is %s, must be a float: wg_cast it first",
                             wg_dtype_name(dtype));
    return in_dtype(wg_parameter(g, name, kept_dtype(g, dtype), shape, init), dtype);
}

wg_init wgi_layer_init(wg_init init, wg_init otherwise)
{
    return init.kind == WG_INIT_CONSTANT && init.scale == 0 ? otherwise : init;
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
    const wg_shape rows = WG_SHAPE(features), matrix = WG_SHAPE(features, wg_value_dim(x, -1));
    const wg_init init = wgi_layer_init(o.init, wg_xavier(o.gain != 0 ? o.gain : 1));
    wg_value *w = wgi_layer_parameter(g, "weight", x->dtype, matrix, init);
    wg_value *b = o.no_bias ? NULL : wgi_layer_parameter(g, "bias", x->dtype, rows, wg_zeros());
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
    const wg_shape d = WG_SHAPE(wg_value_dim(x, -1));
    wg_value *gain = wgi_layer_parameter(g, "gain", x->dtype, d, wg_ones()), *y;
    if (kind == WG_RMSNORM)
        y = wg_rmsnorm(x, gain, WG_LAST_AXIS, eps);
    else
        y = wg_layernorm(x, gain, wgi_layer_parameter(g, "bias", x->dtype, d, wg_zeros()),
                         WG_LAST_AXIS, eps);
    return wgi_layer_leave(g, before, y);
}

wg_value *(wg_groupnorm_layer)(const char *at, const char *name, wg_value *x, int64_t groups,
                               double eps)
{
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    const wg_shape channels = WG_SHAPE(wg_value_dim(x, 1));
    wg_value *gain = wgi_layer_parameter(g, "gain", x->dtype, channels, wg_ones());
    wg_value *bias = wgi_layer_parameter(g, "bias", x->dtype, channels, wg_zeros());
    return wgi_layer_leave(g, before, wg_groupnorm(x, gain, bias, groups, eps != 0 ? eps : 1e-5));
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
    const wg_dense_options plain = {.no_bias = o.no_bias};
    wg_dense_options inner = plain;
    inner.activation = o.activation ? o.activation : WG_ACTIVATION_RELU;
    wg_value *h = wg_dense_with("inner", x, features, &inner);
    if (o.gated)
        h = wg_mul(h, wg_dense_with("gate", x, features, &plain));
    if (o.dropout > 0)
        h = wg_dropout(h, o.dropout);
    return wgi_layer_leave(g, before, wg_dense_with("outer", h, wg_value_dim(x, -1), &plain));
}

/* ---- batch normalisation --------------------------------------------------------------------- */

wg_value *(wg_batchnorm_layer)(const char *at, const char *name, wg_value *x, bool training,
                               const wg_batchnorm_options *options)
{
    const wg_batchnorm_options o = options ? *options : (wg_batchnorm_options){0};
    double momentum = o.momentum != 0 ? o.momentum : 0.1, eps = o.eps != 0 ? o.eps : 1e-5;
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    if (!(momentum > 0 && momentum <= 1))
        return wg_graph_fail(g, WG_EINVAL, at, "wg_batchnorm_layer",
                             "momentum is %g, must be in (0, 1]", momentum);
    wg_origin before = wgi_layer_enter(at, g, name);
    const wg_dtype dtype = kept_dtype(g, x->dtype); /* of the statistics as well */
    const wg_shape channels = WG_SHAPE(wg_value_dim(x, 1));
    wg_value *gain = wg_parameter(g, "gain", dtype, channels, wg_ones());
    wg_value *bias = wg_parameter(g, "bias", dtype, channels, wg_zeros());
    wg_value *mean = wg_state(g, "running_mean", dtype, channels, wg_zeros());
    wg_value *var = wg_state(g, "running_var", dtype, channels, wg_ones());
    wg_value *wide = in_dtype(x, dtype), *y;
    if (!training)
        y = wg_batchnorm_eval(wide, mean, var, gain, bias, eps);
    else if (wgi_graph_assignment(g, mean))
        y = wg_batchnorm(wide, gain, bias, eps);
    else
        y = wg_batchnorm_train(wide, gain, bias, mean, var, momentum, eps);
    return wgi_layer_leave(g, before, in_dtype(y, x->dtype));
}

/* ---- embeddings ------------------------------------------------------------------------------ */

wg_value *(wg_embedding_layer)(const char *at, const char *name, wg_value *ids, int64_t rows,
                               int64_t features, wg_dtype dtype)
{
    wg_graph *g = wg_graph_of(ids);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    double std = 1 / sqrt(features > 0 ? (double)features : 1);
    wg_value *w = wg_parameter(g, "weight", kept_dtype(g, dtype), WG_SHAPE(rows, features),
                               wg_normal_init(std));
    return wgi_layer_leave(g, before, in_dtype(wg_embedding(w, ids), dtype));
}
