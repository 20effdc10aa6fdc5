/* Newton's method: a step to the minimum of the quadratic
 *
 *     q(p) = g.p + p.H p / 2,   |p| <= radius
 *
 * by conjugate gradients, as far as H is positive and the step within the radius (Steihaug 1983;
 * Nocedal and Wright 2006, algorithms 7.2 and 4.1).  The radius follows how well q has foretold the
 * loss. */
#include "train/minimise.h"
#include "train/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_RADII = 30 };

/* How far to go from p along d to the length r: the larger t with |p + t d| = r. */
static double to_length(const double *p, const double *d, double r, size_t n)
{
    double pp = wgi_dot(p, p, n), pd = wgi_dot(p, d, n), dd = wgi_dot(d, d, n);
    double root = sqrt(fmax(pd * pd + dd * (r * r - pp), 0));
    return pd > 0 ? (r * r - pp) / (pd + root) : (root - pd) / dd;
}

/* p, and by how much q falls there.  Ends when |H p + g| <= part |g|.  Numbers are those of
 * q / |g|, which stay in range however large or small the loss is. */
static wg_status solve(wg_minimiser *m, double *p, double part, double *fall)
{
    wgi_objective *o = &m->objective;
    const size_t n = o->n;
    const double steep = wgi_length(m->at.g, n);
    double *r = m->work[1], *d = m->work[2], *Hd = m->work[3];
    memset(p, 0, n * sizeof *p);
    wgi_scaled(r, -1 / steep, m->at.g, n); /* r = -(g + H p) / |g| */
    wgi_scaled(d, 1, r, n);
    double rr = wgi_dot(r, r, n);
    wg_status status = WG_OK;
    bool inside = true;
    for (size_t k = 0; k <= 2 * n && inside && sqrt(rr) > part; k++) {
        status = wgi_objective_product(o, d, Hd);
        wgi_scaled(Hd, 1 / steep, Hd, n);
        double bend = wgi_dot(d, Hd, n), t = rr / bend, before = rr;
        if (status != WG_OK || !isfinite(bend) || wgi_objective_spent(o))
            break;
        double pp = wgi_dot(p, p, n) + 2 * t * wgi_dot(p, d, n) + t * t * wgi_dot(d, d, n);
        inside = bend > 0 && pp < m->radius * m->radius;
        if (!inside)
            t = to_length(p, d, m->radius, n);
        wgi_add_scaled(p, t, d, n);
        wgi_add_scaled(r, -t, Hd, n);
        rr = wgi_dot(r, r, n);
        wgi_sum_scaled(d, r, rr / before, d, n);
    }
    /* q(p) = g.p + p.(-g - |g| r) / 2 = p.(g - |g| r) / 2 */
    *fall = (steep * wgi_dot(p, r, n) - wgi_dot(p, m->at.g, n)) / 2;
    return status;
}

/* Whether m->tried is better than m->at, where q falls by `fall`; sets the radius of the next
 * step, whose length was `length`. */
static bool judge(wg_minimiser *m, double fall, double length)
{
    const wgi_objective *o = &m->objective;
    const double noise = wgi_noise(o, m->at.f), fell = m->at.f - m->tried.f;
    if (isfinite(m->tried.f) && fall <= noise && fabs(fell) <= noise)
        return wgi_length(m->tried.g, o->n) < wgi_length(m->at.g, o->n);
    const double ratio = isfinite(m->tried.f) ? fell / fall : -1;
    if (!(ratio >= 0.25))
        m->radius = length / 4;
    else if (ratio > 0.75 && length >= 0.99 * m->radius)
        m->radius *= 2;
    return ratio > 1e-4;
}

wg_status wgi_newton_step(wg_minimiser *m, bool *moved)
{
    wgi_objective *o = &m->objective;
    const size_t n = o->n;
    double *p = m->work[0], fall;
    const double steep = wgi_length(m->at.g, n), far = wgi_length(m->at.x, n);
    if (m->radius == 0) {
        m->radius = far > 0 ? far : 1;
        m->steepest = steep;
    }
    wg_status status = WG_OK;
    *moved = false;
    const double part = fmin(0.1, sqrt(steep / m->steepest)); /* superlinear in the end */
    for (int k = 0; k < MOST_RADII && status == WG_OK && !*moved; k++) {
        wgi_objective_put(o, m->at.x);
        status = solve(m, p, part, &fall);
        double length = wgi_length(p, n);
        if (status != WG_OK || !(fall > 0) || !(length > DBL_EPSILON * DBL_EPSILON * far))
            break;
        wgi_sum_scaled(m->tried.x, m->at.x, 1, p, n);
        status = wgi_objective_at(o, &m->tried);
        *moved = status == WG_OK && judge(m, fall, length);
        if (wgi_objective_spent(o) || fall <= wgi_noise(o, m->at.f))
            break;
    }
    return status;
}
