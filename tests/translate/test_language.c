/* Language models of a text whose entropy is known: perplexity, exact resumption, evaluation and
 * generation from the folder. */
#include "tests/training.h"
#include "wengert/text/corpus.h"
#include "wengert/translate/language.h"
#include "wengert/translate/translator.h"

static wg_error error;

/* ---- a text ---------------------------------------------------------------------------------- */

/* Lines of a grammar: a subject, a verb, an object, each uniform and independent of the others,
 * then the end.  The entropy of a line is log 5 + log 4 + log 5. */
static const char *const subjects[] = {"cat", "dog", "bird", "man", "child"},
                         *const verbs[] = {"sees", "likes", "follows", "hears"},
                         *const objects[] = {"mice", "stones", "stars", "snow", "soup"};
enum { WORDS = 3, TOKENS = WORDS + 1 };

static uint32_t pick(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

static void write_lines(const char *path, int lines, uint64_t seed)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < lines; i++) {
        uint32_t s = pick(&seed, 5), v = pick(&seed, 4), o = pick(&seed, 5);
        fprintf(f, "%s %s %s\n", subjects[s], verbs[v], objects[o]);
    }
    fclose(f);
}

static bool is_one_of(const char *word, size_t n, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == n && memcmp(words[i], word, n) == 0)
            return true;
    return false;
}

static bool is_a_sentence(const char *text)
{
    size_t s = strcspn(text, " "), v = text[s] ? strcspn(text + s + 1, " ") : 0;
    const char *object = text + s + 1 + v;
    return text[s] && *object == ' ' && is_one_of(text, s, subjects, 5) &&
           is_one_of(text + s + 1, v, verbs, 4) &&
           is_one_of(object + 1, strlen(object + 1), objects, 5);
}

static wg_settings language_training(const char *folder, const char *more)
{
    wg_settings s;
    assert_int_equal(wg_settings_init(&s), WG_OK);
    write_lines("language_train.txt", 400, 1);
    write_lines("language_valid.txt", 100, 2);
    set(&s, "model", folder);
    set_all(&s, "type lm; train-set language_train.txt; valid-set language_valid.txt; "
                "vocab-kind words; d-model 32; d-ff 64; heads 2; decoder-layers 1; dropout 0.1; "
                "mini-batch-words 256; exponential-smoothing 0.1; lr-schedule linear; "
                "learn-rate 0.01; lr-warmup 10; clip-norm 1; threads 2; disp-freq 0; "
                "valid-freq 0; save-freq 0; keep 0; optimizer-delay 2; after 12u");
    set_all(&s, more);
    return s;
}

static void remove_texts(void)
{
    unlink("language_train.txt");
    unlink("language_valid.txt");
}

/* ---- training -------------------------------------------------------------------------------- */

/* The perplexity of new lines comes within 2 % of that of the grammar, which no model can be below
 * but by chance: over 100 lines, the mean of -log p is the entropy itself, since all lines are
 * equally probable.  And of what it writes, nearly everything is a sentence. */
static void perplexity_comes_near_the_entropy(void **state)
{
    (void)state;
    enum { SAMPLES = 100 };
    wg_settings s = language_training("language_model", "dropout 0; after 30e; valid-freq 5e; "
                                                        "exponential-smoothing 0; "
                                                        "optimizer-delay 1");
    train(&s, NULL, NULL);
    wg_language_model *m;
    wg_text_score score;
    check_that(wg_language_model_open(&m, "language_model", NULL, &error) == WG_OK, "%s",
               error.text);
    check_that(wg_language_model_evaluate(m, "language_valid.txt", &score) == WG_OK, "%s",
               wg_language_model_message(m));
    const double entropy = (log(5) + log(4) + log(5)) / TOKENS;
    assert_true(score.texts == 100 && score.tokens == 100 * TOKENS);
    assert_true(fabs(score.perplexity - exp(score.cross_entropy)) <= 1e-12);
    check_that(score.cross_entropy >= entropy - 1e-3 && score.cross_entropy <= entropy + 0.02,
               "%g nats, the grammar %g", score.cross_entropy, entropy);

    wg_text *text = NULL;
    const wg_generate_options o = {
        .sampling = WG_SAMPLING_PLAIN, .length = 10, .samples = SAMPLES, .seed = 3};
    check_that(wg_language_model_generate(m, "", &o, &text) == WG_OK, "%s",
               wg_language_model_message(m));
    int right = 0, different = 0;
    for (int i = 0; i < SAMPLES; i++) {
        right += is_a_sentence(text[i].text);
        different += i && strcmp(text[i].text, text[i - 1].text) != 0;
    }
    check_that(right >= 90 && different >= 90, "%d sentences, %d different", right, different);
    wg_texts_free(text, SAMPLES);
    wg_language_model_free(m);
    remove_folder("language_model");
    remove_texts();
    wg_settings_free(&s);
}

/* Ends a training after so many updates. */
typedef struct stopper {
    int64_t at;
    volatile int stop;
} stopper;

static void stop_at(void *context, const wg_event *e)
{
    stopper *s = context;
    if (e->kind == WG_EVENT_UPDATE && e->update >= s->at)
        s->stop = 1;
}

/* Stopped and resumed in the middle of an epoch: the same bits. */
static void a_resumed_training_has_the_same_bits(void **state)
{
    (void)state;
    static const char *const forms[] = {"dropout 0.1", "join-lines true; max-length 30"};
    for (int form = 0; form < 2; form++) {
        wg_settings whole = language_training("language_whole", forms[form]),
                    parts = language_training("language_parts", forms[form]);
        train(&whole, NULL, NULL);
        for (int64_t at = 3; at <= 8; at += 5) {
            stopper s = {.at = at};
            train(&parts, &(wg_listener){stop_at, &s}, &s.stop);
            assert_true(s.stop);
        }
        train(&parts, NULL, NULL);
        same_training("language_whole", "language_parts");
        remove_folder("language_whole");
        remove_folder("language_parts");
        wg_settings_free(&whole);
        wg_settings_free(&parts);
    }
    remove_texts();
}

/* ---- perplexity ------------------------------------------------------------------------------ */

/* log p of the ids behind s[0] given those before, by a graph of its own: [1, n] at once. */
static double log_probability(const wg_language_model *m, const int32_t *s, int64_t n)
{
    const int64_t V = wg_language_model_config(m)->target_vocabulary;
    double sum = 0;
    wg_graph *g = wg_graph_new();
    wg_transformer t = wg_transformer_begin(g, wg_language_model_config(m), WG_MODE_INFERENCE);
    wg_value *in = wg_input(g, "in", WG_I32, WG_SHAPE(1, n - 1));
    wg_value *logits = wg_transformer_logits(&t, wg_transformer_decode(&t, in, NULL, NULL));
    wg_output(logits, "logits");
    wg_plan *p;
    const wg_plan_options o = {.store = (wg_store *)wg_language_model_store(m)};
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    memcpy(wg_plan_data(p, in), s, (size_t)(n - 1) * sizeof *s);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    const float *z = wg_plan_f32(p, logits);
    for (int64_t i = 0; i + 1 < n; i++) {
        double all = 0;
        for (int64_t k = 0; k < V; k++)
            all += exp((double)z[i * V + k]);
        sum += (double)z[i * V + s[i + 1]] - log(all);
    }
    wg_plan_free(p);
    wg_graph_free(g);
    return sum;
}

/* The words of a line, the begin and the end around them. */
static int64_t tokens_of(const wg_language_model *m, const char *line, int32_t *to)
{
    const wg_vocabulary *v = wg_language_model_vocabulary(m);
    int32_t *ids;
    size_t n;
    assert_int_equal(wg_vocabulary_encode(v, line, strlen(line), &ids, &n), WG_OK);
    to[0] = wg_vocabulary_bos(v);
    memcpy(to + 1, ids, n * sizeof *ids);
    to[n + 1] = wg_vocabulary_eos(v);
    free(ids);
    return (int64_t)n + 2;
}

static wg_language_model *trained(const char *more)
{
    wg_settings s = language_training("language_model", more);
    wg_language_model *m;
    train(&s, NULL, NULL);
    check_that(wg_language_model_open(&m, "language_model", NULL, &error) == WG_OK, "%s",
               error.text);
    wg_settings_free(&s);
    return m;
}

static wg_text_score evaluate(wg_language_model *m, const char *text)
{
    wg_text_score score;
    FILE *f = fopen("language_text.txt", "w");
    assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
    check_that(wg_language_model_evaluate(m, "language_text.txt", &score) == WG_OK, "%s",
               wg_language_model_message(m));
    unlink("language_text.txt");
    return score;
}

/* Cross-entropy by hand, of lines of several lengths, with a word that the vocabulary lacks, an
 * empty line and no newline at the end. */
static void cross_entropy_is_that_computed_by_hand(void **state)
{
    (void)state;
    static const char *const lines[] = {"cat sees mice", "dog", "man likes xyzzy soup stars",
                                        "mice"};
    wg_language_model *m = trained("after 6u");
    int32_t ids[20];
    double sum = 0;
    int64_t tokens = 0;
    for (int i = 0; i < 4; i++) {
        int64_t n = tokens_of(m, lines[i], ids);
        sum += log_probability(m, ids, n);
        tokens += n - 1;
    }
    wg_text_score s = evaluate(m, "cat sees mice\ndog\n\nman likes xyzzy soup stars\nmice");
    assert_true(s.texts == 4 && s.tokens == tokens && tokens == 14);
    double wrong = fabs(s.cross_entropy + sum / (double)tokens);
    check_that(wrong <= 1e-5, "%g, by hand %g", s.cross_entropy, -sum / (double)tokens);
    assert_true(s.accuracy >= 0 && s.accuracy <= 1);
    wg_language_model_free(m);
    remove_folder("language_model");
}

/* Spans of joined lines: each token is predicted once, from those of its span before it. */
static void joined_lines_go_on(void **state)
{
    (void)state;
    enum { LENGTH = 6 };
    wg_language_model *m = trained("after 6u; join-lines true; max-length 6");
    const wg_vocabulary *v = wg_language_model_vocabulary(m);
    int32_t ids[40], line[20];
    int64_t n = 1;
    static const char *const lines[] = {"cat sees mice", "", "dog hears snow", "man likes soup"};
    ids[0] = wg_vocabulary_bos(v);
    for (int i = 0; i < 4; i++) {
        int64_t k = tokens_of(m, lines[i], line);
        memcpy(ids + n, line + 1, (size_t)(k - 1) * sizeof *ids);
        n += k - 1;
    }
    assert_int_equal(n, 1 + 3 * 4 + 1);
    double sum = 0;
    int spans = 0;
    for (int64_t at = 0; at + 1 < n; at += LENGTH, spans++)
        sum += log_probability(m, ids + at, n - at < LENGTH + 1 ? n - at : LENGTH + 1);
    wg_text_score s = evaluate(m, "cat sees mice\n\ndog hears snow\nman likes soup\n");
    assert_true(s.texts == spans && s.tokens == n - 1);
    double wrong = fabs(s.cross_entropy + sum / (double)(n - 1));
    check_that(wrong <= 1e-5, "%g, by hand %g", s.cross_entropy, -sum / (double)(n - 1));

    wg_text *text = NULL; /* a text goes on over ends of lines */
    const wg_generate_options o = {.sampling = {2, 0, 1}, .length = 60, .seed = 2};
    assert_int_equal(wg_language_model_generate(m, "cat sees mice\ndog", &o, &text), WG_OK);
    assert_int_equal(text->tokens.n, 60);
    check_that(strncmp(text->text, "cat sees mice\ndog", 17) == 0, "%s", text->text);
    int newlines = 0;
    for (const char *c = text->text; *c; c++)
        newlines += *c == '\n';
    check_that(newlines > 1, "%s", text->text);
    wg_texts_free(text, 1);
    wg_language_model_free(m);
    remove_folder("language_model");
    remove_texts();
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void fails(const wg_settings *s, wg_status status, const char *message)
{
    wg_trainer *t = NULL;
    assert_int_equal(wg_translation_trainer(&t, s, NULL, &error), status);
    check_that(strstr(error.text, message) != NULL, "%s", error.text);
    wg_trainer_free(t);
}

static void texts_without_a_token_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n\n  \n"};
    for (int i = 0; i < 2; i++) {
        wg_settings s = language_training("language_none", "vocab-kind chars");
        FILE *f = fopen("language_train.txt", "w");
        assert_true(f && fputs(texts[i], f) >= 0 && fclose(f) == 0);
        fails(&s, WG_EDATA, "language_train.txt");
        unlink("language_train.txt");
        fails(&s, WG_EIO, "language_train.txt: open: No such file");
        wg_settings_free(&s);
    }
    wg_language_model *m = trained("after 2u");
    wg_text_score score;
    FILE *f = fopen("language_text.txt", "w");
    assert_true(f && fputs("\n\n", f) >= 0 && fclose(f) == 0);
    assert_int_equal(wg_language_model_evaluate(m, "language_text.txt", &score), WG_EDATA);
    check_that(strstr(wg_language_model_message(m), "got 2 lines without a token") != NULL, "%s",
               wg_language_model_message(m));
    assert_int_equal(wg_language_model_evaluate(m, "nothing.txt", &score), WG_EIO);
    assert_int_equal(wg_language_model_evaluate(m, NULL, &score), WG_EINVAL);
    unlink("language_text.txt");

    wg_text *text = NULL; /* the translator takes no language model */
    wg_translator *t = NULL;
    assert_int_equal(wg_translator_open(&t, "language_model", NULL, &error), WG_EINVAL);
    check_that(strstr(error.text, "got a language model") != NULL, "%s", error.text);
    wg_generate_options o = {.sampling = {1, 0, 0}, .length = 4};
    assert_int_equal(wg_language_model_generate(m, "cat", &o, &text), WG_EINVAL);
    check_that(strstr(wg_language_model_message(m), "top_p is 0") != NULL, "%s",
               wg_language_model_message(m));
    o.sampling = WG_SAMPLING_PLAIN;
    assert_int_equal(wg_language_model_generate(m, "cat xyzzy plugh", &o, &text), WG_OK);
    assert_true(text->unknown == 2 && strncmp(text->text, "cat ", 4) == 0);
    wg_texts_free(text, 1);
    wg_language_model_free(m);
    remove_folder("language_model");
    remove_texts();
}

/* Whatever is missing is said, and nothing is read or written for it. */
static void arguments_that_are_missing(void **state)
{
    (void)state;
    wg_language_model *m = (wg_language_model *)&error;
    wg_text *text = NULL;
    wg_text_score score;
    const wg_generate_options o = {.sampling = WG_SAMPLING_PLAIN, .length = 2};
    assert_int_equal(wg_language_model_open(NULL, "language_model", NULL, &error), WG_EINVAL);
    assert_int_equal(wg_language_model_open(&m, NULL, NULL, &error), WG_EINVAL);
    assert_null(m);
    check_that(strstr(error.text, "no folder was given"), "%s", error.text);
    assert_int_equal(wg_language_model_open(&m, "nowhere", NULL, &error), WG_EIO);
    assert_null(m);
    wg_language_model_free(NULL);
    wg_texts_free(NULL, 1);
    assert_string_equal(wg_language_model_message(NULL), "the language model is NULL");
    assert_true(!wg_language_model_vocabulary(NULL) && !wg_language_model_config(NULL) &&
                !wg_language_model_store(NULL));
    assert_int_equal(wg_language_model_generate(NULL, "cat", &o, &text), WG_EINVAL);
    assert_int_equal(wg_language_model_evaluate(NULL, "text", &score), WG_EINVAL);

    m = trained("after 1u");
    const wg_generate_options *const options[] = {&o, NULL, &o};
    const char *const prompt[] = {NULL, "cat", "cat"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wg_language_model_generate(m, prompt[i], options[i], i < 2 ? &text : NULL),
                         WG_EINVAL);
        check_that(strstr(wg_language_model_message(m), "an argument is NULL"), "%s",
                   wg_language_model_message(m));
    }
    assert_int_equal(wg_language_model_evaluate(m, "text", NULL), WG_EINVAL);
    assert_non_null(wg_language_model_vocabulary(m));
    assert_int_equal(wg_language_model_config(m)->encoder_layers, 0);
    assert_true(wg_store_count(wg_language_model_store(m)) > 0);
    wg_language_model_free(m);
    remove_folder("language_model");
    remove_texts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perplexity_comes_near_the_entropy),
        cmocka_unit_test(a_resumed_training_has_the_same_bits),
        cmocka_unit_test(cross_entropy_is_that_computed_by_hand),
        cmocka_unit_test(joined_lines_go_on),
        cmocka_unit_test(texts_without_a_token_are_refused),
        cmocka_unit_test(arguments_that_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
