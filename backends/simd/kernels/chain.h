/* Functions of one rounding, one after the other: what only the next reads stays in registers. */
#ifndef WG_BACKENDS_SIMD_KERNELS_CHAIN_H
#define WG_BACKENDS_SIMD_KERNELS_CHAIN_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/unrolled.h"
#include "backends/simd/kernels/vector.h"

/* A step takes three registers for each vector.  With 16 registers blocks would be so short that
 * choosing the function takes as long as what is spared. */
#if defined(__AVX512F__)
enum { CHAIN_PAYS = 1 };
#else
enum { CHAIN_PAYS = 0 };
#endif
enum { CHAIN_VECTORS = 8, CHAIN_BLOCK = CHAIN_VECTORS * LANES };

/* y = f(in[0], in[1], in[2]); an operand that is NULL is what the link before has made. */
typedef struct chain_link {
    simd_function f;
    const real *in[3];
    real *y; /* NULL: only the next link reads it */
    real parameter, upper;
} chain_link;

/* The functions as float/elementwise.c has them. */
static inline vector chain_sign(vector a)
{
    const vector zero = {0};
    return simd_pick(a > zero, simd_all(1), simd_pick(a < zero, simd_all(-1), zero));
}

static inline vector chain_clamp(vector a, vector low, vector high)
{
    return simd_pick(a < low, low, simd_pick(a > high, high, a));
}

static inline vector chain_maximum(vector a, vector b)
{
    return simd_pick(a < b, b, simd_pick(a >= b, a, a + b));
}

static inline vector chain_minimum(vector a, vector b)
{
    return simd_pick(a > b, b, simd_pick(a <= b, a, a + b));
}

static inline vector chain_clamp_grad(vector x, vector dy, vector low, vector high)
{
    return simd_pick(x >= low, simd_pick(x <= high, dy, (vector){0}), (vector){0});
}

static inline vector chain_hardswish(vector x)
{
    vector gate = chain_clamp(x + simd_all(3), (vector){0}, simd_all(6));
    return gate * simd_all((real)(1.0 / 6)) * x;
}

static inline vector chain_hardswish_grad(vector x, vector dy)
{
    const vector zero = {0}, three = simd_all(3), third = simd_all((real)(1.0 / 3));
    vector slope = (x + simd_all((real)1.5)) * third;
    return simd_pick(x < -three, zero, simd_pick(x > three, simd_all(1), slope)) * dy;
}

static inline vector chain_maximum_grad(vector a, vector b, vector dy)
{
    return simd_pick(a < b, (vector){0}, simd_pick(a == b, simd_all((real)0.5) * dy, dy));
}

static inline vector chain_abs(vector a)
{
    return (vector)((bits)a & ~(bits)(-(vector){0}));
}

/* Vector j of an operand. */
SIMD_INLINE vector chain_operand(const real *x, int64_t at, int j, const vector *before)
{
    return x ? *(const vector *)(x + at + j * LANES) : before[j];
}

SIMD_INLINE void chain_load(const real *x, int64_t at, const vector *before, vector *to)
{
    SIMD_UNROLLED
    for (int j = 0; j < CHAIN_VECTORS; j++)
        to[j] = chain_operand(x, at, j, before);
}

/* What a chain may have, with vector j of operands a, b, c. */
#define CHAIN_FUNCTIONS(X)                                                                         \
    X(SIMD_COPY, a[j])                                                                             \
    X(SIMD_NEG, -a[j])                                                                             \
    X(SIMD_ABS, chain_abs(a[j]))                                                                   \
    X(SIMD_SQUARE, a[j] * a[j])                                                                    \
    X(SIMD_RECIPROCAL, 1 / a[j])                                                                   \
    X(SIMD_SIGN, chain_sign(a[j]))                                                                 \
    X(SIMD_CLAMP, chain_clamp(a[j], parameter, simd_all(k->upper)))                                \
    X(SIMD_RELU, simd_pick(a[j] <= zero, zero, a[j]))                                              \
    X(SIMD_LEAKY_RELU, simd_pick(a[j] <= zero, parameter, one) * a[j])                             \
    X(SIMD_RELU_GRAD, simd_pick(a[j] > zero, b[j], zero))                                          \
    X(SIMD_CLAMP_GRAD, chain_clamp_grad(a[j], b[j], parameter, simd_all(k->upper)))                \
    X(SIMD_HARDSWISH, chain_hardswish(a[j]))                                                       \
    X(SIMD_HARDSWISH_GRAD, chain_hardswish_grad(a[j], b[j]))                                       \
    X(SIMD_ADD, a[j] + b[j])                                                                       \
    X(SIMD_SUB, a[j] - b[j])                                                                       \
    X(SIMD_MUL, a[j] * b[j])                                                                       \
    X(SIMD_DIV, a[j] / b[j])                                                                       \
    X(SIMD_MAXIMUM, chain_maximum(a[j], b[j]))                                                     \
    X(SIMD_MINIMUM, chain_minimum(a[j], b[j]))                                                     \
    X(SIMD_IS_EQUAL, simd_pick(a[j] == b[j], one, zero))                                           \
    X(SIMD_IS_NOT_EQUAL, simd_pick(a[j] != b[j], one, zero))                                       \
    X(SIMD_IS_LESS, simd_pick(a[j] < b[j], one, zero))                                             \
    X(SIMD_IS_LESS_EQUAL, simd_pick(a[j] <= b[j], one, zero))                                      \
    X(SIMD_NOT, one - a[j])                                                                        \
    X(SIMD_CHOOSE, simd_pick(a[j] != zero, b[j], chain_operand(k->in[2], at, j, y)))               \
    X(SIMD_MAXIMUM_GRAD, chain_maximum_grad(a[j], b[j], chain_operand(k->in[2], at, j, y)))

static inline bool chain_has(simd_function f)
{
#define CHAIN_HAS(function, formula) case function:
    switch ((int)f) {
        CHAIN_FUNCTIONS(CHAIN_HAS)
        return CHAIN_PAYS;
    default: return false;
    }
#undef CHAIN_HAS
}

/* y, which before is what the link before has made */
SIMD_INLINE void chain_step(const chain_link *k, int64_t at, vector *y)
{
    const vector zero = {0}, one = simd_all(1), parameter = simd_all(k->parameter);
    vector a[CHAIN_VECTORS], b[CHAIN_VECTORS];
    chain_load(k->in[0], at, y, a);
    chain_load(k->in[1], at, y, b);
#define CHAIN_CASE(function, formula)                                                              \
    case function:                                                                                 \
        SIMD_UNROLLED                                                                              \
        for (int j = 0; j < CHAIN_VECTORS; j++)                                                    \
            y[j] = formula;                                                                        \
        break;
    switch ((int)k->f) {
        CHAIN_FUNCTIONS(CHAIN_CASE)
    }
#undef CHAIN_CASE
}

/* n elements, a multiple of CHAIN_BLOCK */
static inline void chain_run(const chain_link *first, const chain_link *end, int64_t n)
{
    for (int64_t at = 0; at < n; at += CHAIN_BLOCK) {
        vector y[CHAIN_VECTORS] = {{0}};
        for (const chain_link *k = first; k < end; k++) {
            chain_step(k, at, y);
            if (k->y) {
                SIMD_UNROLLED
                for (int j = 0; j < CHAIN_VECTORS; j++)
                    *(vector *)(k->y + at + j * LANES) = y[j];
            }
        }
    }
}

#endif
