/* Windows and biases of attention in the simd backend, where tiles see parts of the keys: f32
 * against the reference backend in f64, from the same numbers. */
#include "backends/simd/kernels/kernels.h"
#include "tests/numbers.h"
#include "wengert/backends/simd.h"

typedef struct setting {
    int64_t H, Hk, T, S, d;
    int64_t length[2]; /* of the two examples; -1: none given */
    wg_attention_attrs a;
    int64_t bias[4]; /* bias[0] 0: none */
} setting;

static const setting settings[] = {
    {2, 2, 200, 200, 16, {-1}, {.window = true, .left = 20, .right = 20}, {0}},
    {4, 2, 300, 300, 24, {-1}, {.window = true, .left = 37, .causal = true}, {0}},
    {2, 1, 150, 400, 32, {390, 77}, {.window = true, .causal_offset = 100, .right = 9}, {0}},
    {1, 1, 257, 190, 8, {-1}, {.window = true, .left = 3, .right = 5, .dropout = 0.3}, {0}},
    {2, 2, 128, 300, 16, {-1}, {.window = true, .left = 130, .right = 100, .dropout = 0.2}, {0}},
    {2, 2, 90, 100, 16, {100, 3}, {.causal = true, .dropout = 0.1}, {2, 2, 90, 100}},
    {2, 1, 128, 128, 32, {-1}, {.causal = true}, {0}},
    {2, 2, 101, 101, 24, {101, 40}, {.causal = true, .dropout = 0.2}, {0}},
    {1, 1, 300, 300, 64, {-1}, {.causal = true}, {0}},
    {4, 2, 70, 80, 16, {-1}, {0}, {1, 4, 70, 80}},
    {2, 2, 70, 80, 16, {-1}, {0}, {2, 1, 1, 80}},
    {2, 2, 130, 260, 16, {-1}, {.window = true, .left = 9, .right = 50}, {1, 2, 130, 1}},
    {3, 1, 130, 260, 16, {200, 9}, {.window = true, .left = 60, .right = 1}, {1, 1, 1, 260}},
    {4, 4, 200, 190, 24, {-1}, {.dropout = 0.2}, {1, 4, 200, 190}},
    {4, 2, 300, 150, 8, {150, 0}, {.causal = true}, {1, 1, 300, 150}},
    {2, 2, 90, 64, 16, {64, 20}, {.dropout = 0.1}, {2, 1, 90, 1}},
    {2, 2, 90, 64, 16, {-1}, {0}, {1, 2, 90, 64}},
};

enum { B = 2, OUTPUTS = 5 }; /* y dq dk dv dbias */

/* Rounded to f32 in both graphs. */
static wg_value *drawn(wg_graph *g, wg_dtype dtype, wg_shape shape, uint64_t *seed)
{
    wg_value *x = numbers_drawn(g, WG_F32, shape, -1.5, 1.5, seed);
    return dtype == WG_F32 ? x : wg_cast(x, dtype);
}

static size_t build(wg_graph *g, const setting *c, wg_dtype dtype, wg_value **out)
{
    uint64_t seed = 3;
    wg_attention_attrs a = c->a;
    a.key = 11;
    wg_value *in[4], *dy, *lengths = NULL;
    in[0] = drawn(g, dtype, WG_SHAPE(B, c->H, c->T, c->d), &seed);
    in[1] = drawn(g, dtype, WG_SHAPE(B, c->Hk, c->S, c->d), &seed);
    in[2] = drawn(g, dtype, WG_SHAPE(B, c->Hk, c->S, c->d), &seed);
    dy = drawn(g, dtype, WG_SHAPE(B, c->H, c->T, c->d), &seed);
    in[3] = NULL;
    if (c->bias[0])
        in[3] = drawn(g, dtype, wg_shape_make(4, c->bias), &seed);
    if (c->length[0] >= 0)
        lengths = wg_constant(g, WG_I64, WG_SHAPE(B), c->length);
    out[0] = wg_biased_attention(in[0], in[1], in[2], in[3], lengths, &a);
    size_t n = in[3] ? 4 : 3;
    wg_vjp(out, &dy, 1, in, n, NULL, out + 1);
    return n + 1;
}

static wg_plan *planned(wg_graph *g, wg_value *const *out, size_t n, bool simd, int threads)
{
    const wg_backend *backend[] = {wg_simd_backend()};
    wg_plan_options o = {.outputs = out,
                         .n_outputs = n,
                         .threads = threads,
                         .seed = 9,
                         .no_fold = true,
                         .backends = backend,
                         .n_backends = simd};
    wg_plan *p;
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    check_that(wg_plan_run(p, 4) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

static int steps_of(wg_plan *p, const wg_op *op, const char *backend)
{
    int count = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        count += wg_plan_step_at(p, i).node->op == op &&
                 strcmp(wg_plan_step_at(p, i).backend, backend) == 0;
    return count;
}

/* Sums of up to 400 products of f32, of numbers up to 1.5. */
static const double tolerance = 2e-5;

static int64_t compare(const setting *c)
{
    wg_graph *g = wg_graph_new(), *wide = wg_graph_new();
    wg_value *out[OUTPUTS], *expected[OUTPUTS];
    size_t n = build(g, c, WG_F32, out);
    assert_int_equal(build(wide, c, WG_F64, expected), n);
    wg_plan *p = planned(g, out, n, true, 3), *q = planned(wide, expected, n, false, 3);
    wg_plan *one = planned(g, out, n, true, 1);
    assert_int_equal(steps_of(p, &wg_op_attention, "simd"), 1);
    assert_int_equal(steps_of(p, &wg_op_attention_grad, "simd"), 1);
    assert_int_equal(steps_of(p, &wg_op_attention_bias_grad, "simd"), c->bias[0] > 0);
    int64_t compared = 0;
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < wg_value_count(out[i]); k++, compared++) {
            check_that(small_at(p, out[i], k) == small_at(one, out[i], k),
                       "setting %d, result %zu: other bits on one thread", (int)(c - settings), i);
            double is = small_at(p, out[i], k), must = small_at(q, expected[i], k);
            check_that(fabs(is - must) <= tolerance * fmax(1, fabs(must)),
                       "setting %d, result %zu, element %lld: %.9g, not %.9g", (int)(c - settings),
                       i, (long long)k, is, must);
        }
    wg_plan_free(p);
    wg_plan_free(q);
    wg_plan_free(one);
    wg_graph_free(g);
    wg_graph_free(wide);
    return compared;
}

static void windows_and_biases_are_those_of_the_reference(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(settings); i++)
        compared += compare(&settings[i]);
    assert_true(compared > 300000);
}

/* One thread's room, and so the number of scores that a tile computes, does not grow with the
 * number of keys. */
static void a_tile_sees_as_many_keys_as_its_window_and_rows(void **state)
{
    (void)state;
    for (int64_t n = 1 << 10; n <= 1 << 20; n *= 4) {
        simd_tile tile = simd_attention_tile(n, n, 129);
        assert_true(tile.rows >= 32 && tile.keys == 129 + tile.rows - 1);
        assert_int_equal(simd_attention_tile(n, n, n).keys, n);
        assert_int_equal(simd_attention_scratch(n, n, 129, 64, 64),
                         simd_attention_scratch(1 << 10, 1 << 10, 129, 64, 64));
    }
}

/* NaN among keys that some rows of a tile do not see: it reaches those that see it alone. */
static void nan_reaches_those_who_see_it(void **state)
{
    (void)state;
    enum { T = 160, D = 4, AT = 70, LEFT = 12, RIGHT = 5 };
    wg_graph *g = wg_graph_new();
    uint64_t seed = 5;
    wg_shape shape = WG_SHAPE(1, 1, T, D);
    wg_value *q = numbers_drawn(g, WG_F32, shape, -1, 1, &seed),
             *k = numbers_drawn(g, WG_F32, shape, -1, 1, &seed), *y[2];
    wg_value *row = wg_iota(g, WG_I64, WG_SHAPE(1, 1, T, 1), 2, 0, 1);
    static const double nan[] = {NAN};
    wg_value *v = wg_where(wg_equal(row, wg_scalar_like(row, AT)),
                           numbers(g, WG_F32, WG_SHAPE(1, 1, 1, 1), nan), k);
    const wg_attention_attrs a = {.window = true, .left = LEFT, .right = RIGHT};
    y[0] = wg_attention(q, k, v, NULL, &a);
    y[1] = wg_attention(q, k, k, NULL, &a);
    wg_plan *p = planned(g, y, 2, true, 3);
    assert_int_equal(steps_of(p, &wg_op_attention, "simd"), 2);
    for (int64_t i = 0; i < T * D; i++) {
        bool sees = AT >= i / D - LEFT && AT <= i / D + RIGHT;
        assert_true(isnan(small_at(p, y[0], i)) == sees);
        assert_true(sees || fabs(small_at(p, y[0], i) - small_at(p, y[1], i)) <= 1e-6);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_and_biases_are_those_of_the_reference),
        cmocka_unit_test(a_tile_sees_as_many_keys_as_its_window_and_rows),
        cmocka_unit_test(nan_reaches_those_who_see_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
