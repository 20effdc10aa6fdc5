/* The model of several machines: sums, what is hidden, what limits, and the fit. */
#include "measure/scaling.h"
#include "tests/test.h"

#include <math.h>

static void near(double got, double want)
{
    check_that(fabs(got - want) <= 1e-12 * fabs(want), "%.15g, expected %.15g", got, want);
}

static const scaling_network slow = {.latency = 1e-3, .bandwidth = 1e6, .adding = 1e9};

static void a_sum_takes_its_bytes_twice(void **state)
{
    (void)state;
    near(scaling_sum(&slow, 2, 1e6), 2e-3 + 1 + 1e-3);
    near(scaling_sum(&slow, 4, 1e6), 2e-3 + 1.5 + 1e-3);
    assert_true(scaling_sum(&slow, 1, 1e6) == 0);
}

/* Two buckets of 0.1 s (but for latency and adding), ready after 1 and 2 seconds of 2.5. */
static void what_is_ready_early_is_hidden(void **state)
{
    const double bytes[] = {1e5, 1e5}, ready[] = {1, 2};
    const scaling_update u = {2.5, 2, bytes, ready};
    const double one = scaling_sum(&slow, 2, 1e5);
    scaling_limit limit;
    (void)state;
    near(scaling_after(&slow, 2, &u), 2.5 + 2 * one);
    near(scaling_beside(&slow, 2, &u, &limit), 2.5 + one);
    assert_int_equal(limit, SCALING_COMPUTE);
    near(scaling_beside(&slow, 1, &u, &limit), 2.5);
}

static void limits_are_told_apart(void **state)
{
    double bytes[100], ready[100];
    scaling_update u = {1, 2, bytes, ready};
    scaling_limit limit;
    (void)state;
    bytes[0] = 1e3, bytes[1] = 1e6; /* nothing but the last one takes long */
    ready[0] = 0.5, ready[1] = 1;
    scaling_beside(&slow, 2, &u, &limit);
    assert_string_equal(scaling_limit_name(limit), "last");
    bytes[0] = 1e7; /* longer than all that it could be hidden behind */
    scaling_beside(&slow, 2, &u, &limit);
    assert_string_equal(scaling_limit_name(limit), "link");
    u.buckets = 100;
    for (int k = 0; k < 100; k++) { /* a byte each */
        bytes[k] = 1;
        ready[k] = 0.01;
    }
    scaling_beside(&slow, 2, &u, &limit);
    assert_string_equal(scaling_limit_name(limit), "latency");
}

static void a_fit_finds_the_network(void **state)
{
    scaling_network w = slow;
    (void)state;
    w.adding = 0;
    for (int n = 2; n <= 4; n++) {
        scaling_network got =
            scaling_fit(n, 4, scaling_sum(&w, n, 4), 1e6, scaling_sum(&w, n, 1e6));
        check_that(fabs(got.latency - w.latency) <= 1e-9, "latency %g", got.latency);
        check_that(fabs(got.bandwidth - w.bandwidth) <= 1e-3, "bandwidth %g", got.bandwidth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_takes_its_bytes_twice),
        cmocka_unit_test(what_is_ready_early_is_hidden),
        cmocka_unit_test(limits_are_told_apart),
        cmocka_unit_test(a_fit_finds_the_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
