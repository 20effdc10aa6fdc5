/* What the kernels that factorise do with rows of numbers, in `wide`. */
#ifndef WG_BACKENDS_CPU_VECTORS_H
#define WG_BACKENDS_CPU_VECTORS_H

#include "backends/cpu/kernel.h"

static inline wide cpu_dot(const wide *x, const wide *y, int64_t n)
{
    wide sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* x += factor y */
static inline void cpu_add_scaled(wide *restrict x, wide factor, const wide *restrict y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        x[i] += factor * y[i];
}

/* A rotation by an angle of at most 45 degrees */
typedef struct cpu_rotation {
    wide cosine, sine, tangent;
} cpu_rotation;

/* That which makes 0 of `off` in the symmetric matrix [[first, off], [off, second]], whose diagonal
 * becomes first - tangent off and second + tangent off (Golub and Van Loan, section 8.5.2). */
static inline cpu_rotation cpu_rotation_of(wide first, wide off, wide second)
{
    wide x = (second - first) / (2 * off), size = x < 0 ? -x : x;
    wide t = 1 / (size + hypot(x, (wide)1)), cosine = 1 / sqrt(t * t + 1);
    t = x < 0 ? -t : t;
    return (cpu_rotation){cosine, cosine * t, t};
}

/* (x, y) = (cosine x - sine y, sine x + cosine y) */
static inline void cpu_rotate(wide *restrict x, wide *restrict y, cpu_rotation r, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        wide was = x[i];
        x[i] = r.cosine * was - r.sine * y[i];
        y[i] = r.sine * was + r.cosine * y[i];
    }
}

static inline void cpu_swap(wide *restrict x, wide *restrict y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        wide was = x[i];
        x[i] = y[i];
        y[i] = was;
    }
}

/* The power of two by which numbers up to `largest` in magnitude become less than 2, and the
 * largest at least 1, so that squares neither overflow nor vanish; 1 of zeros. */
static inline wide cpu_unit(wide largest)
{
    int exponent = 1;
    if (largest > 0)
        (void)frexp(largest, &exponent);
    return ldexp((wide)1, exponent - 1);
}

/* That of the elements of a */
static inline wide cpu_unit_of(const real *a, int64_t count)
{
    real largest = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fabs(a[i]) > largest ? fabs(a[i]) : largest;
    return cpu_unit((wide)largest);
}

#endif
