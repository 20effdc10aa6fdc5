/* Vectors of f64 in minimisation.  Sums have a fixed order: the same bits on any machine. */
#ifndef WG_PRIVATE_TRAIN_VECTOR_H
#define WG_PRIVATE_TRAIN_VECTOR_H

#include <math.h>
#include <stddef.h>

/* x . y, by eight sums in turn: so the compiler may use vectors */
static inline double wgi_dot(const double *x, const double *y, size_t n)
{
    double sum[8] = {0}, total = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            sum[k] += x[i + k] * y[i + k];
    for (; i < n; i++)
        total += x[i] * y[i];
    for (size_t k = 0; k < 8; k++)
        total += sum[k];
    return total;
}

/* y += a x */
static inline void wgi_add_scaled(double *y, double a, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* z = x + a y */
static inline void wgi_sum_scaled(double *z, const double *x, double a, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        z[i] = x[i] + a * y[i];
}

/* y = a x */
static inline void wgi_scaled(double *y, double a, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i];
}

/* The largest |x|; NaN if one is. */
static inline double wgi_largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(most) && !(fabs(x[i]) <= most))
            most = fabs(x[i]);
    return most;
}

/* sqrt(x . x), also where the squares leave the range of f64 */
static inline double wgi_length(const double *x, size_t n)
{
    double squares = wgi_dot(x, x, n);
    if (squares > 0x1p-900 && squares < INFINITY)
        return sqrt(squares);
    const double most = wgi_largest(x, n);
    if (!(most > 0 && most < INFINITY))
        return most;
    squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] / most) * (x[i] / most);
    return most * sqrt(squares);
}

#endif
