/* L-BFGS (Liu and Nocedal 1989; Nocedal and Wright 2006, algorithm 7.4): the direction -H g, where
 * H is what the last steps s and changes y of the gradient tell about the inverse of the Hessian:
 *
 *     H' = (I - s y' / s.y) H (I - y s' / s.y) + s s' / s.y,   H = (s.y / y.y) I at first
 */
#include "train/minimise.h"
#include "train/vector.h"

#include <float.h>
#include <math.h>

/* The pair of k steps ago, 0: the last one. */
static size_t ago(const wgi_history *h, size_t k)
{
    return (h->next + h->most - 1 - k) % h->most;
}

/* d = -H g by the two loops over all pairs, and without pairs -g / |g|.  The products alpha are
 * kept in h->alpha. */
static void direction(const wg_minimiser *m, double *d)
{
    const wgi_history *h = &m->history;
    const size_t n = m->objective.n;
    wgi_scaled(d, h->count ? -1 : -1 / wgi_length(m->at.g, n), m->at.g, n);
    for (size_t k = 0; k < h->count; k++) {
        size_t j = ago(h, k);
        h->alpha[j] = wgi_dot(h->s + j * n, d, n) / h->sy[j];
        wgi_add_scaled(d, -h->alpha[j], h->y + j * n, n);
    }
    if (h->count) {
        size_t j = ago(h, 0);
        double y = wgi_length(h->y + j * n, n);
        wgi_scaled(d, h->sy[j] / y / y, d, n);
    }
    for (size_t k = h->count; k-- > 0;) {
        size_t j = ago(h, k);
        double beta = wgi_dot(h->y + j * n, d, n) / h->sy[j];
        wgi_add_scaled(d, h->alpha[j] - beta, h->s + j * n, n);
    }
}

/* Remembers the step from m->at to m->tried, if the gradient has risen along it: else H would not
 * be positive. */
static void remember(wg_minimiser *m)
{
    wgi_history *h = &m->history;
    const size_t n = m->objective.n;
    double *s = h->s + h->next * n, *y = h->y + h->next * n;
    wgi_sum_scaled(s, m->tried.x, -1, m->at.x, n);
    wgi_sum_scaled(y, m->tried.g, -1, m->at.g, n);
    double sy = wgi_dot(s, y, n);
    if (!(sy > 1e-14 * wgi_length(s, n) * wgi_length(y, n)))
        return;
    h->sy[h->next] = sy;
    h->next = (h->next + 1) % h->most;
    h->count += h->count < h->most;
}

/* How long a step down the gradient is at first: as the gradient, but within 1, and not lost in the
 * rounding of x. */
static double first_length(const wg_minimiser *m)
{
    const size_t n = m->objective.n;
    return fmax(fmin(1, wgi_length(m->at.g, n)), DBL_EPSILON * wgi_length(m->at.x, n));
}

wg_status wgi_lbfgs_step(wg_minimiser *m, bool *moved)
{
    const size_t n = m->objective.n;
    double *d = m->work[0];
    wg_status status = WG_OK;
    *moved = false;
    for (;;) {
        const bool informed = m->history.count > 0;
        direction(m, d);
        double length = wgi_length(d, n), slope = wgi_dot(m->at.g, d, n);
        if (slope < 0 && isfinite(length))
            status = wgi_line_search(m, d, informed ? 1 : first_length(m), moved);
        if (status != WG_OK || *moved || !informed || wgi_objective_spent(&m->objective))
            break;
        m->history.count = m->history.next = 0; /* and down the gradient itself */
    }
    if (*moved)
        remember(m);
    return status;
}
