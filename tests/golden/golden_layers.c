/* PyTorch's layers: convolution, pooling, upsampling, attention, recurrence. */
#include "tests/golden/golden.h"

#include <string.h>

/* The permutation that takes axes from the order of one word to that of another, "B,H,T,D" and
 * "BTHD". */
static wg_axes order_of(golden *c, const char *from, const char *to)
{
    wg_axes order = {0};
    for (; *to; to++) {
        const char *f = strchr(from, *to);
        if (*to == ',')
            continue;
        if (!f || order.count == WG_MAX_RANK) {
            golden_fail(c, "layout: \"%s\" lacks the %c of \"%s\"", from, *to, to);
            break;
        }
        int at = 0;
        for (const char *s = from; s < f; s++)
            at += *s != ',';
        order.axis[order.count++] = at;
    }
    return order;
}

static wg_value *layout(golden *c, wg_value *x, const char *from, const char *to)
{
    return golden_is(from, to) ? x : wg_permute(x, order_of(c, from, to));
}

/* A number for each of `axes` axes: 3 or [3, 2]; 0 where there is none. */
static void each_of(golden *c, const char *names, int axes, int64_t *each)
{
    memset(each, 0, (size_t)axes * sizeof *each);
    if (golden_ints(c, names, each, axes, axes) == 1)
        for (int i = 1; i < axes; i++)
            each[i] = each[0];
}

/* ---- convolution ----------------------------------------------------------------------------- */

static const char FILMS[] = "N,C,D,H,W", IMAGES[] = "N,C,H,W", SERIES[] = "N,C,L";

/* Of one, two or three axes, in the first entries. */
static wg_conv3d_options conv_options(golden *c, int axes)
{
    wg_conv3d_options o = {.groups = golden_int(c, "groups", 1)};
    each_of(c, "stride", axes, o.stride);
    each_of(c, "dilation", axes, o.dilation);
    if (!golden_is_text(c, "padding"))
        each_of(c, "padding", axes, o.padding);
    each_of(c, "output_padding", axes, o.output_padding);
    return o;
}

/* padding "same": as many windows as positions, an odd zero at the end; "valid": none */
static wg_value *padded_as_said(golden *c, wg_value *x, const wg_value *w,
                                const wg_conv3d_options *o)
{
    const char *padding = golden_is_text(c, "padding") ? golden_text(c, "padding", "") : "valid";
    if (golden_is(padding, "valid") || !x || !w)
        return x;
    if (!golden_is(padding, "same"))
        golden_fail(c, "padding %s is not known", padding);
    wg_shape before = {x->shape.rank, {0}}, after = before;
    for (int i = 2; i < x->shape.rank && i < w->shape.rank; i++) {
        int64_t dilation = o->dilation[i - 2] ? o->dilation[i - 2] : 1;
        int64_t all = dilation * (w->shape.dim[i] - 1);
        before.dim[i] = all / 2;
        after.dim[i] = all - all / 2;
    }
    return wg_pad(x, before, after, 0);
}

static wg_value *conv_of(wg_value *x, wg_value *w, wg_value *b, int axes, bool transposed,
                         const wg_conv3d_options *o)
{
    if (axes == 3)
        return transposed ? wg_conv_transpose3d(x, w, b, o) : wg_conv3d(x, w, b, o);
    if (axes == 2) {
        wg_conv2d_options two = {.stride = {o->stride[0], o->stride[1]},
                                 .padding = {o->padding[0], o->padding[1]},
                                 .dilation = {o->dilation[0], o->dilation[1]},
                                 .groups = o->groups,
                                 .output_padding = {o->output_padding[0], o->output_padding[1]}};
        return transposed ? wg_conv_transpose2d(x, w, b, &two) : wg_conv2d(x, w, b, &two);
    }
    wg_conv1d_options one = {o->stride[0], o->padding[0], o->dilation[0], o->groups,
                             o->output_padding[0]};
    return transposed ? wg_conv_transpose1d(x, w, b, &one) : wg_conv1d(x, w, b, &one);
}

static void build_conv(golden *c, int axes, bool transposed)
{
    const char *const layouts[] = {SERIES, IMAGES, FILMS}, *ours = layouts[axes - 1];
    const char *given = golden_text(c, "layout|data_format", ours);
    wg_value *x = layout(c, golden_in(c, "x"), given, ours), *w = golden_in(c, "w|weight");
    wg_value *b = golden_in_maybe(c, "b|bias");
    wg_conv3d_options o = conv_options(c, axes);
    x = padded_as_said(c, x, w, &o);
    golden_give(c, layout(c, conv_of(x, w, b, axes, transposed, &o), ours, given));
}

static void build_conv1d(golden *c)
{
    build_conv(c, 1, false);
}

static void build_conv2d(golden *c)
{
    build_conv(c, 2, false);
}

static void build_conv3d(golden *c)
{
    build_conv(c, 3, false);
}

static void build_conv_transpose1d(golden *c)
{
    build_conv(c, 1, true);
}

static void build_conv_transpose2d(golden *c)
{
    build_conv(c, 2, true);
}

static void build_conv_transpose3d(golden *c)
{
    build_conv(c, 3, true);
}

/* ---- pooling, upsampling --------------------------------------------------------------------- */

/* Of one, two or three axes, in the first entries. */
static wg_pool3d_options pool_options(golden *c, int axes)
{
    wg_pool3d_options o = {.exclude_padding = !golden_bool(c, "count_include_pad", true),
                           .ceil_mode = golden_bool(c, "ceil_mode", false)};
    each_of(c, "kernel|kernel_size", axes, o.kernel);
    each_of(c, "stride", axes, o.stride);
    each_of(c, "padding", axes, o.padding);
    each_of(c, "dilation", axes, o.dilation);
    return o;
}

static void build_pool(golden *c, int axes, bool largest)
{
    const char *ours = axes == 3 ? FILMS : axes == 2 ? IMAGES : SERIES;
    const char *given = golden_text(c, "layout|data_format", ours);
    wg_pool3d_options o = pool_options(c, axes);
    wg_pool2d_options o2 = {
        {o.kernel[0], o.kernel[1]},     {o.stride[0], o.stride[1]}, {o.padding[0], o.padding[1]},
        {o.dilation[0], o.dilation[1]}, o.exclude_padding,          o.ceil_mode};
    wg_pool1d_options o1 = {o.kernel[0],   o.stride[0],       o.padding[0],
                            o.dilation[0], o.exclude_padding, o.ceil_mode};
    wg_value *x = layout(c, golden_in(c, "x"), given, ours), *y;
    if (axes == 3)
        y = largest ? wg_max_pool3d(x, &o) : wg_avg_pool3d(x, &o);
    else if (axes == 2)
        y = largest ? wg_max_pool2d(x, &o2) : wg_avg_pool2d(x, &o2);
    else
        y = largest ? wg_max_pool1d(x, &o1) : wg_avg_pool1d(x, &o1);
    for (int i = 0; i < (largest && axes < 3 ? 2 : 1); i++)
        golden_give(c, layout(c, wg_result_of(y, i), ours, given));
}

static void build_adaptive_pool(golden *c, int axes, bool largest)
{
    int64_t to[3];
    wg_value *x = golden_in(c, "x"), *y;
    each_of(c, "output_size", axes, to);
    if (axes == 3)
        y = largest ? wg_adaptive_max_pool3d(x, to[0], to[1], to[2])
                    : wg_adaptive_avg_pool3d(x, to[0], to[1], to[2]);
    else if (axes == 2)
        y = largest ? wg_adaptive_max_pool2d(x, to[0], to[1])
                    : wg_adaptive_avg_pool2d(x, to[0], to[1]);
    else
        y = largest ? wg_adaptive_max_pool1d(x, to[0]) : wg_adaptive_avg_pool1d(x, to[0]);
    golden_give(c, y);
}

#define POOLS(axes)                                                                                \
    static void build_max_pool##axes##d(golden *c)                                                 \
    {                                                                                              \
        build_pool(c, axes, true);                                                                 \
    }                                                                                              \
    static void build_avg_pool##axes##d(golden *c)                                                 \
    {                                                                                              \
        build_pool(c, axes, false);                                                                \
    }                                                                                              \
    static void build_adaptive_max_pool##axes##d(golden *c)                                        \
    {                                                                                              \
        build_adaptive_pool(c, axes, true);                                                        \
    }                                                                                              \
    static void build_adaptive_avg_pool##axes##d(golden *c)                                        \
    {                                                                                              \
        build_adaptive_pool(c, axes, false);                                                       \
    }
POOLS(1)
POOLS(2)
POOLS(3)

static void build_global_max_pool2d(golden *c)
{
    golden_give(c, wg_global_max_pool2d(golden_in(c, "x")));
}

static void build_global_avg_pool2d(golden *c)
{
    golden_give(c, wg_global_avg_pool2d(golden_in(c, "x")));
}

static void build_upsample(golden *c)
{
    const char *mode = golden_text(c, "mode", "nearest");
    wg_value *x = golden_in(c, "x");
    int axes = x ? x->shape.rank - 2 : 2;
    wg_upsample3d_options o = {.align_corners = golden_bool(c, "align_corners", false)};
    if (golden_is(mode, "linear") || golden_is(mode, "bilinear") || golden_is(mode, "trilinear"))
        o.mode = WG_LINEAR;
    else if (golden_is(mode, "bicubic"))
        o.mode = WG_CUBIC;
    else if (!golden_is(mode, "nearest"))
        golden_fail(c, "mode %s is not known", mode);
    if (golden_has(c, "size"))
        each_of(c, "size", axes, o.size);
    else
        golden_reals(c, "scale_factor|scale", o.scale, axes);
    if (axes == 1)
        golden_give(c, wg_upsample1d(x, &(wg_upsample1d_options){o.mode, o.align_corners, o.size[0],
                                                                 o.scale[0]}));
    else if (axes == 2)
        golden_give(c, wg_upsample2d(x, &(wg_upsample2d_options){o.mode,
                                                                 o.align_corners,
                                                                 {o.size[0], o.size[1]},
                                                                 {o.scale[0], o.scale[1]}}));
    else
        golden_give(c, wg_upsample3d(x, &o));
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The list "key_lengths" as a constant, or an input; NULL if there is neither. */
static wg_value *key_lengths(golden *c)
{
    int64_t lengths[256];
    int n = golden_ints(c, "key_lengths|lengths", lengths, 256, 1);
    if (n < 0)
        return golden_in_maybe(c, "lengths|key_lengths");
    return wg_constant(c->graph, WG_I64, WG_SHAPE(n), lengths);
}

/* With a mask (bool: true where a key is seen; float: added to the scores) attention in its own
 * words. */
static wg_value *masked_attention(wg_value *q, wg_value *k, wg_value *v, wg_value *mask,
                                  double scale)
{
    wg_value *scores = wg_scale(wg_matmul_t(q, k, WG_NT), scale);
    if (mask && mask->dtype == WG_BOOL)
        scores = wg_masked_fill(scores, wg_logical_not(mask), -INFINITY);
    else
        scores = wg_add(scores, mask);
    return wg_matmul(wg_softmax(scores, -1), v);
}

static void build_attention(golden *c)
{
    static const char ours[] = "B,H,T,D";
    const char *given = golden_text(c, "layout", ours);
    wg_value *q = layout(c, golden_in(c, "q|query"), given, ours);
    wg_value *k = layout(c, golden_in(c, "k|key"), given, ours);
    wg_value *v = layout(c, golden_in(c, "v|value"), given, ours);
    wg_value *mask = golden_in_maybe(c, "mask|attn_mask"), *lengths = key_lengths(c);
    wg_attention_attrs a = {.causal = golden_bool(c, "causal|is_causal", false)};
    a.scale = golden_real(c, "scale", 0);
    /* these repeat what the shapes say */
    golden_bool(c, "enable_gqa|grouped", false);
    golden_int(c, "heads|num_heads|query_heads", 0);
    golden_int(c, "kv_heads|num_kv_heads|key_heads", 0);
    if (mask && (a.causal || lengths))
        golden_fail(c, "a mask beside causal or key_lengths is not known");
    double width = q ? (double)q->shape.dim[q->shape.rank - 1] : 1;
    wg_value *y = mask ? masked_attention(q, k, v, mask, a.scale > 0 ? a.scale : 1 / sqrt(width))
                       : wg_attention(q, k, v, lengths, &a);
    golden_give(c, layout(c, y, ours, given));
}

/* ---- recurrence ------------------------------------------------------------------------------ */

typedef enum recurrence { RNN, LSTM, GRU } recurrence;

/* PyTorch's states may be [1, B, H]. */
static wg_value *initial_state(golden *c, const char *names, bool *stacked)
{
    wg_value *h = golden_in_maybe(c, names);
    *stacked |= h && h->shape.rank == 3;
    return h && h->shape.rank == 3 ? wg_squeeze(h, 0) : h;
}

static void build_recurrence(golden *c, recurrence kind)
{
    static const char ours[] = "B,T,C", *const orders[] = {"", "i,f,g,o", "r,z,n"};
    const char *given =
        golden_text(c, "layout", golden_bool(c, "batch_first", true) ? ours : "T,B,C");
    const char *order = golden_text(c, "gate_order", orders[kind]);
    if (!golden_is(order, orders[kind]))
        golden_fail(c, "gate order %s: expected %s", order, orders[kind]);
    golden_int(c, "hidden|hidden_size", 0);
    golden_text(c, "initial_state", "");
    bool stacked = false;
    wg_recurrent_options o = {.reverse = golden_bool(c, "reverse", false)};
    o.h = initial_state(c, "h0|h|hx", &stacked);
    if (kind == LSTM)
        o.c = initial_state(c, "c0|c|cx", &stacked);
    if (kind == RNN)
        o.relu = golden_is(golden_text(c, "nonlinearity", "tanh"), "relu");
    wg_value *x = layout(c, golden_in(c, "x"), given, ours);
    wg_value *wi = golden_in(c, "wi|w_ih|weight_ih"), *wh = golden_in(c, "wh|w_hh|weight_hh");
    wg_value *bi = golden_in_maybe(c, "bi|b_ih|bias_ih"),
             *bh = golden_in_maybe(c, "bh|b_hh|bias_hh");
    wg_value *y = kind == RNN    ? wg_rnn(x, wi, wh, bi, bh, &o)
                  : kind == LSTM ? wg_lstm(x, wi, wh, bi, bh, &o)
                                 : wg_gru(x, wi, wh, bi, bh, &o);
    golden_give(c, layout(c, y, ours, given));
    for (int i = 1; i < (kind == LSTM ? 3 : 2); i++)
        golden_give(c, stacked ? wg_unsqueeze(wg_result_of(y, i), 0) : wg_result_of(y, i));
}

static void build_rnn(golden *c)
{
    build_recurrence(c, RNN);
}

static void build_lstm(golden *c)
{
    build_recurrence(c, LSTM);
}

static void build_gru(golden *c)
{
    build_recurrence(c, GRU);
}

/* ---- the table ------------------------------------------------------------------------------- */

const golden_op golden_layers[] = {
    {"conv1d", build_conv1d},
    {"conv2d", build_conv2d},
    {"conv3d", build_conv3d},
    {"conv_transpose1d", build_conv_transpose1d},
    {"conv_transpose2d", build_conv_transpose2d},
    {"conv_transpose3d", build_conv_transpose3d},
    {"max_pool1d", build_max_pool1d},
    {"max_pool2d", build_max_pool2d},
    {"avg_pool1d", build_avg_pool1d},
    {"avg_pool2d", build_avg_pool2d},
    {"max_pool3d", build_max_pool3d},
    {"avg_pool3d", build_avg_pool3d},
    {"adaptive_max_pool1d", build_adaptive_max_pool1d},
    {"adaptive_max_pool2d", build_adaptive_max_pool2d},
    {"adaptive_max_pool3d", build_adaptive_max_pool3d},
    {"adaptive_avg_pool1d", build_adaptive_avg_pool1d},
    {"adaptive_avg_pool2d", build_adaptive_avg_pool2d},
    {"adaptive_avg_pool3d", build_adaptive_avg_pool3d},
    {"global_max_pool2d", build_global_max_pool2d},
    {"global_avg_pool2d", build_global_avg_pool2d},
    {"upsample", build_upsample},
    {"interpolate", build_upsample},
    {"attention", build_attention},
    {"scaled_dot_product_attention", build_attention},
    {"rnn", build_rnn},
    {"lstm", build_lstm},
    {"gru", build_gru},
    {NULL, NULL},
};
