#include "ops/recurrent_cells.h"
#include "wengert/ops/ops.h"

static void step_rnn(const wg_recurrent_attrs *a, wg_value *p, wg_value *wh, wg_value *bh,
                     wg_value **state, wg_value **gates)
{
    (void)gates;
    wg_value *sum = wg_add(p, wg_linear(state[0], wh, bh, WG_ACTIVATION_NONE));
    state[0] = a->relu ? wg_relu(sum) : wg_tanh(sum);
}

static void step_lstm(const wg_recurrent_attrs *a, wg_value *p, wg_value *wh, wg_value *bh,
                      wg_value **state, wg_value **gates)
{
    (void)a;
    wg_value *sum = wg_add(p, wg_linear(state[0], wh, bh, WG_ACTIVATION_NONE));
    wg_value *part = wg_split(sum, -1, NULL, 4);
    wg_value *i = wg_sigmoid(wg_result_of(part, 0)), *f = wg_sigmoid(wg_result_of(part, 1));
    wg_value *g = wg_tanh(wg_result_of(part, 2)), *o = wg_sigmoid(wg_result_of(part, 3));
    state[1] = wg_add(wg_mul(f, state[1]), wg_mul(i, g));
    state[0] = wg_mul(o, wg_tanh(state[1]));
    if (gates)
        gates[0] = i, gates[1] = f, gates[2] = g, gates[3] = o;
}

static void step_gru(const wg_recurrent_attrs *a, wg_value *p, wg_value *wh, wg_value *bh,
                     wg_value **state, wg_value **gates)
{
    (void)a;
    wg_value *h = state[0];
    wg_value *x_part = wg_split(p, -1, NULL, 3);
    wg_value *h_part = wg_split(wg_linear(h, wh, bh, WG_ACTIVATION_NONE), -1, NULL, 3);
    wg_value *r = wg_sigmoid(wg_add(wg_result_of(x_part, 0), wg_result_of(h_part, 0)));
    wg_value *z = wg_sigmoid(wg_add(wg_result_of(x_part, 1), wg_result_of(h_part, 1)));
    wg_value *n = wg_tanh(wg_add(wg_result_of(x_part, 2), wg_mul(r, wg_result_of(h_part, 2))));
    state[0] = wg_add(n, wg_mul(z, wg_sub(h, n))); /* (1 - z) n + z h */
    if (gates)
        gates[0] = r, gates[1] = z, gates[2] = n, gates[3] = wg_result_of(h_part, 2);
}

const wgi_cell wgi_rnn = {1, 1, true, step_rnn};
const wgi_cell wgi_lstm = {4, 2, true, step_lstm};
const wgi_cell wgi_gru = {3, 1, false, step_gru};

wg_value *wgi_step_of(wg_value *split, int t)
{
    wg_value *v = split ? wg_result_of(split, t) : NULL;
    return v ? wg_reshape(v, WG_SHAPE(v->shape.dim[0], v->shape.dim[2])) : NULL;
}

wg_value *wgi_hold(wg_value *lengths, int t, wg_value *after, wg_value *before)
{
    if (!lengths || !after)
        return after;
    wg_value *ends = wg_reshape(lengths, WG_SHAPE(lengths->shape.dim[0], 1));
    return wg_where(wg_less(wg_scalar_like(lengths, t), ends), after, before);
}
