/* Functions of each element in loops that the compiler vectorises.  Errors are at most a few units
 * in the last place of max(1, |y|). */
#include "backends/simd/kernels/ahead.h"
#include "backends/simd/kernels/angles.h"
#include "backends/simd/kernels/exp.h"
#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

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

/* ln(w) + r / w, where w + r = 1 + x and r is what the sum lost of x, since ln(w + r) = ln w + r /
 * w + ...; where x is small that is r.  -inf for -1, NaN below; 0 keeps its sign. */
static inline float log1p_of(float x)
{
    float w = 1.0f + x, rest = x - (w - 1.0f);
    float y = log_of(w) + (w > 0.0f && w < INFINITY ? rest / w : 0.0f);
    return x == 0.0f ? x : y;
}

/* 2^n (exp(r) - 1) + (2^n - 1), x = n ln 2 + r; in halves, since 2^128 overflows where the result
 * does not.  0 keeps its sign. */
static inline float expm1_of(float x)
{
    float low = x > -30.0f ? x : -30.0f, clamped = low < 89.0f ? low : 89.0f;
    float n, r, tail = simd_exp_tail(clamped, &n, &r), p = r + r * r * tail;
    float half = simd_power((int32_t)n - 1);
    float y = 2.0f * (half * p + (half - 0.5f));
    return x != x || x == 0.0f ? x : y;
}

/* a + z + z^3 p(z^2), where arctan |x| = a + arctan z for a = 0, pi / 4 or pi / 2, so that |z| <=
 * tan(pi / 8); p is that of Cephes' atanf (Moshier) */
static inline float atan_of(float x)
{
    float w = fabsf(x);
    bool large = w > 2.41421356f, middle = !large && w > 0.414213562f;
    float above = large    ? -1.0f
                  : middle ? w - 1.0f
                           : w,
          below = large    ? w
                  : middle ? w + 1.0f
                           : 1.0f;
    float z = above / below, s = z * z, p = 8.05374449538e-2f;
    p = p * s - 1.38776856032e-1f;
    p = p * s + 1.99777106478e-1f;
    p = p * s - 3.33329491539e-1f;
    float y = z + z * s * p + (large ? 1.57079633f : middle ? 0.785398163f : 0.0f);
    return copysignf(y, x);
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

/* Phi(-|x|), where Phi is the distribution function of the normal distribution, given e =
 * exp(-x^2 / 2).  With z = |x| / sqrt 2 and t = 1 / (1 + 0.3275911 z), erfc(z) = (a1 t + ... + a5
 * t^5) exp(-z^2) to 1.5e-7 (Abramowitz and Stegun 7.1.26). */
static inline float normal_tail(float x, float e)
{
    float z = fabsf(x) * 0.70710678f, t = 1.0f / (1.0f + 0.3275911f * z);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    return 0.5f * p * t * e;
}

/* exp(-x^2 / 2) */
static inline float bell_of(float x)
{
    float z = fabsf(x) * 0.70710678f;
    return simd_exp(-z * z);
}

/* x Phi(x); NaN for -inf, as everywhere: -inf times 0 */
static inline float gelu_erf_of(float x)
{
    float e = bell_of(x), tail = normal_tail(x, e);
    return x * (x < 0.0f ? tail : 1.0f - tail);
}

/* Phi(x) + x phi(x), where phi is the density */
static inline float gelu_erf_slope(float x)
{
    float e = bell_of(x), tail = normal_tail(x, e);
    return (x < 0.0f ? tail : 1.0f - tail) + (e > 0.0f ? x * (0.39894228f * e) : 0.0f);
}

/* x (1 + tanh u) / 2 with u as below; NaN for -inf */
static inline float gelu_tanh_of(float x)
{
    const float root = 0.79788456f, c = 0.044715f;
    float u = root * (x + c * x * x * x), v = simd_exp(-2.0f * fabsf(u)), w = 1.0f / (1.0f + v);
    return x * (u < 0.0f ? v * w : w);
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

enum { STRIP = 256 }; /* numbers of a loop, at most, but of those whose operands are broadcast */

#define PRAGMA(text) _Pragma(#text)
#define LOOP(name, formula)                                                                        \
    static void name(const float *a, const float *b, float *y, int64_t n)                          \
    {                                                                                              \
        (void)b;                                                                                   \
        PRAGMA(omp simd)                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = formula;                                                                        \
    }

LOOP(loop_exp, simd_exp_of_any(a[i]))
LOOP(loop_log, log_of(a[i]))
LOOP(loop_log1p, log1p_of(a[i]))
LOOP(loop_expm1, expm1_of(a[i]))
LOOP(loop_atan, atan_of(a[i]))
LOOP(loop_erf, simd_erf(a[i]))
LOOP(loop_tanh, simd_tanh(a[i]))
LOOP(loop_sigmoid, simd_sigmoid(a[i]))
LOOP(loop_softplus, softplus_of(a[i]))
LOOP(loop_silu, a[i] * simd_sigmoid(a[i]))
LOOP(loop_gelu_erf, gelu_erf_of(a[i]))
LOOP(loop_gelu_tanh, gelu_tanh_of(a[i]))
LOOP(loop_silu_grad, silu_slope(a[i]) * b[i])
LOOP(loop_gelu_erf_grad, gelu_erf_slope(a[i]) * b[i])
LOOP(loop_gelu_tanh_grad, gelu_tanh_slope(a[i]) * b[i])
LOOP(loop_neg, -a[i])
LOOP(loop_abs, fabsf(a[i]))
LOOP(loop_square, a[i] * a[i])
LOOP(loop_sqrt, sqrtf(a[i]))
LOOP(loop_reciprocal, 1.0f / a[i])
LOOP(loop_relu, a[i] <= 0.0f ? 0.0f : a[i])

LOOP(loop_relu_grad, a[i] > 0.0f ? b[i] : 0.0f)

#define WITH_PARAMETER(name, formula)                                                              \
    static void name(const float *a, const float *b, float *y, int64_t n)                          \
    {                                                                                              \
        const float parameter = *b;                                                                \
        PRAGMA(omp simd)                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = formula;                                                                        \
    }

WITH_PARAMETER(loop_leaky_relu, (a[i] <= 0.0f ? parameter : 1.0f) * a[i])
WITH_PARAMETER(loop_elu, a[i] <= 0.0f ? parameter * expm1_of(a[i]) : a[i])

/* Large angles are left to libm, which knows more digits of pi. */
#define ANGLES(name, small, any)                                                                   \
    static void name(const float *a, const float *b, float *y, int64_t n)                          \
    {                                                                                              \
        float made[STRIP];                                                                         \
        int beyond = 0;                                                                            \
        (void)b;                                                                                   \
        PRAGMA(omp simd reduction(| : beyond))                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            made[i] = small(a[i]);                                                                 \
            beyond |= !(fabsf(a[i]) <= SIMD_ANGLE_MOST);                                           \
        }                                                                                          \
        for (int64_t i = 0; beyond && i < n; i++)                                                  \
            if (!(fabsf(a[i]) <= SIMD_ANGLE_MOST))                                                 \
                made[i] = any(a[i]);                                                               \
        memcpy(y, made, (size_t)n * sizeof *y);                                                    \
    }

ANGLES(loop_sin, simd_sin, sinf)
ANGLES(loop_cos, simd_cos, cosf)

/* Both operands along the row, or one number for all of it on the right or on the left. */
#define LOOPS(name, formula)                                                                       \
    static inline float name##_of(float u, float v)                                                \
    {                                                                                              \
        return formula;                                                                            \
    }                                                                                              \
    LOOP(loop_##name, name##_of(a[i], b[i]))                                                       \
    LOOP(right_##name, name##_of(a[i], *b))                                                        \
    LOOP(left_##name, name##_of(*a, b[i]))

LOOPS(add, u + v)
LOOPS(sub, u - v)
LOOPS(mul, u *v)
LOOPS(div, u / v)
LOOPS(maximum, u < v ? v : u >= v ? u : u + v) /* u + v only where one is NaN */
LOOPS(minimum, u > v ? v : u <= v ? u : u + v)

typedef void loop(const float *a, const float *b, float *y, int64_t n);
enum { ALIKE, RIGHT, LEFT, WAYS }; /* how operands are broadcast along a row */

#define THREE(name)                                                                                \
    {                                                                                              \
        loop_##name, right_##name, left_##name                                                     \
    }
static loop *const loops[][WAYS] = {
    [SIMD_EXP] = {loop_exp},
    [SIMD_LOG] = {loop_log},
    [SIMD_LOG1P] = {loop_log1p},
    [SIMD_EXPM1] = {loop_expm1},
    [SIMD_ATAN] = {loop_atan},
    [SIMD_ERF] = {loop_erf},
    [SIMD_ELU] = {loop_elu},
    [SIMD_TANH] = {loop_tanh},
    [SIMD_SIN] = {loop_sin},
    [SIMD_COS] = {loop_cos},
    [SIMD_SIGMOID] = {loop_sigmoid},
    [SIMD_SOFTPLUS] = {loop_softplus},
    [SIMD_SILU] = {loop_silu},
    [SIMD_GELU_ERF] = {loop_gelu_erf},
    [SIMD_GELU_TANH] = {loop_gelu_tanh},
    [SIMD_SILU_GRAD] = {loop_silu_grad},
    [SIMD_GELU_ERF_GRAD] = {loop_gelu_erf_grad},
    [SIMD_GELU_TANH_GRAD] = {loop_gelu_tanh_grad},
    [SIMD_NEG] = {loop_neg},
    [SIMD_ABS] = {loop_abs},
    [SIMD_SQUARE] = {loop_square},
    [SIMD_SQRT] = {loop_sqrt},
    [SIMD_RECIPROCAL] = {loop_reciprocal},
    [SIMD_RELU] = {loop_relu},
    [SIMD_LEAKY_RELU] = {loop_leaky_relu},
    [SIMD_RELU_GRAD] = {loop_relu_grad},
    [SIMD_ADD] = THREE(add),
    [SIMD_SUB] = THREE(sub),
    [SIMD_MUL] = THREE(mul),
    [SIMD_DIV] = THREE(div),
    [SIMD_MAXIMUM] = THREE(maximum),
    [SIMD_MINIMUM] = THREE(minimum),
};

/* ---- elements -------------------------------------------------------------------------------- */

static void run_alike(const simd_elementwise *a, int64_t piece)
{
    int64_t end = (piece + 1) * WGI_PIECE < a->count ? (piece + 1) * WGI_PIECE : a->count;
    for (int64_t i = piece * WGI_PIECE; i < end; i += STRIP) {
        const float *x = a->x + i, *dy = a->dy ? a->dy + i : NULL;
        int64_t n = end - i < STRIP ? end - i : STRIP;
        simd_ask_ahead(x, n);
        simd_ask_ahead(dy, n);
        loops[a->f][ALIKE](x, dy ? dy : &a->parameter, a->y + i, n);
    }
}

static void run_broadcast(const simd_elementwise *a, int64_t task)
{
    const wgi_rows *r = a->rows;
    loop *f = loops[a->f][r->step[0] && r->step[1] ? ALIKE : r->step[0] ? RIGHT : LEFT];
    for (wgi_cursor k = wgi_cursor_at(r, task); k.left > 0; wgi_cursor_next(r, &k))
        f(a->x + k.at[0], a->dy + k.at[1], a->y + k.out, k.size);
}

static void run_task(const void *args, int64_t i)
{
    const simd_elementwise *a = args;
    if (a->rows)
        run_broadcast(a, i);
    else
        run_alike(a, i);
}

void SIMD(elementwise)(const simd_elementwise *a)
{
    int64_t n = a->rows ? a->rows->tasks : (a->count + WGI_PIECE - 1) / WGI_PIECE;
    simd_tasks(a->count < 1 << 14 ? 1 : a->threads, n, run_task, a);
}
