/* The store: tensors by name, their initial values, and what plans share through it. */
#include "tests/test.h"
#include "backends/store.h"
#include "graph/random.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

#include <math.h>

static void tensors_are_found_by_name(void **state)
{
    (void)state;
    wg_store *s = wg_store_new(1);
    const wg_shape shape = {2, {2, 3}};
    enum { MANY = 500 };
    const wg_tensor *given[MANY];
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "layer%d/w", i);
        assert_int_equal(wg_store_add(s, name, WG_F32, &shape, &given[i]), WG_OK);
        assert_int_equal((uintptr_t)given[i]->data % 64, 0);
        assert_true(((const float *)given[i]->data)[5] == 0);
    }
    assert_int_equal(wg_store_count(s), MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "layer%d/w", i);
        assert_ptr_equal(wg_store_find(s, name), given[i]); /* addresses stay */
        assert_ptr_equal(wg_store_at(s, (size_t)i), given[i]);
        assert_string_equal(given[i]->name, name);
    }
    assert_null(wg_store_find(s, "layer"));
    assert_null(wg_store_at(s, MANY));
    wg_store_free(s);
    wg_store_free(NULL);
    assert_null(wg_store_find(NULL, "x"));
    assert_int_equal(wg_store_count(NULL), 0);
}

/* Three fit; the fourth and the last have memory of their own, or of another piece. */
static void check_piece(bool another)
{
    wg_store *s = wg_store_new(1);
    const wg_shape shapes[] = {{2, {2, 3}}, {1, {0}}, {1, {33}}, {1, {17}}, {2, {300, 300}}};
    enum { N = WG_COUNT(shapes), FIT = 3 };
    const wg_tensor *t[N];
    size_t room = 0;
    for (int i = 0; i < FIT; i++)
        room += wgi_store_room(WG_F32, &shapes[i]);
    assert_int_equal(room, 64 + 0 + 192);
    assert_true(wgi_store_reserve(s, room));
    assert_true(wgi_store_reserve(s, room - 64)); /* is there */
    for (int i = 0; i < N; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        if (another && i == FIT)
            assert_true(wgi_store_reserve(s, 1 << 20));
        assert_int_equal(wg_store_add(s, name, WG_F32, &shapes[i], &t[i]), WG_OK);
        assert_int_equal((uintptr_t)t[i]->data % 64, 0);
        float *x = t[i]->data;
        for (int64_t k = 0; k < wg_shape_count(&shapes[i]); k++) {
            assert_true(x[k] == 0);
            x[k] = (float)(i + 1);
        }
    }
    for (int i = 0; i < N; i++)
        for (int64_t k = 0; k < wg_shape_count(&shapes[i]); k++)
            assert_true(((const float *)t[i]->data)[k] == (float)(i + 1));
    assert_ptr_equal(t[2]->data, (const char *)t[0]->data + 64);
    uintptr_t begin = (uintptr_t)t[0]->data, other = (uintptr_t)t[3]->data;
    assert_true(other < begin || other >= begin + room);
    uintptr_t after = wgi_store_room(WG_F32, &shapes[3]), last = (uintptr_t)t[4]->data;
    assert_int_equal(last == other + after, another);
    wg_store_free(s);
}

static void a_reserved_piece_holds_what_fits(void **state)
{
    (void)state;
    check_piece(false);
    check_piece(true);
}

static void an_unequal_tensor_of_the_same_name_is_refused(void **state)
{
    (void)state;
    wg_store *s = wg_store_new(1);
    const wg_shape a = {2, {2, 3}}, b = {1, {6}}, bad = {1, {-1}}, huge = {2, {INT64_MAX, 4}};
    const wg_tensor *t, *again;
    assert_int_equal(wg_store_add(s, "w", WG_F32, &a, &t), WG_OK);
    assert_int_equal(wg_store_add(s, "w", WG_F32, &a, &again), WG_OK);
    assert_ptr_equal(again, t);
    assert_int_equal(wg_store_add(s, "w", WG_F32, &b, &t), WG_ESHAPE);
    assert_null(t);
    assert_int_equal(wg_store_add(s, "w", WG_F64, &a, NULL), WG_EDTYPE);
    assert_int_equal(wg_store_add(s, "v", WG_F32, &bad, NULL), WG_EINVAL);
    assert_int_equal(wg_store_add(s, "v", WG_F32, &huge, NULL), WG_EINVAL);
    assert_int_equal(wg_store_count(s), 1);

    wg_graph *g = wg_graph_new();
    wg_plan *p;
    wg_output(wg_neg(wg_parameter(g, "w", WG_F32, WG_SHAPE(6), wg_ones())), "y");
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.store = s}), WG_ESHAPE);
    assert_string_equal(wg_graph_message(g),
                        "wg_plan_create: w is f32[6] in the graph, f32[2,3] in the store");
    wg_graph_free(g);
    wg_store_free(s);
}

typedef struct moments {
    double mean, variance, min, max;
} moments;

static moments moments_of(const wg_tensor *t)
{
    moments m = {0, 0, INFINITY, -INFINITY};
    int64_t n = wg_shape_count(&t->shape);
    for (int64_t i = 0; i < n; i++) {
        double x = (double)((const float *)t->data)[i];
        m.mean += x / (double)n;
        m.variance += x * x / (double)n;
        m.min = x < m.min ? x : m.min; /* gcc 12.2 for aarch64 crashes on fmin and fmax here */
        m.max = x > m.max ? x : m.max;
    }
    m.variance -= m.mean * m.mean;
    return m;
}

/* Means and variances within five standard errors; bounds exact. */
static void initial_values_have_their_distribution(void **state)
{
    (void)state;
    enum { ROWS = 100, COLUMNS = 300, COUNT = ROWS * COLUMNS };
    wg_graph *g = wg_graph_new();
    wg_store *s = wg_store_new(3);
    wg_parameter(g, "normal", WG_F32, WG_SHAPE(ROWS, COLUMNS), wg_normal_init(0.5));
    wg_parameter(g, "uniform", WG_F32, WG_SHAPE(ROWS, COLUMNS), wg_uniform_init(0.25));
    wg_parameter(g, "xavier", WG_F32, WG_SHAPE(ROWS, COLUMNS), wg_xavier(2));
    wg_parameter(g, "constant", WG_F32, WG_SHAPE(7), wg_ones());
    wg_state(g, "count", WG_I64, WG_SCALAR, wg_ones());
    wg_plan *p;
    check_that(wg_plan_create(&p, g, &(wg_plan_options){.store = s}) == WG_OK, "%s",
               wg_graph_message(g));
    const double bound[] = {INFINITY, 0.25, 2 * sqrt(6.0 / (ROWS + COLUMNS))};
    const double variance[] = {0.25, 0.25 * 0.25 / 3, bound[2] * bound[2] / 3},
                 kurtosis[] = {3, 1.8, 1.8};
    const char *const name[] = {"normal", "uniform", "xavier"};
    for (int i = 0; i < 3; i++) {
        moments m = moments_of(wg_store_find(s, name[i]));
        double of_mean = 5 * sqrt(variance[i] / COUNT);
        double of_variance = 5 * variance[i] * sqrt((kurtosis[i] - 1) / COUNT);
        check_that(fabs(m.mean) <= of_mean, "%s: mean %g", name[i], m.mean);
        check_that(fabs(m.variance - variance[i]) <= of_variance, "%s: variance %g", name[i],
                   m.variance);
        check_that(m.max <= bound[i] * (1 + 1e-6) && m.min >= -bound[i] * (1 + 1e-6),
                   "%s: %g to %g", name[i], m.min, m.max);
        check_that(i == 0 || (m.max > 0.99 * bound[i] && m.min < -0.99 * bound[i]), "%s is narrow",
                   name[i]);
    }
    moments ones = moments_of(wg_store_find(s, "constant"));
    assert_true(ones.min == 1 && ones.max == 1);
    assert_true(*(const int64_t *)wg_store_find(s, "count")->data == 1);
    wg_plan_free(p);
    wg_graph_free(g);
    wg_store_free(s);
}

/* A parameter's first value depends on seed and name alone, not on what else there is or in which
 * order. */
static void initial_values_do_not_depend_on_order(void **state)
{
    (void)state;
    float value[3][8];
    for (int way = 0; way < 3; way++) {
        wg_graph *g = wg_graph_new();
        wg_plan *p;
        for (int i = 0; i < 2; i++) {
            const char *name = (i == 0) == (way == 0) ? "a" : "b";
            wg_parameter(g, name, WG_F32, WG_SHAPE(8), wg_normal_init(1));
        }
        assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.seed = way == 2 ? 8 : 7}),
                         WG_OK);
        memcpy(value[way], wg_plan_data(p, wg_graph_find(g, "a")), sizeof value[way]);
        assert_memory_not_equal(value[way], wg_plan_data(p, wg_graph_find(g, "b")),
                                sizeof value[way]);
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_memory_equal(value[0], value[1], sizeof value[0]);
    assert_memory_not_equal(value[0], value[2], sizeof value[0]);
}

static void plans_share_a_store(void **state)
{
    (void)state;
    wg_store *s = wg_store_new(1);
    wg_graph *train = wg_graph_new(), *use = wg_graph_new();
    wg_value *w = wg_parameter(train, "w", WG_F32, WG_SHAPE(3), wg_ones());
    wg_assign(w, wg_shift(w, 1));
    wg_value *y = wg_output(wg_neg(wg_parameter(use, "w", WG_F32, WG_SHAPE(3), wg_zeros())), "y");
    wg_plan *a, *b;
    assert_int_equal(wg_plan_create(&a, train, &(wg_plan_options){.store = s}), WG_OK);
    assert_int_equal(wg_plan_create(&b, use, &(wg_plan_options){.store = s}), WG_OK);
    assert_ptr_equal(wg_plan_store(a), s);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wg_plan_run(b, 0), WG_OK);
        assert_true(((const float *)wg_plan_data(b, y))[2] == -(float)(i + 1));
        assert_int_equal(wg_plan_run(a, 0), WG_OK);
    }
    wg_plan_free(a);
    wg_plan_free(b);
    wg_graph_free(train);
    wg_graph_free(use);
    wg_store_free(s);
}

/* What is not in it is found below; what is new is its own, initial values included. */
static void a_store_over_another_shares_old_tensors_and_keeps_new_ones(void **state)
{
    (void)state;
    wg_store *base = wg_store_new(3), *over = wg_store_new_over(base);
    const wg_shape shape = {1, {4}};
    const wg_tensor *w, *again;
    assert_int_equal(wg_store_add(base, "w", WG_F32, &shape, &w), WG_OK);
    ((float *)w->data)[2] = 5;
    assert_ptr_equal(wg_store_find(over, "w"), w);
    assert_int_equal(wg_store_add(over, "w", WG_F32, &shape, &again), WG_OK);
    assert_ptr_equal(again, w);
    assert_null(wg_store_find(over, "cache"));

    wg_graph *g = wg_graph_new();
    wg_value *sum = wg_add(wg_parameter(g, "w", WG_F32, shape, wg_ones()),
                           wg_state(g, "cache", WG_F32, shape, wg_ones()));
    wg_assign(wg_graph_find(g, "cache"), sum);
    wg_output(sum, "sum");
    wg_plan *p;
    check_that(wg_plan_create(&p, g, &(wg_plan_options){.store = over}) == WG_OK, "%s",
               wg_graph_message(g));
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    assert_true(((const float *)wg_store_find(over, "cache")->data)[2] == 6);
    assert_null(wg_store_find(base, "cache"));
    assert_int_equal(wg_store_count(base), 1);
    assert_int_equal(wg_store_count(over), 1);
    wg_plan_free(p);
    wg_graph_free(g);
    wg_store_free(over);
    wg_store_free(base);
}

/* The known answer of Philox4x64-10 for counter and key zero (Random123, kat_vectors). */
static void philox_gives_the_published_words(void **state)
{
    (void)state;
    wgi_random r = wgi_random_of(0, 0, 0);
    uint64_t word[4];
    wgi_random_words(&r, 0, word);
    const uint64_t expected[4] = {UINT64_C(0x16554d9eca36314c), UINT64_C(0xdb20fe9d672d0fdc),
                                  UINT64_C(0xd7e772cee186176b), UINT64_C(0x7e68b68aec7ba23b)};
    assert_memory_equal(word, expected, sizeof word);
    assert_true(wgi_unit(0) == 0 && wgi_unit(UINT64_MAX) < 1);
}

/* A carried state of another batch size: with one store that is an error, over the store it is the
 * plan's own, and the parameters stay shared. */
static void a_state_of_another_shape_is_the_upper_store_s_own(void **state)
{
    (void)state;
    wg_store *base = wg_store_new(3), *over = wg_store_new_over(base);
    wg_store *const stores[] = {base, base, over};
    wg_plan *p[3] = {NULL};
    wg_graph *g[3];
    for (int i = 0; i < 3; i++) {
        g[i] = wg_graph_new();
        wg_value *w = wg_parameter(g[i], "w", WG_F32, WG_SHAPE(2), wg_ones()),
                 *h = wg_state(g[i], "h", WG_F32, WG_SHAPE(i ? 1 : 32, 2), wg_ones());
        wg_assign(h, wg_output(wg_add(h, w), "y"));
        wg_status status = wg_plan_create(&p[i], g[i], &(wg_plan_options){.store = stores[i]});
        assert_int_equal(status, i == 1 ? WG_ESHAPE : WG_OK);
        if (i != 1)
            assert_int_equal(wg_plan_run(p[i], 0), WG_OK);
    }
    assert_string_equal(wg_graph_message(g[1]),
                        "wg_plan_create: h is f32[1,2] in the graph, f32[32,2] in the store (a "
                        "store made by wg_store_new_over can have its own)");
    assert_int_equal(wg_store_count(base), 2);
    assert_int_equal(wg_store_count(over), 1);
    assert_true(((const float *)wg_store_find(over, "h")->data)[1] == 2);
    assert_ptr_equal(wg_store_find(over, "w"), wg_store_find(base, "w"));
    for (int i = 0; i < 3; i++) {
        wg_plan_free(p[i]);
        wg_graph_free(g[i]);
    }
    wg_store_free(over);
    wg_store_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_of_another_shape_is_the_upper_store_s_own),
        cmocka_unit_test(tensors_are_found_by_name),
        cmocka_unit_test(a_reserved_piece_holds_what_fits),
        cmocka_unit_test(an_unequal_tensor_of_the_same_name_is_refused),
        cmocka_unit_test(initial_values_have_their_distribution),
        cmocka_unit_test(initial_values_do_not_depend_on_order),
        cmocka_unit_test(plans_share_a_store),
        cmocka_unit_test(a_store_over_another_shares_old_tensors_and_keeps_new_ones),
        cmocka_unit_test(philox_gives_the_published_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
