/* A search along a line for a point with the strong Wolfe conditions (Nocedal and Wright 2006,
 * algorithms 3.5 and 3.6):
 *
 *     phi(a) = f(x + a d),   phi(a) <= phi(0) + c1 a phi'(0),   |phi'(a)| <= c2 |phi'(0)|
 *
 * Near a minimum, losses differ by no more than rounding and cannot be compared: there the slopes
 * decide, which keep their digits (Hager and Zhang 2005). */
#include "train/minimise.h"
#include "train/vector.h"

#include <math.h>

static const double C1 = 1e-4, C2 = 0.9;

enum { MOST_TRIALS = 40 };

/* A length, the loss there, and its slope. */
typedef struct place {
    double a, f, slope;
} place;

typedef struct search {
    wg_minimiser *m;
    const double *d;
    place start, lo,
        hi; /* lo: the best so far; hi: beyond the minimum, with a = INFINITY at first */
} search;

static wg_status try_length(search *s, double a, place *p)
{
    wg_minimiser *m = s->m;
    wgi_sum_scaled(m->tried.x, m->at.x, a, s->d, m->objective.n);
    wg_status status = wgi_objective_at(&m->objective, &m->tried);
    *p = (place){a, m->tried.f, wgi_dot(m->tried.g, s->d, m->objective.n)};
    return status;
}

/* Where a cubic with the losses and slopes of both ends has its minimum; NaN if it has none. */
static double cubic_minimum(const place *p, const place *q)
{
    double u = p->slope + q->slope - 3 * (p->f - q->f) / (p->a - q->a);
    double v = copysign(sqrt(u * u - p->slope * q->slope), q->a - p->a);
    return q->a - (q->a - p->a) * (q->slope + v - u) / (q->slope - p->slope + 2 * v);
}

/* x, but at least a tenth of the interval from its ends; the middle if x is not a number. */
static double within(double x, double from, double to)
{
    const double margin = 0.1 * (to - from);
    if (!isfinite(x))
        return from + (to - from) / 2;
    return fmin(fmax(x, from + margin), to - margin);
}

/* The next length: in the interval, or beyond `before` while the interval has no end. */
static double next_length(const search *s, const place *before)
{
    if (isinf(s->hi.a)) {
        double a = cubic_minimum(before, &s->lo);
        return isfinite(a) ? fmin(fmax(a, 2 * s->lo.a), 10 * s->lo.a) : 4 * s->lo.a;
    }
    double x = isfinite(s->hi.f) ? cubic_minimum(&s->lo, &s->hi) : NAN;
    return within(x, fmin(s->lo.a, s->hi.a), fmax(s->lo.a, s->hi.a));
}

/* Puts p in place of an end of the interval; whether p is where to go. */
static bool narrow(search *s, const place *p)
{
    const double noise = wgi_noise(&s->m->objective, s->start.f);
    const bool high = p->f > s->start.f + C1 * p->a * s->start.slope + noise;
    if (high || p->f > s->lo.f + noise) {
        s->hi = *p;
        return false;
    }
    if (fabs(p->slope) <= C2 * fabs(s->start.slope))
        return true;
    const double towards_hi = isinf(s->hi.a) ? 1 : s->hi.a - s->lo.a;
    if (p->slope * towards_hi >= 0)
        s->hi = s->lo;
    s->lo = *p;
    return false;
}

wg_status wgi_line_search(wg_minimiser *m, const double *d, double first, bool *moved)
{
    const wgi_objective *o = &m->objective;
    const place start = {0, m->at.f, wgi_dot(m->at.g, d, o->n)};
    search s = {m, d, start, start, {INFINITY, INFINITY, 0}};
    place p = start, before;
    wg_status status = WG_OK;
    *moved = false;
    double a = first;
    for (int k = 0; k < MOST_TRIALS && status == WG_OK && !*moved; k++) {
        before = s.lo;
        status = try_length(&s, a, &p);
        *moved = status == WG_OK && narrow(&s, &p);
        a = next_length(&s, &before);
        if (wgi_objective_spent(o) || fabs(s.hi.a - s.lo.a) <= 1e-15 * s.lo.a)
            break;
    }
    if (status == WG_OK && !*moved && s.lo.a > 0 && s.lo.f < s.start.f) {
        status = p.a == s.lo.a ? WG_OK : try_length(&s, s.lo.a, &p);
        *moved = status == WG_OK;
    }
    return status;
}
