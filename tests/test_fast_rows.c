/* The own kernels over rows for each instruction set: errors as far as rounding explains them, whatever the numbers. */
#include "tests/fast.h"

/* ---- gradients of normalisations ------------------------------------------------------------------------ */

/* dgain and dbias of rows whose terms cancel, for several draws: a term is rounded 4 times and at each addition of its
 * block, as norm.c says, and that times 2^-24 of the sum of magnitudes bounds the error of every draw. */
static void sums_over_rows_err_by_rounding_alone(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 5}, {31, 33}, {257, 40}, {1000, 16}, {5000, 19}};
    setting s = all_tables();
    int64_t compared = 0;
    double worst = 0;
    for (int draw = 0; draw < 8; draw++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            int64_t rows = shapes[k][0], width = shapes[k][1], n = rows * width;
            float *x = numbers(&s, n), *dy = numbers(&s, n), *mean = numbers(&s, rows),
                  *rstd = numbers(&s, rows), *gain = numbers(&s, width);
            int64_t room_of_sums = 2 * fast_norm_blocks(rows) * width;
            double *sum = calloc((size_t)(4 * width), sizeof *sum); /* dgain dbias, magnitudes */
            assert_non_null(sum);
            for (int64_t i = 0; i < n; i++) {
                double d = (double)dy[i],
                       h = ((double)x[i] - (double)mean[i / width]) * (double)rstd[i / width];
                double *at = sum + i % width;
                at[0] += d * h, at[width] += d, at[2 * width] += fabs(d * h),
                    at[3 * width] += fabs(d);
            }
            double in_block = ceil((double)rows / (double)fast_norm_blocks(rows));
            check_that(in_block <= FAST_NORM_ROWS, "%g rows in a block", in_block);
            for (int t = 0; t < s.n_tables; t++) {
                float *dx = room(n), *sums[2], *scratch = room(room_of_sums);
                for (int two = 0; two < 2; two++) {
                    sums[two] = room(2 * width);
                    s.table[t]->layernorm_backward(&(fast_norm){.x = x,
                                                                .dy = dy,
                                                                .mean = mean,
                                                                .rstd = rstd,
                                                                .gain = draw % 2 ? gain : NULL,
                                                                .dx = dx,
                                                                .dgain = sums[two],
                                                                .dbias = sums[two] + width,
                                                                .rows = rows,
                                                                .width = width,
                                                                .threads = two + 1,
                                                                .scratch = scratch});
                }
                assert_memory_equal(sums[0], sums[1], (size_t)(2 * width) * sizeof(float));
                for (int64_t i = 0; i < 2 * width; i++, compared++) {
                    double error = fabs((double)sums[0][i] - sum[i]),
                           bound = (4 + in_block) * 0x1p-24 * sum[2 * width + i];
                    worst = error <= worst * bound ? worst : error / bound;
                    check_that(error <= bound, "%s, %lld rows, draw %d: %g, not %g: beyond %g",
                               s.table[t]->isa, (long long)rows, draw, (double)sums[0][i], sum[i],
                               bound);
                }
                free_room(dx, n);
                free_room(scratch, room_of_sums);
                free_room(sums[0], 2 * width), free_room(sums[1], 2 * width);
            }
            free(x), free(dy), free(mean), free(rstd), free(gain), free(sum);
        }
    print_message("%lld sums, errors up to %.2f of the bound\n", (long long)compared, worst);
    assert_true(compared > 1000 && worst > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_rows_err_by_rounding_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
