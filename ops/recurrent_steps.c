/* The recurrence of lstm and gru alone, over inputs that are multiplied with wi already: one op for
 * all steps and one for their gradient, so that a backend can take them whole.  Results are what
 * the gradient reads, for every step: the states after it, and the activated gates.
 *
 * lstm, at a step with the states h- and c- before it, i, f, g, o the gates and s = tanh c:
 *     d = dc + dh o (1 - s^2)
 *     dp = d g i (1 - i),  d c- f (1 - f),  d i (1 - g^2),  dh s o (1 - o)
 *     dc- = d f,  dh- = dp wh
 * gru, with r, z, n and m, the third part of wh h- + bh:
 *     a = dh (1 - z) (1 - n^2),  b = a m r (1 - r),  e = dh (h- - n) z (1 - z)
 *     dp = b, e, a,  dq = b, e, a r,  dh- = dh z + dq wh
 * where dp and dq are the cotangents of p and of wh h- + bh.  The sums for wh are made of all steps
 * at once, by one product.  Where a sequence has ended, cotangents of states pass as they are. */
#include "ops/recurrent_cells.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const wg_attr steps_attrs[] = {WG_ATTR(BOOL, wg_recurrent_attrs, reverse)};

/* ---- steps in their order -------------------------------------------------------------------- */

/* A sequence [B, T, X] as its steps [B, X] in time, or one under construction. */
typedef struct steps {
    wg_value **at;
    int count;
} steps;

static steps steps_new(wg_graph *g, int count)
{
    return (steps){wg_graph_alloc(g, sizeof(wg_value *) * (size_t)count), count};
}

/* None of NULL. */
static steps steps_of(wg_value *v)
{
    if (!v)
        return (steps){NULL, 0};
    steps s = steps_new(wg_graph_of(v), (int)v->shape.dim[1]);
    wg_value *split = s.at ? wg_split(v, 1, NULL, s.count) : NULL;
    for (int t = 0; s.at && t < s.count; t++)
        s.at[t] = wgi_step_of(split, t);
    return s;
}

static wg_value *joined(steps s)
{
    return s.at ? wg_stack(s.at, s.count, 1) : NULL;
}

/* The time of step k. */
static int time_of(const wg_node *n, int k, int count)
{
    return ((const wg_recurrent_attrs *)n->attrs)->reverse ? count - 1 - k : k;
}

/* The states before each step, of those after each, v [B, T, H], and the first. */
static wg_value *before_each(const wg_node *n, wg_value *v, wg_value *first)
{
    bool reverse = ((const wg_recurrent_attrs *)n->attrs)->reverse;
    wg_value *step = wg_unsqueeze(first, 1);
    int64_t count = v->shape.dim[1];
    if (count == 1)
        return step;
    wg_value *rest = reverse ? wg_slice(v, 1, 1, WG_TO_END, 1) : wg_slice(v, 1, 0, count - 1, 1);
    return wg_concat((wg_value *[]){reverse ? rest : step, reverse ? step : rest}, 2, 1);
}

static wg_value *operand(const wg_node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

static wg_value *sum_of(wg_value *a, wg_value *b) /* NULL is zero */
{
    return a && b ? wg_add(a, b) : a ? a : b;
}

static wg_value *one_minus(wg_value *x)
{
    return wg_shift(wg_neg(x), 1);
}

/* x (1 - x), the slope of a sigmoid x; 1 - x^2, that of a tanh. */
static wg_value *sigmoid_slope(wg_value *x)
{
    return wg_mul(x, one_minus(x));
}

static wg_value *tanh_slope(wg_value *x)
{
    return one_minus(wg_square(x));
}

static wg_value *nothing_like(wg_value *x)
{
    return x ? wg_scalar_like(x, 0) : NULL;
}

/* x in the sequences that have a step t, 0 in the others. */
static wg_value *if_active(wg_value *lengths, int t, wg_value *x)
{
    return wgi_hold(lengths, t, x, nothing_like(x));
}

/* And in the others alone, NULL if there are none. */
static wg_value *if_ended(wg_value *lengths, int t, wg_value *x)
{
    return lengths ? wgi_hold(lengths, t, nothing_like(x), x) : NULL;
}

/* ---- shape rules ----------------------------------------------------------------------------- */

static bool need_shape(wg_node *n, int i, wg_shape s)
{
    if (!wg_need_same_dtype(n, i, 0) || !wg_need_rank(n, i, s.rank, s.rank))
        return false;
    for (int k = 0; k < s.rank; k++)
        if (!wg_need_dim(n, i, k, s.dim[k]))
            return false;
    return true;
}

static bool need_lengths(wg_node *n, int i, int64_t batch)
{
    return i >= n->n_in ||
           (wg_need_int(n, i) && wg_need_rank(n, i, 1, 1) && wg_need_dim(n, i, 0, batch));
}

/* Operand x [B, T, columns H], at least one step; *y is [B, T, H]. */
static bool need_sequence(wg_node *n, int x, int columns, wg_shape *y)
{
    const wg_shape *s = &n->in[x]->shape;
    if (!wg_need_float(n, x) || !wg_need_rank(n, x, 3, 3))
        return false;
    if (s->dim[1] < 1 || s->dim[1] > INT32_MAX)
        return wg_fail(n, WG_ESHAPE, "%lld steps, must be 1 to %d", (long long)s->dim[1],
                       INT32_MAX);
    if (s->dim[2] % columns)
        return wg_fail(n, WG_ESHAPE, "rows of %lld numbers are not %d parts", (long long)s->dim[2],
                       columns);
    *y = WG_SHAPE(s->dim[0], s->dim[1], s->dim[2] / columns);
    return true;
}

/* [B, T, parts H] and [B, H] for y [B, T, H] */
static wg_shape parts_of(const wg_shape *y, int parts)
{
    return WG_SHAPE(y->dim[0], y->dim[1], parts * y->dim[2]);
}

static wg_shape state_of(const wg_shape *y)
{
    return WG_SHAPE(y->dim[0], y->dim[2]);
}

static wg_shape weight_of(const wg_shape *y, int parts)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): y has three axes */
    return WG_SHAPE(parts * y->dim[2], y->dim[2]);
}

/* p wh h c lengths? -> gates h c */
static bool infer_lstm_steps(wg_node *n)
{
    wg_shape y;
    wg_dtype d = n->in[0]->dtype;
    return need_sequence(n, 0, 4, &y) && need_shape(n, 1, weight_of(&y, 4)) &&
           need_shape(n, 2, state_of(&y)) && need_shape(n, 3, state_of(&y)) &&
           need_lengths(n, 4, y.dim[0]) && wg_set_result(n, 0, d, parts_of(&y, 4)) &&
           wg_set_result(n, 1, d, y) && wg_set_result(n, 2, d, y);
}

/* p wh bh h lengths? -> gates m h */
static bool infer_gru_steps(wg_node *n)
{
    wg_shape y;
    wg_dtype d = n->in[0]->dtype;
    return need_sequence(n, 0, 3, &y) && need_shape(n, 1, weight_of(&y, 3)) &&
           need_shape(n, 2, WG_SHAPE(3 * y.dim[2])) && need_shape(n, 3, state_of(&y)) &&
           need_lengths(n, 4, y.dim[0]) && wg_set_result(n, 0, d, parts_of(&y, 3)) &&
           wg_set_result(n, 1, d, y) && wg_set_result(n, 2, d, y);
}

/* gates dh dc c wh c0 lengths? -> dp dh0 dc0, and gates m dh h wh h0 lengths? -> dq dp dh0: */
static bool need_gradient(wg_node *n, int gates, wg_shape *y)
{
    if (!need_sequence(n, 0, gates, y))
        return false;
    for (int i = 1; i < 4; i++)
        if (!need_shape(n, i, *y))
            return false;
    return need_shape(n, 4, weight_of(y, gates)) && need_shape(n, 5, state_of(y)) &&
           need_lengths(n, 6, y->dim[0]);
}

static bool infer_lstm_steps_grad(wg_node *n)
{
    wg_shape y;
    wg_dtype d = n->in[0]->dtype;
    return need_gradient(n, 4, &y) && wg_set_result(n, 0, d, parts_of(&y, 4)) &&
           wg_set_result(n, 1, d, state_of(&y)) && wg_set_result(n, 2, d, state_of(&y));
}

static bool infer_gru_steps_grad(wg_node *n)
{
    wg_shape y;
    wg_dtype d = n->in[0]->dtype;
    return need_gradient(n, 3, &y) && wg_set_result(n, 0, d, parts_of(&y, 3)) &&
           wg_set_result(n, 1, d, parts_of(&y, 3)) && wg_set_result(n, 2, d, state_of(&y));
}

/* ---- all steps ------------------------------------------------------------------------------- */

/* Steps of a cell from its states before the first, which become those after the last; y: gates (m)
 * and the states. */
static void expand_steps(wg_node *n, const wgi_cell *c, wg_value *bh, wg_value **state,
                         wg_value **y)
{
    enum { SEQUENCES = 3 };
    wg_value *lengths = operand(n, 4);
    steps p = steps_of(n->in[0]), to[SEQUENCES];
    int first = SEQUENCES - c->states; /* of the states among the results */
    bool room = p.at;
    for (int i = 0; i < SEQUENCES; i++) {
        to[i] = steps_new(n->graph, p.count);
        room = room && to[i].at;
    }
    for (int k = 0; room && k < p.count && state[0]; k++) {
        int t = time_of(n, k, p.count);
        wg_value *part[WGI_MAX_GATES], *before[WGI_MAX_STATES] = {state[0], state[1]};
        c->step(n->attrs, p.at[t], n->in[1], bh, state, part);
        to[1].at[t] = part[WGI_MAX_GATES - 1]; /* m of gru */
        to[0].at[t] = wg_concat(part, (size_t)c->gates, 1);
        for (int i = 0; i < c->states; i++)
            /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): there are c->states of them */
            to[first + i].at[t] = state[i] = wgi_hold(lengths, t, state[i], before[i]);
    }
    for (int i = 0; room && i < SEQUENCES; i++)
        y[i] = joined(to[i]);
}

static void expand_lstm_steps(wg_node *n, wg_value **y)
{
    wg_value *state[WGI_MAX_STATES] = {n->in[2], n->in[3]};
    expand_steps(n, &wgi_lstm, NULL, state, y);
}

static void expand_gru_steps(wg_node *n, wg_value **y)
{
    wg_value *state[WGI_MAX_STATES] = {n->in[3], NULL};
    expand_steps(n, &wgi_gru, n->in[2], state, y);
}

/* ---- the gradient of all steps --------------------------------------------------------------- */

/* What the gradient of lstm_steps reads, and dgates, a cotangent of the gates themselves, or NULL:
 * only derivatives of the gradient have that. */
typedef struct lstm_values {
    wg_value *gates, *dh, *dc, *c, *wh, *c0, *lengths, *dgates;
} lstm_values;

/* Cotangents of the gates before activation, of one step: `d` and `dh` as above.  dgates or
 * NULL. */
static wg_value *lstm_gates_grad(wg_value *gates, wg_value *before, wg_value *tanh_c, wg_value *d,
                                 wg_value *dh)
{
    wg_value *part = wg_split(gates, -1, NULL, 4);
    wg_value *i = wg_result_of(part, 0), *f = wg_result_of(part, 1), *g = wg_result_of(part, 2),
             *o = wg_result_of(part, 3);
    wg_value *all[] = {
        wg_mul(wg_mul(d, g), sigmoid_slope(i)), wg_mul(wg_mul(d, before), sigmoid_slope(f)),
        wg_mul(wg_mul(d, i), tanh_slope(g)), wg_mul(wg_mul(dh, tanh_c), sigmoid_slope(o))};
    return wg_concat(all, 4, 1);
}

/* dgates times the slopes of the gates. */
static wg_value *lstm_slopes(wg_value *gates, wg_value *dgates)
{
    wg_value *part = wg_split(gates, -1, NULL, 4), *slope[4];
    for (int i = 0; i < 4; i++) {
        wg_value *gate = wg_result_of(part, i);
        slope[i] = i == 2 ? tanh_slope(gate) : sigmoid_slope(gate);
    }
    return wg_mul(dgates, wg_concat(slope, 4, 1));
}

/* y: dp dh0 dc0 */
static void lstm_backward(const wg_node *n, const lstm_values *v, wg_value **y)
{
    steps gates = steps_of(v->gates), dh = steps_of(v->dh), dc = steps_of(v->dc),
          c = steps_of(v->c), dgates = steps_of(v->dgates), dp = steps_new(n->graph, gates.count);
    wg_value *to_h = NULL, *to_c = NULL; /* what the step before gets */
    if (!gates.at || !dh.at || !dc.at || !c.at || !dp.at || (v->dgates && !dgates.at))
        return;
    for (int k = gates.count - 1; k >= 0; k--) {
        int t = time_of(n, k, gates.count);
        wg_value *before = k > 0 ? c.at[time_of(n, k - 1, gates.count)] : v->c0;
        wg_value *h = sum_of(dh.at[t], to_h), *s = wg_tanh(c.at[t]),
                 *part = wg_split(gates.at[t], -1, NULL, 4);
        wg_value *state = sum_of(dc.at[t], to_c);
        wg_value *d = wg_add(state, wg_mul(wg_mul(h, wg_result_of(part, 3)), tanh_slope(s)));
        dp.at[t] = if_active(v->lengths, t, lstm_gates_grad(gates.at[t], before, s, d, h));
        if (dgates.at)
            dp.at[t] = sum_of(dp.at[t], lstm_slopes(gates.at[t], dgates.at[t]));
        to_h = sum_of(wg_matmul(dp.at[t], v->wh), if_ended(v->lengths, t, h));
        to_c = wgi_hold(v->lengths, t, wg_mul(d, wg_result_of(part, 1)), state);
    }
    y[0] = joined(dp);
    y[1] = to_h;
    y[2] = to_c;
}

static void expand_lstm_steps_grad(wg_node *n, wg_value **y)
{
    lstm_values v = {.gates = n->in[0],
                     .dh = n->in[1],
                     .dc = n->in[2],
                     .c = n->in[3],
                     .wh = n->in[4],
                     .c0 = n->in[5],
                     .lengths = operand(n, 6)};
    lstm_backward(n, &v, y);
}

/* The same of gru_steps; dgates and dm are both NULL, or both not. */
typedef struct gru_values {
    wg_value *gates, *m, *dh, *h, *wh, *h0, *lengths, *dgates, *dm;
} gru_values;

/* Cotangents of p and of wh h + bh of one step, from those of r, z, n and m; of r and m NULL is
 * zero. */
static void gru_gates_grad(wg_value *gates, wg_value *m, wg_value *const *d, wg_value **dp,
                           wg_value **dq)
{
    wg_value *part = wg_split(gates, -1, NULL, 3);
    wg_value *r = wg_result_of(part, 0), *z = wg_result_of(part, 1), *n = wg_result_of(part, 2);
    wg_value *a = wg_mul(d[2], tanh_slope(n)),
             *b = wg_mul(sum_of(wg_mul(a, m), d[0]), sigmoid_slope(r)),
             *e = wg_mul(d[1], sigmoid_slope(z));
    *dp = wg_concat((wg_value *[]){b, e, a}, 3, 1);
    *dq = wg_concat((wg_value *[]){b, e, sum_of(wg_mul(a, r), d[3])}, 3, 1);
}

/* y: dq dp dh0 */
static void gru_backward(const wg_node *n, const gru_values *v, wg_value **y)
{
    steps gates = steps_of(v->gates), m = steps_of(v->m), dh = steps_of(v->dh), h = steps_of(v->h),
          dgates = steps_of(v->dgates), dm = steps_of(v->dm), dp = steps_new(n->graph, gates.count),
          dq = steps_new(n->graph, gates.count);
    wg_value *to_h = NULL;
    if (!gates.at || !m.at || !dh.at || !h.at || !dp.at || !dq.at || (v->dgates && !dgates.at) ||
        (v->dm && !dm.at))
        return;
    for (int k = gates.count - 1; k >= 0; k--) {
        int t = time_of(n, k, gates.count);
        wg_value *before = k > 0 ? h.at[time_of(n, k - 1, gates.count)] : v->h0;
        wg_value *all = sum_of(dh.at[t], to_h), *part = wg_split(gates.at[t], -1, NULL, 3);
        wg_value *z = wg_result_of(part, 1), *d[WGI_MAX_GATES] = {NULL}, *to[2];
        d[1] = wg_mul(all, wg_sub(before, wg_result_of(part, 2)));
        d[2] = wg_mul(all, one_minus(z));
        gru_gates_grad(gates.at[t], m.at[t], d, &to[0], &to[1]);
        dp.at[t] = if_active(v->lengths, t, to[0]);
        dq.at[t] = if_active(v->lengths, t, to[1]);
        if (dgates.at) {
            wg_value *own = wg_split(dgates.at[t], -1, NULL, 3);
            for (int i = 0; i < 3; i++)
                d[i] = wg_result_of(own, i);
            d[3] = dm.at[t];
            gru_gates_grad(gates.at[t], m.at[t], d, &to[0], &to[1]);
            dp.at[t] = sum_of(dp.at[t], to[0]);
            dq.at[t] = sum_of(dq.at[t], to[1]);
        }
        to_h = wg_add(wg_matmul(dq.at[t], v->wh), wgi_hold(v->lengths, t, wg_mul(all, z), all));
    }
    y[0] = joined(dq);
    y[1] = joined(dp);
    y[2] = to_h;
}

static void expand_gru_steps_grad(wg_node *n, wg_value **y)
{
    gru_values v = {.gates = n->in[0],
                    .m = n->in[1],
                    .dh = n->in[2],
                    .h = n->in[3],
                    .wh = n->in[4],
                    .h0 = n->in[5],
                    .lengths = operand(n, 6)};
    gru_backward(n, &v, y);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static wg_value *or_zeros(wg_value *dy, wg_value *y)
{
    return dy ? dy : wg_zeros_like(y);
}

static wg_value *as_rows(wg_value *x)
{
    const int64_t *d = x ? x->shape.dim : NULL;
    return x ? wg_reshape(x, WG_SHAPE(d[0] * d[1], d[2])) : NULL;
}

/* dwh = sum over all steps of d' h-, with h the states after the steps, h0 before the first. */
static wg_value *weight_grad(const wg_node *n, wg_value *d, wg_value *h, wg_value *h0)
{
    return wg_matmul_t(as_rows(d), as_rows(before_each(n, h, h0)), WG_TN);
}

/* y: the results of the gradient op on those operands */
static void apply_grad(const wg_node *n, const wg_op *op, wg_value **in, wg_value **y)
{
    wg_node *d = wg_apply(WG_HERE, n->graph, op, n->attrs, in, 7);
    for (int i = 0; d && i < 3; i++)
        y[i] = d->out[i];
}

static void grad_lstm_steps(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    lstm_values v = {n->out[0],
                     or_zeros(dy[1], n->out[1]),
                     or_zeros(dy[2], n->out[2]),
                     n->out[2],
                     n->in[1],
                     n->in[3],
                     operand(n, 4),
                     dy[0]};
    wg_value *y[3] = {NULL}, *in[] = {v.gates, v.dh, v.dc, v.c, v.wh, v.c0, v.lengths};
    if (v.dgates)
        lstm_backward(n, &v, y);
    else
        apply_grad(n, &wg_op_lstm_steps_grad, in, y);
    if (!y[0])
        return;
    dx[0] = y[0];
    dx[1] = weight_grad(n, y[0], n->out[1], n->in[2]);
    dx[2] = y[1];
    dx[3] = y[2];
}

static void grad_gru_steps(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    bool more = dy[0] || dy[1];
    gru_values v = {n->out[0],
                    n->out[1],
                    or_zeros(dy[2], n->out[2]),
                    n->out[2],
                    n->in[1],
                    n->in[3],
                    operand(n, 4),
                    more ? or_zeros(dy[0], n->out[0]) : NULL,
                    more ? or_zeros(dy[1], n->out[1]) : NULL};
    wg_value *y[3] = {NULL}, *in[] = {v.gates, v.m, v.dh, v.h, v.wh, v.h0, v.lengths};
    if (more)
        gru_backward(n, &v, y);
    else
        apply_grad(n, &wg_op_gru_steps_grad, in, y);
    if (!y[0])
        return;
    dx[0] = y[1];
    dx[1] = weight_grad(n, y[0], n->out[2], n->in[3]);
    dx[2] = wg_sum(y[0], WG_AXES(0, 1), WG_DROP);
    dx[3] = y[2];
}

/* ---- the ops --------------------------------------------------------------------------------- */

/* The products of all steps with wh, and some 30 operations on each unit. */
static double flops(const wg_node *n)
{
    const wg_shape *s = &n->in[0]->shape;
    bool forward = n->op == &wg_op_lstm_steps || n->op == &wg_op_gru_steps;
    int wh = forward ? 1 : 4;
    double units = (double)n->in[wh]->shape.dim[1], rows = (double)s->dim[0] * (double)s->dim[1];
    return rows * (2 * (double)wg_value_count(n->in[wh]) + 30 * units);
}

/* clang-format off */
#define F(...) WG_FLOATS(-1, 1, __VA_ARGS__)
#define OPEN(...) WG_FLOATS(0.1, 0.9, __VA_ARGS__) /* gates, as sigmoid gives them */
#define FORWARD &(const wg_recurrent_attrs){false, false}
#define REVERSE &(const wg_recurrent_attrs){true, false}
#define LENGTHS(lo, hi) WG_INTS(lo, hi, 1, 2)

static const wg_sample lstm_steps_samples[] = {
    {"forward", FORWARD, 4, {F(3, 2, 3, 4), F(2, 4, 1), F(2, 2, 1), F(2, 2, 1)}},
    {"reverse", REVERSE, 4, {F(3, 2, 2, 8), F(2, 8, 2), F(2, 2, 2), F(2, 2, 2)}},
    {"lengths", FORWARD, 5,
     {F(3, 2, 3, 4), F(2, 4, 1), F(2, 2, 1), F(2, 2, 1), LENGTHS(0, 4)}},
    {"reverse, lengths", REVERSE, 5,
     {F(3, 2, 3, 4), F(2, 4, 1), F(2, 2, 1), F(2, 2, 1), LENGTHS(1, 4)}},
};
static const wg_sample gru_steps_samples[] = {
    {"forward", FORWARD, 4, {F(3, 2, 3, 3), F(2, 3, 1), F(1, 3), F(2, 2, 1)}},
    {"reverse", REVERSE, 4, {F(3, 2, 2, 6), F(2, 6, 2), F(1, 6), F(2, 2, 2)}},
    {"lengths", FORWARD, 5, {F(3, 2, 3, 3), F(2, 3, 1), F(1, 3), F(2, 2, 1), LENGTHS(0, 4)}},
    {"reverse, lengths", REVERSE, 5,
     {F(3, 2, 3, 3), F(2, 3, 1), F(1, 3), F(2, 2, 1), LENGTHS(1, 4)}},
};
static const wg_sample lstm_steps_grad_samples[] = {
    {"forward", FORWARD, 6,
     {OPEN(3, 2, 3, 4), F(3, 2, 3, 1), F(3, 2, 3, 1), F(3, 2, 3, 1), F(2, 4, 1), F(2, 2, 1)}},
    {"reverse", REVERSE, 6,
     {OPEN(3, 2, 2, 8), F(3, 2, 2, 2), F(3, 2, 2, 2), F(3, 2, 2, 2), F(2, 8, 2), F(2, 2, 2)}},
    {"lengths", FORWARD, 7,
     {OPEN(3, 2, 3, 4), F(3, 2, 3, 1), F(3, 2, 3, 1), F(3, 2, 3, 1), F(2, 4, 1), F(2, 2, 1),
      LENGTHS(0, 4)}},
};
static const wg_sample gru_steps_grad_samples[] = {
    {"forward", FORWARD, 6,
     {OPEN(3, 2, 3, 3), F(3, 2, 3, 1), F(3, 2, 3, 1), F(3, 2, 3, 1), F(2, 3, 1), F(2, 2, 1)}},
    {"reverse", REVERSE, 6,
     {OPEN(3, 2, 2, 6), F(3, 2, 2, 2), F(3, 2, 2, 2), F(3, 2, 2, 2), F(2, 6, 2), F(2, 2, 2)}},
    {"lengths", FORWARD, 7,
     {OPEN(3, 2, 3, 3), F(3, 2, 3, 1), F(3, 2, 3, 1), F(3, 2, 3, 1), F(2, 3, 1), F(2, 2, 1),
      LENGTHS(0, 4)}},
};

#define STEPS(which, words, outs)                                                                  \
    .name = #which, .family = WG_FAMILY_RECURRENT, .operands = words, .results = outs,             \
    .inplace = 1, .infer = infer_##which, .expand = expand_##which, .flops = flops,                \
    WG_ATTRS(wg_recurrent_attrs, steps_attrs), WG_SAMPLES(which##_samples)

const wg_op wg_op_lstm_steps = {
    STEPS(lstm_steps, "p wh h c lengths?", "gates h c"),
    .formula = "i, f, g, o = activated p[t] + wh h[t-1]; c[t] = f c[t-1] + i g, h[t] = o tanh c[t]",
    .grad = grad_lstm_steps, .reads = WG_READS_X | WG_READS_Y,
};
const wg_op wg_op_lstm_steps_grad = {
    STEPS(lstm_steps_grad, "gates dh dc c wh c0 lengths?", "dp dh0 dc0"),
    .formula = "the gradient of lstm_steps with respect to p and the first states",
};
const wg_op wg_op_gru_steps = {
    STEPS(gru_steps, "p wh bh h lengths?", "gates m h"),
    .formula = "r, z, n, m from p[t] and wh h[t-1] + bh; h[t] = (1 - z) n + z h[t-1]",
    .grad = grad_gru_steps, .reads = WG_READS_X | WG_READS_Y,
};
const wg_op wg_op_gru_steps_grad = {
    STEPS(gru_steps_grad, "gates m dh h wh h0 lengths?", "dq dp dh0"),
    .formula = "the gradient of gru_steps with respect to wh h + bh, p and the first state",
};
/* clang-format on */
