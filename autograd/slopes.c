/* A derivative by central differences, and how well it is known.
 *
 *     slope(h) = (L(x+h) - L(x-h)) / 2h  =  L'(x) + a h^2 + b h^4 + ...  +  noise / h
 *
 * Long steps suffer from truncation, short ones from noise: the rounding of everything on the way
 * from x to L, which nobody can bound from outside.  Both are therefore measured, on a ladder of
 * steps h, h/4, h/16, ..., for each slope and for each of Richardson's combinations
 * (16 slope(h) - slope(4h)) / 15, which are free of the term in h^2:
 *
 *     truncation   how much the value differs from its counterpart one rung higher (as in Ridders
 *                  1982, and more than the error itself, which falls with each rung)
 *     noise        the most by which slopes at shorter steps h' differ from the value, times h'/h:
 *                  what is noise in L does not depend on the step
 *
 * The value with the smallest sum of both is the estimate.  An accidental agreement of two rungs
 * does not deceive it, since the shorter steps then disagree with the value and count as noise. */
#include "autograd/check.h"

#include <math.h>

enum {
    BEYOND = 2,     /* rungs below an estimate, for its noise */
    MIDDLE = 6,     /* rungs from here ... */
    MIDDLE_END = 11 /* ... to before this one often suffice: steps 2^-17 to 2^-25 */
};

void wgi_slopes_start(wgi_slopes *s, const wgi_trial *t, double unit)
{
    double bottom;
    if (t->dyadic) { /* steps that keep all numbers sums of few powers of two */
        s->top = t->h;
        bottom = t->h * 0x1p-14;
    } else {
        double power = unit > 0 && !t->grid ? exp2(ceil(log2(unit))) : 1;
        s->top = 0x1p-5 * fmax(1, power);
        bottom = 0x1p-29 * fmax(power, 0x1p-14);
    }
    s->rungs = 0;
    for (double h = s->top; h >= bottom && s->rungs < WGI_RUNGS; h /= 4)
        s->rung[s->rungs++].known = false;
}

/* Moves along the line; returns the step that was really taken. */
static double move(const wgi_slopes *s, double h)
{
    for (int64_t i = 0; i < s->count; i++)
        s->x[i] = s->at[i] + (s->weight ? h * s->weight[i] : h);
    return s->weight ? h : s->x[0] - s->at[0];
}

static void compute(wgi_slopes *s, int i)
{
    double h = ldexp(s->top, -2 * i);
    double right = move(s, h), up = wgi_function_change(s->f);
    double left = move(s, -h), down = wgi_function_change(s->f);
    move(s, 0);
    s->rung[i].h = h;
    s->rung[i].slope = (up - down) / (right - left);
    s->rung[i].jump = up / right - down / left;
    s->rung[i].known = true;
}

static double slope(wgi_slopes *s, int i)
{
    if (!s->rung[i].known)
        compute(s, i);
    return s->rung[i].slope;
}

static double richardson(wgi_slopes *s, int i)
{
    return (16 * slope(s, i) - slope(s, i - 1)) / 15;
}

wgi_estimate wgi_slopes_first(wgi_slopes *s, bool four_point)
{
    int i = s->f->t->dyadic ? 0 : four_point ? 3 : 6; /* of steps 1/32, 1/128, ... */
    wgi_estimate e = {.value = four_point ? richardson(s, i) : slope(s, i)};
    e.step = s->rung[i].h;
    e.noise = s->f->rounding;
    e.uncertainty = 2 * e.noise / e.step;
    return e;
}

/* The value from rung i, and `above`, the same one rung higher. */
static wgi_estimate assess(wgi_slopes *s, int i, int end, double value, double above)
{
    double noise = s->f->rounding;
    for (int k = i + 1; k < end; k++)
        noise = fmax(noise, ldexp(s->top, -2 * k) * fabs(slope(s, k) - value));
    double h = s->rung[i].h;
    return (wgi_estimate){value, fabs(value - above) + 2 * noise / h, noise, h};
}

wgi_estimate wgi_slopes_best(wgi_slopes *s, bool all)
{
    bool few = !all && s->rungs > MIDDLE_END;
    int first = few ? MIDDLE : 0, end = few ? MIDDLE_END : s->rungs;
    wgi_estimate best = {NAN, INFINITY, INFINITY, s->top};
    for (int i = first + 1; i < end - BEYOND; i++) {
        wgi_estimate e = assess(s, i, end, slope(s, i), slope(s, i - 1));
        if (e.uncertainty < best.uncertainty)
            best = e;
        if (i == first + 1)
            continue;
        e = assess(s, i, end, richardson(s, i), richardson(s, i - 1));
        if (e.uncertainty < best.uncertainty)
            best = e;
    }
    return best;
}

/* At the shortest steps L changes by the same amount, whatever the step: a jump. */
static bool is_jump(wgi_slopes *s)
{
    int last = s->rungs - 1;
    double jump = 2 * s->rung[last].h * slope(s, last);
    bool same = fabs(jump) > 100 * s->f->rounding;
    for (int i = last - 3; same && i < last; i++)
        same = fabs(2 * s->rung[i].h * slope(s, i) - jump) <= 0.01 * fabs(jump);
    return same && jump != 0;
}

bool wgi_slopes_kink(wgi_slopes *s, const wgi_estimate *e, double error)
{
    if (is_jump(s))
        return true;
    /* The slopes of both sides differ as much at the shortest step that tells as at the one four
     * times as long; those of a smooth function would differ by a quarter of that. */
    for (int i = s->rungs; i-- > 1;) {
        slope(s, i);
        slope(s, i - 1);
        double jump = fabs(s->rung[i].jump);
        double unsure = 8 * fmax(e->noise, s->f->rounding) / s->rung[i].h;
        if (jump > unsure)
            return jump > fabs(s->rung[i - 1].jump) / 2 && error <= 1.01 * jump + unsure;
    }
    return false;
}
