/* Padding beyond the border, and windows whose place is data. */
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

/* Where element i of the padded axis comes from. */
static int64_t source(int64_t i, int64_t before, int64_t size, wg_border border)
{
    int64_t at = i - before;
    switch (border) {
    case WG_BORDER_REFLECT: return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
    case WG_BORDER_EDGE: return at < 0 ? 0 : at >= size ? size - 1 : at;
    default: return (at + size) % size;
    }
}

/* All elements, and the cotangent of x, which is the sum over all copies, corners included. */
static void borders_continue_x(void **state)
{
    (void)state;
    static const int64_t pads[][4] = {{2, 3, 1, 2}, {0, 0, 0, 3}, {1, 0, 3, 0}};
    for (wg_border border = WG_BORDER_REFLECT; border <= WG_BORDER_WRAP; border++)
        for (int k = 0; k < 3; k++) {
            trial t = trial_new();
            wg_shape before = WG_SHAPE(pads[k][0], 0, pads[k][1]),
                     after = WG_SHAPE(pads[k][2], 0, pads[k][3]);
            wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(4, 2, 4));
            wg_value *y = wg_pad_border(x, before, after, border), *dx;
            wg_value *c = trial_input(&t, WG_F64, y->shape);
            assert_int_equal(wg_vjp(&y, &c, 1, &x, 1, NULL, &dx), WG_OK);
            wg_value *both[] = {y, dx};
            trial_run(&t, both, 2, 2);
            double sum[32] = {0};
            int64_t index[3] = {0}, i = 0;
            do {
                int64_t from[3] = {source(index[0], before.dim[0], 4, border), index[1],
                                   source(index[2], before.dim[2], 4, border)};
                int64_t at = trial_offset(&x->shape, from);
                trial_expect(&t, "pad_border", y, i, trial_data(&t, x)[at]);
                sum[at] += trial_data(&t, c)[i++];
            } while (trial_next(&y->shape, index));
            for (i = 0; i < 32; i++)
                trial_expect(&t, "dx", dx, i, sum[i]);
            trial_end(&t, 32 + wg_value_count(y));
        }
}

static void borders_of_any_dtype_and_many_edges(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_BF16, WG_I32, WG_I64, WG_I8, WG_BOOL};
    for (int d = 0; d < 6; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, dtypes[d], WG_SHAPE(3));
        wg_value *y = wg_pad_border(x, WG_SHAPE(50), WG_SHAPE(50), WG_BORDER_EDGE);
        trial_run(&t, &y, 1, 1);
        for (int i = 0; i < 103; i++)
            trial_expect(&t, "edge", y, i, trial_data(&t, x)[source(i, 50, 3, WG_BORDER_EDGE)]);
        trial_end(&t, 103);
    }
}

/* Every place where the window fits, with ids of both dtypes. */
static void windows_are_read_and_replaced(void **state)
{
    (void)state;
    for (int64_t a = 0; a < 3; a++)
        for (int64_t b = 0; b < 2; b++) {
            trial t = trial_new();
            wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(4, 5)),
                     *update = trial_input(&t, WG_F64, WG_SHAPE(2, 4)),
                     *c = trial_input(&t, WG_F64, x->shape),
                     *e = trial_input(&t, WG_F64, update->shape),
                     *start = trial_input_in(&t, b ? WG_I32 : WG_I64, WG_SHAPE(2), 0, 1);
            trial_data(&t, start)[0] = (double)a;
            trial_data(&t, start)[1] = (double)b;
            wg_value *read = wg_dynamic_slice(x, start, update->shape), *dread;
            wg_value *written = wg_dynamic_update_slice(x, start, update), *dx[2];
            assert_int_equal(wg_vjp(&read, &e, 1, &x, 1, NULL, &dread), WG_OK);
            assert_int_equal(wg_vjp(&written, &c, 1, (wg_value *[]){x, update}, 2, NULL, dx),
                             WG_OK);
            wg_value *all[] = {read, dread, written, dx[0], dx[1]};
            trial_run(&t, all, 5, 2);
            for (int64_t i = 0; i < 20; i++) {
                int64_t r = i / 5 - a, k = i % 5 - b, w = r * 4 + k;
                bool inside = r >= 0 && r < 2 && k >= 0 && k < 4;
                double here = trial_data(&t, x)[i], cot = trial_data(&t, c)[i];
                trial_expect(&t, "written", written, i, inside ? trial_data(&t, update)[w] : here);
                trial_expect(&t, "its dx", dx[0], i, inside ? 0 : cot);
                trial_expect(&t, "dx", dread, i, inside ? trial_data(&t, e)[w] : 0);
                if (inside) {
                    trial_expect(&t, "read", read, w, here);
                    trial_expect(&t, "dupdate", dx[1], w, cot);
                }
            }
            trial_end(&t, 76);
        }
}

static void windows_outside_end_the_run(void **state)
{
    (void)state;
    static const double bad[][2] = {{-1, 0}, {3, 0}, {0, 2}, {0, -2147483648.0}, {0, 2147483647.0}};
    for (int op = 0; op < 2; op++)
        for (size_t k = 0; k < WG_COUNT(bad); k++) {
            trial t = trial_new();
            wg_scope_push(t.g, "decoder");
            wg_value *x = trial_input(&t, WG_F32, WG_SHAPE(4, 5)),
                     *update = trial_input(&t, WG_F32, WG_SHAPE(2, 4)),
                     *start = trial_input_in(&t, WG_I64, WG_SHAPE(2), 0, 1);
            wg_value *y = op ? wg_dynamic_slice(x, start, update->shape)
                             : wg_dynamic_update_slice(x, start, update);
            wg_scope_pop(t.g);
            memcpy(trial_data(&t, start), bad[k], sizeof bad[k]);
            assert_int_equal(trial_try(&t, &y, 1, 2), WG_EDATA);
            char expected[100];
            int axis = bad[k][0] == 0;
            snprintf(expected, sizeof expected,
                     "start %.0f of axis %d: %d positions from there are not "
                     "within [0,%d)",
                     bad[k][axis], axis, axis ? 4 : 2, axis ? 5 : 4);
            check_that(strstr(wg_plan_message(t.p), expected) &&
                           strstr(wg_plan_message(t.p), y->node->op->name) &&
                           strstr(wg_plan_message(t.p), "decoder"),
                       "\"%s\" does not say \"%s\"", wg_plan_message(t.p), expected);
            trial_end(&t, 0);
        }
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
#define WRONG(message, build)                                                                      \
    do {                                                                                           \
        wg_graph *g = wg_graph_new();                                                              \
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4));                                    \
        wg_value *start = wg_input(g, "start", WG_I32, WG_SHAPE(2));                               \
        (void)x, (void)start;                                                                      \
        trial_expect_message(message, build, g);                                                   \
    } while (0)
    WRONG("pad_border(x): the padding of axis 0, of size 3, is 0 and 3, must be 0 to 2 with border "
          "reflect",
          wg_pad_border(x, WG_SHAPE(0, 0), WG_SHAPE(3, 0), WG_BORDER_REFLECT));
    WRONG("pad_border(x): the padding of axis 1, of size 4, is 5 and 0, must be 0 to 4 with border "
          "wrap",
          wg_pad_border(x, WG_SHAPE(0, 5), WG_SHAPE(0, 0), WG_BORDER_WRAP));
    WRONG("pad_border(x): 1 and 2 paddings for [3,4] of rank 2",
          wg_pad_border(x, WG_SHAPE(1), WG_SHAPE(0, 0), WG_BORDER_EDGE));
    WRONG("dynamic_slice(x, start): the size [3,5] does not fit into x, [3,4]",
          wg_dynamic_slice(x, start, WG_SHAPE(3, 5)));
    WRONG("dynamic_slice(x, x): start is f32, must be i32 or i64",
          wg_dynamic_slice(x, x, WG_SHAPE(1, 1)));
    WRONG("dynamic_update_slice(x, start, %2): update [2,3,4] does not fit into x, [3,4]",
          wg_dynamic_update_slice(x, start, wg_expand(x, WG_SHAPE(2, 3, 4))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders_continue_x),
        cmocka_unit_test(borders_of_any_dtype_and_many_edges),
        cmocka_unit_test(windows_are_read_and_replaced),
        cmocka_unit_test(windows_outside_end_the_run),
        cmocka_unit_test(wrong_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
