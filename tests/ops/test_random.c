/* Random ops: the generator's published values, distributions, and what a number depends on. */
#include "tests/small.h"
#include "wengert/autograd/grad.h"
#include "graph/random.h"
#include "backends/mask.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- the generator --------------------------------------------------------------------------- */

/* Random123's kat_vectors, philox4x64-10. */
static void philox_gives_its_published_values(void **state)
{
    (void)state;
    static const struct {
        uint64_t counter[4], key[2], expected[4];
    } known[] = {
        {{0},
         {0},
         {0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}},
        {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
         {UINT64_MAX, UINT64_MAX},
         {0x87b092c3013fe90b, 0x438c3c67be8d0224, 0x9cc7d7c69cd777b6, 0xa09caebf594f0ba0}},
        {{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89},
         {0x452821e638d01377, 0xbe5466cf34e90c6c},
         {0xa528f45403e61d95, 0x38c72dbd566e9788, 0xa5a1610e72fd18b5, 0x57bd43b5e52b7fe6}},
    };
    for (size_t i = 0; i < WG_COUNT(known); i++) {
        philox4x64_ctr_t counter;
        philox4x64_key_t key;
        memcpy(counter.v, known[i].counter, sizeof counter.v);
        memcpy(key.v, known[i].key, sizeof key.v);
        philox4x64_ctr_t got = philox4x64(counter, key);
        for (int k = 0; k < 4; k++)
            assert_true(got.v[k] == known[i].expected[k]);
    }
}

static wg_plan *run(wg_graph *g, wg_value *const *y, size_t n, uint64_t seed, uint64_t step,
                    int threads)
{
    wg_plan *p;
    wg_plan_options options = {.outputs = y, .n_outputs = n, .threads = threads, .seed = seed};
    check_that(wg_plan_create(&p, g, &options) == WG_OK, "%s", wg_graph_message(g));
    check_that(wg_plan_run(p, step) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

/* With seed, step and key 0 the first four elements are the words of the first published value. */
static void uniform_is_made_of_the_words_of_philox(void **state)
{
    (void)state;
    static const uint64_t word[] = {0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b,
                                    0x7e68b68aec7ba23b};
    wg_graph *g = wg_graph_new();
    wg_random_attrs a = {WG_F64, WG_SHAPE(5), 0, 1, 0};
    wg_value *y = wg_apply0(WG_HERE, g, &wg_op_uniform, &a);
    wg_plan *p = run(g, &y, 1, 0, 0, 1);
    for (int i = 0; i < 4; i++)
        assert_true(small_at(p, y, i) == (double)(word[i] >> 11) * 0x1p-53);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- distributions --------------------------------------------------------------------------- */

enum { MANY = 1000000 };

static void uniform_is_flat(void **state)
{
    (void)state;
    enum { BINS = 100 };
    for (int d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *y = wg_uniform(g, d ? WG_F64 : WG_F32, WG_SHAPE(MANY), -1, 3);
        wg_plan *p = run(g, &y, 1, 5, 6, 2);
        double sum = 0, squares = 0, bin[BINS] = {0}, chi = 0;
        for (int64_t i = 0; i < MANY; i++) {
            double u = small_at(p, y, i);
            check_that(u >= -1 && u <= 3 && (u < 3 || !d), "%.17g is out of bounds", u);
            sum += u;
            squares += (u - 1) * (u - 1);
            bin[(int)fmin(BINS - 1, (u + 1) / 4 * BINS)]++;
        }
        const double wanted = (double)MANY / BINS;
        for (int b = 0; b < BINS; b++)
            chi += (bin[b] - wanted) * (bin[b] - wanted) / wanted;
        double sigma = 4 / sqrt(12.0 * MANY);
        check_that(fabs(sum / MANY - 1) < 5 * sigma, "mean %g", sum / MANY);
        check_that(fabs(squares / MANY - 16.0 / 12) < 5 * 16 / sqrt(180.0 * MANY), "variance %g",
                   squares / MANY);
        check_that(chi > 40 && chi < 180, "chi squared %g of %d bins", chi, BINS); /* 99 +- 14 */
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void normal_has_its_moments_and_tails(void **state)
{
    (void)state;
    static const double tail[] = {0.31731050786291410, 0.045500263896358414, 0.0026997960632601889};
    for (int d = 0; d < 2; d++) {
        wg_graph *g = wg_graph_new();
        wg_value *y = wg_normal(g, d ? WG_F64 : WG_F32, WG_SHAPE(MANY), 2, 3);
        wg_plan *p = run(g, &y, 1, 5, 6, 2);
        double moment[5] = {0}, beyond[3] = {0}, neighbours = 0, before = 0;
        for (int64_t i = 0; i < MANY; i++) {
            double z = (small_at(p, y, i) - 2) / 3, power = 1;
            for (int k = 1; k < 5; k++)
                moment[k] += power *= z;
            for (int k = 0; k < 3; k++)
                beyond[k] += fabs(z) > k + 1;
            neighbours += z * before;
            before = z;
        }
        const double expected[] = {0, 0, 1, 0, 3}, variance[] = {0, 1, 2, 15, 96};
        for (int k = 1; k < 5; k++)
            check_that(fabs(moment[k] / MANY - expected[k]) < 5 * sqrt(variance[k] / MANY),
                       "moment %d is %g", k, moment[k] / MANY);
        for (int k = 0; k < 3; k++)
            check_that(fabs(beyond[k] / MANY - tail[k]) < 5 * sqrt(tail[k] / MANY),
                       "%g beyond %d sigma", beyond[k] / MANY, k + 1);
        check_that(fabs(neighbours / MANY) < 5 / sqrt(MANY), "correlation %g", neighbours / MANY);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void bernoulli_has_its_rate_in_every_dtype(void **state)
{
    (void)state;
    static const double rate[] = {0, 0.1, 0.5, 0.999, 1};
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++)
        for (size_t k = 0; k < WG_COUNT(rate); k++) {
            wg_graph *g = wg_graph_new();
            wg_value *coin = wg_bernoulli(g, d, WG_SHAPE(MANY / 10), rate[k]);
            wg_value *y = wg_cast(coin, WG_F64);
            wg_plan *p = run(g, &y, 1, 1, d, 2);
            double ones = 0;
            for (int64_t i = 0; i < MANY / 10; i++) {
                assert_true(small_at(p, y, i) == 0 || small_at(p, y, i) == 1);
                ones += small_at(p, y, i);
            }
            double sigma = sqrt(rate[k] * (1 - rate[k]) * MANY / 10);
            check_that(fabs(ones - rate[k] * MANY / 10) <= 5 * sigma, "%g ones at p = %g", ones,
                       rate[k]);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

/* ---- dropout --------------------------------------------------------------------------------- */

static void dropout_scales_what_it_keeps(void **state)
{
    (void)state;
    static const double rate[] = {0.1, 0.5, 0.75};
    for (size_t k = 0; k < 3; k++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_shift(wg_uniform(g, WG_F64, WG_SHAPE(MANY / 10), 0, 1), 1);
        wg_value *y[] = {x, wg_dropout(x, rate[k])};
        wg_plan *p = run(g, y, 2, 1, 2, 2);
        int64_t dropped = 0;
        for (int64_t i = 0; i < MANY / 10; i++) {
            double from = small_at(p, y[0], i), to = small_at(p, y[1], i);
            check_that(to == 0 || to == from * (1 / (1 - rate[k])), "%g became %g", from, to);
            dropped += to == 0;
        }
        check_that(fabs((double)dropped - rate[k] * MANY / 10) <
                       5 * sqrt(rate[k] * (1 - rate[k]) * MANY / 10),
                   "%lld dropped at p = %g", (long long)dropped, rate[k]);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void the_derivative_of_dropout_draws_the_same_mask(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_normal(g, WG_F32, WG_SHAPE(37, 11), 0, 1),
             *dy = wg_normal(g, WG_F32, WG_SHAPE(37, 11), 0, 1);
    wg_value *y = wg_dropout(x, 0.5), *dx, *second;
    assert_int_equal(wg_vjp(&y, &dy, 1, &x, 1, NULL, &dx), WG_OK);
    wg_value *ones = wg_fill(g, WG_F32, dx->shape, 1);
    assert_int_equal(wg_vjp(&dx, &ones, 1, &dy, 1, NULL, &second), WG_OK);
    wg_value *out[] = {x, dy, y, dx, second};
    wg_plan *p = run(g, out, 5, 3, 4, 2);
    int kept = 0;
    for (int64_t i = 0; i < 37 * 11; i++) {
        double factor = small_at(p, second, i);
        assert_true(factor == 0 || factor == 2);
        assert_true(small_at(p, y, i) == factor * small_at(p, x, i));
        assert_true(small_at(p, dx, i) == factor * small_at(p, dy, i));
        kept += factor != 0;
    }
    assert_true(kept > 150 && kept < 257);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Random123's kat_vectors, philox4x32 of 7 rounds; and that element i takes number i % 8 of block i
 * / 8. */
static void the_mask_is_made_of_the_words_of_philox(void **state)
{
    (void)state;
    const wgi_mask zero = {{0, 0}, 0, 1, 1}, ones = {{UINT32_MAX, UINT32_MAX}, UINT64_MAX, 1, 1};
    static const uint32_t words[2][4] = {{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48},
                                         {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}};
    uint16_t number[WGI_MASK_NUMBERS];
    for (int k = 0; k < 2; k++) {
        wgi_mask_block(k ? &ones : &zero, k ? UINT64_MAX : 0, number);
        for (int i = 0; i < WGI_MASK_NUMBERS; i++)
            assert_int_equal(number[i], words[k][i / 2] >> 16 * (i % 2) & 0xffff);
    }
    enum { COUNT = 1003, KEY = 7, SEED = 11, STEP = 5 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_fill(g, WG_F64, WG_SHAPE(COUNT), 1);
    wg_value *y = wg_apply1(WG_HERE, &wg_op_dropout, &(wg_dropout_attrs){0.25, KEY}, x);
    wg_plan *p = run(g, &y, 1, SEED, STEP, 2);
    wgi_mask m = wgi_mask_of(SEED, STEP, KEY, 0.25);
    assert_int_equal(m.keep, 49152);
    for (int64_t i = 0; i < COUNT; i++) {
        wgi_mask_block(&m, (uint64_t)i / WGI_MASK_NUMBERS, number);
        assert_true((small_at(p, y, i) != 0) == (number[i % WGI_MASK_NUMBERS] < 49152));
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Masks of close seeds, steps and keys, and close elements of one mask, drop independently: the
 * number of elements dropped in both is binomial with p^2; and all 16 bits of the numbers are
 * fair. */
static void masks_are_independent_of_their_neighbours(void **state)
{
    (void)state;
    enum { BLOCKS = 1 << 15, COUNT = BLOCKS * WGI_MASK_NUMBERS };
    static const wgi_mask none = {{0, 0}, 0, 0, 0};
    wgi_mask mask[] = {wgi_mask_of(1, 1, 1, 0.3), wgi_mask_of(1, 2, 1, 0.3),
                       wgi_mask_of(1, 1, 2, 0.3), wgi_mask_of(2, 1, 1, 0.3), none};
    uint16_t *first = malloc(COUNT * sizeof *first), *other = malloc(COUNT * sizeof *other);
    assert_true(first && other);
    double p = 1 - mask[0].keep / 65536.0, expected = p * p * COUNT;
    for (uint64_t b = 0; b < BLOCKS; b++)
        wgi_mask_block(&mask[0], b, first + WGI_MASK_NUMBERS * b);
    for (int k = 1; mask[k].keep; k++) {
        int64_t both = 0;
        for (uint64_t b = 0; b < BLOCKS; b++)
            wgi_mask_block(&mask[k], b, other + WGI_MASK_NUMBERS * b);
        for (int64_t i = 0; i < COUNT; i++)
            both += first[i] >= mask[0].keep && other[i] >= mask[k].keep;
        check_that(fabs((double)both - expected) < 5 * sqrt(expected * (1 - p * p)),
                   "masks 0 and %d: %lld dropped in both, %g expected", k, (long long)both,
                   expected);
    }
    static const int distance[] = {1, 2, 3, 4, 7, 8, 9, 16, 64, 128, 512, 1024};
    for (size_t k = 0; k < WG_COUNT(distance); k++) {
        int64_t both = 0, of = COUNT - distance[k];
        for (int64_t i = 0; i < of; i++)
            both += first[i] >= mask[0].keep && first[i + distance[k]] >= mask[0].keep;
        /* pairs overlap: the variance is p^2 (1 - p^2) + 2 p^3 (1 - p) a pair */
        double variance = p * p * (1 - p * p) + 2 * p * p * p * (1 - p);
        check_that(fabs((double)both - p * p * (double)of) < 5 * sqrt(variance * (double)of),
                   "%lld pairs dropped at distance %d", (long long)both, distance[k]);
    }
    for (int bit = 0; bit < 16; bit++)
        for (int number = 0; number < WGI_MASK_NUMBERS; number++) {
            int64_t set = 0;
            for (int64_t b = 0; b < BLOCKS; b++)
                set += first[WGI_MASK_NUMBERS * b + number] >> bit & 1;
            check_that(fabs((double)set - BLOCKS / 2.0) < 5 * sqrt(BLOCKS / 4.0),
                       "bit %d of number %d is set %lld times", bit, number, (long long)set);
        }
    free(first);
    free(other);
}

static void dropout_of_rate_zero_adds_no_node(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    assert_ptr_equal(wg_dropout(x, 0), x);
    wg_graph_free(g);
}

/* ---- what a number depends on ---------------------------------------------------------------- */

enum { KINDS = 4, SOME = 40003 }; /* enough work for several threads */

static void build_all(wg_graph *g, wg_dtype dtype, wg_value *y[KINDS])
{
    wg_value *ones = wg_fill(g, dtype, WG_SHAPE(SOME), 1);
    y[0] = wg_uniform(g, dtype, WG_SHAPE(SOME), 0, 1);
    y[1] = wg_normal(g, dtype, WG_SHAPE(SOME), 0, 1);
    y[2] = wg_bernoulli(g, dtype, WG_SHAPE(SOME), 0.5);
    y[3] = wg_dropout(ones, 0.5);
}

/* How many elements of a and b differ. */
static int64_t differing(wg_plan *a, wg_plan *b, const wg_value *x, const wg_value *y)
{
    int64_t n = 0;
    for (int64_t i = 0; i < SOME; i++)
        n += small_at(a, x, i) != small_at(b, y, i);
    return n;
}

static void numbers_depend_on_seed_step_and_key_alone(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *y[KINDS], *again[KINDS];
    build_all(g, WG_F32, y);
    build_all(g, WG_F32, again); /* other keys */
    wg_value *all[2 * KINDS];
    for (int k = 0; k < KINDS; k++) {
        all[k] = y[k];
        all[KINDS + k] = again[k];
    }
    wg_plan *base = run(g, all, 2 * KINDS, 10, 20, 1);
    wg_plan *threads = run(g, all, 2 * KINDS, 10, 20, 3);
    wg_plan *step = run(g, all, 2 * KINDS, 10, 21, 1);
    wg_plan *seed = run(g, all, 2 * KINDS, 11, 20, 1);
    for (int k = 0; k < KINDS; k++) {
        int64_t min = SOME * (k < 2 ? 9 : 4) / 10; /* half of the coins fall alike */
        assert_int_equal(differing(base, threads, y[k], y[k]), 0);
        check_that(differing(base, step, y[k], y[k]) > min, "%s: step", y[k]->node->op->name);
        check_that(differing(base, seed, y[k], y[k]) > min, "%s: seed", y[k]->node->op->name);
        check_that(differing(base, base, y[k], again[k]) > min, "%s: key", y[k]->node->op->name);
    }
    check_that(wg_plan_run(step, 20) == WG_OK, "%s", wg_plan_message(step)); /* a step repeated */
    for (int k = 0; k < KINDS; k++)
        assert_int_equal(differing(base, step, y[k], y[k]), 0);
    wg_plan_free(base);
    wg_plan_free(threads);
    wg_plan_free(step);
    wg_plan_free(seed);
    wg_graph_free(g);
}

static void f32_and_f64_draw_the_same(void **state)
{
    (void)state;
    wg_graph *g32 = wg_graph_new(), *g64 = wg_graph_new();
    wg_value *a[KINDS], *b[KINDS];
    build_all(g32, WG_F32, a);
    build_all(g64, WG_F64, b);
    wg_plan *p32 = run(g32, a, KINDS, 1, 2, 1), *p64 = run(g64, b, KINDS, 1, 2, 1);
    for (int k = 0; k < KINDS; k++)
        for (int64_t i = 0; i < SOME; i++)
            assert_true(small_at(p32, a[k], i) == (double)(float)small_at(p64, b[k], i));
    wg_plan_free(p32);
    wg_plan_free(p64);
    wg_graph_free(g32);
    wg_graph_free(g64);
}

/* ---- errors ---------------------------------------------------------------------------------- */

#define check_refused(expected, ...)                                                               \
    do {                                                                                           \
        wg_graph *g = wg_graph_new();                                                              \
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));                                       \
        (void)x;                                                                                   \
        assert_null(__VA_ARGS__);                                                                  \
        check_that(strstr(wg_graph_message(g), expected) != NULL, "the message is: %s",            \
                   wg_graph_message(g));                                                           \
        wg_graph_free(g);                                                                          \
    } while (0)

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    check_refused("dtype is i64, must be f32", wg_uniform(g, WG_I64, WG_SHAPE(2), 0, 1));
    check_refused("low 2 is above high 1", wg_uniform(g, WG_F32, WG_SHAPE(2), 2, 1));
    check_refused("low is 0 and high inf, must be finite",
                  wg_uniform(g, WG_F32, WG_SHAPE(2), 0, INFINITY));
    check_refused("std is -1, must be 0 or more", wg_normal(g, WG_F32, WG_SHAPE(2), 0, -1));
    check_refused("p is 1.5, must be in [0,1]", wg_bernoulli(g, WG_F32, WG_SHAPE(2), 1.5));
    check_refused("negative size", wg_bernoulli(g, WG_F32, WG_SHAPE(-2), 0.5));
    check_refused("p is 1, must be in [0,1)", wg_dropout(x, 1));
    check_refused("p is NaN", wg_dropout(x, NAN));
    assert_null(wg_uniform(NULL, WG_F32, WG_SHAPE(2), 0, 1));
    assert_null(wg_dropout(NULL, 0.5));
    assert_null(wg_uniform_like(NULL, 0, 1));
    assert_null(wg_normal_like(NULL, 0, 1));
}

static void like_takes_graph_dtype_and_shape(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 3));
    wg_value *const y[] = {wg_uniform_like(x, -1, 4), wg_normal_like(x, 5, 2)};
    const wg_op *const ops[] = {&wg_op_uniform, &wg_op_normal};
    const double a[] = {-1, 5}, b[] = {4, 2};
    for (int i = 0; i < WG_COUNT(y); i++) {
        const wg_random_attrs *attrs = y[i]->node->attrs;
        assert_ptr_equal(y[i]->node->op, ops[i]);
        assert_int_equal(y[i]->dtype, WG_F64);
        assert_true(wg_shape_equal(&y[i]->shape, &x->shape));
        assert_true(attrs->a == a[i] && attrs->b == b[i]);
    }
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_its_published_values),
        cmocka_unit_test(uniform_is_made_of_the_words_of_philox),
        cmocka_unit_test(uniform_is_flat),
        cmocka_unit_test(normal_has_its_moments_and_tails),
        cmocka_unit_test(bernoulli_has_its_rate_in_every_dtype),
        cmocka_unit_test(dropout_scales_what_it_keeps),
        cmocka_unit_test(the_derivative_of_dropout_draws_the_same_mask),
        cmocka_unit_test(dropout_of_rate_zero_adds_no_node),
        cmocka_unit_test(the_mask_is_made_of_the_words_of_philox),
        cmocka_unit_test(masks_are_independent_of_their_neighbours),
        cmocka_unit_test(numbers_depend_on_seed_step_and_key_alone),
        cmocka_unit_test(f32_and_f64_draw_the_same),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(like_takes_graph_dtype_and_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
