/* The gamma family, of f32 and f64, against the definitions in long double. */
#include "tests/simd.h"

#include <tgmath.h>

enum { COUNT = 20011, TERMS = 60, BERNOULLI = 7, MOST_ORDER = 30 };
typedef long double longer;

/* ---- what is expected ------------------------------------------------------------------------ */

static longer inverse_power(longer x, int s)
{
    longer power = 1;
    for (; s > 0; s--)
        power /= x;
    return power;
}

/* psi_n(x), n > 0, x > 0: terms of the series up to TERMS, then Euler and Maclaurin's sum */
static longer polygamma_right(int n, longer x)
{
    static const longer b[BERNOULLI] = {1.0L / 6,  -1.0L / 30,     1.0L / 42, -1.0L / 30,
                                        5.0L / 66, -691.0L / 2730, 7.0L / 6};
    const int s = n + 1;
    longer sum = 0, z = x, factorial = 1;
    for (; z < TERMS; z++)
        sum += inverse_power(z, s);
    longer power = inverse_power(z, n), term = power * s / (2 * z * z);
    sum += power / n + power / (2 * z);
    for (int k = 1; k <= BERNOULLI; k++) {
        sum += b[k - 1] * term;
        term *= (longer)(s + 2 * k - 1) * (s + 2 * k) / ((2 * k + 1) * (2 * k + 2) * z * z);
    }
    for (int k = 2; k <= n; k++)
        factorial *= k;
    return (n % 2 ? 1 : -1) * factorial * sum;
}

static longer digamma_right(longer x)
{
    longer sum = 0, z = x;
    for (; z < TERMS; z++)
        sum += 1 / z;
    longer w = 1 / (z * z);
    return log(z) - 1 / (2 * z) -
           w * (1.0L / 12 - w * (1.0L / 120 - w * (1.0L / 252 - w * (1.0L / 240 - w / 132)))) - sum;
}

/* cot(pi x) and its slopes -pi / sin^2 and 2 pi^2 cot / sin^2 */
static longer slope_of_cotangent(int n, longer x)
{
    const longer pi = acosl(-1.0L);
    longer r = pi * (x - rint(x)), sine = sin(r);
    longer cotangent = fabs(r) < pi / 4 ? cos(r) / sine : tan(copysign(pi / 2, r) - r);
    return n == 0   ? cotangent
           : n == 1 ? -pi / (sine * sine)
                    : 2 * pi * pi * cotangent / (sine * sine);
}

/* Of any sign up to order 2 */
static longer polygamma(int n, longer x)
{
    if (x > 0)
        return n == 0 ? digamma_right(x) : polygamma_right(n, x);
    longer mirrored = n == 0 ? digamma_right(1 - x) : polygamma_right(n, 1 - x);
    return (n % 2 ? -mirrored : mirrored) - acosl(-1.0L) * slope_of_cotangent(n, x);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Numbers of all sizes, next to 0, between the poles, and next to the zeros of functions */
static real operand(int i, real x)
{
    static const real zeros[] = {1, 2, (real)1.4616321449683623, 8, (real)1.5, (real)2.5, 10};
    switch (i % 8) {
    case 0: return fabs(x) * 4;
    case 1: return fabs(x) * 30;
    case 2: return fabs(x) * (real)1e5;
    case 3: return fabs(x) * (real)(i % 16 == 3 ? 1e-20 : 1e-3) + (real)1e-25;
    case 4: return zeros[i / 8 % 7] + x * (real)1e-3;
    case 5: return -fabs(x) * 4;
    case 6: return -fabs(x) * 60;
    default: return fabs(x) * 12;
    }
}

/* Where a function crosses 0, digits of what is subtracted are lost: of 1, or of psi(1 - x). */
static longer size_of(simd_function f, int order, longer x, longer truth)
{
    longer size = fabs(truth);
    if (f != SIMD_POLYGAMMA || (order == 2 && x < 0))
        size = fmaxl(1, size);
    return f == SIMD_DIGAMMA && x < 0 ? fmaxl(size, digamma_right(1 - x)) : size;
}

/* Up to 5 units of the last place, or one and a half for each power of a high order */
static void check(setting *s, simd_function f, int order, const real *x, const longer *truth,
                  int64_t n)
{
    const longer units = order > 2 ? fmaxl(5, (order + 1) * 1.5L) : 5;
    longer worst = 0;
    for (int t = 0; t < s->n_tables; t++) {
        real *at = room(n), *y = room(n);
        memcpy(at, x, (size_t)n * sizeof *x);
        simd_elementwise a = {
            .x = at, .y = y, .count = n, .f = f, .threads = 2, .parameter = order};
        floats_of(s->table[t])->elementwise(&a);
        for (int64_t i = 0; i < n; i++) {
            longer unit = (longer)EPSILON * size_of(f, order, x[i], truth[i]);
            longer error = fabs((longer)y[i] - truth[i]) / unit;
            bool same = (real)truth[i] == y[i]; /* infinite, too */
            worst = !same && error > worst ? error : worst;
            check_that(same || error <= units,
                       "%s, function %d, order %d of %.17g: %.17g, not %.17Lg", s->table[t]->isa,
                       (int)f, order, (double)x[i], (double)y[i], truth[i]);
        }
        a.y = at; /* in place: the same bits */
        floats_of(s->table[t])->elementwise(&a);
        assert_memory_equal(at, y, (size_t)n * sizeof *y);
        free_room(at, n);
        free_room(y, n);
    }
    print_message("function %d, order %d: up to %.2Lf units\n", (int)f, order, worst);
}

static void gamma_functions_are_right(void **state)
{
    (void)state;
    setting s = all_tables();
    real *x = numbers(&s, COUNT);
    longer *truth = malloc(COUNT * sizeof *truth);
    assert_non_null(truth);
    for (int i = 0; i < COUNT; i++) {
        x[i] = operand(i, x[i]);
        truth[i] = lgammal(x[i]);
    }
    check(&s, SIMD_LGAMMA, 0, x, truth, COUNT);
    for (int order = 0; order <= 2; order++) {
        for (int i = 0; i < COUNT; i++)
            truth[i] = polygamma(order, x[i]);
        check(&s, order ? SIMD_POLYGAMMA : SIMD_DIGAMMA, order, x, truth, COUNT);
    }
    free(x);
    free(truth);
}

static void high_orders_are_right(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    setting s = all_tables();
    real *x = numbers(&s, MANY);
    longer truth[MANY];
    for (int i = 0; i < MANY; i++)
        x[i] = fabs(x[i]) * (i % 2 ? 3 : 60) + (real)1e-3;
    for (int order = 3; order <= MOST_ORDER; order += 9) {
        for (int i = 0; i < MANY; i++)
            truth[i] = polygamma_right(order, x[i]);
        check(&s, SIMD_POLYGAMMA, order, x, truth, MANY);
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gamma_functions_are_right),
        cmocka_unit_test(high_orders_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
