/* Convolutions with their parameters. */
#include "models/internal.h"
#include "wengert/models/layers.h"

#include <math.h>

/* What the six layers differ in. */
typedef struct kernel {
    wg_shape window; /* along the axes of space */
    int64_t features, groups;
    bool transposed, no_bias;
    wg_init init;
} kernel;

/* Of x [N, C, ...]: weight [features, C/groups, window], transposed [C, features/groups, window],
 * and bias [features] unless there is to be none; NULL in *b without one. */
static wg_value *parameters_of(const wg_value *x, const kernel *k, wg_value **b)
{
    wg_graph *g = wg_graph_of(x);
    int64_t groups = k->groups > 0 ? k->groups : 1, channels = wg_value_dim(x, 1);
    wg_shape shape = {.rank = 2 + k->window.rank};
    shape.dim[0] = k->transposed ? channels : k->features;
    shape.dim[1] = (k->transposed ? k->features : channels) / groups;
    for (int i = 0; i < k->window.rank; i++)
        shape.dim[2 + i] = k->window.dim[i];
    double fan_in = 1;
    for (int i = 1; i < shape.rank; i++)
        fan_in *= (double)shape.dim[i];
    wg_init init = wgi_layer_init(k->init, wg_uniform_init(1 / sqrt(fmax(1, fan_in))));
    wg_value *w = wgi_layer_parameter(g, "weight", x->dtype, shape, init);
    *b = k->no_bias ? NULL
                    : wgi_layer_parameter(g, "bias", x->dtype, WG_SHAPE(k->features), wg_zeros());
    return w;
}

/* ---- one axis -------------------------------------------------------------------------------- */

static wg_value *layer1d(const char *at, const char *name, wg_value *x, int64_t features,
                         int64_t size, const wg_conv1d_layer_options *options, bool transposed)
{
    const wg_conv1d_layer_options o = options ? *options : (wg_conv1d_layer_options){0};
    const kernel k = {WG_SHAPE(size), features, o.conv.groups, transposed, o.no_bias, o.init};
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    wg_value *b, *w = parameters_of(x, &k, &b);
    return wgi_layer_leave(g, before,
                           transposed ? wg_conv_transpose1d(x, w, b, &o.conv)
                                      : wg_conv1d(x, w, b, &o.conv));
}

wg_value *(wg_conv1d_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                            int64_t size, const wg_conv1d_layer_options *options)
{
    return layer1d(at, name, x, features, size, options, false);
}

wg_value *(wg_conv_transpose1d_layer)(const char *at, const char *name, wg_value *x,
                                      int64_t features, int64_t size,
                                      const wg_conv1d_layer_options *options)
{
    return layer1d(at, name, x, features, size, options, true);
}

/* ---- two axes -------------------------------------------------------------------------------- */

static wg_value *layer2d(const char *at, const char *name, wg_value *x, int64_t features,
                         int64_t size, const wg_conv2d_layer_options *options, bool transposed)
{
    const wg_conv2d_layer_options o = options ? *options : (wg_conv2d_layer_options){0};
    const wg_shape window = WG_SHAPE(size, o.kernel_w ? o.kernel_w : size);
    const kernel k = {window, features, o.conv.groups, transposed, o.no_bias, o.init};
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    wg_value *b, *w = parameters_of(x, &k, &b);
    return wgi_layer_leave(g, before,
                           transposed ? wg_conv_transpose2d(x, w, b, &o.conv)
                                      : wg_conv2d(x, w, b, &o.conv));
}

wg_value *(wg_conv2d_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                            int64_t size, const wg_conv2d_layer_options *options)
{
    return layer2d(at, name, x, features, size, options, false);
}

wg_value *(wg_conv_transpose2d_layer)(const char *at, const char *name, wg_value *x,
                                      int64_t features, int64_t size,
                                      const wg_conv2d_layer_options *options)
{
    return layer2d(at, name, x, features, size, options, true);
}

wg_value *(wg_conv_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                          int64_t size, const wg_conv2d_options *options)
{
    wg_conv2d_layer_options o = {0};
    if (options)
        o.conv = *options;
    return layer2d(at, name, x, features, size, &o, false);
}

/* ---- three axes ------------------------------------------------------------------------------ */

static wg_value *layer3d(const char *at, const char *name, wg_value *x, int64_t features,
                         int64_t size, const wg_conv3d_layer_options *options, bool transposed)
{
    const wg_conv3d_layer_options o = options ? *options : (wg_conv3d_layer_options){0};
    const wg_shape window = WG_SHAPE(size, size, size);
    const kernel k = {window, features, o.conv.groups, transposed, o.no_bias, o.init};
    wg_graph *g = wg_graph_of(x);
    if (!g)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, name);
    wg_value *b, *w = parameters_of(x, &k, &b);
    return wgi_layer_leave(g, before,
                           transposed ? wg_conv_transpose3d(x, w, b, &o.conv)
                                      : wg_conv3d(x, w, b, &o.conv));
}

wg_value *(wg_conv3d_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                            int64_t size, const wg_conv3d_layer_options *options)
{
    return layer3d(at, name, x, features, size, options, false);
}

wg_value *(wg_conv_transpose3d_layer)(const char *at, const char *name, wg_value *x,
                                      int64_t features, int64_t size,
                                      const wg_conv3d_layer_options *options)
{
    return layer3d(at, name, x, features, size, options, true);
}
