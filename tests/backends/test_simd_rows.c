/* The own kernels over rows for each instruction set: errors as far as rounding explains them,
 * whatever the numbers. */
#include "tests/simd.h"
#include "backends/simd/kernels/stream.h"

/* ---- gradients of normalisations ------------------------------------------------------------- */

/* dgain and dbias of rows whose terms cancel, for several draws: a term is rounded 4 times and at
 * each addition of its block, as norm.c says, and that times 2^-24 of the sum of magnitudes bounds
 * the error of every draw. */
static void sums_over_rows_err_by_rounding_alone(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 5}, {31, 33}, {257, 40}, {1000, 16}, {5000, 19}};
    setting s = all_tables();
    int64_t compared = 0;
    double worst = 0;
    for (int draw = 0; draw < 8; draw++)
        for (size_t k = 0; k < WG_COUNT(shapes); k++) {
            int64_t rows = shapes[k][0], width = shapes[k][1], n = rows * width;
            float *x = numbers(&s, n), *dy = numbers(&s, n), *mean = numbers(&s, rows),
                  *rstd = numbers(&s, rows), *gain = numbers(&s, width);
            int64_t room_of_sums = 2 * simd_norm_blocks(rows) * width;
            double *sum = calloc((size_t)(4 * width), sizeof *sum); /* dgain dbias, magnitudes */
            assert_non_null(sum);
            for (int64_t i = 0; i < n; i++) {
                double d = (double)dy[i],
                       h = ((double)x[i] - (double)mean[i / width]) * (double)rstd[i / width];
                double *at = sum + i % width;
                at[0] += d * h, at[width] += d, at[2 * width] += fabs(d * h),
                    at[3 * width] += fabs(d);
            }
            double in_block = ceil((double)rows / (double)simd_norm_blocks(rows));
            check_that(in_block <= SIMD_NORM_ROWS, "%g rows in a block", in_block);
            for (int t = 0; t < s.n_tables; t++) {
                float *dx = room(n), *sums[2], *scratch = room(room_of_sums);
                for (int two = 0; two < 2; two++) {
                    sums[two] = room(2 * width);
                    s.table[t]->layernorm_backward(&(simd_norm){.x = x,
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

/* ---- reductions along rows ------------------------------------------------------------------- */

static double reduced(simd_reduction how, const float *x, int64_t n)
{
    double sum = 0, squares = 0, largest = -INFINITY, min = INFINITY, spread = 0, exps = 0,
           product = 1;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
        product *= (double)x[i];
        exps += exp((double)x[i]);
        largest = fmax(largest, (double)x[i]);
        min = fmin(min, (double)x[i]);
    }
    for (int64_t i = 0; i < n; i++)
        spread += pow((double)x[i] - sum / (double)n, 2);
    switch (how) {
    case SIMD_SUM: return sum;
    case SIMD_MEAN: return sum / (double)n;
    case SIMD_PROD: return product;
    case SIMD_MAX: return largest;
    case SIMD_MIN: return min;
    case SIMD_VAR: return spread / (double)(n - 1);
    case SIMD_LOGSUMEXP: return log(exps);
    case SIMD_NORM: return sqrt(squares);
    }
    return NAN;
}

/* All but logsumexp are made in double: what is rounded is the result, and little beside. */
static void rows_are_reduced(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {
        {1, 2}, {3, 15}, {40, 16}, {7, 33}, {129, 257}, {2, 9999}, {2, 3 * SIMD_REDUCE_PIECE + 5}};
    setting s = all_tables();
    int64_t compared = 0;
    for (size_t k = 0; k < WG_COUNT(shapes); k++) {
        int64_t rows = shapes[k][0], width = shapes[k][1];
        float *x = numbers(&s, rows * width);
        for (int t = 0; t < s.n_tables; t++)
            for (int how = SIMD_SUM; how <= SIMD_NORM; how++) {
                int64_t pieces = simd_reduce_pieces(how, width);
                double *partial = malloc((size_t)(rows * pieces) * sizeof *partial);
                float *y = room(rows), *alone = room(rows);
                simd_reduce a = {x, y, rows, width, how, 1, 2, partial};
                floats_of(s.table[t])->reduce(&a);
                a.y = alone;
                a.threads = 1;
                floats_of(s.table[t])->reduce(&a);
                assert_memory_equal(y, alone, (size_t)rows * sizeof *y);
                for (int64_t r = 0; r < rows; r++, compared++) {
                    double truth = reduced(how, x + r * width, width),
                           bound = how == SIMD_LOGSUMEXP ? 4e-7 * fmax(1, fabs(truth))
                                                         : 0x1p-24 * fabs(truth) + 1e-12;
                    check_that(fabs((double)y[r] - truth) <= bound,
                               "%s, reduction %d of %lld: %.9g, not %.9g", s.table[t]->isa, how,
                               (long long)width, (double)y[r], truth);
                }
                free_room(y, rows);
                free_room(alone, rows);
                free(partial);
            }
        free(x);
    }
    assert_true(compared > 1000);
}

/* In rows of one piece and of two. */
static void reductions_show_nan_and_infinities(void **state)
{
    (void)state;
    static const int64_t widths[] = {37, SIMD_REDUCE_PIECE + 37};
    setting s = all_tables();
    for (int t = 0; t < 2 * s.n_tables; t++)
        for (int how = SIMD_SUM; how <= SIMD_NORM; how++)
            for (int place = 0; place < 5; place++) {
                int64_t width = widths[t % 2], at = place * (width - 1) / 4;
                float *x = numbers(&s, width), y;
                double partial[2];
                simd_reduce a = {x, &y, 1, width, how, 1, 1, partial};
                const simd_float_table *kernels = floats_of(s.table[t / 2]);
                if (how == SIMD_PROD) /* or else a long product is 0 */
                    for (int64_t i = 0; i < width; i++)
                        x[i] = 1;
                x[at] = NAN;
                kernels->reduce(&a);
                assert_true(isnan(y));
                x[at] = INFINITY;
                kernels->reduce(&a);
                assert_true(how == SIMD_MIN ? isfinite(y) : how == SIMD_VAR ? isnan(y) : isinf(y));
                for (int64_t i = 0; i < width; i++)
                    x[i] = -INFINITY;
                kernels->reduce(&a);
                assert_true(how == SIMD_VAR ? isnan(y) : how == SIMD_NORM ? y > 0 : y == -INFINITY);
                for (int64_t i = 0; i < width; i++)
                    x[i] = INFINITY;
                kernels->reduce(&a);
                assert_true(how == SIMD_VAR ? isnan(y) : y == INFINITY);
                free(x);
            }
}

/* The largest and least number, and NaN, at each place of rows of every width. */
static void extremes_are_found_at_every_place(void **state)
{
    (void)state;
    enum { WIDEST = 150 };
    int64_t compared = 0;
    setting s = all_tables();
    for (int t = 0; t < s.n_tables; t++)
        for (int64_t width = 1; width <= WIDEST; width++)
            for (int64_t at = 0; at < width; at++, compared++) {
                float *x = room(width), y;
                double partial;
                for (int64_t i = 0; i < width; i++)
                    x[i] = (float)(i % 7) - 3;
                simd_reduce most = {x, &y, 1, width, SIMD_MAX, 1, 1, &partial}, least = most;
                least.how = SIMD_MIN;
                x[at] = 5;
                floats_of(s.table[t])->reduce(&most);
                assert_true(y == 5);
                x[at] = -5;
                floats_of(s.table[t])->reduce(&least);
                assert_true(y == -5);
                x[at] = NAN;
                floats_of(s.table[t])->reduce(&most);
                assert_true(isnan(y));
                floats_of(s.table[t])->reduce(&least);
                assert_true(isnan(y));
                free_room(x, width);
            }
    assert_true(compared > 0);
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* Of rows of every width about those where kernels change their way; of the three rows, the second
 * has -inf, and the third one of its numbers for all. */
static void softmax_is_right(void **state)
{
    (void)state;
    enum { WIDEST = 70, ROWS = 3 };
    static const float all[] = {-INFINITY, NAN, 1e30f};
    setting s = all_tables();
    int64_t compared = 0;
    for (int t = 0; t < s.n_tables; t++)
        for (int64_t width = 1; width <= WIDEST; width++)
            for (int draw = 0; draw < 6; draw++) {
                bool log = draw % 2;
                float *x = numbers(&s, ROWS * width), *y = room(ROWS * width);
                x[width] = width > 1 ? -INFINITY : 0;
                for (int64_t i = 0; i < width; i++)
                    x[2 * width + i] = all[draw / 2];
                const simd_softmax a = {x, y, ROWS, width, 1, 1};
                (log ? floats_of(s.table[t])->log_softmax : floats_of(s.table[t])->softmax)(&a);
                for (int64_t i = 0; i < 2 * width; i++, compared++) {
                    const float *row = x + i / width * width;
                    double truth = (double)x[i] - reduced(SIMD_LOGSUMEXP, row, width);
                    truth = log ? truth : exp(truth);
                    bool same = isinf(truth) && (double)y[i] == truth;
                    check_that(same || fabs((double)y[i] - truth) <= 6e-7 * fmax(1, fabs(truth)),
                               "%s, width %lld, %lld: %.9g, not %.9g", s.table[t]->isa,
                               (long long)width, (long long)i, (double)y[i], truth);
                }
                for (int64_t i = 2 * width; i < 3 * width; i++, compared++) {
                    double even = log ? -log1p((double)(width - 1)) : 1 / (double)width;
                    bool right = draw / 2 == 0 ? y[i] == (log ? -INFINITY : 0)
                                 : draw / 2 == 1
                                     ? isnan(y[i])
                                     : fabs((double)y[i] - even) <= 6e-7 * fmax(1, fabs(even));
                    check_that(right, "%s, width %lld, draw %d: %.9g", s.table[t]->isa,
                               (long long)width, draw, (double)y[i]);
                }
                free_room(y, ROWS * width);
                free(x);
            }
    assert_true(compared > 10000);
}

/* Along a middle axis: as along the last one of what is transposed. */
static void softmax_of_columns(void **state)
{
    (void)state;
    enum { OUTER = 2, WIDTH = 5 };
    static const int64_t inners[] = {2, 8, 16, 63, 64, 65, 150};
    setting s = all_tables();
    int64_t compared = 0;
    for (int t = 0; t < s.n_tables; t++)
        for (size_t k = 0; k < 2 * WG_COUNT(inners); k++) {
            int64_t inner = inners[k / 2], count = OUTER * WIDTH * inner;
            bool log = k % 2;
            float *x = numbers(&s, count), *turned = room(count), *y = room(count);
            float *expected = room(count);
            for (int64_t i = 0; i < WIDTH; i++)
                x[i * inner] = -INFINITY; /* a column of nothing else */
            x[inner + 1] = NAN;
            x[WIDTH * inner] = 1e30f;
            for (int64_t i = 0; i < count; i++)
                turned[(i / (WIDTH * inner) * inner + i % inner) * WIDTH + i / inner % WIDTH] =
                    x[i];
            void (*softmax)(const simd_softmax *) =
                log ? floats_of(s.table[t])->log_softmax : floats_of(s.table[t])->softmax;
            softmax(&(simd_softmax){x, y, OUTER, WIDTH, inner, 1 + (int)k % 3});
            softmax(&(simd_softmax){turned, expected, OUTER * inner, WIDTH, 1, 1});
            for (int64_t i = 0; i < count; i++, compared++) {
                double truth = (double)
                    expected[(i / (WIDTH * inner) * inner + i % inner) * WIDTH + i / inner % WIDTH];
                bool same = isnan(truth) ? isnan(y[i]) : (double)y[i] == truth;
                check_that(same || fabs((double)y[i] - truth) <= 6e-7 * fmax(1, fabs(truth)),
                           "%s, inner %lld, %lld: %.9g, not %.9g", s.table[t]->isa,
                           (long long)inner, (long long)i, (double)y[i], truth);
            }
            softmax(&(simd_softmax){x, x, OUTER, WIDTH, inner, 1}); /* in place: the same bits */
            for (int64_t i = 0; i < count; i++)
                assert_true(isnan(y[i]) ? isnan(x[i]) : x[i] == y[i]);
            free_room(turned, count);
            free_room(expected, count);
            free_room(y, count);
            free(x);
        }
    assert_true(compared > 7000 * s.n_tables);
}

/* ---- past the caches ------------------------------------------------------------------------- */

/* Results of layer normalisation: y or dx, the sum or dbranch, mean and rstd, dgain and dbias. */
typedef struct results {
    float *memory[2], *rows[2], *few[2];
} results;

/* rows[] begin `shift` floats after a cache line. */
static results new_results(int64_t count, int64_t few, int shift)
{
    results r;
    for (int i = 0; i < 2; i++) {
        r.memory[i] = aligned_alloc(64, (size_t)(count + 16) * sizeof(float));
        assert_non_null(r.memory[i]);
        memset(r.memory[i], 0xff, (size_t)(count + 16) * sizeof(float));
        r.rows[i] = r.memory[i] + shift;
        r.few[i] = room(few);
    }
    return r;
}

static void free_results(results *r, int64_t few)
{
    for (int i = 0; i < 2; i++) {
        free(r->memory[i]);
        free_room(r->few[i], few);
    }
}

static void expect_same_results(const results *a, const results *b, int64_t count, int64_t few,
                                const char *isa)
{
    for (int i = 0; i < 2; i++) {
        check_that(memcmp(a->rows[i], b->rows[i], (size_t)count * sizeof(float)) == 0,
                   "%s: rows of result %d differ", isa, i);
        check_that(memcmp(a->few[i], b->few[i], (size_t)few * sizeof(float)) == 0,
                   "%s: sums %d differ", isa, i);
    }
}

static void check_streamed_rows(int64_t width)
{
    const int64_t rows = SIMD_STREAM / 2 / width + 1, count = rows * width;
    setting s = all_tables();
    float *branch = numbers(&s, count), *residual = numbers(&s, count), *gain = numbers(&s, width);
    float *scratch = room(2 * simd_norm_blocks(rows) * width);
    for (int t = 0; t < s.n_tables; t++) {
        results forward[2], backward[2];
        for (int shift = 0; shift < 2; shift++) {
            results *y = &forward[shift], *dx = &backward[shift];
            *y = new_results(count, rows, shift);
            *dx = new_results(count, width, shift);
#if defined(__x86_64__)
            check_that(simd_streams(2 * count, width, y->rows[0], y->rows[1]) == !shift,
                       "shifted by %d", shift);
#endif
            simd_norm a = {.gain = gain,
                           .bias = gain,
                           .mask = wgi_mask_of(5, 6, 7, 0.4),
                           .rows = rows,
                           .width = width,
                           .eps = 1e-5f,
                           .threads = 1 + shift,
                           .scratch = scratch,
                           .mean = y->few[0],
                           .rstd = y->few[1]};
            simd_norm f = a, b = a;
            f.residual = residual;
            f.branch = branch;
            f.y = y->rows[0];
            f.sum = y->rows[1];
            s.table[t]->layernorm_forward(&f);
            b.x = branch;
            b.dy = residual;
            b.dx = dx->rows[0];
            b.dbranch = dx->rows[1];
            b.dgain = dx->few[0];
            b.dbias = dx->few[1];
            s.table[t]->layernorm_backward(&b);
        }
        expect_same_results(&forward[0], &forward[1], count, rows, s.table[t]->isa);
        expect_same_results(&backward[0], &backward[1], count, width, s.table[t]->isa);
        for (int shift = 0; shift < 2; shift++) {
            free_results(&forward[shift], rows);
            free_results(&backward[shift], width);
        }
    }
    free(branch);
    free(residual);
    free(gain);
    free_room(scratch, 2 * simd_norm_blocks(rows) * width);
}

/* Large results are streamed if they lie in whole lines, by pieces where rows are made of the
 * mask's groups.  The numbers are the same. */
static void streamed_rows_are_the_others(void **state)
{
    (void)state;
    check_streamed_rows(1040);
    check_streamed_rows(8 * SIMD_MASK_GROUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_rows_err_by_rounding_alone),
        cmocka_unit_test(rows_are_reduced),
        cmocka_unit_test(reductions_show_nan_and_infinities),
        cmocka_unit_test(extremes_are_found_at_every_place),
        cmocka_unit_test(softmax_is_right),
        cmocka_unit_test(softmax_of_columns),
        cmocka_unit_test(streamed_rows_are_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
