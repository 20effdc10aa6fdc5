/* Models of other programs: what they compute, in numbers of their own; there and back; and all
 * that does not fit. */
#include "tests/training.h"
#include "wengert/translate/foreign.h"
#include "wengert/translate/translator.h"

#include <math.h>
#include <sys/stat.h>

static const char MADE[] = "foreign_made", WRITTEN[] = "foreign_written", FILES[] = "foreign_files";

static wg_settings settings_for(const char *folder, const char *options)
{
    wg_settings s;
    assert_int_equal(wg_settings_init(&s), WG_OK);
    set(&s, "model", folder);
    set_all(&s, options);
    return s;
}

/* Imports into an empty folder. */
static wg_status import_from(const char *layout, const char *path, const char *options,
                             const char *vocabs, wg_foreign_report *report, wg_error *error)
{
    remove_folder(MADE);
    wg_settings s = settings_for(MADE, options);
    if (vocabs)
        set(&s, "vocabs", vocabs);
    const wg_foreign_options o = {.layout = layout, .path = path, .settings = &s};
    wg_status status = wg_foreign_import(&o, report, error);
    wg_settings_free(&s);
    return status;
}

static wg_translator *opened(const char *folder)
{
    wg_translator *t = NULL;
    wg_error error;
    const wg_translator_options o = {.threads = 2};
    check_that(wg_translator_open(&t, folder, &o, &error) == WG_OK, "%s", error.text);
    return t;
}

/* ---- numbers of others ----------------------------------------------------------------------- */

/* "SOURCE ||| TARGET ||| NUMBERS": scores the pair; returns how many numbers were compared. */
static size_t check_line(wg_translator *t, char *line)
{
    static const char bar[] = " ||| ";
    char *target = strstr(line, bar), *numbers = target ? strstr(target + 5, bar) : NULL;
    assert_non_null(numbers);
    *target = *numbers = '\0';
    target += 5;
    numbers += 5;
    wg_translation *found;
    check_that(wg_translator_score(t, (const char *const[]){line}, (const char *const[]){target}, 1,
                                   NULL, &found) == WG_OK,
               "%s", wg_translator_message(t));
    size_t n = found->hypothesis.n;
    for (size_t i = 0; i < n; i++) {
        char *end;
        double expected = strtod(numbers, &end), got = found->hypothesis.token_scores[i];
        assert_true(end != numbers);
        check_that(fabs(expected - got) <= 1e-5, "%s: number %zu is %.7f, expected %.7f", line, i,
                   got, expected);
        numbers = end;
    }
    check_that(strspn(numbers, " \r\n") == strlen(numbers), "%s: more numbers: %s", line, numbers);
    wg_translations_free(found, 1);
    return n;
}

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
        for (size_t k = 0; a->token_scores && k < a->n; k++, compared++)
            assert_true(fabs(a->token_scores[k] - b->token_scores[k]) <=
                        1e-6 * fmax(1, fabs(a->token_scores[k])));
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

static wg_safetensors *weights_of(const char *folder)
{
    wg_error error;
    wg_safetensors *f = NULL;
    char *path = wg_folder_path(folder, WG_FILE_MODEL);
    check_that(wg_safetensors_open(&f, path, &error) == WG_OK, "%s", error.text);
    free(path);
    return f;
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
#ifndef WG_HAVE_SENTENCEPIECE
        if (strcmp(layout, "marian") == 0)
            set(&s, "vocabs", "foreign_written/vocab.json");
#endif
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
    assert_string_equal(s.pretrained, "foreign_made/model.safetensors");
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

/* ---- what does not fit ----------------------------------------------------------------------- */

/* The tensors of the model of torch in FILES, changed by `change` and with other names. */
typedef void changer(wg_tensor *list, size_t *n);

static void write_changed(changer *change, const char *config)
{
    char source[400], *path;
    snprintf(source, sizeof source, "%s/torch", FOREIGN);
    wg_error error;
    wg_safetensors *f = weights_of(source);
    size_t n = wg_safetensors_count(f), kept = n;
    wg_tensor *list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        const wg_file_tensor *t = wg_safetensors_at(f, i);
        list[i] = (wg_tensor){strdup(t->name), t->dtype, t->shape, malloc(t->size + 8)};
        memcpy(list[i].data, t->data, t->size);
    }
    if (change)
        change(list, &kept);
    remove_folder(FILES);
    assert_int_equal(wg_folder_make(FILES, &error), WG_OK);
    path = wg_folder_path(FILES, WG_FILE_MODEL);
    check_that(wg_safetensors_write(path, list, kept, NULL, 0, &error) == WG_OK, "%s", error.text);
    free(path);
    for (size_t i = 0; i < n; i++) {
        free((char *)(uintptr_t)list[i].name);
        free(list[i].data);
    }
    free(list);
    wg_safetensors_close(f);
    path = wg_folder_path(FILES, "config.json");
    FILE *out = fopen(path, "w");
    fputs(config ? config : "{\"nhead\": 2}", out);
    fclose(out);
    free(path);
    for (int side = 0; side < 2; side++) {
        size_t size;
        const char *name = side ? "vocab.target.txt" : "vocab.source.txt";
        char *text = contents(source, name, &size);
        path = wg_folder_path(FILES, "%s", name);
        out = fopen(path, "w");
        fwrite(text, 1, size, out);
        fclose(out);
        free(path);
        free(text);
    }
}

static size_t place_of(const wg_tensor *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return i;
    fail();
    return 0;
}

static void rename_tensor(wg_tensor *t, const char *name)
{
    free((char *)(uintptr_t)t->name);
    t->name = strdup(name);
}

#define IN_PROJ "transformer.encoder.layers.1.self_attn.in_proj_weight"
#define LINEAR1 "transformer.decoder.layers.0.linear1.weight"

/* The tensor takes the last place, which is not written. */
static void drop(wg_tensor *list, size_t *n, const char *name)
{
    size_t i = place_of(list, *n, name);
    wg_tensor t = list[i];
    list[i] = list[--*n];
    list[*n] = t;
}

static void miss_two(wg_tensor *list, size_t *n)
{
    drop(list, n, IN_PROJ);
    drop(list, n, "transformer.decoder.norm.bias");
}

static void rename_one(wg_tensor *list, size_t *n)
{
    rename_tensor(&list[place_of(list, *n, LINEAR1)], "transformer.decoder.layers.0.other.weight");
}

static void reshape_one(wg_tensor *list, size_t *n)
{
    wg_tensor *t = &list[place_of(list, *n, IN_PROJ)];
    t->shape = WG_SHAPE(8, 24);
}

static void make_whole_numbers(wg_tensor *list, size_t *n)
{
    list[place_of(list, *n, LINEAR1)].dtype = WG_I32;
}

static void make_nan(wg_tensor *list, size_t *n)
{
    ((float *)list[place_of(list, *n, LINEAR1)].data)[3] = NAN;
}

static void number_a_layer_too_high(wg_tensor *list, size_t *n)
{
    rename_tensor(&list[place_of(list, *n, LINEAR1)],
                  "transformer.decoder.layers.999999999.linear1.weight");
}

static void lose_a_final_norm(wg_tensor *list, size_t *n)
{
    drop(list, n, "transformer.decoder.norm.bias");
    drop(list, n, "transformer.decoder.norm.weight");
}

static void lose_embeddings(wg_tensor *list, size_t *n)
{
    drop(list, n, "src_tok_emb.embedding.weight");
    drop(list, n, "tgt_tok_emb.embedding.weight");
    drop(list, n, "generator.weight");
    drop(list, n, "generator.bias");
}

static void contradict_a_name(wg_tensor *list, size_t *n)
{
    wg_tensor *t = &list[place_of(list, *n, "positional_encoding.pos_embedding")];
    rename_tensor(t, "tgt_embedding.weight");
    t->shape = WG_SHAPE(10, 8);
}

static void prefix_all(wg_tensor *list, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        char name[200];
        snprintf(name, sizeof name, "module.%s", list[i].name);
        rename_tensor(&list[i], name);
    }
}

static void keep_all(wg_tensor *list, size_t *n)
{
    (void)list, (void)n;
}

static void all_that_does_not_fit_is_told(void **state)
{
    (void)state;
    static const struct {
        changer *change;
        const char *config;
        wg_status status;
        const char *expected[3];
    } cases[] = {
        {miss_two,
         NULL,
         WG_EDATA,
         {IN_PROJ ": expected it, got none", "transformer.decoder.norm.bias: expected it"}},
        {rename_one,
         NULL,
         WG_EDATA,
         {LINEAR1 ": expected it", "decoder.layers.0.other.weight [12,8]: expected none"}},
        {reshape_one, NULL, WG_EDATA, {IN_PROJ ": expected floats [24,8], got F32 [8,24]"}},
        {make_whole_numbers, NULL, WG_EDATA, {LINEAR1 ": expected floats [12,8], got I32 [12,8]"}},
        {make_nan, NULL, WG_ENONFINITE, {"decoder/layer0/ff/inner/weight: element 3 is"}},
        {number_a_layer_too_high, NULL, WG_EDATA, {"layers.999999999.linear1.weight: expected a"}},
        {lose_a_final_norm, NULL, WG_EDATA, {"a norm at the end of both stacks"}},
        {lose_embeddings, NULL, WG_EDATA, {"expected an embedding, such as transformer.src_emb"}},
        {contradict_a_name,
         NULL,
         WG_EDATA,
         {"tensors tgt_embedding.weight and tgt_tok_emb.embedding.weight: expected the same"}},
        {keep_all, "{}", WG_EDATA, {"give --heads N"}},
        {keep_all, "{\"nhead\": 3}", WG_EDATA, {"heads is 3, must divide"}},
        {keep_all,
         "{\"nhead\": 2, \"d_model\": 1000000000000}",
         WG_EDATA,
         {"config.json: d_model: d-model: expected"}},
        {keep_all,
         "{\"nhead\": 2, \"d_model\": 512, \"num_encoder_layers\": 6}",
         WG_EDATA,
         {"d-model: expected 512, by", "got 8 by", "encoder-layers: expected 6"}},
        {keep_all, "{\"nhead\": \"two\"}", WG_EDATA, {"config.json: nhead: heads: expected"}},
        {keep_all, "{\"nhead\": 2, \"activation\": \"snake\"}", WG_EDATA, {"got 'snake'"}},
        {keep_all,
         "{\"nhead\": 2, \"wengert\": {\"heads\": 4}}",
         WG_EDATA,
         {"but another key says otherwise of heads"}},
        {keep_all, "{\"nhead\": 2", WG_EDATA, {"config.json: byte 11: expected '}'"}},
        {keep_all, "[2]", WG_EDATA, {"config.json: byte 0: expected '{'"}},
        {keep_all,
         "{\"a\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
         "]]]]]}",
         WG_EDATA,
         {"at most 32 values in each other"}},
        {keep_all,
         "{\"nhead\": 2, \"decoder_start_token_id\": 7}",
         WG_EDATA,
         {"decoder_start_token_id: expected the id"}},
        {keep_all, "{\"nhead\": 2, \"pad_token_id\": 3}", WG_EDATA, {"pad_token_id: expected 1"}},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_error error;
        write_changed(cases[i].change, cases[i].config);
        wg_status status = import_from("torch", FILES, "", NULL, NULL, &error);
        check_that(status == cases[i].status, "case %zu: %s: %s", i, wg_status_text(status),
                   error.text);
        for (int k = 0; k < 3 && cases[i].expected[k]; k++)
            check_that(strstr(error.text, cases[i].expected[k]) != NULL, "case %zu: no '%s' in %s",
                       i, cases[i].expected[k], error.text);
        struct stat s;
        assert_true(stat(MADE, &s) != 0); /* nothing was written */
    }
}

/* Other names for the same tensors, keys that say nothing, an option for what config.json lacks. */
static void variations(void **state)
{
    (void)state;
    static const struct {
        changer *change;
        const char *config, *options;
    } cases[] = {
        {prefix_all, NULL, ""},
        {keep_all, "{}", "heads 2"},
        {keep_all, "{\"nhead\": 4}", "heads 2"},
        {keep_all,
         " { \"nhead\" : 2 , \"other\" : { \"a\" : [ 1 , null , true ] } , \"x\" : null } ", ""},
    };
    char path[400];
    snprintf(path, sizeof path, "%s/torch", FOREIGN);
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_error error;
        write_changed(cases[i].change, cases[i].config);
        check_that(import_from("torch", FILES, cases[i].options, NULL, NULL, &error) == WG_OK,
                   "case %zu: %s", i, error.text);
        wg_translator *t = opened(MADE);
        char line[] = "the house is green ||| das haus ist sehr grün ! ||| ", *expected;
        size_t size;
        char whole[1000];
        expected = contents(path, "expected.txt", &size);
        expected[strcspn(expected, "\n")] = '\0';
        check_that(strncmp(expected, line, strlen(line)) == 0, "%s", expected);
        snprintf(whole, sizeof whole, "%s", expected);
        assert_int_equal(check_line(t, whole), 7);
        free(expected);
        wg_translator_free(t);
    }
}

/* Every prefix of the file, and every folder that is none, is refused. */
static void files_that_are_cut_off(void **state)
{
    (void)state;
    wg_error error;
    size_t size, refused = 0;
    write_changed(NULL, NULL);
    char *bytes = contents(FILES, WG_FILE_MODEL, &size), *path = wg_folder_path(FILES, "cut");
    for (size_t n = 0; n < size; n += n < 64 ? 1 : 997) {
        FILE *f = fopen(path, "wb");
        fwrite(bytes, 1, n, f);
        fclose(f);
        assert_int_equal(import_from("torch", path, "heads 2", NULL, NULL, &error), WG_EDATA);
        assert_true(strstr(error.text, "cut") != NULL);
        refused++;
    }
    assert_true(refused > 70);
    free(bytes);
    free(path);
    assert_int_equal(import_from("torch", "no_such_folder", "", NULL, NULL, &error), WG_EIO);
    assert_int_equal(import_from("keras", FILES, "", NULL, NULL, &error), WG_EINVAL);
    assert_true(strstr(error.text, "torch, fairseq or marian") != NULL);
    assert_int_equal(import_from("torch", "weights.pt", "", NULL, NULL, &error), WG_EDATA);
    assert_true(strstr(error.text, "pickle") != NULL);
    assert_int_equal(import_from("marian", FILES, "", NULL, NULL, &error), WG_EIO);
    assert_true(strstr(error.text, "vocab.json") != NULL);
}

/* A folder with a model is not overwritten. */
static void a_folder_with_a_model(void **state)
{
    (void)state;
    wg_error error;
    write_changed(NULL, NULL);
    assert_int_equal(import_from("torch", FILES, "", NULL, NULL, &error), WG_OK);
    wg_settings s = settings_for(MADE, "");
    const wg_foreign_options o = {.layout = "torch", .path = FILES, .settings = &s};
    assert_int_equal(wg_foreign_import(&o, NULL, &error), WG_EINVAL);
    assert_true(strstr(error.text, "it has a model already") != NULL);
    wg_settings_free(&s);
    assert_int_equal(wg_foreign_export("torch", MADE, NULL, MADE, NULL, &error), WG_EINVAL);
}

static int drop_folders(void **state)
{
    (void)state;
    remove_folder(MADE);
    remove_folder(WRITTEN);
    remove_folder(FILES);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_of_others_compute_what_they_did),
        cmocka_unit_test(settings_are_those_of_the_model),
        cmocka_unit_test(exported_and_imported_models_are_the_same),
        cmocka_unit_test(imported_models_are_trained),
        cmocka_unit_test(what_a_layout_cannot_have),
        cmocka_unit_test(all_that_does_not_fit_is_told),
        cmocka_unit_test(variations),
        cmocka_unit_test(files_that_are_cut_off),
        cmocka_unit_test(a_folder_with_a_model),
    };
    return cmocka_run_group_tests(tests, drop_folders, drop_folders);
}
