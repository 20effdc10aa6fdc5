/* Learning rates: published values, what each kind promises, and arguments at the edge. */
#include "tests/test.h"
#include "wengert/graph/op.h"
#include "wengert/train/schedule.h"

#include <float.h>
#include <math.h>

static void near(double got, double want, double relative, const char *what, int64_t t)
{
    check_that(fabs(got - want) <= relative * fabs(want), "%s, update %lld: %.17g, expected %.17g",
               what, (long long)t, got, want);
}

/* Given with nine digits. */
static void published_values(void **state)
{
    (void)state;
    const wg_schedule base = {.kind = WG_SCHEDULE_NOAM, .rate = 1, .warmup = 4000, .d_model = 512};
    const wg_schedule fairseq = {
        .kind = WG_SCHEDULE_INVERSE_SQRT, .rate = 0.005, .warmup = 2000, .start = 1e-7};
    const struct {
        const wg_schedule *schedule;
        int64_t t;
        double rate;
    } cases[] = {
        {&base, 1, 1.74692811e-7},      {&base, 4000, 6.98771243e-4}, {&base, 16000, 3.49385621e-4},
        {&base, 100000, 1.39754249e-4}, {&fairseq, 1, 2.59995e-6},    {&fairseq, 1000, 0.00250005},
        {&fairseq, 2000, 0.005},        {&fairseq, 8000, 0.0025},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        near(wg_schedule_rate(cases[i].schedule, cases[i].t), cases[i].rate, 5e-9, "rate",
             cases[i].t);
}

/* Kinds that share a warm-up and a peak. */
static wg_schedule of_kind(int kind)
{
    return (wg_schedule){
        .kind = kind, .rate = 0.5, .warmup = 100, .start = 0.1, .floor = 0.02, .updates = 1100};
}

static void warm_up_is_a_straight_line_to_the_peak(void **state)
{
    (void)state;
    for (int kind = WG_SCHEDULE_INVERSE_SQRT; kind <= WG_SCHEDULE_CONSTANT; kind++) {
        wg_schedule s = of_kind(kind);
        for (int64_t t = 1; t <= 100; t++)
            near(wg_schedule_rate(&s, t), 0.1 + 0.004 * (double)t, 4 * DBL_EPSILON, "warm-up", t);
        for (int64_t t = 101; t < 3000; t++) {
            double before = wg_schedule_rate(&s, t - 1), rate = wg_schedule_rate(&s, t);
            check_that(rate <= before && rate > 0, "kind %d rises at %lld: %g after %g", kind,
                       (long long)t, rate, before);
        }
    }
}

static void after_the_warm_up(void **state)
{
    (void)state;
    wg_schedule cosine = of_kind(WG_SCHEDULE_COSINE), linear = of_kind(WG_SCHEDULE_LINEAR),
                constant = of_kind(WG_SCHEDULE_CONSTANT), root = of_kind(WG_SCHEDULE_INVERSE_SQRT);
    const struct {
        const wg_schedule *schedule;
        int64_t t;
        double rate;
    } cases[] = {
        {&cosine, 100, 0.5},
        {&cosine, 600, 0.26},
        {&cosine, 1100, 0.02},
        {&cosine, 9999, 0.02},
        {&cosine, 350, 0.26 + 0.24 * 0.70710678118654752},
        {&linear, 100, 0.5},
        {&linear, 600, 0.26},
        {&linear, 350, 0.38},
        {&linear, 1100, 0.02},
        {&linear, 9999, 0.02},
        {&constant, 100, 0.5},
        {&constant, 9999, 0.5},
        {&root, 400, 0.25},
        {&root, 10000, 0.05},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        near(wg_schedule_rate(cases[i].schedule, cases[i].t), cases[i].rate, 8 * DBL_EPSILON,
             "rate", cases[i].t);
}

/* The smaller of the two terms of equation 3, on either side of the warm-up. */
static void noam_is_the_minimum_of_two_terms(void **state)
{
    (void)state;
    wg_schedule s = {.kind = WG_SCHEDULE_NOAM, .rate = 2, .warmup = 50, .d_model = 64};
    for (int64_t t = 1; t < 200; t++) {
        double x = (double)t, want = 2 * 0.125 * fmin(1 / sqrt(x), x * pow(50, -1.5));
        near(wg_schedule_rate(&s, t), want, 4 * DBL_EPSILON, "noam", t);
    }
}

static void no_warm_up_begins_at_the_peak(void **state)
{
    (void)state;
    for (int kind = WG_SCHEDULE_NOAM; kind <= WG_SCHEDULE_CONSTANT; kind++) {
        wg_schedule s = of_kind(kind);
        s.warmup = 0;
        s.d_model = 1;
        double first = wg_schedule_rate(&s, 1), share = kind >= WG_SCHEDULE_COSINE ? 1 / 1100. : 0;
        check_that(fabs(first - 0.5) <= 0.5 * share, "kind %d begins at %g", kind, first);
        s.warmup = -7;
        assert_true(wg_schedule_rate(&s, 1) == first);
    }
}

static void edges_are_finite(void **state)
{
    (void)state;
    const int64_t times[] = {INT64_MIN, -1, 0, 1, 2, INT64_MAX / 2, INT64_MAX};
    for (int kind = WG_SCHEDULE_NOAM; kind <= WG_SCHEDULE_CONSTANT; kind++)
        for (int64_t warmup = 0; warmup <= 4000; warmup += 4000) {
            wg_schedule s = of_kind(kind);
            s.warmup = warmup; /* and for 4000 the floor lies within the warm-up */
            double first = wg_schedule_rate(&s, 1);
            for (int i = 0; i < WG_COUNT(times); i++) {
                double rate = wg_schedule_rate(&s, times[i]);
                check_that(isfinite(rate) && rate >= 0, "kind %d, update %lld: %g", kind,
                           (long long)times[i], rate);
                if (times[i] < 1)
                    assert_true(rate == first);
            }
            if (kind == WG_SCHEDULE_COSINE || kind == WG_SCHEDULE_LINEAR)
                near(wg_schedule_rate(&s, 4001), 0.02, 4 * DBL_EPSILON, "floor", 4001);
        }
    assert_true(isnan(wg_schedule_rate(&(wg_schedule){.kind = 99, .rate = 1}, 5)));
}

/* PyTorch's LinearLR, then StepLR or CosineAnnealingWarmRestarts, whose updates count from 0. */
static void steps_and_restarts(void **state)
{
    (void)state;
    const wg_schedule step = {.kind = WG_SCHEDULE_STEP,
                              .rate = 0.8,
                              .warmup = 4,
                              .floor = 0.06,
                              .factor = 0.5,
                              .every = 3},
                      restart = {
                          .kind = WG_SCHEDULE_RESTARTS, .rate = 0.5, .floor = 0.1, .every = 4};
    const double steps[] = {0.2, 0.4, 0.6, 0.8, 0.8, 0.8, 0.8, 0.4, 0.4,
                            0.4, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.06},
                 cycle[] = {0.5, 0.3 + 0.2 * 0.70710678118654752, 0.3,
                            0.3 - 0.2 * 0.70710678118654752};
    for (int t = 1; t <= WG_COUNT(steps); t++)
        near(wg_schedule_rate(&step, t), steps[t - 1], 8 * DBL_EPSILON, "step", t);
    for (int t = 1; t < 40; t++)
        near(wg_schedule_rate(&restart, t), cycle[(t - 1) % 4], 8 * DBL_EPSILON, "restarts", t);
    for (int kind = WG_SCHEDULE_STEP; kind <= WG_SCHEDULE_RESTARTS; kind++) {
        wg_schedule s = of_kind(kind);
        s.factor = 0.9;
        for (int64_t t = INT64_MAX; t >= -1; t = t > 0 ? t / 3 : t - 1) {
            double rate = wg_schedule_rate(&s, t); /* also without `every` */
            check_that(rate >= 0.02 && rate <= 0.5, "kind %d, update %lld: %g", kind, (long long)t,
                       rate);
        }
    }
}

static double triangle(const void *context, int64_t t)
{
    const int64_t period = *(const int64_t *)context;
    return (double)(t % period) / (double)period;
}

static void a_schedule_of_ones_own(void **state)
{
    (void)state;
    const int64_t period = 8;
    const wg_schedule s = {.rate_at = triangle, .context = &period};
    for (int64_t t = 1; t < 30; t++)
        assert_true(wg_schedule_rate(&s, t) == triangle(&period, t));
    assert_true(wg_schedule_rate(&s, -3) == triangle(&period, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_restarts),
        cmocka_unit_test(a_schedule_of_ones_own),
        cmocka_unit_test(published_values),
        cmocka_unit_test(warm_up_is_a_straight_line_to_the_peak),
        cmocka_unit_test(after_the_warm_up),
        cmocka_unit_test(noam_is_the_minimum_of_two_terms),
        cmocka_unit_test(no_warm_up_begins_at_the_peak),
        cmocka_unit_test(edges_are_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
