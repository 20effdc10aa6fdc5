#include "paper/sweep.h"
#include "graph/error.h"

#include <math.h>
#include <string.h>

/* ---- the variants ---------------------------------------------------------------------------- */

paper_training paper_sweep_base(bool small)
{
    paper_training t = paper_training_usual(small);
    t.updates = small ? t.updates : 300;
    return t;
}

static void set(int64_t *field, int64_t value)
{
    *field = value ? value : *field;
}

static void set_real(double *field, double value)
{
    *field = value != 0 ? value : *field;
}

paper_training paper_variant(const paper_training *base, const paper_setting *x)
{
    paper_training t = *base;
    t.name = x->name;
    set(&t.net.encoder_layers, x->layers);
    set(&t.net.decoder_layers, x->layers);
    set(&t.net.d_model, x->d_model);
    set(&t.net.d_ff, x->d_ff);
    set(&t.net.heads, x->heads);
    set(&t.net.d_k, x->d_k);
    set_real(&t.net.dropout, x->dropout);
    set_real(&t.net.label_smoothing, x->smoothing);
    t.net.pre_norm |= x->pre_norm;
    set(&t.schedule.warmup, x->warmup);
    t.schedule.kind = x->kind ? x->kind : t.schedule.kind;
    set(&t.task.examples, x->examples);
    set(&t.updates, x->updates);
    return t;
}

wg_status paper_sweep_train(paper_sweep *s, paper_run *r, const paper_training *base,
                            const paper_setting *setting, int settings)
{
    *s = (paper_sweep){0};
    for (int i = 0; i < settings; i++) {
        if (r->small && !setting[i].small)
            continue;
        if (s->n == PAPER_VARIANTS)
            return wgi_error_set(&r->error, WG_EINVAL, "expected at most %d variants",
                                 PAPER_VARIANTS);
        s->variant[s->n++] = paper_variant(base, &setting[i]);
    }
    return paper_train(r, s->variant, s->n, r->small ? PAPER_SMALL_SEEDS : PAPER_SEEDS,
                       &s->results);
}

void paper_sweep_free(paper_sweep *s)
{
    paper_results_free(&s->results);
}

/* ---- what was found -------------------------------------------------------------------------- */

int paper_sweep_find(const paper_sweep *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->variant[i].name, name) == 0)
            return i;
    return -1;
}

paper_spread paper_sweep_score(const paper_sweep *s, const char *name, paper_score score)
{
    int i = paper_sweep_find(s, name);
    return i < 0 ? (paper_spread){NAN, NAN, 0} : paper_score_of(&s->results, i, 0, score);
}

void paper_sweep_judge(const paper_sweep *s, paper_run *r, paper_score score, const char *more,
                       const char *less)
{
    static const char *const names[PAPER_SCORES] = {[PAPER_NLL] = "-log p of a token",
                                                    [PAPER_ACCURACY] = "Token accuracy",
                                                    [PAPER_EXACT] = "The share of exact matches"};
    paper_spread a = paper_sweep_score(s, more, score), b = paper_sweep_score(s, less, score);
    if (a.n && b.n)
        paper_found(r->report, paper_clearly_more(a, b),
                    "%s is %.3f +- %.3f with %s, and %.3f +- %.3f with %s.", names[score], a.mean,
                    a.deviation, more, b.mean, b.deviation, less);
}

static void add_curve(const paper_sweep *s, paper_panel *p, const char *label, paper_score score,
                      const paper_place *at, int n)
{
    paper_curve *c = paper_add_curve(p, "%s", label);
    for (int i = 0; i < n; i++) {
        paper_spread y = paper_sweep_score(s, at[i].name, score);
        if (y.n)
            paper_point(p, c, at[i].x, y.mean, y.deviation);
    }
}

void paper_sweep_panel(const paper_sweep *s, paper_run *r, const char *title, const char *x,
                       bool log, paper_score score, const paper_place *at, int n)
{
    int points = 0;
    for (int i = 0; i < n; i++)
        points += paper_sweep_find(s, at[i].name) >= 0;
    if (points < 2)
        return;
    paper_panel *p = paper_add_panel(r->report, title, x, paper_score_unit(score));
    paper_log_axes(p, log, false);
    add_curve(s, p, "", score, at, n);
}

void paper_sweep_draw(const paper_sweep *s, paper_run *r, const char *x, const paper_group *group,
                      int groups)
{
    static const struct {
        const char *title;
        paper_score score;
    } panels[] = {{"-log p of a token", PAPER_NLL}, {"exact matches", PAPER_EXACT}};
    for (int i = 0; i < WG_COUNT(panels); i++) {
        paper_panel *p =
            paper_add_panel(r->report, panels[i].title, x, paper_score_unit(panels[i].score));
        for (int k = 0; k < groups; k++)
            add_curve(s, p, group[k].label, panels[i].score, group[k].at, group[k].n);
    }
}
