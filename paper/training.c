#include "paper/training.h"
#include "graph/error.h"

#include <math.h>
#include <stdlib.h>

paper_training paper_training_usual(bool small)
{
    paper_training t = {
        .task = {.order = PAPER_SORTED, .words = 24, .shortest = 4, .longest = 10},
        .net = *wg_transformer_find("tiny"),
        .schedule = {WG_SCHEDULE_LINEAR, .rate = 4e-3, .warmup = small ? 10 : 60},
        .updates = small ? 60 : 500,
        .batch = small ? 32 : 64,
    };
    t.net.d_model = 32;
    t.net.d_ff = 64;
    t.net.heads = 4;
    t.net.encoder_layers = t.net.decoder_layers = 2;
    t.net.dropout = t.net.label_smoothing = 0;
    return t;
}

paper_training paper_training_deep(bool small)
{
    enum { CURVE = 25 };
    paper_training t = paper_training_usual(small);
    t.net.encoder_layers = t.net.decoder_layers = 6;
    t.updates = small ? 60 : 400;
    t.batch = small ? 16 : 32;
    t.schedule = (wg_schedule){WG_SCHEDULE_LINEAR, .rate = 3e-3};
    t.points = CURVE;
    return t;
}

static int numbers_of(const paper_training *t)
{
    return (t->tests ? t->tests : 1) * PAPER_SCORES + t->points + t->extras;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A variant with a seed. */
typedef struct trial {
    const paper_training *training;
    uint64_t seed;
} trial;

static wg_status run_trial(paper_run *r, const void *what, double *values, wg_error *error)
{
    const trial *x = what;
    const paper_training *t = x->training;
    const int tests = t->tests ? t->tests : 1;
    double *loss = values + tests * PAPER_SCORES;
    paper_model m;
    (void)r;
    for (int i = 0; i < t->points; i++)
        loss[i] = NAN;
    wg_status status = paper_model_train(&m, t, x->seed, loss, error);
    for (int i = 0; i < tests && status == WG_OK; i++)
        status = paper_model_score(&m, t->tests ? &t->test[i] : &t->task, values + i * PAPER_SCORES,
                                   error);
    if (status == WG_OK && t->extra)
        status = t->extra(&m, loss + t->points, error);
    paper_model_free(&m);
    return status;
}

/* What paper_train hands to the threads. */
typedef struct batch_of_trials {
    const paper_training *variant;
    paper_results *results;
} batch_of_trials;

static double *numbers_at(const paper_results *x, int variant, int seed)
{
    int count = x->tests * PAPER_SCORES + x->points + x->extras;
    return x->number + (variant * x->seeds + seed) * count;
}

/* The variant and the seed, without blanks. */
static void name_trial(char key[PAPER_KEY], const trial *x)
{
    snprintf(key, PAPER_KEY, "%s/seed%d", x->training->name, (int)x->seed);
    for (char *c = key; *c; c++)
        *c = *c == ' ' ? '_' : *c;
}

/* Seeds in the outer loop: a run that is stopped early has some seeds of every variant. */
static wg_status run_one(paper_run *r, void *context, int i)
{
    const batch_of_trials *b = context;
    int variant = i % b->results->variants, seed = i / b->results->variants;
    const trial x = {.training = &b->variant[variant], .seed = (uint64_t)seed + 1};
    char key[PAPER_KEY];
    name_trial(key, &x);
    return paper_once(r, key, numbers_at(b->results, variant, seed), numbers_of(x.training),
                      run_trial, &x);
}

wg_status paper_train(paper_run *r, const paper_training *variant, int variants, int seeds,
                      paper_results *out)
{
    const int count = numbers_of(&variant[0]);
    *out = (paper_results){
        .variants = variants,
        .seeds = seeds,
        .tests = variant->tests ? variant->tests : 1,
        .points = variant->points,
        .extras = variant->extras,
        .number = calloc((size_t)variants * (size_t)seeds * (size_t)count, sizeof(double))};
    if (!out->number)
        return wgi_error_set(&r->error, WG_ENOMEM, "out of memory");
    batch_of_trials b = {variant, out};
    return paper_in_parallel(r, variants * seeds, run_one, &b);
}

void paper_results_free(paper_results *results)
{
    free(results->number);
    *results = (paper_results){0};
}

/* ---- reports --------------------------------------------------------------------------------- */

/* Number `at` less number `than` of each training; than < 0: less nothing. */
static paper_spread gain_at(const paper_results *x, int variant, int at, int than)
{
    enum { MAX_SEEDS = 32 };
    double values[MAX_SEEDS];
    int n = x->seeds < MAX_SEEDS ? x->seeds : MAX_SEEDS;
    for (int i = 0; i < n; i++) {
        const double *number = numbers_at(x, variant, i);
        values[i] = number[at] - (than < 0 ? 0 : number[than]);
    }
    return paper_spread_of(values, n);
}

static paper_spread spread_at(const paper_results *x, int variant, int at)
{
    return gain_at(x, variant, at, -1);
}

paper_spread paper_score_of(const paper_results *results, int variant, int test, paper_score score)
{
    return spread_at(results, variant, test * PAPER_SCORES + (int)score);
}

paper_spread paper_loss_at(const paper_results *results, int variant, int point)
{
    return spread_at(results, variant, results->tests * PAPER_SCORES + point);
}

/* Where the extra numbers of a training begin. */
static int extras_at(const paper_results *x)
{
    return x->tests * PAPER_SCORES + x->points;
}

paper_spread paper_extra_of(const paper_results *results, int variant, int extra)
{
    return spread_at(results, variant, extras_at(results) + extra);
}

paper_spread paper_gain_of(const paper_results *results, int variant, int extra, int than)
{
    const int begin = extras_at(results);
    return gain_at(results, variant, begin + extra, begin + than);
}

const char *paper_score_unit(paper_score score)
{
    static const char *const units[PAPER_SCORES] = {[PAPER_NLL] = "nats per token",
                                                    [PAPER_ACCURACY] = "share of the tokens",
                                                    [PAPER_EXACT] = "share of the sentences"};
    return units[score];
}

void paper_add_scores(paper_run *r, const char *title, const paper_training *variant,
                      const paper_results *results, bool sizes)
{
    static const char *const columns[] = {"variant", "-log p of a token", "token accuracy",
                                          "exact matches", "parameters"};
    paper_table *t =
        paper_add_table(r->report, title, columns, WG_COUNT(columns) - (sizes ? 0 : 1));
    for (int i = 0; i < results->variants; i++) {
        paper_row(t);
        paper_words(t, "%s", variant[i].name);
        for (paper_score k = PAPER_NLL; k < PAPER_SCORES; k++)
            paper_mean(t, paper_score_of(results, i, 0, k), 3);
        if (sizes)
            paper_number(t, (double)paper_model_size(&variant[i]), 0);
    }
}

void paper_add_losses(paper_run *r, const paper_training *variant, const paper_results *results)
{
    paper_panel *p = paper_add_panel(r->report, "training loss", "updates", "nats per token");
    for (int i = 0; i < results->variants; i++) {
        paper_curve *c = paper_add_curve(p, "%s", variant[i].name);
        for (int k = 0; k < results->points; k++) {
            paper_spread s = paper_loss_at(results, i, k);
            int64_t update = variant[i].updates / results->points * (k + 1);
            paper_point(p, c, (double)update, s.mean, s.deviation);
        }
    }
}

bool paper_clearly_more(paper_spread a, paper_spread b)
{
    double variance = a.deviation * a.deviation / a.n + b.deviation * b.deviation / b.n;
    return a.mean - b.mean > sqrt(variance) && a.mean > b.mean;
}

bool paper_clearly_positive(paper_spread a)
{
    return paper_clearly_more(a, (paper_spread){.n = 1});
}
