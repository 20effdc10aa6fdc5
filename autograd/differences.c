/* One comparison of a gradient with finite differences.
 *
 * A first step confirms most elements: where differences and gradient agree to eight digits, both
 * are right, whatever the error of either may be.  Only a disagreement raises the question of how
 * certain the differences are; then all steps are taken (slopes.c), and the gradient is computed
 * again next to the point, which shows its own rounding. */
#include "autograd/check.h"
#include "graph/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A gradient is wrong if it differs by more than SAFETY times the estimated uncertainty.  It is
 * right if it does not and the uncertainty is small: beside the gradient, by DECISIVE, or, for
 * gradients that hardly matter, by NEGLIGIBLE beside those of other leaves.  After the first step,
 * rounding errors on the way are taken for DEPTH times those of the results, which must be small
 * by FIRM. */
static const double SAFETY = 10, DECISIVE = 1e-4, NEGLIGIBLE = 1e-2, DEPTH = 32, FIRM = 1e-6;

typedef enum outcome { CONFIRMED, WRONG, AT_KINK, UNDECIDED } outcome;

typedef struct finding {
    outcome outcome;
    double analytic, numeric;
    double uncertainty; /* of the numeric derivative                           */
    double scale;       /* of the gradient: error and tolerance are relative to it */
    double tolerance;
    double step;
} finding;

typedef struct comparison {
    wgi_trial *t;
    wgi_function f;
    wgi_evaluation gradient;
    wg_value *const *dx;
    int order;
    double **analytic, **noise; /* for each wrt: the gradient and its rounding errors */
    bool noise_known;
    double effect;    /* the largest change of L, for a typical change of one leaf's elements */
    size_t done, all; /* lines compared, and to be compared */
} comparison;

/* One leaf of wrt. */
typedef struct leaf {
    comparison *c;
    size_t place; /* in wrt */
    const wg_value *v;
    double *x;        /* memory of its numbers                             */
    const double *at; /* its numbers at the point                          */
    int64_t count;
    double rms;  /* of its gradient */
    double unit; /* a typical size of its numbers                         */
    size_t decided, undecided;
} leaf;

/* ---- the gradient ---------------------------------------------------------------------------- */

static wg_status run_gradient(comparison *c)
{
    wg_status status = wgi_evaluation_run(&c->gradient);
    if (status != WG_OK)
        wgi_trial_error(c->t, status, "the gradient cannot be computed: %s",
                        wgi_evaluation_message(&c->gradient));
    return status;
}

static wg_status open_gradient(comparison *c)
{
    wgi_trial *t = c->t;
    c->analytic = calloc(t->n_wrt + 1, sizeof *c->analytic);
    c->noise = calloc(t->n_wrt + 1, sizeof *c->noise);
    if (!c->analytic || !c->noise)
        return WG_ENOMEM;
    wg_status status = wgi_evaluation_open(&c->gradient, t, c->dx, t->n_wrt, false);
    if (status == WG_OK)
        status = run_gradient(c);
    for (size_t i = 0; status == WG_OK && i < t->n_wrt; i++) {
        size_t bytes = wg_value_bytes(t->wrt[i]);
        c->analytic[i] = malloc(bytes + 1);
        c->noise[i] = calloc(bytes + 1, 1);
        if (!c->analytic[i] || !c->noise[i])
            return WG_ENOMEM;
        if (bytes)
            memcpy(c->analytic[i], wgi_evaluation_data(&c->gradient, c->dx[i]), bytes);
    }
    return status;
}

/* Moves all of wrt by a few units in the last place. */
static void jitter(comparison *c, uint64_t *random)
{
    for (size_t i = 0; i < c->t->n_wrt; i++) {
        const double *at = wgi_trial_point(c->t, c->t->wrt[i])->data;
        double *x = wgi_evaluation_data(&c->gradient, c->t->wrt[i]);
        int64_t count = wg_value_count(c->t->wrt[i]);
        for (int64_t k = 0; k < count; k++)
            x[k] = at[k] * (1 + ((double)(wgi_splitmix64(random) % 9) - 4) * 0x1p-51);
    }
}

/* How much the gradient changes when its operands are rounded differently. */
static wg_status measure_noise(comparison *c)
{
    enum { TRIES = 3 };
    uint64_t random = c->t->options->seed;
    wg_status status = WG_OK;
    for (int try = 0; try < TRIES && !c->noise_known && status == WG_OK; try++) {
        jitter(c, &random);
        status = run_gradient(c);
        for (size_t i = 0; i < c->t->n_wrt && status == WG_OK; i++) {
            const double *d = wgi_evaluation_data(&c->gradient, c->dx[i]);
            int64_t count = wg_value_count(c->dx[i]);
            for (int64_t k = 0; k < count; k++)
                c->noise[i][k] = fmax(c->noise[i][k], fabs(d[k] - c->analytic[i][k]));
        }
    }
    c->noise_known = true;
    return status;
}

/* ---- one derivative -------------------------------------------------------------------------- */

/* The derivative along the line, and its rounding errors. */
static double along(const leaf *l, const double *values, int64_t index, const double *weight,
                    bool magnitudes)
{
    long double sum = 0;
    if (!weight)
        return values[index];
    for (int64_t i = 0; i < l->count; i++)
        sum += (long double)values[i] * (magnitudes ? fabs(weight[i]) : weight[i]);
    return (double)sum;
}

/* An error of that size would show in the gradient, or matter nowhere. */
static bool is_small(const leaf *l, double error, double scale, double share)
{
    return error <= share * scale || error * l->unit <= NEGLIGIBLE * share * l->c->effect;
}

/* What errors of a derivative are relative to: to it, or to the leaf's gradient where that is less
 * than 1. */
static double scale_of(const leaf *l, double derivative)
{
    return fmax(fabs(derivative), fmin(1, l->rms));
}

/* The first step tells enough. */
static bool is_confirmed(const leaf *l, const wgi_estimate *e, finding *found)
{
    const wgi_trial *t = l->c->t;
    double error = fabs(found->analytic - e->value);
    double scale = scale_of(l, e->value), rounding = DEPTH * e->uncertainty;
    bool exact = error <= t->tolerance * scale;
    bool rounded =
        !t->grid && error <= t->tolerance * scale + rounding && is_small(l, rounding, scale, FIRM);
    if (!exact && !rounded)
        return false;
    *found = (finding){CONFIRMED, found->analytic, e->value, e->uncertainty,
                       scale,     t->tolerance,    e->step};
    if (!exact)
        found->tolerance += rounding / scale;
    return true;
}

/* After all steps, or after some in the middle. */
static outcome judge(const leaf *l, wgi_slopes *s, double noise, bool all, finding *found)
{
    wgi_estimate e = wgi_slopes_best(s, all);
    double error = fabs(found->analytic - e.value), unsure = SAFETY * (e.uncertainty + noise);
    double scale = scale_of(l, e.value), tolerance = l->c->t->tolerance;
    bool agrees = error <= tolerance * scale + unsure;
    *found = (finding){UNDECIDED, found->analytic, e.value, e.uncertainty + noise,
                       scale,     tolerance,       e.step};
    if (scale > 0)
        found->tolerance += unsure / scale;
    if (agrees && is_small(l, unsure, fmax(scale, l->rms), DECISIVE))
        return CONFIRMED;
    if (!all)
        return UNDECIDED; /* yet */
    if (wgi_slopes_kink(s, &e, error))
        return AT_KINK;
    return agrees || isnan(e.value) ? UNDECIDED : WRONG;
}

/* The derivative in one element, or, with weights, along a line through the leaf. */
static wg_status derive(leaf *l, int64_t index, const double *weight, finding *found)
{
    comparison *c = l->c;
    int64_t first = weight ? 0 : index;
    wgi_slopes s = {.f = &c->f,
                    .x = l->x + first,
                    .at = l->at + first,
                    .weight = weight,
                    .count = weight ? l->count : 1};
    wgi_slopes_start(&s, c->t, weight ? l->unit : fmax(l->unit, fabs(l->at[index])));
    found->analytic = along(l, c->analytic[l->place], index, weight, false);
    wgi_estimate e = wgi_slopes_first(&s, c->t->four_point);
    bool confirmed = is_confirmed(l, &e, found);
    if (!confirmed && !c->t->dyadic) {
        e = wgi_slopes_first(&s, !c->t->four_point);
        confirmed = is_confirmed(l, &e, found);
    }
    if (confirmed)
        return c->f.status;
    wg_status status = measure_noise(c);
    double noise = along(l, c->noise[l->place], index, weight, true);
    found->outcome = judge(l, &s, noise, false, found);
    if (found->outcome != CONFIRMED)
        found->outcome = judge(l, &s, noise, true, found);
    return status == WG_OK ? c->f.status : status;
}

/* ---- findings -------------------------------------------------------------------------------- */

static double relative(double x, double scale)
{
    return x == 0 ? 0 : fabs(x) / scale;
}

static void note_worst(leaf *l, const wgi_line *line, const finding *found)
{
    wgi_trial *t = l->c->t;
    wg_gradcheck_report *r = t->report;
    double error = relative(found->analytic - found->numeric, found->scale);
    bool worse = !(error / found->tolerance <= r->worst / r->tolerance) && !isnan(r->worst);
    if (r->compared > 1 && !worse)
        return;
    r->worst = error;
    r->tolerance = found->tolerance;
    r->order = l->c->order;
    wg_value_text(l->v, r->leaf, sizeof r->leaf);
    r->index = line->index;
    r->analytic = found->analytic;
    r->numeric = found->numeric;
    r->uncertainty = found->uncertainty;
    t->worst = *line;
    t->worst.step = found->step;
    t->error = found->analytic - found->numeric;
}

static void note_unsure(const leaf *l, const wgi_line *line, const finding *found)
{
    wgi_trial *t = l->c->t;
    if (t->report->undecided++)
        return;
    t->unsure = *line;
    t->unsure_by = found->uncertainty;
}

static void note(leaf *l, const wgi_line *line, const finding *found)
{
    wg_gradcheck_report *r = l->c->t->report;
    bool whole = line->index < 0; /* tells only if it is sure */
    switch (found->outcome) {
    case AT_KINK: r->skipped += !whole; break;
    case UNDECIDED:
        if (!whole)
            note_unsure(l, line, found);
        l->undecided += !whole;
        break;
    case CONFIRMED:
    case WRONG:
        r->compared++;
        r->failed += found->outcome == WRONG;
        l->decided++;
        note_worst(l, line, found);
    }
}

/* ---- one leaf -------------------------------------------------------------------------------- */

static double root_mean_square(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i] * x[i] / (double)count;
    return sqrt(sum);
}

static leaf leaf_at(comparison *c, size_t place)
{
    const wg_value *v = c->t->wrt[place];
    leaf l = {.c = c, .place = place, .v = v, .count = wg_value_count(v)};
    l.x = l.count ? wgi_evaluation_data(&c->f.e, v) : NULL;
    l.at = wgi_trial_point(c->t, v)->data;
    l.rms = root_mean_square(c->analytic[place], l.count);
    l.unit = root_mean_square(l.at, l.count);
    l.unit = l.unit > 0 ? l.unit : 1;
    return l;
}

static wg_status compare_line(leaf *l, int64_t index, const double *weight, uint64_t weights)
{
    finding found = {.outcome = CONFIRMED};
    const wgi_line line = {l->v, index, weights, 0};
    wg_status status = derive(l, index, weight, &found);
    if (status == WG_OK)
        note(l, &line, &found);
    const wg_gradcheck_options *o = l->c->t->options;
    l->c->done++;
    if (o->progress)
        o->progress(o->context, l->c->order, l->c->done, l->c->all);
    return status;
}

/* All elements at once, each with its own weight: sees those that were not chosen. */
static wg_status compare_whole(leaf *l, uint64_t weights)
{
    double *weight = malloc(sizeof *weight * (size_t)l->count);
    if (!weight)
        return WG_ENOMEM;
    wgi_draw_weights(weight, l->count, weights);
    leaf whole = *l;
    whole.rms *= sqrt((double)l->count);
    wg_status status = compare_line(&whole, -1, weight, weights);
    free(weight);
    return status;
}

/* All elements of a leaf, or `max` of them, each once: the first `max` of a random order. */
static wg_status compare_leaf(leaf *l, uint64_t *random)
{
    int64_t count = l->count, max = (int64_t)l->c->t->max;
    int64_t *chosen = malloc(sizeof *chosen * (size_t)count);
    wg_status status = chosen ? WG_OK : WG_ENOMEM;
    for (int64_t i = 0; chosen && i < count; i++)
        chosen[i] = i;
    for (int64_t i = 0; i < max && i < count && status == WG_OK; i++) {
        int64_t k = i + (int64_t)(wgi_splitmix64(random) % (uint64_t)(count - i)), swap = chosen[i];
        chosen[i] = chosen[k];
        chosen[k] = swap;
        status = compare_line(l, chosen[i], NULL, 0);
    }
    free(chosen);
    if (status == WG_OK && max < count)
        status = compare_whole(l, wgi_splitmix64(random));
    if (l->undecided && !l->decided)
        l->c->t->unsure_leaf = l->v;
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static wg_status compare_leaves(comparison *c)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < c->t->n_wrt; i++) {
        leaf l = leaf_at(c, i);
        c->effect = fmax(c->effect, l.rms * l.unit);
        c->all +=
            l.count <= (int64_t)c->t->max ? (size_t)l.count : c->t->max + 1; /* a line of all */
    }
    for (size_t i = 0; status == WG_OK && i < c->t->n_wrt; i++) {
        leaf l = leaf_at(c, i);
        if (l.count)
            status = compare_leaf(&l, &c->t->random);
    }
    if (c->f.status != WG_OK)
        wgi_trial_error(c->t, status, "the function cannot be computed: %s",
                        wgi_evaluation_message(&c->f.e));
    return status;
}

static wg_status open_function(comparison *c, wg_value *const *dy)
{
    wg_status status = wgi_function_open(&c->f, c->t, dy);
    if (status != WG_OK && status != WG_ENOMEM)
        return wgi_trial_error(c->t, status, "the function cannot be computed: %s",
                               wgi_evaluation_message(&c->f.e));
    if (status == WG_OK)
        c->t->size = wgi_function_size(&c->f);
    return status;
}

wg_status wgi_compare_differences(wgi_trial *t, int order, wg_value *const *dy, wg_value *const *dx)
{
    comparison c = {.t = t, .dx = dx, .order = order};
    wg_status status = open_gradient(&c);
    if (status == WG_OK)
        status = open_function(&c, dy);
    if (status == WG_OK && isfinite(t->size))
        status = compare_leaves(&c);
    wgi_evaluation_close(&c.gradient);
    wgi_function_close(&c.f);
    for (size_t i = 0; i < t->n_wrt; i++) {
        free(c.analytic ? c.analytic[i] : NULL);
        free(c.noise ? c.noise[i] : NULL);
    }
    free(c.analytic);
    free(c.noise);
    return status;
}
