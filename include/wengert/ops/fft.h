/* Discrete Fourier transforms.  Complex numbers are pairs of floats, real and imaginary part, along
 * a last axis of 2: the spectrum of x [B, T] is [B, T / 2 + 1, 2].  The `axis` of a builder counts
 * the axes without that of the pairs, so it is the same number before and after a transform; -1 is
 * the last one.
 *
 *     wg_value *X = wg_rfft(x, -1);                        // x [B, T] -> [B, T / 2 + 1, 2]
 *     wg_value *y = wg_irfft(wg_complex_mul(X, H), -1, T); // filtered, [B, T]
 *
 * Any size is fast, n log n; those without prime factors beyond 50 are fastest.  A transform along
 * several axes is one after the other: wg_fft(wg_rfft(x, -1), -2). */
#ifndef WG_OPS_FFT_H
#define WG_OPS_FFT_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of fft. */
typedef struct wg_fft_attrs {
    int64_t axis; /**< of x, but not its last one */
    bool inverse; /**< by e^(2 pi i jk / n), not divided by n */
} wg_fft_attrs;

/** Attributes of rfft and irfft. */
typedef struct wg_rfft_attrs {
    int64_t axis;  /**< of the real numbers */
    int64_t n;     /**< irfft: how many there are along it; rfft: 0 */
    bool weighted; /**< frequencies that stand for two, 0 < k < n / 2, count twice */
} wg_rfft_attrs;

/** Attributes of complex_mul. */
typedef struct wg_complex_mul_attrs {
    bool conjugate; /**< x y* instead of x y */
} wg_complex_mul_attrs;

/** y[k] = sum over j of x[j] e^(-2 pi i jk / n) along `axis`.  x: floats [..., n, ..., 2]; y has
 * its shape and dtype. */
WG_API wg_value *(wg_fft)(const char *at, wg_value *x, int axis);
#define wg_fft(...) wg_fft(WG_HERE, __VA_ARGS__)
/** The inverse of wg_fft: y[k] = 1/n sum over j of x[j] e^(2 pi i jk / n). */
WG_API wg_value *(wg_ifft)(const char *at, wg_value *x, int axis);
#define wg_ifft(...) wg_ifft(WG_HERE, __VA_ARGS__)
/** The same sums as wg_fft of real numbers, for k = 0, ..., n/2; the others are their conjugates.
 * x: floats [..., n, ...]; y [..., n/2 + 1, ..., 2]. */
WG_API wg_value *(wg_rfft)(const char *at, wg_value *x, int axis);
#define wg_rfft(...) wg_rfft(WG_HERE, __VA_ARGS__)
/** The inverse of wg_rfft: x [..., n/2 + 1, ..., 2] -> n real numbers along `axis`, which may be
 * odd; n of 0 stands for the even one.  The imaginary parts of k = 0 and, if n is even, k = n/2
 * count as 0. */
WG_API wg_value *(wg_irfft)(const char *at, wg_value *x, int axis, int64_t n);
#define wg_irfft(...) wg_irfft(WG_HERE, __VA_ARGS__)

/** Pairs from real and imaginary parts of equal shapes: [...] -> [..., 2]. */
WG_API wg_value *(wg_complex)(const char *at, wg_value *re, wg_value *im);
#define wg_complex(...) wg_complex(WG_HERE, __VA_ARGS__)
/** The real parts of pairs: [..., 2] -> [...]. */
WG_API wg_value *(wg_real_part)(const char *at, wg_value *x);
#define wg_real_part(...) wg_real_part(WG_HERE, __VA_ARGS__)
/** The imaginary parts of pairs: [..., 2] -> [...]. */
WG_API wg_value *(wg_imaginary_part)(const char *at, wg_value *x);
#define wg_imaginary_part(...) wg_imaginary_part(WG_HERE, __VA_ARGS__)
/** Products of pairs, (a + bi) (c + di); the other axes broadcast. */
WG_API wg_value *(wg_complex_mul)(const char *at, wg_value *x, wg_value *y);
#define wg_complex_mul(...) wg_complex_mul(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
