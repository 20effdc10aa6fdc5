/* scatter, scatter_max and scatter_min: what repeated ids do, gradients, dtypes. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scatters_are_their_definitions),
        cmocka_unit_test(gradients_go_to_the_winners),
        cmocka_unit_test(nan_wins),
        cmocka_unit_test(bools_and_bytes_are_replaced_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
