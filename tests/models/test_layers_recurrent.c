/* Recurrent layers: the names of their parameters, states from run to run, and what they refuse. */
#include "tests/layers.h"

static void recurrent_layers_name_their_parameters(void **state)
{
    (void)state;
    static const char *const names[] = {
        "plain/wi",
        "plain/wh",
        "plain/bi",
        "gru/wi",
        "gru/wh",
        "gru/bi",
        "gru/bh",
        "deep/layer0/forward/wi",
        "deep/layer0/forward/wh",
        "deep/layer0/backward/wi",
        "deep/layer0/backward/wh",
        "deep/layer1/forward/wi",
        "deep/layer1/forward/wh",
        "deep/layer1/backward/wi",
        "deep/layer1/backward/wh",
    };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 8)), *w[32];
    wg_lstm_layer("plain", x, 5);
    wg_recurrent_layer("gru", WG_GRU, x, 5, NULL);
    wg_recurrence r = wg_recurrent_layer(
        "deep", WG_LSTM, x, 5,
        &(wg_recurrent_layer_options){
            .layers = 2, .direction = WG_READ_BOTH, .no_bias = true, .dropout = 0.5});
    check_that(wg_graph_status(g) == WG_OK, "%s", wg_graph_message(g));
    assert_int_equal(wg_graph_parameters(g, w, 32), WG_COUNT(names));
    for (size_t i = 0; i < WG_COUNT(names); i++)
        assert_string_equal(w[i]->name, names[i]);
    layers_check_shape(r.y, WG_SHAPE(2, 3, 10));
    layers_check_shape(r.h, WG_SHAPE(4, 2, 5));
    layers_check_shape(r.c, WG_SHAPE(4, 2, 5));
    assert_string_equal(wg_scope_path(g), "");
    wg_graph_free(g);
}

/* Steps 0..5 in one run, or 0..2 and 3..5 in two that hand the states on. */
static void states_can_be_carried_from_run_to_run(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_reuse(g);
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 6, 3));
    wg_recurrence whole = wg_recurrent_layer("net", WG_LSTM, x, 4, NULL);
    wg_recurrence first = wg_recurrent_layer("net", WG_LSTM, wg_slice(x, 1, 0, 3, 1), 4, NULL);
    wg_recurrence second =
        wg_recurrent_layer("net", WG_LSTM, wg_slice(x, 1, 3, 6, 1), 4,
                           &(wg_recurrent_layer_options){.h = first.h, .c = first.c});
    wg_value *out[] = {whole.h, second.h, whole.c, second.c};
    for (int i = 0; i < 4; i++)
        wg_output(out[i], NULL);
    wg_plan *p = layers_plan(g, NULL);
    layers_run(p, 0);
    for (int i = 0; i < 4; i += 2)
        for (int64_t k = 0; k < 8; k++)
            assert_true(numbers_close(small_at(p, out[i], k), small_at(p, out[i + 1], k), 1e-14));
    assert_true(small_at(p, whole.h, 0) != 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void recurrent_layers_refuse_what_they_cannot_do(void **state)
{
    (void)state;
    static const struct {
        wg_recurrent_kind kind;
        int64_t features;
        wg_recurrent_layer_options o;
        bool h, c;
        const char *words;
    } bad[] = {
        {WG_LSTM, 0, {0}, false, false, "wg_recurrent_layer: 0 features, must be at least 1"},
        {WG_GRU, 4, {.layers = -1}, false, false, "-1 layers, must be 1 to 65536"},
        {WG_GRU, 4, {.dropout = 1}, false, false, "dropout is 1, must be in [0, 1)"},
        {WG_GRU, 4, {.direction = 7}, false, false, "direction 7 is not known"},
        {(wg_recurrent_kind)9, 4, {0}, false, false, "kind 9 is not known"},
        {WG_GRU, 4, {0}, false, true, "cell states c are given, but the layer is not an LSTM"},
        {WG_LSTM, 4, {.layers = 2}, true, false, "h is [1,2,4], must be [2,2,4]: layers times"},
        {WG_LSTM, 4, {.relu = true}, false, false, "it has no relu"},
    };
    for (int i = 0; i < WG_COUNT(bad); i++) {
        wg_graph *g = wg_graph_new();
        wg_recurrent_layer_options o = bad[i].o;
        wg_value *states = wg_input(g, "h", WG_F32, WG_SHAPE(1, 2, 4));
        o.h = bad[i].h ? states : NULL;
        o.c = bad[i].c ? states : NULL;
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 8));
        assert_null(wg_recurrent_layer("net", bad[i].kind, x, bad[i].features, &o).y);
        assert_non_null(strstr(wg_graph_message(g), "test_layers_recurrent.c:"));
        small_refused(g, bad[i].words);
    }
    assert_null(wg_recurrent_layer("net", WG_GRU, NULL, 4, NULL).y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrent_layers_name_their_parameters),
        cmocka_unit_test(states_can_be_carried_from_run_to_run),
        cmocka_unit_test(recurrent_layers_refuse_what_they_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
