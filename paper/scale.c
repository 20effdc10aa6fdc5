/* Why dot products are scaled.  Of random q and k with elements of mean 0 and variance 1:
 *
 *     s = c q k',  p = softmax(s),  ds = p (u - sum over keys of p u),  u random
 *
 * with c = 1 and with c = 1/sqrt(d_k): the variance of s, the largest p of a query, and the size of
 * ds, which is what reaches the queries and keys in training: its root mean square, and that of a
 * typical query, the geometric mean over the queries. */
#include "graph/random.h"
#include "measure/timing.h"
#include "paper/experiments.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/ops.h"

#include <float.h>
#include <math.h>

enum { QUERIES = 256, KEYS = 64, MAX_WIDTHS = 12 };

/* What is measured, without and with the scale. */
enum { VARIANCE, LARGEST, GRADIENT, TYPICAL, MEASURES, NUMBERS = 2 * MEASURES };

typedef struct softmax_graph {
    wg_graph *graph;
    wg_value *q, *k, *u;
    wg_value *out[NUMBERS];
} softmax_graph;

static wg_value *mean(wg_value *x)
{
    return wg_mean(x, WG_ALL_AXES, WG_DROP);
}

static void measure(softmax_graph *g, double scale, wg_value **out)
{
    wg_value *s = wg_scale(wg_matmul_t(g->q, g->k, WG_NT), scale), *p = wg_softmax(s, -1),
             *ds = NULL;
    wg_vjp(&p, &g->u, 1, &s, 1, NULL, &ds);
    out[VARIANCE] = mean(wg_square(s));
    wg_value *squares = wg_mean(wg_square(ds), WG_AXES(-1), WG_DROP); /* of each query */
    out[LARGEST] = mean(wg_max(p, WG_AXES(-1), WG_DROP));
    out[GRADIENT] = wg_sqrt(mean(squares));
    out[TYPICAL] = wg_sqrt(wg_exp(mean(wg_log(wg_shift(squares, DBL_MIN)))));
}

static softmax_graph build(int64_t d)
{
    softmax_graph g = {.graph = wg_graph_new()};
    g.q = wg_input(g.graph, "q", WG_F64, WG_SHAPE(QUERIES, d));
    g.k = wg_input(g.graph, "k", WG_F64, WG_SHAPE(KEYS, d));
    g.u = wg_input(g.graph, "u", WG_F64, WG_SHAPE(QUERIES, KEYS));
    measure(&g, 1, g.out);
    measure(&g, 1 / sqrt((double)d), g.out + MEASURES);
    for (int i = 0; i < NUMBERS; i++)
        wg_output(g.out[i], NULL);
    return g;
}

static void draw(wg_plan *p, const wg_value *v, uint64_t seed, uint64_t key)
{
    const wgi_random random = wgi_random_of(seed, 0, key);
    double *x = wg_plan_f64(p, v);
    for (int64_t i = 0; i < wg_value_count(v); i++)
        x[i] = wgi_normal(&random, (uint64_t)i);
}

/* What is asked for: a width and a seed. */
typedef struct question {
    int64_t d;
    int seed;
} question;

static wg_status answer(paper_run *r, const void *what, double *values, wg_error *error)
{
    const question *x = what;
    softmax_graph g = build(x->d);
    wg_plan *p = NULL;
    (void)r;
    wg_status status = paper_plan(&p, g.graph, &(wg_plan_options){.threads = 1}, error);
    if (status == WG_OK) {
        draw(p, g.q, (uint64_t)x->seed, 1);
        draw(p, g.k, (uint64_t)x->seed, 2);
        draw(p, g.u, (uint64_t)x->seed, 3);
        status = paper_plan_run(p, error);
    }
    for (int i = 0; status == WG_OK && i < NUMBERS; i++)
        values[i] = wg_plan_scalar(p, g.out[i]);
    wg_plan_free(p);
    wg_graph_free(g.graph);
    return status;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Means over the seeds, by width. */
typedef struct answers {
    int widths;
    double d[MAX_WIDTHS];
    paper_spread at[NUMBERS][MAX_WIDTHS];
} answers;

static wg_status ask(paper_run *r, answers *a, int seeds)
{
    enum { MAX_SEEDS = 8 };
    const int step = r->small ? 2 : 1; /* d_k: 4, 8, ..., 1024, or every second of them */
    for (int power = 2; power <= 10; power += step) {
        double values[MAX_SEEDS][NUMBERS], one[MAX_SEEDS];
        for (int seed = 0; seed < seeds; seed++) {
            const question x = {(int64_t)1 << power, seed + 1};
            char key[60];
            snprintf(key, sizeof key, "d_k%lld/seed%d", (long long)x.d, x.seed);
            wg_status status = paper_once(r, key, values[seed], NUMBERS, answer, &x);
            if (status != WG_OK)
                return status;
        }
        for (int k = 0; k < NUMBERS; k++) {
            for (int seed = 0; seed < seeds; seed++)
                one[seed] = values[seed][k];
            a->at[k][a->widths] = paper_spread_of(one, seeds);
        }
        a->d[a->widths++] = (double)((int64_t)1 << power);
    }
    return WG_OK;
}

static void add_table(paper_run *r, const answers *a)
{
    static const char *const columns[] = {"d_k",      "q.k: variance", "largest weight",
                                          "gradient", "typical",       "scaled: variance",
                                          "largest",  "gradient",      "typical"};
    paper_table *t = paper_add_table(
        r->report, "Scores of random queries and 64 random keys, without and with 1/sqrt(d_k)",
        columns, WG_COUNT(columns));
    for (int i = 0; i < a->widths; i++) {
        paper_row(t);
        paper_number(t, a->d[i], 0);
        for (int k = 0; k < NUMBERS; k++) {
            const paper_spread *s = &a->at[k][i];
            if (k % MEASURES >= GRADIENT)
                paper_words(t, "%.1e +- %.0e", s->mean, s->deviation);
            else
                paper_mean(t, *s, k % MEASURES == LARGEST ? 3 : 2);
        }
    }
}

static void add_panel(paper_run *r, const answers *a, const char *title, int measure)
{
    static const char *const labels[] = {"without the scale", "with 1/sqrt(d_k)"};
    paper_panel *p = paper_add_panel(r->report, title, "d_k", "");
    paper_log_axes(p, true, measure != LARGEST);
    for (int k = 0; k < 2; k++) {
        paper_curve *c = paper_add_curve(p, "%s", labels[k]);
        for (int i = 0; i < a->widths; i++) {
            paper_spread s = a->at[k * MEASURES + measure][i];
            paper_point(p, c, a->d[i], s.mean, s.deviation);
        }
    }
}

static double slope(const answers *a, int number)
{
    double y[MAX_WIDTHS];
    for (int i = 0; i < a->widths; i++)
        y[i] = a->at[number][i].mean;
    return bench_exponent(a->d, y, a->widths);
}

wg_status paper_scale(paper_run *r)
{
    answers a = {0};
    wg_status status = ask(r, &a, r->small ? 2 : 5);
    if (status != WG_OK)
        return status;
    const int last = a.widths - 1;
    double growth = slope(&a, VARIANCE), with = slope(&a, MEASURES + VARIANCE);
    double lost = a.at[TYPICAL][0].mean / a.at[TYPICAL][last].mean,
           kept = a.at[MEASURES + TYPICAL][0].mean / a.at[MEASURES + TYPICAL][last].mean,
           squares = a.at[GRADIENT][0].mean / a.at[GRADIENT][last].mean;
    add_table(r, &a);
    add_panel(r, &a, "variance of q.k", VARIANCE);
    add_panel(r, &a, "largest weight of a query", LARGEST);
    add_panel(r, &a, "gradient of the scores, root mean square", GRADIENT);
    add_panel(r, &a, "gradient of the scores of a typical query", TYPICAL);
    paper_found(r->report, fabs(growth - 1) < 0.05 && fabs(with) < 0.05,
                "The variance of q.k grows as d_k^%.3f, and as d_k^%.3f with the scale.", growth,
                with);
    paper_found(r->report, lost > 100 && kept < 1.5,
                "From d_k = %.0f to %.0f the gradient of a typical query's scores falls to 1/%.3g "
                "without the scale, and to 1/%.2f with it; the largest weight goes from %.2f to "
                "%.2f, and from %.2f to %.2f.",
                a.d[0], a.d[last], lost, kept, a.at[LARGEST][0].mean, a.at[LARGEST][last].mean,
                a.at[MEASURES + LARGEST][0].mean, a.at[MEASURES + LARGEST][last].mean);
    paper_found(r->report, squares > 100,
                "Its root mean square over all queries falls to 1/%.1f only: the few queries whose "
                "two best keys are nearly equal keep their gradient.",
                squares);
    return WG_OK;
}
