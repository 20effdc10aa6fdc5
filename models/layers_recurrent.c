/* Stacks of recurrent layers, read in one direction or in both. */
#include "models/internal.h"

#include <math.h>

static const char who[] = "wg_recurrent_layer";

/* A layer under construction. */
typedef struct stack {
    wg_graph *g;
    wg_recurrent_kind kind;
    wg_recurrent_layer_options o;
    int64_t layers, directions, features;
    wg_value **h, **c; /* [layers directions], each [B, features] */
} stack;

static wg_init init_of_width(int64_t features)
{
    return wg_uniform_init(1 / sqrt((double)features));
}

/* State i of the first states [layers directions, B, features]; NULL for NULL. */
static wg_value *state_at(wg_value *states, int64_t i)
{
    return states ? wg_squeeze(wg_slice(states, 0, i, i + 1, 1), 0) : NULL;
}

/* One direction of one layer, whose states are number i of the stack. */
static wg_value *read_once(stack *s, wg_value *x, int64_t i, bool reverse)
{
    static const int64_t gates[] = {[WG_RNN] = 1, [WG_LSTM] = 4, [WG_GRU] = 3};
    const wg_recurrent_layer_options *o = &s->o;
    const int64_t rows = gates[s->kind] * s->features;
    const wg_init init = wgi_layer_init(o->init, init_of_width(s->features));
    const wg_shape inputs = WG_SHAPE(rows, wg_value_dim(x, -1)),
                   states = WG_SHAPE(rows, s->features), bias = WG_SHAPE(rows);
    if (!x)
        return NULL;
    wg_value *wi = wgi_layer_parameter(s->g, "wi", x->dtype, inputs, init), *bi = NULL, *bh = NULL;
    wg_value *wh =
        wgi_layer_parameter(s->g, "wh", x->dtype, states, wgi_layer_init(o->wh_init, init));
    if (!o->no_bias)
        bi = wgi_layer_parameter(s->g, "bi", x->dtype, bias, wg_zeros());
    if (!o->no_bias && s->kind == WG_GRU) /* elsewhere the two occur as bi + bh alone */
        bh = wgi_layer_parameter(s->g, "bh", x->dtype, bias, wg_zeros());
    const wg_recurrent_options once = {.h = state_at(o->h, i),
                                       .c = state_at(o->c, i),
                                       .reverse = reverse,
                                       .relu = o->relu,
                                       .lengths = o->lengths};
    wg_value *y = s->kind == WG_RNN    ? wg_rnn(x, wi, wh, bi, bh, &once)
                  : s->kind == WG_LSTM ? wg_lstm(x, wi, wh, bi, bh, &once)
                                       : wg_gru(x, wi, wh, bi, bh, &once);
    s->h[i] = wg_result_of(y, 1);
    s->c[i] = s->kind == WG_LSTM ? wg_result_of(y, 2) : NULL;
    return y;
}

/* Layer i over x [B, T, ...]: [B, T, directions features]. */
static wg_value *read_layer(stack *s, wg_value *x, int64_t i)
{
    if (s->directions == 1)
        return read_once(s, x, i, s->o.direction == WG_READ_BACKWARD);
    static const char *const names[] = {"forward", "backward"};
    wg_value *y[2];
    for (int d = 0; d < 2; d++) {
        wg_scope_push(s->g, "%s", names[d]);
        y[d] = read_once(s, x, 2 * i + d, d == 1);
        wg_scope_pop(s->g);
    }
    return wg_concat(y, 2, -1);
}

static wg_value *read_stack(stack *s, wg_value *x)
{
    for (int64_t i = 0; i < s->layers; i++) {
        if (s->layers > 1)
            wg_scope_push(s->g, "layer%lld", (long long)i);
        if (i > 0 && s->o.dropout > 0)
            x = wg_dropout(x, s->o.dropout);
        x = read_layer(s, x, i);
        if (s->layers > 1)
            wg_scope_pop(s->g);
    }
    return x;
}

static bool has_states_shape(const char *at, const stack *s, const wg_value *x, const char *name,
                             const wg_value *states)
{
    const wg_shape must = WG_SHAPE(s->layers * s->directions, wg_value_dim(x, 0), s->features);
    char is[160], text[160];
    if (!states || wg_shape_equal(&states->shape, &must))
        return true;
    wg_graph_fail(s->g, WG_ESHAPE, at, who,
                  "%s is %s, must be %s: layers times directions, batch, features", name,
                  wg_shape_text(&states->shape, is, sizeof is),
                  wg_shape_text(&must, text, sizeof text));
    return false;
}

/* Numbers within bounds in which nothing overflows. */
static bool is_valid(const char *at, const stack *s, const wg_value *x)
{
    enum { MAX_LAYERS = 1 << 16 };
    const wg_recurrent_layer_options *o = &s->o;
    if (s->kind != WG_RNN && s->kind != WG_LSTM && s->kind != WG_GRU)
        wg_graph_fail(s->g, WG_EINVAL, at, who, "kind %d is not known", (int)s->kind);
    else if (o->direction != WG_READ_FORWARD && o->direction != WG_READ_BACKWARD &&
             o->direction != WG_READ_BOTH)
        wg_graph_fail(s->g, WG_EINVAL, at, who, "direction %d is not known", (int)o->direction);
    else if (s->features <= 0 || s->features > INT64_MAX / 4)
        wg_graph_fail(s->g, WG_EINVAL, at, who, "%lld features, must be at least 1",
                      (long long)s->features);
    else if (s->layers < 1 || s->layers > MAX_LAYERS)
        wg_graph_fail(s->g, WG_EINVAL, at, who, "%lld layers, must be 1 to %d",
                      (long long)s->layers, MAX_LAYERS);
    else if (!(o->dropout >= 0 && o->dropout < 1))
        wg_graph_fail(s->g, WG_EINVAL, at, who, "dropout is %g, must be in [0, 1)", o->dropout);
    else if (o->c && s->kind != WG_LSTM)
        wg_graph_fail(s->g, WG_EINVAL, at, who,
                      "cell states c are given, but the layer is not an LSTM");
    else
        return has_states_shape(at, s, x, "h", o->h) && has_states_shape(at, s, x, "c", o->c);
    return false;
}

/* The layer in its scope; its states are in s->h and s->c. */
static wg_value *build(const char *at, const char *name, stack *s, wg_value *x)
{
    if (!is_valid(at, s, x))
        return NULL;
    size_t states = (size_t)(s->layers * s->directions);
    s->h = wg_graph_alloc(s->g, states * sizeof(wg_value *));
    s->c = wg_graph_alloc(s->g, states * sizeof(wg_value *));
    if (!s->h || !s->c)
        return NULL;
    wg_origin before = wgi_layer_enter(at, s->g, name);
    return wgi_layer_leave(s->g, before, read_stack(s, x));
}

static stack stack_of(wg_recurrent_kind kind, const wg_value *x, int64_t features,
                      const wg_recurrent_layer_options *options)
{
    stack s = {.g = wg_graph_of(x), .kind = kind, .features = features};
    if (options)
        s.o = *options;
    s.layers = s.o.layers ? s.o.layers : 1;
    s.directions = s.o.direction == WG_READ_BOTH ? 2 : 1;
    return s;
}

wg_recurrence(wg_recurrent_layer)(const char *at, const char *name, wg_recurrent_kind kind,
                                  wg_value *x, int64_t features,
                                  const wg_recurrent_layer_options *options)
{
    stack s = stack_of(kind, x, features, options);
    wg_recurrence r = {0};
    if (!s.g || !(r.y = build(at, name, &s, x)))
        return r;
    wg_origin before = wgi_layer_enter(at, s.g, name);
    int states = (int)(s.layers * s.directions);
    r.h = wg_stack(s.h, states, 0);
    r.c = kind == WG_LSTM ? wg_stack(s.c, states, 0) : NULL;
    wgi_layer_leave(s.g, before, r.y);
    return r;
}

wg_value *(wg_lstm_layer)(const char *at, const char *name, wg_value *x, int64_t features)
{
    stack s = stack_of(WG_LSTM, x, features, NULL);
    return s.g ? build(at, name, &s, x) : NULL;
}
