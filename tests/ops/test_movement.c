/* Movement, compared exactly, in every dtype: each op against an index map, and the identities
 * that bind them. */
#include "tests/plans.h"
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

/* y must have x's numbers, in x's order. */
static void expect_same(trial *t, const char *what, const wg_value *y, const wg_value *x)
{
    check_that(wg_shape_equal(&x->shape, &y->shape) && x->dtype == y->dtype,
               "%s: another shape or dtype", what);
    for (int64_t i = 0; i < wg_value_count(x); i++)
        trial_expect(t, what, y, i, trial_data(t, x)[i]);
}

static void reshape_permute_and_expand_are_their_index_maps(void **state)
{
    (void)state;
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, d, WG_SHAPE(2, 3, 4, 5));
        wg_value *row = trial_input(&t, d, WG_SHAPE(3, 1, 5));
        static const int orders[][4] = {
            {0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 3, 0, 2}, {2, 3, 0, -3}};
        wg_value *y[7];
        for (int k = 0; k < 5; k++)
            y[k] = wg_permute(x, wg_axes_make(4, orders[k]));
        y[5] = wg_expand(row, WG_SHAPE(2, 3, 4, 5));
        y[6] = wg_reshape(x, WG_SHAPE(-1, 10));
        trial_run(&t, y, 7, 2);
        int64_t index[4] = {0}, i = 0;
        do {
            for (int k = 0; k < 5; k++) {
                int64_t to[4];
                for (int a = 0; a < 4; a++)
                    to[a] = index[(orders[k][a] + 4) % 4];
                trial_expect(&t, "permute", y[k], trial_offset(&y[k]->shape, to),
                             trial_data(&t, x)[i]);
            }
            trial_expect(&t, "expand", y[5], i, trial_data(&t, row)[index[1] * 5 + index[3]]);
            trial_expect(&t, "reshape", y[6], i, trial_data(&t, x)[i]);
            i++;
        } while (trial_next(&x->shape, index));
        trial_end(&t, 7 * 120);
    }
}

/* Long axes, which are copied in blocks, with remainders; as much as all 8 axes. */
static void long_transposes_are_exact(void **state)
{
    (void)state;
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, d, WG_SHAPE(3, 50, 37));
        wg_value *z = trial_input(&t, d, WG_SHAPE(2, 2, 17, 2, 2, 2, 2, 3));
        wg_value *y[] = {wg_permute(x, WG_AXES(2, 0, 1)), wg_permute(x, WG_AXES(0, 2, 1)),
                         wg_permute(z, WG_AXES(7, 5, 3, 1, 0, 6, 4, 2))};
        static const int order[] = {7, 5, 3, 1, 0, 6, 4, 2};
        trial_run(&t, y, 3, 2);
        for (int64_t i = 0; i < 3 * 50 * 37; i++) {
            int64_t p = i / (50 * 37), q = i / 37 % 50, r = i % 37;
            trial_expect(&t, "to the front", y[0], (r * 3 + p) * 50 + q, trial_data(&t, x)[i]);
            trial_expect(&t, "matrices", y[1], (p * 37 + r) * 50 + q, trial_data(&t, x)[i]);
        }
        int64_t index[8] = {0}, i = 0;
        do {
            int64_t to[8];
            for (int a = 0; a < 8; a++)
                to[a] = index[order[a]];
            trial_expect(&t, "8 axes", y[2], trial_offset(&y[2]->shape, to),
                         trial_data(&t, z)[i++]);
        } while (trial_next(&z->shape, index));
        trial_end(&t, 2 * 3 * 50 * 37 + 17 * 64 * 3);
    }
}

/* The positions that Python's x[start:stop:step] visits, by its rules one by one. */
static int python_slice(int64_t size, int64_t start, int64_t stop, int64_t step, int64_t *visited)
{
    int64_t bound[2] = {start, stop};
    for (int i = 0; i < 2; i++) {
        if (bound[i] < 0 && bound[i] != WG_TO_START)
            bound[i] += size;
        if (bound[i] < 0)
            bound[i] = step < 0 ? -1 : 0;
        if (bound[i] >= size)
            bound[i] = step < 0 ? size - 1 : size;
    }
    int count = 0;
    for (int64_t i = bound[0]; step > 0 ? i < bound[1] : i > bound[1]; i += step)
        visited[count++] = i;
    return count;
}

/* Rows that are one number, as wide as vectors and their ends. */
static void last_axes_are_expanded(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 15, 16, 17, 64, 131};
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++)
        for (int k = 0; k < WG_COUNT(widths); k++) {
            trial t = trial_new();
            wg_value *x = trial_input(&t, d, WG_SHAPE(5, 7, 1));
            wg_value *y = wg_expand(x, WG_SHAPE(2, 5, 7, widths[k]));
            trial_run(&t, &y, 1, 2);
            for (int64_t i = 0; i < 2 * 35 * widths[k]; i++)
                trial_expect(&t, "expand", y, i, trial_data(&t, x)[i / widths[k] % 35]);
            trial_end(&t, 2 * 35 * widths[k]);
        }
}

/* Rows of every kind of copy, shared by threads whose parts begin within a run of rows */
static void many_rows_are_copied_by_threads(void **state)
{
    (void)state;
    enum { OUTER = 5, ROWS = 9001 };
    static const wg_dtype dtypes[] = {WG_I8, WG_BF16, WG_F32, WG_I64};
    static const int64_t widths[] = {1, 2, 3, 4, 6, 8, 13, 16, 32, 33};
    int64_t compared = 0;
    for (int d = 0; d < WG_COUNT(dtypes); d++)
        for (int k = 0; k < WG_COUNT(widths); k++) {
            wg_graph *g = wg_graph_new();
            int64_t width = widths[k], size = (int64_t)wg_dtype_size(dtypes[d]);
            wg_value *x = wg_input(g, "x", dtypes[d], WG_SHAPE(OUTER, ROWS, width + 3)),
                     *part = wg_output(wg_slice(x, 2, 1, width + 1, 1), "part"),
                     *back = wg_output(wg_flip(part, WG_AXES(2)), "back"),
                     *turned = wg_output(wg_permute(part, WG_AXES(1, 0, 2)), "turned");
            wg_plan *p = plan_of(g, &(wg_plan_options){.reference = true, .threads = 3});
            char *from = wg_plan_data(p, x),
                 *to[] = {wg_plan_data(p, part), wg_plan_data(p, back), wg_plan_data(p, turned)};
            for (int64_t i = 0; i < (int64_t)wg_value_bytes(x); i++)
                from[i] = (char)(i * 7 + i / 251);
            run(p, 0);
            for (int64_t row = 0; row < OUTER * ROWS; row++)
                for (int64_t j = 0; j < width; j++, compared++) {
                    const char *number = from + (row * (width + 3) + 1 + j) * size;
                    int64_t other = row % ROWS * OUTER + row / ROWS;
                    bool right =
                        memcmp(to[0] + (row * width + j) * size, number, (size_t)size) == 0 &&
                        memcmp(to[1] + (row * width + width - 1 - j) * size, number,
                               (size_t)size) == 0 &&
                        memcmp(to[2] + (other * width + j) * size, number, (size_t)size) == 0;
                    check_that(right, "%s, width %lld, row %lld", wg_dtype_name(dtypes[d]),
                               (long long)width, (long long)row);
                }
            wg_plan_free(p);
            wg_graph_free(g);
        }
    assert_true(compared > 10000000);
}

static void slice_is_python_s(void **state)
{
    (void)state;
    static const int64_t bounds[] = {-7, -5, -4, -1, 0, 1, 3, 4, 5, 9, WG_TO_END, WG_TO_START};
    int64_t total = 0;
    for (int64_t size = 0; size <= 5; size += size < 4 ? 4 : 1)
        for (int64_t step = -3; step <= 3; step++)
            for (size_t k = 0; step && k < 12 * 12; k++) {
                int64_t visited[8], start = bounds[k / 12], stop = bounds[k % 12];
                trial t = trial_new();
                wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(2, size, 3));
                wg_value *y = wg_slice(x, k % 2 ? 1 : -2, start, stop, step);
                int count = python_slice(size, start, stop, step, visited);
                trial_run(&t, &y, 1, 1);
                assert_int_equal(y->shape.dim[1], count);
                for (int64_t i = 0; i < 2 * count * 3; i++)
                    trial_expect(
                        &t, "slice", y, i,
                        trial_data(&t,
                                   x)[(i / 3 / count * size + visited[i / 3 % count]) * 3 + i % 3]);
                total += t.compared;
                trial_end(&t, 6 * count);
            }
    check_that(total > 5000, "%lld elements compared", (long long)total);
}

static void split_and_concat_are_inverse(void **state)
{
    (void)state;
    static const int64_t sizes[] = {3, 0, 1, 2};
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++)
        for (int axis = -1; axis < 3; axis++) {
            trial t = trial_new();
            wg_value *x = trial_input(&t, d, WG_SHAPE(6, 6, 6));
            wg_value *cut = wg_split(x, axis, sizes, 4), *equal = wg_split(x, axis, NULL, 3),
                     *parts[7];
            for (int i = 0; i < 7; i++)
                parts[i] = i < 4 ? wg_result_of(cut, i) : wg_result_of(equal, i - 4);
            wg_value *y[] = {wg_concat(parts, 4, axis), wg_concat(parts + 4, 3, axis),
                             wg_concat(&x, 1, axis)};
            trial_run(&t, y, 3, 2);
            for (int i = 0; i < 3; i++)
                expect_same(&t, "concat of split", y[i], x);
            trial_end(&t, 3 * 216);
        }
}

/* Positions that are moved and moved back. */
static void an_op_and_its_inverse_give_the_operand(void **state)
{
    (void)state;
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, d, WG_SHAPE(3, 4, 5));
        wg_value *padded = wg_pad(x, WG_SHAPE(1, 0, 2), WG_SHAPE(0, 3, 1), 1);
        wg_value *y[] = {
            wg_flip(wg_flip(x, WG_ALL_AXES), WG_ALL_AXES),
            wg_flip(wg_flip(wg_flip(x, WG_AXES(0, -1)), WG_AXES(1)), WG_ALL_AXES),
            wg_roll(wg_roll(x, 3, 1), -3, 1),
            wg_roll(wg_roll(wg_roll(x, INT64_MAX, 0), INT64_MAX, 0), 1,
                    0), /* 2^63 - 1 is 1 modulo 3 */
            wg_window(padded, WG_SHAPE(1, 0, 2), WG_SHAPE(3, 4, 5), WG_SHAPE(1, 1, 1)),
            wg_window(wg_slice_grad(x, WG_SHAPE(9, 4, 9), WG_SHAPE(8, 0, 0), WG_SHAPE(-4, 1, 2)),
                      WG_SHAPE(8, 0, 0), WG_SHAPE(3, 4, 5), WG_SHAPE(-4, 1, 2)),
            wg_slice(wg_tile(x, WG_SHAPE(1, 3, 1)), 1, 4, 8, 1),
            wg_squeeze(wg_unsqueeze(x, -2), 2),
            wg_reshape(wg_slice(wg_stack((wg_value *[]){padded, padded}, 2, 1), 1, 1, 2, 1),
                       padded->shape),
            padded,
        };
        trial_run(&t, y, 10, 2);
        for (int i = 0; i < 8; i++)
            expect_same(&t, "an inverse", y[i], x);
        for (int64_t i = 0; i < 4 * 7 * 8; i++)
            trial_expect(&t, "slice of stack", y[8], i, trial_at(&t, y[9], i));
        trial_end(&t, 8 * 60 + 4 * 7 * 8);
    }
}

/* Zeros are written in blocks, by all threads: of several blocks, the last one short. */
static void wide_surroundings_are_zeros(void **state)
{
    (void)state;
    enum { ROWS = 150, COLUMNS = 701, STEP = 60 };
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, d, WG_SHAPE(2, COLUMNS));
        wg_value *y[] = {
            wg_slice_grad(x, WG_SHAPE(ROWS, COLUMNS), WG_SHAPE(STEP, 0), WG_SHAPE(STEP, 1)),
            wg_pad(x, WG_SHAPE(STEP, 0), WG_SHAPE(ROWS - STEP - 2, 0), 0)};
        trial_run(&t, y, 2, 2);
        for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
            int64_t row = i / COLUMNS, column = i % COLUMNS;
            const double *from = trial_data(&t, x);
            bool far = row == STEP || row == 2 * STEP, near = row == STEP || row == STEP + 1;
            trial_expect(&t, "slice_grad", y[0], i,
                         far ? from[(row / STEP - 1) * COLUMNS + column] : 0);
            trial_expect(&t, "pad", y[1], i, near ? from[(row - STEP) * COLUMNS + column] : 0);
        }
        trial_end(&t, 2 * ROWS * COLUMNS);
    }
}

static void roll_flip_stack_tile_and_pad_are_their_index_maps(void **state)
{
    (void)state;
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, d, WG_SHAPE(3, 4)), *z = trial_input(&t, d, WG_SHAPE(3, 4));
        double value = d == WG_BOOL ? 1 : d == WG_U8 ? 200 : -3;
        wg_value *y[] = {
            wg_roll(x, -1, 1),
            wg_flip(x, WG_AXES(0)),
            wg_stack((wg_value *[]){x, z}, 2, -1),
            wg_tile(x, WG_SHAPE(2, 3)),
            wg_pad(x, WG_SHAPE(1, 2), WG_SHAPE(0, 1), value),
            wg_slice_grad(x, WG_SHAPE(3, 8), WG_SHAPE(0, 1), WG_SHAPE(1, 2)),
        };
        const double *px = trial_data(&t, x), *pz = trial_data(&t, z);
        trial_run(&t, y, 6, 2);
        for (int i = 0; i < 12; i++) {
            trial_expect(&t, "roll", y[0], i, px[i / 4 * 4 + (i + 1) % 4]);
            trial_expect(&t, "flip", y[1], i, px[(2 - i / 4) * 4 + i % 4]);
            trial_expect(&t, "stack", y[2], 2 * i, px[i]);
            trial_expect(&t, "stack", y[2], 2 * i + 1, pz[i]);
        }
        for (int i = 0; i < 6 * 12; i++)
            trial_expect(&t, "tile", y[3], i, px[i / 12 % 3 * 4 + i % 12 % 4]);
        for (int i = 0; i < 4 * 7; i++) {
            int r = i / 7 - 1, c = i % 7 - 2;
            trial_expect(&t, "pad", y[4], i, r >= 0 && c >= 0 && c < 4 ? px[r * 4 + c] : value);
        }
        for (int i = 0; i < 3 * 8; i++)
            trial_expect(&t, "slice_grad", y[5], i, i % 2 ? px[i / 2] : 0);
        trial_end(&t, 48 + 72 + 28 + 24);
    }
}

static void empty_tensors_move(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_F32, WG_SHAPE(0, 3));
    wg_value *none[] = {x, x};
    wg_value *y[] = {
        wg_permute(x, WG_AXES(1, 0)),
        wg_flip(x, WG_ALL_AXES),
        wg_roll(x, 5, 0),
        wg_concat(none, 2, 1),
        wg_stack(none, 2, 0),
        wg_tile(x, WG_SHAPE(4, 2)),
        wg_expand(x, WG_SHAPE(2, 0, 3)),
        wg_pad(x, WG_SHAPE(1, 0), WG_SHAPE(1, 0), 7),
        wg_slice_grad(x, WG_SHAPE(2, 3), WG_SHAPE(1, 0), WG_SHAPE(1, 1)),
        wg_slice(x, 0, 0, 9, 4),
    };
    trial_run(&t, y, 10, 2);
    for (int i = 0; i < 6; i++) {
        trial_expect(&t, "pad", y[7], i, 7);
        trial_expect(&t, "slice_grad", y[8], i, 0);
    }
    trial_end(&t, 12);
}

/* Only some pieces of a split have cotangents: the others count as zeros. */
static void the_gradient_of_split_fills_in_zeros(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(2, 6)),
             *c = trial_input(&t, WG_F64, WG_SHAPE(2, 2)), *dx;
    wg_value *y = wg_result_of(wg_split(x, 1, NULL, 3), 1);
    assert_int_equal(wg_vjp(&y, &c, 1, &x, 1, NULL, &dx), WG_OK);
    trial_run(&t, &dx, 1, 1);
    for (int i = 0; i < 12; i++)
        trial_expect(&t, "dx", dx, i, i % 6 / 2 == 1 ? trial_data(&t, c)[i / 6 * 2 + i % 2] : 0);
    trial_end(&t, 12);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
#define WRONG(message, build)                                                                      \
    do {                                                                                           \
        wg_graph *g = wg_graph_new();                                                              \
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4));                                    \
        wg_value *z = wg_input(g, "z", WG_F32, WG_SHAPE(2, 5));                                    \
        wg_value *xz[] = {x, z};                                                                   \
        (void)xz;                                                                                  \
        trial_expect_message(message, build, g);                                                   \
    } while (0)
    WRONG("slice: axis 2 is outside x, which is [3,4]", wg_slice(x, 2, 0, 1, 1));
    WRONG("slice(x): the step along axis 1 is 0", wg_slice(x, 1, 0, 1, 0));
    WRONG("slice(x): 3 positions from 1 in steps of 1 leave axis 0 of [3,4]",
          wg_window(x, WG_SHAPE(1, 0), WG_SHAPE(3, 4), WG_SHAPE(1, 1)));
    WRONG("slice(x): 2 positions from 1 in steps of -2 leave axis 0 of [3,4]",
          wg_window(x, WG_SHAPE(1, 0), WG_SHAPE(2, 4), WG_SHAPE(-2, 1)));
    WRONG("slice(x): 2 positions from 2 in steps of 9223372036854775807 leave axis 0 of [3,4]",
          wg_window(x, WG_SHAPE(2, 0), WG_SHAPE(2, 4), WG_SHAPE(INT64_MAX, 1)));
    WRONG("slice(x): 2 positions from 2 in steps of -9223372036854775808 leave axis 0 of [3,4]",
          wg_window(x, WG_SHAPE(2, 0), WG_SHAPE(2, 4), WG_SHAPE(INT64_MIN, 1)));
    WRONG("slice(x): 1 starts, 2 sizes and 2 steps for [3,4] of rank 2",
          wg_window(x, WG_SHAPE(1), WG_SHAPE(2, 4), WG_SHAPE(1, 1)));
    WRONG("slice_grad(x): 3 positions from 0 in steps of 1 leave axis 0 of [2,4]",
          wg_slice_grad(x, WG_SHAPE(2, 4), WG_SHAPE(0, 0), WG_SHAPE(1, 1)));
    WRONG("pad(x): the padding of axis 1 is 0 and -1, must not be negative",
          wg_pad(x, WG_SHAPE(0, 0), WG_SHAPE(0, -1), 0));
    WRONG("pad(x): the size of axis 0 overflows",
          wg_pad(x, WG_SHAPE(INT64_MAX, 0), WG_SHAPE(0, 0), 0));
    WRONG("pad(x): the size of axis 0 overflows",
          wg_pad(x, WG_SHAPE(INT64_MAX - 3, 0), WG_SHAPE(1, 0), 0));
    WRONG("concat(x, z): [3,4] and [2,5] do not fit along axis 0: sizes 4 and 5 at axis 1",
          wg_concat(xz, 2, 0));
    WRONG("concat(x, z): axis 2 is outside", wg_concat(xz, 2, 2));
    WRONG("stack(x, z): x0 is [3,4] but x1 is [2,5]", wg_stack(xz, 2, 0));
    WRONG("stack(x): axis 3 is outside the stack of [3,4]", wg_stack(xz, 1, 3));
    WRONG("split: axis 1 of size 4 does not cut into 3 equal pieces", wg_split(x, 1, NULL, 3));
    WRONG("unsqueeze: [1,1,1,1,1,1,1,1] takes no new axis: it has 8 already",
          wg_unsqueeze(wg_reshape(wg_slice(wg_slice(x, 0, 0, 1, 1), 1, 0, 1, 1),
                                  WG_SHAPE(1, 1, 1, 1, 1, 1, 1, 1)),
                       0));
    WRONG("split: n is 0, must be 1 to 2147483647", wg_split(x, 1, NULL, 0));
    WRONG("split: n is too large, or negative", wg_split(x, 1, NULL, (size_t)-1));
    WRONG("split(x): axis 5 is outside x", wg_split(x, 5, NULL, 2));
    WRONG("split(x): piece 1 of 3 does not fit into the 2 left of axis 1",
          wg_split(x, 1, ((int64_t[]){2, 3}), 2));
    WRONG("split(x): piece 1 of -1 does not fit", wg_split(x, 1, ((int64_t[]){2, -1}), 2));
    WRONG("split(x): the pieces sum to 3, axis 1 has 4", wg_split(x, 1, ((int64_t[]){1, 2}), 2));
    WRONG("tile(x): -1 repetitions of axis 0", wg_tile(x, WG_SHAPE(-1, 1)));
    WRONG("tile(x): the size of axis 1 overflows", wg_tile(x, WG_SHAPE(1, INT64_MAX / 2)));
    WRONG("flip(x): axis 0 is given twice", wg_flip(x, WG_AXES(0, 0)));
    WRONG("roll(x): axis -3 is outside x", wg_roll(x, 1, -3));
    WRONG("squeeze: axis 0 of [3,4] is not of size 1", wg_squeeze(x, 0));
    WRONG("unsqueeze: [3,4] takes no new axis 3", wg_unsqueeze(x, 3));
    WRONG("permute(x): axis 0 is given twice", wg_permute(x, WG_AXES(0, 0)));
    WRONG("expand(x): [3,4] and [3,5] do not broadcast", wg_expand(x, WG_SHAPE(3, 5)));
    WRONG("reshape(x): [3,4] has 12 elements, [5,2] has 10", wg_reshape(x, WG_SHAPE(5, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshape_permute_and_expand_are_their_index_maps),
        cmocka_unit_test(long_transposes_are_exact),
        cmocka_unit_test(last_axes_are_expanded),
        cmocka_unit_test(many_rows_are_copied_by_threads),
        cmocka_unit_test(slice_is_python_s),
        cmocka_unit_test(split_and_concat_are_inverse),
        cmocka_unit_test(an_op_and_its_inverse_give_the_operand),
        cmocka_unit_test(wide_surroundings_are_zeros),
        cmocka_unit_test(roll_flip_stack_tile_and_pad_are_their_index_maps),
        cmocka_unit_test(empty_tensors_move),
        cmocka_unit_test(the_gradient_of_split_fills_in_zeros),
        cmocka_unit_test(wrong_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
