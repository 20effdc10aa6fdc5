/* Layers and attention against PyTorch: results and gradients in double (golden/layers.py). */
#include "tests/golden/layers.h"
#include "tests/numbers.h"
#include "wengert.h"

enum { BATCH = 3, STEPS = 4, INPUTS = 2, UNITS = 2 };

/* Input j as the script draws it. */
static wg_value *drawn(wg_graph *g, int j, wg_shape shape, double scale)
{
    double x[256];
    assert_true(wg_shape_count(&shape) <= WG_COUNT(x));
    for (int64_t k = 0; k < wg_shape_count(&shape); k++)
        x[k] = scale * cos(0.3 * (double)k + j);
    return numbers(g, WG_F64, shape, x);
}

/* The sum of y[k] cos(0.9 k). */
static wg_value *weighted(wg_value *y)
{
    double x[256];
    assert_true(y && wg_value_count(y) <= WG_COUNT(x));
    for (int64_t k = 0; k < wg_value_count(y); k++)
        x[k] = cos(0.9 * (double)k);
    wg_value *w = numbers(wg_graph_of(y), WG_F64, y->shape, x);
    return wg_sum(wg_mul(y, w), WG_ALL_AXES, WG_DROP);
}

/* A plan of v[0..n) whose parameters the script's numbers fill, after one run. */
static wg_plan *planned(wg_graph *g, wg_value *const *v, size_t n, wg_store *store)
{
    wg_value *p[32];
    size_t count = wg_graph_parameters(g, p, WG_COUNT(p));
    wg_plan *plan;
    wg_plan_options o = {.store = store, .no_fold = true};
    for (size_t i = 0; i < n; i++)
        wg_output(v[i], NULL);
    check_that(wg_plan_create(&plan, g, &o) == WG_OK, "%s", wg_graph_message(g));
    assert_true(count <= WG_COUNT(p));
    for (size_t j = 0; j < count; j++)
        for (int64_t k = 0; k < wg_value_count(p[j]); k++)
            ((double *)wg_plan_data(plan, p[j]))[k] = 0.5 * sin(0.7 * (double)k + (double)j + 1);
    check_that(wg_plan_run(plan, 0) == WG_OK, "%s", wg_plan_message(plan));
    return plan;
}

static const double tolerance = 1e-13;
#define NEAR(what, plan, v, table) numbers_near(what, plan, v, table, WG_COUNT(table), tolerance)

/* ---- recurrent layers ------------------------------------------------------------------------ */

enum { Y, H, DX, DH, C, RESULTS };

static wg_plan *recurrent(wg_recurrent_kind kind, wg_recurrent_layer_options o,
                          wg_value *out[RESULTS])
{
    static const int64_t lengths[BATCH] = {2, 4, 1};
    int64_t states = (o.layers ? o.layers : 1) * (o.direction == WG_READ_BOTH ? 2 : 1);
    wg_graph *g = wg_graph_new();
    wg_value *in[2] = {drawn(g, 0, WG_SHAPE(BATCH, STEPS, INPUTS), 1),
                       drawn(g, 1, WG_SHAPE(states, BATCH, UNITS), 1)};
    o.lengths = wg_constant(g, WG_I64, WG_SHAPE(BATCH), lengths);
    o.h = in[1];
    o.c = kind == WG_LSTM ? drawn(g, 2, WG_SHAPE(states, BATCH, UNITS), 1) : NULL;
    wg_recurrence r = wg_recurrent_layer("net", kind, in[0], UNITS, &o);
    check_that(r.y != NULL, "%s", wg_graph_message(g));
    wg_value *loss = wg_add(weighted(r.y), weighted(r.h));
    if (kind == WG_LSTM)
        loss = wg_add(loss, weighted(r.c));
    out[Y] = r.y;
    out[H] = r.h;
    out[C] = r.c;
    assert_int_equal(wg_grad(loss, in, 2, &out[DX]), WG_OK);
    return planned(g, out, kind == WG_LSTM ? RESULTS : C, NULL);
}

static void end(wg_plan *p, wg_value *const *out)
{
    wg_graph *g = wg_graph_of(out[0]);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_stack_of_lstms_read_both_ways_is_pytorchs(void **state)
{
    (void)state;
    wg_value *out[RESULTS];
    wg_plan *p = recurrent(
        WG_LSTM, (wg_recurrent_layer_options){.layers = 2, .direction = WG_READ_BOTH}, out);
    NEAR("y", p, out[Y], lstm_y);
    NEAR("h", p, out[H], lstm_h);
    NEAR("c", p, out[C], lstm_c);
    NEAR("dx", p, out[DX], lstm_dx);
    NEAR("dh", p, out[DH], lstm_dh);
    end(p, out);
}

static void a_stack_of_grus_read_both_ways_is_pytorchs(void **state)
{
    (void)state;
    wg_value *out[RESULTS];
    wg_plan *p = recurrent(
        WG_GRU, (wg_recurrent_layer_options){.layers = 2, .direction = WG_READ_BOTH}, out);
    NEAR("y", p, out[Y], gru_y);
    NEAR("h", p, out[H], gru_h);
    NEAR("dx", p, out[DX], gru_dx);
    NEAR("dh", p, out[DH], gru_dh);
    end(p, out);
}

static void an_rnn_with_relu_is_pytorchs(void **state)
{
    (void)state;
    wg_value *out[RESULTS];
    wg_plan *p = recurrent(WG_RNN, (wg_recurrent_layer_options){.relu = true}, out);
    NEAR("y", p, out[Y], rnn_y);
    NEAR("h", p, out[H], rnn_h);
    NEAR("dx", p, out[DX], rnn_dx);
    NEAR("dh", p, out[DH], rnn_dh);
    end(p, out);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* y dq dk dv dbias */
static wg_plan *attention(wg_shape bias, wg_attention_attrs a, wg_value *out[5])
{
    wg_graph *g = wg_graph_new();
    wg_value *in[] = {drawn(g, 0, WG_SHAPE(2, 4, 3, 2), 2), drawn(g, 1, WG_SHAPE(2, 2, 5, 2), 2),
                      drawn(g, 2, WG_SHAPE(2, 2, 5, 2), 1), drawn(g, 3, bias, 1)};
    out[0] = wg_biased_attention(in[0], in[1], in[2], in[3], NULL, &a);
    assert_int_equal(wg_grad(weighted(out[0]), in, 4, out + 1), WG_OK);
    return planned(g, out, 5, NULL);
}

static void grouped_attention_with_a_bias_is_pytorchs(void **state)
{
    (void)state;
    wg_value *out[5];
    wg_plan *p = attention(WG_SHAPE(1, 4, 3, 5), (wg_attention_attrs){0}, out);
    NEAR("y", p, out[0], biased_y);
    NEAR("dq", p, out[1], biased_dq);
    NEAR("dk", p, out[2], biased_dk);
    NEAR("dv", p, out[3], biased_dv);
    NEAR("dbias", p, out[4], biased_dbias);
    end(p, out);
}

static void attention_in_a_window_is_pytorchs_with_a_mask(void **state)
{
    (void)state;
    wg_value *out[5];
    wg_plan *p = attention(WG_SHAPE(2, 1, 1, 5),
                           (wg_attention_attrs){.window = true, .left = 1, .right = 2}, out);
    NEAR("y", p, out[0], windowed_y);
    NEAR("dq", p, out[1], windowed_dq);
    NEAR("dk", p, out[2], windowed_dk);
    NEAR("dv", p, out[3], windowed_dv);
    NEAR("dbias", p, out[4], windowed_dbias);
    end(p, out);
}

/* ---- batch normalisation --------------------------------------------------------------------- */

/* One step of training, then evaluation in another graph of the same store. */
static void batchnorm_is_pytorchs_in_both_modes(void **state)
{
    (void)state;
    const wg_batchnorm_options o = {.momentum = 0.3};
    wg_store *store = wg_store_new(1);
    for (int training = 1; training >= 0; training--) {
        wg_graph *g = wg_graph_new();
        wg_value *x = drawn(g, 0, WG_SHAPE(3, 2, 2, 2), 1), *out[2];
        out[0] = wg_batchnorm_layer("norm", x, training, &o);
        assert_int_equal(wg_grad(weighted(out[0]), &x, 1, &out[1]), WG_OK);
        wg_plan *p = planned(g, out, 2, store);
        if (training) {
            NEAR("y", p, out[0], batchnorm_y);
            NEAR("dx", p, out[1], batchnorm_dx);
            NEAR("mean", p, wg_graph_find(g, "norm/running_mean"), batchnorm_mean);
            NEAR("var", p, wg_graph_find(g, "norm/running_var"), batchnorm_var);
        } else {
            NEAR("evaluated", p, out[0], batchnorm_evaluated);
        }
        end(p, out);
    }
    wg_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_of_lstms_read_both_ways_is_pytorchs),
        cmocka_unit_test(a_stack_of_grus_read_both_ways_is_pytorchs),
        cmocka_unit_test(an_rnn_with_relu_is_pytorchs),
        cmocka_unit_test(grouped_attention_with_a_bias_is_pytorchs),
        cmocka_unit_test(attention_in_a_window_is_pytorchs_with_a_mask),
        cmocka_unit_test(batchnorm_is_pytorchs_in_both_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
