/* Section 6.1: means of the last checkpoints, by the schedule of the learning rate. */
#include "paper/experiments.h"
#include "paper/sweep.h"

enum { MEANS = 5, APART = 5 };
static const int last[MEANS] = {1, 2, 5, 10, 20};
enum { FIVE = 2, TWENTY = 4 }; /* of these */

static const paper_setting settings[] = {
    {"t^-0.5", .kind = WG_SCHEDULE_INVERSE_SQRT},
    {"constant", .small = true, .kind = WG_SCHEDULE_CONSTANT},
    {"linear to 0", .kind = WG_SCHEDULE_LINEAR},
};

/* The scores of each mean; that of one checkpoint is the model as it was trained. */
static wg_status score_means(paper_model *m, double *values, wg_error *error)
{
    wg_status status = WG_OK;
    for (int i = MEANS - 1; i >= 0 && status == WG_OK; i--) {
        paper_checkpoints_average(&m->kept, last[i], wg_trainer_store(m->trainer));
        status = paper_model_score(m, &m->training->task, values + i * PAPER_SCORES, error);
    }
    return status;
}

static paper_spread score_of(const paper_sweep *s, int variant, int mean, paper_score score)
{
    return paper_extra_of(&s->results, variant, mean * PAPER_SCORES + (int)score);
}

static void add_table(paper_run *r, const paper_sweep *s)
{
    static const char *const columns[] = {"learning rate", "mean of the last", "-log p of a token",
                                          "token accuracy", "exact matches"};
    paper_table *t = paper_add_table(r->report, "Means of checkpoints, 5 updates from each other",
                                     columns, WG_COUNT(columns));
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < MEANS; k++) {
            paper_row(t);
            paper_words(t, "%s", s->variant[i].name);
            paper_number(t, last[k], 0);
            for (paper_score score = PAPER_NLL; score < PAPER_SCORES; score++)
                paper_mean(t, score_of(s, i, k, score), 3);
        }
}

static void draw(paper_run *r, const paper_sweep *s, const char *title, paper_score score)
{
    paper_panel *p =
        paper_add_panel(r->report, title, "checkpoints of the mean", paper_score_unit(score));
    paper_log_axes(p, true, false);
    for (int i = 0; i < s->n; i++) {
        paper_curve *c = paper_add_curve(p, "%s", s->variant[i].name);
        for (int k = 0; k < MEANS; k++) {
            paper_spread y = score_of(s, i, k, score);
            paper_point(p, c, last[k], y.mean, y.deviation);
        }
    }
}

/* By how much -log p is more with a mean than with the last checkpoint. */
static paper_spread change(const paper_sweep *s, int variant, int mean)
{
    return paper_gain_of(&s->results, variant, mean * PAPER_SCORES + PAPER_NLL, PAPER_NLL);
}

static void judge(paper_run *r, const paper_sweep *s, int variant)
{
    paper_spread one = score_of(s, variant, 0, PAPER_NLL), five = change(s, variant, FIVE),
                 twenty = change(s, variant, TWENTY);
    paper_found(r->report, paper_clearly_more((paper_spread){.n = 1}, five),
                "Learning rate %s: -log p of a token is %.3f +- %.3f with the last checkpoint; the "
                "mean of the last 5 changes it by %+.3f +- %.3f, that of 20 by %+.3f +- %.3f.",
                s->variant[variant].name, one.mean, one.deviation, five.mean, five.deviation,
                twenty.mean, twenty.deviation);
}

wg_status paper_averaging(paper_run *r)
{
    paper_training base = paper_sweep_base(r->small);
    paper_sweep s;
    base.updates = r->small ? 240 : base.updates;
    base.checkpoints = last[MEANS - 1];
    base.apart = APART;
    base.extras = MEANS * PAPER_SCORES;
    base.extra = score_means;
    wg_status status = paper_sweep_train(&s, r, &base, settings, WG_COUNT(settings));
    if (status == WG_OK) {
        add_table(r, &s);
        draw(r, &s, "-log p of a token", PAPER_NLL);
        draw(r, &s, "exact matches", PAPER_EXACT);
        for (int i = 0; i < s.n; i++)
            judge(r, &s, i);
    }
    paper_sweep_free(&s);
    return status;
}
