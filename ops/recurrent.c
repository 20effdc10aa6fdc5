/* Composites: one step of each cell is written down once (recurrent_cells.c) and serves the cell
 * and the sequence.  A sequence multiplies all its inputs with wi at once; for the rest, rnn is
 * unrolled over time, and lstm and gru are one op each (recurrent_steps.c).  Past the end of a
 * sequence that is shorter than the others its states do not change, so the reverse direction
 * starts at each sequence's own end. */
#include "ops/ops_internal.h"
#include "ops/recurrent_cells.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Where wi, wh, bi, bh and where the states begin among the operands; x is the first. */
typedef struct places {
    int wi, state, lengths;
} places;

static places in_cell(const wgi_cell *c)
{
    return (places){.wi = 1 + c->states, .state = 1, .lengths = INT32_MAX};
}

static places in_sequence(const wgi_cell *c)
{
    return (places){.wi = 1, .state = 5, .lengths = 5 + c->states};
}

/* The sizes of wi, wh, biases and states, whose ranks are right. */
static bool need_sizes(wg_node *n, const wgi_cell *c, places at)
{
    const wg_shape *x = &n->in[0]->shape, *wh = &n->in[at.wi + 1]->shape;
    int64_t rows = wh->dim[0], units = wh->dim[1];
    if (rows % c->gates || rows / c->gates != units)
        return wg_fail(
            n, WG_ESHAPE,
            "wh has %lld rows and %lld columns, must have %d times as many rows as columns",
            (long long)rows, (long long)units, c->gates);
    if (!wg_need_dim(n, at.wi, 0, rows) || !wg_need_dim(n, at.wi, 1, x->dim[x->rank - 1]))
        return false;
    for (int i = at.wi + 2; i < at.wi + 4 && i < n->n_in; i++)
        if (!wg_need_dim(n, i, 0, rows))
            return false;
    for (int i = at.state; i < at.state + c->states && i < n->n_in; i++)
        if (!wg_need_dim(n, i, 0, x->dim[0]) || !wg_need_dim(n, i, 1, units))
            return false;
    return true;
}

/* Checks everything but x's rank. */
static bool need_operands(wg_node *n, const wgi_cell *c, places at)
{
    for (int i = 1; i < n->n_in && i < at.lengths; i++) {
        int rank = i == at.wi + 2 || i == at.wi + 3 ? 1 : 2;
        if (!wg_need_same_dtype(n, 0, i) || !wg_need_rank(n, i, rank, rank))
            return false;
    }
    if (!need_sizes(n, c, at))
        return false;
    return at.lengths >= n->n_in ||
           (wg_need_int(n, at.lengths) && wg_need_rank(n, at.lengths, 1, 1) &&
            wg_need_dim(n, at.lengths, 0, n->in[0]->shape.dim[0]));
}

static bool set_states(wg_node *n, const wgi_cell *c, places at, int first)
{
    wg_shape s = WG_SHAPE(n->in[0]->shape.dim[0], n->in[at.wi + 1]->shape.dim[1]);
    for (int i = 0; i < c->states; i++)
        if (!wg_set_result(n, first + i, n->in[0]->dtype, s))
            return false;
    return true;
}

static bool infer_cell(wg_node *n, const wgi_cell *c)
{
    return wg_need_float(n, 0) && wg_need_rank(n, 0, 2, 2) && need_operands(n, c, in_cell(c)) &&
           set_states(n, c, in_cell(c), 0);
}

static bool infer_sequence(wg_node *n, const wgi_cell *c)
{
    const wg_shape *x = &n->in[0]->shape;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 3, 3) || !need_operands(n, c, in_sequence(c)))
        return false;
    if (x->dim[1] > INT32_MAX)
        return wg_fail(n, WG_ESHAPE, "%lld steps, must be at most %d", (long long)x->dim[1],
                       INT32_MAX);
    return wg_set_result(n, 0, n->in[0]->dtype,
                         WG_SHAPE(x->dim[0], x->dim[1], n->in[2]->shape.dim[1])) &&
           set_states(n, c, in_sequence(c), 1);
}

/* ---- expansions ------------------------------------------------------------------------------ */

static wg_value *operand(const wg_node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

/* The lengths of the T steps of a sequence, checked by the run; NULL for none. */
static wg_value *lengths_of(const wg_node *n, const wgi_cell *c)
{
    wg_value *lengths = operand(n, in_sequence(c).lengths);
    return lengths ? wg_check_lengths(lengths, n->in[0]->shape.dim[1], n->op->name) : NULL;
}

/* wi x + bi for x[..., C]; takes bh along and sets it to NULL where the cell allows. */
static wg_value *project(wg_node *n, wg_value *x, const wgi_cell *c, places at, wg_value **bh)
{
    wg_value *bi = operand(n, at.wi + 2);
    *bh = operand(n, at.wi + 3);
    if (*bh && c->one_bias) {
        bi = wg_add(bi, *bh);
        *bh = NULL;
    }
    return wg_linear(x, n->in[at.wi], bi, WG_ACTIVATION_NONE);
}

static void expand_cell(wg_node *n, wg_value **y, const wgi_cell *c)
{
    places at = in_cell(c);
    wg_value *bh, *p = project(n, n->in[0], c, at, &bh);
    for (int i = 0; i < c->states; i++)
        y[i] = n->in[at.state + i];
    c->step(n->attrs, p, n->in[at.wi + 1], bh, y, NULL);
}

/* x [B, T, C] where t < lengths[b], else 0, which also removes NaN; all of x without lengths. */
static wg_value *within(wg_value *x, wg_value *lengths)
{
    if (!lengths || !x)
        return x;
    const int64_t *d = x->shape.dim;
    wg_value *t = wg_iota(wg_graph_of(x), lengths->dtype, WG_SHAPE(1, d[1], 1), 1, 0, 1);
    wg_value *seen = wg_less(t, wg_reshape(lengths, WG_SHAPE(d[0], 1, 1)));
    return wg_where(seen, x, wg_scalar_like(x, 0));
}

/* The steps of rnn over p = wi x + bi [B, T, H] in their order; h[t] is the state after step t. */
static void run_steps(wg_node *n, wg_value *p, wg_value *lengths, wg_value **state, wg_value **h)
{
    const wg_recurrent_attrs *a = n->attrs;
    int steps = (int)p->shape.dim[1];
    wg_value *each = wg_split(p, 1, NULL, steps);
    for (int k = 0; each && state[0] && k < steps; k++) {
        int t = a->reverse ? steps - 1 - k : k;
        wg_value *before = state[0];
        wgi_rnn.step(a, wgi_step_of(each, t), n->in[2], NULL, state, NULL);
        state[0] = wgi_hold(lengths, t, state[0], before);
        h[t] = state[0];
    }
}

static void expand_rnn_steps(wg_node *n, wg_value *p, wg_value *lengths, wg_value **state,
                             wg_value **y)
{
    int steps = (int)p->shape.dim[1];
    wg_value **h = wg_graph_alloc(n->graph, sizeof *h * (size_t)steps);
    if (!h)
        return;
    run_steps(n, p, lengths, state, h);
    y[0] = within(wg_stack(h, steps, 1), lengths);
    y[1] = state[0];
}

/* lstm and gru by lstm_steps and gru_steps (recurrent_steps.c), whose last results are the states
 * after each step. */
static void expand_gated_steps(wg_node *n, const wgi_cell *c, wg_value *p, wg_value *bh,
                               wg_value *lengths, wg_value **state, wg_value **y)
{
    const wg_recurrent_attrs *a = n->attrs;
    int64_t last = a->reverse ? 0 : p->shape.dim[1] - 1;
    wg_value *of_lstm[] = {p, n->in[2], state[0], state[1], lengths};
    wg_value *of_gru[] = {p, n->in[2], bh, state[0], lengths};
    bool is_lstm = c == &wgi_lstm;
    if (!bh)
        of_gru[2] = wg_fill(n->graph, p->dtype, WG_SHAPE(p->shape.dim[2]), 0);
    wg_node *steps = wg_apply(WG_HERE, n->graph, is_lstm ? &wg_op_lstm_steps : &wg_op_gru_steps, a,
                              is_lstm ? of_lstm : of_gru, 5);
    if (!steps)
        return;
    wg_value **states = steps->out + steps->n_out - c->states;
    y[0] = within(states[0], lengths);
    for (int i = 0; i < c->states; i++)
        y[1 + i] = wg_squeeze(wg_slice(states[i], 1, last, last + 1, 1), 1);
}

static void expand_sequence(wg_node *n, wg_value **y, const wgi_cell *c)
{
    wg_value *lengths = lengths_of(n, c), *state[WGI_MAX_STATES] = {NULL}, *bh;
    wg_value *p = project(n, within(n->in[0], lengths), c, in_sequence(c), &bh);
    if (!p)
        return;
    for (int i = 0; i < c->states; i++) {
        state[i] = operand(n, in_sequence(c).state + i);
        if (!state[i])
            state[i] = wg_zeros_like(n->out[1 + i]);
        y[1 + i] = state[i];
    }
    if (n->out[0]->shape.dim[1] == 0)
        y[0] = wg_zeros_like(n->out[0]);
    else if (c == &wgi_rnn)
        expand_rnn_steps(n, p, lengths, state, y);
    else
        expand_gated_steps(n, c, p, bh, lengths, state, y);
}

/* the two products of each step */
static double flops_of(const wg_node *n, places at)
{
    const wg_shape *x = &n->in[0]->shape;
    double rows = 1;
    for (int i = 0; i < x->rank - 1; i++)
        rows *= (double)x->dim[i];
    return 2 * rows * (double)(wg_value_count(n->in[at.wi]) + wg_value_count(n->in[at.wi + 1]));
}

static double flops_sequence(const wg_node *n)
{
    return flops_of(n, in_sequence(&wgi_rnn));
}

static double flops_cell(const wg_node *n)
{
    return flops_of(n, (places){.wi = 1 + n->n_out, .state = 1});
}

/* ---- the ops --------------------------------------------------------------------------------- */

/* clang-format off */
static const wg_attr sequence_attrs[] = {
    WG_ATTR(BOOL, wg_recurrent_attrs, reverse),
};
static const wg_attr rnn_attrs[] = {
    WG_ATTR(BOOL, wg_recurrent_attrs, reverse), WG_ATTR(BOOL, wg_recurrent_attrs, relu),
};
static const wg_attr rnn_cell_attrs[] = {WG_ATTR(BOOL, wg_recurrent_attrs, relu)};

#define F(...) WG_FLOATS(-1, 1, __VA_ARGS__)
#define POSITIVE(...) WG_FLOATS(0.1, 1, __VA_ARGS__) /* keeps relu away from its kink */
#define FORWARD &(const wg_recurrent_attrs){false, false}
#define REVERSE &(const wg_recurrent_attrs){true, false}
#define RELU &(const wg_recurrent_attrs){true, true}
#define WEIGHTS(gates, C, H) F(2, (gates) * (H), C), F(2, (gates) * (H), H)
#define LENGTHS(lo, hi) WG_INTS(lo, hi, 1, 2)
#define BIASES(gates, H) F(1, (gates) * (H)), F(1, (gates) * (H))

static const wg_sample rnn_cell_samples[] = {
    {"no bias", FORWARD, 4, {F(2, 2, 3), F(2, 2, 2), WEIGHTS(1, 3, 2)}},
    {"biases", FORWARD, 6, {F(2, 2, 3), F(2, 2, 2), WEIGHTS(1, 3, 2), BIASES(1, 2)}},
    {"relu", &(const wg_recurrent_attrs){false, true}, 4,
     {POSITIVE(2, 1, 2), POSITIVE(2, 1, 2), POSITIVE(2, 2, 2), POSITIVE(2, 2, 2)}},
};
static const wg_sample lstm_cell_samples[] = {
    {"no bias", FORWARD, 5, {F(2, 2, 3), F(2, 2, 2), F(2, 2, 2), WEIGHTS(4, 3, 2)}},
    {"biases", FORWARD, 7, {F(2, 2, 1), F(2, 2, 2), F(2, 2, 2), WEIGHTS(4, 1, 2), BIASES(4, 2)}},
};
static const wg_sample gru_cell_samples[] = {
    {"no bias", FORWARD, 4, {F(2, 2, 3), F(2, 2, 2), WEIGHTS(3, 3, 2)}},
    {"biases", FORWARD, 6, {F(2, 2, 1), F(2, 2, 2), WEIGHTS(3, 1, 2), BIASES(3, 2)}},
};
static const wg_sample rnn_samples[] = {
    {"no bias", FORWARD, 3, {F(3, 2, 3, 2), WEIGHTS(1, 2, 2)}},
    {"relu, reverse, biases, state", RELU, 6,
     {POSITIVE(3, 1, 2, 2), POSITIVE(2, 2, 2), POSITIVE(2, 2, 2), POSITIVE(1, 2), POSITIVE(1, 2),
      POSITIVE(2, 1, 2)}},
    {"no steps", FORWARD, 6, {F(3, 2, 0, 3), WEIGHTS(1, 3, 2), BIASES(1, 2), F(2, 2, 2)}},
    {"lengths", FORWARD, 7,
     {F(3, 2, 3, 2), WEIGHTS(1, 2, 2), BIASES(1, 2), F(2, 2, 2), LENGTHS(0, 4)}},
};
static const wg_sample lstm_samples[] = {
    {"no bias", FORWARD, 3, {F(3, 2, 3, 2), WEIGHTS(4, 2, 1)}},
    {"reverse, biases, states", REVERSE, 7,
     {F(3, 2, 2, 1), WEIGHTS(4, 1, 2), BIASES(4, 2), F(2, 2, 2), F(2, 2, 2)}},
    {"reverse, lengths", REVERSE, 8,
     {F(3, 2, 3, 1), WEIGHTS(4, 1, 1), BIASES(4, 1), F(2, 2, 1), F(2, 2, 1), LENGTHS(1, 4)}},
};
static const wg_sample gru_samples[] = {
    {"no bias", FORWARD, 3, {F(3, 2, 3, 2), WEIGHTS(3, 2, 1)}},
    {"reverse, biases, state", REVERSE, 6,
     {F(3, 2, 2, 1), WEIGHTS(3, 1, 2), BIASES(3, 2), F(2, 2, 2)}},
    {"lengths", FORWARD, 7,
     {F(3, 2, 3, 1), WEIGHTS(3, 1, 1), BIASES(3, 1), F(2, 2, 1), LENGTHS(0, 3)}},
};

#define RECURRENT(kind, which, words, outs)                                                        \
    .family = WG_FAMILY_RECURRENT, .operands = words, .results = outs,                             \
    .infer = infer_##which, .expand = expand_##which, .flops = flops_##kind,                       \
    WG_SAMPLES(which##_samples)

#define RULES(kind, which, c)                                                                      \
    static bool infer_##which(wg_node *n)                                                          \
    {                                                                                              \
        return infer_##kind(n, &c);                                                                \
    }                                                                                              \
    static void expand_##which(wg_node *n, wg_value **y)                                           \
    {                                                                                              \
        expand_##kind(n, y, &c);                                                                   \
    }
RULES(cell, rnn_cell, wgi_rnn)
RULES(cell, lstm_cell, wgi_lstm)
RULES(cell, gru_cell, wgi_gru)
RULES(sequence, rnn, wgi_rnn)
RULES(sequence, lstm, wgi_lstm)
RULES(sequence, gru, wgi_gru)

const wg_op wg_op_rnn_cell = {
    .name = "rnn_cell", .formula = "h' = tanh(wi x + bi + wh h + bh)",
    RECURRENT(cell, rnn_cell, "x h wi wh bi? bh?", "h"),
    WG_ATTRS(wg_recurrent_attrs, rnn_cell_attrs),
};
const wg_op wg_op_lstm_cell = {
    .name = "lstm_cell",
    .formula = "c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c'); i, f, g, o = wi x + bi + wh h + bh",
    RECURRENT(cell, lstm_cell, "x h c wi wh bi? bh?", "h c"),
    .attrs_size = sizeof(wg_recurrent_attrs),
};
const wg_op wg_op_gru_cell = {
    .name = "gru_cell",
    .formula = "h' = (1 - z) tanh(n_x + r n_h) + z h; r, z, n from wi x + bi and wh h + bh",
    RECURRENT(cell, gru_cell, "x h wi wh bi? bh?", "h"),
    .attrs_size = sizeof(wg_recurrent_attrs),
};
const wg_op wg_op_rnn = {
    .name = "rnn", .formula = "y[t], h = rnn_cell(x[t], h)",
    RECURRENT(sequence, rnn, "x wi wh bi? bh? h? lengths?", "y h"),
    WG_ATTRS(wg_recurrent_attrs, rnn_attrs),
};
const wg_op wg_op_lstm = {
    .name = "lstm", .formula = "y[t], h, c = lstm_cell(x[t], h, c)",
    RECURRENT(sequence, lstm, "x wi wh bi? bh? h? c? lengths?", "y h c"),
    WG_ATTRS(wg_recurrent_attrs, sequence_attrs),
};
const wg_op wg_op_gru = {
    .name = "gru", .formula = "y[t], h = gru_cell(x[t], h)",
    RECURRENT(sequence, gru, "x wi wh bi? bh? h? lengths?", "y h"),
    WG_ATTRS(wg_recurrent_attrs, sequence_attrs),
};
/* clang-format on */

/* ---- builders -------------------------------------------------------------------------------- */

/* Only trailing operands may be absent: zeros take the place of earlier ones. */
static wg_value *apply(const char *at, const wg_op *op, const wg_recurrent_attrs *a, wg_value **in,
                       int n_in, places where)
{
    for (int i = 0; i <= where.wi + 1; i++)
        if (!in[i])
            return NULL;
    while (n_in > 0 && !in[n_in - 1])
        n_in--;
    wg_value *x = in[0], *wh = in[where.wi + 1];
    for (int i = 0; i < n_in; i++) {
        bool bias = i == where.wi + 2 || i == where.wi + 3;
        if (!in[i])
            in[i] = (wg_fill)(at, wg_graph_of(x), x->dtype,
                              bias ? WG_SHAPE(wh->shape.dim[0])
                                   : WG_SHAPE(x->shape.dim[0], wh->shape.dim[1]),
                              0);
    }
    return wgi_apply_list(at, op, a, in, n_in);
}

wg_value *(wg_rnn_cell)(const char *at, wg_value *x, wg_value *h, wg_value *wi, wg_value *wh,
                        wg_value *bi, wg_value *bh, wg_rnn_activation activation)
{
    return apply(at, &wg_op_rnn_cell, &(wg_recurrent_attrs){.relu = activation == WG_RNN_RELU},
                 (wg_value *[]){x, h, wi, wh, bi, bh}, 6, in_cell(&wgi_rnn));
}

wg_value *(wg_lstm_cell)(const char *at, wg_value *x, wg_value *h, wg_value *c, wg_value *wi,
                         wg_value *wh, wg_value *bi, wg_value *bh)
{
    return apply(at, &wg_op_lstm_cell, &(wg_recurrent_attrs){false, false},
                 (wg_value *[]){x, h, c, wi, wh, bi, bh}, 7, in_cell(&wgi_lstm));
}

wg_value *(wg_gru_cell)(const char *at, wg_value *x, wg_value *h, wg_value *wi, wg_value *wh,
                        wg_value *bi, wg_value *bh)
{
    return apply(at, &wg_op_gru_cell, &(wg_recurrent_attrs){false, false},
                 (wg_value *[]){x, h, wi, wh, bi, bh}, 6, in_cell(&wgi_gru));
}

static wg_value *sequence(const char *at, const wg_op *op, wg_value *x, wg_value *wi, wg_value *wh,
                          wg_value *bi, wg_value *bh, const wg_recurrent_options *options)
{
    wg_recurrent_options o = options ? *options : (wg_recurrent_options){0};
    if (o.c && op != &wg_op_lstm)
        return wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, op->name, "it has no state c");
    if (o.relu && op != &wg_op_rnn)
        return wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, op->name, "it has no relu");
    const wg_recurrent_attrs a = {o.reverse, o.relu};
    if (op == &wg_op_lstm)
        return apply(at, op, &a, (wg_value *[]){x, wi, wh, bi, bh, o.h, o.c, o.lengths}, 8,
                     in_sequence(&wgi_lstm));
    return apply(at, op, &a, (wg_value *[]){x, wi, wh, bi, bh, o.h, o.lengths}, 7,
                 in_sequence(&wgi_gru));
}

wg_value *(wg_rnn)(const char *at, wg_value *x, wg_value *wi, wg_value *wh, wg_value *bi,
                   wg_value *bh, const wg_recurrent_options *options)
{
    return sequence(at, &wg_op_rnn, x, wi, wh, bi, bh, options);
}

wg_value *(wg_lstm)(const char *at, wg_value *x, wg_value *wi, wg_value *wh, wg_value *bi,
                    wg_value *bh, const wg_recurrent_options *options)
{
    return sequence(at, &wg_op_lstm, x, wi, wh, bi, bh, options);
}

wg_value *(wg_gru)(const char *at, wg_value *x, wg_value *wi, wg_value *wh, wg_value *bi,
                   wg_value *bh, const wg_recurrent_options *options)
{
    return sequence(at, &wg_op_gru, x, wi, wh, bi, bh, options);
}
