/* sin, cos and tan of large angles, of f32 and f64, against those of libm in a longer type. */
#include "tests/simd.h"

#include <tgmath.h>

enum { COUNT = 4000, FUNCTIONS = 3 };
static const simd_function functions[FUNCTIONS] = {SIMD_SIN, SIMD_COS, SIMD_TAN};

static wide function(simd_function f, wide x)
{
    return f == SIMD_SIN ? sin(x) : f == SIMD_COS ? cos(x) : tan(x);
}

static void run(const simd_table *table, simd_function f, const real *x, real *y, int64_t n)
{
    simd_elementwise a = {.x = x, .y = y, .count = n, .f = f, .threads = 1};
    floats_of(table)->elementwise(&a);
}

/* The largest error in units of the last place, of 1 or, beyond the angles that have few digits of
 * pi, of the result. */
static wide worst_of(setting *s, const real *x, int64_t n)
{
    const real few = sizeof(real) == sizeof(float) ? 8192 : 1 << 20;
    wide worst = 0;
    for (int t = 0; t < s->n_tables; t++)
        for (int k = 0; k < FUNCTIONS; k++) {
            real *y = room(n);
            run(s->table[t], functions[k], x, y, n);
            for (int64_t i = 0; i < n; i++) {
                wide truth = function(functions[k], (wide)x[i]), size = fabs(truth);
                size = fabs(x[i]) <= few ? fmax(1, size) : size;
                wide error = fabs((wide)y[i] - truth) / (size * (wide)EPSILON);
                worst = error > worst ? error : worst;
                check_that(error <= 4, "%s, function %d of %.17g: %.17g, not %.17g",
                           s->table[t]->isa, (int)functions[k], (double)x[i], (double)y[i],
                           (double)truth);
            }
            free_room(y, n);
        }
    return worst;
}

static void angles_of_all_sizes(void **state)
{
    (void)state;
    setting s = all_tables();
    real *x = numbers(&s, COUNT);
    real *at = malloc(COUNT * sizeof *at);
    assert_non_null(at);
    const int most = sizeof(real) == sizeof(float) ? 38 : 307;
    wide worst = 0;
    for (int power = 3; power <= most; power += power < 20 ? 1 : 9) {
        for (int i = 0; i < COUNT; i++)
            at[i] = x[i] * (real)pow((wide)10, power);
        wide found = worst_of(&s, at, COUNT);
        worst = found > worst ? found : worst;
    }
    print_message("all sizes: up to %.3g units\n", (double)worst);
    free(x);
    free(at);
}

/* What comes closest to multiples of pi / 2 by the continued fraction of each power of 2: three of
 * each kind of angle, the larger ones of which are last, and their doubles. */
static const real closest[] = {
#ifdef SIMD_F64
    0x1.9eb7148f354d6p+20,  0x1.b951f1572eba5p+23,  0x1.065c829d68730p+39,  0x1.504cac51f1eafp+131,
    0x1.4c96c11134d36p+577, 0x1.6ac5b262ca1ffp+849, 0x1.e009c53148be1p+991,
#else
    0x1.9a48dep+15f, 0x1.4ac55cp+21f, 0x1.4665d2p+25f, 0x1.27a94ap+29f,
    0x1.47d0fep+34f, 0x1.32ede2p+85f, 0x1.f37c8ap+95f,
#endif
};

static void angles_near_multiples(void **state)
{
    (void)state;
    setting s = all_tables();
    const wide quarter = acos((wide)-1) / 2;
    real x[COUNT];
    int n = 0;
    for (size_t k = 0; k < WG_COUNT(closest); k++)
        for (int j = 0; j < 8; j++)
            x[n++] = (j % 2 ? -1 : 1) * closest[k] * (real)(1 << j / 2);
    const int few = sizeof(real) == sizeof(float) ? 13 : 20, range = few + 22;
    for (; n < COUNT; n++) /* multiples, rounded */
        x[n] = (real)(quarter * (wide)(draw(&s, 1 << 20) + 1) * exp2((wide)(n % range)));
    print_message("near multiples: up to %.3g units\n", (double)worst_of(&s, x, n));
}

/* Where the ways of reduction begin and end */
static void angles_at_bounds(void **state)
{
    (void)state;
    setting s = all_tables();
    const real bound[] = {8192, 0x1p20F, 0x1p31F, 0x1p40F, 0x1p52F, 0x1p53F};
    real x[1000];
    int n = 0;
    for (size_t k = 0; k < WG_COUNT(bound); k++) {
        real above = bound[k], below = bound[k];
        for (int j = 0; j < 20; j++) {
            x[n++] = above = nextafter(above, (real)INFINITY);
            x[n++] = -(below = nextafter(below, (real)0));
        }
        x[n++] = bound[k];
        x[n++] = -bound[k];
    }
    worst_of(&s, x, n);
}

/* The bits of a result do not depend on the numbers beside it. */
static void neighbours_change_nothing(void **state)
{
    (void)state;
    enum { MANY = 1200 };
    setting s = all_tables();
    real x[MANY];
    for (int i = 0; i < MANY; i++) {
        const int kind = (int)draw(&s, i < 600 ? 100 : 10), power = (int)draw(&s, 36);
        real size = kind < 6 ? (real)pow((wide)10, power) : 100;
        x[i] = size * (real)((double)draw(&s, 1 << 24) * 0x1p-23 - 1);
    }
    static const real odd[] = {NAN, INFINITY, -INFINITY, 0, (real)-0.0, (real)1e-30};
    for (int i = 0; i < 60; i++)
        x[draw(&s, MANY)] = odd[i % 6];
    for (int t = 0; t < s.n_tables; t++)
        for (int k = 0; k < FUNCTIONS; k++) {
            const simd_function f = functions[k];
            real y[MANY], other[MANY];
            run(s.table[t], f, x, y, MANY);
            for (int i = 0; i < MANY; i++) {
                real alone[1];
                run(s.table[t], f, x + i, alone, 1);
                bool nan = !(fabs(x[i]) < (real)INFINITY);
                assert_int_equal(isnan(y[i]) != 0, nan);
                assert_true(nan || memcmp(alone, y + i, sizeof *alone) == 0);
                assert_true(x[i] != 0 || f == SIMD_COS || signbit(y[i]) == signbit(x[i]));
            }
            for (int64_t from = 0; from < 70; from++) {
                run(s.table[t], f, x + from, other, MANY - from);
                for (int64_t i = from; i < MANY; i++)
                    assert_true(isnan(y[i]) || memcmp(&other[i - from], y + i, sizeof *y) == 0);
            }
            memcpy(other, x, sizeof x); /* in place */
            run(s.table[t], f, other, other, MANY);
            for (int i = 0; i < MANY; i++)
                assert_true(isnan(y[i]) || memcmp(other + i, y + i, sizeof *y) == 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angles_of_all_sizes),
        cmocka_unit_test(angles_near_multiples),
        cmocka_unit_test(angles_at_bounds),
        cmocka_unit_test(neighbours_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
