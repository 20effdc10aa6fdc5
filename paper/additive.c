/* Dot products or a small network as the score of attention: what one attention costs, and what
 * models learn with it.
 *
 *     dot product    softmax(q k' / sqrt(d_k)) v, or without the factor
 *     additive       softmax over s of (w . tanh(q_t + k_s)) v
 *
 * The projections are left out of the costs: both kinds have the same. */
#include "graph/error.h"
#include "measure/timing.h"
#include "paper/experiments.h"
#include "paper/training.h"
#include "wengert/ops/ops.h"

#include <math.h>

/* ---- costs ----------------------------------------------------------------------------------- */

enum { WIDTH = 64, DOT = 0, PLAIN, ADDITIVE, SCORES, MAX_LENGTHS = 4 };

/* The same plans with and without a kernel for the whole of the attention. */
static const char *const score_names[SCORES] = {
    "dot product, one kernel", "dot product, as plain ops", "additive, as plain ops"};

/* Measured of each score at each length. */
enum { SECONDS, BYTES, OPERATIONS, COSTS };

typedef struct one_attention {
    wg_graph *graph;
    wg_plan *plan;
} one_attention;

/* softmax(q k' / sqrt(d)) v as its parts */
static wg_value *plain_attention(wg_value *q, wg_value *k, wg_value *v)
{
    wg_value *scores = wg_scale(wg_matmul_t(q, k, WG_NT), 1 / sqrt(WIDTH));
    return wg_matmul(wg_softmax(scores, -1), v);
}

static wg_status make(one_attention *a, int score, int64_t n, wg_error *error)
{
    const wg_shape shape = WG_SHAPE(1, 1, n, WIDTH);
    wg_graph *g = a->graph = wg_graph_new();
    wg_value *in[] = {wg_input(g, "q", WG_F32, shape), wg_input(g, "k", WG_F32, shape),
                      wg_input(g, "v", WG_F32, shape),
                      score == ADDITIVE ? wg_input(g, "w", WG_F32, WG_SHAPE(1, WIDTH)) : NULL};
    wg_value *y = score == DOT     ? wg_attention(in[0], in[1], in[2], NULL, NULL)
                  : score == PLAIN ? plain_attention(in[0], in[1], in[2])
                                   : wg_additive_attention(in[0], in[1], in[3], in[2], NULL, NULL);
    wg_output(y, "y");
    wg_status status =
        paper_plan(&a->plan, g, &(wg_plan_options){.threads = 1, .no_fuse = score != DOT}, error);
    for (int i = 0; status == WG_OK && i < WG_COUNT(in); i++)
        for (int64_t k = 0; in[i] && k < wg_value_count(in[i]); k++)
            wg_plan_f32(a->plan, in[i])[k] = (float)(k * 7919 % 1001 - 500) / 500;
    return status;
}

static wg_status run_attention(void *attention)
{
    return wg_plan_run(((one_attention *)attention)->plan, 0);
}

/* values [SCORES, COSTS] at the length *what */
static wg_status measure(paper_run *r, const void *what, double *values, wg_error *error)
{
    const int64_t n = *(const int64_t *)what;
    const bench_schedule schedule = {.runs = 7, .seconds = r->small ? 2 : 20, .cpu_time = true};
    one_attention attention[SCORES] = {{0}};
    bench_subject subjects[SCORES];
    bench_times times[SCORES] = {{0}};
    wg_status status = WG_OK;
    for (int i = 0; i < SCORES && status == WG_OK; i++) {
        status = make(&attention[i], i, n, error);
        subjects[i] = (bench_subject){run_attention, &attention[i]};
    }
    if (status == WG_OK) {
        status = bench_interleaved(subjects, SCORES, &schedule, times);
        if (status != WG_OK)
            wgi_error_set(error, status, "attention over %lld positions: a run failed",
                          (long long)n);
    }
    for (int i = 0; i < SCORES; i++) {
        wg_plan_stats s = wg_plan_statistics(attention[i].plan);
        values[i * COSTS + SECONDS] = times[i].median;
        values[i * COSTS + BYTES] = (double)s.buffer_bytes;
        values[i * COSTS + OPERATIONS] = s.flops;
        wg_plan_free(attention[i].plan);
        wg_graph_free(attention[i].graph);
    }
    return status;
}

/* By length. */
typedef struct costs {
    int lengths;
    double n[MAX_LENGTHS], at[MAX_LENGTHS][SCORES * COSTS];
} costs;

static double cost(const costs *c, int length, int score, int what)
{
    return c->at[length][score * COSTS + what];
}

/* The exponent of n with which a cost grows. */
static double growth(const costs *c, int score, int what)
{
    double y[MAX_LENGTHS];
    for (int i = 0; i < c->lengths; i++)
        y[i] = cost(c, i, score, what);
    return bench_exponent(c->n, y, c->lengths);
}

static void add_costs(paper_run *r, const costs *c)
{
    static const char *const columns[] = {"score",    "ms at the shortest", "at the longest",
                                          "exponent", "MB at the shortest", "at the longest",
                                          "exponent"};
    char title[PAPER_TEXT];
    const int last = c->lengths - 1;
    snprintf(title, sizeof title, "One head of %d, one thread, %.0f to %.0f positions", WIDTH,
             c->n[0], c->n[last]);
    paper_table *t = paper_add_table(r->report, title, columns, WG_COUNT(columns));
    for (int i = 0; i < SCORES; i++) {
        paper_row(t);
        paper_words(t, "%s", score_names[i]);
        paper_number(t, 1e3 * cost(c, 0, i, SECONDS), 3);
        paper_number(t, 1e3 * cost(c, last, i, SECONDS), 2);
        paper_number(t, growth(c, i, SECONDS), 2);
        paper_number(t, 1e-6 * cost(c, 0, i, BYTES), 3);
        paper_number(t, 1e-6 * cost(c, last, i, BYTES), 2);
        paper_number(t, growth(c, i, BYTES), 2);
    }
}

static void draw_costs(paper_run *r, const costs *c, const char *title, int what, const char *unit,
                       double per_unit)
{
    paper_panel *p = paper_add_panel(r->report, title, "positions", unit);
    paper_log_axes(p, true, true);
    for (int i = 0; i < SCORES; i++) {
        paper_curve *curve = paper_add_curve(p, "%s", score_names[i]);
        for (int k = 0; k < c->lengths; k++)
            paper_point(p, curve, c->n[k], per_unit * cost(c, k, i, what), 0);
    }
}

static wg_status report_costs(paper_run *r)
{
    costs c = {.lengths = r->small ? 2 : MAX_LENGTHS};
    for (int i = 0; i < c.lengths; i++) {
        const int64_t n = (int64_t)128 << i;
        char key[40];
        snprintf(key, sizeof key, "costs/%lld", (long long)n);
        wg_status status = paper_once(r, key, c.at[i], SCORES * COSTS, measure, &n);
        if (status != WG_OK)
            return status;
        c.n[i] = (double)n;
    }
    const int last = c.lengths - 1;
    double slower = cost(&c, last, ADDITIVE, SECONDS) / cost(&c, last, DOT, SECONDS),
           than_plain = cost(&c, last, ADDITIVE, SECONDS) / cost(&c, last, PLAIN, SECONDS),
           larger = cost(&c, last, ADDITIVE, BYTES) / cost(&c, last, DOT, BYTES),
           than_plain_bytes = cost(&c, last, ADDITIVE, BYTES) / cost(&c, last, PLAIN, BYTES),
           operations = cost(&c, last, ADDITIVE, OPERATIONS) / cost(&c, last, PLAIN, OPERATIONS);
    add_costs(r, &c);
    draw_costs(r, &c, "time of one attention", SECONDS, "ms", 1e3);
    draw_costs(r, &c, "buffer of its plan", BYTES, "MB", 1e-6);
    paper_found(
        r->report, slower > 2 && than_plain > 2,
        "Over %.0f positions additive attention takes %.0f times as long as dot products in "
        "one kernel, and %.0f times as long as the same as plain ops, with %.1f times "
        "their operations.",
        c.n[last], slower, than_plain, operations);
    paper_found(r->report, larger > 2 && than_plain_bytes > 2,
                "Its plan needs %.0f times the bytes of that kernel, and %.0f times those of plain "
                "ops; they grow as n^%.2f, those of the kernel as n^%.2f.",
                larger, than_plain_bytes, growth(&c, ADDITIVE, BYTES), growth(&c, DOT, BYTES));
    return WG_OK;
}

/* ---- quality --------------------------------------------------------------------------------- */

enum { KINDS = 3, MAX_WIDTHS = 4, UNSCALED = 0, SCALED, LEARNED };
static const struct {
    const char *name;
    wg_attention_kind kind;
} kinds[KINDS] = {
    {"dot product, unscaled", WG_ATTENTION_UNSCALED},
    {"dot product, scaled", WG_ATTENTION_DOT},
    {"additive", WG_ATTENTION_ADDITIVE},
};
static const int widths[MAX_WIDTHS] = {4, 16, 64, 256};

/* One head and one layer on each side, so that little else than the score decides; variant w KINDS
 * + kind. */
static void set_variants(paper_training *variant, char name[][PAPER_TEXT], int count, bool small)
{
    static const char *const short_names[KINDS] = {"unscaled", "scaled", "additive"};
    for (int i = 0; i < count * KINDS; i++) {
        paper_training *t = &variant[i];
        const int d_k = widths[small ? i / KINDS * (MAX_WIDTHS - 2) : i / KINDS];
        snprintf(name[i], PAPER_TEXT, "%s/d_k%d", short_names[i % KINDS], d_k);
        *t = paper_training_usual(small);
        t->name = name[i];
        t->net.heads = 1;
        t->net.encoder_layers = t->net.decoder_layers = 1;
        t->net.d_k = d_k;
        t->net.attention = kinds[i % KINDS].kind;
        t->batch = 32;
        t->updates = small ? 30 : 500;
    }
}

static void add_quality(paper_run *r, const paper_training *variant, const paper_results *x)
{
    static const char *const columns[] = {"score", "d_k", "-log p of a token", "token accuracy",
                                          "exact matches"};
    paper_table *t = paper_add_table(r->report, "One head, one and one layer, sorting", columns,
                                     WG_COUNT(columns));
    paper_panel *p = paper_add_panel(r->report, "token accuracy on sorted sentences", "d_k",
                                     paper_score_unit(PAPER_ACCURACY));
    paper_log_axes(p, true, false);
    for (int kind = 0; kind < KINDS; kind++) {
        paper_curve *c = paper_add_curve(p, "%s", kinds[kind].name);
        for (int i = kind; i < x->variants; i += KINDS) {
            paper_spread right = paper_score_of(x, i, 0, PAPER_ACCURACY);
            paper_row(t);
            paper_words(t, "%s", kinds[kind].name);
            paper_number(t, (double)variant[i].net.d_k, 0);
            for (paper_score k = PAPER_NLL; k < PAPER_SCORES; k++)
                paper_mean(t, paper_score_of(x, i, 0, k), 3);
            paper_point(p, c, (double)variant[i].net.d_k, right.mean, right.deviation);
        }
    }
}

static void judge(paper_run *r, const paper_training *variant, const paper_results *x)
{
    const int large = x->variants - KINDS;
    paper_spread of[2][KINDS]; /* -log p at the smallest and the largest width */
    for (int i = 0; i < KINDS; i++) {
        of[0][i] = paper_score_of(x, i, 0, PAPER_NLL);
        of[1][i] = paper_score_of(x, large + i, 0, PAPER_NLL);
    }
    for (int i = 0; i < 2; i++) {
        paper_spread dot = of[i][UNSCALED], additive = of[i][LEARNED];
        bool wins = paper_clearly_more(dot, additive);
        paper_found(
            r->report, i == 0 ? !wins : wins,
            "With d_k = %lld, -log p of a token is %.3f +- %.3f with unscaled dot products, "
            "%.3f +- %.3f with scaled ones and %.3f +- %.3f with additive attention.",
            (long long)variant[i * large].net.d_k, dot.mean, dot.deviation, of[i][SCALED].mean,
            of[i][SCALED].deviation, additive.mean, additive.deviation);
    }
}

wg_status paper_additive(paper_run *r)
{
    paper_training variant[MAX_WIDTHS * KINDS];
    char name[MAX_WIDTHS * KINDS][PAPER_TEXT];
    const int count = r->small ? 2 : MAX_WIDTHS;
    paper_results x = {0};
    wg_status status = report_costs(r);
    if (status != WG_OK)
        return status;
    set_variants(variant, name, count, r->small);
    status = paper_train(r, variant, count * KINDS, r->small ? 1 : 5, &x);
    if (status == WG_OK) {
        add_quality(r, variant, &x);
        judge(r, variant, &x);
    }
    paper_results_free(&x);
    return status;
}
