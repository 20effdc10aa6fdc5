/* Transformers that cannot be built are refused, with the line of the call and the numbers that
 * disagree. */
#include "tests/transformers.h"

#include <math.h>

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    wg_transformer_config good, c;
    assert_true(wgi_transformer_variant(0, &good));
    struct {
        const char *words;
        wg_transformer_config c;
    } bad[32];
    int n = 0;
#define BAD(text, ...)                                                                             \
    (c = good, __VA_ARGS__, bad[n].words = (text), bad[n++].c = c, assert_true(n < 32))
    BAD("heads is 3, must divide d_model, which is 8", c.heads = 3);
    BAD("heads is 3, must divide d_model, which is 8", c.heads = 3, c.d_k = 2);
    BAD("d_v is -1", c.d_v = -1);
    BAD("d_k is 3, must be even", c.d_k = 3, c.positions = WG_POSITIONS_ROTARY);
    BAD("heads is 0", c.heads = 0);
    BAD("heads is -2", c.heads = -2);
    BAD("d_model is 9, must be even", c.d_model = 9, c.heads = 3);
    BAD("d_k is 3 (d_model / heads), must be even", c.d_model = 6,
        c.positions = WG_POSITIONS_ROTARY);
    BAD("which additive", c.positions = WG_POSITIONS_ROTARY, c.attention = WG_ATTENTION_ADDITIVE);
    BAD("attention_window is -1, must be from 0", c.attention_window = -1);
    BAD("attention_window is 3, must be 0 where attention is additive", c.attention_window = 3,
        c.attention = WG_ATTENTION_ADDITIVE);
    BAD("attention is 3", c.attention = 3);
    BAD("source_vocabulary is 7, target_vocabulary 11", c.source_vocabulary = 7);
    BAD("source_vocabulary is 0", c.source_vocabulary = 0);
    BAD("encoder_layers is -1, must be from 0", c.encoder_layers = -1);
    BAD("decoder_layers is 0", c.decoder_layers = 0);
    BAD("d_ff is -1", c.d_ff = -1);
    BAD("max_positions is 0", c.max_positions = 0);
    BAD("first_position is -1", c.first_position = -1);
    BAD("positions is 5", c.positions = 5);
    BAD("final_norm is 3", c.final_norm = 3);
    BAD("activation is 0", c.activation = WG_ACTIVATION_NONE);
    BAD("tying is 3", c.tying = 3);
    BAD("dropout is 1, must be in [0, 1)", c.dropout = 1);
    BAD("attention_dropout is nan", c.attention_dropout = (double)NAN);
    BAD("label_smoothing is -0.1", c.label_smoothing = -0.1);
    BAD("dtype is i32, must be f32 or f64", c.dtype = WG_I32);
#undef BAD
    for (int i = 0; i < n; i++) {
        char line[64];
        wg_graph *g = wg_graph_new();
        wg_transformer m = wg_transformer_begin(g, &bad[i].c, WG_MODE_TRAINING);
        snprintf(line, sizeof line, "(test_transformer_errors.c:%d)", __LINE__ - 1);
        wg_transformer_inputs in = wg_transformer_inputs_new(g, 1, 2, 3);
        assert_null(wg_transformer_loss(&m, &in, NULL));
        assert_int_equal(wg_graph_status(g), WG_EINVAL);
        check_that(strstr(wg_graph_message(g), bad[i].words) && strstr(wg_graph_message(g), line),
                   "\"%s\" does not say \"%s\" %s", wg_graph_message(g), bad[i].words, line);
        wg_graph_free(g);
    }
    wg_graph *g = wg_graph_new();
    wg_transformer_begin(g, NULL, WG_MODE_TRAINING);
    assert_non_null(strstr(wg_graph_message(g), "no configuration"));
    wg_graph_free(g);
    assert_null(wg_transformer_find("huge"));
    assert_null(wg_transformer_find(NULL));
    assert_null(wg_transformer_config_at(4));
}

/* A sentence longer than the learned table: an error, where other positions have no end. */
static void sentences_beyond_the_learned_positions_are_refused(void **state)
{
    (void)state;
    wg_transformer_config c;
    for (size_t variant = 0; wgi_transformer_variant(variant, &c); variant++) {
        bool learned = c.positions == WG_POSITIONS_LEARNED;
        const int64_t lengths[][2] = {{c.max_positions, c.max_positions},
                                      {c.max_positions + 1, c.max_positions},
                                      {c.max_positions, c.max_positions + 1}};
        for (int i = 0; i < 3; i++) {
            wg_graph *g = wg_graph_new();
            wg_transformer m = wg_transformer_begin(g, &c, WG_MODE_TRAINING);
            wg_transformer_inputs in =
                wg_transformer_inputs_new(g, 1, lengths[i][0], lengths[i][1]);
            bool refused = wg_transformer_loss(&m, &in, NULL) == NULL;
            bool beyond = i == 2 || (i == 1 && c.encoder_layers > 0);
            check_that(refused == (learned && beyond), "%s, case %d: %s", c.name, i,
                       wg_graph_message(g));
            assert_true(!refused ||
                        strstr(wg_graph_message(g),
                               "17 tokens from token 0 on, but there are 16 learned positions"));
            wg_graph_free(g);
        }
    }
}

/* A decoder alone has nothing to encode and no memory to read. */
static void a_decoder_alone_has_no_encoder(void **state)
{
    (void)state;
    wg_transformer_config c;
    assert_true(wgi_transformer_variant(0, &c));
    c.encoder_layers = 0;
    c.source_vocabulary = 0;
    for (int i = 0; i < 2; i++) {
        wg_graph *g = wg_graph_new();
        wg_transformer m = wg_transformer_begin(g, &c, WG_MODE_INFERENCE);
        wg_value *ids = wg_input(g, "ids", WG_I32, WG_SHAPE(2, 3));
        wg_value *memory = wg_input(g, "memory", WG_F32, WG_SHAPE(2, 3, c.d_model));
        assert_true(m.source_embedding == NULL && m.target_embedding == m.output_weight);
        assert_string_equal(m.target_embedding->name, "embedding/weight");
        wg_value *y =
            i ? wg_transformer_decode(&m, ids, memory, NULL) : wg_transformer_encode(&m, ids, NULL);
        assert_null(y);
        assert_int_equal(wg_graph_status(g), WG_EINVAL);
        check_that(strstr(wg_graph_message(g), i ? "reads no memory" : "has no encoder") != NULL,
                   "%s", wg_graph_message(g));
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(sentences_beyond_the_learned_positions_are_refused),
        cmocka_unit_test(a_decoder_alone_has_no_encoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
