/* Table 3, A and B: what heads cost, and how quality depends on their number and on the width of
 * their keys. */
#include "graph/error.h"
#include "measure/timing.h"
#include "paper/experiments.h"
#include "paper/sweep.h"
#include "wengert/autograd/grad.h"

#include <math.h>

/* ---- cost ------------------------------------------------------------------------------------ */

/* Of self-attention with its projections, forward and backward, x [BATCH, LENGTH, WIDTH]. */
enum { COSTS = 6, BATCH = 8, LENGTH = 64, WIDTH = 512 };
static const int64_t heads[COSTS] = {1, 2, 4, 8, 16, 32};

/* What is counted of a plan, and what is measured in the full form. */
enum { OPERATIONS, BYTES, COUNTS, SECONDS = COUNTS, KINDS };

typedef struct sublayer {
    wg_graph *graph;
    wg_value *x;
    wg_plan *plan;
} sublayer;

static void free_sublayer(sublayer *s)
{
    wg_plan_free(s->plan);
    wg_graph_free(s->graph);
}

/* Plans it with the kernels of the reference, in which every operation is a node, or of all
 * backends. */
static wg_status make_sublayer(sublayer *s, int64_t h, bool reference, wg_error *error)
{
    const wg_multi_head_options o = {.heads = h};
    *s = (sublayer){.graph = wg_graph_new()};
    s->x = wg_input(s->graph, "x", WG_F32, WG_SHAPE(BATCH, LENGTH, WIDTH));
    wg_value *y = wg_multi_head_attention("attention", s->x, s->x, &o);
    wg_gradients d = wg_grad_all(wg_mean(wg_square(y), WG_ALL_AXES, WG_DROP));
    for (size_t i = 0; i < d.n; i++)
        wg_output(d.grads[i], NULL);
    return paper_plan(&s->plan, s->graph, &(wg_plan_options){.reference = reference, .threads = 1},
                      error);
}

static wg_status count(paper_run *r, const void *what, double *values, wg_error *error)
{
    wg_status status = WG_OK;
    (void)r;
    for (int i = 0; i < COUNTS && status == WG_OK; i++) {
        sublayer s;
        status = make_sublayer(&s, *(const int64_t *)what, i == OPERATIONS, error);
        if (status == WG_OK) {
            const wg_plan_stats stats = wg_plan_statistics(s.plan);
            values[i] = i == OPERATIONS ? stats.flops : (double)stats.buffer_bytes;
        }
        free_sublayer(&s);
    }
    return status;
}

static wg_status run_sublayer(void *context)
{
    const sublayer *s = context;
    return wg_plan_run(s->plan, 0);
}

/* Seconds of the processor with each number of heads, in turn. */
static wg_status measure(paper_run *r, const void *what, double *values, wg_error *error)
{
    const bench_schedule schedule = {.runs = 11, .seconds = 20, .cpu_time = true};
    sublayer s[COSTS] = {{0}};
    bench_subject subjects[COSTS];
    bench_times times[COSTS] = {{0}};
    wg_status status = WG_OK;
    (void)r, (void)what;
    for (int i = 0; i < COSTS && status == WG_OK; i++) {
        status = make_sublayer(&s[i], heads[i], false, error);
        subjects[i] = (bench_subject){run_sublayer, &s[i]};
        for (int64_t k = 0; status == WG_OK && k < wg_value_count(s[i].x); k++)
            wg_plan_f32(s[i].plan, s[i].x)[k] = (float)(k * 7919 % 1001 - 500) / 500;
    }
    if (status == WG_OK) {
        status = bench_interleaved(subjects, COSTS, &schedule, times);
        if (status != WG_OK)
            wgi_error_set(error, status, "attention: a run failed");
    }
    for (int i = 0; i < COSTS; i++) {
        values[i] = times[i].median;
        free_sublayer(&s[i]);
    }
    return status;
}

/* The largest of the costs, divided by that of one head. */
static double factor(const double cost[COSTS])
{
    double most = 0;
    for (int i = 0; i < COSTS; i++)
        most = fmax(most, cost[i] / cost[0]);
    return most;
}

/* The first so many kinds of costs. */
static void add_costs(paper_run *r, double cost[KINDS][COSTS], int kinds)
{
    static const char *const columns[] = {"heads", "10^9 operations", "10^6 bytes", "ms"};
    static const struct {
        const char *label;
        double unit;
        int decimals;
    } shown[KINDS] = {{"operations", 1e9, 3}, {"bytes", 1e6, 2}, {"time", 1e-3, 2}};
    paper_table *t =
        paper_add_table(r->report, "Cost of attention, d_model = 512", columns, 1 + kinds);
    paper_panel *p =
        paper_add_panel(r->report, "cost of h heads", "heads h", "of the cost of one head");
    paper_log_axes(p, true, false);
    for (int k = 0; k < kinds; k++) {
        paper_curve *c = paper_add_curve(p, "%s", shown[k].label);
        for (int i = 0; i < COSTS; i++)
            paper_point(p, c, (double)heads[i], cost[k][i] / cost[k][0], 0);
    }
    for (int i = 0; i < COSTS; i++) {
        paper_row(t);
        paper_number(t, (double)heads[i], 0);
        for (int k = 0; k < kinds; k++)
            paper_number(t, cost[k][i] / shown[k].unit, shown[k].decimals);
    }
}

static wg_status find_costs(paper_run *r, double cost[KINDS][COSTS])
{
    wg_status status = WG_OK;
    for (int i = 0; i < COSTS && status == WG_OK; i++) {
        double counts[COUNTS] = {0};
        char key[40];
        snprintf(key, sizeof key, "counts/h%d", (int)heads[i]);
        status = paper_once(r, key, counts, COUNTS, count, &heads[i]);
        for (int k = 0; k < COUNTS; k++)
            cost[k][i] = counts[k];
    }
    return status == WG_OK && !r->small
               ? paper_once(r, "times", cost[SECONDS], COSTS, measure, NULL)
               : status;
}

static wg_status report_costs(paper_run *r)
{
    const double similar = 1.25;
    double cost[KINDS][COSTS] = {{0}};
    wg_status status = find_costs(r, cost);
    if (status != WG_OK)
        return status;
    add_costs(r, cost, r->small ? COUNTS : KINDS);
    paper_found(r->report, factor(cost[OPERATIONS]) < similar && factor(cost[BYTES]) < similar,
                "Up to 32 heads take at most %.3f times the operations of one head, and %.3f times "
                "the bytes.",
                factor(cost[OPERATIONS]), factor(cost[BYTES]));
    if (!r->small)
        paper_found(r->report, factor(cost[SECONDS]) < similar,
                    "They take at most %.2f times its time; 8 heads take %.2f times.",
                    factor(cost[SECONDS]), cost[SECONDS][3] / cost[SECONDS][0]);
    return WG_OK;
}

/* ---- quality --------------------------------------------------------------------------------- */

static const paper_setting settings[] = {
    {"4 heads, d_k 8", .small = true},
    {"1 head", .small = true, .heads = 1},
    {"2 heads", .heads = 2},
    {"8 heads", .heads = 8},
    {"16 heads", .heads = 16},
    {"32 heads", .heads = 32},
    {"4 heads, d_k 1", .small = true, .d_k = 1},
    {"4 heads, d_k 2", .d_k = 2},
    {"4 heads, d_k 4", .d_k = 4},
    {"4 heads, d_k 16", .d_k = 16},
};

static wg_status report_quality(paper_run *r)
{
    static const paper_place number[] = {{"1 head", 1},  {"2 heads", 2},   {"4 heads, d_k 8", 4},
                                         {"8 heads", 8}, {"16 heads", 16}, {"32 heads", 32}},
                             width[] = {{"4 heads, d_k 1", 1},
                                        {"4 heads, d_k 2", 2},
                                        {"4 heads, d_k 4", 4},
                                        {"4 heads, d_k 8", 8},
                                        {"4 heads, d_k 16", 16}};
    const paper_training base = paper_sweep_base(r->small);
    paper_sweep s;
    wg_status status = paper_sweep_train(&s, r, &base, settings, WG_COUNT(settings));
    if (status == WG_OK) {
        paper_add_scores(r, "Quality; d_model = 32, d_k = d_v = 32 / h unless it is given",
                         s.variant, &s.results, true);
        paper_sweep_panel(&s, r, "-log p of a token, d_k = d_v = 32 / h", "heads h", true,
                          PAPER_NLL, number, WG_COUNT(number));
        paper_sweep_panel(&s, r, "-log p of a token, 4 heads", "d_k", true, PAPER_NLL, width,
                          WG_COUNT(width));
        paper_sweep_judge(&s, r, PAPER_NLL, "1 head", "4 heads, d_k 8");
        paper_sweep_judge(&s, r, PAPER_NLL, "32 heads", "4 heads, d_k 8");
        paper_sweep_judge(&s, r, PAPER_NLL, "4 heads, d_k 1", "4 heads, d_k 8");
    }
    paper_sweep_free(&s);
    return status;
}

wg_status paper_heads(paper_run *r)
{
    wg_status status = report_costs(r);
    return status == WG_OK ? report_quality(r) : status;
}
