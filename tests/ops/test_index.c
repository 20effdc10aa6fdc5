/* Indexing: index maps, ids that repeat, ids that are out of range, bits at any number of
 * threads. */
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

#include <math.h>

static const wg_dtype id_dtypes[] = {WG_I32, WG_I64};

static void embedding_reads_rows_and_its_gradient_adds_them(void **state)
{
    (void)state;
    enum { V = 5, D = 3, N = 8 };
    for (int k = 0; k < 2; k++) {
        trial t = trial_new();
        wg_value *w = trial_input(&t, WG_F32, WG_SHAPE(V, D)),
                 *c = trial_input(&t, WG_F32, WG_SHAPE(2, 4, D));
        wg_value *ids = trial_input_in(&t, id_dtypes[k], WG_SHAPE(2, 4), 0, V);
        trial_data(&t, ids)[3] = trial_data(&t, ids)[5] = trial_data(&t, ids)[6] = 4; /* repeats */
        wg_value *y = wg_embedding(w, ids), *dw;
        assert_int_equal(wg_vjp(&y, &c, 1, &w, 1, NULL, &dw), WG_OK);
        wg_value *both[] = {y, dw};
        trial_run(&t, both, 2, 2);
        double expected[V * D] = {0};
        for (int i = 0; i < N * D; i++) {
            int at = (int)trial_data(&t, ids)[i / D] * D + i % D;
            trial_expect(&t, "embedding", y, i, trial_data(&t, w)[at]);
            expected[at] += trial_data(&t, c)[i];
        }
        for (int i = 0; i < V * D; i++)
            trial_expect(&t, "its gradient", dw, i, expected[i]);
        trial_end(&t, N * D + V * D);
    }
}

/* x [2, 4, 3], ids [2, 5]: y [2, 2, 5, 3]. */
static void take_reads_planes_of_any_dtype(void **state)
{
    (void)state;
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, d, WG_SHAPE(2, 4, 3));
        wg_value *ids = trial_input_in(&t, WG_I64, WG_SHAPE(2, 5), 0, 4);
        wg_value *y = wg_take(x, ids, -2);
        assert_int_equal(y->shape.rank, 4);
        trial_run(&t, &y, 1, 2);
        for (int i = 0; i < 2 * 10 * 3; i++)
            trial_expect(
                &t, "take", y, i,
                trial_data(&t, x)[(i / 30 * 4 + (int)trial_data(&t, ids)[i / 3 % 10]) * 3 + i % 3]);
        trial_end(&t, 60);
    }
}

/* x [70, 5], ids [n] along the last axis, so few that whole columns are copied, and more. */
static void take_reads_columns_of_any_dtype(void **state)
{
    (void)state;
    enum { ROWS = 70, COLUMNS = 5 };
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++)
        for (int n = 1; n <= 6; n++) {
            trial t = trial_new();
            wg_value *x = trial_input(&t, d, WG_SHAPE(ROWS, COLUMNS));
            wg_value *ids = trial_input_in(&t, id_dtypes[n % 2], WG_SHAPE(n), 0, COLUMNS);
            wg_value *y = wg_take(x, ids, 1);
            trial_run(&t, &y, 1, 2);
            for (int i = 0; i < ROWS * n; i++)
                trial_expect(&t, "take", y, i,
                             trial_data(&t, x)[i / n * COLUMNS + (int)trial_data(&t, ids)[i % n]]);
            trial_end(&t, ROWS * n);
        }
}

/* The definitions, over all indices and each axis; ids smaller than x off the axis and than src. */
static void gather_and_scatter_add_are_their_definitions(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis++)
        for (int k = 0; k < 2; k++) {
            trial t = trial_new();
            wg_shape few = WG_SHAPE(2, 3, 2);
            few.dim[axis] = 7;
            wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(3, 4, 2));
            wg_value *src = trial_input(&t, WG_F64, WG_SHAPE(8, 7, 7));
            wg_value *ids = trial_input_in(&t, id_dtypes[k], few, 0, (double)x->shape.dim[axis]);
            wg_value *read = wg_gather(x, ids, axis),
                     *added = wg_scatter_add(x, ids, src, axis - 3), *dx[2];
            assert_int_equal(wg_vjp(&added, &x, 1, (wg_value *[]){x, src}, 2, NULL, dx), WG_OK);
            wg_value *all[] = {read, added, dx[0], dx[1]};
            trial_run(&t, all, 4, 2);
            double sum[24], dsrc[8 * 7 * 7] = {0};
            memcpy(sum, trial_data(&t, x), sizeof sum);
            int64_t index[3] = {0}, i = 0;
            do {
                int64_t at[3] = {index[0], index[1], index[2]};
                at[axis] = (int64_t)trial_data(&t, ids)[i];
                int64_t there = trial_offset(&x->shape, at),
                        here = trial_offset(&src->shape, index);
                trial_expect(&t, "gather", read, i, trial_data(&t, x)[there]);
                sum[there] += trial_data(&t, src)[here];
                dsrc[here] = trial_data(&t, x)[there]; /* the cotangent of y is x */
                i++;
            } while (trial_next(&few, index));
            for (i = 0; i < 24; i++) {
                trial_expect(&t, "scatter_add", added, i, sum[i]);
                trial_expect(&t, "scatter_add's dx", dx[0], i, trial_data(&t, x)[i]);
            }
            for (i = 0; i < 8 * 7 * 7; i++)
                trial_expect(&t, "scatter_add's dsrc", dx[1], i, dsrc[i]);
            trial_end(&t, wg_value_count(ids) + 48 + 392);
        }
}

/* Sums of many fractions at few places: the same bits at 1 to 4 threads. */
static void repeated_ids_add_up_alike_at_any_number_of_threads(void **state)
{
    (void)state;
    enum { V = 7, D = 100, N = 1000 };
    trial t = trial_new();
    wg_value *dy = trial_input(&t, WG_F32, WG_SHAPE(N, D)),
             *x = trial_input(&t, WG_F32, WG_SHAPE(V, D));
    wg_value *ids = trial_input_in(&t, WG_I32, WG_SHAPE(N), 0, V);
    wg_value *all_ids = trial_input_in(&t, WG_I64, WG_SHAPE(N, D), 0, V);
    for (int i = 0; i < N * D; i++)
        trial_data(&t, dy)[i] = (double)(float)(trial_draw(&t, -1000, 1000) / 777);
    wg_value *y[] = {wg_segment_sum(dy, ids, 0, V), wg_scatter_add(x, all_ids, dy, 0),
                     wg_segment_sum(wg_reshape(dy, WG_SHAPE(D, N)), ids, 1, V)};
    static float bits[3][V * D];
    for (int threads = 1; threads <= 4; threads++) {
        trial_run(&t, y, 3, threads);
        for (int i = 0; i < 3; i++) {
            if (threads == 1)
                memcpy(bits[i], wg_plan_data(t.p, y[i]), sizeof bits[i]);
            assert_memory_equal(bits[i], wg_plan_data(t.p, y[i]), sizeof bits[i]);
            t.compared += V * D;
        }
    }
    trial_end(&t, 12 * V * D);
}

static void ids_out_of_range_end_the_run_with_the_node_s_name(void **state)
{
    (void)state;
    static const double bad[] = {-1, 5, 2147483647.0, -2147483648.0};
    for (int op = 0; op < 8; op++)
        for (int k = 0; k < 4; k++) {
            trial t = trial_new();
            wg_scope_push(t.g, "decoder");
            wg_value *w = trial_input(&t, WG_F32, WG_SHAPE(5, 3)),
                     *dy = trial_input(&t, WG_F32, WG_SHAPE(4, 3));
            wg_value *ids = trial_input_in(&t, id_dtypes[k % 2], WG_SHAPE(4), 0, 5);
            wg_value *each = wg_expand(wg_reshape(ids, WG_SHAPE(4, 1)), WG_SHAPE(4, 3));
            wg_value *all[] = {wg_embedding(w, ids),           wg_take(w, ids, 0),
                               wg_gather(w, each, 0),          wg_scatter(w, each, dy, 0),
                               wg_scatter_add(w, each, dy, 0), wg_scatter_max(w, each, dy, 0),
                               wg_segment_sum(dy, ids, 0, 5),  wg_segment_min(dy, ids, 0, 5)};
            wg_value *y = all[op];
            wg_scope_pop(t.g);
            char expected[100];
            trial_run(&t, &y, 1, 2);
            trial_data(&t, ids)[2] = bad[k];
            assert_int_equal(trial_try(&t, &y, 1, 2), WG_EDATA);
            snprintf(expected, sizeof expected, "id %.0f at position %d is outside [0,5)", bad[k],
                     op >= 2 && op < 6 ? 2 * 3 : 2); /* each id three times, or once */
            check_that(strstr(wg_plan_message(t.p), expected) &&
                           strstr(wg_plan_message(t.p), y->node->op->name) &&
                           strstr(wg_plan_message(t.p), "decoder"),
                       "\"%s\" does not name scope, %s and %s", wg_plan_message(t.p),
                       y->node->op->name, expected);
            trial_end(&t, 0);
        }
}

static void no_ids_read_nothing_and_add_nothing(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *w = trial_input(&t, WG_F32, WG_SHAPE(5, 3)),
             *none = trial_input(&t, WG_I32, WG_SHAPE(0));
    wg_value *nothing = trial_input(&t, WG_F32, WG_SHAPE(0, 3)),
             *pairs = trial_input(&t, WG_I64, WG_SHAPE(0, 3));
    wg_value *vocabulary = trial_input(&t, WG_F32, WG_SHAPE(0, 3)); /* nothing to be read from */
    wg_value *y[] = {wg_embedding(w, none), wg_segment_sum(nothing, none, 0, 5),
                     wg_scatter_add(w, pairs, nothing, 0), wg_gather(w, pairs, 0),
                     wg_take(vocabulary, none, 0)};
    trial_run(&t, y, 5, 2);
    for (int i = 0; i < 15; i++) {
        trial_expect(&t, "segment_sum", y[1], i, 0);
        trial_expect(&t, "scatter_add", y[2], i, trial_data(&t, w)[i]);
    }
    trial_end(&t, 30);
}

/* Every dtype; the mask broadcasts, and so may x. */
static void masked_fill_selects(void **state)
{
    (void)state;
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, d, WG_SHAPE(2, 3, 4)), *row = trial_input(&t, d, WG_SHAPE(4));
        wg_value *full = trial_input(&t, WG_BOOL, WG_SHAPE(2, 3, 4)),
                 *part = trial_input(&t, WG_BOOL, WG_SHAPE(3, 1));
        double value = d == WG_BOOL ? 1 : d == WG_U8 ? 200 : -3;
        wg_value *y[] = {wg_masked_fill(x, full, value), wg_masked_fill(x, part, value),
                         wg_masked_fill(row, part, value)};
        trial_run(&t, y, 3, 2);
        for (int i = 0; i < 24; i++) {
            trial_expect(&t, "same shape", y[0], i,
                         trial_data(&t, full)[i] != 0 ? value : trial_data(&t, x)[i]);
            trial_expect(&t, "mask broadcast", y[1], i,
                         trial_data(&t, part)[i / 4 % 3] != 0 ? value : trial_data(&t, x)[i]);
        }
        for (int i = 0; i < 12; i++)
            trial_expect(&t, "both broadcast", y[2], i,
                         trial_data(&t, part)[i / 4] != 0 ? value : trial_data(&t, row)[i % 4]);
        trial_end(&t, 60);
    }
}

/* NaN and infinity under the mask show neither in y nor in the gradient. */
static void masked_elements_do_not_leak(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(4)),
             *mask = trial_input(&t, WG_BOOL, WG_SHAPE(4));
    wg_value *c = trial_input(&t, WG_F64, WG_SHAPE(4)), *y = wg_masked_fill(x, mask, -INFINITY),
             *dx;
    assert_int_equal(wg_vjp(&y, &c, 1, &x, 1, NULL, &dx), WG_OK);
    memcpy(trial_data(&t, x), (double[]){NAN, 1, INFINITY, 2}, 4 * sizeof(double));
    memcpy(trial_data(&t, c), (double[]){NAN, 3, INFINITY, 4}, 4 * sizeof(double));
    memcpy(trial_data(&t, mask), (double[]){1, 0, 1, 0}, 4 * sizeof(double));
    wg_value *both[] = {y, dx};
    trial_run(&t, both, 2, 1);
    for (int i = 0; i < 4; i++) {
        trial_expect(&t, "y", y, i, ((double[]){-INFINITY, 1, -INFINITY, 2})[i]);
        trial_expect(&t, "dx", dx, i, ((double[]){0, 3, 0, 4})[i]);
    }
    trial_end(&t, 8);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
#define WRONG(message, build)                                                                      \
    do {                                                                                           \
        wg_graph *g = wg_graph_new();                                                              \
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4));                                    \
        wg_value *ids = wg_input(g, "ids", WG_I32, WG_SHAPE(2, 5));                                \
        (void)x, (void)ids;                                                                        \
        trial_expect_message(message, build, g);                                                   \
    } while (0)
    WRONG("embedding(x, x): ids is f32, must be i32 or i64", wg_embedding(x, x));
    WRONG("embedding(ids, ids): weight is i32", wg_embedding(ids, ids));
    WRONG("take(x, ids): axis 2 is outside x", wg_take(x, ids, 2));
    WRONG("segment_sum(x, ids): ids are [2,5] but x, [3,4], has 3 at axis 0",
          wg_segment_sum(x, ids, 0, 4));
    WRONG("segment_sum(x, ids): x, [3,4], has no place for ids of [2,5] at axis 1",
          wg_segment_sum(x, ids, 1, 4));
    WRONG("segment_sum(%2, ids): the shape [-1,4] has a negative size",
          wg_segment_sum(wg_embedding(x, ids), ids, 0, -1));
    WRONG("segment_softmax(%2, ids): n_segments is -1, which gives no valid shape",
          wg_segment_softmax(wg_embedding(x, ids), ids, 0, -1));
    WRONG("scatter(x, ids, x): ids are [2,5], too large for src, [3,4], at axis 1: 5 and 4",
          wg_scatter(x, ids, x, 1));
    WRONG("scatter_max(x, ids, ids): x is f32 but src is i32", wg_scatter_max(x, ids, ids, 1));
    WRONG("gather(x, ids): ids are [2,5], too large for x, [3,4], at axis 1: 5 and 4",
          wg_gather(x, ids, 0));
    WRONG("scatter_add(x, ids, x): ids are [2,5], too large for src, [3,4], at axis 1: 5 and 4",
          wg_scatter_add(x, ids, x, 1));
    WRONG("masked_fill(x, ids): mask is i32, must be bool", wg_masked_fill(x, ids, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedding_reads_rows_and_its_gradient_adds_them),
        cmocka_unit_test(take_reads_planes_of_any_dtype),
        cmocka_unit_test(take_reads_columns_of_any_dtype),
        cmocka_unit_test(gather_and_scatter_add_are_their_definitions),
        cmocka_unit_test(repeated_ids_add_up_alike_at_any_number_of_threads),
        cmocka_unit_test(ids_out_of_range_end_the_run_with_the_node_s_name),
        cmocka_unit_test(no_ids_read_nothing_and_add_nothing),
        cmocka_unit_test(masked_fill_selects),
        cmocka_unit_test(masked_elements_do_not_leak),
        cmocka_unit_test(wrong_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
