/* Roots of unity, the numbers of Fourier transforms. */
#ifndef WG_BACKENDS_ROOTS_H
#define WG_BACKENDS_ROOTS_H

#include <math.h>
#include <stdint.h>

/* e^(2 pi i j / n), 0 <= j < n.  Computed from an angle within the first eighth of the circle, so
 * that roots on the axes are exact, and mirror images have the same digits. */
static inline void wgi_root(int64_t j, int64_t n, double *re, double *im)
{
    static const double two_pi = 6.283185307179586477;
    const int lower = 2 * j > n;
    const int64_t k = lower ? n - j : j; /* in the upper half */
    const int left = 4 * k > n;
    const int64_t q = left ? 2 * n - 4 * k : 4 * k; /* in the first quarter, of 4 n steps a turn */
    const int steep = 2 * q > n;
    const double angle = two_pi * (double)(steep ? n - q : q) / (4 * (double)n);
    const double x = steep ? sin(angle) : cos(angle), y = steep ? cos(angle) : sin(angle);
    *re = left ? -x : x;
    *im = lower ? -y : y;
}

#endif
