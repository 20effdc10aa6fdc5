/* Factorisations and systems of equations: what they say of matrices that have none, vectors as
 * right-hand sides, one factorisation for all that needs it, and large matrices on each backend.
 * Values and gradients: golden vectors, gradient check, conformance. */
#include "tests/numbers.h"
#include "wengert/backends/lapack.h"

/* A plan of y[0..n) on cpu alone, or on all backends. */
static wg_plan *plan_of(wg_graph *g, wg_value *const *y, size_t n, bool cpu_alone, int threads)
{
    const wg_backend *lapack = wg_lapack_backend();
    wg_plan *p;
    wg_plan_options o = {.outputs = y, .n_outputs = n, .threads = threads, .no_fold = true};
    o.reference = cpu_alone || !lapack;
    o.backends = o.reference ? NULL : &lapack;
    o.n_backends = o.reference ? 0 : 1;
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    return p;
}

/* ---- matrices that are at fault -------------------------------------------------------------- */

static wg_value *lower(wg_value *a)
{
    return wg_cholesky(a, WG_LOWER);
}
static wg_value *upper(wg_value *a)
{
    return wg_cholesky(a, WG_UPPER);
}
static wg_value *factors(wg_value *a)
{
    return wg_lu(a);
}
static wg_value *orthogonal(wg_value *a)
{
    return wg_qr(a);
}
static wg_value *eigenvalues(wg_value *a)
{
    return wg_eigh(a);
}
static wg_value *singular_vectors(wg_value *a)
{
    return wg_svd(a);
}
static wg_value *solution(wg_value *a)
{
    return wg_solve(a, wg_zeros_like(a));
}
static wg_value *inverse(wg_value *a)
{
    return wg_inverse(a);
}
static wg_value *logdet(wg_value *a)
{
    return wg_logdet(a);
}
static wg_value *substitution(wg_value *a)
{
    return wg_triangular_solve(a, wg_zeros_like(a), WG_LOWER, WG_TRANSPOSED);
}

#define GOOD 4, 1, 0, 1, 4, 1, 0, 1, 4
#define INDEFINITE 4, 1, 0, 1, -1, 0, 0, 0, 4
#define SINGULAR 1, 2, 3, 2, 4, 6, 1, 0, 5
#define WITH_NAN 4, 1, 0, 1, 4, NAN, 0, 1, 4
#define INFINITE 4, 1, 0, 1, 4, 1, INFINITY, 1, 4
static const struct {
    wg_value *(*build)(wg_value *a);
    double a[27]; /* [3, 3, 3] */
    const char *words;
} faults[] = {
    {lower,
     {GOOD, INDEFINITE, GOOD},
     "matrix [1] is not positive definite: its leading minor of order 2"},
    {upper,
     {GOOD, GOOD, INDEFINITE},
     "matrix [2] is not positive definite: its leading minor of order 2"},
    {lower, {GOOD, GOOD, WITH_NAN}, "matrix [2] has NaN at [1,2]"},
    {upper, {INFINITE, GOOD, WITH_NAN}, "matrix [0] has an infinite element at [2,0]"},
    {factors, {GOOD, SINGULAR, SINGULAR}, "matrix [1] is singular: pivot 3 of elimination is 0"},
    {factors, {GOOD, WITH_NAN, SINGULAR}, "matrix [1] has NaN at [1,2]"},
    {orthogonal, {GOOD, WITH_NAN, INFINITE}, "matrix [1] has NaN at [1,2]"},
    {eigenvalues, {GOOD, GOOD, WITH_NAN}, "matrix [2] has NaN at [1,2]"},
    {singular_vectors, {GOOD, INFINITE, GOOD}, "matrix [1] has an infinite element at [2,0]"},
    {solution, {SINGULAR, GOOD, GOOD}, "matrix [0] is singular: pivot 3 of elimination is 0"},
    {inverse, {GOOD, GOOD, SINGULAR}, "matrix [2] is singular: pivot 3 of elimination is 0"},
    {logdet, {GOOD, GOOD, SINGULAR}, "matrix [2] is singular: pivot 3 of elimination is 0"},
    {logdet, {GOOD, GOOD, WITH_NAN}, "matrix [2] has NaN at [1,2]"},
    {substitution,
     {GOOD, 1, 0, 0, 2, 3, 0, 4, 5, 0, GOOD},
     "matrix [1] is singular: element [2,2] of its diagonal is 0"},
};

/* The three matrices in the corners of larger ones, with ones on the rest of the diagonals: other
 * backends than cpu leave small matrices to it. */
static wg_value *enlarged(wg_graph *g, wg_dtype dtype, const double *small, int64_t n)
{
    double *x = calloc((size_t)(3 * n * n), sizeof *x);
    assert_non_null(x);
    for (int64_t k = 0; k < 3; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                x[(k * n + i) * n + j] = i < 3 && j < 3 ? small[(k * 3 + i) * 3 + j] : i == j;
    wg_value *a = numbers(g, dtype, WG_SHAPE(3, n, n), x);
    free(x);
    return a;
}

static void faults_are_named(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(faults); i++)
        for (int way = 0; way < 8; way++) {
            wg_graph *g = wg_graph_new();
            wg_scope_push(g, "head");
            wg_value *a = enlarged(g, way & 1 ? WG_F32 : WG_F64, faults[i].a, way & 4 ? 45 : 3);
            wg_value *y = faults[i].build(a);
            wg_scope_pop(g);
            wg_plan *p = plan_of(g, &y, 1, way & 2, 2);
            assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
            const char *message = wg_plan_message(p);
            check_that(strstr(message, faults[i].words) && strncmp(message, "head: ", 6) == 0 &&
                           strstr(message, "test_solve.c:"),
                       "\"%s\" does not say \"%s\"", message, faults[i].words);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

/* Without leading axes there is no number to name. */
static void a_single_matrix_has_no_number(void **state)
{
    (void)state;
    static const double singular[] = {SINGULAR};
    wg_graph *g = wg_graph_new();
    wg_value *y = wg_lu(numbers(g, WG_F64, WG_SHAPE(3, 3), singular));
    wg_plan *p = plan_of(g, &y, 1, false, 1);
    assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
    check_that(strstr(wg_plan_message(p), ": the matrix is singular: pivot 3"), "%s",
               wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* What is not read cannot be at fault. */
static void only_the_triangle_is_read(void **state)
{
    (void)state;
    static const double a[] = {NAN, INFINITY, 0.5, 0}, b[] = {2, 3}, x[] = {2, 2};
    for (int way = 0; way < 2; way++) {
        wg_graph *g = wg_graph_new();
        wg_value *y =
            wg_triangular_solve(numbers(g, WG_F64, WG_SHAPE(2, 2), a),
                                numbers(g, WG_F64, WG_SHAPE(2), b), WG_LOWER, WG_UNIT_DIAGONAL);
        wg_plan *p = plan_of(g, &y, 1, way, 1);
        check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
        assert_int_equal(small_equal("unit", p, y, x, 2), 2);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    enum { CASES = 7 };
    static const char *const words[CASES] = {
        "cholesky(wide): a is [2,3], must be square in its last two axes",
        "3 equations, but 2 rows of right-hand sides",
        "a is [3] of rank 1, must be of rank 2 or more",
        "solve(many, five): [2] and [5] do not broadcast",
        "triangle is 2, must be 0 to 1",
        "slogdet(wide): a is [2,3], must be square",
        "inverse(whole): a is i64, must be",
    };
    for (int i = 0; i < CASES; i++) {
        wg_graph *g = wg_graph_new();
        wg_value *wide = wg_input(g, "wide", WG_F32, WG_SHAPE(2, 3)),
                 *a = wg_input(g, "a", WG_F32, WG_SHAPE(3, 3)),
                 *many = wg_input(g, "many", WG_F32, WG_SHAPE(2, 3, 3)),
                 *five = wg_input(g, "five", WG_F32, WG_SHAPE(5, 3, 1)),
                 *vector = wg_input(g, "vector", WG_F32, WG_SHAPE(3)),
                 *whole = wg_input(g, "whole", WG_I64, WG_SHAPE(3, 3)), *y = NULL;
        switch (i) {
        case 0: y = wg_cholesky(wide, WG_LOWER); break;
        case 1: y = wg_triangular_solve(a, wide, WG_LOWER, 0); break;
        case 2: y = wg_solve(vector, a); break;
        case 3: y = wg_solve(many, five); break;
        case 4: y = wg_cholesky(a, (wg_triangle)2); break;
        case 5: y = wg_slogdet(wide); break;
        default: y = wg_inverse(whole); break;
        }
        assert_null(y);
        small_refused(g, words[i]);
    }
}

/* A vector b [n] is a column that x has not either; a is [2, n, n], so x is [2, n]. */
static void a_vector_is_one_right_hand_side(void **state)
{
    (void)state;
    static const double as[] = {2, 0, 0, 4, 0, 1, 1, 0}, bs[] = {6, 8};
    static const double xs[] = {3, 2, 8, 6}, ls[] = {1.5, 0.5, 6, 8};
    wg_graph *g = wg_graph_new();
    wg_value *a = numbers(g, WG_F64, WG_SHAPE(2, 2, 2), as),
             *b = numbers(g, WG_F64, WG_SHAPE(2), bs);
    wg_value *factor = numbers(g, WG_F64, WG_SHAPE(2, 2, 2), (double[]){2, 0, 0, 4, 1, 0, 0, 1});
    wg_value *y[] = {wg_solve(a, b), wg_solve_transposed(a, b),
                     wg_cholesky_solve(factor, b, WG_LOWER)};
    wg_plan *p = small_run(g, y, 3, 1);
    assert_int_equal(small_equal("solve", p, y[0], xs, 4), 4);
    assert_int_equal(small_equal("solve transposed", p, y[1], xs, 4), 4);
    assert_int_equal(small_equal("cholesky_solve", p, y[2], ls, 4), 4);
    assert_int_equal(y[0]->shape.rank, 2);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- one factorisation ----------------------------------------------------------------------- */

static int steps_of(wg_plan *p, const wg_op *op)
{
    int count = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        count += wg_plan_step_at(p, i).node->op == op;
    return count;
}

/* log N(b; 0, a) up to constants, -(b' a^-1 b + log |a|) / 2, by lu and by cholesky. */
static wg_value *density(wg_value *a, wg_value *b, bool by_lu)
{
    wg_value *factor = wg_cholesky(a, WG_LOWER), *diagonal[] = {factor};
    wg_value *x = by_lu ? wg_solve(a, b) : wg_cholesky_solve(factor, b, WG_LOWER);
    wg_value *log_det =
        by_lu ? wg_logdet(a)
              : wg_scale(wg_sum(wg_log(wg_einsum("ii->i", diagonal, 1)), WG_ALL_AXES, WG_DROP), 2);
    wg_value *square = wg_sum(wg_mul(b, x), WG_ALL_AXES, WG_DROP);
    return wg_scale(wg_add(square, log_det), -0.5);
}

static void a_matrix_is_factorised_once(void **state)
{
    (void)state;
    enum { N = 40 };
    uint64_t seed = 3;
    wg_graph *g = wg_graph_new();
    wg_value *half = numbers_drawn(g, WG_F64, WG_SHAPE(N, N), -1, 1, &seed);
    wg_value *eye = wg_one_hot(wg_iota(g, WG_I64, WG_SHAPE(N), 0, 0, 1), N, WG_F64);
    wg_value *a = wg_add(wg_matmul_t(half, half, WG_NT), eye);
    wg_value *b = numbers_drawn(g, WG_F64, WG_SHAPE(N), -1, 1, &seed), *wrt[] = {half, b};
    wg_value *y[2][3];
    wg_plan *p[2];
    for (int way = 0; way < 2; way++) {
        y[way][0] = density(a, b, way == 0);
        check_that(wg_grad(y[way][0], wrt, 2, y[way] + 1) == WG_OK, "%s", wg_graph_message(g));
        p[way] = small_run(g, y[way], 3, 2);
    }
    assert_int_equal(steps_of(p[0], &wg_op_lu), 1); /* solution, determinant and both gradients */
    assert_int_equal(steps_of(p[0], &wg_op_cholesky), 0);
    assert_int_equal(steps_of(p[1], &wg_op_cholesky), 1);
    for (int i = 0; i < 3; i++)
        for (int64_t k = 0; k < wg_value_count(y[0][i]); k++)
            check_that(numbers_close(small_at(p[0], y[0][i], k), small_at(p[1], y[1][i], k), 1e-9),
                       "result %d, element %lld: %.17g by lu, %.17g by cholesky", i, (long long)k,
                       small_at(p[0], y[0][i], k), small_at(p[1], y[1][i], k));
    for (int i = 0; i < 2; i++)
        wg_plan_free(p[i]);
    wg_graph_free(g);
}

/* ---- large matrices -------------------------------------------------------------------------- */

/* On the LAPACK backend, or where that is not built on cpu with other threads, against cpu on one
 * thread: sizes beyond the blocks of all kernels. */
static void large_matrices_agree_on_all_backends(void **state)
{
    (void)state;
    enum { N = 203, K = 301, RESULTS = 7 };
    uint64_t seed = 5;
    wg_graph *g = wg_graph_new();
    wg_value *half = numbers_drawn(g, WG_F64, WG_SHAPE(2, N, N), -1, 1, &seed);
    wg_value *b = numbers_drawn(g, WG_F64, WG_SHAPE(N, K), -1, 1, &seed);
    wg_value *a = wg_matmul_t(half, half, WG_NT), *lu = wg_lu(half);
    wg_value *y[RESULTS] = {wg_cholesky(a, WG_LOWER),
                            wg_cholesky(a, WG_UPPER),
                            lu,
                            wg_result_of(lu, 1),
                            wg_result_of(lu, 2),
                            wg_triangular_solve(lu, b, WG_LOWER, WG_UNIT_DIAGONAL),
                            wg_matmul(half, wg_solve(half, b))};
    wg_plan *p[3];
    for (int i = 0; i < 3; i++) {
        p[i] = plan_of(g, y, RESULTS, i == 0, i ? 2 : 1);
        check_that(wg_plan_run(p[i], 0) == WG_OK, "%s", wg_plan_message(p[i]));
    }
    for (int r = 0; r < RESULTS; r++)
        numbers_same_bits("run again", p[1], y[r], p[2], y[r]);
    for (int r = 0; r < RESULTS; r++)
        for (int64_t k = 0; k < wg_value_count(y[r]); k++)
            check_that(numbers_close(small_at(p[1], y[r], k), small_at(p[0], y[r], k), 1e-10),
                       "result %d, element %lld: %.17g, on cpu %.17g", r, (long long)k,
                       small_at(p[1], y[r], k), small_at(p[0], y[r], k));
    for (int64_t k = 0; k < N * K; k++) /* a a^-1 b = b */
        check_that(numbers_close(small_at(p[1], y[6], k), small_at(p[1], b, k), 1e-9),
                   "element %lld", (long long)k);
    for (int i = 0; i < 3; i++)
        wg_plan_free(p[i]);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(a_single_matrix_has_no_number),
        cmocka_unit_test(only_the_triangle_is_read),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(a_vector_is_one_right_hand_side),
        cmocka_unit_test(a_matrix_is_factorised_once),
        cmocka_unit_test(large_matrices_agree_on_all_backends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
