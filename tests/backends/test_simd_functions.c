/* Functions of each element and derivatives of activations, of f32 and f64, against those of libm
 * in a longer type: on numbers of all sizes, and where they end. */
#include "tests/simd.h"
#include "wengert/ops/ops.h"

#include <tgmath.h>

static wide sigmoid(wide x)
{
    return 1 / (1 + exp(-x));
}

static const real PARAMETER = 0.75; /* of those that have one */

static wide function(simd_function f, wide x)
{
    const wide root = sqrt(2 / acos((wide)-1)), c = (wide)0.044715L;
    wide t = tanh(root * (x + c * x * x * x));
    switch (f) {
    case SIMD_EXP: return exp(x);
    case SIMD_LOG: return log(x);
    case SIMD_LOG1P: return log1p(x);
    case SIMD_EXPM1: return expm1(x);
    case SIMD_ATAN: return atan(x);
    case SIMD_ASIN: return asin(x);
    case SIMD_ACOS: return acos(x);
    case SIMD_ASINH: return asinh(x);
    case SIMD_ACOSH: return acosh(x);
    case SIMD_ATANH: return atanh(x);
    case SIMD_ERF: return erf(x);
    case SIMD_ELU: return x <= 0 ? (wide)PARAMETER * expm1(x) : x;
    case SIMD_SINH: return sinh(x);
    case SIMD_COSH: return cosh(x);
    case SIMD_TANH: return tanh(x);
    case SIMD_SIN: return sin(x);
    case SIMD_COS: return cos(x);
    case SIMD_TAN: return tan(x);
    case SIMD_SIGMOID: return sigmoid(x);
    case SIMD_SILU: return x * sigmoid(x);
    case SIMD_GELU_ERF: return x * erfc(-x / sqrt((wide)2)) / 2;
    case SIMD_GELU_TANH: return x * (1 + t) / 2;
    case SIMD_SOFTPLUS: return fmax(x, 0) + log1p(exp(-fabs(x)));
    case SIMD_SILU_GRAD: return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case SIMD_GELU_ERF_GRAD: return erfc(-x / sqrt((wide)2)) / 2 + x * root / 2 * exp(-x * x / 2);
    case SIMD_GELU_TANH_GRAD: return (1 + t) / 2 + x * (1 - t * t) / 2 * root * (1 + 3 * c * x * x);
    default: return (wide)NAN; /* test_simd_arithmetic.c has the others */
    }
}

/* An error of 5 units in the last place of 1 is allowed for each 1 of this. */
static wide scale_of(int f, wide x, wide truth)
{
    if (f == SIMD_ERF && fabs(x) >= 1)
        return (wide)0.06L + 1 - fabs(truth); /* little more than the rounding of numbers below 1 */
    if (f <= SIMD_TANH || f == SIMD_SOFTPLUS)
        return fabs(truth);
    return f >= SIMD_SILU_GRAD ? 1 : fmax(1, fabs(truth));
}

/* Numbers of all sizes, and many about 0 (some hardly more) or, for ln, about 1, where its relative
 * error counts. */
static real operand(int f, int i, real x)
{
    const bool f64 = sizeof(real) == sizeof(double);
    const bool grows = f == SIMD_EXP || f == SIMD_EXPM1 || f == SIMD_SINH || f == SIMD_COSH;
    const real most = (real)(f64 ? grows ? 709.7 : 640 : grows ? 88.7 : 80); /* e^most is finite */
    if (f == SIMD_ASIN || f == SIMD_ACOS || f == SIMD_ATANH) /* near -1, 0 and 1, and elsewhere */
        return i % 3 == 0   ? x
               : i % 3 == 1 ? x * (real)1e-4
                            : copysign(fmin(1 - x * x / (real)(1 << i % 20), 1 - (real)EPSILON), x);
    if (f == SIMD_ACOSH) /* from hardly more than 1 to 1e30 */
        return i % 3 == 2 ? 1 + x * x / (real)(1 << i % 20) : 1 + exp(x * (real)(35 * (i % 3)));
    if (f == SIMD_ASINH && i % 5 == 0)
        return x * exp(40 * x * x);
    real size = i % 3 == 0 ? most : i % 3 == 1 ? 6 : i % 11 ? 1 : (real)1e-30;
    if (f != SIMD_LOG && f != SIMD_LOG1P)
        return x * size;
    return i % 3 == 2 ? (f == SIMD_LOG) + (real)0.4 * x : exp(x * (real)0.8 * size);
}

static void functions_are_right(void **state)
{
    (void)state;
    enum { COUNT = 30011 };
    setting s = all_tables();
    real *x = numbers(&s, COUNT), *dy = numbers(&s, COUNT);
    wide worst = 0;
    for (int f = SIMD_EXP; f <= SIMD_GELU_TANH_GRAD; f++)
        for (int t = 0; t < s.n_tables; t++) {
            real *at = room(COUNT), *y = room(COUNT);
            bool slope = f >= SIMD_SILU_GRAD;
            for (int i = 0; i < COUNT; i++)
                at[i] = operand(f, i, x[i]);
            simd_elementwise a = {.x = at,
                                  .dy = slope ? dy : NULL,
                                  .y = y,
                                  .count = COUNT,
                                  .f = f,
                                  .threads = 2,
                                  .parameter = PARAMETER};
            floats_of(s.table[t])->elementwise(&a);
            for (int i = 0; i < COUNT; i++) {
                wide factor = slope ? (wide)dy[i] : 1, truth = factor * function(f, (wide)at[i]);
                wide most = 5 * (wide)EPSILON * scale_of(f, (wide)at[i], truth);
                wide error = fabs((wide)y[i] - truth);
                worst = most > 0 && error > worst * most ? error / most : worst;
                check_that(error <= most, "%s, function %d of %.17g: %.17g, not %.17g",
                           s.table[t]->isa, f, (double)at[i], (double)y[i], (double)truth);
            }
            a.y = at; /* in place: the same bits */
            floats_of(s.table[t])->elementwise(&a);
            assert_memory_equal(at, y, COUNT * sizeof(real));
            free_room(at, COUNT);
            free_room(y, COUNT);
        }
    print_message("functions: up to %.2g of the error that is allowed\n", (double)worst);
    free(x);
    free(dy);
}

static void functions_at_their_ends(void **state)
{
    (void)state;
    enum { ABOVE = sizeof(real) == sizeof(double) ? 710 : 89 }; /* e^ABOVE overflows */
    static const struct {
        simd_function f;
        real x, y;
    } ends[] = {
        {SIMD_LOG, 1, 0},
        {SIMD_LOG, 0, -INFINITY},
        {SIMD_LOG, INFINITY, INFINITY},
        {SIMD_LOG, -1, NAN},
        {SIMD_LOG, -INFINITY, NAN},
        {SIMD_LOG1P, INFINITY, INFINITY},
        {SIMD_LOG1P, -1, -INFINITY},
        {SIMD_LOG1P, -2, NAN},
        {SIMD_LOG1P, (real)1e-30, (real)1e-30},
        {SIMD_LOG1P, (real)-1e-20, (real)-1e-20},
        {SIMD_EXPM1, INFINITY, INFINITY},
        {SIMD_EXPM1, ABOVE, INFINITY},
        {SIMD_EXPM1, -INFINITY, -1},
        {SIMD_EXPM1, (real)-1e-30, (real)-1e-30},
        {SIMD_ATAN, INFINITY, (real)1.5707963267948966},
        {SIMD_ATAN, -INFINITY, -(real)1.5707963267948966},
        {SIMD_ATAN, (real)-1e-30, (real)-1e-30},
        {SIMD_ASIN, 1, (real)1.5707963267948966},
        {SIMD_ASIN, -1, -(real)1.5707963267948966},
        {SIMD_ASIN, (real)-1e-30, (real)-1e-30},
        {SIMD_ASIN, (real)1.0001, NAN},
        {SIMD_ASIN, -INFINITY, NAN},
        {SIMD_ACOS, 1, 0},
        {SIMD_ACOS, -1, (real)3.1415926535897932},
        {SIMD_ACOS, 0, (real)1.5707963267948966},
        {SIMD_ACOS, (real)-1.0001, NAN},
        {SIMD_ACOS, INFINITY, NAN},
        {SIMD_ASINH, INFINITY, INFINITY},
        {SIMD_ASINH, -INFINITY, -INFINITY},
        {SIMD_ASINH, (real)-1e-30, (real)-1e-30},
        {SIMD_ACOSH, INFINITY, INFINITY},
        {SIMD_ACOSH, 1, 0},
        {SIMD_ACOSH, (real)0.9999, NAN},
        {SIMD_ACOSH, -5, NAN},
        {SIMD_ACOSH, -INFINITY, NAN},
        {SIMD_ATANH, 1, INFINITY},
        {SIMD_ATANH, -1, -INFINITY},
        {SIMD_ATANH, (real)-1e-30, (real)-1e-30},
        {SIMD_ATANH, (real)1.0001, NAN},
        {SIMD_ATANH, -INFINITY, NAN},
        {SIMD_ERF, INFINITY, 1},
        {SIMD_ERF, -INFINITY, -1},
        {SIMD_ELU, INFINITY, INFINITY},
        {SIMD_ELU, -INFINITY, -0.75},
        {SIMD_SINH, ABOVE + 1, INFINITY},
        {SIMD_SINH, -INFINITY, -INFINITY},
        {SIMD_SINH, (real)-1e-30, (real)-1e-30},
        {SIMD_COSH, -INFINITY, INFINITY},
        {SIMD_COSH, 0, 1},
        {SIMD_TAN, INFINITY, NAN},
        {SIMD_TAN, (real)-1e-30, (real)-1e-30},
        {SIMD_SIN, INFINITY, NAN},
        {SIMD_SIN, (real)1e-30, (real)1e-30},
        {SIMD_SIN, 1e8, (real)0.93163902710972601},
        {SIMD_SIN, 8191.5, (real)-0.97949755205502888},
        {SIMD_COS, -INFINITY, NAN},
        {SIMD_COS, (real)1e-30, 1},
        {SIMD_COS, 12345678, (real)-0.42850133882186240},
        {SIMD_SOFTPLUS, INFINITY, INFINITY},
        {SIMD_SOFTPLUS, -INFINITY, 0},
        {SIMD_SOFTPLUS, (real)1e30, (real)1e30},
        {SIMD_EXP, ABOVE, INFINITY},
        {SIMD_EXP, -INFINITY, 0},
        {SIMD_TANH, 0, 0},
        {SIMD_TANH, INFINITY, 1},
        {SIMD_TANH, -INFINITY, -1},
        {SIMD_SIGMOID, INFINITY, 1},
        {SIMD_SIGMOID, -INFINITY, 0},
        {SIMD_SILU, (real)1e30, (real)1e30},
        {SIMD_SILU, (real)-1e30, 0},
        {SIMD_GELU_ERF, (real)1e30, (real)1e30},
        {SIMD_GELU_ERF, -INFINITY, NAN}, /* -inf times 0, as in the reference */
        {SIMD_GELU_TANH, -INFINITY, NAN},
        {SIMD_GELU_TANH, INFINITY, INFINITY},
        {SIMD_GELU_TANH, (real)-1e30, 0},
        {SIMD_SILU_GRAD, (real)1e30, 1},
        {SIMD_SILU_GRAD, (real)-1e30, 0},
        {SIMD_GELU_ERF_GRAD, (real)1e30, 1},
        {SIMD_GELU_ERF_GRAD, (real)-1e30, 0},
        {SIMD_GELU_TANH_GRAD, (real)1e30, 1},
        {SIMD_GELU_TANH_GRAD, (real)-1e30, 0},
    };
    setting s = all_tables();
    for (int t = 0; t < s.n_tables; t++) {
        real one[20], y[20], x[20];
        for (int f = SIMD_EXP; f <= SIMD_GELU_TANH_GRAD; f++) {
            for (int i = 0; i < 20; i++)
                one[i] = 1, x[i] = i == 13 ? NAN : f == SIMD_ACOSH ? 2 : 0.5f;
            floats_of(s.table[t])
                ->elementwise(&(simd_elementwise){x, f >= SIMD_SILU_GRAD ? one : NULL, y, 20, f, 1,
                                                  NULL, PARAMETER, 0});
            for (int i = 0; i < 20; i++)
                assert_int_equal(isnan(y[i]) != 0, i == 13);
        }
        for (size_t k = 0; k < WG_COUNT(ends); k++) {
            simd_function f = ends[k].f;
            for (int i = 0; i < 20; i++)
                x[i] = ends[k].x;
            floats_of(s.table[t])
                ->elementwise(&(simd_elementwise){x, f >= SIMD_SILU_GRAD ? one : NULL, y, 20, f, 1,
                                                  NULL, PARAMETER, 0});
            for (int i = 0; i < 20; i++)
                check_that(y[i] == ends[k].y || (isnan(y[i]) && isnan(ends[k].y)),
                           "%s, function %d of %g: %g, not %g", s.table[t]->isa, (int)f,
                           (double)ends[k].x, (double)y[i], (double)ends[k].y);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_right),
        cmocka_unit_test(functions_at_their_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
