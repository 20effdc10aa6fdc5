/* Functions of each element that oneDNN lacks or has only inaccurate, in loops that the compiler
 * vectorises: ln, softplus and the derivatives of silu and gelu.  Errors are at most a few units in
 * the last place of max(1, |y|). */
#include "backends/simd/kernels/kernels.h"

#include <math.h>

#define X(name, args) void SIMD(name)(const args *);
SIMD_KERNELS(X)
#undef X

/* ---- functions ------------------------------------------------------------------------------- */

/* ln(x) = e ln 2 + ln(m), x = 2^e m, m in [1/sqrt 2, sqrt 2), ln 2 in two parts.  With f = m - 1,
 * which is exact, ln(m) = f - f^2 / 2 + f^3 p(f), where p is that of Cephes' logf (Moshier): so
 * ln(1) is 0.  -inf for 0, NaN below. */
static inline float log_of(float x)
{
    const uint32_t lowest = 0x3f3504f3; /* the bits of 1 / sqrt 2 */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t shifted = bits - lowest, mantissa = bits - (shifted & 0xff800000u);
    float m, e = (float)((int32_t)shifted >> 23);
    memcpy(&m, &mantissa, sizeof m);
    float f = m - 1.0f, z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    float y = f * z * p - 2.12194440e-4f * e - 0.5f * z;
    y = f + y + 0.693359375f * e;
    float other = x == 0.0f ? -INFINITY : x < 0.0f ? NAN : x; /* x is infinite or NaN */
    return x > 0.0f && x < INFINITY ? y : other;
}

/* max(x, 0) + ln(1 + u), u = exp(-|x|); what 1 + u lost of u is added, since ln(w + r) = ln w + r /
 * w + ... */
static inline float softplus_of(float x)
{
    float u = simd_exp(-fabsf(x)), w = 1.0f + u, rest = u - (w - 1.0f);
    return (x > 0.0f ? x : 0.0f) + (log_of(w) + rest / w);
}

/* s (1 + x (1 - s)), s = 1 / (1 + exp(-x)); 1 - s is made like s, since x multiplies what a
 * subtraction would lose */
static inline float silu_slope(float x)
{
    float u = simd_exp(-fabsf(x)), large = 1.0f / (1.0f + u), small = u * large;
    float s = x < 0.0f ? small : large, rest = x < 0.0f ? large : small;
    return s * (1.0f + x * rest);
}

/* Phi(x) + x phi(x), where phi and Phi are density and distribution of the normal distribution.
 * With z = |x| / sqrt 2 and t = 1 / (1 + 0.3275911 z), erfc(z) = (a1 t + ... + a5 t^5) exp(-z^2) to
 * 1.5e-7 (Abramowitz and Stegun 7.1.26). */
static inline float gelu_erf_slope(float x)
{
    float z = fabsf(x) * 0.70710678f, t = 1.0f / (1.0f + 0.3275911f * z), e = simd_exp(-z * z);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    float tail = 0.5f * p * t * e; /* Phi(-|x|) */
    return (x < 0.0f ? tail : 1.0f - tail) + (e > 0.0f ? x * (0.39894228f * e) : 0.0f);
}

/* (1 + t) / 2 + x (1 - t^2) u' / 2, t = tanh u, u = sqrt(2 / pi) (x + c x^3).  With v = exp(-2
 * |u|), which does not overflow, t = (1 - v) / (1 + v) and 1 - t^2 = 4 v / (1 + v)^2. */
static inline float gelu_tanh_slope(float x)
{
    const float root = 0.79788456f, c = 0.044715f;
    float u = root * (x + c * x * x * x), v = simd_exp(-2.0f * fabsf(u)), w = 1.0f / (1.0f + v);
    float du = root * (1.0f + 3.0f * c * x * x);
    float half = u < 0.0f ? v * w : w; /* (1 + t) / 2 */
    return half + (v > 0.0f ? 2.0f * x * v * w * w * du : 0.0f);
}

/* ---- loops ----------------------------------------------------------------------------------- */

#define PRAGMA(text) _Pragma(#text)
#define LOOP(name, formula)                                                                        \
    static void name(const float *a, const float *b, float *y, int64_t n)                          \
    {                                                                                              \
        (void)b;                                                                                   \
        PRAGMA(omp simd)                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = formula;                                                                        \
    }

LOOP(map_log, log_of(a[i]))
LOOP(map_softplus, softplus_of(a[i]))
LOOP(map_silu_grad, silu_slope(a[i]) * b[i])
LOOP(map_gelu_erf_grad, gelu_erf_slope(a[i]) * b[i])
LOOP(map_gelu_tanh_grad, gelu_tanh_slope(a[i]) * b[i])

static void (*const loops[])(const float *a, const float *b, float *y, int64_t n) = {
    [SIMD_LOG] = map_log,
    [SIMD_SOFTPLUS] = map_softplus,
    [SIMD_SILU_GRAD] = map_silu_grad,
    [SIMD_GELU_ERF_GRAD] = map_gelu_erf_grad,
    [SIMD_GELU_TANH_GRAD] = map_gelu_tanh_grad,
};

void SIMD(map)(const simd_map *a)
{
    enum { PIECE = 4096 };
    int threads = a->count < 1 << 14 ? 1 : a->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->count; i += PIECE)
        loops[a->f](a->x + i, a->dy ? a->dy + i : NULL, a->y + i,
                    a->count - i < PIECE ? a->count - i : PIECE);
}
