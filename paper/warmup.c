/* The warm-up of the learning rate, in deep Transformers. */
#include "paper/experiments.h"
#include "paper/training.h"

#include <math.h>

enum { CURVE = 25 };
static const double peak = 3e-3;

/* Six and six layers, whose learning rate rises for so many updates and then falls in a straight
 * line. */
static paper_training deep(const char *name, int64_t warmup, bool small)
{
    paper_training t = paper_training_usual(small);
    t.name = name;
    t.net.encoder_layers = t.net.decoder_layers = 6;
    t.updates = small ? 60 : 400;
    t.batch = small ? 16 : 32;
    t.schedule = (wg_schedule){WG_SCHEDULE_LINEAR, .rate = peak, .warmup = warmup};
    t.points = CURVE;
    return t;
}

/* The training loss of each variant. */
static void add_losses(paper_run *r, const paper_training *variant, const paper_results *x)
{
    paper_panel *p = paper_add_panel(r->report, "training loss", "updates", "nats per token");
    for (int i = 0; i < x->variants; i++) {
        paper_curve *c = paper_add_curve(p, "%s", variant[i].name);
        for (int k = 0; k < CURVE; k++) {
            paper_spread s = paper_loss_at(x, i, k);
            double update = (double)(variant[i].updates / CURVE * (k + 1));
            paper_point(p, c, update, s.mean, s.deviation);
        }
    }
}

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
    enum { MOST = 4 };
    static const char *const names[MOST] = {"none", "20_updates", "60_updates", "150_updates"};
    static const int64_t warmups[MOST] = {0, 20, 60, 150};
    paper_training variant[MOST];
    paper_results x;
    int n = 0;
    for (int i = 0; i < MOST; i++)
        if (!r->small || i < 2)
            variant[n++] = deep(names[i], warmups[i], r->small);
    wg_status status = paper_train(r, variant, n, r->small ? 1 : 5, &x);
    if (status == WG_OK) {
        paper_spread without = paper_score_of(&x, 0, 0, PAPER_NLL),
                     with = paper_score_of(&x, n - 1, 0, PAPER_NLL);
        add_schedules(r);
        add_losses(r, variant, &x);
        paper_add_scores(r, "Post-norm, 6 + 6 layers, by the length of the warm-up", variant, &x);
        paper_found(r->report, paper_clearly_more(without, with),
                    "Without warm-up -log p of a token is %.3f +- %.3f, with a rise of %lld "
                    "updates %.3f +- %.3f.",
                    without.mean, without.deviation, (long long)variant[n - 1].schedule.warmup,
                    with.mean, with.deviation);
    }
    paper_results_free(&x);
    return status;
}
