/* Section 6.1: beam search, by the size of the beam and the length penalty. */
#include "graph/error.h"
#include "paper/experiments.h"
#include "paper/sweep.h"
#include "wengert/decode/search.h"

#include <stdlib.h>

enum { SEARCHES = 9, SENTENCES = 256, LONGEST = 32 /* tokens */ };

static const struct {
    int64_t beam;
    double alpha; /* of the length penalty of Wu et al. 2016 */
} searches[SEARCHES] = {{1, 0},   {2, 0},    {4, 0},   {8, 0},   {16, 0},
                        {4, 0.6}, {16, 0.6}, {4, 1.0}, {16, 1.0}};
enum { GREEDY = 0, FOUR = 2, SIXTEEN = 4, PAPERS = 5 }; /* of these */

/* What is measured of a search. */
enum {
    RIGHT,  /* share of the sentences that are translated without a mistake */
    LENGTH, /* tokens of the translations, divided by those of the references */
    LOG_P,  /* of a translation */
    MISSED, /* search errors: share of sentences whose reference has a better score */
    MEASURES
};

/* ---- measuring ------------------------------------------------------------------------------- */

/* Held-out sentences. */
typedef struct sentences {
    int32_t source[SENTENCES][LONGEST], target[SENTENCES][LONGEST];
    const int32_t *sources[SENTENCES], *targets[SENTENCES];
    size_t length[SENTENCES]; /* of source and target, with the end */
} sentences;

static void fill(sentences *x, const paper_task *t)
{
    for (int i = 0; i < SENTENCES; i++) {
        int32_t in[LONGEST], length;
        paper_task_pair(t, PAPER_TEST_STREAM, (uint64_t)i, x->source[i], &length, in, x->target[i]);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without memory the status says so */
        x->sources[i] = x->source[i];
        x->targets[i] = x->target[i];
        x->length[i] = (size_t)length;
    }
}

static bool is_right(const sentences *x, int i, const wg_hypothesis *h)
{
    bool right = h->n == x->length[i];
    for (size_t k = 0; right && k < h->n; k++)
        right = h->ids[k] == x->target[i][k];
    return right;
}

static void measure(const sentences *x, const wg_hypothesis *found, const wg_hypothesis *reference,
                    double alpha, double *values)
{
    const double rounding = 1e-4;
    double tokens = 0, of_references = 0;
    for (int i = 0; i < SENTENCES; i++) {
        double best = reference[i].log_probability /
                      wg_length_penalty_of(WG_PENALTY_GNMT, alpha, x->length[i]);
        values[RIGHT] += (double)is_right(x, i, &found[i]) / SENTENCES;
        values[LOG_P] += found[i].log_probability / SENTENCES;
        values[MISSED] += (double)(best > found[i].score + rounding) / SENTENCES;
        tokens += (double)found[i].n;
        of_references += (double)x->length[i];
    }
    values[LENGTH] = tokens / of_references;
}

static wg_status search(wg_search *s, const sentences *x, double *values)
{
    wg_hypothesis *reference = NULL;
    wg_status status = wg_search_score(s, x->sources, x->length, x->targets, x->length, SENTENCES,
                                       NULL, &reference);
    for (int i = 0; i < SEARCHES && status == WG_OK; i++) {
        const wg_search_options o = {
            .beam = searches[i].beam, .penalty = WG_PENALTY_GNMT, .alpha = searches[i].alpha};
        wg_hypothesis *found = NULL;
        status = wg_search_run(s, x->sources, x->length, SENTENCES, &o, &found);
        if (status == WG_OK)
            measure(x, found, reference, o.alpha, values + i * MEASURES);
        wg_hypotheses_free(found, SENTENCES);
    }
    wg_hypotheses_free(reference, SENTENCES);
    return status;
}

static wg_status search_all(paper_model *m, double *values, wg_error *error)
{
    const wg_search_model model = {.config = &m->net,
                                   .store = wg_trainer_store(m->trainer),
                                   .bos = PAPER_BEGIN,
                                   .eos = PAPER_END,
                                   .pad = PAPER_PADDING,
                                   .unk = -1,
                                   .threads = 1};
    wg_search *s = NULL;
    if (paper_task_length(&m->training->task) > LONGEST)
        return wgi_error_set(error, WG_EINVAL, "beam: a sentence is longer than %d", LONGEST);
    sentences *x = calloc(1, sizeof *x);
    wg_status status =
        x ? wg_search_create(&s, &model, error) : wgi_error_set(error, WG_ENOMEM, "out of memory");
    if (status == WG_OK) {
        fill(x, &m->training->task);
        status = search(s, x, values);
        if (status != WG_OK)
            wgi_error_set(error, status, "%s", wg_search_message(s));
    }
    wg_search_free(s);
    free(x);
    return status;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* A model that was trained for a while, and one that makes many mistakes. */
static const paper_setting settings[] = {
    {"300 updates", .updates = 300},
    {"120 updates", .small = true, .updates = 120},
};

static paper_spread number_of(const paper_sweep *s, int model, int search, int measure)
{
    return paper_extra_of(&s->results, model, search * MEASURES + measure);
}

static void add_table(paper_run *r, const paper_sweep *s)
{
    static const char *const columns[] = {
        "model",         "beam", "alpha", "exact matches", "length", "log p of a translation",
        "search errors",
    };
    paper_table *t = paper_add_table(r->report, "Beam search, by size and length penalty", columns,
                                     WG_COUNT(columns));
    for (int m = 0; m < s->n; m++)
        for (int i = 0; i < SEARCHES; i++) {
            paper_row(t);
            paper_words(t, "%s", s->variant[m].name);
            paper_number(t, (double)searches[i].beam, 0);
            paper_number(t, searches[i].alpha, 1);
            for (int k = 0; k < MEASURES; k++)
                paper_mean(t, number_of(s, m, i, k), 3);
        }
}

/* The searches with one length penalty. */
static void add_curve(paper_panel *p, const paper_sweep *s, int model, int measure, double alpha)
{
    paper_curve *c = paper_add_curve(p, "%s, alpha = %.1f", s->variant[model].name, alpha);
    for (int i = 0; i < SEARCHES; i++) {
        paper_spread y = number_of(s, model, i, measure);
        if (searches[i].alpha == alpha)
            paper_point(p, c, (double)searches[i].beam, y.mean, y.deviation);
    }
}

static void draw(paper_run *r, const paper_sweep *s)
{
    static const char *const titles[MEASURES] = {"exact matches", "length, of the references'",
                                                 "log p of a translation", "search errors"};
    static const char *const units[MEASURES] = {"share of the sentences", "", "nats",
                                                "share of the sentences"};
    for (int k = 0; k < MEASURES; k++) {
        paper_panel *p = paper_add_panel(r->report, titles[k], "size of the beam", units[k]);
        paper_log_axes(p, true, false);
        for (int m = 0; m < s->n; m++) {
            add_curve(p, s, m, k, searches[GREEDY].alpha);
            add_curve(p, s, m, k, searches[PAPERS].alpha);
        }
    }
}

/* By how much a measure is more with search a than with search b of the same model. */
static paper_spread gain(const paper_sweep *s, int model, int a, int b, int measure)
{
    return paper_gain_of(&s->results, model, a * MEASURES + measure, b * MEASURES + measure);
}

static void judge(paper_run *r, const paper_sweep *s, int model)
{
    const char *name = s->variant[model].name;
    paper_spread likelier = gain(s, model, FOUR, GREEDY, LOG_P),
                 more = gain(s, model, SIXTEEN, FOUR, LOG_P),
                 better = gain(s, model, FOUR, GREEDY, RIGHT),
                 wider = gain(s, model, SIXTEEN, FOUR, RIGHT),
                 penalty = gain(s, model, PAPERS, FOUR, RIGHT);
    paper_found(r->report, paper_clearly_positive(likelier) && more.mean >= 0,
                "%s: log p of a translation rises with the beam, by %.3f +- %.3f from greedy "
                "search to a beam of 4, and by %.3f +- %.3f from there to 16.",
                name, likelier.mean, likelier.deviation, more.mean, more.deviation);
    paper_found(r->report, paper_clearly_positive(better),
                "%s: a beam of 4 changes the share of exact matches by %+.3f +- %.3f from that "
                "of greedy search, and one of 16 by %+.3f +- %.3f from that of 4.",
                name, better.mean, better.deviation, wider.mean, wider.deviation);
    paper_found(r->report, paper_clearly_positive(penalty),
                "%s: the length penalty of the paper, alpha = 0.6, changes it by %+.3f +- %.3f "
                "with a beam of 4; translations are %.3f times as long as the references with it, "
                "and %.3f times without it.",
                name, penalty.mean, penalty.deviation, number_of(s, model, PAPERS, LENGTH).mean,
                number_of(s, model, FOUR, LENGTH).mean);
}

wg_status paper_beam(paper_run *r)
{
    paper_training base = paper_sweep_base(r->small);
    paper_sweep s;
    base.extras = SEARCHES * MEASURES;
    base.extra = search_all;
    wg_status status = paper_sweep_train(&s, r, &base, settings, WG_COUNT(settings));
    if (status == WG_OK) {
        add_table(r, &s);
        paper_add_scores(r, "The models, which are told the tokens before each", s.variant,
                         &s.results, false);
        draw(r, &s);
        for (int m = 0; m < s.n; m++)
            judge(r, &s, m);
    }
    paper_sweep_free(&s);
    return status;
}
