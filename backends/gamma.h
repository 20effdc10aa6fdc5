/* The gamma family of single numbers, in f64.  A source that includes this defines _DEFAULT_SOURCE
 * before its first include: lgamma, unlike lgamma_r, writes to a global variable. */
#ifndef WG_BACKENDS_GAMMA_H
#define WG_BACKENDS_GAMMA_H

#include "wengert/ops/elementwise.h"

#include <math.h>
#include <stdbool.h>

static const double wgi_pi = 3.14159265358979323846;

/* B_2k, k = 1 to 10: the Bernoulli numbers */
enum { WGI_BERNOULLI = 10 };
static const double wgi_bernoulli[WGI_BERNOULLI] = {
    1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
    -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330,
};

static inline bool wgi_is_pole(double x)
{
    return x <= 0 && x == floor(x);
}

/* ---- lgamma, digamma ------------------------------------------------------------------------- */

static inline double wgi_lgamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* For x > 0, from psi(x) = psi(x + 1) - 1 / x and, for x >= 10,
 *     psi(x) = ln x - 1 / (2 x) - sum over k of B_2k / (2k x^2k)
 * (Abramowitz and Stegun 6.3.5 and 6.3.18). */
static inline double wgi_digamma_right(double x)
{
    double below = 0, sum = 0;
    for (; x < 10; x++)
        below += 1 / x;
    double square = 1 / (x * x), power = square;
    for (int k = 1; k <= WGI_BERNOULLI; k++, power *= square)
        sum += wgi_bernoulli[k - 1] / (2 * k) * power;
    return log(x) - 0.5 / x - sum - below;
}

/* cot(pi x) = cot(pi r) = tan(pi (1/2 - r)), r = x - rint(x); both differences are exact where they
 * are used, so that no digits are lost next to a pole or a zero */
static inline double wgi_cotangent_of_pi(double x)
{
    double r = x - rint(x), size = fabs(r);
    double cotangent = size < 0.25 ? 1 / tan(wgi_pi * size) : tan(wgi_pi * (0.5 - size));
    return copysign(cotangent, r);
}

/* Left of 0: psi(x) = psi(1 - x) - pi cot(pi x) (6.3.7) */
static inline double wgi_digamma(double x)
{
    if (wgi_is_pole(x)) /* -inf counts as one */
        return x == 0 ? -copysign((double)INFINITY, x) : (double)NAN;
    return x < 0 ? wgi_digamma_right(1 - x) - wgi_pi * wgi_cotangent_of_pi(x)
                 : wgi_digamma_right(x);
}

/* ---- polygamma ------------------------------------------------------------------------------- */

/* What does not depend on x.  d^n/dx^n cot(pi x) = pi^n P(cot(pi x)), where P has degree n + 1 and
 * follows from P <- -(1 + c^2) P', n times, beginning with P(c) = c. */
typedef struct wgi_polygamma_order {
    int order;                                /* n */
    double factorial;                         /* n! */
    double scale;                             /* pi^n */
    double coefficient[WG_MAX_POLYGAMMA + 2]; /* of P, ascending */
} wgi_polygamma_order;

static inline wgi_polygamma_order wgi_polygamma_of_order(int order)
{
    wgi_polygamma_order d = {.order = order, .factorial = 1, .scale = 1, .coefficient = {0, 1}};
    for (int n = 1; n <= order; n++) {
        double slope[WG_MAX_POLYGAMMA + 2] = {0};
        for (int i = 1; i <= n; i++)
            slope[i - 1] = i * d.coefficient[i];
        for (int i = 0; i <= n + 1; i++)
            d.coefficient[i] = -slope[i] - (i >= 2 ? slope[i - 2] : 0);
        d.factorial *= n;
        d.scale *= wgi_pi;
    }
    return d;
}

/* x^-s for s >= 0 */
static inline double wgi_inverse_power(double x, int s)
{
    double power = 1;
    for (; s > 0; s--)
        power /= x;
    return power;
}

/* For x >= 0: psi_n(x) = (-1)^(n+1) n! sum over k >= 0 of (x + k)^-s, s = n + 1 (6.4.10).  Terms
 * are added up to z = x + k >= 10 + n; the rest is (Euler and Maclaurin, 23.1.30)
 *     z^(1-s) / (s - 1) + z^-s / 2
 *     + sum over k of B_2k / (2k)! s (s + 1) ... (s + 2k - 2) z^(1-s-2k) */
static inline double wgi_polygamma_right(const wgi_polygamma_order *d, double x)
{
    int s = d->order + 1;
    double sum = 0, z = x;
    for (; z < 10 + d->order; z++)
        sum += wgi_inverse_power(z, s);
    double power = wgi_inverse_power(z, s), term = power * s / (2 * z);
    sum += power * z / (s - 1) + power / 2;
    for (int k = 1; k <= WGI_BERNOULLI; k++) {
        sum += wgi_bernoulli[k - 1] * term;
        term *= (double)(s + 2 * k - 1) * (s + 2 * k) / ((2 * k + 1) * (2 * k + 2) * z * z);
    }
    return (d->order % 2 ? 1 : -1) * d->factorial * sum;
}

/* Left of 0: psi_n(x) = (-1)^n psi_n(1 - x) - pi d^n/dx^n cot(pi x) (6.4.7) */
static inline double wgi_polygamma_left(const wgi_polygamma_order *d, double x)
{
    double c = wgi_cotangent_of_pi(x), p = 0, mirrored = wgi_polygamma_right(d, 1 - x);
    for (int i = d->order + 1; i >= 0; i--)
        p = p * c + d->coefficient[i];
    return (d->order % 2 ? -mirrored : mirrored) - wgi_pi * d->scale * p;
}

static inline double wgi_polygamma(const wgi_polygamma_order *d, double x)
{
    if (isinf(x))
        return x > 0 ? (d->order % 2 ? 1 : -1) / x : (double)NAN;
    if (wgi_is_pole(x) && x != 0)
        return d->order % 2 ? (double)INFINITY : (double)NAN;
    return x < 0 ? wgi_polygamma_left(d, x) : wgi_polygamma_right(d, x);
}

#endif
