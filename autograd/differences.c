/* One comparison of a gradient with finite differences. */
#include "autograd/check.h"
#include "graph/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The function under way: L(x) = sum_j <c_j, y_j(x)>, never summed up, since only differences of
 * the y are wanted and these are taken before the cotangent enters. */
typedef struct function {
    const wgi_trial *t;
    void *run;
    const double **y; /* n_y results of a run              */
    const double **c; /* n_y cotangents                    */
    double *before;   /* all results of the earlier of two */
    wg_status status;
} function;

static void evaluate(function *f)
{
    if (f->status == WG_OK)
        f->status = f->t->options->evaluator->run(f->run, f->t->options->step);
}

/* L(x with *x = right) - L(x with *x = left) */
static double difference(function *f, double *x, double left, double right)
{
    double was = *x, sum = 0, *before = f->before;
    *x = left;
    evaluate(f);
    for (size_t j = 0; j < f->t->n_y; j++) {
        int64_t count = wg_value_count(f->t->y[j]);
        for (int64_t i = 0; i < count; i++)
            *before++ = f->y[j][i];
    }
    *x = right;
    evaluate(f);
    before = f->before;
    for (size_t j = 0; j < f->t->n_y; j++) {
        int64_t count = wg_value_count(f->t->y[j]);
        for (int64_t i = 0; i < count; i++)
            sum += f->c[j][i] * (f->y[j][i] - *before++);
    }
    *x = was;
    return sum;
}

/* (L(right) - L(left)) / (right - left), with the step that was really taken */
static double slope(function *f, double *x, double left, double right)
{
    return difference(f, x, left, right) / (right - left);
}

static double derivative(function *f, double *x, double h)
{
    double at = *x;
    if (!f->t->four_point)
        return slope(f, x, at - h, at + h);
    return (4 * slope(f, x, at - h, at + h) - slope(f, x, at - 2 * h, at + 2 * h)) / 3;
}

static double error_of(double numeric, double analytic)
{
    return fabs(numeric - analytic) / fmax(1, fabs(numeric));
}

/* Whether a kink lies within h/16: then the slopes of the two sides differ by at least three
 * quarters as much at h/4 as at h, where a smooth function's would differ by a quarter.  (At h/16
 * itself they would not differ for a kink just there.) */
static bool is_kink(function *f, double *x, double h, double scale)
{
    double at = *x, near = h / 4;
    double far_jump = slope(f, x, at, at + h) - slope(f, x, at - h, at);
    double near_jump = slope(f, x, at, at + near) - slope(f, x, at - near, at);
    return fabs(near_jump) > 1e-4 * fmax(1, scale) && fabs(near_jump) > fabs(far_jump) / 2;
}

static void note_worst(wg_gradcheck_report *r, double error, int order, const wg_value *leaf,
                       int64_t index, double analytic, double numeric)
{
    if (isnan(r->worst) || (error <= r->worst && r->compared > 1))
        return;
    r->worst = error;
    r->order = order;
    wg_value_text(leaf, r->leaf, sizeof r->leaf);
    r->index = index;
    r->analytic = analytic;
    r->numeric = numeric;
}

static void compare_element(function *f, int order, const wg_value *leaf, double *x, int64_t index,
                            double analytic)
{
    const wgi_trial *t = f->t;
    wg_gradcheck_report *r = t->report;
    double numeric = derivative(f, x, t->h), error = error_of(numeric, analytic);
    /* Within a graph numbers lie where they lie: perhaps a kink is near, or x is so large that h
     * drowns.  Any step at which differences confirm the gradient will do. */
    const double steps[] = {t->h / 16, t->h * fmax(1, fabs(*x))};
    for (int i = 0; i < WG_COUNT(steps) && t->may_skip && !(error <= t->tolerance); i++) {
        double other = derivative(f, x, steps[i]);
        if (error_of(other, analytic) <= t->tolerance) {
            numeric = other;
            error = error_of(other, analytic);
        }
    }
    if (!(error <= t->tolerance) && t->may_skip && is_kink(f, x, t->h, fabs(numeric))) {
        r->skipped++;
        return;
    }
    if (f->status != WG_OK)
        return;
    r->compared++;
    if (!(error <= t->tolerance))
        r->failed++;
    note_worst(r, error, order, leaf, index, analytic, numeric);
}

/* All elements of a leaf, or `max` of them, each once: the first `max` of a random order. */
static wg_status compare_leaf(function *f, uint64_t *random, int order, const wg_value *leaf,
                              const double *analytic)
{
    const wgi_trial *t = f->t;
    double *x = t->options->evaluator->data(f->run, leaf);
    int64_t count = wg_value_count(leaf), max = (int64_t)t->max < count ? (int64_t)t->max : count;
    int64_t *chosen = malloc(sizeof *chosen * (size_t)(count ? count : 1));
    if (!chosen)
        return WG_ENOMEM;
    for (int64_t i = 0; i < count; i++)
        chosen[i] = i;
    for (int64_t i = 0; i < max && f->status == WG_OK; i++) {
        int64_t k = i + (int64_t)(wgi_splitmix64(random) % (uint64_t)(count - i)), swap = chosen[i];
        chosen[i] = chosen[k];
        chosen[k] = swap;
        compare_element(f, order, leaf, &x[chosen[i]], chosen[i], analytic[chosen[i]]);
    }
    free(chosen);
    return f->status;
}

wg_status wgi_compare_differences(wgi_trial *t, int order, wg_value *const *dy, wg_value *const *dx)
{
    const wg_evaluator *e = t->options->evaluator;
    void *gradient = NULL;
    size_t results = 0;
    for (size_t j = 0; j < t->n_y; j++)
        results += (size_t)wg_value_count(t->y[j]);
    function f = {.t = t};
    f.y = calloc(t->n_y + 1, sizeof *f.y);
    f.c = calloc(t->n_y + 1, sizeof *f.c);
    f.before = malloc(sizeof *f.before * (results + 1));
    wg_status status = f.y && f.c && f.before ? WG_OK : WG_ENOMEM;
    if (status == WG_OK)
        status = wgi_trial_open(t, dx, t->n_wrt, &gradient);
    if (status == WG_OK)
        status = e->run(gradient, t->options->step);
    if (status != WG_OK && gradient)
        wgi_trial_error(t, status, "the gradient cannot be computed: %s", e->message(gradient));
    if (status == WG_OK)
        status = wgi_trial_open(t, t->y, t->n_y, &f.run);
    for (size_t j = 0; status == WG_OK && j < t->n_y; j++) {
        f.y[j] = e->data(f.run, t->y[j]);
        f.c[j] = wgi_trial_point(t, dy[j])->data;
    }
    for (size_t i = 0; status == WG_OK && i < t->n_wrt; i++)
        if (wg_value_count(t->wrt[i]))
            status = compare_leaf(&f, &t->random, order, t->wrt[i], e->data(gradient, dx[i]));
    if (f.status != WG_OK)
        wgi_trial_error(t, status, "the function cannot be computed: %s", e->message(f.run));
    e->destroy(gradient);
    e->destroy(f.run);
    free(f.y);
    free(f.c);
    free(f.before);
    return status;
}
