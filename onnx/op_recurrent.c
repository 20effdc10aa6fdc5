/* Recurrent layers: the gates in our order, both directions. */
#include "onnx/ops.h"

#include <string.h>
#include <strings.h>

enum { MAX_GATES = 4, MAX_CURVES = 3 };
enum { WEIGHTS = 1, RECURRENT, BIASES }; /* operands */

/* ---- activations ----------------------------------------------------------------------------- */

typedef wg_value *curve(wg_value *x, double a, double b);

static wg_value *affine(wg_value *x, double a, double b)
{
    return wg_shift(wg_scale(x, a), b);
}

static wg_value *relu(wg_value *x, double a, double b)
{
    (void)a;
    (void)b;
    return wg_relu(x);
}

static wg_value *leaky_relu(wg_value *x, double a, double b)
{
    (void)b;
    return wg_leaky_relu(x, a);
}

static wg_value *thresholded_relu(wg_value *x, double a, double b)
{
    (void)b;
    wg_value *nil = wg_scalar_like(x, 0);
    return wg_where(wg_greater_equal(x, wg_scalar_like(x, a)), x, nil);
}

static wg_value *scaled_tanh(wg_value *x, double a, double b)
{
    return wg_scale(wg_tanh(wg_scale(x, b)), a);
}

static wg_value *sigmoid(wg_value *x, double a, double b)
{
    (void)a;
    (void)b;
    return wg_sigmoid(x);
}

static wg_value *hard_sigmoid(wg_value *x, double a, double b)
{
    return wg_clamp(affine(x, a, b), 0, 1);
}

static wg_value *elu(wg_value *x, double a, double b)
{
    (void)b;
    return wg_elu(x, a);
}

static wg_value *softsign(wg_value *x, double a, double b)
{
    (void)a;
    (void)b;
    return wg_div(x, wg_shift(wg_abs(x), 1));
}

static wg_value *softplus(wg_value *x, double a, double b)
{
    (void)a;
    (void)b;
    return wg_softplus(x);
}

/* An activation of the standard, with the numbers it has by default: `takes` of them. */
typedef struct activation {
    const char *name;
    curve *f;
    int takes;
    double a, b;
} activation;

static const activation activations[] = {
    {"Sigmoid", sigmoid, 0, 0, 0},
    {"Tanh", scaled_tanh, 0, 1, 1},
    {"Relu", relu, 0, 0, 0},
    {"Affine", affine, 2, 1, 0},
    {"LeakyRelu", leaky_relu, 1, 0.01, 0},
    {"ThresholdedRelu", thresholded_relu, 1, 1, 0},
    {"ScaledTanh", scaled_tanh, 2, 1, 1},
    {"HardSigmoid", hard_sigmoid, 2, 0.2, 0.5},
    {"Elu", elu, 1, 1, 0},
    {"Softsign", softsign, 0, 0, 0},
    {"Softplus", softplus, 0, 0, 0},
};

/* ---- layers ---------------------------------------------------------------------------------- */

/* A layer of the file. */
typedef struct layer {
    ox_node *n;
    int gates;
    const int *order; /* gate k of ours is gate order[k] of ONNX */
    int64_t hidden, directions;
    bool batch_first;                /* layout 1: [B, T, C] */
    bool is_usual;                   /* the activations are those of our ops */
    bool coupled;                    /* lstm: the forget gate is 1 - the input gate */
    activation curve[2][MAX_CURVES]; /* by direction */
    wg_value *x;                     /* [B, T, C] */
    wg_value *lengths;               /* [B], or NULL */
} layer;

/* Part `d` of operand i along its first axis, without it; NULL if the operand is absent. */
static wg_value *part(ox_node *n, int i, int64_t d)
{
    wg_value *v = wgi_ox_in(n, i);
    return v ? wg_squeeze(wg_slice(v, 0, d, d + 1, 1), 0) : NULL;
}

/* What is computed of constants alone becomes a constant. */
static wg_value *folded(const layer *l, wg_value *v)
{
    wgi_ox_numbers(l->n->import, v);
    return v;
}

/* Weights W or R [D, G H, C], or biases [D, 2 G H], of direction d, with the gates in our order: a
 * choice of rows of H C numbers, which is one copy of large blocks in each run.  Of biases `part`
 * is 0 for those of x and 1 for those of h. */
static wg_value *gates_of(const layer *l, int operand, int64_t d, int part)
{
    wg_value *v = wgi_ox_in(l->n, operand);
    char text[200];
    if (!v)
        return NULL;
    const int64_t parts = operand == BIASES ? 2 : 1, gates = parts * l->gates;
    const wg_shape *s = &v->shape;
    if (s->rank != (operand == BIASES ? 2 : 3) || s->dim[0] != l->directions ||
        s->dim[1] != gates * l->hidden)
        return wgi_ox_fail(l->n, WG_ESHAPE,
                           "operand %d is %s, must be [%lld,%lld%s: %lld gates of %lld", operand,
                           wg_shape_text(s, text, sizeof text), (long long)l->directions,
                           (long long)(gates * l->hidden), operand == BIASES ? "]" : ",...]",
                           (long long)gates, (long long)l->hidden);
    int64_t row[MAX_GATES], width = operand == BIASES ? 1 : s->dim[2];
    for (int k = 0; k < l->gates; k++)
        row[k] = d * gates + part * l->gates + l->order[k];
    if (gates * l->directions > 1) {
        v = wg_reshape(v, WG_SHAPE(l->directions * gates, l->hidden * width));
        v = wg_take(v, wgi_ox_indices(l->n->graph, row, l->gates), 0);
    }
    v = wg_reshape(v, operand == BIASES ? WG_SHAPE(l->gates * l->hidden)
                                        : WG_SHAPE(l->gates * l->hidden, width));
    return folded(l, v);
}

/* The state before the first step, [B, H], of that operand. */
static wg_value *initial(const layer *l, int i, int64_t d)
{
    wg_value *v = wgi_ox_in(l->n, i);
    if (!v)
        return NULL;
    int axis = l->batch_first ? 1 : 0;
    return folded(l, wg_squeeze(wg_slice(v, axis, d, d + 1, 1), axis));
}

static bool find_activation(ox_node *n, const char *name, activation *out)
{
    for (int i = 0; i < WG_COUNT(activations); i++)
        if (strcasecmp(activations[i].name, name) == 0) {
            *out = activations[i];
            return true;
        }
    return wgi_ox_fail_word(n, "activations",
                            "Sigmoid Tanh Relu Affine LeakyRelu ThresholdedRelu ScaledTanh "
                            "HardSigmoid Elu Softsign Softplus",
                            name);
}

/* Sets the `per` activations of each direction, the usual ones unless the node names others.  Their
 * numbers are listed in that order, for those that take some. */
static bool take_activations(layer *l, const char *const *usual, int per)
{
    ox_node *n = l->n;
    ox_reals alpha, beta;
    size_t next_a = 0, next_b = 0;
    wgi_ox_reals(n, "activation_alpha", &alpha);
    wgi_ox_reals(n, "activation_beta", &beta);
    l->is_usual = true;
    for (int i = 0; i < per * (int)l->directions; i++) {
        const char *name = wgi_ox_word_at(n, "activations", (size_t)i);
        activation *a = &l->curve[i / per][i % per];
        if (!find_activation(n, name ? name : usual[i % per], a))
            return false;
        if (a->takes > 0 && next_a < alpha.n)
            a->a = alpha.at[next_a++];
        if (a->takes > 1 && next_b < beta.n)
            a->b = beta.at[next_b++];
        l->is_usual &= strcasecmp(a->name, usual[i % per]) == 0;
    }
    if (wgi_ox_attribute(n, "clip"))
        wgi_ox_refuse(n, "clip");
    return !wgi_ox_failed(n);
}

static bool begin(layer *l, ox_node *n, int gates, const int *order)
{
    wg_value *x = wgi_ox_in(n, 0), *r = wgi_ox_in(n, 2);
    *l = (layer){.n = n, .gates = gates, .order = order};
    l->batch_first = wgi_ox_int(n, "layout", 0);
    if (!x || !r || x->shape.rank != 3 || r->shape.rank != 3)
        return wgi_ox_fail(n, WG_ESHAPE, "expected operands of 3 axes");
    l->directions = r->shape.dim[0];
    l->hidden = r->shape.dim[2];
    int64_t said = wgi_ox_int(n, "hidden_size", l->hidden);
    if (said != l->hidden)
        return wgi_ox_fail(n, WG_EDATA, "hidden_size is %lld, with recurrent weights of %lld",
                           (long long)said, (long long)l->hidden);
    const char *how = wgi_ox_word(n, "direction", "forward");
    if (l->directions != (strcmp(how, "bidirectional") == 0 ? 2 : 1))
        return wgi_ox_fail(n, WG_ESHAPE, "direction %s, with weights of %lld directions", how,
                           (long long)l->directions);
    l->x = l->batch_first ? x : wg_permute(x, WG_AXES(1, 0, 2));
    l->lengths = wgi_ox_in(n, 4);
    return true;
}

typedef wg_value *layer_builder(const char *at, wg_value *x, wg_value *wi, wg_value *wh,
                                wg_value *bi, wg_value *bh, const wg_recurrent_options *o);

/* Direction d; *last are its states h and c after the last step. */
static wg_value *run(const layer *l, int64_t d, layer_builder *f, wg_recurrent_options o,
                     wg_value *last[2])
{
    ox_node *n = l->n;
    const char *how = wgi_ox_word(n, "direction", "forward");
    o.reverse = d == 1 || strcmp(how, "reverse") == 0;
    o.h = initial(l, 5, d);
    o.lengths = l->lengths;
    wg_value *y = f(NULL, l->x, gates_of(l, WEIGHTS, d, 0), gates_of(l, RECURRENT, d, 0),
                    gates_of(l, BIASES, d, 0), gates_of(l, BIASES, d, 1), &o);
    last[0] = wg_result_of(y, 1);
    last[1] = y && y->node->n_out > 2 ? wg_result_of(y, 2) : NULL;
    return y;
}

/* The results of the directions, [B, T, H] and [B, H] each, as ONNX has them: [T, D, B, H] and
 * [D, B, H], or with layout 1 [B, T, D, H] and [B, D, H]. */
static wg_value *finish(const layer *l, wg_value **y, wg_value *(*last)[2])
{
    size_t d = (size_t)l->directions;
    for (int s = 0; s < 2; s++) {
        wg_value *all[2] = {last[0][s], d > 1 ? last[1][s] : NULL};
        if (all[0])
            wgi_ox_set(l->n, 1 + s, wg_stack(all, d, l->batch_first ? 1 : 0));
    }
    wg_value *stacked = wg_stack(y, d, 2);
    return l->batch_first ? stacked : wg_permute(stacked, WG_AXES(1, 2, 0, 3));
}

static wg_value *both(const layer *l, layer_builder *f, const wg_recurrent_options *o, int c)
{
    wg_value *y[2] = {NULL, NULL}, *last[2][2] = {{NULL, NULL}, {NULL, NULL}};
    for (int64_t d = 0; d < l->directions; d++) {
        wg_recurrent_options own = *o;
        own.c = c ? initial(l, c, d) : NULL;
        y[d] = run(l, d, f, own, last[d]);
    }
    return finish(l, y, last);
}

/* ---- layers step by step --------------------------------------------------------------------- */

/* A direction of a layer that has no op of ours, and the states before its next step. */
typedef struct cell {
    const layer *l;
    const activation *curve;
    wg_value *wh, *bias, *peepholes; /* recurrent weights and bias, in our order; lstm: [3 H] */
    wg_value *h, *c;
} cell;

/* h of the next step from the step's x wi' + bi; sets *c. */
typedef wg_value *step(const cell *s, wg_value *x, wg_value **c);

/* Sequences that have ended keep their states and give 0. */
static wg_value *advance(cell *s, wg_value *x, int64_t t, wg_value *nil, step *f)
{
    wg_value *lengths = s->l->lengths, *c = s->c, *h = f(s, x, &c);
    if (!lengths) {
        s->c = c;
        return s->h = h;
    }
    wg_value *on = wg_greater(lengths, wg_scalar_like(lengths, (double)t));
    on = wg_reshape(on, WG_SHAPE(wg_value_count(lengths), 1));
    s->h = wg_where(on, h, s->h);
    s->c = c ? wg_where(on, c, s->c) : NULL;
    return wg_where(on, h, nil);
}

static wg_value *unroll(cell *s, int64_t d, step *f)
{
    const layer *l = s->l;
    ox_node *n = l->n;
    wg_value *x =
        wg_linear(l->x, gates_of(l, WEIGHTS, d, 0), gates_of(l, BIASES, d, 0), WG_ACTIVATION_NONE);
    int64_t count = l->x->shape.dim[1];
    bool reverse = d == 1 || strcmp(wgi_ox_word(n, "direction", "forward"), "reverse") == 0;
    wg_value **y = wgi_ox_alloc(n, ((size_t)count + 1) * sizeof *y);
    wg_value *nil = wg_fill(n->graph, l->x->dtype, WG_SHAPE(l->x->shape.dim[0], l->hidden), 0);
    s->wh = gates_of(l, RECURRENT, d, 0);
    s->bias = gates_of(l, BIASES, d, 1);
    s->h = wgi_ox_has(n, 5) ? initial(l, 5, d) : nil;
    s->c = l->gates < 4 ? NULL : wgi_ox_has(n, 6) ? initial(l, 6, d) : nil;
    for (int64_t k = 0; y && k < count; k++) {
        int64_t t = reverse ? count - 1 - k : k;
        y[t] = advance(s, wg_squeeze(wg_slice(x, 1, t, t + 1, 1), 1), t, nil, f);
    }
    return y ? wg_stack(y, (size_t)count, 1) : NULL;
}

static wg_value *step_by_step(const layer *l, step *f)
{
    enum { MOST = 4096 };
    wg_value *y[2] = {NULL, NULL}, *last[2][2] = {{NULL, NULL}, {NULL, NULL}};
    if (!l->x || l->x->shape.dim[1] < 1 || l->x->shape.dim[1] > MOST)
        return wgi_ox_refuse(l->n,
                             "what is unrolled (peepholes, linear_before_reset = 0, other "
                             "activations), with no steps or more than %d",
                             MOST);
    for (int64_t d = 0; d < l->directions; d++) {
        cell s = {.l = l, .curve = l->curve[d], .peepholes = part(l->n, 7, d)};
        y[d] = unroll(&s, d, f);
        last[d][0] = s.h;
        last[d][1] = s.c;
    }
    return finish(l, y, last);
}

/* Rows of gate k, or numbers of its part of the last axis. */
static wg_value *gate(const cell *s, wg_value *v, int axis, int k)
{
    return v ? wg_slice(v, axis, k * s->l->hidden, (k + 1) * s->l->hidden, 1) : NULL;
}

/* Activation k of the direction. */
static wg_value *applied(const cell *s, int k, wg_value *x)
{
    return x ? s->curve[k].f(x, s->curve[k].a, s->curve[k].b) : NULL;
}

/* ---- rnn ------------------------------------------------------------------------------------- */

/* h' = f(x + W h + b) */
static wg_value *rnn_step(const cell *s, wg_value *x, wg_value **c)
{
    *c = NULL;
    return applied(s, 0, wg_add(x, wg_linear(s->h, s->wh, s->bias, WG_ACTIVATION_NONE)));
}

wg_value *wgi_ox_rnn(ox_node *n)
{
    static const int order[] = {0};
    static const char *const usual[] = {"Tanh"};
    layer l;
    if (!begin(&l, n, 1, order) || !take_activations(&l, usual, 1))
        return NULL;
    bool relus = l.curve[0][0].f == relu && (l.directions == 1 || l.curve[1][0].f == relu);
    const wg_recurrent_options o = {.relu = relus};
    return l.is_usual || relus ? both(&l, (wg_rnn), &o, 0) : step_by_step(&l, rnn_step);
}

/* ---- lstm ------------------------------------------------------------------------------------ */

/* What a gate sees, with the peephole of its number to c if there are some. */
static wg_value *peeping(const cell *s, wg_value *a, int number, int peephole, wg_value *c)
{
    wg_value *x = gate(s, a, -1, number);
    return s->peepholes ? wg_add(x, wg_mul(gate(s, s->peepholes, 0, peephole), c)) : x;
}

/* With activations f, g and h, and peepholes p (i, o, f) or none:
 *      i = f(a_i + p_i c),  f = f(a_f + p_f c),  c' = f c + i g(a_g),  o = f(a_o + p_o c'),
 *      h' = o h(c') */
static wg_value *lstm_step(const cell *s, wg_value *x, wg_value **c)
{
    wg_value *a = wg_add(x, wg_linear(s->h, s->wh, s->bias, WG_ACTIVATION_NONE));
    wg_value *i = applied(s, 0, peeping(s, a, 0, 0, *c));
    wg_value *f = s->l->coupled ? wg_shift(wg_neg(i), 1) : applied(s, 0, peeping(s, a, 1, 2, *c));
    *c = wg_add(wg_mul(f, *c), wg_mul(i, applied(s, 1, gate(s, a, -1, 2))));
    return wg_mul(applied(s, 0, peeping(s, a, 3, 1, *c)), applied(s, 2, *c));
}

/* ONNX has the gates i, o, f, c; ours are i, f, g = c, o. */
wg_value *wgi_ox_lstm(ox_node *n)
{
    static const int order[] = {0, 2, 3, 1};
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    layer l;
    const wg_recurrent_options o = {0};
    if (!begin(&l, n, 4, order) || !take_activations(&l, usual, 3))
        return NULL;
    l.coupled = wgi_ox_int(n, "input_forget", 0) != 0;
    return l.is_usual && !l.coupled && !wgi_ox_has(n, 7) ? both(&l, (wg_lstm), &o, 6)
                                                         : step_by_step(&l, lstm_step);
}

/* ---- gru ------------------------------------------------------------------------------------- */

/* Row block k of the recurrent weights times h, with its bias. */
static wg_value *recurrent(const cell *s, wg_value *h, int k)
{
    return wg_linear(h, gate(s, s->wh, 0, k), gate(s, s->bias, 0, k), WG_ACTIVATION_NONE);
}

/* n + z (h - n), for the reset gate r and the update gate z, where n is
 *      g(n_x + W (r h) + b), or with linear_before_reset g(n_x + r (W h + b)) */
static wg_value *gru_step(const cell *s, wg_value *x, wg_value **c)
{
    bool late = wgi_ox_int(s->l->n, "linear_before_reset", 0) != 0;
    wg_value *r = applied(s, 0, wg_add(gate(s, x, -1, 0), recurrent(s, s->h, 0))),
             *z = applied(s, 0, wg_add(gate(s, x, -1, 1), recurrent(s, s->h, 1)));
    wg_value *n = late ? wg_mul(r, recurrent(s, s->h, 2)) : recurrent(s, wg_mul(r, s->h), 2);
    *c = NULL;
    n = applied(s, 1, wg_add(gate(s, x, -1, 2), n));
    return wg_add(n, wg_mul(z, wg_sub(s->h, n)));
}

/* ONNX has the gates z, r, h; ours are r, z, n = h. */
wg_value *wgi_ox_gru(ox_node *n)
{
    static const int order[] = {1, 0, 2};
    static const char *const usual[] = {"Sigmoid", "Tanh"};
    layer l;
    const wg_recurrent_options o = {0};
    if (!begin(&l, n, 3, order) || !take_activations(&l, usual, 2))
        return NULL;
    return l.is_usual && wgi_ox_int(n, "linear_before_reset", 0) ? both(&l, (wg_gru), &o, 0)
                                                                 : step_by_step(&l, gru_step);
}
