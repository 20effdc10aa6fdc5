/* Texts drawn from a language model: the cache gives what the whole pass gives, draws have the
 * probabilities of the model, and texts begin and end where they should. */
#include "models/internal.h"
#include "tests/searches.h"
#include "wengert/backends/load.h"
#include "wengert/decode/generate.h"

#include <math.h>

static wg_error error;

static wg_transformer_config language_config(void)
{
    wg_transformer_config c = small_config();
    c.encoder_layers = 0;
    return c;
}

static wg_generator *generator_of(const wg_search_model *m)
{
    wg_generator *g = NULL;
    check_that(wg_generator_create(&g, m, &error) == WG_OK, "%s", error.text);
    return g;
}

static wg_generated *generate(wg_generator *g, const int32_t *prompt, size_t n,
                              const wg_generate_options *o)
{
    wg_generated *found = NULL;
    check_that(wg_generator_run(g, prompt, n, o, &found) == WG_OK, "%s", wg_generator_message(g));
    return found;
}

/* The whole pass over BOS and ids[0..n): log p of the next token at each of the n + 1 positions,
 * [n + 1, V], the caller's to free. */
static double *whole_pass(const wg_search_model *m, const int32_t *ids, size_t n)
{
    const int64_t V = m->config->target_vocabulary, T = (int64_t)n + 1;
    double *p = malloc((size_t)(T * V) * sizeof *p);
    wg_graph *g = wg_graph_new();
    wg_transformer t = wg_transformer_begin(g, m->config, WG_MODE_INFERENCE);
    wg_value *in = wg_input(g, "in", WG_I32, WG_SHAPE(1, T));
    wg_value *states = wg_transformer_decode(&t, in, NULL, NULL);
    wg_value *y = wg_output(wg_log_softmax(wg_transformer_logits(&t, states), -1), "y");
    wg_plan *plan;
    check_that(wg_plan_create(&plan, g, &(wg_plan_options){.store = m->store}) == WG_OK, "%s",
               wg_graph_message(g));
    int32_t *to = wg_plan_data(plan, in);
    to[0] = m->bos;
    memcpy(to + 1, ids, n * sizeof *ids);
    assert_int_equal(wg_plan_run(plan, 0), WG_OK);
    for (int64_t i = 0; i < T * V; i++)
        p[i] = wgi_get_element(wg_plan_data(plan, y), y->dtype, i);
    wg_plan_free(plan);
    wg_graph_free(g);
    return p;
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* log p of what was drawn, and with temperature 0 the token itself, are those of the whole pass. */
static size_t check_text(const wg_search_model *m, const int32_t *prompt, size_t n,
                         const wg_generated *text, bool greedy, const char *what)
{
    int32_t all[200];
    const double tolerance = m->config->dtype == WG_F64 ? 1e-11 : 1e-3;
    const int64_t V = m->config->target_vocabulary;
    double sum = 0;
    memcpy(all, prompt, n * sizeof *all);
    memcpy(all + n, text->ids, text->n * sizeof *all);
    double *p = whole_pass(m, all, n + text->n - 1);
    for (size_t t = 0; t < text->n; t++) {
        const double *row = p + (n + t) * (size_t)V;
        sum += row[text->ids[t]];
        for (int64_t i = 0; greedy && i < V; i++)
            check_that(i == PAD || i == BOS || row[i] <= row[text->ids[t]] + tolerance,
                       "%s: token %zu is not the most probable", what, t);
    }
    double wrong = fabs(sum - text->log_probability);
    check_that(wrong <= tolerance * fmax(1, fabs(sum)), "%s: log p is %.15g, whole pass %.15g",
               what, text->log_probability, sum);
    free(p);
    return text->n;
}

static void check_cache(const wg_transformer_config *c)
{
    enum { SAMPLES = 3, LENGTH = 12 };
    static const int32_t prompt[] = {5, 9, 12, 4, 4, 7, 11};
    wg_store *store = random_parameters(c, 3);
    const wg_search_model m = model_of(c, store);
    wg_generator *g = generator_of(&m);
    size_t compared = 0;
    for (size_t n = 0; n <= 4; n += n ? 3 : 1)
        for (int greedy = 0; greedy < 2; greedy++) {
            const wg_generate_options o = {.sampling = {!greedy, 0, 1},
                                           .length =
                                               c->positions == WG_POSITIONS_LEARNED ? 8 : LENGTH,
                                           .samples = SAMPLES,
                                           .seed = n,
                                           .go_on = true};
            wg_generated *found = generate(g, prompt, n, &o);
            for (int i = 0; i < SAMPLES; i++)
                compared += check_text(&m, prompt, n, &found[i], greedy, c->name);
            wg_generated_free(found, SAMPLES);
        }
    assert_true(compared >= 100);
    wg_generator_free(g);
    wg_store_free(store);
}

static void a_cached_step_is_the_whole_pass(void **state)
{
    (void)state;
    wg_transformer_config c;
    int checked = 0;
    for (size_t i = 0; wgi_transformer_variant(i, &c); i += SANITIZED ? 3 : 1) {
        c.encoder_layers = 0;
        c.source_vocabulary = c.target_vocabulary = VOCABULARY;
        for (int wide = 0; wide < 2; wide++, checked++) {
            c.dtype = wide ? WG_F64 : WG_F32;
            check_cache(&c);
        }
    }
    assert_true(checked > (SANITIZED ? 12 : 40));
}

/* Prompts of several runs, and texts longer than the first room for them. */
static void long_prompts_and_texts(void **state)
{
    (void)state;
    wg_transformer_config c = language_config();
    c.dtype = WG_F64;
    c.attention_window = 20;
    int32_t prompt[150];
    for (int i = 0; i < 150; i++)
        prompt[i] = 3 + i * 7 % 10;
    wg_store *store = random_parameters(&c, 4);
    const wg_search_model m = model_of(&c, store);
    wg_generator *g = generator_of(&m);
    static const size_t lengths[] = {1, 63, 64, 65, 128, 150};
    for (size_t i = 0; i < WG_COUNT(lengths); i++) {
        const wg_generate_options o = {
            .sampling = WG_SAMPLING_PLAIN, .length = 40, .seed = i, .go_on = true};
        wg_generated *found = generate(g, prompt, lengths[i], &o);
        assert_int_equal(check_text(&m, prompt, lengths[i], found, false, "long"), 40);
        wg_generated_free(found, 1);
    }
    wg_generator_free(g);
    wg_store_free(store);
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* Chi-square of counts against probabilities; at most the 0.999 quantile for up to 12 degrees of
 * freedom, by Wilson and Hilferty's formula. */
static void check_counts(const int *count, const double *p, int n, const char *what)
{
    int total = 0, degrees = -1;
    double chi = 0;
    for (int i = 0; i < n; i++)
        total += count[i];
    assert_true(total > 1000);
    for (int i = 0; i < n; i++) {
        double expected = total * p[i];
        check_that(p[i] > 0 || !count[i], "%s: token %d was drawn", what, i);
        if (p[i] > 0) {
            degrees++;
            chi += (count[i] - expected) * (count[i] - expected) / expected;
        }
    }
    assert_true(degrees > 0);
    double v = 2 / (9.0 * degrees), quantile = degrees * pow(1 - v + 3.0902 * sqrt(v), 3);
    check_that(chi <= quantile, "%s: chi-square %g of %d degrees of freedom", what, chi, degrees);
}

/* The first and the second token of many samples, against the probabilities of the whole pass. */
static void draws_have_the_probabilities_of_the_model(void **state)
{
    (void)state;
    enum { SAMPLES = 8192 };
    static const wg_sampling how[] = {{1, 0, 1}, {1.5, 0, 1}, {1, 4, 1}, {1, 0, 0.8}, {2, 6, 0.9}};
    static const int32_t prompt[] = {6, 3};
    wg_transformer_config c = language_config();
    c.dtype = WG_F64;
    c.d_model = 8; /* small, so that many tokens are probable */
    wg_store *store = random_parameters(&c, 8);
    const wg_search_model m = model_of(&c, store);
    wg_generator *g = generator_of(&m);
    for (size_t k = 0; k < WG_COUNT(how); k++) {
        int first[VOCABULARY] = {0}, second[VOCABULARY] = {0}, common = 0;
        double p[VOCABULARY];
        const wg_generate_options o = {
            .sampling = how[k], .length = 2, .samples = SAMPLES, .seed = k, .go_on = true};
        wg_generated *found = generate(g, prompt, 2, &o);
        for (int i = 0; i < SAMPLES; i++)
            first[found[i].ids[0]]++;
        for (int i = 1; i < VOCABULARY; i++)
            common = first[i] > first[common] ? i : common;
        for (int i = 0; i < SAMPLES; i++)
            second[found[i].ids[1]] += found[i].ids[0] == common;
        const int32_t ids[] = {prompt[0], prompt[1], common};
        double *log_p = whole_pass(&m, ids, 3);
        for (int t = 2; t <= 3; t++) {
            double *row = log_p + t * VOCABULARY;
            row[PAD] = row[BOS] = -(double)INFINITY;
            assert_int_equal(wg_sampling_probabilities(p, &how[k], row, VOCABULARY, &error), WG_OK);
            check_counts(t == 2 ? first : second, p, VOCABULARY, t == 2 ? "first" : "second");
        }
        free(log_p);
        wg_generated_free(found, SAMPLES);
    }
    wg_generator_free(g);
    wg_store_free(store);
}

static bool same(const wg_generated *a, const wg_generated *b, size_t n)
{
    return memcmp(a->ids, b->ids, n * sizeof *a->ids) == 0;
}

/* The backend whose products do not depend on the number of rows. */
static void texts_depend_on_their_seed_alone(void **state)
{
    (void)state;
    enum { MANY = 5, LENGTH = 20 };
    const wg_backend_list all = wg_backend_list_built_in();
    wg_transformer_config c = language_config();
    wg_store *store = random_parameters(&c, 5);
    wg_search_model m = model_of(&c, store);
    m.backends = &all.backend[all.count - 1]; /* cpu, the last */
    m.n_backends = 1;
    assert_string_equal(m.backends[0]->name, "cpu");
    wg_generator *g = generator_of(&m);
    wg_generate_options o = {
        .sampling = {0.9, 0, 0.95}, .length = LENGTH, .samples = MANY, .seed = 7};
    o.go_on = true;
    wg_generated *many = generate(g, NULL, 0, &o), *again = generate(g, NULL, 0, &o);
    int differ = 0;
    for (int i = 0; i < MANY; i++) {
        assert_true(many[i].n == LENGTH && same(&many[i], &again[i], LENGTH));
        assert_true(many[i].log_probability == again[i].log_probability);
        differ += i && !same(&many[0], &many[i], LENGTH);
    }
    assert_int_equal(differ, MANY - 1);
    o.length = 9;
    o.samples = 2;
    wg_generated *fewer = generate(g, NULL, 0, &o);
    assert_true(same(&fewer[0], &many[0], 9) && same(&fewer[1], &many[1], 9));
    o.seed = 8;
    wg_generated *other = generate(g, NULL, 0, &o);
    assert_false(same(&other[0], &fewer[0], 9));
    wg_generated_free(many, MANY);
    wg_generated_free(again, MANY);
    wg_generated_free(fewer, 2);
    wg_generated_free(other, 2);
    wg_generator_free(g);
    wg_store_free(store);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void texts_end_at_the_end_token(void **state)
{
    (void)state;
    enum { MANY = 64, LENGTH = 30 };
    wg_transformer_config c = language_config();
    wg_store *store = random_parameters(&c, 6);
    wg_search_model m = model_of(&c, store);
    m.no_unk = true;
    wg_generator *g = generator_of(&m);
    int ended = 0, whole = 0, inside = 0;
    for (int go_on = 0; go_on < 2; go_on++) {
        const wg_generate_options o = {
            .sampling = {3, 0, 1}, .length = LENGTH, .samples = MANY, .seed = 3, .go_on = go_on};
        wg_generated *found = generate(g, NULL, 0, &o);
        for (int i = 0; i < MANY; i++) {
            const wg_generated *x = &found[i];
            assert_true(x->n >= 1 && x->n <= LENGTH);
            assert_true(x->ended == (!go_on && x->ids[x->n - 1] == EOS));
            assert_true(x->ended || x->n == LENGTH);
            ended += x->ended;
            whole += !go_on && !x->ended;
            for (size_t t = 0; t < x->n; t++) {
                assert_true(x->ids[t] != PAD && x->ids[t] != BOS && x->ids[t] != UNK);
                assert_true(go_on || x->ids[t] != EOS || t + 1 == x->n);
                inside += go_on && x->ids[t] == EOS;
            }
        }
        wg_generated_free(found, MANY);
    }
    check_that(ended > 5 && whole > 0 && inside > 5, "%d ended, %d did not, %d ends inside", ended,
               whole, inside);
    wg_generator_free(g);
    wg_store_free(store);
}

static void texts_end_at_the_last_learned_position(void **state)
{
    (void)state;
    wg_transformer_config c = language_config();
    c.positions = WG_POSITIONS_LEARNED;
    c.max_positions = 10;
    wg_store *store = random_parameters(&c, 6);
    const wg_search_model m = model_of(&c, store);
    wg_generator *g = generator_of(&m);
    int32_t prompt[11] = {4, 5, 6, 7, 8, 9, 4, 5, 6, 7, 8};
    const wg_generate_options o = {.sampling = WG_SAMPLING_PLAIN, .length = 50, .go_on = true};
    for (size_t n = 0; n < 10; n++) {
        wg_generated *found = generate(g, prompt, n, &o);
        assert_int_equal(found->n, 10 - n); /* the begin and the prompt are read, too */
        assert_int_equal(check_text(&m, prompt, n, found, false, "learned"), 10 - n);
        wg_generated_free(found, 1);
    }
    wg_generated *found = NULL;
    for (size_t n = 10; n < 12; n++) {
        assert_int_equal(wg_generator_run(g, prompt, n, &o, &found), WG_EDATA);
        assert_null(found);
        check_that(strstr(wg_generator_message(g), "must be at most 9: with the begin before it, "
                                                   "there are 10 learned positions") != NULL,
                   "%s", wg_generator_message(g));
    }
    wg_generator_free(g);
    wg_store_free(store);
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void bad_calls_are_refused(void **state)
{
    (void)state;
    wg_transformer_config c = language_config();
    wg_store *store = random_parameters(&c, 6);
    const wg_search_model m = model_of(&c, store);
    wg_generator *g = generator_of(&m);
    static const struct {
        wg_generate_options o;
        int32_t prompt;
        wg_status status;
        const char *message;
    } cases[] = {
        {{.sampling = {-1, 0, 1}, .length = 3}, 4, WG_EINVAL, "temperature is -1"},
        {{.sampling = {1, -2, 1}, .length = 3}, 4, WG_EINVAL, "top_k is -2"},
        {{.sampling = {1, 0, 0}, .length = 3}, 4, WG_EINVAL, "top_p is 0"},
        {{.sampling = {1, 0, 1.5}, .length = 3}, 4, WG_EINVAL, "top_p is 1.5"},
        {{.sampling = {1, 0, 1}}, 4, WG_EINVAL, "length is 0 and samples 0"},
        {{.sampling = {1, 0, 1}, .length = 3, .samples = -1}, 4, WG_EINVAL, "samples -1"},
        {{.sampling = {1, 0, 1}, .length = 1 << 20, .samples = 1 << 20}, 4, WG_EINVAL, "2^29"},
        {{.sampling = {1, 0, 1}, .length = 3}, -1, WG_EDATA, "the prompt: token -1 is outside"},
        {{.sampling = {1, 0, 1}, .length = 3}, VOCABULARY, WG_EDATA, "token 13 is outside [0,13)"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_generated *found = NULL;
        wg_status status = wg_generator_run(g, &cases[i].prompt, 1, &cases[i].o, &found);
        check_that(status == cases[i].status && !found &&
                       strstr(wg_generator_message(g), cases[i].message),
                   "case %zu: %d, %s", i, status, wg_generator_message(g));
    }
    wg_generated *found = NULL;
    assert_int_equal(wg_generator_run(g, NULL, 1, &cases[0].o, &found), WG_EINVAL);
    assert_int_equal(wg_generator_run(g, NULL, 0, NULL, &found), WG_EINVAL);
    assert_int_equal(wg_generator_run(NULL, NULL, 0, NULL, &found), WG_EINVAL);
    volatile int stop = 1;
    const wg_generate_options o = {.sampling = WG_SAMPLING_PLAIN, .length = 3, .stop = &stop};
    assert_int_equal(wg_generator_run(g, NULL, 0, &o, &found), WG_ESTOPPED);

    wg_tensor *w = (wg_tensor *)wg_store_find(store, "embedding/weight");
    ((float *)w->data)[0] = NAN; /* a model that has diverged; the generator goes on living */
    const wg_generate_options plain = {.sampling = WG_SAMPLING_PLAIN, .length = 3};
    assert_int_equal(wg_generator_run(g, NULL, 0, &plain, &found), WG_ENONFINITE);
    assert_null(found);
    wg_generator_free(g);
    wg_store_free(store);
}

static void models_of_the_other_kind_are_refused(void **state)
{
    (void)state;
    wg_transformer_config c = small_config();
    for (int alone = 0; alone < 2; alone++) {
        c.encoder_layers = alone ? 0 : 2;
        wg_store *store = random_parameters(&c, 6);
        const wg_search_model m = model_of(&c, store);
        wg_generator *g = NULL;
        wg_search *s = NULL;
        assert_int_equal(wg_generator_create(&g, &m, &error), alone ? WG_OK : WG_EINVAL);
        assert_true(alone || strstr(error.text, "encoder_layers is 2, must be 0"));
        assert_int_equal(wg_search_create(&s, &m, &error), alone ? WG_EINVAL : WG_OK);
        assert_true(!alone || strstr(error.text, "a language model does not translate"));
        wg_generator_free(g);
        wg_search_free(s);
        wg_store_free(store);
    }
    assert_int_equal(wg_generator_create(NULL, NULL, &error), WG_EINVAL);
    wg_generator *g;
    assert_int_equal(wg_generator_create(&g, NULL, &error), WG_EINVAL);
}

/* In 8-bit integers, too: what is drawn has about the probability that it has in f32. */
static void int8_is_close_to_f32(void **state)
{
    (void)state;
    enum { LENGTH = 30 };
    wg_transformer_config c = language_config();
    wg_store *store = random_parameters(&c, 9);
    wg_search_model m = model_of(&c, store);
    m.int8 = true;
    wg_generator *g = generator_of(&m);
    const wg_generate_options o = {
        .sampling = WG_SAMPLING_PLAIN, .length = LENGTH, .seed = 1, .go_on = true};
    wg_generated *found = generate(g, NULL, 0, &o);
    double sum = 0, *p = whole_pass(&m, found->ids, found->n);
    for (int t = 0; t < LENGTH; t++)
        sum += p[t * VOCABULARY + found->ids[t]];
    double wrong = fabs(sum - found->log_probability) / LENGTH;
    check_that(wrong <= 0.1 && wrong > 0, "%g nats a token", wrong);
    free(p);
    wg_generated_free(found, 1);
    wg_generator_free(g);
    wg_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cached_step_is_the_whole_pass),
        cmocka_unit_test(long_prompts_and_texts),
        cmocka_unit_test(draws_have_the_probabilities_of_the_model),
        cmocka_unit_test(texts_depend_on_their_seed_alone),
        cmocka_unit_test(texts_end_at_the_end_token),
        cmocka_unit_test(texts_end_at_the_last_learned_position),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(models_of_the_other_kind_are_refused),
        cmocka_unit_test(int8_is_close_to_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
