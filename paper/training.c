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

static int numbers_of(const paper_training *t)
{
    return (t->tests ? t->tests : 1) * PAPER_SCORES + t->points;
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
    int count = x->tests * PAPER_SCORES + x->points;
    return x->number + (variant * x->seeds + seed) * count;
}

/* Seeds in the outer loop: a run that is stopped early has some seeds of every variant. */
static wg_status run_one(paper_run *r, void *context, int i)
{
    const batch_of_trials *b = context;
    int variant = i % b->results->variants, seed = i / b->results->variants;
    const trial x = {.training = &b->variant[variant], .seed = (uint64_t)seed + 1};
    char key[PAPER_KEY];
    snprintf(key, sizeof key, "%s/seed%d", x.training->name, seed + 1);
    return paper_once(r, key, numbers_at(b->results, variant, seed), numbers_of(x.training),
                      run_trial, &x);
}

wg_status paper_train(paper_run *r, const paper_training *variant, int variants, int seeds,
                      paper_results *out)
{
    const int count = numbers_of(&variant[0]);
    *out = (paper_results){variants, seeds, variant->tests ? variant->tests : 1, variant->points,
                           calloc((size_t)(variants * seeds * count), sizeof(double))};
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

static paper_spread spread_at(const paper_results *x, int variant, int at)
{
    enum { MAX_SEEDS = 32 };
    double values[MAX_SEEDS];
    int n = x->seeds < MAX_SEEDS ? x->seeds : MAX_SEEDS;
    for (int i = 0; i < n; i++)
        values[i] = numbers_at(x, variant, i)[at];
    return paper_spread_of(values, n);
}

paper_spread paper_score_of(const paper_results *results, int variant, int test, paper_score score)
{
    return spread_at(results, variant, test * PAPER_SCORES + (int)score);
}

paper_spread paper_loss_at(const paper_results *results, int variant, int point)
{
    return spread_at(results, variant, results->tests * PAPER_SCORES + point);
}

void paper_add_scores(paper_run *r, const char *title, const paper_training *variant,
                      const paper_results *results)
{
    static const char *const columns[] = {"variant", "-log p of a token", "right tokens",
                                          "right sentences"};
    paper_table *t = paper_add_table(r->report, title, columns, WG_COUNT(columns));
    for (int i = 0; i < results->variants; i++) {
        paper_row(t);
        paper_words(t, "%s", variant[i].name);
        for (paper_score k = PAPER_NLL; k < PAPER_SCORES; k++)
            paper_mean(t, paper_score_of(results, i, 0, k), 3);
    }
}

bool paper_clearly_more(paper_spread a, paper_spread b)
{
    double variance = a.deviation * a.deviation / a.n + b.deviation * b.deviation / b.n;
    return a.mean - b.mean > sqrt(variance) && a.mean > b.mean;
}
