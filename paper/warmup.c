/* The warm-up of the learning rate, in deep Transformers. */
#include "paper/experiments.h"
#include "paper/sweep.h"

/* The rates of section 5.3, d = 512. */
static void add_schedules(paper_run *r)
{
    enum { POINTS = 200 };
    static const int64_t warmups[] = {4000, 8000, 16000};
    paper_panel *p = paper_add_panel(r->report, "d^-.5 min(t^-.5, t warmup^-1.5), d = 512",
                                     "update t", "learning rate");
    for (int i = 0; i < WG_COUNT(warmups); i++) {
        const wg_schedule s = {
            .kind = WG_SCHEDULE_NOAM, .rate = 1, .warmup = warmups[i], .d_model = 512};
        paper_curve *c = paper_add_curve(p, "warm-up %lld", (long long)warmups[i]);
        for (int64_t k = 1; k <= POINTS; k++)
            paper_point(p, c, (double)k / 5, wg_schedule_rate(&s, k * 200), 0);
    }
}

wg_status paper_warmup(paper_run *r)
{
    static const paper_setting settings[] = {
        {"none", .small = true},
        {"20 updates", .small = true, .warmup = 20},
        {"60 updates", .warmup = 60},
        {"150 updates", .warmup = 150},
    };
    const paper_training base = paper_training_deep(r->small);
    paper_sweep s;
    wg_status status = paper_sweep_train(&s, r, &base, settings, WG_COUNT(settings));
    if (status == WG_OK) {
        const paper_training *last = &s.variant[s.n - 1];
        paper_spread without = paper_sweep_score(&s, "none", PAPER_NLL),
                     with = paper_sweep_score(&s, last->name, PAPER_NLL);
        add_schedules(r);
        paper_add_losses(r, s.variant, &s.results);
        paper_add_scores(r, "Post-norm, 6 + 6 layers, by the length of the warm-up", s.variant,
                         &s.results, false);
        paper_found(r->report, paper_clearly_more(without, with),
                    "Without warm-up -log p of a token is %.3f +- %.3f, with a rise of %lld "
                    "updates %.3f +- %.3f.",
                    without.mean, without.deviation, (long long)last->schedule.warmup, with.mean,
                    with.deviation);
    }
    paper_sweep_free(&s);
    return status;
}
