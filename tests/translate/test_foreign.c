/* Models of other programs: what they compute, in numbers of their own; there and back. */
#define FOLDERS "foreign"
#include "tests/translate/foreign.h"

/* ---- numbers of others ----------------------------------------------------------------------- */

static void models_of_others_compute_what_they_did(void **state)
{
    (void)state;
    static const struct {
        const char *layout, *folder, *vocabs;
        size_t tensors, numbers;
    } models[] = {
        {"fairseq", "fairseq", NULL, 59, 14},
        {"marian", "marian", "vocab.json", 60, 11},
        {"pytorch", "torch", NULL, 51, 12},
        {"torch", "torch_prenorm", NULL, 51, 12},
    };
    for (size_t i = 0; i < WG_COUNT(models); i++) {
        char path[400], vocabs[500], *line;
        wg_error error;
        wg_foreign_report report;
        size_t size, compared = 0;
        snprintf(path, sizeof path, "%s/%s", FOREIGN, models[i].folder);
        snprintf(vocabs, sizeof vocabs, "%s/%s", path, models[i].vocabs ? models[i].vocabs : "");
        check_that(import_from(models[i].layout, path, "", models[i].vocabs ? vocabs : NULL,
                               &report, &error) == WG_OK,
                   "%s: %s", models[i].folder, error.text);
        wg_translator *t = opened(MADE);
        char *expected = contents(path, "expected.txt", &size);
        for (line = expected; *line; line += strlen(line) + 1) {
            char *end = strchr(line, '\n');
            *end = '\0';
            char copy[2000];
            snprintf(copy, sizeof copy, "%s", line);
            compared += check_line(t, copy);
        }
        check_that(compared == models[i].numbers, "%s: %zu numbers", models[i].folder, compared);
        check_that(report.tensors == models[i].tensors, "%s: %zu tensors", models[i].folder,
                   report.tensors);
        free(expected);
        wg_translator_free(t);
    }
}

/* What config.json and the tensors say of the network. */
static void settings_are_those_of_the_model(void **state)
{
    (void)state;
    static const struct {
        const char *layout, *folder, *name, *value;
    } expected[] = {
        {"marian", "marian", "positions", "paper-halves"},
        {"marian", "marian", "activation", "silu"},
        {"marian", "marian", "decoder-start", "pad"},
        {"marian", "marian", "beam-size", "6"},
        {"marian", "marian", "output-bias", "true"},
        {"marian", "marian", "tying", "all"},
        {"fairseq", "fairseq", "positions", "halves"},
        {"fairseq", "fairseq", "first-position", "2"},
        {"fairseq", "fairseq", "decoder-start", "eos"},
        {"fairseq", "fairseq", "tying", "all"},
        {"fairseq", "fairseq", "final-norm", "pre-norm"},
        {"torch", "torch", "source-marks", "both"},
        {"torch", "torch", "final-norm", "always"},
        {"torch", "torch", "tying", "none"},
        {"torch", "torch_prenorm", "final-norm", "pre-norm"},
        {"torch", "torch_prenorm", "pre-norm", "true"},
        {"torch", "torch_prenorm", "activation", "gelu"},
        {"torch", "torch_prenorm", "encoder-layers", "2"},
        {"torch", "torch_prenorm", "decoder-layers", "1"},
    };
    for (size_t i = 0; i < WG_COUNT(expected); i++) {
        char path[400], vocabs[500], *value;
        wg_error error;
        wg_settings s;
        snprintf(path, sizeof path, "%s/%s", FOREIGN, expected[i].folder);
        snprintf(vocabs, sizeof vocabs, "%s/vocab.json", path);
        bool words = strcmp(expected[i].folder, "marian") == 0;
        check_that(import_from(expected[i].layout, path, "", words ? vocabs : NULL, NULL, &error) ==
                       WG_OK,
                   "%s", error.text);
        assert_int_equal(wg_folder_settings(&s, MADE, &error), WG_OK);
        assert_int_equal(wg_settings_get(&s, wg_option_find(expected[i].name), &value), WG_OK);
        check_that(strcmp(value, expected[i].value) == 0, "%s: %s is %s", expected[i].folder,
                   expected[i].name, value);
        free(value);
        wg_settings_free(&s);
    }
}

/* ---- there and back -------------------------------------------------------------------------- */

static const char *const lines[] = {"forty-two", "one thousand three", "", "nine hundred eleven"};
enum { LINES = WG_COUNT(lines) };

/* The same tokens with the same scores, but for the rounding of sums over tokens in another
 * order; returns how many. */
static size_t compare_scores(const wg_translation *x, const wg_translation *y, size_t n)
{
    size_t compared = 0;
    for (size_t i = 0; i < n; i++) {
        const wg_hypothesis *a = &x[i].hypothesis, *b = &y[i].hypothesis;
        assert_string_equal(x[i].text, y[i].text);
        assert_true(a->n == b->n && !a->token_scores == !b->token_scores);
        for (size_t k = 0; a->token_scores && k < a->n; k++, compared++) {
            double p = a->token_scores[k], q = b->token_scores[k];
            assert_true(fabs(p - q) <= 1e-6 * fmax(1, fabs(p)));
        }
    }
    return compared;
}

/* Both translate each line into the same text with the same scores, and score others alike. */
static void check_same_translations(const char *a, const char *b)
{
    static const char *const targets[LINES] = {"zweiundvierzig", "eintausenddrei", "", "elf"};
    const wg_search_options o = {.beam = 3, .alpha = 1, .max_length = 12};
    wg_translation *found[2], *given[2];
    wg_translator *t[2] = {opened(a), opened(b)};
    for (int i = 0; i < 2; i++) {
        check_that(wg_translator_run(t[i], lines, LINES, &o, &found[i]) == WG_OK, "%s",
                   wg_translator_message(t[i]));
        check_that(wg_translator_score(t[i], lines, targets, LINES, &o, &given[i]) == WG_OK, "%s",
                   wg_translator_message(t[i]));
    }
    assert_true(compare_scores(found[0], found[1], LINES) > 0);
    assert_true(compare_scores(given[0], given[1], LINES) > LINES - 1);
    for (int i = 0; i < 2; i++) {
        wg_translations_free(found[i], LINES);
        wg_translations_free(given[i], LINES);
        wg_translator_free(t[i]);
    }
}

/* A matrix with a row for each token. */
static int side_of(const char *name)
{
    return strcmp(name, "source_embedding/weight") == 0                           ? 0
           : strstr(name, "embedding/weight") || strncmp(name, "output/", 7) == 0 ? 1
                                                                                  : -1;
}

/* The same numbers: rows of tokens by the texts of the tokens, the rest as it is. */
static size_t compare_tensor(const wg_file_tensor *x, const wg_file_tensor *y,
                             const wg_vocabularies *va, const wg_vocabularies *vb)
{
    int side = side_of(x->name);
    check_that(y && x->size == y->size && x->dtype == y->dtype, "%s", x->name);
    if (side < 0) {
        check_that(memcmp(x->data, y->data, x->size) == 0, "%s differs", x->name);
        return 1;
    }
    const wg_vocabulary *a = va->side[side], *b = vb->side[side];
    size_t n = (size_t)wg_vocabulary_size(a), row = x->size / n, same = 0;
    for (int32_t i = 0; i < (int32_t)n; i++)
        for (int32_t k = 0; k < (int32_t)n; k++)
            if (strcmp(wg_vocabulary_piece(a, i), wg_vocabulary_piece(b, k)) == 0) {
                check_that(memcmp((const char *)x->data + (size_t)i * row,
                                  (const char *)y->data + (size_t)k * row, row) == 0,
                           "%s: the rows of %s differ", x->name, wg_vocabulary_piece(a, i));
                same++;
            }
    assert_int_equal(same, n);
    return 1;
}

static void check_same_weights(const char *a, const char *b)
{
    wg_error error;
    wg_vocabularies va, vb;
    wg_safetensors *f = weights_of(a), *g = weights_of(b);
    assert_int_equal(wg_vocabularies_open(&va, a, &error), WG_OK);
    assert_int_equal(wg_vocabularies_open(&vb, b, &error), WG_OK);
    size_t compared = 0;
    for (size_t i = 0; i < wg_safetensors_count(f); i++) {
        const wg_file_tensor *t = wg_safetensors_at(f, i);
        compared += compare_tensor(t, wg_safetensors_find(g, t->name), &va, &vb);
    }
    assert_true(compared > 20 && compared == wg_safetensors_count(g));
    wg_safetensors_close(f);
    wg_safetensors_close(g);
    wg_vocabularies_free(&va);
    wg_vocabularies_free(&vb);
}

/* A model that has learnt a little. */
static void train_model(const char *folder, const char *options)
{
    wg_settings s = small_training(folder, options);
    remove_folder(folder);
    train(&s, NULL, NULL);
    wg_settings_free(&s);
}

static void exported_and_imported_models_are_the_same(void **state)
{
    (void)state;
#ifdef WG_HAVE_SENTENCEPIECE
    static const char pieces[] = "vocab-kind bpe; vocab-size 70; exponential-smoothing 0";
#else
    static const char pieces[] = "vocab-kind words; vocab-size 70; exponential-smoothing 0";
#endif
    static const char *const cases[][2] = {
        {"torch", "vocab-kind chars"},
        {"torch", "vocab-kind chars; fused-projections true; pre-norm true; activation gelu-tanh"},
        {"torch", "final-norm always; tying none; output-bias true; source-marks none"},
        {"torch", "unscaled-embeddings true; tying output; positions learned; source-marks both; "
                  "max-length 60; max-positions 64"},
        {"torch", "positions paper-halves; first-position 3; pre-norm true; final-norm never"},
        {"fairseq", "positions halves; first-position 2; decoder-start eos"},
        {"fairseq", "positions learned; first-position 2; decoder-start eos; pre-norm true; tying "
                    "none; fused-projections true; max-length 60; max-positions 64"},
        {"marian", "positions paper-halves; decoder-start pad; activation silu; output-bias true"},
        {"marian", "decoder-start bos; first-position 1; tying none; output-bias true"},
        {"marian", "decoder-start eos; positions halves; tying output; output-bias true"},
        {"marian", "decoder-start pad; positions halves"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_error error;
        wg_foreign_report report;
        char options[500];
        const char *layout = cases[i][0];
        snprintf(options, sizeof options, "vocab-kind words; %s; %s", pieces, cases[i][1]);
        train_model(FILES, options);
        remove_folder(WRITTEN);
        check_that(wg_foreign_export(layout, FILES, NULL, WRITTEN, &report, &error) == WG_OK, "%s",
                   error.text);
        assert_true(report.tensors > 20);
        wg_settings s = settings_for(MADE, "");
        remove_folder(MADE);
        const wg_foreign_options o = {.layout = layout, .path = WRITTEN, .settings = &s};
        check_that(wg_foreign_import(&o, NULL, &error) == WG_OK, "%s: %s", cases[i][1], error.text);
        check_same_weights(FILES, MADE);
        check_same_translations(FILES, MADE);
        wg_settings_free(&s);
    }
}

/* An imported model is trained further where it is, with a rate of its own. */
static void imported_models_are_trained(void **state)
{
    (void)state;
    wg_error error;
    wg_settings s, asked;
    train_model(FILES, "vocab-kind words; vocab-size 60");
    remove_folder(WRITTEN);
    assert_int_equal(wg_foreign_export("torch", FILES, NULL, WRITTEN, NULL, &error), WG_OK);
    check_that(import_from("torch", WRITTEN, "", NULL, NULL, &error) == WG_OK, "%s", error.text);
    assert_int_equal(wg_folder_settings(&s, MADE, &error), WG_OK);
    assert_string_equal(s.pretrained, MADE "/" WG_FILE_MODEL);
    asked = settings_for(MADE, "numbers 150; learn-rate 0.002; after 3u; threads 2; valid-freq 0; "
                               "disp-freq 0; dropout 0.2; mini-batch-words 512");
    check_that(wg_settings_override(&s, &asked, &error) == WG_OK, "%s", error.text);
    wg_settings_free(&asked);
    asked = settings_for(MADE, "d-model 32; heads 4");
    assert_int_equal(wg_settings_override(&s, &asked, &error), WG_EINVAL);
    check_that(strstr(error.text, "d-model") && strstr(error.text, "heads"), "%s", error.text);
    train(&s, NULL, NULL);
    wg_settings_free(&asked);
    wg_settings_free(&s);
    assert_int_equal(wg_folder_settings(&s, MADE, &error), WG_OK);
    assert_null(s.pretrained);
    assert_true(s.schedule.rate == 0.002);
    wg_settings_free(&s);
    wg_safetensors *f = weights_of(FILES), *g = weights_of(MADE);
    const wg_file_tensor *x = wg_safetensors_find(f, "embedding/weight"),
                         *y = wg_safetensors_find(g, "embedding/weight");
    assert_true(x && y && x->size == y->size && memcmp(x->data, y->data, x->size) != 0);
    wg_safetensors_close(f);
    wg_safetensors_close(g);
}

/* Every option at fault is told. */
static void what_a_layout_cannot_have(void **state)
{
    (void)state;
    static const struct {
        const char *layout, *options, *expected[3];
    } cases[] = {
        {"fairseq", "gated true; norm rms", {"gated:", "norm:", "decoder-start:"}},
        {"fairseq",
         "vocab-kind chars; positions halves; first-position 2; decoder-start eos",
         {"into characters"}},
        {"marian", "pre-norm true; positions rotary", {"pre-norm:", "positions:"}},
        {"torch", "attention additive; d-k 4; d-v 4", {"attention:", "d-k:", "d-v:"}},
        {"torch",
         "positions learned; first-position 1; max-length 60; max-positions 64",
         {"first-position:"}},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_error error;
        train_model(FILES, cases[i].options);
        assert_int_equal(wg_foreign_export(cases[i].layout, FILES, NULL, WRITTEN, NULL, &error),
                         WG_EUNSUPPORTED);
        for (int k = 0; k < 3 && cases[i].expected[k]; k++)
            check_that(strstr(error.text, cases[i].expected[k]) != NULL, "%s: %s", cases[i].options,
                       error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_of_others_compute_what_they_did),
        cmocka_unit_test(settings_are_those_of_the_model),
        cmocka_unit_test(exported_and_imported_models_are_the_same),
        cmocka_unit_test(imported_models_are_trained),
        cmocka_unit_test(what_a_layout_cannot_have),
    };
    return cmocka_run_group_tests(tests, drop_folders, drop_folders);
}
