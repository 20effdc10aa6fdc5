/* scatter, scatter_max and scatter_min: what repeated ids do, gradients, dtypes. */
#include "tests/plans.h"
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

#include <math.h>

typedef wg_value *builder(const char *at, wg_value *x, wg_value *ids, wg_value *src, int axis);

/* x [4, 5], ids [3, 4], src [3, 6] along the axis: `place` of each id in x, `from` of it in src. */
enum { X = 20, IDS = 12, SRC = 18 };

typedef struct setting {
    trial t;
    wg_value *x, *ids, *src, *c;
    int axis;
} setting;

static setting new_setting(wg_dtype dtype, int axis)
{
    setting s = {.t = trial_new(), .axis = axis};
    s.x = trial_input(&s.t, dtype, WG_SHAPE(4, 5));
    s.src = trial_input(&s.t, dtype, WG_SHAPE(3, 6));
    s.ids = trial_input_in(&s.t, axis ? WG_I32 : WG_I64, WG_SHAPE(3, 4), 0, axis ? 5 : 4);
    s.c = trial_input(&s.t, dtype, WG_SHAPE(4, 5));
    return s;
}

static int64_t place(const setting *s, int64_t i)
{
    int64_t id = (int64_t)trial_data(&s->t, s->ids)[i];
    return s->axis ? i / 4 * 5 + id : id * 5 + i % 4;
}

static int64_t from(int64_t i)
{
    return i / 4 * 6 + i % 4;
}

static double joined(int which, double a, double b)
{
    return which == 0 ? b : which == 1 ? fmax(a, b) : fmin(a, b);
}

static builder *const builders[] = {wg_scatter, wg_scatter_max, wg_scatter_min};
static const char *const names[] = {"scatter", "scatter_max", "scatter_min"};

static void scatters_are_their_definitions(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_I32, WG_I64, WG_BF16};
    for (int d = 0; d < 5; d++)
        for (int axis = 0; axis < 2; axis++)
            for (int k = 0; k < 3; k++) {
                setting s = new_setting(dtypes[d], axis);
                wg_value *y = builders[k]("here", s.x, s.ids, s.src, axis - 2);
                trial_run(&s.t, &y, 1, 2);
                double expected[X];
                memcpy(expected, trial_data(&s.t, s.x), sizeof expected);
                for (int64_t i = 0; i < IDS; i++)
                    expected[place(&s, i)] =
                        joined(k, expected[place(&s, i)], trial_data(&s.t, s.src)[from(i)]);
                for (int64_t i = 0; i < X; i++)
                    trial_expect(&s.t, names[k], y, i, expected[i]);
                trial_end(&s.t, X);
            }
}

/* Replaced: the last at a place gets all.  Extremes: all that equal the result share. */
static void gradients_go_to_the_winners(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; axis++)
        for (int k = 0; k < 3; k++) {
            setting s = new_setting(WG_F64, axis);
            wg_value *y = builders[k]("here", s.x, s.ids, s.src, axis), *dx[2];
            assert_int_equal(wg_vjp(&y, &s.c, 1, (wg_value *[]){s.x, s.src}, 2, NULL, dx), WG_OK);
            wg_value *all[] = {y, dx[0], dx[1]};
            trial_run(&s.t, all, 3, 2);
            double winners[X] = {0}, dsrc[SRC] = {0};
            int64_t last[X];
            bool x_wins[X];
            for (int64_t i = 0; i < X; i++) {
                last[i] = -1;
                x_wins[i] = k > 0 && trial_data(&s.t, s.x)[i] == trial_at(&s.t, y, i);
                winners[i] = x_wins[i];
            }
            for (int64_t i = 0; i < IDS; i++) {
                int64_t at = place(&s, i);
                last[at] = i;
                winners[at] += trial_data(&s.t, s.src)[from(i)] == trial_at(&s.t, y, at);
            }
            for (int64_t i = 0; i < IDS; i++) {
                int64_t at = place(&s, i);
                bool wins =
                    k ? trial_data(&s.t, s.src)[from(i)] == trial_at(&s.t, y, at) : last[at] == i;
                dsrc[from(i)] = wins ? trial_data(&s.t, s.c)[at] / (k ? winners[at] : 1) : 0;
            }
            for (int64_t i = 0; i < X; i++) {
                double c = trial_data(&s.t, s.c)[i];
                double d = k ? (x_wins[i] ? c / winners[i] : 0) : (last[i] < 0 ? c : 0);
                trial_expect(&s.t, "dx", dx[0], i, d);
            }
            for (int64_t i = 0; i < SRC; i++)
                trial_expect(&s.t, "dsrc", dx[1], i, dsrc[i]);
            trial_end(&s.t, X + SRC);
        }
}

/* A NaN stays whoever has it, and its gradient spoils no other. */
static void nan_wins(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(3)), *src = trial_input(&t, WG_F64, WG_SHAPE(3)),
             *ids = trial_input_in(&t, WG_I64, WG_SHAPE(3), 0, 1);
    memcpy(trial_data(&t, x), (double[]){NAN, 1, 2}, 3 * sizeof(double));
    memcpy(trial_data(&t, src), (double[]){5, NAN, 7}, 3 * sizeof(double));
    memcpy(trial_data(&t, ids), (double[]){0, 1, 2}, 3 * sizeof(double));
    wg_value *y = wg_scatter_max(x, ids, src, 0), *dx[2];
    assert_int_equal(wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), (wg_value *[]){x, src}, 2, dx),
                     WG_OK);
    wg_value *all[] = {y, wg_scatter_min(x, ids, src, 0), dx[0], dx[1]};
    trial_run(&t, all, 4, 1);
    for (int i = 0; i < 2; i++)
        assert_true(isnan(trial_at(&t, all[0], i)) && isnan(trial_at(&t, all[1], i)));
    for (int i = 0; i < 3; i++) {
        trial_expect(&t, "dx", dx[0], i, 0);
        trial_expect(&t, "dsrc", dx[1], i, i == 2);
    }
    trial_expect(&t, "y", y, 2, 7);
    trial_end(&t, 7);
}

static void bools_and_bytes_are_replaced_too(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_I8, WG_BOOL};
    for (int d = 0; d < 2; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, dtypes[d], WG_SHAPE(9)),
                 *src = trial_input(&t, dtypes[d], WG_SHAPE(5)),
                 *ids = trial_input_in(&t, WG_I64, WG_SHAPE(5), 0, 9),
                 *y = wg_scatter(x, ids, src, 0);
        trial_run(&t, &y, 1, 1);
        double expected[9];
        memcpy(expected, trial_data(&t, x), sizeof expected);
        for (int i = 0; i < 5; i++)
            expected[(int)trial_data(&t, ids)[i]] = trial_data(&t, src)[i];
        for (int i = 0; i < 9; i++)
            trial_expect(&t, "scatter", y, i, expected[i]);
        trial_end(&t, 9);
    }
}

/* ---- rows in several parts ------------------------------------------------------------------- */

/* Where element i of shape s lies in a tensor of shape `of`, with `id` along the axis if it is not
 * negative. */
static int64_t place_in(const wg_shape *s, int64_t i, const wg_shape *of, int axis, int64_t id)
{
    int64_t at = 0, pitch = 1;
    for (int k = s->rank - 1; k >= 0; k--) {
        int64_t index = i % s->dim[k];
        at += (k == axis && id >= 0 ? id : index) * pitch;
        pitch *= of->dim[k];
        i /= s->dim[k];
    }
    return at;
}

/* Whole numbers, so that sums are exact in any order.  Returns how many were compared. */
static int64_t check_large(wg_shape of_x, wg_shape of_ids, wg_shape of_src, int axis, int threads)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, of_x), *ids = wg_input(g, "ids", WG_I32, of_ids);
    wg_value *src = wg_input(g, "src", WG_F32, of_src);
    wg_value *taken = wg_output(wg_gather(x, ids, axis), "taken");
    wg_value *sums = wg_output(wg_scatter_add(x, ids, src, axis), "sums");
    wg_value *last = wg_output(wg_scatter(x, ids, src, axis), "last");
    wg_plan *p = plan_of(g, &(wg_plan_options){.reference = true, .threads = threads});
    int64_t n = wg_value_count(x), count = wg_value_count(ids);
    float *of = wg_plan_data(p, x), *from = wg_plan_data(p, src);
    int32_t *id = wg_plan_data(p, ids);
    for (int64_t i = 0; i < n; i++)
        of[i] = (float)(i % 1009);
    for (int64_t i = 0; i < wg_value_count(src); i++)
        from[i] = (float)(i % 997 + 2000);
    for (int64_t i = 0; i < count; i++)
        id[i] = (int32_t)(i * 7919 % 104729 % of_x.dim[axis]);
    run(p, 0);
    float *sum = malloc((size_t)n * sizeof *sum), *end = malloc((size_t)n * sizeof *end);
    assert_true(sum && end);
    memcpy(sum, of, (size_t)n * sizeof *sum);
    memcpy(end, of, (size_t)n * sizeof *end);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = place_in(&of_ids, i, &of_x, axis, id[i]);
        float given = from[place_in(&of_ids, i, &of_src, axis, -1)];
        check_that(((const float *)wg_plan_data(p, taken))[i] == of[at], "gather: %lld",
                   (long long)i);
        sum[at] += given;
        end[at] = given;
    }
    assert_memory_equal(wg_plan_data(p, sums), sum, (size_t)n * sizeof *sum);
    assert_memory_equal(wg_plan_data(p, last), end, (size_t)n * sizeof *end);
    free(sum);
    free(end);
    wg_plan_free(p);
    wg_graph_free(g);
    return count + 2 * n;
}

static void long_rows_and_many_are_right(void **state)
{
    (void)state;
    static const struct {
        wg_shape x, ids, src;
        int axis;
    } cases[] = {
        {{2, {7, 700}}, {2, {5, 600}}, {2, {6, 640}}, 0},
        {{2, {200, 9}}, {2, {150, 5}}, {2, {151, 6}}, 1},
        {{3, {3, 6, 300}}, {3, {2, 40, 290}}, {3, {2, 41, 300}}, 1},
        {{3, {70, 3, 11}}, {3, {70, 3, 30}}, {3, {70, 3, 30}}, 2},
        {{2, {9000, 7}}, {2, {9000, 1}}, {2, {9000, 1}}, 1},
        {{3, {40, 300, 5}}, {3, {40, 300, 1}}, {3, {41, 301, 2}}, 2},
        {{1, {50000}}, {1, {70000}}, {1, {70001}}, 0},
    };
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(cases); i++)
        for (int threads = 1; threads <= 3; threads += 2)
            compared += check_large(cases[i].x, cases[i].ids, cases[i].src, cases[i].axis, threads);
    assert_true(compared > 500000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scatters_are_their_definitions),
        cmocka_unit_test(gradients_go_to_the_winners),
        cmocka_unit_test(nan_wins),
        cmocka_unit_test(long_rows_and_many_are_right),
        cmocka_unit_test(bools_and_bytes_are_replaced_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
