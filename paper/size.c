/* Table 3, C: how quality depends on the size of the model. */
#include "paper/experiments.h"
#include "paper/sweep.h"

static const paper_setting settings[] = {
    {"base", .layers = 2},         {"1 + 1 layers", .layers = 1},
    {"4 + 4 layers", .layers = 4}, {"d_model 8", .small = true, .d_model = 8},
    {"d_model 16", .d_model = 16}, {"d_model 64", .small = true, .d_model = 64},
    {"d_ff 16", .d_ff = 16},       {"d_ff 256", .d_ff = 256},
};

/* A smaller and a larger model. */
static const char *const pairs[][2] = {
    {"1 + 1 layers", "4 + 4 layers"},
    {"d_model 8", "d_model 64"},
    {"d_ff 16", "d_ff 256"},
};

static void draw(paper_run *r, const paper_sweep *s)
{
    static const paper_place layers[] = {{"1 + 1 layers", 1}, {"base", 2}, {"4 + 4 layers", 4}},
                             width[] = {{"d_model 8", 8},
                                        {"d_model 16", 16},
                                        {"base", 32},
                                        {"d_model 64", 64}},
                             inner[] = {{"d_ff 16", 16}, {"base", 64}, {"d_ff 256", 256}};
    static const char title[] = "-log p of a token";
    paper_sweep_panel(s, r, title, "layers", true, PAPER_NLL, layers, WG_COUNT(layers));
    paper_sweep_panel(s, r, title, "d_model", true, PAPER_NLL, width, WG_COUNT(width));
    paper_sweep_panel(s, r, title, "d_ff", true, PAPER_NLL, inner, WG_COUNT(inner));
}

wg_status paper_size(paper_run *r)
{
    const paper_training base = paper_sweep_base(r->small);
    paper_sweep s;
    wg_status status = paper_sweep_train(&s, r, &base, settings, WG_COUNT(settings));
    if (status == WG_OK) {
        paper_add_scores(r, "Base: 2 + 2 layers, d_model = 32, d_ff = 64, 4 heads", s.variant,
                         &s.results, true);
        draw(r, &s);
        for (int i = 0; i < WG_COUNT(pairs); i++)
            paper_sweep_judge(&s, r, PAPER_NLL, pairs[i][0], pairs[i][1]);
    }
    paper_sweep_free(&s);
    return status;
}
