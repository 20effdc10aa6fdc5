/* Arguments of Fourier transforms. */
#ifndef WG_BACKENDS_SIMD_KERNELS_FFT_H
#define WG_BACKENDS_SIMD_KERNELS_FFT_H

#include <stdbool.h>
#include <stdint.h>

enum { SIMD_FFT_FACTORS = 64 };

/* A transform of n pairs, y[k] = sum of x[j] e^(-2 pi i jk / n), and its tables of pairs in the
 * element type.  By factors, or, where one of them is large, by a convolution (Bluestein 1970),
 * which has a transform by factors:
 *
 *     y[k] = c[k] sum of (x[j] c[j]) c*[k - j],   c[j] = e^(-pi i j^2 / n) */
typedef struct simd_fft_core {
    int64_t n, length; /* length: of the transform by factors, n or of the convolution */
    int factors, factor[SIMD_FFT_FACTORS]; /* their product is length */
    const void *roots;                     /* [length] e^(-2 pi i j / length) */
    const void *chirp;                     /* [n] c; NULL: by factors alone */
    const void *filter;                    /* [length] the transform of c*, divided by length */
} simd_fft_core;

/* A transform of m pairs in two steps (Bailey 1990), where a line is long or there are few lines:
 * as a matrix [n1, n2] its columns are transformed, multiplied by twist [n1][n2] e^(-2 pi i kj /
 * m), and then its rows.  n1 = 0: not so. */
typedef struct simd_fft_split {
    int64_t n1, n2;
    simd_fft_core columns, rows;
    const void *twist;
} simd_fft_split;

typedef enum simd_fft_kind {
    SIMD_FFT_PAIRS, /* pairs to pairs */
    SIMD_FFT_TO,    /* from real numbers: rfft */
    SIMD_FFT_FROM,  /* to real numbers: irfft */
} simd_fft_kind;

/* Lines [outer, n, inner] of pairs or real numbers, and how they are transformed. */
typedef struct simd_fft {
    const void *x;
    void *y;
    simd_fft_kind kind;
    int64_t outer, n, inner;
    bool inverse, weighted; /* as of wg_fft_attrs and wg_rfft_attrs */
    /* An even number of real ones is transformed as half as many pairs; of an odd number, pairs
     * have imaginary parts of 0.  m: pairs */
    int64_t m;
    const void *halves;         /* [m + 1] e^(-2 pi i k / n), for n = 2 m; else NULL */
    simd_fft_core core;         /* of m, for several lines side by side */
    simd_fft_split split;       /* of m, or of the convolution with `chirp`, for a line at a time */
    const void *chirp, *filter; /* of the line, as in simd_fft_core; NULL: split is that of m */
    int threads;
    void *scratch; /* simd_fft_scratch bytes */
} simd_fft;

/* Pairs of one of the three buffers of a line, so that each begins with a cache line. */
static inline int64_t simd_fft_room(const simd_fft *f)
{
    const int64_t pairs = f->split.n1 * f->split.n2 + f->m + 1;
    return (pairs + 15) / 16 * 16;
}

/* Pairs, of `line` lanes, of one of a thread's two buffers. */
static inline int64_t simd_fft_pairs(const simd_fft *f)
{
    const simd_fft_split *s = &f->split;
    if (s->n1 > 0)
        return s->n1 > s->n2 ? s->n1 : s->n2;
    return (f->core.length > f->m ? f->core.length : f->m) + 1;
}

/* Numbers of the scratch, of the element type whose cache line has `line` of them. */
static inline int64_t simd_fft_scratch(const simd_fft *f, int64_t line)
{
    return f->threads * 2 * 2 * line * simd_fft_pairs(f) +
           (f->split.n1 > 0 ? 3 * 2 * simd_fft_room(f) : 0);
}

#endif
