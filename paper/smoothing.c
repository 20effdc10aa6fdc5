/* Table 3, D, second half: label smoothing. */
#include "paper/experiments.h"
#include "paper/sweep.h"

enum { FEW = 300 };

static const paper_setting settings[] = {
    {"smoothing 0", .small = true},
    {"smoothing 0.1", .smoothing = 0.1},
    {"smoothing 0.2", .small = true, .smoothing = 0.2},
    {"smoothing 0, 300 sentences", .examples = FEW},
    {"smoothing 0.1, 300 sentences", .examples = FEW, .smoothing = 0.1},
    {"smoothing 0.2, 300 sentences", .examples = FEW, .smoothing = 0.2},
};

static const paper_place fresh[] = {{"smoothing 0", 0},
                                    {"smoothing 0.1", 0.1},
                                    {"smoothing 0.2", 0.2}},
                         few[] = {{"smoothing 0, 300 sentences", 0},
                                  {"smoothing 0.1, 300 sentences", 0.1},
                                  {"smoothing 0.2, 300 sentences", 0.2}};
static const paper_group groups[] = {{"new sentences", fresh, WG_COUNT(fresh)},
                                     {"300 sentences", few, WG_COUNT(few)}};

wg_status paper_smoothing(paper_run *r)
{
    paper_training base = paper_sweep_base(r->small);
    paper_sweep s;
    wg_status status = paper_sweep_train(&s, r, &base, settings, WG_COUNT(settings));
    if (status == WG_OK) {
        paper_add_scores(r, "Label smoothing, with new sentences and with 300 again and again",
                         s.variant, &s.results, false);
        paper_sweep_draw(&s, r, "label smoothing", groups, WG_COUNT(groups));
        paper_sweep_judge(&s, r, PAPER_NLL, "smoothing 0.2", "smoothing 0");
        paper_sweep_judge(&s, r, PAPER_EXACT, "smoothing 0.1", "smoothing 0");
        paper_sweep_judge(&s, r, PAPER_NLL, "smoothing 0.1, 300 sentences",
                          "smoothing 0, 300 sentences");
        paper_sweep_judge(&s, r, PAPER_EXACT, "smoothing 0.1, 300 sentences",
                          "smoothing 0, 300 sentences");
    }
    paper_sweep_free(&s);
    return status;
}
