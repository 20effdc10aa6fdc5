/* Table 3, D, first half: dropout, on few sentences that are seen again and again, and on new ones
 * at each update. */
#include "paper/experiments.h"
#include "paper/sweep.h"

enum { FEW = 100 };

static const paper_setting settings[] = {
    {"no dropout", .small = true, .examples = FEW},
    {"dropout 0.1", .examples = FEW, .dropout = 0.1},
    {"dropout 0.2", .small = true, .examples = FEW, .dropout = 0.2},
    {"dropout 0.3", .examples = FEW, .dropout = 0.3},
    {"no dropout, new sentences", .small = false},
    {"dropout 0.1, new sentences", .dropout = 0.1},
};

static const paper_place few[] = {{"no dropout", 0},
                                  {"dropout 0.1", 0.1},
                                  {"dropout 0.2", 0.2},
                                  {"dropout 0.3", 0.3}},
                         fresh[] = {{"no dropout, new sentences", 0},
                                    {"dropout 0.1, new sentences", 0.1}};
static const paper_group groups[] = {{"100 sentences", few, WG_COUNT(few)},
                                     {"new sentences", fresh, WG_COUNT(fresh)}};

wg_status paper_dropout(paper_run *r)
{
    paper_training base = paper_training_usual(r->small);
    paper_sweep s;
    base.updates = r->small ? 240 : 500;
    wg_status status = paper_sweep_train(&s, r, &base, settings, WG_COUNT(settings));
    if (status == WG_OK) {
        paper_add_scores(r, "100 sentences again and again, and new ones", s.variant, &s.results,
                         false);
        paper_sweep_draw(&s, r, "dropout", groups, WG_COUNT(groups));
        paper_sweep_judge(&s, r, PAPER_NLL, "no dropout", "dropout 0.2");
        paper_sweep_judge(&s, r, PAPER_EXACT, "dropout 0.1", "no dropout");
        paper_sweep_judge(&s, r, PAPER_NLL, "dropout 0.1, new sentences",
                          "no dropout, new sentences");
    }
    paper_sweep_free(&s);
    return status;
}
