/* The gamma family, for f32 in f64 too.  Where the formulas here do not hold, as at poles, they
 * give NaN, and the numbers are left to backends/gamma.h one by one. */
#define _DEFAULT_SOURCE
#include "backends/gamma.h"

#include "backends/simd/kernels/functions_f64.h"
#include "backends/simd/kernels/loops.h"
#include "backends/simd/kernels/unrolled.h"

/* ---- lgamma, digamma ------------------------------------------------------------------------- */

static const double FAR = 8; /* from there on by Stirling's series */

/* Below FAR, t = x - m with |t| <= 1/2, by steps to 2: gamma(x) = gamma(2 + t) times the product of
 * x - 1, .., 2 + t or, left of 1.5, divided by that of x, .., 1 + t; and psi(x) is psi(2 + t) plus
 * or minus sum / product, the sum of the inverses of those factors.  t is exact. */
static inline double step_to_2(double x, double *product, double *sum)
{
    double v = x, p = 1, s = 0;
    SIMD_UNROLLED
    for (int k = 0; k < 6; k++) {
        double next = v - 1;
        bool above = v >= 2.5;
        s = above ? s * next + p : s;
        p = above ? p * next : p;
        v = above ? next : v;
    }
    double one = x < 0.5 ? x + 1 : 1;
    *product = x < 1.5 ? x * one : p;
    *sum = x < 0.5 ? x + one : x < 1.5 ? 1 : s;
    return x < 0.5 ? x : x < 1.5 ? x - 1 : v - 2;
}

/* ln gamma(2 + t) / t for |t| <= 1/2, by a Chebyshev interpolation, to 6e-17 of it */
static inline double lgamma_near_2(double t)
{
    double p = 0x1.2703c6effc4ebp-22;
    p = p * t - 0x1.37fd97eeee99dp-21;
    p = p * t + 0x1.f038cb2f6a913p-21;
    p = p * t - 0x1.08fccc794a9c7p-19;
    p = p * t + 0x1.2620de1c78d97p-18;
    p = p * t - 0x1.3d4ce65b1d70bp-17;
    p = p * t + 0x1.5808af19fa483p-16;
    p = p * t - 0x1.78d8f868f383fp-15;
    p = p * t + 0x1.a127cd91ac95bp-14;
    p = p * t - 0x1.d3fd6a9087d23p-13;
    p = p * t + 0x1.0b36af5972ed1p-11;
    p = p * t - 0x1.38ac5bfce42c1p-10;
    p = p * t + 0x1.7add6eadfcc7bp-9;
    p = p * t - 0x1.e404fc21d8fe7p-8;
    p = p * t + 0x1.51322ac7d8333p-6;
    p = p * t - 0x1.13e001a557555p-4;
    p = p * t + 0x1.4a34cc4a60fa6p-2;
    return p * t + 0x1.b0ee6072093cep-2;
}

/* psi(2 + t) likewise, to 4e-17 */
static inline double digamma_near_2(double t)
{
    double p = -0x1.5b1c60a73a3cep-19;
    p = p * t + 0x1.5b2d67af77973p-18;
    p = p * t - 0x1.e8752f1c0fe9cp-18;
    p = p * t + 0x1.e8b831837b412p-17;
    p = p * t - 0x1.01702cc121f15p-15;
    p = p * t + 0x1.01bd23fcab288p-14;
    p = p * t - 0x1.01504aeedce6dp-13;
    p = p * t + 0x1.02016bd7d759dp-12;
    p = p * t - 0x1.031917de57b74p-11;
    p = p * t + 0x1.04b907522a97ap-10;
    p = p * t - 0x1.073e7a30000b9p-9;
    p = p * t + 0x1.0b36aeb35e323p-8;
    p = p * t - 0x1.1196d0a8213ebp-7;
    p = p * t + 0x1.1c261303f095bp-6;
    p = p * t - 0x1.2e831d94f8198p-5;
    p = p * t + 0x1.51322ac7d6c64p-4;
    p = p * t - 0x1.9dd0027803110p-3;
    p = p * t + 0x1.4a34cc4a60fa9p-1;
    return p * t + 0x1.b0ee6072093cep-2;
}

/* For x > 0.  From FAR on (x - 1/2) ln x - x + ln(2 pi) / 2 + sum over k of B_2k / (2k (2k - 1)
 * x^(2k - 1)) (Abramowitz and Stegun 6.1.40). */
static inline double lgamma_right(double x)
{
    const bool far = x >= FAR;
    double product, sum, t = step_to_2(far ? 2 : x, &product, &sum);
    double l = simd_log(far ? x : product), near = t * lgamma_near_2(t) + (x < 1.5 ? -l : l);
    double r = 1 / x, z = r * r, p = -3617.0 / 122400;
    p = p * z + 1.0 / 156;
    p = p * z - 691.0 / 360360;
    p = p * z + 1.0 / 1188;
    p = p * z - 1.0 / 1680;
    p = p * z + 1.0 / 1260;
    p = p * z - 1.0 / 360;
    p = p * z + 1.0 / 12;
    double stirling = (x - 0.5) * (l - 1) + (p * r + 0.41893853320467274);
    return far ? stirling : near;
}

/* For x > 0.  From FAR on ln x - 1 / (2 x) - sum over k of B_2k / (2k x^2k) (6.3.18). */
static inline double digamma_right(double x)
{
    const bool far = x >= FAR;
    double product, sum, t = step_to_2(far ? 2 : x, &product, &sum);
    double r = (far ? 1 : sum) / (far ? x : product), z = r * r, p = 43867.0 / 14364;
    p = p * z - 3617.0 / 8160;
    p = p * z + 1.0 / 12;
    p = p * z - 691.0 / 32760;
    p = p * z + 1.0 / 132;
    p = p * z - 1.0 / 240;
    p = p * z + 1.0 / 252;
    p = p * z - 1.0 / 120;
    p = p * z + 1.0 / 12;
    double near = digamma_near_2(t) + (x < 1.5 ? -r : r);
    return far ? simd_log(x) - (0.5 * r + z * p) : near;
}

/* ---- left of 0 ------------------------------------------------------------------------------- */

/* sin(pi r) and cos(pi r), r = x - rint(x), whose sign is left out; r is 0 at poles. */
static inline double of_period(double x, double *sine, double *cosine)
{
    double r = x - ((x + SIMD_MAGIC) - SIMD_MAGIC), size = fabs(r);
    double near = wgi_pi * (size < 0.25 ? size : 0.5 - size); /* both are exact */
    double a = simd_sin_of_rest(near), b = simd_cos_of_rest(near);
    *sine = size < 0.25 ? a : b;
    *cosine = size < 0.25 ? b : a;
    return x > -0x1p51 ? r : 0;
}

/* ln |gamma(x)| = ln pi - ln |x sin(pi x)| - ln gamma(-x) (6.1.17), given the last; NaN also
 * where the two nearly cancel. */
static inline double lgamma_left(double x, double right)
{
    double sine, cosine, r = of_period(x, &sine, &cosine);
    double y = (1.1447298858494002 - simd_log(-x * sine)) - right;
    return r != 0 && (right < 2 || fabs(y) > 0.5 * right) ? y : (double)NAN;
}

static inline double cotangent_of_pi(double x)
{
    double sine, cosine, r = of_period(x, &sine, &cosine);
    return r != 0 ? copysign(cosine / sine, r) : (double)NAN;
}

/* psi(x) = psi(1 - x) - pi cot(pi x) (6.3.7), given psi(1 - x) */
static inline double digamma_left(double x, double right)
{
    return right - wgi_pi * cotangent_of_pi(x);
}

/* ---- polygamma ------------------------------------------------------------------------------- */

enum { BLOCK = 128 };

/* z^s for s >= 1 */
static void powers(const double *z, int s, double *to, int n)
{
    memcpy(to, z, (size_t)n * sizeof *z);
    for (; s > 1; s--) {
#pragma omp simd
        for (int i = 0; i < n; i++)
            to[i] *= z[i];
    }
}

/* wgi_polygamma_right, all numbers at once, n <= BLOCK, and with one division for each power: the
 * rest is z^(1-s) times a polynomial in 1 / z. */
static void polygamma_right(const wgi_polygamma_order *d, const double *x, double *y, int n)
{
    const int s = d->order + 1;
    const double far = 10 + d->order, whole = (d->order % 2 ? 1 : -1) * d->factorial;
    double z[BLOCK], at[BLOCK], power[BLOCK], sum[BLOCK] = {0}, c[WGI_BERNOULLI], least = far;
    for (int i = 0; i < n; i++) {
        z[i] = x[i];
        least = least < x[i] ? least : x[i];
    }
    for (int k = 0; least + k < far; k++) {
#pragma omp simd
        for (int i = 0; i < n; i++)
            at[i] = x[i] + k;
        powers(at, s, power, n);
#pragma omp simd
        for (int i = 0; i < n; i++) {
            double term = 1 / power[i], next = x[i] + (k + 1);
            sum[i] = at[i] < far ? sum[i] + term : sum[i];
            z[i] = at[i] < far ? next : z[i];
        }
    }
    double factor = s / 2.0;
    for (int k = 0; k < WGI_BERNOULLI; k++) {
        c[k] = wgi_bernoulli[k] * factor;
        factor *= (double)(s + 2 * k + 1) * (s + 2 * k + 2) / ((2 * k + 3) * (2 * k + 4));
    }
    powers(z, s - 1, power, n);
#pragma omp simd
    for (int i = 0; i < n; i++) {
        double r = 1 / z[i], square = r * r, p = c[WGI_BERNOULLI - 1];
        SIMD_UNROLLED
        for (int k = WGI_BERNOULLI - 2; k >= 0; k--)
            p = p * square + c[k];
        p = p * square + 0.5 * r + 1.0 / (s - 1);
        y[i] = whole * (sum[i] + p / power[i]);
    }
}

/* wgi_polygamma_left of numbers that are not above 0, given y = psi_n(1 - x), for n <= LEFT: an
 * error of the cotangent counts n + 1 times. */
enum { LEFT = 2 };

static void polygamma_left(const wgi_polygamma_order *d, const double *x, double *y, int n)
{
    const double scale = wgi_pi * d->scale;
    double c[BLOCK], p[BLOCK] = {0};
#pragma omp simd
    for (int i = 0; i < n; i++)
        c[i] = cotangent_of_pi(x[i]);
    for (int k = d->order + 1; k >= 0; k--) {
#pragma omp simd
        for (int i = 0; i < n; i++)
            p[i] = p[i] * c[i] + d->coefficient[k];
    }
#pragma omp simd
    for (int i = 0; i < n; i++) {
        double left = (d->order % 2 ? -y[i] : y[i]) - scale * p[i];
        y[i] = x[i] > 0 ? y[i] : left;
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* right(x) above 0, else left(x, right(mirror)), or any(x) where that is NaN */
#define PRAGMA(text) _Pragma(#text)
#define LOOP(name, right, mirror, left, any)                                                       \
    void SIMD(name)(const real *a, const real *b, const real *c, real *y, int64_t n)               \
    {                                                                                              \
        double made[SIMD_STRIP];                                                                   \
        int others = 0;                                                                            \
        (void)b, (void)c;                                                                          \
        PRAGMA(omp simd reduction(| : others))                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            double x = a[i];                                                                       \
            made[i] = right(x > 0 ? x : mirror);                                                   \
            others |= !(a[i] > 0);                                                                 \
        }                                                                                          \
        if (others) {                                                                              \
            PRAGMA(omp simd)                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                      \
                double x = a[i], other = left(x, made[i]);                                         \
                made[i] = x > 0 ? made[i] : other;                                                 \
            }                                                                                      \
            for (int64_t i = 0; i < n; i++)                                                        \
                made[i] = made[i] == made[i] ? made[i] : any((double)a[i]);                        \
        }                                                                                          \
        PRAGMA(omp simd)                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = (real)made[i];                                                                  \
    }

LOOP(loop_lgamma, lgamma_right, -x, lgamma_left, wgi_lgamma)
LOOP(loop_digamma, digamma_right, 1 - x, digamma_left, wgi_digamma)

void SIMD(loop_polygamma)(const real *a, const real *b, const real *c, real *y, int64_t n)
{
    (void)c;
    const wgi_polygamma_order d = wgi_polygamma_of_order((int)*b);
    for (int64_t from = 0; from < n; from += BLOCK) {
        const int count = (int)(n - from < BLOCK ? n - from : BLOCK);
        double x[BLOCK], mirrored[BLOCK], made[BLOCK];
        int others = 0;
        for (int i = 0; i < count; i++) {
            x[i] = (double)a[from + i];
            mirrored[i] = x[i] > 0 ? x[i] : 1 - x[i];
            others |= !(x[i] > 0);
        }
        polygamma_right(&d, mirrored, made, count);
        if (others && d.order <= LEFT)
            polygamma_left(&d, x, made, count);
        for (int i = 0; i < count; i++) {
            const bool known = x[i] > 0 || (d.order <= LEFT && made[i] == made[i]);
            y[from + i] = (real)(known ? made[i] : wgi_polygamma(&d, x[i]));
        }
    }
}
