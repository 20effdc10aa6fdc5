/* Functions of single numbers in f64, for loops that the compiler vectorises: those of exp.h,
 * angles.h and functions_f32.h under the same names.  Errors are at most a few units in the last
 * place of max(1, |y|).  Polynomials are Taylor's where these are short enough; other coefficients
 * are those of a Chebyshev interpolation, to less than 1e-16 of the function. */
#ifndef WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_F64_H
#define WG_BACKENDS_SIMD_KERNELS_FUNCTIONS_F64_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const double SIMD_MAGIC = 0x1.8p52; /* adding it rounds to an integer */

static inline double simd_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t simd_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- exp ------------------------------------------------------------------------------------- */

/* x = n ln 2 + r with |r| <= ln 2 / 2; returns (exp(r) - 1 - r) / r^2 by the Taylor polynomial of
 * degree 13 of exp (error below 1e-17). */
static inline double simd_exp_tail(double x, double *n, double *r)
{
    *n = (x * 1.4426950408889634 + SIMD_MAGIC) - SIMD_MAGIC;
    *r = x - *n * 6.93147180369123816490e-01 - *n * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * *r + 1.0 / 479001600.0;
    p = p * *r + 1.0 / 39916800.0;
    p = p * *r + 1.0 / 3628800.0;
    p = p * *r + 1.0 / 362880.0;
    p = p * *r + 1.0 / 40320.0;
    p = p * *r + 1.0 / 5040.0;
    p = p * *r + 1.0 / 720.0;
    p = p * *r + 1.0 / 120.0;
    p = p * *r + 1.0 / 24.0;
    p = p * *r + 1.0 / 6.0;
    return p * *r + 0.5;
}

/* 2^n for a whole n in [-1022, 1023], by the exponent's bits; 1024 gives infinity */
static inline double simd_power(double n)
{
    return simd_double(simd_bits(n + (SIMD_MAGIC + 1023.0)) << 52);
}

/* exp(x) to 1 ulp for x in [-708.39, 709], as after a maximum was subtracted; 0 below, +inf above,
 * NaN for NaN.  Branch-free. */
static inline double simd_exp(double x)
{
    double low = x > -708.39 ? x : -708.39, clamped = low < 709.78 ? low : 709.78;
    double n, r, p = simd_exp_tail(clamped, &n, &r);
    double y = (1.0 + (r + r * r * p)) * simd_power(n);
    y = x < -708.39 ? 0.0 : y;
    return x != x ? x : y;
}

/* exp(x) to 1 ulp for any x: 2^n in halves, since 2^1024 overflows where the result does not. */
static inline double simd_exp_of_any(double x)
{
    double low = x > -746.0 ? x : -746.0, clamped = low < 710.0 ? low : 710.0;
    double n, r, p = simd_exp_tail(clamped, &n, &r);
    double half = (n * 0.5 + SIMD_MAGIC) - SIMD_MAGIC;
    double y = (1.0 + (r + r * r * p)) * simd_power(half) * simd_power(n - half);
    return x != x ? x : y;
}

/* 2^n (exp(r) - 1) + (2^n - 1), x = n ln 2 + r; in halves, as above.  0 keeps its sign. */
static inline double simd_expm1(double x)
{
    double low = x > -60.0 ? x : -60.0, clamped = low < 710.0 ? low : 710.0;
    double n, r, tail = simd_exp_tail(clamped, &n, &r), p = r + r * r * tail;
    double half = simd_power(n - 1.0), y = 2.0 * (half * p + (half - 0.5));
    return x != x || x == 0.0 ? x : y;
}

/* ---- logarithm ------------------------------------------------------------------------------- */

/* ln(x) = e ln 2 + ln(m), x = 2^e m, m in [1/sqrt 2, sqrt 2), ln 2 in two parts.  With f = m - 1,
 * which is exact, and s = f / (2 + f), ln(m) = 2 atanh(s) = f - (f^2 / 2 - s (f^2 / 2 + R)), where
 * R = 2 (s^2 / 3 + s^4 / 5 + ...): so ln(1) is 0 and little is lost near it.  -inf for 0, NaN
 * below. */
static inline double simd_log(double x)
{
    const uint64_t one = 0x3ff0000000000000, lowest = 0x3fe6a09e667f3bcd; /* 1, 1 / sqrt 2 */
    bool subnormal = x < 0x1p-1022;
    uint64_t bits = simd_bits(subnormal ? x * 0x1p54 : x),
             shifted = bits + (one - lowest); /* the exponent is e + 1023 */
    double e = simd_double(0x4330000000000000 | shifted >> 52) - (0x1p52 + 1023.0);
    e -= subnormal ? 54.0 : 0.0;
    double f = simd_double(bits - (shifted & 0xfff0000000000000) + one) - 1.0;
    double s = f / (2.0 + f), z = s * s, square = 0.5 * f * f;
    double p = 2.0 / 23.0;
    p = p * z + 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    double rest = s * (square + z * p) + e * 1.90821492927058770002e-10;
    double y = e * 6.93147180369123816490e-01 - ((square - rest) - f);
    double other = x == 0.0 ? -(double)INFINITY : x < 0.0 ? (double)NAN : x;
    return x > 0.0 && x < (double)INFINITY ? y : other;
}

/* ln(1 + u) for 0 <= u <= 1; what w = 1 + u lost of u is added: ln(w + r) = ln w + r / w + ... */
static inline double simd_log1p_to_1(double u)
{
    double w = 1.0 + u, rest = u - (w - 1.0);
    return simd_log(w) + rest / w;
}

/* ---- angles ---------------------------------------------------------------------------------- */

static const double SIMD_ANGLE_MOST = 1 << 20; /* of simd_quarter */
static const double SIMD_FAR_MOST = 0x1p40;    /* of simd_far_quarter */

/* x = q pi/2 + r with |r| <= pi/4; for NaN and beyond SIMD_ANGLE_MOST, those of 0.  pi/2 is taken
 * in three parts, the first two of 32 bits, so that their products with q are exact. */
static inline double simd_quarter(double x, int64_t *q)
{
    double angle = fabs(x) <= SIMD_ANGLE_MOST ? x : 0.0;
    double shifted = angle * 0.63661977236758134 + SIMD_MAGIC, n = shifted - SIMD_MAGIC;
    *q = (int64_t)simd_bits(shifted);
    return ((angle - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
}

/* The same up to SIMD_FAR_MOST.  q is the sum of a multiple of 2^20 and a rest, pi/2 that of three
 * parts of 33 bits and a fourth: the products of the first three are exact, and so are differences
 * but the one that `lost` is of, and the last two.  The error is below 2^-53 r + 2^-115. */
static inline double simd_far_quarter(double x, int64_t *q)
{
    const double first = 0x1.921fb544p+0, second = 0x1.0b4611a6p-34, third = 0x1.3198a2ep-69;
    double angle = fabs(x) <= SIMD_FAR_MOST ? x : 0.0;
    double shifted = angle * 0.63661977236758134 + SIMD_MAGIC, n = shifted - SIMD_MAGIC;
    double high = (n + 0x1.8p72) - 0x1.8p72, low = n - high;
    double above = ((angle - high * first) - low * first) - high * second, b = low * second;
    double r = above - b, lost = (above - r) - b;
    double c = high * third, d = low * third, tail = c + d, rest = (c - tail) + d;
    *q = (int64_t)(simd_bits(shifted) & 3);
    return (r - tail) - (rest + n * 0x1.b839a252049c1p-104 - lost);
}

/* By Taylor: errors below 1e-18 */
static inline double simd_sin_of_rest(double r)
{
    double z = r * r, p = 1.0 / 355687428096000.0;
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return r + r * z * p;
}

static inline double simd_cos_of_rest(double r)
{
    double z = r * r, p = -1.0 / 6402373705728000.0;
    p = p * z + 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    double half = 0.5 * z, w = 1.0 - half;
    return w + (((1.0 - w) - half) + z * z * p);
}

/* sin(r + q pi/2) */
static inline double simd_sin_of_quarter(double r, int64_t q)
{
    double y = q & 1 ? simd_cos_of_rest(r) : simd_sin_of_rest(r);
    return q & 2 ? -y : y;
}

/* 0 keeps its sign */
static inline double simd_sin(double x)
{
    int64_t q;
    double r = simd_quarter(x, &q), y = simd_sin_of_quarter(r, q);
    return x == 0.0 ? x : y;
}

static inline double simd_cos(double x)
{
    int64_t q;
    double r = simd_quarter(x, &q);
    return simd_sin_of_quarter(r, q + 1);
}

/* sin / cos of r + q pi/2 */
static inline double simd_tan_of_quarter(double r, int64_t q)
{
    double sine = simd_sin_of_rest(r), cosine = simd_cos_of_rest(r);
    return q & 1 ? -cosine / sine : sine / cosine;
}

/* 0 keeps its sign */
static inline double simd_tan(double x)
{
    int64_t q;
    double r = simd_quarter(x, &q), y = simd_tan_of_quarter(r, q);
    return x == 0.0 ? x : y;
}

/* a + z + z^3 p(z^2), where arctan |x| = a + arctan z for a = 0, pi / 4 or pi / 2, so that |z| <=
 * tan(pi / 8) */
static inline double simd_atan(double x)
{
    double w = fabs(x);
    bool large = w > 2.414213562373095, middle = !large && w > 0.4142135623730951;
    double above = large ? -1.0 : middle ? w - 1.0 : w;
    double below = large ? w : middle ? w + 1.0 : 1.0;
    double z = above / below, s = z * z, p = -0x1.c81291cfc455fp-7;
    p = p * s + 0x1.f5ef74d05428dp-6;
    p = p * s - 0x1.503c4469943acp-5;
    p = p * s + 0x1.829ce3237ab26p-5;
    p = p * s - 0x1.aebd1fa559894p-5;
    p = p * s + 0x1.e1d8e9bffe59dp-5;
    p = p * s - 0x1.1110cee80b516p-4;
    p = p * s + 0x1.3b13aea9e84b6p-4;
    p = p * s - 0x1.745d173565149p-4;
    p = p * s + 0x1.c71c71c6ddbfcp-4;
    p = p * s - 0x1.24924924920adp-3;
    p = p * s + 0x1.9999999999997p-3;
    p = p * s - 0x1.5555555555555p-2;
    double y = z + z * s * p + (large ? 1.5707963267948966 : middle ? 0.7853981633974483 : 0.0);
    return copysign(y, x);
}

/* arcsin s = s + s^3 p(s^2) / q(s^2), where s = w up to 1/2, *above it sqrt((1 - w) / 2): see
 * simd_asin; p and q are those of fdlibm's asin.  NaN if w > 1 */
static inline double simd_arc(double w, bool *above)
{
    *above = w > 0.5;
    double z = *above ? 0.5 * (1.0 - w) : w * w, s = *above ? sqrt(z) : w;
    double p = 3.47933107596021167570e-05, q = 7.70381505559019352791e-02;
    p = p * z + 7.91534994289814532176e-04;
    p = p * z - 4.00555345006794114027e-02;
    p = p * z + 2.01212532134862925881e-01;
    p = p * z - 3.25565818622400915405e-01;
    p = p * z + 1.66666666666666657415e-01;
    q = q * z - 6.88283971605453293030e-01;
    q = q * z + 2.02094576023350569471e+00;
    q = q * z - 2.40339491173441421878e+00;
    q = q * z + 1.0;
    return s + s * z * p / q;
}

/* ---- sigmoids -------------------------------------------------------------------------------- */

/* -t / (t + 2) with t = exp(-2 |x|) - 1 */
static inline double simd_tanh(double x)
{
    double t = simd_expm1(-2.0 * fabs(x)), y = copysign(-t / (t + 2.0), x);
    return x != x ? x : y;
}

/* erf(z) / z for 0 <= z <= 1, given z^2 */
static inline double simd_erf_near_0(double s)
{
    double p = -0x1.29b9f1b3df556p-38;
    p = p * s + 0x1.7f072188e194dp-34;
    p = p * s - 0x1.4e607b41a6416p-30;
    p = p * s + 0x1.fc4356498c2d9p-27;
    p = p * s - 0x1.5f6d925a0bc7ap-23;
    p = p * s + 0x1.b9e6509b9867dp-20;
    p = p * s - 0x1.f4d2561aeafd4p-17;
    p = p * s + 0x1.f9a326c233146p-14;
    p = p * s - 0x1.c02db3feeb579p-11;
    p = p * s + 0x1.565bcd0e6502dp-8;
    p = p * s - 0x1.b82ce312889bap-6;
    p = p * s + 0x1.ce2f21a042bdep-4;
    p = p * s - 0x1.812746b0379e7p-2;
    return p * s + 0x1.20dd750429b6dp+0;
}

/* (1 - erf(z)) exp(z^2) for 1 <= z <= 27: t p(u) with t = 1 / (z + 2), and u from -1 to 1 */
static inline double simd_erfc_far(double z)
{
    double t = 1.0 / (z + 2.0), u = t * (87.0 / 13.0) - 16.0 / 13.0;
    double p = -0x1.749fceb32519dp-35;
    p = p * u + 0x1.f7fd81a940b79p-34;
    p = p * u + 0x1.52d62110b7124p-32;
    p = p * u - 0x1.be3f75ba39164p-30;
    p = p * u + 0x1.df7610ddb46e1p-34;
    p = p * u + 0x1.ce8283ac3b098p-27;
    p = p * u - 0x1.8c6dac81ffafcp-26;
    p = p * u - 0x1.6af093db14e61p-24;
    p = p * u + 0x1.691a249d1980cp-22;
    p = p * u + 0x1.c0e2bf342a588p-22;
    p = p * u - 0x1.0ab817501364ap-18;
    p = p * u - 0x1.b798acea007a6p-20;
    p = p * u + 0x1.9d8fe535f82a6p-15;
    p = p * u + 0x1.5cf25c02c5e17p-16;
    p = p * u - 0x1.7d76364e81407p-11;
    p = p * u - 0x1.5de007c7e7daep-10;
    p = p * u + 0x1.77c7de26ec91ap-7;
    p = p * u + 0x1.637ef06e5f0cdp-4;
    p = p * u + 0x1.4fac65110113bp-2;
    return t * (p * u + 0x1.b7a547a711fb3p-1);
}

/* From 6 on erf is 1. */
static inline double simd_erf(double x)
{
    double w = fabs(x), z = w < 6.0 ? w : 6.0, s = z * z;
    double near = z * simd_erf_near_0(s < 1.0 ? s : 1.0);
    double far = 1.0 - simd_exp(-s) * simd_erfc_far(z < 1.0 ? 1.0 : z);
    double y = copysign(z < 1.0 ? near : far, x);
    return x != x ? x : y;
}

/* Phi(-|x|), where Phi is the distribution function of the normal distribution, given e =
 * exp(-x^2 / 2), which is 0 from |x| = 37.64 on */
static inline double simd_normal_tail(double x, double e)
{
    double w = fabs(x) * 0.70710678118654752, z = w < 27.0 ? w : 27.0, s = z < 1.0 ? z * z : 1.0;
    double near = 1.0 - z * simd_erf_near_0(s), far = e * simd_erfc_far(z < 1.0 ? 1.0 : z);
    return 0.5 * (z < 1.0 ? near : far);
}

#endif
