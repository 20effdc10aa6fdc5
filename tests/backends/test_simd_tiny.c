/* Products of many tiny matrices by the simd backend against loops in more digits: all sizes,
 * transposed or not, matrices that repeat, the rows of a long matrix; on one thread and three. */
#include "tests/plans.h"
#include "tests/simd.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

static double at(wg_plan *p, const wg_value *v, int64_t i)
{
    const void *data = wg_plan_data(p, v);
    return v->dtype == WG_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void fill(wg_plan *p, const wg_value *v)
{
    uint64_t seed = 3 + (uint64_t)v->node->id;
    for (int64_t i = 0; i < wg_value_count(v); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double x = (double)(seed >> 33) * 0x1p-30 - 1;
        if (v->dtype == WG_F64)
            ((double *)wg_plan_data(p, v))[i] = x;
        else
            ((float *)wg_plan_data(p, v))[i] = (float)x;
    }
}

/* The last two axes are a matrix. */
static int64_t dim(const wg_value *v, int from_end)
{
    int axis = v->shape.rank - 1 - from_end;
    return axis < 0 ? 1 : v->shape.dim[axis];
}

/* Where the matrix of v for that batch of y begins. */
static int64_t matrix(const wg_value *v, const wg_value *y, int64_t batch)
{
    int64_t start = 0, stride = dim(v, 0) * dim(v, 1);
    for (int i = 2; i < y->shape.rank; batch /= dim(y, i), stride *= dim(v, i), i++)
        start += dim(v, i) > 1 ? batch % dim(y, i) * stride : 0;
    return start;
}

/* Returns how many numbers were compared. */
static int64_t check(wg_dtype dtype, wg_shape a_shape, wg_shape b_shape, int transposes,
                     const char *kernel)
{
    const wg_backend *const simd[] = {wg_simd_backend()};
    bool ta = transposes & WG_TN, tb = transposes & WG_NT;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_input(g, "a", dtype, a_shape), *b = wg_input(g, "b", dtype, b_shape);
    wg_value *y = wg_output(wg_matmul_t(a, b, transposes), "y");
    check_that(y, "%s", wg_graph_message(g));
    int64_t m = dim(y, 1), n = dim(y, 0), k = dim(a, ta), count = wg_value_count(y);
    double epsilon = dtype == WG_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    for (int threads = 1; threads <= 3; threads += 2) {
        wg_plan *p =
            plan_of(g, &(wg_plan_options){.backends = simd, .n_backends = 1, .threads = threads});
        assert_string_equal(wg_plan_step_at(p, wg_plan_step_count(p) - 1).kernel, kernel);
        fill(p, a);
        fill(p, b);
        run(p, 0);
        for (int64_t o = 0; o < count; o++) {
            int64_t i = o / n % m, j = o % n;
            int64_t of_a = matrix(a, y, o / (m * n)), of_b = matrix(b, y, o / (m * n));
            long double sum = 0;
            for (int64_t q = 0; q < k; q++)
                sum += (long double)at(p, a, of_a + (ta ? q * m + i : i * k + q)) *
                       (long double)at(p, b, of_b + (tb ? j * k + q : q * n + j));
            double apart = fabs((double)(at(p, y, o) - sum));
            check_that(apart <= (double)(k + 1) * epsilon,
                       "[%lld,%lld] of %lld terms, transposes %d, %d threads: element %lld is off "
                       "by %g",
                       (long long)m, (long long)n, (long long)k, transposes, threads, (long long)o,
                       apart);
        }
        wg_plan_free(p);
    }
    wg_graph_free(g);
    return 2 * count;
}

static wg_shape matrices(int64_t count, int64_t rows, int64_t columns, bool transposed)
{
    return transposed ? WG_SHAPE(count, columns, rows) : WG_SHAPE(count, rows, columns);
}

static void all_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16};
    int64_t compared = 0, tiny = 0;
    for (int i = 0; i < WG_COUNT(sizes); i++)
        for (int j = 0; j < WG_COUNT(sizes); j++)
            for (int q = 0; q < WG_COUNT(sizes); q++) {
                int64_t m = sizes[i], n = sizes[j], k = sizes[q], count = 9 + (i + j + q) % 5;
                int transposes = (i + 2 * j + q) % 4;
                bool takes = m * n * k <= 512;
                tiny += takes;
                compared += check((i + j + q) % 2 ? WG_F32 : WG_F64,
                                  matrices(count, m, k, transposes & WG_TN),
                                  matrices(count, k, n, transposes & WG_NT), transposes,
                                  takes ? "tiny products" : "packed product");
            }
    check_that(compared > 300000 && tiny > 500, "%lld, %lld", (long long)compared, (long long)tiny);
}

static void matrices_repeat(void **state)
{
    (void)state;
    static const wg_shape shapes[][2] = {
        {{4, {3, 1, 4, 5}}, {4, {1, 7, 5, 3}}}, {{4, {1, 7, 4, 5}}, {4, {3, 1, 5, 3}}},
        {{4, {3, 7, 4, 5}}, {3, {7, 5, 3}}},    {{3, {7, 4, 5}}, {4, {3, 7, 5, 3}}},
        {{2, {4, 5}}, {4, {3, 7, 5, 3}}},       {{5, {2, 1, 4, 3, 3}}, {5, {1, 6, 1, 3, 2}}},
        {{4, {3, 7, 4, 5}}, {4, {3, 7, 5, 3}}},
    };
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(shapes); i++)
        for (int d = 0; d < 2; d++)
            compared +=
                check(d ? WG_F64 : WG_F32, shapes[i][0], shapes[i][1], WG_NN, "tiny products");
    assert_true(compared > 6000);
}

/* Of a long matrix, with rows left over. */
static void rows_of_one_matrix(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int64_t m = 64; m < 80; m++)
        for (int transposes = 0; transposes < 4; transposes++)
            compared += check(
                m % 2 ? WG_F32 : WG_F64, transposes & WG_TN ? WG_SHAPE(5, m) : WG_SHAPE(m, 5),
                transposes & WG_NT ? WG_SHAPE(3, 5) : WG_SHAPE(5, 3), transposes, "tiny products");
    compared += check(WG_F32, WG_SHAPE(30, 100, 3), WG_SHAPE(3, 3), WG_NN, "tiny products");
    compared += check(WG_F32, WG_SHAPE(20011, 4), WG_SHAPE(4, 4), WG_NN, "tiny products");
    assert_true(compared > 200000);
}

/* A row and a column, and a column and a row; vectors that repeat, too. */
static void products_of_vectors(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 17}, {1, 1, 100}, {1, 1, 4097}, {40, 1, 1},
                                       {1, 33, 1}, {17, 3, 1},  {3, 100, 1},  {90, 90, 1}};
    const char *kernel = "products of vectors";
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(sizes); i++)
        for (int transposes = 0; transposes < 4; transposes++) {
            int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
            compared += check((i + transposes) % 2 ? WG_F32 : WG_F64,
                              matrices(11, m, k, transposes & WG_TN),
                              matrices(11, k, n, transposes & WG_NT), transposes, kernel);
        }
    for (int d = 0; d < 2; d++)
        compared += check(d ? WG_F64 : WG_F32, (wg_shape){4, {3, 1, 1, 50}},
                          (wg_shape){4, {1, 7, 50, 1}}, WG_NN, kernel);
    assert_true(compared > 300000);
}

static void few_are_left(void **state)
{
    (void)state;
    assert_true(check(WG_F32, WG_SHAPE(3, 4, 4), WG_SHAPE(3, 4, 4), WG_NN, "packed product") > 0);
    assert_true(check(WG_F32, WG_SHAPE(16, 4), WG_SHAPE(4, 4), WG_NN, "packed product") > 0);
    assert_true(check(WG_F32, WG_SHAPE(90, 4, 17), WG_SHAPE(90, 17, 4), WG_NN, "packed product") >
                0);
}

/* Nothing is written beyond C, and nothing read beyond A and B, which sanitizers see: they end with
 * their last numbers. */
static void all_stays_within_its_memory(void **state)
{
    (void)state;
    setting s = all_tables();
    int64_t compared = 0;
    for (int i = 0; i < drawn_cases(3000); i++) {
        int64_t m = 1 + draw(&s, 4), n = 1 + draw(&s, 9), k = 1 + draw(&s, 4);
        int64_t count = 1 + draw(&s, 12);
        bool shared = draw(&s, 4) == 0, across = draw(&s, 3) == 0;
        int64_t of_a = count * m * k, of_b = (shared ? 1 : count) * k * n, of_c = count * m * n;
        real *a = malloc((size_t)of_a * sizeof *a), *b = malloc((size_t)of_b * sizeof *b);
        assert_non_null(a);
        assert_non_null(b);
        for (int64_t j = 0; j < of_a; j++)
            a[j] = (real)draw(&s, 9) - 4;
        for (int64_t j = 0; j < of_b; j++)
            b[j] = (real)draw(&s, 9) - 4;
        for (int t = 0; t < s.n_tables; t++) {
            real *c = room(of_c);
            floats_of(s.table[t])
                ->tiny(&(simd_tiny){.count = count,
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .a = a,
                                    .b = b,
                                    .c = c,
                                    .a_next = m * k,
                                    .b_next = shared ? 0 : k * n,
                                    .a_row = k,
                                    .a_step = 1,
                                    .b_step = across ? 1 : n,
                                    .b_column = across ? k : 1,
                                    .threads = 1 + i % 3});
            for (int64_t o = 0; o < of_c; o++, compared++) {
                int64_t row = o / n, j = o % n, of = shared ? 0 : o / (m * n) * k * n;
                real sum = 0; /* of whole numbers: exact */
                for (int64_t q = 0; q < k; q++)
                    sum += a[row * k + q] * b[of + (across ? j * k + q : q * n + j)];
                check_that(c[o] == sum, "%s: %lld x [%lld,%lld], %lld terms: element %lld",
                           s.table[t]->isa, (long long)count, (long long)m, (long long)n,
                           (long long)k, (long long)o);
            }
            free_room(c, of_c);
        }
        free(a);
        free(b);
    }
    assert_true(compared > drawn_cases(200000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sizes),          cmocka_unit_test(matrices_repeat),
        cmocka_unit_test(rows_of_one_matrix), cmocka_unit_test(products_of_vectors),
        cmocka_unit_test(few_are_left),       cmocka_unit_test(all_stays_within_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
