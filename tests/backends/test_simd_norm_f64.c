/* layernorm and rmsnorm in f64 of each instruction set, against their definition in a longer type:
 * errors as far as rounding explains them, and the same bits on any number of threads. */
#define SIMD_F64
#include "tests/simd.h"

typedef struct sizes {
    int64_t rows, width;
} sizes;

static const sizes shapes[] = {{1, 1},    {1, 5},    {7, 31},    {3, 32},   {31, 33},
                               {257, 40}, {100, 64}, {1000, 19}, {40, 257}, {9, 1000}};

/* gain and bias of a draw: of four, one has both */
typedef struct given {
    const double *gain, *bias;
    bool rms;
} given;

/* What the definition gives for a row: mean, rstd */
static void moments_of(const double *x, int64_t n, bool rms, long double *mean, long double *rstd)
{
    long double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += rms ? 0 : x[i];
    *mean = sum / (long double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *rstd = 1 / sqrtl(squares / (long double)n + 1e-5L);
}

static void near(const char *isa, const char *what, double got, long double expected,
                 long double most)
{
    check_that(fabsl((long double)got - expected) <= most, "%s, %s: %.17g, not %.17Lg", isa, what,
               got, expected);
}

static void check_forward(setting *s, sizes n, given k)
{
    const int64_t count = n.rows * n.width;
    double *x = numbers(s, count);
    for (int64_t i = 0; i < count; i++)
        x[i] += k.rms ? 0 : 1000; /* a mean that is rounded by more than the result's error */
    for (int t = 0; t < s->n_tables; t++) {
        double *y[2], *mean[2], *rstd[2];
        for (int threads = 1; threads <= 2; threads++) {
            const int j = threads - 1;
            y[j] = room(count), mean[j] = room(n.rows), rstd[j] = room(n.rows);
            s->table[t]->layernorm_f64_forward(&(simd_norm_f64){.x = x,
                                                                .gain = k.gain,
                                                                .bias = k.bias,
                                                                .y = y[j],
                                                                .mean = k.rms ? NULL : mean[j],
                                                                .rstd = rstd[j],
                                                                .rows = n.rows,
                                                                .width = n.width,
                                                                .eps = 1e-5,
                                                                .threads = j ? 3 : 1});
        }
        assert_memory_equal(y[0], y[1], (size_t)count * sizeof(double));
        for (int64_t r = 0; r < n.rows; r++) {
            long double m, d;
            moments_of(x + r * n.width, n.width, k.rms, &m, &d);
            if (!k.rms)
                near(s->table[t]->isa, "mean", mean[0][r], m, 2 * EPSILON * (1 + m));
            near(s->table[t]->isa, "rstd", rstd[0][r], d, 40 * EPSILON * d);
            for (int64_t i = 0; i < n.width; i++) {
                const long double h = (x[r * n.width + i] - m) * d, g = k.gain ? k.gain[i] : 1,
                                  b = k.bias ? k.bias[i] : 0;
                near(s->table[t]->isa, "y", y[0][r * n.width + i], h * g + b,
                     40 * EPSILON * (1 + fabsl(h * g) + fabsl(b)));
            }
        }
        for (int j = 0; j < 2; j++) {
            free_room(y[j], count);
            free_room(mean[j], n.rows);
            free_room(rstd[j], n.rows);
        }
    }
    free(x);
}

/* dgain and dbias, and the sums of their terms' magnitudes */
typedef struct sums {
    long double *gain, *bias, *of_gain, *of_bias;
} sums;

/* Row r of dx, and its terms of the sums; `from` is what a kernel is given. */
static void expect_row(const simd_norm_f64 *from, int64_t r, const char *isa, const sums *s)
{
    const int64_t n = from->width;
    const double *x = from->x + r * n, *dy = from->dy + r * n, *gain = from->gain;
    const long double m = from->mean ? from->mean[r] : 0, d = from->rstd[r];
    long double e_sum = 0, eh_sum = 0, e_size = 0, eh_size = 0;
    for (int64_t i = 0; i < n; i++) {
        const long double h = (x[i] - m) * d, e = (long double)dy[i] * (gain ? gain[i] : 1);
        e_sum += from->mean ? e : 0, eh_sum += e * h;
        e_size += fabsl(e), eh_size += fabsl(e * h);
        s->gain[i] += dy[i] * h, s->bias[i] += dy[i];
        s->of_gain[i] += fabsl(dy[i] * h), s->of_bias[i] += fabsl((long double)dy[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        const long double h = (x[i] - m) * d, e = (long double)dy[i] * (gain ? gain[i] : 1);
        const long double size = fabsl(e) + (e_size + fabsl(h) * eh_size) / (long double)n;
        near(isa, "dx", from->dx[r * n + i],
             d * (e - e_sum / (long double)n - h * eh_sum / (long double)n),
             40 * EPSILON * d * size);
    }
}

static void check_backward(setting *s, sizes n, given k)
{
    const int64_t count = n.rows * n.width, of_sums = 2 * simd_norm_blocks(n.rows) * n.width;
    double *x = numbers(s, count), *dy = numbers(s, count), *mean = numbers(s, n.rows),
           *rstd = numbers(s, n.rows);
    long double *all = calloc((size_t)(4 * n.width), sizeof *all);
    assert_non_null(all);
    for (int64_t r = 0; r < n.rows; r++)
        rstd[r] = fabs(rstd[r]) + 0.1;
    for (int t = 0; t < s->n_tables; t++) {
        double *dx[2], *to[2], *scratch = room(of_sums);
        simd_norm_f64 a = {.x = x,
                           .dy = dy,
                           .mean = k.rms ? NULL : mean,
                           .rstd = rstd,
                           .gain = k.gain,
                           .rows = n.rows,
                           .width = n.width,
                           .scratch = scratch};
        for (int j = 0; j < 2; j++) {
            a.dx = dx[j] = room(count);
            a.dgain = to[j] = room(2 * n.width);
            a.dbias = k.rms ? NULL : to[j] + n.width;
            a.threads = j ? 3 : 1;
            s->table[t]->layernorm_f64_backward(&a);
        }
        assert_memory_equal(dx[0], dx[1], (size_t)count * sizeof(double));
        assert_memory_equal(to[0], to[1], (size_t)n.width * sizeof(double));
        memset(all, 0, (size_t)(4 * n.width) * sizeof *all);
        const sums e = {all, all + n.width, all + 2 * n.width, all + 3 * n.width};
        for (int64_t r = 0; r < n.rows; r++)
            expect_row(&a, r, s->table[t]->isa, &e);
        const long double most = (4 + SIMD_NORM_ROWS) * EPSILON;
        for (int64_t i = 0; i < n.width; i++) {
            near(s->table[t]->isa, "dgain", to[0][i], e.gain[i], most * e.of_gain[i]);
            if (!k.rms)
                near(s->table[t]->isa, "dbias", to[0][n.width + i], e.bias[i], most * e.of_bias[i]);
        }
        for (int j = 0; j < 2; j++) {
            free_room(dx[j], count);
            free_room(to[j], 2 * n.width);
        }
        free_room(scratch, of_sums);
    }
    free(x), free(dy), free(mean), free(rstd), free(all);
}

static void each_draw(void (*check)(setting *s, sizes n, given k))
{
    setting s = all_tables();
    double *gain = numbers(&s, 1000), *bias = numbers(&s, 1000);
    for (size_t i = 0; i < WG_COUNT(shapes); i++)
        for (int draw = 0; draw < 8; draw++)
            check(&s, shapes[i],
                  (given){draw & 1 ? gain : NULL, draw & 2 && draw < 4 ? bias : NULL, draw >= 4});
    free(gain);
    free(bias);
}

static void rows_err_by_rounding_alone(void **state)
{
    (void)state;
    each_draw(check_forward);
}

static void gradients_err_by_rounding_alone(void **state)
{
    (void)state;
    each_draw(check_backward);
}

/* Rows of infinities, NaN and numbers whose squares overflow: as by the formula */
static void odd_rows_stay_odd(void **state)
{
    (void)state;
    enum { WIDTH = 40 };
    setting s = all_tables();
    const double odd[] = {INFINITY, -INFINITY, NAN, 1e200};
    for (int t = 0; t < s.n_tables; t++)
        for (size_t i = 0; i < WG_COUNT(odd); i++) {
            double x[WIDTH], y[WIDTH], mean, rstd;
            for (int j = 0; j < WIDTH; j++)
                x[j] = j == 35 ? odd[i] : j;
            s.table[t]->layernorm_f64_forward(&(simd_norm_f64){.x = x,
                                                               .y = y,
                                                               .mean = &mean,
                                                               .rstd = &rstd,
                                                               .rows = 1,
                                                               .width = WIDTH,
                                                               .eps = 1e-5,
                                                               .threads = 1});
            const bool far = i == 3; /* rstd is 0 there */
            check_that(far ? mean > 1e198 : i == 2 ? isnan(mean) : mean == odd[i], "%g", mean);
            check_that(far ? rstd == 0 && y[0] == 0 : isnan(rstd) && isnan(y[0]), "%g, %g", rstd,
                       y[0]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_err_by_rounding_alone),
        cmocka_unit_test(gradients_err_by_rounding_alone),
        cmocka_unit_test(odd_rows_stay_odd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
