/* Table 1: the formulas beside what is counted in plans, and beside how measured times grow. */
#include "graph/error.h"
#include "measure/timing.h"
#include "paper/experiments.h"
#include "paper/stacks.h"

#include <math.h>

/* ---- counts ---------------------------------------------------------------------------------- */

/* Numbers of a layer: exponents of the operations, and paths at three lengths.  Kernels skip keys
 * only of sentences that are not short, so the shortest has NEAR positions. */
enum {
    OPS_N,
    OPS_D,
    OPS_R,
    NEAR = 80,
    LENGTHS = 3,
    PATHS = 3,
    PATH_NUMBERS = 3,
    COUNTS = PATHS + LENGTHS * PATH_NUMBERS
};

/* The power with which operations grow when n, d or the radius is doubled. */
static wg_status growth(const paper_layer *t, double out[3], wg_error *error)
{
    enum { SMALL = 8, LARGE = 512, RADIUS = 16 };
    const int64_t sizes[3][2][3] = {{{LARGE, SMALL, RADIUS}, {2 * LARGE, SMALL, RADIUS}},
                                    {{SMALL, LARGE, RADIUS}, {SMALL, 2 * LARGE, RADIUS}},
                                    {{LARGE, SMALL, RADIUS}, {LARGE, SMALL, 2 * RADIUS}}};
    for (int i = 0; i < 3; i++) {
        double count[2];
        for (int k = 0; k < 2; k++)
            count[k] =
                paper_stack_operations(t, sizes[i][k][0], sizes[i][k][1], sizes[i][k][2], error);
        if (error->status != WG_OK)
            return error->status;
        out[i] = log2(count[1] / count[0]);
    }
    return WG_OK;
}

static wg_status count(paper_run *r, const void *what, double *values, wg_error *error)
{
    const paper_layer *t = what;
    (void)r;
    wg_status status = growth(t, values, error);
    for (int i = 0; i < LENGTHS && status == WG_OK; i++) {
        double *at = values + PATHS + i * PATH_NUMBERS;
        paper_path p;
        status = paper_stack_path(t, NEAR << i, &p, error);
        at[0] = (double)p.sequential;
        at[1] = p.layers;
        at[2] = (double)p.steps;
    }
    return status;
}

static const double *path_at(const double *counts, int i)
{
    return counts + PATHS + i * PATH_NUMBERS;
}

/* Whether the counts are those of the formulas. */
static bool as_the_formulas_say(const paper_layer *t, const double *x)
{
    const double tolerance = 0.01;
    bool same =
        fabs(x[OPS_N] - t->n_power) <= tolerance && fabs(x[OPS_D] - t->d_power) <= tolerance;
    double more[2];
    for (int i = 0; i < LENGTHS; i++)
        same &= path_at(x, i)[1] == paper_path_layers(t, NEAR << i);
    for (int i = 0; i < 2; i++)
        more[i] = path_at(x, i + 1)[0] - path_at(x, i)[0];
    return same && path_at(x, 0)[0] > 0 && more[1] == 2 * more[0] &&
           (t->sequential_power ? more[0] > 0 : more[0] == 0);
}

static void add_counts(paper_run *r, double counts[PAPER_LAYERS][COUNTS])
{
    static const char *const columns[] = {"layer",       "operations", "n: counted", "d: counted",
                                          "sequential",  "n=80",       "n=320",      "path",
                                          "layers n=80", "n=320"};
    paper_table *t = paper_add_table(
        r->report, "Operations, sequential steps and layers between the ends: formulas and counts",
        columns, WG_COUNT(columns));
    for (int i = 0; i < PAPER_LAYERS; i++) {
        const paper_layer *l = &paper_layers[i];
        paper_row(t);
        paper_words(t, "%s", l->name);
        paper_words(t, "%s", l->work);
        paper_number(t, counts[i][OPS_N], 3);
        paper_number(t, counts[i][OPS_D], 3);
        paper_words(t, "%s", l->sequential);
        paper_number(t, path_at(counts[i], 0)[0], 0);
        paper_number(t, path_at(counts[i], 2)[0], 0);
        paper_words(t, "%s", l->path);
        paper_number(t, path_at(counts[i], 0)[1], 0);
        paper_number(t, path_at(counts[i], 2)[1], 0);
    }
}

static wg_status report_counts(paper_run *r)
{
    double counts[PAPER_LAYERS][COUNTS];
    int same = 0;
    for (int i = 0; i < PAPER_LAYERS; i++) {
        const paper_layer *l = &paper_layers[i];
        char key[40];
        snprintf(key, sizeof key, "counts/%d", i);
        wg_status status = paper_once(r, key, counts[i], COUNTS, count, l);
        if (status != WG_OK)
            return status;
        same += as_the_formulas_say(l, counts[i]);
    }
    add_counts(r, counts);
    paper_found(r->report, same == PAPER_LAYERS,
                "Operations, sequential steps and paths of %d of %d layers grow as the formulas "
                "say; those of restricted attention grow with its radius by the power %.2f.",
                same, PAPER_LAYERS, counts[PAPER_RESTRICTED][OPS_R]);
    return WG_OK;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Of the processor, in one thread, so that other programs on the machine matter little. */

enum { POINTS = 4, SERIES = 3 }; /* n, d and the radius grow */

/* The size of point i of a series. */
static paper_stack_size size_of(const paper_layer *t, int series, int i)
{
    enum { LONG = 8192, NEAREST = 128 };
    paper_stack_size z = {t->batch, t->at_n, t->at_d, 1, PAPER_RADIUS};
    if (series == 0)
        z.n = t->min_n << i;
    else if (series == 1)
        z.d = t->min_d << i;
    else
        z = (paper_stack_size){t->batch, LONG, t->at_d, 1, NEAREST << i};
    return z;
}

/* Seconds of each point of the series of one layer, in turn. */
typedef struct timing {
    const paper_layer *layer;
    int series;
} timing;

static wg_status measure(paper_run *r, const void *what, double *values, wg_error *error)
{
    const timing *x = what;
    const bench_schedule schedule = {.runs = 7, .seconds = 10, .cpu_time = true};
    paper_stack stacks[POINTS] = {{0}};
    bench_subject subjects[POINTS];
    bench_times times[POINTS] = {{0}};
    wg_status status = WG_OK;
    (void)r;
    for (int i = 0; i < POINTS && status == WG_OK; i++) {
        const paper_stack_size size = size_of(x->layer, x->series, i);
        status = paper_stack_make(&stacks[i], x->layer, &size, false, 1, error);
        subjects[i] = (bench_subject){paper_stack_run, &stacks[i]};
    }
    if (status == WG_OK) {
        status = bench_interleaved(subjects, POINTS, &schedule, times);
        if (status != WG_OK)
            wgi_error_set(error, status, "%s: a run failed", x->layer->name);
    }
    for (int i = 0; i < POINTS; i++) {
        values[i] = times[i].median;
        paper_stack_free(&stacks[i]);
    }
    return status;
}

/* What a series doubles. */
static double growing(const paper_layer *t, int series, int i)
{
    const paper_stack_size z = size_of(t, series, i);
    return (double)(series == 0 ? z.n : series == 1 ? z.d : z.radius);
}

static double add_series(paper_panel *p, paper_table *t, const timing *x, const double *seconds)
{
    static const char *const names[SERIES] = {"n", "d", "radius"};
    const paper_layer *l = x->layer;
    double size[POINTS];
    paper_curve *c = paper_add_curve(p, "%s", l->name);
    for (int i = 0; i < POINTS; i++) {
        size[i] = growing(l, x->series, i);
        paper_point(p, c, size[i], 1e3 * seconds[i], 0);
    }
    double exponent = bench_exponent(size, seconds, POINTS);
    paper_row(t);
    paper_words(t, "%s", l->name);
    paper_words(t, "%s = %.0f to %.0f", names[x->series], size[0], size[POINTS - 1]);
    paper_number(t, 1e3 * seconds[0], 3);
    paper_number(t, 1e3 * seconds[POINTS - 1], 3);
    paper_number(t, exponent, 2);
    paper_number(t, x->series == 0 ? l->n_power : x->series == 1 ? l->d_power : 1, 0);
    return exponent;
}

static wg_status report_times(paper_run *r)
{
    static const char *const columns[] = {"layer",    "size",     "first: ms",
                                          "last: ms", "exponent", "formula"};
    static const char *const titles[SERIES] = {"time over n, ms", "time over d, ms",
                                               "restricted attention: time over the radius, ms"};
    double exponent[SERIES][PAPER_LAYERS] = {{0}};
    paper_table *t = paper_add_table(r->report, "How times grow", columns, WG_COUNT(columns));
    for (int series = 0; series < SERIES; series++) {
        paper_panel *p = paper_add_panel(r->report, titles[series],
                                         series == 0   ? "n"
                                         : series == 1 ? "d"
                                                       : "radius",
                                         "ms");
        paper_log_axes(p, true, true);
        for (int i = series < 2 ? 0 : PAPER_RESTRICTED; i < PAPER_LAYERS; i++) {
            const timing x = {&paper_layers[i], series};
            double seconds[POINTS];
            char key[40];
            snprintf(key, sizeof key, "times/%d/%d", i, series);
            wg_status status = paper_once(r, key, seconds, POINTS, measure, &x);
            if (status != WG_OK)
                return status;
            exponent[series][i] = add_series(p, t, &x, seconds);
        }
    }
    double n = exponent[0][PAPER_RESTRICTED], radius = exponent[2][PAPER_RESTRICTED];
    paper_found(r->report, fabs(n - 1) < 0.25 && fabs(radius - 1) < 0.35,
                "The time of restricted attention grows as n^%.2f r^%.2f, that of self-attention "
                "as n^%.2f.",
                n, radius, exponent[0][0]);
    return WG_OK;
}

wg_status paper_table1(paper_run *r)
{
    wg_status status = report_counts(r);
    return status == WG_OK && !r->small ? report_times(r) : status;
}
