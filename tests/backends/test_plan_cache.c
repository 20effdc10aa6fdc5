/* The plan cache: one plan a key, the least recently used go first, failures leave it as it was. */
#include "tests/allocations.h"
#include "tests/test.h"
#include "backends/plan_cache.h"
#include "wengert/ops/ops.h"

typedef struct io {
    wg_plan *plan;
    float *x;
    const float *y;
} io;

static int made;

/* y = x + x of [rows]; without rows there is no plan */
static wg_status make(void *context, const wgi_plan_key *key, wg_plan **plan, void *places,
                      wg_error *error)
{
    (void)context;
    (void)error;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(key->n[0])), *y = wg_output(wg_add(x, x), "y");
    wg_status status = key->n[0] ? wg_plan_create(plan, g, NULL) : WG_EDATA;
    if (status == WG_OK)
        *(io *)places = (io){*plan, wg_plan_data(*plan, x), wg_plan_data(*plan, y)};
    made += status == WG_OK;
    wg_graph_free(g);
    return status;
}

static wgi_plan_cache cache_of(size_t max_plans, size_t max_bytes)
{
    made = 0;
    return (wgi_plan_cache){
        .make = make, .io_size = sizeof(io), .max_plans = max_plans, .max_bytes = max_bytes};
}

/* Runs the plan for that many rows, and checks what it computes. */
static void use(wgi_plan_cache *c, int64_t rows, int64_t kind)
{
    void *found;
    wg_error error;
    assert_int_equal(wgi_plan_cache_get(c, NULL, &(wgi_plan_key){{rows, kind}}, &found, &error),
                     WG_OK);
    io *p = found;
    for (int64_t i = 0; i < rows; i++)
        p->x[i] = (float)(i + kind);
    assert_int_equal(wg_plan_run(p->plan, 0), WG_OK);
    for (int64_t i = 0; i < rows; i++)
        assert_true(p->y[i] == 2 * (float)(i + kind));
}

static bool has(wgi_plan_cache *c, int64_t rows, int64_t kind)
{
    return wgi_plan_cache_find(c, &(wgi_plan_key){{rows, kind}}) != NULL;
}

static void each_key_has_one_plan(void **state)
{
    (void)state;
    wgi_plan_cache c = cache_of(0, 0);
    for (int again = 0; again < 3; again++)
        for (int64_t rows = 1; rows <= 20; rows++)
            for (int64_t kind = 0; kind < 2; kind++)
                use(&c, rows, kind);
    assert_int_equal(made, 40);
    assert_int_equal(c.count, 40);
    assert_false(has(&c, 21, 0));
    wgi_plan_cache_clear(&c);
    assert_int_equal(c.bytes, 0);
    use(&c, 3, 0); /* it can be used again */
    assert_int_equal(c.count, 1);
    wgi_plan_cache_clear(&c);
}

static void least_recently_used_plan_is_evicted(void **state)
{
    (void)state;
    wgi_plan_cache c = cache_of(3, 0);
    for (int64_t rows = 1; rows <= 3; rows++)
        use(&c, rows, 0);
    use(&c, 1, 0);
    use(&c, 4, 0); /* instead of 2 */
    assert_true(has(&c, 1, 0) && !has(&c, 2, 0) && has(&c, 3, 0) && has(&c, 4, 0));
    use(&c, 2, 0); /* instead of 1, which was looked for first */
    assert_true(!has(&c, 1, 0) && has(&c, 2, 0) && has(&c, 3, 0) && has(&c, 4, 0));
    assert_int_equal(made, 5);
    wgi_plan_cache_clear(&c);
}

static void bytes_are_limited(void **state)
{
    (void)state;
    wgi_plan_cache unlimited = cache_of(0, 0);
    use(&unlimited, 1000, 0);
    const size_t one = unlimited.bytes;
    assert_true(one > 8000); /* x and y */
    wgi_plan_cache_clear(&unlimited);

    wgi_plan_cache c = cache_of(0, 2 * one);
    for (int64_t kind = 0; kind < 5; kind++) {
        use(&c, 1000, kind);
        assert_int_equal(c.bytes, (kind ? 2 : 1) * one);
    }
    assert_true(!has(&c, 1000, 2) && has(&c, 1000, 3) && has(&c, 1000, 4));
    wgi_plan_cache_clear(&c);

    wgi_plan_cache tiny = cache_of(0, 1); /* the plan in use is kept, however large */
    use(&tiny, 1000, 0);
    assert_int_equal(tiny.count, 1);
    wgi_plan_cache_clear(&tiny);
}

static void failed_makers_leave_the_cache_as_it_was(void **state)
{
    (void)state;
    wgi_plan_cache c = cache_of(1, 0);
    void *found;
    use(&c, 2, 0);
    assert_int_equal(wgi_plan_cache_get(&c, NULL, &(wgi_plan_key){{0}}, &found, NULL), WG_EDATA);
    assert_true(has(&c, 2, 0));
    wgi_plan_cache_clear(&c);
}

static wg_status get_once(void *context)
{
    (void)context;
    wgi_plan_cache c = cache_of(0, 0);
    void *found;
    wg_error error;
    wg_status status = wgi_plan_cache_get(&c, NULL, &(wgi_plan_key){{4}}, &found, &error);
    wgi_plan_cache_clear(&c);
    return status;
}

static void failed_allocations_are_a_status(void **state)
{
    (void)state;
    assert_true(fail_each("a plan", get_once, NULL, WG_OK) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_has_one_plan),
        cmocka_unit_test(least_recently_used_plan_is_evicted),
        cmocka_unit_test(bytes_are_limited),
        cmocka_unit_test(failed_makers_leave_the_cache_as_it_was),
        cmocka_unit_test(failed_allocations_are_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
