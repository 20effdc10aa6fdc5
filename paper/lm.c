/* The decoder alone as a language model of a source whose entropy is known.
 *
 * The source: words in which each pair is followed by one of three, with probabilities 0.6, 0.3 and
 * 0.1; the first two words are any.  So the entropy of a word is the same after every pair, and
 * that of a text of T words is exactly
 *
 *     2 log WORDS + (T - 2) H,    H = -sum of p log p over the three. */
#include "graph/error.h"
#include "graph/random.h"
#include "paper/experiments.h"
#include "wengert/decode/generate.h"
#include "wengert/models/transformer.h"
#include "wengert/train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 8, BEGIN = WORDS, VOCABULARY, T = 32, CHOICES = 3 };
enum { BATCH = 32, TESTS = 256, TEST_STREAM = 1000, CURVE = 25, SAMPLES = 128, SEEDS = 5 };
static const double choice[CHOICES] = {0.6, 0.3, 0.1};

/* ---- the source ------------------------------------------------------------------------------ */

/* The three words that follow a and b, the most probable first: a rotation of all words by steps of
 * 3, which no two lines of the table share by rule. */
static int follower(int a, int b, int rank)
{
    const wgi_random random = wgi_random_of(41, (uint64_t)a * WORDS + (uint64_t)b, 0);
    int first = (int)(wgi_uniform(&random, 0) * WORDS);
    int step = 1 + 2 * (int)(wgi_uniform(&random, 1) * (WORDS / 2.0)); /* odd: no word twice */
    return (first + rank * step) % WORDS;
}

static int rank_of(int a, int b, int word)
{
    int rank = 0;
    while (rank < CHOICES && follower(a, b, rank) != word)
        rank++;
    return rank;
}

/* Text number i of a stream: BEGIN and T words. */
static void speak(uint64_t stream, uint64_t i, int32_t *text)
{
    const wgi_random random = wgi_random_of(stream, i, 1);
    text[0] = BEGIN;
    for (int t = 1; t <= T; t++) {
        double u = wgi_uniform(&random, (uint64_t)t);
        int rank = u < choice[0] ? 0 : u < choice[0] + choice[1] ? 1 : 2;
        text[t] = t <= 2 ? (int32_t)(u * WORDS) : follower(text[t - 2], text[t - 1], rank);
    }
}

/* Nats per word, in the mean over a text. */
static double entropy(void)
{
    double h = 0;
    for (int k = 0; k < CHOICES; k++)
        h -= choice[k] * log(choice[k]);
    return (2 * log(WORDS) + (T - 2) * h) / T;
}

/* -log p of a word by the source itself, in the mean over the test texts, which chance puts above
 * or below the entropy. */
static double by_source(void)
{
    double sum = 0;
    int32_t text[T + 1];
    for (uint64_t i = 0; i < TESTS; i++) {
        speak(TEST_STREAM, i, text);
        for (int t = 1; t <= T; t++)
            /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): a rank is one of CHOICES */
            sum += t <= 2 ? log(WORDS) : -log(choice[rank_of(text[t - 2], text[t - 1], text[t])]);
    }
    return sum / (TESTS * T);
}

/* ---- the training ---------------------------------------------------------------------------- */

/* What is measured of one training. */
enum { NLL = 0, LOSSES, DRAWS = LOSSES + CURVE };
enum { WRONG = 0, FIRST, DISTINCT, SHARES };

static const struct {
    const char *name;
    wg_sampling how;
} samplings[] = {
    {"the model's distribution", {1, 0, 1}},   {"temperature 1.5", {1.5, 0, 1}},
    {"temperature 0.7", {0.7, 0, 1}},          {"temperature 0 (greedy)", {0, 0, 1}},
    {"temperature 1.5, top-k 3", {1.5, 3, 1}}, {"temperature 1.5, nucleus 0.9", {1.5, 0, 0.9}},
};
enum { METHODS = WG_COUNT(samplings), NUMBERS = DRAWS + METHODS * SHARES };
enum { PLAIN = 0, HOT, COLD, GREEDY, TOP, NUCLEUS };

typedef struct course {
    uint64_t stream;
    wg_transformer_config net;
    double *loss; /* [CURVE], `at` of them so far */
    int at;
} course;

static wg_status read_text(void *context, int64_t epoch, int64_t i, void *const *to,
                           wg_error *error)
{
    const course *c = context;
    int32_t text[T + 1], *in = to[0], *out = to[1];
    (void)epoch;
    (void)error;
    speak(c->stream, (uint64_t)i, text);
    for (int t = 0; t < T; t++) {
        in[t] = text[t];
        out[t] = text[t + 1];
    }
    return WG_OK;
}

static wg_value *model(void *context, const wg_model_step *step)
{
    const course *c = context;
    wg_transformer m = wg_transformer_begin(step->graph, &c->net, step->mode);
    const wg_transformer_inputs in = {.target_in = step->inputs[0], .target_out = step->inputs[1]};
    return wg_transformer_loss(&m, &in, NULL);
}

static void note(void *context, const wg_event *event)
{
    course *c = context;
    if (event->kind == WG_EVENT_DISPLAY && c->at < CURVE)
        c->loss[c->at++] = event->loss;
}

static wg_transformer_config network(void)
{
    wg_transformer_config c = *wg_transformer_find("tiny");
    c.encoder_layers = 0;
    c.decoder_layers = 2;
    c.target_vocabulary = VOCABULARY;
    c.d_model = 64;
    c.d_ff = 128;
    c.pre_norm = true;
    c.dropout = c.label_smoothing = 0;
    return c;
}

/* ---- what is drawn --------------------------------------------------------------------------- */

static int by_words(const void *a, const void *b)
{
    const wg_generated *x = a, *y = b;
    for (int t = 0; t < T; t++)
        if (x->ids[t] != y->ids[t])
            return x->ids[t] < y->ids[t] ? -1 : 1;
    return 0;
}

/* Shares of the words that cannot follow, of those that are the most probable ones, and of texts
 * that differ from all others. */
static void count_shares(wg_generated *text, double *shares)
{
    int wrong = 0, first = 0, distinct = 0;
    for (int i = 0; i < SAMPLES; i++)
        for (int t = 2; t < T; t++) {
            int rank = rank_of(text[i].ids[t - 2], text[i].ids[t - 1], text[i].ids[t]);
            wrong += rank == CHOICES;
            first += rank == 0;
        }
    qsort(text, SAMPLES, sizeof *text, by_words);
    for (int i = 0; i < SAMPLES; i++)
        distinct += i == 0 || by_words(&text[i - 1], &text[i]) != 0;
    shares[WRONG] = (double)wrong / (SAMPLES * (T - 2));
    shares[FIRST] = (double)first / (SAMPLES * (T - 2));
    shares[DISTINCT] = (double)distinct / SAMPLES;
}

static wg_status draw(const course *c, wg_store *store, uint64_t seed, double *shares,
                      wg_error *error)
{
    const wg_search_model m = {.config = &c->net,
                               .store = store,
                               .bos = BEGIN,
                               .eos = BEGIN,
                               .pad = BEGIN,
                               .unk = -1,
                               .threads = 1};
    wg_generator *g = NULL;
    wg_status status = wg_generator_create(&g, &m, error);
    for (int k = 0; k < METHODS && status == WG_OK; k++) {
        wg_generated *text = NULL;
        const wg_generate_options o = {.sampling = samplings[k].how,
                                       .length = T,
                                       .samples = SAMPLES,
                                       .seed = seed,
                                       .go_on = true};
        status = wg_generator_run(g, NULL, 0, &o, &text);
        if (status == WG_OK)
            count_shares(text, shares + k * SHARES);
        else
            wgi_error_set(error, status, "%s", wg_generator_message(g));
        wg_generated_free(text, SAMPLES);
    }
    wg_generator_free(g);
    return status;
}

/* ---- a training and its numbers -------------------------------------------------------------- */

static wg_status measure(course *c, wg_trainer *t, uint64_t seed, double *values, wg_error *error)
{
    wg_status status = wg_trainer_run(t, NULL);
    if (status == WG_OK)
        status = wg_trainer_validate(t, NULL, NULL);
    if (status != WG_OK)
        return wgi_error_set(error, status, "%s", wg_trainer_message(t));
    values[NLL] = wg_trainer_metric(t, "loss");
    return draw(c, wg_trainer_store(t), seed, values + DRAWS, error);
}

static int64_t updates_of(const paper_run *r)
{
    return r->small ? 600 : 2000;
}

static wg_status train(paper_run *r, const void *what, double *values, wg_error *error)
{
    const uint64_t seed = *(const uint64_t *)what;
    const wg_field fields[] = {{.name = "read", .dtype = WG_I32, .shape = WG_SHAPE(T)},
                               {.name = "next", .dtype = WG_I32, .shape = WG_SHAPE(T)}};
    const int64_t updates = updates_of(r);
    course c = {.stream = seed, .net = network(), .loss = values + LOSSES},
           others = {.stream = TEST_STREAM};
    wg_examples training = {fields,
                            2,
                            .count = updates * BATCH,
                            .read = read_text,
                            .context = &c,
                            .batch = BATCH},
                tests = training;
    tests.count = TESTS;
    tests.context = &others;
    const wg_trainer_options options = {
        .model = model,
        .context = &c,
        .train = &training,
        .valid = &tests,
        .optimizer = {.beta2 = 0.98, .eps = 1e-9},
        .schedule = {WG_SCHEDULE_LINEAR, .rate = 4e-3, .warmup = 50},
        .after = {updates, 'u'},
        .report = {updates / CURVE, 'u'},
        .listener = {note, &c},
        .seed = seed,
        .threads = 1, /* trainings run beside each other */
    };
    wg_trainer *t = NULL;
    wg_status status = wg_trainer_create(&t, &options, error);
    if (status == WG_OK)
        status = measure(&c, t, seed, values, error);
    wg_trainer_free(t);
    return status;
}

static wg_status train_one(paper_run *r, void *context, int i)
{
    double(*values)[NUMBERS] = context;
    const uint64_t seed = (uint64_t)i + 1;
    char key[40];
    snprintf(key, sizeof key, "decoder/seed%d", i + 1);
    return paper_once(r, key, values[i], NUMBERS, train, &seed);
}

/* ---- the report ------------------------------------------------------------------------------ */

static paper_spread over_seeds(double (*values)[NUMBERS], int seeds, int at)
{
    double x[SEEDS];
    for (int i = 0; i < seeds; i++)
        x[i] = values[i][at];
    return paper_spread_of(x, seeds);
}

static void add_losses(paper_run *r, double (*values)[NUMBERS], int seeds)
{
    paper_panel *p = paper_add_panel(r->report, "training loss", "updates", "nats per word");
    paper_curve *c = paper_add_curve(p, "decoder only"),
                *least = paper_add_curve(p, "entropy of the source");
    for (int k = 0; k < CURVE; k++) {
        paper_spread s = over_seeds(values, seeds, LOSSES + k);
        int64_t update = updates_of(r) / CURVE * (k + 1);
        paper_point(p, c, (double)update, s.mean, s.deviation);
        paper_point(p, least, (double)update, entropy(), 0);
    }
}

static void add_draws(paper_run *r, double (*values)[NUMBERS], int seeds)
{
    static const char *const columns[] = {"drawn from", "words that cannot follow",
                                          "most probable words", "distinct texts"};
    paper_table *t = paper_add_table(r->report, "What is drawn; of the source: 0, 0.6 and 1",
                                     columns, WG_COUNT(columns));
    for (int k = 0; k < METHODS; k++) {
        paper_row(t);
        paper_words(t, "%s", samplings[k].name);
        for (int s = 0; s < SHARES; s++)
            paper_mean(t, over_seeds(values, seeds, DRAWS + k * SHARES + s), 3);
    }
}

static void find(paper_run *r, double (*values)[NUMBERS], int seeds)
{
    paper_spread nll = over_seeds(values, seeds, NLL), draw[METHODS][SHARES];
    for (int k = 0; k < METHODS; k++)
        for (int s = 0; s < SHARES; s++)
            draw[k][s] = over_seeds(values, seeds, DRAWS + k * SHARES + s);
    const double source = by_source(), above = nll.mean - source;
    paper_found(r->report, above > -0.002 && above < (r->small ? 0.1 : 0.02),
                "The perplexity of new texts is %.3f, where the source itself has %.3f: the model "
                "spends %.4f nats more on a word (%.4f +- %.4f, the source %.4f).",
                exp(nll.mean), exp(source), above, nll.mean, nll.deviation, source);
    paper_found(r->report,
                draw[HOT][WRONG].mean > draw[PLAIN][WRONG].mean &&
                    draw[PLAIN][WRONG].mean >= draw[COLD][WRONG].mean &&
                    draw[COLD][FIRST].mean > draw[PLAIN][FIRST].mean &&
                    draw[GREEDY][DISTINCT].mean < 0.5,
                "A higher temperature draws more words that cannot follow (%.3f at 1.5, %.3f at 1, "
                "%.3f at 0.7), a lower one more of the most probable (%.3f at 0.7, %.3f at 1), and "
                "greedy texts are all the same.",
                draw[HOT][WRONG].mean, draw[PLAIN][WRONG].mean, draw[COLD][WRONG].mean,
                draw[COLD][FIRST].mean, draw[PLAIN][FIRST].mean);
    paper_found(r->report,
                draw[TOP][WRONG].mean < draw[HOT][WRONG].mean &&
                    draw[NUCLEUS][WRONG].mean < draw[HOT][WRONG].mean &&
                    draw[TOP][DISTINCT].mean > 0.9 && draw[NUCLEUS][DISTINCT].mean > 0.9,
                "At temperature 1.5, the three most probable words (%.3f) and the nucleus of 0.9 "
                "(%.3f) leave out most words that cannot follow, of %.3f, and texts stay distinct.",
                draw[TOP][WRONG].mean, draw[NUCLEUS][WRONG].mean, draw[HOT][WRONG].mean);
}

static void add_perplexity(paper_run *r, double (*values)[NUMBERS], int seeds)
{
    static const char *const columns[] = {"predicted by", "-log p of a word", "perplexity"};
    paper_spread nll = over_seeds(values, seeds, NLL);
    paper_table *t =
        paper_add_table(r->report, "New texts of 32 words", columns, WG_COUNT(columns));
    paper_row(t);
    paper_words(t, "equal probabilities");
    paper_number(t, log(WORDS), 4);
    paper_number(t, WORDS, 3);
    paper_row(t);
    paper_words(t, "decoder only, 2 layers");
    paper_mean(t, nll, 4);
    paper_number(t, exp(nll.mean), 3);
    paper_row(t);
    paper_words(t, "the source itself");
    paper_number(t, by_source(), 4);
    paper_number(t, exp(by_source()), 3);
    paper_row(t);
    paper_words(t, "its entropy");
    paper_number(t, entropy(), 4);
    paper_number(t, exp(entropy()), 3);
}

wg_status paper_lm(paper_run *r)
{
    const int seeds = r->small ? 1 : SEEDS;
    double(*values)[NUMBERS] = calloc(SEEDS, sizeof *values);
    if (!values)
        return wgi_error_set(&r->error, WG_ENOMEM, "out of memory");
    wg_status status = paper_in_parallel(r, seeds, train_one, values);
    if (status == WG_OK) {
        add_perplexity(r, values, seeds);
        add_draws(r, values, seeds);
        add_losses(r, values, seeds);
        find(r, values, seeds);
    }
    free(values);
    return status;
}
