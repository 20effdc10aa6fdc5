/* exp a = (exp(a / 2^s))^(2^s), where a / 2^s is so small that 16 terms of the series do (Higham,
 * Functions of Matrices, chapter 10).  In double, by any product of matrices. */
#ifndef WG_BACKENDS_MATRIX_EXP_H
#define WG_BACKENDS_MATRIX_EXP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { WGI_EXP_EACH = 4, WGI_EXP_DEGREE = WGI_EXP_EACH * WGI_EXP_EACH };

/* 8-byte numbers of memory for one [n, n]: powers 1 to 4, and two sums. */
static inline int64_t wgi_matrix_exp_numbers(int64_t n)
{
    return 6 * n * n;
}

/* y = a b + y, [n, n] each */
typedef void wgi_multiply_add(const void *context, double *y, const double *a, const double *b,
                              int64_t n);

typedef struct wgi_exponential {
    int64_t n;
    double *memory; /* [wgi_matrix_exp_numbers(n)]; a is in its first [n, n] */
    wgi_multiply_add *multiply_add;
    const void *context; /* its first argument */
} wgi_exponential;

/* y = a b */
static inline void wgi_exp_multiply(const wgi_exponential *e, double *y, const double *a,
                                    const double *b)
{
    memset(y, 0, sizeof *y * (size_t)(e->n * e->n));
    e->multiply_add(e->context, y, a, b, e->n);
}

/* By how many halvings the largest sum of magnitudes along a row becomes 3/4 at most: then the term
 * after the last is below 2^-55. */
static inline int wgi_exp_halvings(const double *a, int64_t n)
{
    double largest = 0;
    int halvings;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += fabs(a[i * n + j]);
        largest = sum > largest ? sum : largest;
    }
    (void)frexp(largest / 0.75, &halvings);
    return halvings > 0 ? halvings : 0;
}

/* y = c[0] 1 + c[1] a + c[2] a^2 + c[3] a^3, where `power` holds a, a^2, a^3, ... */
static inline void wgi_exp_combine(double *y, const double *power, const double *c, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        y[i] = c[1] * power[i] + c[2] * power[n * n + i] + c[3] * power[2 * n * n + i];
    for (int64_t i = 0; i < n; i++)
        y[i * n + i] += c[0];
}

/* The sum of a^i / i! up to the degree by Horner's rule in a^4 (Paterson and Stockmeyer): six
 * products in all.  Returns that of x and y which holds it. */
static inline double *wgi_exp_series(const wgi_exponential *e, double *x, double *y)
{
    const int64_t n = e->n;
    double c[WGI_EXP_DEGREE + 1] = {1}, *power = e->memory;
    const double *fourth = power + 3 * n * n;
    for (int i = 1; i <= WGI_EXP_DEGREE; i++)
        c[i] = c[i - 1] / i;
    for (int i = 1; i < WGI_EXP_EACH; i++)
        wgi_exp_multiply(e, power + i * n * n, power, power + (i - 1) * n * n);
    wgi_exp_combine(x, power, c + WGI_EXP_DEGREE - WGI_EXP_EACH, n);
    for (int64_t i = 0; i < n * n; i++)
        x[i] += c[WGI_EXP_DEGREE] * fourth[i];
    for (int i = WGI_EXP_DEGREE - 2 * WGI_EXP_EACH; i >= 0; i -= WGI_EXP_EACH) {
        wgi_exp_combine(y, power, c + i, n);
        e->multiply_add(e->context, y, x, fourth, n);
        double *was = x;
        x = y;
        y = was;
    }
    return x;
}

/* The exponential, in the memory. */
static inline const double *wgi_matrix_exp(const wgi_exponential *e)
{
    const int64_t n = e->n;
    double *a = e->memory, *x = a + 4 * n * n, *y = a + 5 * n * n;
    const int halvings = wgi_exp_halvings(a, n);
    for (int64_t i = 0; i < n * n; i++)
        a[i] = ldexp(a[i], -halvings);
    double *sum = wgi_exp_series(e, x, y), *other = sum == x ? y : x;
    for (int i = 0; i < halvings; i++) {
        wgi_exp_multiply(e, other, sum, sum);
        double *was = sum;
        sum = other;
        other = was;
    }
    return sum;
}

#endif
