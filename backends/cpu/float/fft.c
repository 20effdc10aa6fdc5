/* fft, rfft and irfft by their sums.  x is seen as [outer, size, inner], of pairs or of real
 * numbers; a line is one outer and inner index.  Every result of a line depends on all of it: where
 * one number is not finite, all results are NaN. */
#include "backends/cpu/kernel.h"
#include "backends/cpu/scratch.h"
#include "backends/roots.h"
#include "wengert/ops/fft.h"

/* Lines of a transform of n numbers, and their neighbours in memory. */
typedef struct lines {
    int64_t n, outer, inner;
    const double *roots; /* [n][2] */
} lines;

/* Of the operand, whose axis it is; the pairs' axis is not seen. */
static lines lines_of(const wg_call *c, int64_t axis, int64_t n, bool pairs)
{
    const wgi_axis of = wgi_axis_of(&c->node->in[0]->shape, axis);
    double *roots = c->scratch;
    for (int64_t j = 0; j < n; j++)
        wgi_root(j, n, &roots[2 * j], &roots[2 * j + 1]);
    return (lines){n, of.outer, pairs ? of.inner / 2 : of.inner, roots};
}

/* Where a line of `size` numbers begins. */
static int64_t line_at(const lines *l, int64_t line, int64_t size)
{
    return line / l->inner * size * l->inner + line % l->inner;
}

static int threads_of(const wg_call *c, const lines *l)
{
    return cpu_threads(c, l->outer * l->inner * l->n * l->n);
}

/* Frequencies that stand for their conjugates too count twice where they are weighted. */
static double weight(const wg_rfft_attrs *a, int64_t k, int64_t n)
{
    return a->weighted && k > 0 && 2 * k < n ? 2 : 1;
}

/* Whether `count` numbers of `parts` each are finite; a NaN is not equal to itself. */
static bool is_finite(const real *x, int64_t count, int64_t step, int parts)
{
    bool finite = true;
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < parts; i++)
            finite = finite && x[j * step + i] - x[j * step + i] == 0;
    return finite;
}

static void spoil(real *y, int64_t count, int64_t step, int parts)
{
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < parts; i++)
            y[j * step + i] = (real)NAN;
}

/* Whether the imaginary part of frequency k does: its root is real. */
static bool counts(int64_t k, int64_t n)
{
    return k > 0 && 2 * k != n;
}

/* y[k] = sum of x[j] e^(-+ 2 pi i jk / n) */
static void complex_line(const lines *l, bool inverse, const real *x, real *y)
{
    const int64_t n = l->n, step = 2 * l->inner;
    for (int64_t k = 0; k < n; k++) {
        wide re = 0, im = 0;
        for (int64_t j = 0, r = 0; j < n; j++, r = r + k < n ? r + k : r + k - n) {
            const double c = l->roots[2 * r], s = l->roots[2 * r + 1] * (inverse ? 1 : -1);
            re += c * x[j * step] - s * x[j * step + 1];
            im += c * x[j * step + 1] + s * x[j * step];
        }
        y[k * step] = (real)re;
        y[k * step + 1] = (real)im;
    }
}

void KERNEL(fft)(wg_call *c)
{
    const wg_fft_attrs *a = c->node->attrs;
    const wg_shape *x = &c->node->in[0]->shape;
    const lines l = lines_of(c, a->axis, x->dim[wg_normalize_axis(a->axis, x->rank)], true);
#pragma omp parallel for schedule(static) num_threads(threads_of(c, &l))
    for (int64_t i = 0; i < l.outer * l.inner; i++) {
        const int64_t at = 2 * line_at(&l, i, l.n);
        const real *from = (const real *)c->in[0] + at;
        real *y = (real *)c->out[0] + at;
        if (is_finite(from, l.n, 2 * l.inner, 2))
            complex_line(&l, a->inverse, from, y);
        else
            spoil(y, l.n, 2 * l.inner, 2);
    }
}

/* y[k] = c[k] sum of x[j] e^(-2 pi i jk / n) */
void KERNEL(rfft)(wg_call *c)
{
    const wg_rfft_attrs *a = c->node->attrs;
    const wg_shape *shape = &c->node->in[0]->shape;
    const int64_t n = shape->dim[wg_normalize_axis(a->axis, shape->rank)], half = n / 2 + 1;
    const lines l = lines_of(c, a->axis, n, false);
#pragma omp parallel for schedule(static) num_threads(threads_of(c, &l))
    for (int64_t i = 0; i < l.outer * l.inner; i++) {
        const real *x = (const real *)c->in[0] + line_at(&l, i, n);
        real *y = (real *)c->out[0] + 2 * line_at(&l, i, half);
        if (!is_finite(x, n, l.inner, 1)) {
            spoil(y, half, 2 * l.inner, 2);
            continue;
        }
        for (int64_t k = 0; k < half; k++) {
            wide re = 0, im = 0;
            for (int64_t j = 0, r = 0; j < n; j++, r = r + k < n ? r + k : r + k - n) {
                re += l.roots[2 * r] * x[j * l.inner];
                im -= l.roots[2 * r + 1] * x[j * l.inner];
            }
            y[2 * k * l.inner] = (real)(weight(a, k, n) * re);
            y[2 * k * l.inner + 1] = (real)(weight(a, k, n) * im);
        }
    }
}

/* The same of frequencies of n numbers; imaginary parts at k = 0 and k = n / 2 do not count. */
static bool is_finite_half(const real *x, int64_t n, int64_t step)
{
    const bool even = n % 2 == 0 && n > 1;
    return is_finite(x, 1, step, 1) && is_finite(x + step, (n - 1) / 2, step, 2) &&
           (!even || is_finite(x + n / 2 * step, 1, step, 1));
}

/* y[j] = Re sum of c[k] x[k] e^(2 pi i jk / n) */
void KERNEL(irfft)(wg_call *c)
{
    const wg_rfft_attrs *a = c->node->attrs;
    const int64_t n = a->n, half = n / 2 + 1;
    const lines l = lines_of(c, a->axis, n, true);
#pragma omp parallel for schedule(static) num_threads(threads_of(c, &l))
    for (int64_t i = 0; i < l.outer * l.inner; i++) {
        const real *x = (const real *)c->in[0] + 2 * line_at(&l, i, half);
        real *y = (real *)c->out[0] + line_at(&l, i, n);
        if (!is_finite_half(x, n, 2 * l.inner)) {
            spoil(y, n, l.inner, 1);
            continue;
        }
        for (int64_t j = 0; j < n; j++) {
            wide sum = 0;
            for (int64_t k = 0, r = 0; k < half; k++, r = r + j < n ? r + j : r + j - n)
                sum += weight(a, k, n) *
                       (l.roots[2 * r] * x[2 * k * l.inner] -
                        (counts(k, n) ? l.roots[2 * r + 1] * x[2 * k * l.inner + 1] : 0));
            y[j * l.inner] = (real)sum;
        }
    }
}
