/* Beam search: the cached decoder against the plain one, against forced scores and against all
 * sequences there are. */
#include "tests/searches.h"
#include "wengert/backends/load.h"

#include <math.h>

/* ---- variants of the model ------------------------------------------------------------------- */

static wg_transformer_config variant(int i)
{
    wg_transformer_config c = small_config();
    switch (i) {
    case 0: break;
    case 1: c.positions = WG_POSITIONS_HALVES, c.pre_norm = true, c.first_position = 2; break;
    case 2:
        c.positions = WG_POSITIONS_LEARNED, c.tying = WG_TIED_OUTPUT, c.output_bias = true;
        break;
    case 3: c.positions = WG_POSITIONS_ROTARY, c.norm = WG_RMSNORM, c.pre_norm = true; break;
    case 4: c.attention = WG_ATTENTION_ADDITIVE, c.attention_bias = false; break;
    case 5:
        c.fused_projections = true, c.positions = WG_POSITIONS_ROTARY, c.first_position = 1;
        break;
    case 6:
        c.gated = true, c.activation = WG_ACTIVATION_SILU, c.tying = WG_UNTIED,
        c.target_vocabulary = 17;
        break;
    case 7:
        c.attention = WG_ATTENTION_ADDITIVE, c.positions = WG_POSITIONS_LEARNED, c.pre_norm = true;
        break;
    case 8: c.encoder_layers = 1, c.decoder_layers = 3, c.heads = 4; break;
    case 9: c.encoder_layers = 1, c.fused_projections = true, c.attention_bias = false; break;
    case 10: c.d_k = 3, c.positions = WG_POSITIONS_HALVES; break;
    case 11: c.heads = 3, c.d_k = 2, c.d_v = 5, c.fused_projections = true; break;
    case 12: c.attention = WG_ATTENTION_ADDITIVE, c.d_k = 3, c.d_v = 5; break;
    case 13: c.attention = WG_ATTENTION_UNSCALED, c.pre_norm = true; break;
    case 14: c.attention_window = 2; break;
    case 15:
        c.positions = WG_POSITIONS_PAPER_HALVES, c.final_norm = WG_FINAL_NORM_ALWAYS,
        c.unscaled_embeddings = true;
        break;
    default: return (wg_transformer_config){0};
    }
    return c;
}

/* The same tokens, and scores but for rounding; how many tokens there were. */
static size_t expect_same(const char *what, const wg_hypothesis *a, const wg_hypothesis *b,
                          size_t n)
{
    size_t compared = 0;
    for (size_t i = 0; i < n; i++) {
        check_that(a[i].n == b[i].n && !a[i].ids == !b[i].ids,
                   "%s: hypothesis %zu has %zu and %zu tokens", what, i, a[i].n, b[i].n);
        for (size_t t = 0; t < a[i].n; t++, compared++) {
            check_that(a[i].ids[t] == b[i].ids[t], "%s: hypothesis %zu, token %zu is %d and %d",
                       what, i, t, a[i].ids[t], b[i].ids[t]);
            check_that(fabs((double)a[i].token_scores[t] - (double)b[i].token_scores[t]) <= 1e-4,
                       "%s: hypothesis %zu, token %zu: %g and %g", what, i, t,
                       (double)a[i].token_scores[t], (double)b[i].token_scores[t]);
        }
        check_that(fabs(a[i].score - b[i].score) <= 1e-4 * (1 + fabs(b[i].score)),
                   "%s: hypothesis %zu scores %g and %g", what, i, a[i].score, b[i].score);
    }
    return compared;
}

/* In f64 with 8 bits: there rounding does not take a number to another place of the grid. */
static void cached_search_equals_uncached(void **state)
{
    bool int8 = *state != NULL;
    const wg_backend_list built = wg_backend_list_built_in();
    size_t compared = 0;
    for (int v = 0; variant(v).d_model; v += SANITIZED ? 3 : 1) {
        wg_transformer_config c = variant(v);
        c.dtype = int8 ? WG_F64 : WG_F32;
        wg_store *store = random_parameters(&c, 7 + (uint64_t)v);
        wg_search_model model = model_of(&c, store);
        model.int8 = int8;
        model.backends = v % 2 ? built.backend : &built.backend[built.count - 1]; /* or cpu alone */
        model.n_backends = v % 2 ? built.count : 1;
        wg_search *s = search_of(&model);
        sentences x;
        draw_sentences(&x, 9, 11, 100 + (uint64_t)v);
        for (int64_t beam = 1; beam <= 4; beam += 3) {
            wg_search_options o = {
                .beam = beam, .n_best = beam, .alpha = 0.7, .max_extra = 12, .max_factor = 1};
            wg_hypothesis *cached = translate(s, &x, &o);
            o.uncached = true;
            wg_hypothesis *plain = translate(s, &x, &o);
            char what[64];
            snprintf(what, sizeof what, "variant %d, beam %d", v, (int)beam);
            compared += expect_same(what, cached, plain, x.n * (size_t)beam);
            wg_hypotheses_free(cached, x.n * (size_t)beam);
            wg_hypotheses_free(plain, x.n * (size_t)beam);
        }
        wg_search_free(s);
        wg_store_free(store);
    }
    check_that(compared > (SANITIZED ? 700 : 2000), "only %zu tokens compared", compared);
}

/* Scores of the same targets with and without 8 bits differ, a little; those with 8 bits follow the
 * parameters. */
static void int8_is_close_to_f32(void **state)
{
    (void)state;
    const wg_backend_list built = wg_backend_list_built_in();
    const wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 3);
    wg_search_model model = model_of(&c, store);
    model.backends = built.backend;
    model.n_backends = built.count;
    wg_search *plain = search_of(&model);
    model.int8 = true;
    wg_search *eight = search_of(&model);
    sentences x;
    draw_sentences(&x, 32, 11, 9);
    double was = 0;
    for (int turn = 0; turn < 2; turn++) {
        wg_hypothesis *h = translate(plain, &x, &(wg_search_options){.max_length = 12}), *a, *b;
        const int32_t *ids[64];
        size_t n[64], tokens = 0;
        double error = 0, size = 0;
        for (size_t i = 0; i < x.n; i++)
            ids[i] = h[i].ids, n[i] = h[i].n;
        assert_int_equal(wg_search_score(plain, x.at, x.length, ids, n, x.n, NULL, &a), WG_OK);
        assert_int_equal(wg_search_score(eight, x.at, x.length, ids, n, x.n, NULL, &b), WG_OK);
        for (size_t i = 0; i < x.n; i++)
            for (size_t t = 0; t < n[i]; t++, tokens++) {
                error += fabs((double)a[i].token_scores[t] - (double)b[i].token_scores[t]);
                size += fabs((double)a[i].token_scores[t]);
            }
        print_message("%zu tokens: %g off, of %g\n", tokens, error, size);
        check_that(tokens > 200 && error > 0 && error < 0.1 * size, "%g off, of %g", error, size);
        check_that(fabs(size - was) > 1, "the parameters have changed, the scores have not");
        was = size;
        wg_hypotheses_free(h, x.n), wg_hypotheses_free(a, x.n), wg_hypotheses_free(b, x.n);
        for (size_t i = 0; i < wg_store_count(store); i++) {
            const wg_tensor *t = wg_store_at(store, i);
            for (int64_t k = 0; k < wg_shape_count(&t->shape); k++)
                ((float *)t->data)[k] *= 0.8f;
        }
    }
    wg_search_free(plain);
    wg_search_free(eight);
    wg_store_free(store);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static const wg_hypothesis *score(wg_search *s, const sentences *x, size_t i, const int32_t *ids,
                                  size_t n, const wg_search_options *o, wg_hypothesis **h)
{
    check_that(wg_search_score(s, &x->at[i], &x->length[i], &ids, &n, 1, o, h) == WG_OK, "%s",
               wg_search_message(s));
    return *h;
}

/* With a beam of 1, no other token would have been more probable at any place. */
static void a_beam_of_one_is_greedy(void **state)
{
    (void)state;
    const wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 3);
    const wg_search_model model = model_of(&c, store);
    wg_search *s = search_of(&model);
    const wg_search_options o = {.max_length = 8};
    sentences x;
    draw_sentences(&x, 4, 6, 5);
    wg_hypothesis *best = translate(s, &x, &o), *other;
    size_t compared = 0;
    for (size_t i = 0; i < x.n; i++)
        for (size_t t = 0; t < best[i].n; t++) {
            int32_t ids[8], own = best[i].ids[t];
            memcpy(ids, best[i].ids, (t + 1) * sizeof *ids);
            for (ids[t] = PAD + 1; ids[t] < VOCABULARY; ids[t]++) {
                float p = score(s, &x, i, ids, t + 1, NULL, &other)->token_scores[t];
                check_that(ids[t] == own ? fabsf(p - best[i].token_scores[t]) < 1e-4f
                                         : p < best[i].token_scores[t],
                           "sentence %zu, token %zu: %d has %g, %d was chosen with %g", i, t,
                           ids[t], (double)p, own, (double)best[i].token_scores[t]);
                wg_hypotheses_free(other, 1);
                compared++;
            }
        }
    assert_true(compared > 100);
    wg_hypotheses_free(best, x.n);
    wg_search_free(s);
    wg_store_free(store);
}

typedef struct scored {
    int32_t ids[4];
    size_t n;
    double score;
} scored;

static int better_first(const void *a, const void *b)
{
    const scored *p = a, *q = b;
    return p->score > q->score ? -1 : p->score < q->score;
}

/* All sequences of up to 4 tokens of {1, EOS, 3, 4} that end in EOS or are 4 long. */
static size_t all_sequences(scored *out)
{
    static const int32_t token[] = {1, EOS, 3, 4};
    size_t count = 0;
    for (int code = 0; code < 256; code++) {
        scored x = {.n = 0};
        int rest = code, used = 1;
        while (x.n < 4 && (x.n == 0 || x.ids[x.n - 1] != EOS)) {
            x.ids[x.n++] = token[rest % 4];
            rest /= 4;
            used *= 4;
        }
        if (code < used) /* the rest of the code is 0: each sequence once */
            out[count++] = x;
    }
    return count;
}

static void a_beam_of_all_sequences_finds_the_best(void **state)
{
    (void)state;
    enum { BEST = 12 };
    wg_transformer_config c = small_config();
    c.source_vocabulary = c.target_vocabulary = 5;
    for (int penalty = 0; penalty < 2; penalty++) {
        wg_store *store = random_parameters(&c, 20 + (uint64_t)penalty);
        wg_search_model model = model_of(&c, store);
        model.unk = -1;
        wg_search *s = search_of(&model);
        const int32_t source[] = {3, 4, 4, 3, EOS}, *at = source;
        size_t length = 5, count;
        scored all[256];
        assert_int_equal(count = all_sequences(all), 1 + 3 + 9 + 27 * 4);
        wg_search_options o = {
            .beam = 128, .n_best = BEST, .penalty = penalty, .alpha = 0.8, .max_length = 4};
        for (size_t i = 0; i < count; i++) {
            const int32_t *ids = all[i].ids;
            wg_hypothesis *h;
            check_that(wg_search_score(s, &at, &length, &ids, &all[i].n, 1, &o, &h) == WG_OK, "%s",
                       wg_search_message(s));
            all[i].score = h->score;
            wg_hypotheses_free(h, 1);
        }
        qsort(all, count, sizeof *all, better_first);
        wg_hypothesis *h;
        check_that(wg_search_run(s, &at, &length, 1, &o, &h) == WG_OK, "%s", wg_search_message(s));
        for (int k = 0; k < BEST; k++) {
            check_that(h[k].n == all[k].n &&
                           memcmp(h[k].ids, all[k].ids, h[k].n * sizeof(int32_t)) == 0,
                       "penalty %d: place %d goes to another, with %g instead of %g", penalty, k,
                       h[k].score, all[k].score);
            assert_true(fabs(h[k].score - all[k].score) < 1e-4);
        }
        wg_hypotheses_free(h, BEST);
        wg_search_free(s);
        wg_store_free(store);
    }
}

/* The paper's: ((5 + L) / 6)^0.6. */
static void length_penalties(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        double penalty;
    } known[] = {{1, 1}, {5, 1.358655183}, {10, 1.732862108}, {50, 3.778564704}};
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(wg_length_penalty_of(WG_PENALTY_GNMT, 0.6, known[i].length) -
                         known[i].penalty) < 1e-9);
    assert_true(wg_length_penalty_of(WG_PENALTY_LENGTH, 1, 7) == 7);
    assert_true(wg_length_penalty_of(WG_PENALTY_LENGTH, 0, 7) == 1);
}

/* ---- properties ------------------------------------------------------------------------------ */

/* Alone, with few or with many other sentences, in any order. */
static void other_sentences_and_their_order_do_not_matter(void **state)
{
    (void)state;
    const wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 11);
    wg_search_model model = model_of(&c, store);
    const wg_backend *cpu = wg_cpu_backend(); /* oneDNN may divide a sum by the number of rows */
    model.backends = &cpu;
    model.n_backends = 1;
    wg_search *s = search_of(&model), *fresh;
    sentences x, back;
    draw_sentences(&x, 40, 14, 77);
    wg_search_options o = {.beam = 3, .n_best = 2, .alpha = 1};
    wg_hypothesis *all = translate(s, &x, &o);
    back = x;
    for (size_t i = 0; i < x.n; i++) {
        back.at[i] = x.at[x.n - 1 - i];
        back.length[i] = x.length[x.n - 1 - i];
    }
    o.batch_tokens = 300;
    wg_hypothesis *reversed = translate(s, &back, &o);
    o.batch_tokens = 0;
    for (size_t i = 0; i < x.n; i++) {
        sentences one = {.n = 1, .at = {x.at[i]}, .length = {x.length[i]}};
        fresh = i % 8 ? s : search_of(&model);
        wg_hypothesis *alone = translate(fresh, &one, &o);
        for (int k = 0; k < 2; k++) {
            const wg_hypothesis *a = &all[2 * i + (size_t)k],
                                *b = &reversed[2 * (x.n - 1 - i) + (size_t)k];
            check_that(
                a->n == alone[k].n && memcmp(a->ids, alone[k].ids, a->n * sizeof *a->ids) == 0 &&
                    a->score == alone[k].score && a->log_probability == alone[k].log_probability,
                "sentence %zu is translated otherwise alone: %.17g, %.17g", i, a->score,
                alone[k].score);
            check_that(a->n == b->n && memcmp(a->ids, b->ids, a->n * sizeof *a->ids) == 0 &&
                           a->score == b->score,
                       "sentence %zu is translated otherwise in another order", i);
        }
        wg_hypotheses_free(alone, 2);
        if (fresh != s)
            wg_search_free(fresh);
    }
    wg_hypotheses_free(all, 2 * x.n);
    wg_hypotheses_free(reversed, 2 * x.n);
    wg_search_free(s);
    wg_store_free(store);
}

/* Lengths, order, special tokens, scores. */
static void results_are_well_formed(void **state)
{
    (void)state;
    wg_transformer_config c = small_config();
    c.output_bias = true;
    wg_store *store = random_parameters(&c, 12);
    float *bias = wg_store_find(store, "output/bias")->data;
    bias[EOS] = 5;
    bias[UNK] = 3;
    wg_search_model model = model_of(&c, store);
    size_t unknown[2] = {0, 0}, cut = 0, ended = 0;
    for (int no_unk = 0; no_unk < 2; no_unk++) {
        model.no_unk = no_unk;
        wg_search *s = search_of(&model);
        sentences x;
        draw_sentences(&x, 20, 9, 4);
        const wg_search_options o = {.beam = 4,
                                     .n_best = 3,
                                     .alpha = 0.5,
                                     .max_factor = 1.5,
                                     .max_extra = 2,
                                     .max_length = 12};
        wg_hypothesis *h = translate(s, &x, &o);
        for (size_t i = 0; i < 3 * x.n; i++) {
            const size_t line = i / 3, max = (size_t)(1.5 * (double)x.length[line] + 2);
            assert_true(h[i].n >= 1 && h[i].n <= (max < 12 ? max : 12));
            bool ends = h[i].ids[h[i].n - 1] == EOS;
            assert_true(ends || h[i].n == (max < 12 ? max : 12));
            ended += ends;
            cut += !ends;
            double sum = 0;
            for (size_t t = 0; t < h[i].n; t++) {
                assert_true(h[i].ids[t] != PAD && (h[i].ids[t] != EOS || t + 1 == h[i].n));
                unknown[no_unk] += h[i].ids[t] == UNK;
                sum += h[i].token_scores[t];
            }
            assert_true(fabs(sum - h[i].log_probability) < 1e-5);
            assert_true(fabs(h[i].log_probability / sqrt((double)h[i].n) - h[i].score) < 1e-9);
            assert_int_equal(h[i].source_tokens, x.length[i / 3]);
            if (i % 3 > 0)
                assert_true(h[i].score <= h[i - 1].score &&
                            (h[i].n != h[i - 1].n ||
                             memcmp(h[i].ids, h[i - 1].ids, h[i].n * sizeof(int32_t)) != 0));
        }
        wg_hypotheses_free(h, 3 * x.n);
        wg_search_free(s);
    }
    check_that(unknown[0] > 0 && unknown[1] == 0 && cut > 0 && ended > 0,
               "%zu and %zu unknown, %zu cut, %zu ended", unknown[0], unknown[1], cut, ended);
    wg_store_free(store);
}

/* Scores and attention of a translation are those of the same target given. */
static void forced_scores_and_attention(void **state)
{
    (void)state;
    for (int v = 0; variant(v).d_model; v += 4) {
        const wg_transformer_config c = variant(v);
        wg_store *store = random_parameters(&c, 13);
        const wg_search_model model = model_of(&c, store);
        wg_search *s = search_of(&model);
        sentences x;
        draw_sentences(&x, 12, 9, 40);
        const wg_search_options o = {.beam = 3,
                                     .alpha = 0.6,
                                     .penalty = WG_PENALTY_GNMT,
                                     .max_length = 10,
                                     .attention = true};
        wg_hypothesis *found = translate(s, &x, &o), *given = NULL;
        const int32_t *targets[64];
        size_t lengths[64], compared = 0;
        for (size_t i = 0; i < x.n; i++) {
            targets[i] = found[i].ids;
            lengths[i] = found[i].n;
        }
        check_that(wg_search_score(s, x.at, x.length, targets, lengths, x.n, &o, &given) == WG_OK,
                   "%s", wg_search_message(s));
        expect_same("forced", given, found, x.n);
        for (size_t i = 0; i < x.n; i++)
            for (size_t t = 0; t < found[i].n; t++) {
                double sum = 0;
                for (size_t k = 0; k < x.length[i]; k++, compared++) {
                    float w = found[i].attention[t * x.length[i] + k];
                    assert_true(w >= 0 &&
                                fabsf(w - given[i].attention[t * x.length[i] + k]) <= 1e-5f);
                    sum += w;
                }
                check_that(fabs(sum - 1) < 1e-5, "variant %d: the weights of token %zu sum to %g",
                           v, t, sum);
            }
        assert_true(compared > 100);
        wg_hypotheses_free(found, x.n);
        wg_hypotheses_free(given, x.n);
        wg_search_free(s);
        wg_store_free(store);
    }
}

/* ---- edges ----------------------------------------------------------------------------------- */

static void empty_sentences_have_empty_translations(void **state)
{
    (void)state;
    const wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 1);
    const wg_search_model model = model_of(&c, store);
    wg_search *s = search_of(&model);
    wg_hypothesis *h = NULL;
    assert_int_equal(wg_search_run(s, NULL, NULL, 0, NULL, &h), WG_OK);
    wg_hypotheses_free(h, 0);
    const int32_t words[] = {5, 6, EOS}, *sources[] = {words, words, words};
    const size_t lengths[] = {0, 3, 0};
    assert_int_equal(wg_search_run(s, sources, lengths, 3,
                                   &(wg_search_options){.beam = 2, .attention = true}, &h),
                     WG_OK);
    assert_true(h[0].n == 0 && h[0].ids && h[1].n > 0 && h[2].n == 0);
    wg_hypotheses_free(h, 3);
    wg_hypotheses_free(NULL, 3);
    wg_search_free(s);
    wg_search_free(NULL);
    wg_store_free(store);
}

static void refused(const wg_search_model *model, const char *expected)
{
    wg_search *s = NULL;
    wg_error error;
    assert_true(wg_search_create(&s, model, &error) != WG_OK);
    assert_null(s);
    check_that(strstr(error.text, expected) != NULL, "\"%s\" has no \"%s\"", error.text, expected);
}

static void bad_models_are_refused(void **state)
{
    (void)state;
    wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 1), *empty = wg_store_new(1);
    wg_search_model model = model_of(&c, store);
    model.eos = VOCABULARY;
    refused(&model, "end of sentence is token 13, must be in [0,13)");
    model.eos = EOS;
    model.store = empty;
    refused(&model, "there is no parameter");
    assert_int_equal(wg_store_count(empty), 0);
    model.store = store;
    model.threads = -1;
    refused(&model, "threads is -1, must be 1 to 1024, or 0 for what the process may use");
    model.threads = WG_MAX_THREADS + 1;
    refused(&model, "threads is 1025, must be 1 to 1024, or 0 for what the process may use");
    model.threads = 0;
    c.d_ff = 20;
    refused(&model, "encoder/layer0/ff/inner/weight is f32[24,16], must be f32[20,16]");
    c.heads = 3;
    refused(&model, "heads is 3");
    wg_store_free(empty);
    wg_store_free(store);
}

static void bad_options_and_ids_are_refused(void **state)
{
    (void)state;
    wg_transformer_config c = variant(2); /* 40 learned positions */
    wg_store *store = random_parameters(&c, 1);
    const wg_search_model model = model_of(&c, store);
    wg_search *s = search_of(&model);
    int32_t ids[50] = {4, 5, EOS};
    const int32_t *at = ids;
    static const struct {
        wg_search_options o;
        size_t length;
        int32_t id;
        wg_status status;
        const char *message;
    } cases[] = {
        {{.beam = -1}, 3, 4, WG_EINVAL, "the beam is -1"},
        {{.beam = 2, .n_best = 3}, 3, 4, WG_EINVAL, "n_best is 3, must be from 1 to the beam, 2"},
        {{.penalty = 7}, 3, 4, WG_EINVAL, "no length penalty 7"},
        {{.max_factor = -1}, 3, 4, WG_EINVAL, "not negative"},
        {{.attention = true, .attention_of = "encoder/layer0/cross_attn"},
         3,
         4,
         WG_EINVAL,
         "there is no attention 'encoder/layer0/cross_attn', only encoder/layer0 to 1"},
        {{.attention = true, .attention_of = "decoder/layer2"}, 3, 4, WG_EINVAL, "no attention"},
        {{.attention = true, .attention_of = "decode"}, 3, 4, WG_EINVAL, "no attention"},
        {{0}, 3, VOCABULARY, WG_EDATA, "the source of sentence 1: token 13 is outside [0,13)"},
        {{0}, 41, 4, WG_EDATA, "has 41 tokens, but only 40 positions were learned"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_hypothesis *h = NULL;
        ids[0] = cases[i].id;
        assert_int_equal(wg_search_run(s, &at, &cases[i].length, 1, &cases[i].o, &h),
                         cases[i].status);
        assert_null(h);
        check_that(strstr(wg_search_message(s), cases[i].message) != NULL, "\"%s\" has no \"%s\"",
                   wg_search_message(s), cases[i].message);
    }
    ids[0] = 4; /* all positions there are */
    wg_hypothesis *h = NULL;
    const size_t max = 40;
    for (int uncached = 0; uncached < 2; uncached++) {
        const wg_search_options o = {.beam = 2, .uncached = uncached};
        check_that(wg_search_run(s, &at, &max, 1, &o, &h) == WG_OK, "%s", wg_search_message(s));
        assert_true(h->n >= 1 && h->n <= 40);
        wg_hypotheses_free(h, 1);
    }
    wg_search_free(s);
    wg_store_free(store);
}

/* NaN in a parameter ends the search with a status, not in an endless loop. */
static void nan_in_parameters_is_an_error(void **state)
{
    (void)state;
    const wg_transformer_config c = small_config();
    wg_store *store = random_parameters(&c, 1);
    const wg_search_model model = model_of(&c, store);
    wg_search *s = search_of(&model);
    sentences x;
    draw_sentences(&x, 3, 5, 1);
    wg_hypothesis *h = translate(s, &x, NULL);
    wg_hypotheses_free(h, x.n);
    float *w = wg_store_find(store, "decoder/layer1/ff/outer/bias")->data;
    float was = w[0];
    w[0] = NAN;
    assert_int_equal(wg_search_run(s, x.at, x.length, x.n, NULL, &h), WG_ENONFINITE);
    assert_null(h);
    assert_non_null(strstr(wg_search_message(s), "no next token has a finite probability"));
    w[0] = was;
    h = translate(s, &x, NULL); /* and it goes on */
    wg_hypotheses_free(h, x.n);
    wg_search_free(s);
    wg_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_search_equals_uncached),
        {"in 8 bits", cached_search_equals_uncached, NULL, NULL, "8"},
        cmocka_unit_test(int8_is_close_to_f32),
        cmocka_unit_test(a_beam_of_one_is_greedy),
        cmocka_unit_test(a_beam_of_all_sequences_finds_the_best),
        cmocka_unit_test(length_penalties),
        cmocka_unit_test(other_sentences_and_their_order_do_not_matter),
        cmocka_unit_test(results_are_well_formed),
        cmocka_unit_test(forced_scores_and_attention),
        cmocka_unit_test(empty_sentences_have_empty_translations),
        cmocka_unit_test(bad_models_are_refused),
        cmocka_unit_test(bad_options_and_ids_are_refused),
        cmocka_unit_test(nan_in_parameters_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
