/* The passes of Fourier transforms (fft.h): of LINES lines side by side, in [n][2][LINES] numbers,
 * real parts before imaginary ones.  Each pass has one factor r of n (Stockham's order, in which
 * nothing is permuted):
 *
 *     y[r p + j] = e^(-2 pi i p j / n) sum over k < r of x[p + k n / r] e^(-2 pi i jk / r),
 *
 * for p < n / r, then the same of n / r numbers that are r times as wide.  An inverse transform is
 * one whose real and imaginary parts change places, before and after. */
#ifndef WG_BACKENDS_SIMD_KERNELS_FFT_PASSES_H
#define WG_BACKENDS_SIMD_KERNELS_FFT_PASSES_H

#include "backends/simd/kernels/fft.h"
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/unrolled.h"
#include "backends/simd/kernels/vector.h"

#include <string.h>

enum { LINES = SIMD_LINE, PAIR = 2 * LINES, MOST_RADIX = 48 };

/* Which half of a pair is the real part, in numbers from its beginning. */
typedef struct parts {
    int64_t re, im;
} parts;

static parts parts_of(bool inverse)
{
    return inverse ? (parts){LINES, 0} : (parts){0, LINES};
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* One pass: n numbers that are `wide` pairs each. */
typedef struct pass {
    const real *roots; /* of the whole transform, of n times wide */
    int64_t n, wide;
    parts part;
} pass;

static const real *root(const pass *s, int64_t j)
{
    return s->roots + 2 * j * s->wide;
}

/* y = x w for LINES numbers; y may be x */
SIMD_INLINE void turn(real *yr, real *yi, const real *xr, const real *xi, const real *w, bool turns)
{
    const real c = turns ? w[0] : 1, d = turns ? w[1] : 0;
#pragma omp simd
    for (int l = 0; l < LINES; l++) {
        const real r = xr[l], i = xi[l];
        yr[l] = turns ? r * c - i * d : r;
        yi[l] = turns ? r * d + i * c : i;
    }
}

SIMD_INLINE void two(const pass *s, int64_t p, const real *x, real *y, bool turns)
{
    const int64_t w = s->wide * PAIR, far = s->n / 2 * w;
    const int64_t re = s->part.re, im = s->part.im;
    const real c = turns ? root(s, p)[0] : 1, d = turns ? root(s, p)[1] : 0;
    x += p * w;
    y += 2 * p * w;
    for (int64_t q = 0; q < w; q += PAIR) {
        const real *ar = x + q + re, *ai = x + q + im, *br = ar + far, *bi = ai + far;
        real *yr = y + q + re, *yi = y + q + im;
#pragma omp simd
        for (int l = 0; l < LINES; l++) {
            const real ur = ar[l] - br[l], ui = ai[l] - bi[l];
            yr[l] = ar[l] + br[l];
            yi[l] = ai[l] + bi[l];
            yr[l + w] = turns ? ur * c - ui * d : ur;
            yi[l + w] = turns ? ur * d + ui * c : ui;
        }
    }
}

SIMD_INLINE void four(const pass *s, int64_t p, const real *x, real *y, bool turns)
{
    const int64_t w = s->wide * PAIR, far = s->n / 4 * w;
    const int64_t re = s->part.re, im = s->part.im;
    const real *w1 = root(s, p), *w2 = root(s, 2 * p), *w3 = root(s, 3 * p);
    const real c1 = w1[0], d1 = w1[1], c2 = w2[0], d2 = w2[1], c3 = w3[0], d3 = w3[1];
    x += p * w;
    y += 4 * p * w;
    for (int64_t q = 0; q < w; q += PAIR) {
        const real *xr = x + q + re, *xi = x + q + im;
        real *yr = y + q + re, *yi = y + q + im;
#pragma omp simd
        for (int l = 0; l < LINES; l++) {
            const real ar = xr[l], br = xr[l + far], cr = xr[l + 2 * far], dr = xr[l + 3 * far];
            const real ai = xi[l], bi = xi[l + far], ci = xi[l + 2 * far], di = xi[l + 3 * far];
            const real sr = ar + cr, si = ai + ci, tr = ar - cr, ti = ai - ci;
            const real ur = br + dr, ui = bi + di, vr = br - dr, vi = bi - di;
            yr[l] = sr + ur;
            yi[l] = si + ui;
            const real r1 = tr + vi, i1 = ti - vr, r2 = sr - ur, i2 = si - ui, r3 = tr - vi,
                       i3 = ti + vr;
            yr[l + w] = turns ? r1 * c1 - i1 * d1 : r1;
            yi[l + w] = turns ? r1 * d1 + i1 * c1 : i1;
            yr[l + 2 * w] = turns ? r2 * c2 - i2 * d2 : r2;
            yi[l + 2 * w] = turns ? r2 * d2 + i2 * c2 : i2;
            yr[l + 3 * w] = turns ? r3 * c3 - i3 * d3 : r3;
            yi[l + 3 * w] = turns ? r3 * d3 + i3 * c3 : i3;
        }
    }
}

/* z = (re + i im) w; w is read only if it turns */
SIMD_INLINE void put_turned(real *zr, real *zi, const vector *re, const vector *im, const real *w,
                            bool turns)
{
    if (turns) {
        *(vector *)zr = *re * w[0] - *im * w[1];
        *(vector *)zi = *re * w[1] + *im * w[0];
    } else {
        *(vector *)zr = *re;
        *(vector *)zi = *im;
    }
}

/* An odd radix r, which is a constant where it is small, of a vector of lines that begins at x and
 * y.  Of a[k] and a[r - k], with the sums b[k] and the differences d[k], k <= r / 2, y[j] and
 * y[r - j] are
 *
 *     a[0] + sum of cos(2 pi jk / r) b[k]  -+  i sum of sin(2 pi jk / r) d[k] */
SIMD_INLINE void odd_vector(const pass *s, int64_t p, const real *x, real *y, int r, bool turns)
{
    const int64_t w = s->wide * PAIR, far = s->n / r * w, step = s->n / r;
    const real *xr = x + s->part.re, *xi = x + s->part.im;
    real *yr = y + s->part.re, *yi = y + s->part.im;
    vector br[MOST_RADIX / 2], bi[MOST_RADIX / 2], dr[MOST_RADIX / 2], di[MOST_RADIX / 2];
    const vector ar = *(const vector *)xr, ai = *(const vector *)xi;
    vector all_re = ar, all_im = ai;
    for (int k = 1; k <= r / 2; k++) {
        const int64_t up = k * far, down = (r - k) * far;
        const vector ur = *(const vector *)(xr + up), vr = *(const vector *)(xr + down);
        const vector ui = *(const vector *)(xi + up), vi = *(const vector *)(xi + down);
        br[k - 1] = ur + vr;
        bi[k - 1] = ui + vi;
        dr[k - 1] = ur - vr;
        di[k - 1] = ui - vi;
        all_re += br[k - 1];
        all_im += bi[k - 1];
    }
    put_turned(yr, yi, &all_re, &all_im, NULL, false);
    for (int j = 1; j <= r / 2; j++) {
        vector er = ar, ei = ai, fr = {0}, fi = {0};
        for (int k = 1; k <= r / 2; k++) {
            const real *e = root(s, j * k % r * step);
            er += br[k - 1] * e[0];
            ei += bi[k - 1] * e[0];
            fr += dr[k - 1] * e[1];
            fi += di[k - 1] * e[1];
        }
        const vector up[2] = {er - fi, ei + fr}, down[2] = {er + fi, ei - fr};
        put_turned(yr + j * w, yi + j * w, &up[0], &up[1], root(s, p * j), turns);
        put_turned(yr + (r - j) * w, yi + (r - j) * w, &down[0], &down[1], root(s, p * (r - j)),
                   turns);
    }
}

SIMD_INLINE void odd(const pass *s, int64_t p, const real *x, real *y, int r, bool turns)
{
    const int64_t w = s->wide * PAIR;
    for (int64_t q = 0; q < w; q += PAIR)
        for (int64_t l = 0; l < LINES; l += LANES)
            odd_vector(s, p, x + p * w + q + l, y + r * p * w + q + l, r, turns);
}

/* All p of a pass; radix is a constant where it is small. */
SIMD_INLINE void butterfly(const pass *s, int64_t p, const real *x, real *y, int radix, bool turns)
{
    if (radix == 2)
        two(s, p, x, y, turns);
    else if (radix == 4)
        four(s, p, x, y, turns);
    else
        odd(s, p, x, y, radix, turns);
}

SIMD_INLINE void butterflies(const pass *s, const real *x, real *y, int radix)
{
    butterfly(s, 0, x, y, radix, false);
    for (int64_t p = 1; p < s->n / radix; p++)
        butterfly(s, p, x, y, radix, true);
}

static void one_pass(const pass *s, const real *x, real *y, int radix)
{
    switch (radix) {
    case 2: butterflies(s, x, y, 2); break;
    case 3: butterflies(s, x, y, 3); break;
    case 4: butterflies(s, x, y, 4); break;
    case 5: butterflies(s, x, y, 5); break;
    default: butterflies(s, x, y, radix); break;
    }
}

/* x becomes its transform by factors, in x or in y; returns in which. */
static real *by_factors(const simd_fft_core *f, real *x, real *y, parts part)
{
    pass s = {f->roots, f->length, 1, part};
    for (int i = 0; i < f->factors; i++) {
        one_pass(&s, x, y, f->factor[i]);
        s.n /= f->factor[i];
        s.wide *= f->factor[i];
        real *made = y;
        y = x;
        x = made;
    }
    return x;
}

/* x[j] *= w[j], pairs */
static void multiply(real *x, const real *w, int64_t n, parts part)
{
    for (int64_t j = 0; j < n; j++, x += PAIR, w += 2) {
        real *xr = x + part.re, *xi = x + part.im;
        turn(xr, xi, (const real *)xr, (const real *)xi, w, true);
    }
}

static real *transform(const simd_fft_core *f, real *x, real *y, parts part)
{
    const parts back = {part.im, part.re};
    if (!f->chirp)
        return by_factors(f, x, y, part);
    multiply(x, f->chirp, f->n, part);
    memset(x + f->n * PAIR, 0, (size_t)(f->length - f->n) * PAIR * sizeof *x);
    real *made = by_factors(f, x, y, part);
    multiply(made, f->filter, f->length, part);
    made = by_factors(f, made, made == x ? y : x, back);
    multiply(made, f->chirp, f->n, part);
    return made;
}

#endif
