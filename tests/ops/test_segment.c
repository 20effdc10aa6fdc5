/* Reductions over segments, against plain loops; empty segments, infinities, NaN, ties. */
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

#include <math.h>

enum { OUTER = 2, ROWS = 9, INNER = 35, SEGMENTS = 5 }; /* rows wider than a block of columns */

typedef struct setting {
    trial t;
    wg_value *x, *ids, *c;
} setting;

/* x [2, 3, 3, 35] with ids [3, 3] at axis 1; segment 4 has no elements. */
static setting new_setting(wg_dtype dtype, wg_dtype id_dtype)
{
    setting s = {.t = trial_new()};
    s.x = trial_input(&s.t, dtype, WG_SHAPE(OUTER, 3, 3, INNER));
    s.ids = trial_input_in(&s.t, id_dtype, WG_SHAPE(3, 3), 0, SEGMENTS - 1);
    s.c = trial_input(&s.t, dtype, WG_SHAPE(OUTER, SEGMENTS, INNER));
    return s;
}

/* Element i of segment v in column (o, j), or -1 if row i is of another. */
static int64_t member(const setting *s, int64_t o, int64_t v, int64_t i, int64_t j)
{
    return (int64_t)trial_data(&s->t, s->ids)[i] == v ? (o * ROWS + i) * INNER + j : -1;
}

static void sums_and_extremes_are_their_definitions(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_I32, WG_I64};
    static const double empty[] = {INFINITY, INFINITY, INT32_MAX, (double)INT64_MAX};
    for (int d = 0; d < 4; d++) {
        setting s = new_setting(dtypes[d], d % 2 ? WG_I32 : WG_I64);
        wg_value *all[] = {wg_segment_sum(s.x, s.ids, 1, SEGMENTS),
                           wg_segment_max(s.x, s.ids, -2, SEGMENTS),
                           wg_segment_min(s.x, s.ids, 1, SEGMENTS)};
        trial_run(&s.t, all, 3, 2);
        for (int64_t k = 0; k < OUTER * SEGMENTS * INNER; k++) {
            int64_t o = k / (SEGMENTS * INNER), v = k / INNER % SEGMENTS, j = k % INNER;
            double sum = 0, hi = d < 2 ? -empty[d] : -empty[d] - 1, lo = empty[d];
            for (int64_t i = 0; i < ROWS; i++) {
                int64_t at = member(&s, o, v, i, j);
                double x = at < 0 ? 0 : trial_data(&s.t, s.x)[at];
                sum += x;
                hi = at >= 0 && x > hi ? x : hi;
                lo = at >= 0 && x < lo ? x : lo;
            }
            trial_expect(&s.t, "segment_sum", all[0], k, sum);
            trial_expect(&s.t, "segment_max", all[1], k, hi);
            trial_expect(&s.t, "segment_min", all[2], k, lo);
        }
        trial_end(&s.t, 3 * OUTER * SEGMENTS * INNER);
    }
}

/* Numbers from -4 to 4 in segments of several: there are ties, which share. */
static void gradients_are_those_of_the_definitions(void **state)
{
    (void)state;
    setting s = new_setting(WG_F64, WG_I64);
    wg_value *sum = wg_segment_sum(s.x, s.ids, 1, SEGMENTS), *dsum;
    wg_value *top = wg_segment_max(s.x, s.ids, 1, SEGMENTS), *dtop;
    wg_value *mean = wg_segment_mean(s.x, s.ids, 1, SEGMENTS), *dmean;
    assert_int_equal(wg_vjp(&sum, &s.c, 1, &s.x, 1, NULL, &dsum), WG_OK);
    assert_int_equal(wg_vjp(&top, &s.c, 1, &s.x, 1, NULL, &dtop), WG_OK);
    assert_int_equal(wg_vjp(&mean, &s.c, 1, &s.x, 1, NULL, &dmean), WG_OK);
    wg_value *all[] = {sum, top, mean, dsum, dtop, dmean};
    trial_run(&s.t, all, 6, 2);
    int shared = 0;
    for (int64_t k = 0; k < OUTER * SEGMENTS * INNER; k++) {
        int64_t o = k / (SEGMENTS * INNER), v = k / INNER % SEGMENTS, j = k % INNER, size = 0,
                ties = 0;
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t at = member(&s, o, v, i, j);
            size += at >= 0;
            ties += at >= 0 && trial_data(&s.t, s.x)[at] == trial_at(&s.t, top, k);
        }
        double c = trial_data(&s.t, s.c)[k];
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t at = member(&s, o, v, i, j);
            if (at < 0)
                continue;
            bool wins = trial_data(&s.t, s.x)[at] == trial_at(&s.t, top, k);
            trial_expect(&s.t, "d sum", dsum, at, c);
            trial_expect(&s.t, "d mean", dmean, at, c / (double)size);
            trial_expect(&s.t, "d max", dtop, at, wins ? c / (double)ties : 0);
            shared += ties > 1;
        }
        trial_expect(&s.t, "mean", mean, k, size ? trial_at(&s.t, sum, k) / (double)size : 0);
    }
    assert_true(shared > 20);
    trial_end(&s.t, 3 * OUTER * ROWS * INNER);
}

static void softmax_sums_to_1_in_each_segment(void **state)
{
    (void)state;
    setting s = new_setting(WG_F64, WG_I32);
    for (int i = 0; i < OUTER * ROWS * INNER; i++)
        trial_data(&s.t, s.x)[i] *= 300; /* exp would overflow */
    wg_value *y = wg_segment_softmax(s.x, s.ids, 1, SEGMENTS),
             *sum = wg_segment_sum(y, s.ids, 1, SEGMENTS), *both[] = {y, sum};
    trial_run(&s.t, both, 2, 2);
    for (int64_t k = 0; k < OUTER * SEGMENTS * INNER; k++, s.t.compared++) {
        int64_t o = k / (SEGMENTS * INNER), v = k / INNER % SEGMENTS, j = k % INNER, size = 0;
        double top = -INFINITY, total = 0;
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t at = member(&s, o, v, i, j);
            top = at >= 0 ? fmax(top, trial_data(&s.t, s.x)[at]) : top;
            size += at >= 0;
        }
        for (int64_t i = 0; i < ROWS; i++)
            if (member(&s, o, v, i, j) >= 0)
                total += exp(trial_data(&s.t, s.x)[member(&s, o, v, i, j)] - top);
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t at = member(&s, o, v, i, j);
            if (at >= 0 && !(fabs(trial_at(&s.t, y, at) -
                                  exp(trial_data(&s.t, s.x)[at] - top) / total) <= 1e-15))
                fail_msg("element %lld is %.17g", (long long)at, trial_at(&s.t, y, at));
        }
        double expected = size ? 1 : 0;
        if (!(fabs(trial_at(&s.t, sum, k) - expected) <= 1e-15))
            fail_msg("segment %lld sums to %.17g", (long long)v, trial_at(&s.t, sum, k));
    }
    trial_end(&s.t, OUTER * SEGMENTS * INNER);
}

/* Segment 0 is masked throughout, 1 in part, 2 has NaN. */
static void infinities_and_nan_stay_in_their_segment(void **state)
{
    (void)state;
    enum { N = 7 };
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_F32, WG_SHAPE(N)), *c = trial_input(&t, WG_F32, WG_SHAPE(N)),
             *ids = trial_input_in(&t, WG_I64, WG_SHAPE(N), 0, 3), *dx;
    memcpy(trial_data(&t, ids), (double[]){0, 1, 2, 0, 1, 2, 1}, N * sizeof(double));
    memcpy(trial_data(&t, x), (double[]){-INFINITY, 3, NAN, -INFINITY, -INFINITY, 1, 3},
           N * sizeof(double));
    wg_value *y = wg_segment_softmax(x, ids, 0, 3), *top = wg_segment_max(x, ids, 0, 3);
    assert_int_equal(wg_vjp(&y, &c, 1, &x, 1, NULL, &dx), WG_OK);
    wg_value *all[] = {y, top, dx};
    trial_run(&t, all, 3, 1);
    static const double expected[N] = {0, 0.5, NAN, 0, 0, NAN, 0.5};
    for (int i = 0; i < N; i++)
        if (isnan(expected[i])) {
            assert_true(isnan(trial_at(&t, y, i)) && isnan(trial_at(&t, dx, i)));
        } else {
            trial_expect(&t, "softmax", y, i, expected[i]);
            assert_true(isfinite(trial_at(&t, dx, i)));
        }
    trial_expect(&t, "max", top, 0, -INFINITY);
    trial_expect(&t, "max", top, 1, 3);
    assert_true(isnan(trial_at(&t, top, 2)));
    trial_end(&t, 7);
}

/* Means, unlike sums and extremes, are of floats. */
static void means_of_integers_are_refused(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_fill(g, WG_I64, WG_SHAPE(4), 1), *ids = wg_fill(g, WG_I64, WG_SHAPE(4), 0);
    assert_non_null(wg_segment_sum(x, ids, 0, 2));
    assert_null(wg_segment_mean(x, ids, 0, 2));
    assert_int_equal(wg_graph_status(g), WG_EDTYPE);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_extremes_are_their_definitions),
        cmocka_unit_test(gradients_are_those_of_the_definitions),
        cmocka_unit_test(softmax_sums_to_1_in_each_segment),
        cmocka_unit_test(infinities_and_nan_stay_in_their_segment),
        cmocka_unit_test(means_of_integers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
