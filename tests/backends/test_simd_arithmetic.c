/* The arithmetic of the simd backend is exact: each instruction set gives the bits that plain C
 * gives, for special numbers and broadcast operands as well. */
#include "tests/simd.h"
#include "wengert/ops/ops.h"

#include <tgmath.h>

static const real SLOPE = 0.3F, UPPER = 2; /* and bounds of clamp */

static real arithmetic(simd_function f, real u, real v)
{
    switch (f) {
    case SIMD_NEG: return -u;
    case SIMD_ABS: return fabs(u);
    case SIMD_SQUARE: return u * u;
    case SIMD_SQRT: return sqrt(u);
    case SIMD_RSQRT: return 1 / sqrt(u);
    case SIMD_RECIPROCAL: return 1 / u;
    case SIMD_SIGN: return (real)((u > 0) - (u < 0));
    case SIMD_FLOOR: return floor(u);
    case SIMD_CEIL: return ceil(u);
    case SIMD_ROUND: return rint(u);
    case SIMD_CLAMP: return u < SLOPE ? SLOPE : u > UPPER ? UPPER : u;
    case SIMD_RELU: return isnan(u) ? u : u > 0 ? u : 0;
    case SIMD_LEAKY_RELU: return u <= 0 ? SLOPE * u : u;
    case SIMD_RELU_GRAD: return u > 0 ? v : 0;
    case SIMD_CLAMP_GRAD: return u >= SLOPE && u <= UPPER ? v : 0;
    case SIMD_HARDSWISH: {
        real gate = u + 3 < 0 ? 0 : u + 3 > 6 ? 6 : u + 3;
        return gate * (real)(1.0 / 6) * u;
    }
    case SIMD_HARDSWISH_GRAD: {
        real slope = (u + (real)1.5) * (real)(1.0 / 3);
        return (u < -3 ? 0 : u > 3 ? 1 : slope) * v;
    }
    case SIMD_ADD: return u + v;
    case SIMD_SUB: return u - v;
    case SIMD_MUL: return u * v;
    case SIMD_DIV: return u / v;
    case SIMD_MAXIMUM: return isnan(u) || isnan(v) ? NAN : u < v ? v : u;
    case SIMD_MINIMUM: return isnan(u) || isnan(v) ? NAN : u > v ? v : u;
    case SIMD_REMAINDER: {
        real r = fmod(u, v); /* has the sign of u */
        return r == 0 ? copysign(r, v) : (r < 0) != (v < 0) ? r + v : r;
    }
    case SIMD_FLOOR_DIVIDE: {
        real r = fmod(u, v), q = rint((u - r) / v) - (r != 0 && (r < 0) != (v < 0));
        return v == 0 ? u / v : q == 0 ? copysign((real)0, u / v) : q;
    }
    default: fail_msg("function %d is not arithmetic", (int)f); return 0;
    }
}

static bool same(real x, real y)
{
    return isnan(x) ? isnan(y) : memcmp(&x, &y, sizeof x) == 0 || (x == 0 && y == 0);
}

/* The zeros of remainders and whole quotients have a sign. */
static bool is_right(simd_function f, real x, real u, real v)
{
    real y = arithmetic(f, u, v);
    return same(x, y) && (f < SIMD_REMAINDER || y != 0 || signbit(x) == signbit(y));
}

static const real specials[] = {0.0f,  -0.0f,  1.0f,     -1.0f,     1e-38f, -1e-45f,
                                3e38f, -3e38f, INFINITY, -INFINITY, NAN};

/* Numbers of all sizes with special ones among them. */
static real *mixed(setting *s, int64_t n)
{
    real *x = numbers(s, n);
    for (int64_t i = 0; i < n; i++) {
        int kind = (int)(s->seed >> 40) & 7;
        s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = kind == 0  ? specials[(s->seed >> 33) % WG_COUNT(specials)]
               : kind < 3 ? x[i] * 1e4f
                          : x[i];
    }
    return x;
}

static bool has_two(simd_function f)
{
    return f == SIMD_RELU_GRAD || f == SIMD_CLAMP_GRAD || f == SIMD_HARDSWISH_GRAD || f >= SIMD_ADD;
}

static void arithmetic_is_exact(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, 15, 16, 17, 1000, 4095, 4097, MAX - 1};
    setting s = all_tables();
    real *x = mixed(&s, MAX), *v = mixed(&s, MAX);
    int64_t compared = 0;
    for (int t = 0; t < s.n_tables; t++)
        for (int f = SIMD_NEG; f <= SIMD_FLOOR_DIVIDE; f++)
            for (size_t k = 0; k < WG_COUNT(counts); k++) {
                real *y = room(counts[k]);
                floats_of(s.table[t])
                    ->elementwise(&(simd_elementwise){.x = x,
                                                      .dy = has_two(f) ? v : NULL,
                                                      .y = y,
                                                      .count = counts[k],
                                                      .f = f,
                                                      .threads = 1 + (int)k % 2,
                                                      .parameter = SLOPE,
                                                      .upper = UPPER});
                for (int64_t i = 0; i < counts[k]; i++, compared++)
                    check_that(is_right(f, y[i], x[i], v[i]), "%s, function %d of %g and %g: %g",
                               s.table[t]->isa, f, (double)x[i], (double)v[i], (double)y[i]);
                free_room(y, counts[k]);
            }
    check_that(compared > 500000, "%lld", (long long)compared);
    free(x);
    free(v);
}

/* The element of an operand of shape `from` that belongs to element i of the result. */
static int64_t source_of(const wg_shape *from, const wg_shape *to, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int k = to->rank; k-- > 0;) {
        int j = k - (to->rank - from->rank);
        int64_t index = i % to->dim[k];
        i /= to->dim[k];
        if (j >= 0) {
            at += from->dim[j] == 1 ? 0 : index * step;
            step *= from->dim[j];
        }
    }
    return at;
}

static void operands_are_broadcast(void **state)
{
    (void)state;
    static const struct {
        wg_shape a, b;
    } shapes[] = {
        {{0}, {1, {5}}},
        {{1, {5000}}, {0}},
        {{2, {3, 4}}, {1, {4}}},
        {{2, {3, 1}}, {2, {3, 700}}},
        {{2, {300, 1}}, {2, {1, 130}}},
        {{3, {2, 3, 5}}, {3, {2, 1, 5}}},
        {{4, {2, 1, 3, 1}}, {3, {7, 1, 9000}}},
        {{3, {40, 1, 30}}, {3, {1, 20, 30}}},
    };
    setting s = all_tables();
    int64_t compared = 0;
    for (int t = 0; t < s.n_tables; t++)
        for (int f = SIMD_ADD; f <= SIMD_FLOOR_DIVIDE; f++)
            for (int k = 0; k < WG_COUNT(shapes); k++) {
                wg_graph *g = wg_graph_new();
                wg_value *a = wg_input(g, "a", sizeof(real) == 8 ? WG_F64 : WG_F32, shapes[k].a),
                         *b = wg_input(g, "b", sizeof(real) == 8 ? WG_F64 : WG_F32, shapes[k].b),
                         *y = wg_add(a, b);
                assert_non_null(y);
                int64_t n = wg_value_count(y);
                real *x = mixed(&s, wg_value_count(a)), *v = mixed(&s, wg_value_count(b)),
                     *to = room(n);
                wgi_rows rows = wgi_rows_of(y->node);
                floats_of(s.table[t])
                    ->elementwise(&(simd_elementwise){.x = x,
                                                      .dy = v,
                                                      .y = to,
                                                      .count = n,
                                                      .f = f,
                                                      .threads = 1 + k % 2,
                                                      .rows = &rows});
                for (int64_t i = 0; i < n; i++, compared++) {
                    real u = x[source_of(&a->shape, &y->shape, i)],
                         w = v[source_of(&b->shape, &y->shape, i)];
                    check_that(is_right(f, to[i], u, w),
                               "%s, function %d, shapes %d, element %lld: %g", s.table[t]->isa, f,
                               k, (long long)i, (double)to[i]);
                }
                free(x);
                free(v);
                free_room(to, n);
                wg_graph_free(g);
            }
    check_that(compared > 500000, "%lld", (long long)compared);
}

/* As pow has it, of exponents that are made of products or roots (4 units in the last place) and of
 * others, for special numbers as well. */
static void powers_of_one_exponent(void **state)
{
    (void)state;
    static const real exponents[] = {0, 1, 2, 3, 4, 5, -1, -2, -3, -4, 0.5, -0.5, 1.5, 0.25, 1e9F};
    enum { COUNT = 3000, EXPONENTS = WG_COUNT(exponents) };
    setting s = all_tables();
    real *x = mixed(&s, COUNT);
    int64_t compared = 0;
    wg_graph *g = wg_graph_new();
    wg_dtype dtype = sizeof(real) == 8 ? WG_F64 : WG_F32;
    wg_value *a = wg_input(g, "a", dtype, WG_SHAPE(COUNT)), *b = wg_input(g, "b", dtype, WG_SCALAR);
    wgi_rows rows = wgi_rows_of(wg_pow(a, b)->node);
    for (int i = 0; i < COUNT; i++) /* no subnormal results */
        x[i] = fabs(x[i]) < (real)1e-8 ? 0 : fabs(x[i]) > (real)1e8 && isfinite(x[i]) ? 1 : x[i];
    for (int t = 0; t < s.n_tables; t++)
        for (int e = 0; e < EXPONENTS; e++) {
            real *y = room(COUNT);
            floats_of(s.table[t])
                ->elementwise(&(simd_elementwise){.x = x,
                                                  .dy = &exponents[e],
                                                  .y = y,
                                                  .count = COUNT,
                                                  .f = SIMD_POW,
                                                  .threads = 2,
                                                  .rows = &rows});
            for (int i = 0; i < COUNT; i++, compared++) {
                real truth = pow(x[i], exponents[e]);
                bool right =
                    same(y[i], truth) || fabs(y[i] - truth) <= 4 * (real)EPSILON * fabs(truth);
                check_that(right, "%s, %g to %g: %.17g, not %.17g", s.table[t]->isa, (double)x[i],
                           (double)exponents[e], (double)y[i], (double)truth);
            }
            free_room(y, COUNT);
        }
    assert_true(compared >= COUNT * EXPONENTS);
    wg_graph_free(g);
    free(x);
}

/* Of points whose coordinates are special numbers, large, small, and one number for all. */
static void angles_of_points(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    setting s = all_tables();
    real *a = mixed(&s, COUNT), *b = mixed(&s, COUNT);
    int64_t compared = 0;
    wg_dtype dtype = sizeof(real) == 8 ? WG_F64 : WG_F32;
    for (int one = 0; one < 3; one++) {
        wg_graph *g = wg_graph_new();
        wg_value *u = wg_input(g, "u", dtype, WG_SHAPE(one == 1 ? 1 : COUNT)),
                 *v = wg_input(g, "v", dtype, WG_SHAPE(one == 2 ? 1 : COUNT));
        wgi_rows rows = wgi_rows_of(wg_atan2(u, v)->node);
        for (int t = 0; t < s.n_tables; t++) {
            real *y = room(COUNT);
            floats_of(s.table[t])
                ->elementwise(&(simd_elementwise){.x = a,
                                                  .dy = b,
                                                  .y = y,
                                                  .count = COUNT,
                                                  .f = SIMD_ATAN2,
                                                  .threads = 2,
                                                  .rows = one ? &rows : NULL});
            for (int i = 0; i < COUNT; i++, compared++) {
                real p = a[one == 1 ? 0 : i], q = b[one == 2 ? 0 : i], truth = atan2(p, q);
                bool right = same(y[i], truth) ||
                             fabs(y[i] - truth) <= 4 * (real)EPSILON * fabs(truth) + (real)1e-37;
                check_that(right && (isnan(truth) || signbit(truth) == signbit(y[i])),
                           "%s, atan2(%g, %g): %.17g, not %.17g", s.table[t]->isa, (double)p,
                           (double)q, (double)y[i], (double)truth);
            }
            free_room(y, COUNT);
        }
        wg_graph_free(g);
    }
    assert_true(compared >= 3 * COUNT);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_exact),
        cmocka_unit_test(operands_are_broadcast),
        cmocka_unit_test(powers_of_one_exponent),
        cmocka_unit_test(angles_of_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
