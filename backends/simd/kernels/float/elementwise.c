/* Functions of each element in loops that the compiler vectorises.  Errors are at most a few units
 * in the last place of max(1, |y|). */
#include "backends/simd/kernels/ahead.h"
#include "backends/simd/kernels/far_angles.h"
#include "backends/simd/kernels/functions.h"
#include "backends/simd/kernels/loops.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/unrolled.h"

#include <tgmath.h>

/* ---- functions ------------------------------------------------------------------------------- */

/* s (1 + x (1 - s)), s = 1 / (1 + exp(-x)); 1 - s is made like s, since x multiplies what a
 * subtraction would lose */
static inline real silu_slope(real x)
{
    real u = simd_exp(-fabs(x)), large = 1 / (1 + u), small = u * large;
    real s = x < 0 ? small : large, rest = x < 0 ? large : small;
    return s * (1 + x * rest);
}

/* exp(-x^2 / 2) */
static inline real bell_of(real x)
{
    real z = fabs(x) * (real)0.70710678118654752;
    return simd_exp(-z * z);
}

/* x Phi(x); NaN for -inf, as everywhere: -inf times 0 */
static inline real gelu_erf_of(real x)
{
    real e = bell_of(x), tail = simd_normal_tail(x, e);
    return x * (x < 0 ? tail : 1 - tail);
}

/* Phi(x) + x phi(x), where phi is the density */
static inline real gelu_erf_slope(real x)
{
    real e = bell_of(x), tail = simd_normal_tail(x, e);
    return (x < 0 ? tail : 1 - tail) + (e > 0 ? x * ((real)0.39894228040143268 * e) : 0);
}

/* x (1 + tanh u) / 2 with u as below; NaN for -inf */
static inline real gelu_tanh_of(real x)
{
    const real root = (real)0.79788456080286536, c = (real)0.044715;
    real u = root * (x + c * x * x * x), v = simd_exp(-2 * fabs(u)), w = 1 / (1 + v);
    return x * (u < 0 ? v * w : w);
}

/* (1 + t) / 2 + x (1 - t^2) u' / 2, t = tanh u, u = sqrt(2 / pi) (x + c x^3).  With v = exp(-2
 * |u|), which does not overflow, t = (1 - v) / (1 + v) and 1 - t^2 = 4 v / (1 + v)^2. */
static inline real gelu_tanh_slope(real x)
{
    const real root = (real)0.79788456080286536, c = (real)0.044715;
    real u = root * (x + c * x * x * x), v = simd_exp(-2 * fabs(u)), w = 1 / (1 + v);
    real du = root * (1 + 3 * c * x * x);
    real half = u < 0 ? v * w : w; /* (1 + t) / 2 */
    return half + (v > 0 ? 2 * x * v * w * w * du : 0);
}

/* x clamp(x + 3, 0, 6) / 6 */
static inline real hardswish_of(real x)
{
    real gate = x + 3;
    gate = gate < 0 ? 0 : gate > 6 ? 6 : gate;
    return gate * (real)(1.0 / 6) * x;
}

static inline real hardswish_slope(real x)
{
    real slope = (x + (real)1.5) * (real)(1.0 / 3);
    return x < -3 ? 0 : x > 3 ? 1 : slope;
}

/* ---- loops ----------------------------------------------------------------------------------- */

enum { STRIP = SIMD_STRIP };

#define PRAGMA(text) _Pragma(#text)
#define LOOP(name, formula)                                                                        \
    static void name(const real *a, const real *b, const real *c, real *y, int64_t n)              \
    {                                                                                              \
        (void)b, (void)c;                                                                          \
        PRAGMA(omp simd)                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = formula;                                                                        \
    }

LOOP(loop_exp, simd_exp_of_any(a[i]))
LOOP(loop_log, simd_log(a[i]))
LOOP(loop_log1p, simd_log1p(a[i]))
LOOP(loop_expm1, simd_expm1(a[i]))
LOOP(loop_atan, simd_atan(a[i]))
LOOP(loop_asin, simd_asin(a[i]))
LOOP(loop_acos, simd_acos(a[i]))
LOOP(loop_asinh, simd_asinh(a[i]))
LOOP(loop_acosh, simd_acosh(a[i]))
LOOP(loop_atanh, simd_atanh(a[i]))
LOOP(loop_erf, simd_erf(a[i]))
LOOP(loop_sinh, simd_sinh(a[i]))
LOOP(loop_cosh, simd_cosh(a[i]))
LOOP(loop_tanh, simd_tanh(a[i]))
LOOP(loop_sigmoid, simd_sigmoid(a[i]))
LOOP(loop_softplus, simd_softplus(a[i]))
LOOP(loop_silu, a[i] * simd_sigmoid(a[i]))
LOOP(loop_gelu_erf, gelu_erf_of(a[i]))
LOOP(loop_gelu_tanh, gelu_tanh_of(a[i]))
LOOP(loop_silu_grad, silu_slope(a[i]) * b[i])
LOOP(loop_gelu_erf_grad, gelu_erf_slope(a[i]) * b[i])
LOOP(loop_gelu_tanh_grad, gelu_tanh_slope(a[i]) * b[i])
LOOP(loop_neg, -a[i])
LOOP(loop_abs, fabs(a[i]))
LOOP(loop_square, a[i] * a[i])
LOOP(loop_sqrt, sqrt(a[i]))
LOOP(loop_rsqrt, 1 / sqrt(a[i]))
LOOP(loop_reciprocal, 1 / a[i])
LOOP(loop_sign, (real)((a[i] > 0) - (a[i] < 0)))
LOOP(loop_floor, floor(a[i]))
LOOP(loop_ceil, ceil(a[i]))
LOOP(loop_round, rint(a[i]))
LOOP(loop_relu, a[i] <= 0 ? 0 : a[i])

LOOP(loop_relu_grad, a[i] > 0 ? b[i] : 0)
LOOP(loop_hardswish, hardswish_of(a[i]))
LOOP(loop_hardswish_grad, hardswish_slope(a[i]) * b[i])

#define WITH_PARAMETER(name, formula)                                                              \
    static void name(const real *a, const real *b, const real *c, real *y, int64_t n)              \
    {                                                                                              \
        (void)c;                                                                                   \
        const real parameter = *b;                                                                 \
        PRAGMA(omp simd)                                                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = formula;                                                                        \
    }

WITH_PARAMETER(loop_leaky_relu, (a[i] <= 0 ? parameter : 1) * a[i])
WITH_PARAMETER(loop_elu, a[i] <= 0 ? parameter * simd_expm1(a[i]) : a[i])

enum { FAR_BLOCK = 2 * SIMD_LINE }; /* where large angles are looked for, if a strip has any */

static bool has_far(const real *x, int64_t n)
{
    int beyond = 0;
#pragma omp simd reduction(| : beyond)
    for (int64_t i = 0; i < n; i++)
        beyond |= !(fabs(x[i]) <= SIMD_ANGLE_MOST);
    return beyond;
}

/* `small` of all numbers, then `far` of r and q where the angle is large */
#define ANGLES(name, small, far)                                                                   \
    static void far_##name(const real *a, real *y, int64_t n)                                      \
    {                                                                                              \
        real r[FAR_BLOCK];                                                                         \
        real_bits q[FAR_BLOCK];                                                                    \
        simd_far_quarters(a, r, q, n);                                                             \
        PRAGMA(omp simd)                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            real made = far;                                                                       \
            y[i] = fabs(a[i]) <= SIMD_ANGLE_MOST ? y[i] : made;                                    \
        }                                                                                          \
    }                                                                                              \
    static void name(const real *a, const real *b, const real *c, real *y, int64_t n)              \
    {                                                                                              \
        real made[STRIP];                                                                          \
        int beyond = 0;                                                                            \
        (void)b, (void)c;                                                                          \
        PRAGMA(omp simd reduction(| : beyond))                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            made[i] = small(a[i]);                                                                 \
            beyond |= !(fabs(a[i]) <= SIMD_ANGLE_MOST);                                            \
        }                                                                                          \
        for (int64_t i = 0; beyond && i < n; i += FAR_BLOCK) {                                     \
            int64_t count = n - i < FAR_BLOCK ? n - i : FAR_BLOCK;                                 \
            if (has_far(a + i, count))                                                             \
                far_##name(a + i, made + i, count);                                                \
        }                                                                                          \
        memcpy(y, made, (size_t)n * sizeof *y);                                                    \
    }

ANGLES(loop_sin, simd_sin, simd_sin_of_quarter(r[i], q[i]))
ANGLES(loop_cos, simd_cos, simd_sin_of_quarter(r[i], q[i] + 1))
ANGLES(loop_tan, simd_tan, simd_tan_of_quarter(r[i], q[i]))

/* NaN stays. */
static void loop_clamp(const real *a, const real *b, const real *c, real *y, int64_t n)
{
    (void)c;
    const real low = b[0], high = b[1];
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] < low ? low : a[i] > high ? high : a[i];
}

static void loop_clamp_grad(const real *x, const real *dy, const real *c, real *y, int64_t n)
{
    const real low = c[0], high = c[1];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        real inside = dy[i];
        y[i] = ((x[i] >= low) & (x[i] <= high)) ? inside : 0;
    }
}

/* ---- powers of which the exponent is one number ---------------------------------------------- */

enum { MOST_WHOLE = 4 }; /* the largest whole exponent that is multiplied out */

/* x^k or, `inverse`, x^-k, 0 <= k <= MOST_WHOLE; y may be x. */
SIMD_INLINE void whole_power(const real *x, int k, bool inverse, real *y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        real base = inverse ? 1 / x[i] : x[i], square = base * base;
        y[i] = k == 0   ? 1
               : k == 1 ? base
               : k == 2 ? square
               : k == 3 ? base * square
                        : square * square;
    }
}

/* x^(1/2) or x^(-1/2): as pow has it, of -0 as of 0 and of -inf as of inf */
static void root_power(const real *x, bool inverse, real *y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        real root = sqrt(x[i] == -(real)INFINITY ? (real)INFINITY : x[i] + 0);
        y[i] = inverse ? 1 / root : root;
    }
}

/* Small whole exponents are products, with an error of up to 4 units in the last place; others are
 * left to libm. */
static void right_pow(const real *a, const real *b, const real *c, real *y, int64_t n)
{
    (void)c;
    const real exponent = *b;
    const bool is_whole = fabs(exponent) <= MOST_WHOLE && exponent == rint(exponent);
    if (fabs(exponent) == (real)0.5)
        root_power(a, exponent < 0, y, n);
    else if (is_whole && exponent >= 0)
        whole_power(a, (int)exponent, false, y, n);
    else if (is_whole)
        whole_power(a, (int)-exponent, true, y, n);
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = pow(a[i], exponent);
}

/* Both operands along the row, or one number for all of it on the right or on the left. */
#define LOOPS(name, formula)                                                                       \
    static inline real name##_of(real u, real v)                                                   \
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
LOOPS(atan2, simd_atan2(u, v))

/* ---- remainders and whole quotients ---------------------------------------------------------- */

/* floor(a / b), or a - b floor(a / b), by way of C's remainder, which has the sign of a; a / b may
 * round up to a whole number */
static inline real divided(real a, real b, bool quotient)
{
    real r = fmod(a, b);
    bool lacks = r != 0 && (r < 0) != (b < 0);
    if (!quotient)
        return r == 0 ? copysign(r, b) : lacks ? r + b : r;
    real q = rint((a - r) / b) - lacks;
    return b == 0 ? a / b : q == 0 ? copysign((real)0, a / b) : q;
}

/* The same of elements of a and b that lie `a_step` and `b_step` apart, constants where this is
 * called as is `quotient`.  A fused multiply-add rounds a - b q once, which leaves no error while q
 * is exact; where the quotient was rounded up to a whole number, r has the wrong sign, and lacks b.
 */
SIMD_INLINE void divide(const real *a, int a_step, const real *b, int b_step, real *y, int64_t n,
                        bool quotient)
{
#if defined(FP_FAST_FMA) && defined(FP_FAST_FMAF)
    const real most = sizeof(real) == sizeof(float) ? 0x1p22F : (real)0x1p51;
    for (int64_t from = 0; from < n; from += STRIP) {
        int64_t count = n - from < STRIP ? n - from : STRIP;
        const real *u = a + from * a_step, *v = b + from * b_step;
        real made[STRIP];
        int beyond = 0;
#pragma omp simd reduction(| : beyond)
        for (int64_t i = 0; i < count; i++) {
            real by = v[i * b_step], q = u[i * a_step] / by, whole = floor(q);
            real r = fma(-whole, by, u[i * a_step]);
            bool lacks = (r != 0) & ((r < 0) != (by < 0));
            real rest = r == 0 ? copysign(r, by) : lacks ? r + by : r;
            made[i] = quotient ? (lacks ? whole - 1 : whole) : rest;
            beyond |= !(fabs(q) < most) | !(fabs(by) < (real)INFINITY);
        }
        for (int64_t i = 0; beyond && i < count; i++) {
            real by = v[i * b_step], q = u[i * a_step] / by;
            if (!(fabs(q) < most) || !(fabs(by) < (real)INFINITY))
                made[i] = divided(u[i * a_step], by, quotient);
        }
        memcpy(y + from, made, (size_t)count * sizeof *y);
    }
#else
    for (int64_t i = 0; i < n; i++)
        y[i] = divided(a[i * a_step], b[i * b_step], quotient);
#endif
}

#define DIVISION(name, a_step, b_step, quotient)                                                   \
    static void name(const real *a, const real *b, const real *c, real *y, int64_t n)              \
    {                                                                                              \
        (void)c;                                                                                   \
        divide(a, a_step, b, b_step, y, n, quotient);                                              \
    }
DIVISION(loop_remainder, 1, 1, false)
DIVISION(right_remainder, 1, 0, false)
DIVISION(left_remainder, 0, 1, false)
DIVISION(loop_floor_divide, 1, 1, true)
DIVISION(right_floor_divide, 1, 0, true)
DIVISION(left_floor_divide, 0, 1, true)

/* ---- of steps alone -------------------------------------------------------------------------- */

LOOP(loop_is_equal, (real)(a[i] == b[i]))
LOOP(loop_is_not_equal, (real)(a[i] != b[i]))
LOOP(loop_is_less, (real)(a[i] < b[i]))
LOOP(loop_is_less_equal, (real)(a[i] <= b[i]))
LOOP(loop_not, 1 - a[i])

/* Both are read, so that the choice has no branch. */
static void loop_choose(const real *w, const real *a, const real *b, real *y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        real yes = a[i], no = b[i];
        y[i] = w[i] != 0 ? yes : no;
    }
}

static void loop_maximum_grad(const real *a, const real *b, const real *dy, real *y, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        real whole = dy[i], share = a[i] == b[i] ? (real)0.5 * whole : whole;
        y[i] = a[i] < b[i] ? 0 : share;
    }
}

static void loop_copy(const real *a, const real *b, const real *c, real *y, int64_t n)
{
    (void)b, (void)c;
    if (a != y)
        memcpy(y, a, (size_t)n * sizeof *y);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { ALIKE, RIGHT, LEFT, WAYS }; /* how operands are broadcast along a row */

#define THREE(name)                                                                                \
    {                                                                                              \
        loop_##name, right_##name, left_##name                                                     \
    }
static simd_loop *const loops[][WAYS] = {
    [SIMD_LGAMMA] = {SIMD(loop_lgamma)},
    [SIMD_DIGAMMA] = {SIMD(loop_digamma)},
    [SIMD_POLYGAMMA] = {SIMD(loop_polygamma)},
    [SIMD_EXP] = {loop_exp},
    [SIMD_LOG] = {loop_log},
    [SIMD_LOG1P] = {loop_log1p},
    [SIMD_EXPM1] = {loop_expm1},
    [SIMD_ATAN] = {loop_atan},
    [SIMD_ASIN] = {loop_asin},
    [SIMD_ACOS] = {loop_acos},
    [SIMD_ASINH] = {loop_asinh},
    [SIMD_ACOSH] = {loop_acosh},
    [SIMD_ATANH] = {loop_atanh},
    [SIMD_ERF] = {loop_erf},
    [SIMD_ELU] = {loop_elu},
    [SIMD_SINH] = {loop_sinh},
    [SIMD_COSH] = {loop_cosh},
    [SIMD_TANH] = {loop_tanh},
    [SIMD_SIN] = {loop_sin},
    [SIMD_COS] = {loop_cos},
    [SIMD_TAN] = {loop_tan},
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
    [SIMD_RSQRT] = {loop_rsqrt},
    [SIMD_RECIPROCAL] = {loop_reciprocal},
    [SIMD_SIGN] = {loop_sign},
    [SIMD_FLOOR] = {loop_floor},
    [SIMD_CEIL] = {loop_ceil},
    [SIMD_ROUND] = {loop_round},
    [SIMD_CLAMP] = {loop_clamp},
    [SIMD_RELU] = {loop_relu},
    [SIMD_LEAKY_RELU] = {loop_leaky_relu},
    [SIMD_RELU_GRAD] = {loop_relu_grad},
    [SIMD_CLAMP_GRAD] = {loop_clamp_grad},
    [SIMD_HARDSWISH] = {loop_hardswish},
    [SIMD_HARDSWISH_GRAD] = {loop_hardswish_grad},
    [SIMD_ADD] = THREE(add),
    [SIMD_SUB] = THREE(sub),
    [SIMD_MUL] = THREE(mul),
    [SIMD_DIV] = THREE(div),
    [SIMD_MAXIMUM] = THREE(maximum),
    [SIMD_MINIMUM] = THREE(minimum),
    [SIMD_REMAINDER] = THREE(remainder),
    [SIMD_FLOOR_DIVIDE] = THREE(floor_divide),
    [SIMD_ATAN2] = THREE(atan2),
    [SIMD_POW] = {NULL, right_pow, NULL},
    [SIMD_IS_EQUAL] = {loop_is_equal},
    [SIMD_IS_NOT_EQUAL] = {loop_is_not_equal},
    [SIMD_IS_LESS] = {loop_is_less},
    [SIMD_IS_LESS_EQUAL] = {loop_is_less_equal},
    [SIMD_NOT] = {loop_not},
    [SIMD_COPY] = {loop_copy},
    [SIMD_CHOOSE] = {loop_choose},
    [SIMD_MAXIMUM_GRAD] = {loop_maximum_grad},
};

simd_loop *SIMD(loop_of)(simd_function f, bool a_is_number, bool b_is_number)
{
    simd_loop *of_number = b_is_number   ? loops[f][RIGHT]
                           : a_is_number ? loops[f][LEFT]
                                         : loops[f][ALIKE];
    return of_number ? of_number : loops[f][loops[f][ALIKE] ? ALIKE : RIGHT];
}

/* ---- elements -------------------------------------------------------------------------------- */

static void run_alike(const simd_elementwise *a, int64_t piece)
{
    const real parameter[] = {(real)a->parameter, (real)a->upper}, *x = a->x, *dy = a->dy;
    real *y = a->y;
    int64_t end = (piece + 1) * WGI_PIECE < a->count ? (piece + 1) * WGI_PIECE : a->count;
    for (int64_t i = piece * WGI_PIECE; i < end; i += STRIP) {
        int64_t n = end - i < STRIP ? end - i : STRIP;
        if (a->count >= SIMD_FAR) {
            simd_ask_ahead(x + i, n);
            simd_ask_ahead(dy ? dy + i : NULL, n);
        }
        loops[a->f][ALIKE](x + i, dy ? dy + i : parameter, parameter, y + i, n);
    }
}

/* Short rows, of which a call for each would take longer than its arithmetic, unless that is one
 * operation: both operands are spread out, some rows of them, as if nothing were broadcast. */
enum { SHORT = 16 };

static bool has_short_rows(const simd_elementwise *a)
{
    bool single = a->f == SIMD_ADD || a->f == SIMD_SUB || a->f == SIMD_MUL || a->f == SIMD_DIV;
    return a->rows->size < SHORT && !single && loops[a->f][ALIKE];
}

static void spread(const real *x, int64_t step, int64_t n, real *to)
{
    for (int64_t i = 0; step && i < n; i++)
        to[i] = x[i];
    for (int64_t i = 0; !step && i < n; i++)
        to[i] = *x;
}

static void run_short_rows(const simd_elementwise *a, int64_t task)
{
    const wgi_rows *r = a->rows;
    const real *x = a->x, *dy = a->dy;
    real u[STRIP], v[STRIP], *y = a->y;
    int64_t n = 0, from = 0;
    for (wgi_cursor k = wgi_cursor_at(r, task); k.left > 0; wgi_cursor_next(r, &k)) {
        if (n == 0)
            from = k.out;
        spread(x + k.at[0], r->step[0], k.size, u + n);
        spread(dy + k.at[1], r->step[1], k.size, v + n);
        n += k.size;
        if (n + SHORT > STRIP) {
            loops[a->f][ALIKE](u, v, NULL, y + from, n);
            n = 0;
        }
    }
    if (n)
        loops[a->f][ALIKE](u, v, NULL, y + from, n);
}

static void run_broadcast(const simd_elementwise *a, int64_t task)
{
    const wgi_rows *r = a->rows;
    const real *x = a->x, *dy = a->dy;
    real *y = a->y;
    simd_loop *f = loops[a->f][r->step[0] && r->step[1] ? ALIKE : r->step[0] ? RIGHT : LEFT];
    for (wgi_cursor k = wgi_cursor_at(r, task); k.left > 0; wgi_cursor_next(r, &k))
        f(x + k.at[0], dy + k.at[1], NULL, y + k.out, k.size);
}

static void run_task(const void *args, int64_t i)
{
    const simd_elementwise *a = args;
    if (!a->rows)
        run_alike(a, i);
    else if (has_short_rows(a))
        run_short_rows(a, i);
    else
        run_broadcast(a, i);
}

void SIMD(elementwise)(const simd_elementwise *a)
{
    int64_t n = a->rows ? a->rows->tasks : (a->count + WGI_PIECE - 1) / WGI_PIECE;
    simd_tasks(a->count < 1 << 14 ? 1 : a->threads, n, run_task, a);
}
