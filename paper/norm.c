/* The norm before and after each sublayer, with and without a warm-up of the learning rate. */
#include "paper/experiments.h"
#include "paper/sweep.h"

wg_status paper_norm(paper_run *r)
{
    static const paper_setting settings[] = {
        {"post-norm", .small = true},
        {"post-norm, warm-up", .warmup = 150},
        {"pre-norm", .small = true, .pre_norm = true},
        {"pre-norm, warm-up", .pre_norm = true, .warmup = 150},
    };
    const paper_training base = paper_training_deep(r->small);
    paper_sweep s;
    wg_status status = paper_sweep_train(&s, r, &base, settings, WG_COUNT(settings));
    if (status == WG_OK) {
        paper_spread post = paper_sweep_score(&s, "post-norm", PAPER_NLL),
                     pre = paper_sweep_score(&s, "pre-norm", PAPER_NLL),
                     risen = paper_sweep_score(&s, "post-norm, warm-up", PAPER_NLL),
                     both = paper_sweep_score(&s, "pre-norm, warm-up", PAPER_NLL);
        paper_add_losses(r, s.variant, &s.results);
        paper_add_scores(r, "6 + 6 layers, by the place of the norm and the warm-up", s.variant,
                         &s.results, false);
        paper_found(r->report, paper_clearly_more(post, pre),
                    "Without warm-up -log p of a token is %.3f +- %.3f with the norm after each "
                    "sublayer, as the paper has it, and %.3f +- %.3f with the norm before it.",
                    post.mean, post.deviation, pre.mean, pre.deviation);
        if (!r->small)
            paper_found(r->report,
                        paper_clearly_more(post, risen) &&
                            post.mean - risen.mean > 2 * (pre.mean - both.mean),
                        "A warm-up of 150 updates takes %.3f from -log p with post-norm, and %.3f "
                        "with pre-norm.",
                        post.mean - risen.mean, pre.mean - both.mean);
    }
    paper_sweep_free(&s);
    return status;
}
