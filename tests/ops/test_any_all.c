/* any and all over every set of axes, over many elements, and over none. */
#include "tests/trial.h"

static void every_set_of_axes(void **state)
{
    (void)state;
    for (int set = 0; set < 8; set++)
        for (int keep = 0; keep < 2; keep++) {
            trial t = trial_new();
            wg_value *x = trial_input(&t, WG_BOOL, WG_SHAPE(3, 70, 5));
            wg_axes axes = {0};
            wg_shape reduced = x->shape;
            for (int k = 0; k < 3; k++)
                if (set >> k & 1 || set == 0) { /* none given: all */
                    if (set)
                        axes.axis[axes.count++] = k - 3;
                    reduced.dim[k] = 1;
                }
            bool mostly = set % 2; /* so that neither answer is rare */
            for (int i = 0; i < 3 * 70 * 5; i++)
                trial_data(&t, x)[i] = (i * 7919 % 97 < 2) != mostly;
            wg_value *y[] = {wg_any(x, axes, keep), wg_all(x, axes, keep)};
            trial_run(&t, y, 2, 2);
            bool any[1050] = {0}, none[1050] = {0};
            int64_t index[3] = {0}, i = 0;
            do {
                int64_t at = trial_offset(&reduced, index);
                any[at] |= trial_data(&t, x)[i] != 0;
                none[at] |= trial_data(&t, x)[i++] == 0;
            } while (trial_next(&x->shape, index));
            assert_int_equal(y[0]->shape.rank, keep ? 3 : set ? 3 - axes.count : 0);
            for (i = 0; i < wg_shape_count(&reduced); i++) {
                trial_expect(&t, "any", y[0], i, any[i]);
                trial_expect(&t, "all", y[1], i, !none[i]);
            }
            trial_end(&t, 2);
        }
}

/* One element decides, wherever it is and whatever the number of threads. */
static void one_among_many(void **state)
{
    (void)state;
    enum { N = 200000 };
    static const int64_t places[] = {0, 1, 1023, 1024, 99999, N - 1};
    for (size_t k = 0; k < WG_COUNT(places); k++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, WG_BOOL, WG_SHAPE(N)), *other = wg_logical_not(x);
        memset(trial_data(&t, x), 0, N * sizeof(double));
        wg_value *y[] = {wg_any(x, WG_ALL_AXES, WG_DROP), wg_all(other, WG_ALL_AXES, WG_DROP)};
        trial_run(&t, y, 2, 3);
        trial_expect(&t, "any", y[0], 0, 0);
        trial_expect(&t, "all", y[1], 0, 1);
        trial_data(&t, x)[places[k]] = 1;
        trial_run(&t, y, 2, 3);
        trial_expect(&t, "any", y[0], 0, 1);
        trial_expect(&t, "all", y[1], 0, 0);
        trial_end(&t, 4);
    }
}

static void of_nothing_any_is_false_and_all_is_true(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_BOOL, WG_SHAPE(0, 3));
    wg_value *y[] = {wg_any(x, WG_AXES(0), WG_DROP), wg_all(x, WG_AXES(0), WG_DROP)};
    trial_run(&t, y, 2, 1);
    for (int i = 0; i < 3; i++) {
        trial_expect(&t, "any", y[0], i, 0);
        trial_expect(&t, "all", y[1], i, 1);
    }
    trial_end(&t, 6);
}

static void numbers_are_refused(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    trial_expect_message("any(x): x is f32, must be bool", wg_any(x, WG_ALL_AXES, WG_DROP), g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_axes),
        cmocka_unit_test(one_among_many),
        cmocka_unit_test(of_nothing_any_is_false_and_all_is_true),
        cmocka_unit_test(numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
