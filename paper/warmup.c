/* Deep Transformers: the warm-up of the learning rate, and the norm before or after sublayers. */
#include "paper/experiments.h"
#include "paper/sweep.h"

/* The rates of section 5.3, d = 512. */
static void add_schedules(paper_run *r)
{
    enum { POINTS = 200 };
    static const int64_t warmups[] = {4000, 8000, 16000};
    paper_panel *p = paper_add_panel(r->report, "d^-.5 min(t^-.5, t warmup^-1.5), d = 512",
                                     "update t, in thousands", "learning rate");
    for (int i = 0; i < WG_COUNT(warmups); i++) {
        const wg_schedule s = {
            .kind = WG_SCHEDULE_NOAM, .rate = 1, .warmup = warmups[i], .d_model = 512};
        paper_curve *c = paper_add_curve(p, "warm-up %lld", (long long)warmups[i]);
        for (int64_t k = 1; k <= POINTS; k++)
            paper_point(p, c, (double)k / 5, wg_schedule_rate(&s, k * 200), 0);
    }
}

/* Curves and scores of deep Transformers with these settings; free the sweep in any case. */
static wg_status train_deep(paper_sweep *s, paper_run *r, const char *title,
                            const paper_setting *setting, int settings)
{
    const paper_training base = paper_training_deep(r->small);
    wg_status status = paper_sweep_train(s, r, &base, setting, settings);
    if (status == WG_OK) {
        paper_add_losses(r, s->variant, &s->results);
        paper_add_scores(r, title, s->variant, &s->results, false);
    }
    return status;
}

wg_status paper_warmup(paper_run *r)
{
    static const paper_setting settings[] = {
        {"no warm-up", .small = true},
        {"20 updates of warm-up", .small = true, .warmup = 20},
        {"60 updates of warm-up", .warmup = 60},
        {"150 updates of warm-up", .warmup = 150},
    };
    paper_sweep s;
    add_schedules(r);
    wg_status status = train_deep(&s, r, "Post-norm, 6 + 6 layers, by the length of the warm-up",
                                  settings, WG_COUNT(settings));
    if (status == WG_OK)
        paper_sweep_judge(&s, r, PAPER_NLL, "no warm-up", s.variant[s.n - 1].name);
    paper_sweep_free(&s);
    return status;
}

/* By how much the warm-up lowers -log p with the norm after, and before each sublayer. */
static void judge_norm(paper_run *r, const paper_sweep *s)
{
    static const char *const names[] = {"post-norm", "post-norm, warm-up", "pre-norm",
                                        "pre-norm, warm-up"};
    paper_spread x[WG_COUNT(names)];
    for (int i = 0; i < WG_COUNT(names); i++)
        x[i] = paper_sweep_score(s, names[i], PAPER_NLL);
    const double post = x[0].mean - x[1].mean, pre = x[2].mean - x[3].mean;
    paper_found(r->report, paper_clearly_more(x[0], x[1]) && post > 2 * pre,
                "A warm-up of 150 updates takes %.3f from -log p with post-norm, and %.3f with "
                "pre-norm.",
                post, pre);
}

wg_status paper_norm(paper_run *r)
{
    static const paper_setting settings[] = {
        {"post-norm", .small = true},
        {"post-norm, warm-up", .warmup = 150},
        {"pre-norm", .small = true, .pre_norm = true},
        {"pre-norm, warm-up", .pre_norm = true, .warmup = 150},
    };
    paper_sweep s;
    wg_status status = train_deep(&s, r, "6 + 6 layers, by the place of the norm and the warm-up",
                                  settings, WG_COUNT(settings));
    if (status == WG_OK) {
        paper_sweep_judge(&s, r, PAPER_NLL, "post-norm", "pre-norm");
        if (!r->small)
            judge_norm(r, &s);
    }
    paper_sweep_free(&s);
    return status;
}
