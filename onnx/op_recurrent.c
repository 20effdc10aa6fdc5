/* Recurrent layers: the gates in our order, both directions. */
#include "onnx/ops.h"

#include <string.h>
#include <strings.h>

enum { MAX_GATES = 4 };

/* A layer of the file. */
typedef struct layer {
    ox_node *n;
    int gates;
    const int *order; /* gate k of ours is gate order[k] of ONNX */
    int64_t hidden, directions;
    bool batch_first;  /* layout 1: [B, T, C] */
    wg_value *x;       /* [B, T, C] */
    wg_value *lengths; /* [B], or NULL */
} layer;

/* Part `d` of operand i along its first axis, without it; NULL if the operand is absent. */
static wg_value *part(ox_node *n, int i, int64_t d)
{
    wg_value *v = wgi_ox_in(n, i);
    return v ? wg_squeeze(wg_slice(v, 0, d, d + 1, 1), 0) : NULL;
}

/* Rows of the gates in our order: `from` is where they begin in v. */
static wg_value *gates_of(const layer *l, wg_value *v, int64_t from)
{
    wg_value *part[MAX_GATES];
    for (int k = 0; v && k < l->gates; k++) {
        int64_t at = from + l->order[k] * l->hidden;
        part[k] = wg_slice(v, 0, at, at + l->hidden, 1);
    }
    return v ? wg_concat(part, (size_t)l->gates, 0) : NULL;
}

/* The state before the first step, [B, H], of that operand. */
static wg_value *initial(const layer *l, int i, int64_t d)
{
    wg_value *v = wgi_ox_in(l->n, i);
    if (!v)
        return NULL;
    int axis = l->batch_first ? 1 : 0;
    return wg_squeeze(wg_slice(v, axis, d, d + 1, 1), axis);
}

/* Activations other than the usual ones are refused. */
static bool check_activations(ox_node *n, const char *const *usual, int per, int64_t directions,
                              bool *relu)
{
    const char *name;
    *relu = false;
    for (size_t i = 0; (name = wgi_ox_word_at(n, "activations", i)); i++) {
        bool is_relu = per == 1 && strcasecmp(name, "Relu") == 0;
        if (i < (size_t)(per * directions) && strcasecmp(name, usual[i % (size_t)per]) != 0 &&
            !is_relu)
            wgi_ox_refuse(n, "activation %s", name);
        if (i && is_relu != *relu && per == 1)
            wgi_ox_refuse(n, "activations that differ between directions");
        *relu |= is_relu && per == 1;
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
    wg_value *b = part(n, 3, d);
    const char *how = wgi_ox_word(n, "direction", "forward");
    o.reverse = d == 1 || strcmp(how, "reverse") == 0;
    o.h = initial(l, 5, d);
    o.lengths = l->lengths;
    wg_value *y = f(NULL, l->x, gates_of(l, part(n, 1, d), 0), gates_of(l, part(n, 2, d), 0),
                    gates_of(l, b, 0), gates_of(l, b, l->gates * l->hidden), &o);
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

wg_value *wgi_ox_rnn(ox_node *n)
{
    static const int order[] = {0};
    static const char *const usual[] = {"Tanh"};
    layer l;
    wg_recurrent_options o = {0};
    if (!begin(&l, n, 1, order) || !check_activations(n, usual, 1, l.directions, &o.relu))
        return NULL;
    return both(&l, (wg_rnn), &o, 0);
}

/* ---- layers step by step --------------------------------------------------------------------- */

/* A direction of a layer that has no op of ours, and the states before its next step. */
typedef struct cell {
    const layer *l;
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
    wg_value *b = part(n, 3, d);
    wg_value *x =
        wg_linear(l->x, gates_of(l, part(n, 1, d), 0), gates_of(l, b, 0), WG_ACTIVATION_NONE);
    int64_t count = l->x->shape.dim[1];
    bool reverse = d == 1 || strcmp(wgi_ox_word(n, "direction", "forward"), "reverse") == 0;
    wg_value **y = wgi_ox_alloc(n, ((size_t)count + 1) * sizeof *y);
    wg_value *nil = wg_fill(n->graph, l->x->dtype, WG_SHAPE(l->x->shape.dim[0], l->hidden), 0);
    s->wh = gates_of(l, part(n, 2, d), 0);
    s->bias = gates_of(l, b, l->gates * l->hidden);
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
                             "peepholes, or linear_before_reset = 0, with no steps or more "
                             "than %d",
                             MOST);
    for (int64_t d = 0; d < l->directions; d++) {
        cell s = {.l = l, .peepholes = part(l->n, 7, d)};
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

/* ---- lstm ------------------------------------------------------------------------------------ */

/* With peepholes p (i, o, f):
 *      i = s(a_i + p_i c),  f = s(a_f + p_f c),  c' = f c + i tanh(a_g),  o = s(a_o + p_o c') */
static wg_value *peephole_step(const cell *s, wg_value *x, wg_value **c)
{
    wg_value *p = s->peepholes;
    wg_value *a = wg_add(x, wg_linear(s->h, s->wh, s->bias, WG_ACTIVATION_NONE));
    wg_value *i = wg_sigmoid(wg_add(gate(s, a, -1, 0), wg_mul(gate(s, p, 0, 0), *c)));
    wg_value *f = wg_sigmoid(wg_add(gate(s, a, -1, 1), wg_mul(gate(s, p, 0, 2), *c)));
    *c = wg_add(wg_mul(f, *c), wg_mul(i, wg_tanh(gate(s, a, -1, 2))));
    wg_value *o = wg_sigmoid(wg_add(gate(s, a, -1, 3), wg_mul(gate(s, p, 0, 1), *c)));
    return wg_mul(o, wg_tanh(*c));
}

/* ONNX has the gates i, o, f, c; ours are i, f, g = c, o. */
wg_value *wgi_ox_lstm(ox_node *n)
{
    static const int order[] = {0, 2, 3, 1};
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    layer l;
    wg_recurrent_options o = {0};
    if (!begin(&l, n, 4, order) || !check_activations(n, usual, 3, l.directions, &o.relu))
        return NULL;
    if (wgi_ox_int(n, "input_forget", 0))
        return wgi_ox_refuse(n, "input_forget");
    return wgi_ox_has(n, 7) ? step_by_step(&l, peephole_step) : both(&l, (wg_lstm), &o, 6);
}

/* ---- gru ------------------------------------------------------------------------------------- */

/* The reset gate is applied to h before the product:
 *      n = tanh(n_x + W (r h) + b),   h' = (1 - z) n + z h */
static wg_value *reset_first_step(const cell *s, wg_value *x, wg_value **c)
{
    wg_value *a[3];
    *c = NULL;
    for (int k = 0; k < 2; k++) {
        a[k] = wg_linear(s->h, gate(s, s->wh, 0, k), gate(s, s->bias, 0, k), WG_ACTIVATION_NONE);
        a[k] = wg_sigmoid(wg_add(gate(s, x, -1, k), a[k]));
    }
    a[2] = wg_linear(wg_mul(a[0], s->h), gate(s, s->wh, 0, 2), gate(s, s->bias, 0, 2),
                     WG_ACTIVATION_NONE);
    wg_value *now = wg_tanh(wg_add(gate(s, x, -1, 2), a[2]));
    return wg_add(now, wg_mul(a[1], wg_sub(s->h, now)));
}

/* ONNX has the gates z, r, h; ours are r, z, n = h. */
wg_value *wgi_ox_gru(ox_node *n)
{
    static const int order[] = {1, 0, 2};
    static const char *const usual[] = {"Sigmoid", "Tanh"};
    layer l;
    wg_recurrent_options o = {0};
    if (!begin(&l, n, 3, order) || !check_activations(n, usual, 2, l.directions, &o.relu))
        return NULL;
    return wgi_ox_int(n, "linear_before_reset", 0) ? both(&l, (wg_gru), &o, 0)
                                                   : step_by_step(&l, reset_first_step);
}
