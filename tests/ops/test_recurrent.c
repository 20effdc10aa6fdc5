/* Recurrent ops: small numbers worked out by hand, sequences against repeated cells, edges,
 * refusals. */
#include "tests/small.h"
#include "wengert/autograd/grad.h"

#include <math.h>

enum { BATCH = 2, STEPS = 4, INPUTS = 3, UNITS = 5 };

static wg_value *drawn(wg_graph *g, wg_shape shape, uint64_t *seed)
{
    return wg_scale(small_constant(g, WG_F64, shape, seed, NULL), 0.2);
}

static void check_close(const char *what, wg_plan *p, const wg_value *a, const wg_value *b)
{
    check_that(a && b && wg_value_count(a) == wg_value_count(b), "%s: other sizes", what);
    for (int64_t i = 0; i < wg_value_count(a); i++)
        check_that(fabs(small_at(p, a, i) - small_at(p, b, i)) <= 1e-14,
                   "%s[%lld]: %.17g, not %.17g", what, (long long)i, small_at(p, a, i),
                   small_at(p, b, i));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* One unit, one input: every number of the equations in sight. */
static void cells_are_their_equations(void **state)
{
    (void)state;
    const double x = 0.7, h = -0.4, c = 0.9;
    const double wi[] = {0.5, -0.3, 0.8, 1.1}, wh[] = {0.2, 0.6, -0.9, 0.4};
    const double bi[] = {0.1, 0.2, -0.3, 0.4}, bh[] = {-0.2, 0.3, 0.25, -0.1};
    double a[4], r, z, n;
    for (int k = 0; k < 4; k++)
        a[k] = wi[k] * x + bi[k] + wh[k] * h + bh[k];
    double lstm_c = sigmoid(a[1]) * c + sigmoid(a[0]) * tanh(a[2]);
    double lstm_h = sigmoid(a[3]) * tanh(lstm_c);
    r = sigmoid(a[0]);
    z = sigmoid(a[1]);
    n = tanh(wi[2] * x + bi[2] + r * (wh[2] * h + bh[2]));
    const double expected[] = {tanh(a[0]), 0 > a[0] ? 0 : a[0], lstm_h, lstm_c,
                               (1 - z) * n + z * h};

    wg_graph *g = wg_graph_new();
    wg_value *vx = wg_fill(g, WG_F64, WG_SHAPE(1, 1), x),
             *vh = wg_fill(g, WG_F64, WG_SHAPE(1, 1), h);
    wg_value *vc = wg_fill(g, WG_F64, WG_SHAPE(1, 1), c);
    wg_value *w[5][4]; /* of G gates: the first G numbers of each */
    for (int gates = 1; gates <= 4; gates++) {
        w[gates][0] = wg_constant(g, WG_F64, WG_SHAPE(gates, 1), wi);
        w[gates][1] = wg_constant(g, WG_F64, WG_SHAPE(gates, 1), wh);
        w[gates][2] = wg_constant(g, WG_F64, WG_SHAPE(gates), bi);
        w[gates][3] = wg_constant(g, WG_F64, WG_SHAPE(gates), bh);
    }
    wg_value *lstm = wg_lstm_cell(vx, vh, vc, w[4][0], w[4][1], w[4][2], w[4][3]);
    wg_value *got[] = {wg_rnn_cell(vx, vh, w[1][0], w[1][1], w[1][2], w[1][3], WG_RNN_TANH),
                       wg_rnn_cell(vx, vh, w[1][0], w[1][1], w[1][2], w[1][3], WG_RNN_RELU), lstm,
                       wg_result_of(lstm, 1),
                       wg_gru_cell(vx, vh, w[3][0], w[3][1], w[3][2], w[3][3])};
    wg_plan *p = small_run(g, got, 5, 1);
    for (int i = 0; i < 5; i++)
        check_that(fabs(small_at(p, got[i], 0) - expected[i]) <= 1e-15, "%d: %.17g, not %.17g", i,
                   small_at(p, got[i], 0), expected[i]);
    wg_plan_free(p);
    wg_graph_free(g);
}

typedef enum kind { RNN, RNN_RELU, LSTM, GRU, KINDS } kind;
static const char *const names[KINDS] = {"rnn", "rnn relu", "lstm", "gru"};
static const int gates[KINDS] = {1, 1, 4, 3};

typedef struct weights {
    wg_value *wi, *wh, *bi, *bh, *h, *c; /* h, c: initial states */
} weights;

static wg_value *sequence(kind k, wg_value *x, weights w, wg_recurrent_options o)
{
    o.relu = k == RNN_RELU;
    return k == LSTM  ? wg_lstm(x, w.wi, w.wh, w.bi, w.bh, &o)
           : k == GRU ? wg_gru(x, w.wi, w.wh, w.bi, w.bh, &o)
                      : wg_rnn(x, w.wi, w.wh, w.bi, w.bh, &o);
}

/* h' of one step; *c becomes c'. */
static wg_value *cell(kind k, wg_value *x, wg_value *h, wg_value **c, weights w)
{
    if (k == GRU)
        return wg_gru_cell(x, h, w.wi, w.wh, w.bi, w.bh);
    if (k != LSTM)
        return wg_rnn_cell(x, h, w.wi, w.wh, w.bi, w.bh, k == RNN_RELU ? WG_RNN_RELU : WG_RNN_TANH);
    h = wg_lstm_cell(x, h, *c, w.wi, w.wh, w.bi, w.bh);
    *c = wg_result_of(h, 1);
    return h;
}

static weights draw_weights(wg_graph *g, kind k, bool bi, bool bh, bool states, uint64_t *seed)
{
    int64_t rows = gates[k] * UNITS;
    return (weights){
        .wi = drawn(g, WG_SHAPE(rows, INPUTS), seed),
        .wh = drawn(g, WG_SHAPE(rows, UNITS), seed),
        .bi = bi ? drawn(g, WG_SHAPE(rows), seed) : NULL,
        .bh = bh ? drawn(g, WG_SHAPE(rows), seed) : NULL,
        .h = states ? drawn(g, WG_SHAPE(BATCH, UNITS), seed) : NULL,
        .c = states && k == LSTM ? drawn(g, WG_SHAPE(BATCH, UNITS), seed) : NULL,
    };
}

static void check_sequence(kind k, bool bi, bool bh, bool states, bool reverse, int64_t steps)
{
    uint64_t seed = 1 + (uint64_t)k;
    wg_graph *g = wg_graph_new();
    weights w = draw_weights(g, k, bi, bh, states, &seed);
    wg_value *x = drawn(g, WG_SHAPE(BATCH, steps, INPUTS), &seed);
    wg_value *y = sequence(k, x, w, (wg_recurrent_options){.h = w.h, .c = w.c, .reverse = reverse});
    check_that(y, "%s: %s", names[k], wg_graph_message(g));

    wg_value *zero = wg_fill(g, WG_F64, WG_SHAPE(BATCH, UNITS), 0);
    wg_value *h = w.h ? w.h : zero, *c = w.c ? w.c : zero, *each[STEPS];
    for (int64_t i = 0; i < steps; i++) {
        int64_t t = reverse ? steps - 1 - i : i;
        wg_value *now = wg_reshape(wg_slice(x, 1, t, t + 1, 1), WG_SHAPE(BATCH, INPUTS));
        each[t] = h = cell(k, now, h, &c, w);
    }
    wg_value *expected =
        steps ? wg_stack(each, (int)steps, 1) : wg_fill(g, WG_F64, WG_SHAPE(BATCH, 0, UNITS), 0);
    wg_value *last_c = k == LSTM ? wg_result_of(y, 2) : NULL;
    wg_value *wanted[] = {y, wg_result_of(y, 1), expected, h, k == LSTM ? last_c : h, c};
    check_that(wg_graph_status(g) == WG_OK, "%s: %s", names[k], wg_graph_message(g));
    wg_plan *p = small_run(g, wanted, 6, 1);
    check_close(names[k], p, y, expected);
    check_close(names[k], p, wanted[1], h);
    if (k == LSTM)
        check_close(names[k], p, last_c, c);
    assert_int_equal(wg_value_count(y), BATCH * steps * UNITS);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_sequence_is_its_cell_repeated(void **state)
{
    (void)state;
    for (kind k = RNN; k < KINDS; k++)
        for (int flags = 0; flags < 16; flags++)
            for (int64_t steps = 0; steps <= STEPS; steps += steps ? 3 : 1) /* 0, 1, 4 */
                check_sequence(k, flags & 1, flags & 2, flags & 4, flags & 8, steps);
}

/* Backwards in time is forwards through the flipped sequence. */
static void reverse_is_a_flip_before_and_after(void **state)
{
    (void)state;
    for (kind k = RNN; k < KINDS; k++) {
        uint64_t seed = 3;
        wg_graph *g = wg_graph_new();
        weights w = draw_weights(g, k, true, true, true, &seed);
        wg_value *x = drawn(g, WG_SHAPE(BATCH, STEPS, INPUTS), &seed);
        wg_recurrent_options forth = {.h = w.h, .c = w.c}, back = forth;
        back.reverse = true;
        wg_value *a = sequence(k, x, w, back);
        wg_value *b = sequence(k, wg_flip(x, WG_AXES(1)), w, forth);
        wg_value *wanted[] = {a, wg_flip(b, WG_AXES(1)), wg_result_of(a, 1), wg_result_of(b, 1)};
        wg_plan *p = small_run(g, wanted, 4, 1);
        check_close(names[k], p, wanted[0], wanted[1]);
        check_close(names[k], p, wanted[2], wanted[3]);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* The first `steps` steps of example b of x [BATCH, T, C], alone: [1, steps, C]. */
static wg_value *alone(wg_value *x, int64_t b, int64_t steps)
{
    return wg_slice(wg_slice(x, 0, b, b + 1, 1), 1, 0, steps, 1);
}

static wg_value *example(wg_value *state, int64_t b)
{
    return state ? wg_slice(state, 0, b, b + 1, 1) : NULL;
}

/* x with NaN in the steps from length[b] on. */
static wg_value *with_nan_past(wg_value *x, const int64_t *length)
{
    wg_graph *g = wg_graph_of(x);
    wg_value *t = wg_iota(g, WG_I64, WG_SHAPE(1, STEPS, 1), 1, 0, 1);
    wg_value *seen = wg_less(t, wg_constant(g, WG_I64, WG_SHAPE(BATCH, 1, 1), length));
    static const double nan = NAN;
    return wg_where(seen, x, wg_constant(g, WG_F64, WG_SCALAR, &nan));
}

/* Sequences with lengths, among others: each is what it is alone, and 0 past its end. */
static void check_lengths(kind k, bool reverse, const int64_t *length)
{
    uint64_t seed = 5;
    wg_graph *g = wg_graph_new();
    weights w = draw_weights(g, k, true, true, true, &seed);
    wg_value *x = drawn(g, WG_SHAPE(BATCH, STEPS, INPUTS), &seed), *got[8], *alike[8], *dx;
    wg_recurrent_options o = {.h = w.h, .c = w.c, .reverse = reverse};
    o.lengths = wg_constant(g, WG_I64, WG_SHAPE(BATCH), length);
    wg_value *padded = with_nan_past(x, length), *y = sequence(k, padded, w, o);
    int n = 0;
    for (int64_t b = 0; b < BATCH; b++) {
        wg_recurrent_options own = {example(w.h, b), example(w.c, b), .reverse = reverse};
        wg_value *z = sequence(k, alone(x, b, length[b]), w, own);
        wg_value *zeros = wg_fill(g, WG_F64, WG_SHAPE(1, STEPS - length[b], UNITS), 0);
        got[n] = example(y, b);
        alike[n++] = wg_concat((wg_value *[]){z, zeros}, 2, 1);
        for (int i = 1; i <= (k == LSTM ? 2 : 1); i++, n++) {
            got[n] = example(wg_result_of(y, i), b);
            alike[n] = wg_result_of(z, i);
        }
    }
    wg_value *loss = wg_sum(wg_square(y), WG_ALL_AXES, WG_DROP);
    wg_grad(loss, &padded, 1, &dx);
    wg_value *wanted[17];
    memcpy(wanted, got, (size_t)n * sizeof *got);
    memcpy(wanted + n, alike, (size_t)n * sizeof *alike);
    wanted[2 * n] = dx;
    wg_plan *p = small_run(g, wanted, 2 * (size_t)n + 1, 1);
    for (int i = 0; i < n; i++)
        check_close(names[k], p, got[i], alike[i]);
    for (int64_t i = 0; i < wg_value_count(dx); i++) {
        bool seen = i / INPUTS % STEPS < length[i / INPUTS / STEPS];
        check_that(seen ? isfinite(small_at(p, dx, i)) && small_at(p, dx, i) != 0
                        : small_at(p, dx, i) == 0,
                   "%s: dx %d is %g", names[k], (int)i, small_at(p, dx, i));
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_shorter_sequence_is_what_it_is_alone(void **state)
{
    (void)state;
    static const int64_t lengths[][BATCH] = {{4, 2}, {1, 3}, {0, 4}};
    for (kind k = RNN; k < KINDS; k++)
        for (int i = 0; i < 2 * WG_COUNT(lengths); i++)
            check_lengths(k, i % 2, lengths[i / 2]);
}

static void an_empty_batch_gives_empty_results(void **state)
{
    (void)state;
    uint64_t seed = 8;
    wg_graph *g = wg_graph_new();
    weights w = draw_weights(g, LSTM, true, true, false, &seed);
    wg_value *y =
        wg_lstm(wg_fill(g, WG_F64, WG_SHAPE(0, 3, INPUTS), 1), w.wi, w.wh, w.bi, w.bh, NULL);
    wg_plan *p = small_run(g, &y, 1, 1);
    assert_int_equal(wg_value_count(y), 0);
    assert_int_equal(y->shape.dim[1], 3);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void wrong_operands_are_refused_with_their_numbers(void **state)
{
    (void)state;
    wg_graph *g;
    wg_value *x;
#define FRESH                                                                                      \
    g = wg_graph_new();                                                                            \
    x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 4, 3));
#define W(name, ...) wg_input(g, name, WG_F32, WG_SHAPE(__VA_ARGS__))
    FRESH assert_null(wg_lstm(x, W("wi", 20, 3), W("wh", 20, 6), NULL, NULL, NULL));
    small_refused(g, "wh has 20 rows and 6 columns, must have 4 times as many rows as columns");
    FRESH assert_null(wg_gru(x, W("wi", 20, 3), W("wh", 15, 5), NULL, NULL, NULL));
    small_refused(g, "wi is [20,3], its axis 0 must be 15, not 20");
    FRESH assert_null(wg_rnn(x, W("wi", 5, 4), W("wh", 5, 5), NULL, NULL, NULL));
    small_refused(g, "wi is [5,4], its axis 1 must be 3, not 4");
    FRESH assert_null(wg_rnn(x, W("wi", 5, 3), W("wh", 5, 5), W("bi", 6), NULL, NULL));
    small_refused(g, "bi is [6], its axis 0 must be 5, not 6");
    FRESH assert_null(wg_rnn(x, W("wi", 5, 3), W("wh", 5, 5), NULL, NULL,
                             &(wg_recurrent_options){.h = W("h", 3, 5)}));
    small_refused(g, "h is [3,5], its axis 0 must be 2, not 3");
    FRESH assert_null(wg_gru(x, W("wi", 15, 3), W("wh", 15, 5), NULL, NULL,
                             &(wg_recurrent_options){.c = W("c", 2, 5)}));
    small_refused(g, "gru: it has no state c");
    FRESH assert_null(wg_lstm(x, W("wi", 20, 3), W("wh", 20, 5), NULL, NULL,
                              &(wg_recurrent_options){.relu = true}));
    small_refused(g, "lstm: it has no relu");
    FRESH assert_null(wg_gru(x, W("wi", 15, 3), W("wh", 15, 5), NULL, NULL,
                             &(wg_recurrent_options){.lengths = W("lengths", 2)}));
    small_refused(g, "lengths is f32, must be i32 or i64");
    FRESH assert_null(
        wg_lstm(x, W("wi", 20, 3), W("wh", 20, 5), NULL, NULL,
                &(wg_recurrent_options){.lengths = wg_input(g, "l", WG_I32, WG_SHAPE(3))}));
    small_refused(g, "lengths is [3], its axis 0 must be 2, not 3");
    FRESH assert_null(
        wg_lstm_cell(x, W("h", 2, 5), W("c", 2, 5), W("wi", 20, 3), W("wh", 20, 5), NULL, NULL));
    small_refused(g, "x is [2,4,3] of rank 3, must be of rank 2");
#undef W
#undef FRESH
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_their_equations),
        cmocka_unit_test(a_sequence_is_its_cell_repeated),
        cmocka_unit_test(reverse_is_a_flip_before_and_after),
        cmocka_unit_test(a_shorter_sequence_is_what_it_is_alone),
        cmocka_unit_test(an_empty_batch_gives_empty_results),
        cmocka_unit_test(wrong_operands_are_refused_with_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
