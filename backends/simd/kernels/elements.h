/* What kernels are given that compute or move each element by itself. */
#ifndef WG_BACKENDS_SIMD_KERNELS_ELEMENTS_H
#define WG_BACKENDS_SIMD_KERNELS_ELEMENTS_H

#include "backends/broadcast.h"
#include "backends/mask.h"
#include "graph/random.h"

#include <stdbool.h>
#include <stdint.h>

/* y[i] = f(x[i]), or f(x[i], dy[i]) for gradients and arithmetic; y may be x or dy.  See
 * elementwise.c. */
typedef enum simd_function {
    SIMD_LGAMMA,
    SIMD_DIGAMMA,
    SIMD_POLYGAMMA,
    SIMD_EXP,
    SIMD_LOG,
    SIMD_LOG1P,
    SIMD_EXPM1,
    SIMD_ATAN,
    SIMD_ASIN,
    SIMD_ACOS,
    SIMD_ASINH,
    SIMD_ACOSH,
    SIMD_ATANH,
    SIMD_ERF,
    SIMD_ELU,
    SIMD_SINH,
    SIMD_COSH,
    SIMD_TANH,
    SIMD_SIN,
    SIMD_COS,
    SIMD_TAN,
    SIMD_SIGMOID,
    SIMD_SOFTPLUS,
    SIMD_SILU,
    SIMD_GELU_ERF,
    SIMD_GELU_TANH,
    SIMD_SILU_GRAD,
    SIMD_GELU_ERF_GRAD,
    SIMD_GELU_TANH_GRAD,
    /* exact: one rounding */
    SIMD_NEG,
    SIMD_ABS,
    SIMD_SQUARE,
    SIMD_SQRT,
    SIMD_RSQRT, /* two roundings */
    SIMD_RECIPROCAL,
    SIMD_SIGN,
    SIMD_FLOOR,
    SIMD_CEIL,
    SIMD_ROUND,
    SIMD_CLAMP,
    SIMD_RELU,
    SIMD_LEAKY_RELU,
    SIMD_RELU_GRAD,
    SIMD_CLAMP_GRAD,
    SIMD_HARDSWISH, /* several roundings, as the next */
    SIMD_HARDSWISH_GRAD,
    /* operands may be broadcast */
    SIMD_ADD,
    SIMD_SUB,
    SIMD_MUL,
    SIMD_DIV,
    SIMD_MAXIMUM,
    SIMD_MINIMUM,
    SIMD_REMAINDER,
    SIMD_FLOOR_DIVIDE,
    SIMD_ATAN2, /* not exact, nor is: */
    SIMD_POW,   /* the exponent is one number */
    /* of steps alone, where bools are 0 and 1 */
    SIMD_IS_EQUAL,
    SIMD_IS_NOT_EQUAL,
    SIMD_IS_LESS,
    SIMD_IS_LESS_EQUAL,
    SIMD_NOT,
    SIMD_COPY,
    SIMD_CHOOSE, /* of three arguments, as is: */
    SIMD_MAXIMUM_GRAD
} simd_function;

typedef struct simd_elementwise {
    const void *x, *dy; /* of the kernels' element type; dy NULL: f has one argument */
    void *y;
    int64_t count;
    simd_function f;
    int threads;
    const wgi_rows *rows; /* of operands x and dy that are broadcast; NULL: they are like y */
    double parameter; /* alpha of elu, the slope of leaky_relu, the lower bound of clamp, the order
                           * of polygamma */
    double upper;     /* bound of clamp */
} simd_elementwise;

/* Functions one after the other, strip by strip of the result: what a step reads and writes is a
 * place, which holds a strip of numbers.  The first places are those of operands, then come
 * numbers, results, and the values that only later steps read.  See float/steps.c. */
enum {
    SIMD_STEPS = 48,
    SIMD_STEP_OPERANDS = 16,
    SIMD_STEP_NUMBERS = 8,
    SIMD_STEP_RESULTS = 8,
    SIMD_STEP_VALUES = 16,
    SIMD_PLACES = SIMD_STEP_OPERANDS + SIMD_STEP_NUMBERS + SIMD_STEP_RESULTS + SIMD_STEP_VALUES
};

typedef struct simd_step {
    simd_function f;
    int in[3], n_in, out;    /* places */
    int last;                /* the last step that reads what it makes; itself: none does */
    double parameter, upper; /* as above */
} simd_step;

typedef struct simd_step_operand {
    enum { SIMD_DENSE, SIMD_ONE, SIMD_SPREAD } how; /* like the result, one element, broadcast */
    bool is_bool;
    int last;      /* the last step that reads it */
    wgi_rows rows; /* if it is spread */
} simd_step_operand;

typedef struct simd_program {
    simd_step step[SIMD_STEPS];
    simd_step_operand operand[SIMD_STEP_OPERANDS];
    double number[SIMD_STEP_NUMBERS];
    struct {
        bool is_bool;
        int step; /* that makes it */
    } result[SIMD_STEP_RESULTS];
    int n_steps, n_operands, n_numbers, n_results;
    int64_t count; /* of elements of a result */
} simd_program;

typedef struct simd_steps {
    const simd_program *program;
    const void *const *in; /* [n_operands] of the kernels' element type, or bytes: bools */
    void *const *out;      /* [n_results] likewise; may be operands that are dense */
    int threads;
} simd_steps;

/* y = x in another dtype, as graph/element.h converts; see cast.c. */
typedef struct simd_cast {
    const void *x;
    void *y;
    int64_t count;
    wg_dtype from, to; /* two different ones */
    int threads;
} simd_cast;

/* y = shift + scale u for the uniform or normal numbers u of a stream; see random.c. */
typedef struct simd_random {
    wgi_random stream;
    void *y; /* f32 or f64 */
    int64_t count;
    bool is_f64;
    double shift, scale;
    int threads;
} simd_random;

/* Numbers of the mask are drawn in groups of so many elements; a range of them needs room for two
 * groups more. */
enum { SIMD_MASK_GROUP = 128, SIMD_MASK_ROOM = 2 * SIMD_MASK_GROUP };

typedef struct simd_dropout {
    const void *x;
    void *y;
    int64_t count;
    wgi_mask mask;
    int threads;
} simd_dropout;

/* `matrices` transposes y[j, i] = x[i, j], i < rows, j < columns, of elements of 4 bytes (table
 * f32) or 8 (f64): rows of x are x_step apart, those of y y_step.  The matrices are indexed by
 * `rank` axes, the innermost first.  See float/permute.c. */
typedef struct simd_permute {
    const void *x;
    void *y;
    int64_t rows, columns, x_step, y_step;
    int64_t matrices;
    int rank;
    int64_t size[WG_MAX_RANK], x_stride[WG_MAX_RANK], y_stride[WG_MAX_RANK];
    int threads;
} simd_permute;

/* y[i] = whether a[i] and b[i] are so, each broadcast as rows says; see choose.c. */
typedef enum simd_comparison {
    SIMD_EQUAL,
    SIMD_NOT_EQUAL,
    SIMD_LESS,
    SIMD_LESS_EQUAL,
    SIMD_GREATER,
    SIMD_GREATER_EQUAL
} simd_comparison;

typedef struct simd_compare {
    const void *a, *b; /* of the kernels' element type */
    uint8_t *y;        /* 0 or 1 */
    simd_comparison how;
    const wgi_rows *rows;
    int threads;
} simd_compare;

/* y[i] = floor(a[i] / b[i]) of integers, or a[i] - b[i] floor(a[i] / b[i]), each broadcast as rows
 * says, no b 0; y may be a or b.  See divide.c. */
typedef struct simd_divide {
    const void *a, *b; /* i32 or i64 */
    void *y;
    bool is_i64, remainder;
    const wgi_rows *rows;
    int threads;
} simd_divide;

/* y[i] = condition[i] ? a[i] : b[i], elements of 4 bytes (table f32) or 8 (f64), each broadcast as
 * rows says; y may be a or b. */
typedef struct simd_where {
    const uint8_t *condition;
    const void *a, *b;
    void *y;
    const wgi_rows *rows;
    int threads;
} simd_where;

#endif
