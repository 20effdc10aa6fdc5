/* qr, eigh and svd: that factors have the shape they must and multiply to the matrix, on each
 * backend, for matrices at which methods break; their signs; gradients at equal values; what is
 * made of them.  Derivatives elsewhere: gradient check, golden vectors. */
#include "tests/numbers.h"
#include "wengert/backends/lapack.h"

/* A plan of y[0..n) that has run, on cpu alone or with LAPACK. */
static wg_plan *run_on(wg_graph *g, wg_value *const *y, size_t n, bool cpu_alone)
{
    const wg_backend *lapack = wg_lapack_backend();
    wg_plan *p;
    wg_plan_options o = {.outputs = y, .n_outputs = n, .threads = 2, .no_fold = true};
    o.reference = cpu_alone || !lapack;
    o.backends = o.reference ? NULL : &lapack;
    o.n_backends = o.reference ? 0 : 1;
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

/* ---- the matrices ---------------------------------------------------------------------------- */

static double zero(int64_t i, int64_t j)
{
    return 0 * (double)(i + j);
}
static double identity(int64_t i, int64_t j)
{
    return i == j;
}
static double ones(int64_t i, int64_t j) /* of rank 1 */
{
    return 1 + 0 * (double)(i + j);
}
static double exchange(int64_t i, int64_t j) /* pairs of rows: all singular values are equal */
{
    return (i ^ 1) == j;
}
static double second_difference(int64_t i, int64_t j)
{
    return i == j ? 2 : i - j == 1 || j - i == 1 ? -1 : 0;
}
static double hilbert(int64_t i, int64_t j) /* as good as singular */
{
    return 1 / (double)(i + j + 1);
}
static double graded(int64_t i, int64_t j) /* from 1 down to nothing */
{
    return pow(10, -(double)(3 * (i + j))) * (i == j ? 1 : 0.5);
}
static double negative(int64_t i, int64_t j)
{
    return i == j ? -1 - (double)i : 0.25;
}
static double random_number(int64_t i, int64_t j)
{
    uint64_t x = (uint64_t)(i * 1009 + j + 1) * 6364136223846793005u;
    x = (x ^ x >> 29) * 6364136223846793005u;
    return (double)(x >> 33) * 0x1p-30 - 1;
}
static double two_columns(int64_t i, int64_t j) /* of rank 2 */
{
    return random_number(i, 0) * random_number(5, j) + random_number(i, 1) * random_number(6, j);
}

static const struct {
    const char *name;
    double (*at)(int64_t i, int64_t j);
} kinds[] = {
    {"zero", zero},
    {"identity", identity},
    {"ones", ones},
    {"exchange", exchange},
    {"hilbert", hilbert},
    {"second differences", second_difference},
    {"graded", graded},
    {"negative", negative},
    {"random", random_number},
    {"of rank 2", two_columns},
};

static const int64_t sizes[][2] = {{1, 1}, {2, 2},  {3, 3},   {1, 4},   {4, 1},   {5, 3},  {3, 7},
                                   {9, 9}, {8, 20}, {33, 12}, {40, 40}, {41, 53}, {60, 44}};

/* ---- factors --------------------------------------------------------------------------------- */

/* Numbers that are read as matrices, by rows */
typedef struct matrix {
    wg_plan *p;
    const wg_value *v;
    int64_t rows, columns;
} matrix;

static matrix matrix_of(wg_plan *p, const wg_value *v)
{
    int rank = v->shape.rank;
    return (matrix){p, v, v->shape.dim[rank - 2], v->shape.dim[rank - 1]};
}

static double at(matrix m, int64_t i, int64_t j)
{
    return small_at(m.p, m.v, i * m.columns + j);
}

/* What a matrix that is tested is called, and how far its factors may be from the truth: n + 4
 * times a few roundings for sizes up to n (LAPACK's own tests allow 30 n ulps), and as much of the
 * matrix's norm for a product. */
typedef struct judge {
    char name[160];
    double tolerance;
    double norm; /* the root of the sum of squares */
} judge;

static void orthonormal_columns(const judge *is, const char *what, matrix q, bool rows)
{
    int64_t count = rows ? q.rows : q.columns, length = rows ? q.columns : q.rows;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = i == j ? -1 : 0;
            for (int64_t k = 0; k < length; k++)
                sum += rows ? at(q, i, k) * at(q, j, k) : at(q, k, i) * at(q, k, j);
            check_that(fabs(sum) <= is->tolerance, "%s: columns %lld and %lld of %s are off by %g",
                       is->name, (long long)i, (long long)j, what, sum);
        }
}

/* Element [i, j] of the product is that of the matrix. */
static void same_element(const judge *is, int64_t i, int64_t j, double product, double truth)
{
    check_that(fabs(product - truth) <= is->tolerance * is->norm,
               "%s: element [%lld,%lld] of the product is %.17g, not %.17g", is->name, (long long)i,
               (long long)j, product, truth);
}

static void signs_are_as_stated(const judge *is, matrix v)
{
    for (int64_t j = 0; j < v.columns; j++) {
        double largest = 0;
        int64_t i = 0;
        for (int64_t k = 0; k < v.rows; k++)
            largest = fmax(largest, fabs(at(v, k, j)));
        while (i < v.rows && fabs(at(v, i, j)) < 0.99 * largest)
            i++;
        check_that(i < v.rows && at(v, i, j) > 0, "%s: the sign of vector %lld", is->name,
                   (long long)j);
    }
}

static void check_qr(const judge *is, wg_plan *p, const wg_value *a, wg_value *const *y)
{
    matrix m = matrix_of(p, a), q = matrix_of(p, y[0]), r = matrix_of(p, y[1]);
    orthonormal_columns(is, "q", q, false);
    for (int64_t i = 0; i < m.rows; i++)
        for (int64_t j = 0; j < m.columns; j++) {
            double sum = 0;
            for (int64_t k = 0; k < q.columns; k++)
                sum += at(q, i, k) * at(r, k, j);
            same_element(is, i, j, sum, at(m, i, j));
            check_that(i >= r.rows || (i > j ? at(r, i, j) == 0 : i < j || at(r, i, j) >= 0),
                       "%s: element [%lld,%lld] of r is %g", is->name, (long long)i, (long long)j,
                       at(r, i, j));
        }
}

static void check_eigh(const judge *is, wg_plan *p, const wg_value *a, wg_value *const *y)
{
    matrix m = matrix_of(p, a), v = matrix_of(p, y[1]);
    orthonormal_columns(is, "v", v, false);
    signs_are_as_stated(is, v);
    for (int64_t i = 0; i < m.rows; i++)
        for (int64_t j = 0; j < m.columns; j++) {
            double sum = 0;
            for (int64_t k = 0; k < v.columns; k++)
                sum += at(v, i, k) * small_at(p, y[0], k) * at(v, j, k);
            same_element(is, i, j, sum, (at(m, i, j) + at(m, j, i)) / 2);
        }
    for (int64_t k = 1; k < m.rows; k++)
        check_that(small_at(p, y[0], k - 1) <= small_at(p, y[0], k), "%s: eigenvalue %lld",
                   is->name, (long long)k);
}

static void check_svd(const judge *is, wg_plan *p, const wg_value *a, wg_value *const *y)
{
    matrix m = matrix_of(p, a), u = matrix_of(p, y[0]), vt = matrix_of(p, y[2]);
    orthonormal_columns(is, "u", u, false);
    orthonormal_columns(is, "vt'", vt, true);
    signs_are_as_stated(is, u);
    for (int64_t i = 0; i < m.rows; i++)
        for (int64_t j = 0; j < m.columns; j++) {
            double sum = 0;
            for (int64_t k = 0; k < u.columns; k++)
                sum += at(u, i, k) * small_at(p, y[1], k) * at(vt, k, j);
            same_element(is, i, j, sum, at(m, i, j));
        }
    for (int64_t k = 0; k < u.columns; k++)
        check_that(small_at(p, y[1], k) >= 0 &&
                       (k == 0 || small_at(p, y[1], k) <= small_at(p, y[1], k - 1)),
                   "%s: singular value %lld", is->name, (long long)k);
}

/* Bases of wg_qr_complete and wg_svd_full, whose first vectors are those of wg_svd (y[2], y[4]). */
static void check_complete(const judge *is, wg_plan *p, const wg_value *a, wg_value *const *y)
{
    matrix u = matrix_of(p, y[2]), vt = matrix_of(p, y[4]), all_u = matrix_of(p, y[10]),
           all_vt = matrix_of(p, y[12]);
    check_qr(is, p, a, y + 8);
    check_that(matrix_of(p, y[8]).columns == u.rows && all_u.columns == u.rows &&
                   all_vt.rows == vt.columns,
               "%s: a basis is not complete", is->name);
    orthonormal_columns(is, "the complete u", all_u, false);
    orthonormal_columns(is, "the complete vt'", all_vt, true);
    for (int64_t k = 0; k < u.columns; k++) {
        check_that(small_at(p, y[3], k) == small_at(p, y[11], k), "%s: value %lld", is->name,
                   (long long)k);
        for (int64_t i = 0; i < u.rows; i++)
            check_that(at(u, i, k) == at(all_u, i, k), "%s: a vector of u", is->name);
        for (int64_t i = 0; i < vt.columns; i++)
            check_that(at(vt, k, i) == at(all_vt, k, i), "%s: a vector of vt", is->name);
    }
}

static void check_factors(wg_dtype dtype, int kind, const int64_t size[2], double unit)
{
    enum { MAX = 60 * 60 };
    static double x[MAX];
    int64_t m = size[0], n = size[1];
    double square = 0, few = dtype == WG_F32 ? 0x1p-21 : 0x1p-50;
    judge is = {.tolerance = (double)(m > n ? m + 4 : n + 4) * few};
    for (int64_t i = 0; i < m * n; i++) {
        x[i] = kinds[kind].at(i / n, i % n);
        square += x[i] * x[i];
        x[i] *= unit;
    }
    is.norm = unit * sqrt(square);
    for (int cpu_alone = 0; cpu_alone < 2; cpu_alone++) {
        wg_graph *g = wg_graph_new();
        wg_value *a = numbers(g, dtype, WG_SHAPE(m, n), x), *q = wg_qr(a), *u = wg_svd(a);
        wg_value *w = m == n ? wg_eigh(a) : a;
        wg_value *all_q = wg_qr_complete(a), *all_u = wg_svd_full(a);
        wg_value *y[] = {q,
                         wg_result_of(q, 1),
                         u,
                         wg_result_of(u, 1),
                         wg_result_of(u, 2),
                         a,
                         w,
                         m == n ? wg_result_of(w, 1) : a,
                         all_q,
                         wg_result_of(all_q, 1),
                         all_u,
                         wg_result_of(all_u, 1),
                         wg_result_of(all_u, 2)};
        wg_plan *p = run_on(g, y, WG_COUNT(y), cpu_alone);
        snprintf(is.name, sizeof is.name, "%s, %s [%lld,%lld] times %g%s", wg_dtype_name(dtype),
                 kinds[kind].name, (long long)m, (long long)n, unit,
                 cpu_alone ? " on cpu" : " with LAPACK");
        check_qr(&is, p, a, y);
        check_svd(&is, p, a, y + 2);
        check_complete(&is, p, a, y);
        if (m == n)
            check_eigh(&is, p, a, y + 6);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void factors_multiply_to_the_matrix(void **state)
{
    (void)state;
    int checked = 0;
    for (int k = 0; k < WG_COUNT(kinds); k++)
        for (int s = 0; s < WG_COUNT(sizes); s++, checked++) {
            check_factors(WG_F32, k, sizes[s], 1);
            check_factors(WG_F64, k, sizes[s], 1);
        }
    assert_int_equal(checked, 130);
}

/* Squares of the elements overflow, or are 0. */
static void size_does_not_matter(void **state)
{
    (void)state;
    for (int k = 0; k < WG_COUNT(kinds); k++)
        for (int s = 0; s < WG_COUNT(sizes); s++) {
            check_factors(WG_F32, k, sizes[s], 1e30);
            check_factors(WG_F32, k, sizes[s], 1e-30);
            check_factors(WG_F64, k, sizes[s], 1e300);
            check_factors(WG_F64, k, sizes[s], 1e-280);
        }
}

/* Columns close to the largest float: reciprocals of their lengths are subnormal, and count as 0 in
 * a plan that has vector kernels, such as of the cast. */
static void longest_columns(void **state)
{
    (void)state;
    double x[60 * 44];
    for (int i = 0; i < 60 * 44; i++)
        x[i] = 3e37 * sin(1.7 * i * i);
    for (int cpu_alone = 0; cpu_alone < 2; cpu_alone++) {
        wg_graph *g = wg_graph_new();
        wg_value *a = wg_input(g, "a", WG_F64, WG_SHAPE(60, 44)), *q = wg_qr(wg_cast(a, WG_F32));
        wg_value *y[] = {q, wg_result_of(q, 1)};
        wg_plan *p;
        const wg_plan_options o = {.outputs = y, .n_outputs = 2, .reference = cpu_alone != 0};
        check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
        memcpy(wg_plan_f64(p, a), x, sizeof x);
        check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
        const float *qs = wg_plan_f32(p, y[0]), *rs = wg_plan_f32(p, y[1]);
        double worst = 0;
        for (int i = 0; i < 60; i++)
            for (int j = 0; j < 44; j++) {
                double sum = 0;
                for (int k = 0; k < 44; k++)
                    sum += (double)qs[i * 44 + k] * (double)rs[k * 44 + j];
                worst = fmax(worst, fabs(sum - x[i * 44 + j]) / 3e37);
            }
        check_that(worst <= 1e-5, "%s: q r is %g from a / 3e37", cpu_alone ? "cpu" : "all backends",
                   worst);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- gradients at equal values --------------------------------------------------------------- */

/* The gradient of a sum of results of eigh or svd at the identity matrix, whose values are equal */
static wg_value *at_identity(wg_graph *g, bool eigenvalues, int result)
{
    wg_value *a = wg_eye(g, WG_F64, 3), *dx = NULL;
    wg_value *y = wg_result_of(eigenvalues ? wg_eigh(a) : wg_svd(a), result);
    wg_value *loss =
        wg_sum(wg_mul(y, wg_iota(g, WG_F64, y->shape, -1, 1, 1)), WG_ALL_AXES, WG_DROP);
    check_that(wg_grad(loss, &a, 1, &dx) == WG_OK, "%s", wg_graph_message(g));
    return dx;
}

/* Through values alone, v diag(dw) v' and u diag(ds) vt, which have the trace 1 + 2 + 3 wherever
 * the vectors point. */
static void values_alone_have_a_gradient(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        bool eigenvalues = way & 1;
        wg_graph *g = wg_graph_new();
        wg_value *y = at_identity(g, eigenvalues, eigenvalues ? 0 : 1);
        wg_plan *p = run_on(g, &y, 1, way & 2);
        numbers_finite("gradient of values", p, y);
        double trace = small_at(p, y, 0) + small_at(p, y, 4) + small_at(p, y, 8);
        check_that(fabs(trace - 6) <= 1e-12, "the trace is %.17g", trace);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void vectors_of_equal_values_have_none(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        wg_graph *g = wg_graph_new();
        wg_value *y = at_identity(g, way, way ? 1 : 0);
        wg_plan *p = run_on(g, &y, 1, true);
        int finite = 0;
        for (int64_t k = 0; k < 9; k++)
            finite += isfinite(small_at(p, y, k)) != 0;
        check_that(finite < 9, "the gradient is finite");
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void wrong_operands_are_refused(void **state)
{
    (void)state;
    static const char *const words[] = {
        "eigh(wide): a is [2,3], must be square in its last two axes",
        "qr(vector): a is [3] of rank 1, must be of rank 2 or more",
        "svd(whole): a is i64, must be",
        "qr_complete(vector): a is [3] of rank 1, must be of rank 2 or more",
        "svd_full(whole): a is i64, must be",
        "lstsq(wide, whole)",
        "lstsq(wide, three): 2 equations, but 3 rows of right-hand sides",
        "pinv(wide): rcond is -1, must be at least 0 and below 1",
        "matrix_exp(wide): a is [2,3], must be square in its last two axes",
    };
    for (int i = 0; i < WG_COUNT(words); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *wide = wg_input(g, "wide", WG_F32, WG_SHAPE(2, 3)),
                 *vector = wg_input(g, "vector", WG_F32, WG_SHAPE(3)),
                 *three = wg_input(g, "three", WG_F32, WG_SHAPE(3, 1)),
                 *whole = wg_input(g, "whole", WG_I64, WG_SHAPE(3, 3)), *y = NULL;
        switch (i) {
        case 0: y = wg_eigh(wide); break;
        case 1: y = wg_qr(vector); break;
        case 2: y = wg_svd(whole); break;
        case 3: y = wg_qr_complete(vector); break;
        case 4: y = wg_svd_full(whole); break;
        case 5: y = wg_lstsq(wide, whole); break;
        case 6: y = wg_lstsq(wide, three); break;
        case 7: y = wg_pinv(wide, -1); break;
        default: y = wg_matrix_exp(wide); break;
        }
        assert_null(y);
        small_refused(g, words[i]);
    }
}

static void sizes_may_be_0(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        wg_graph *g = wg_graph_new();
        wg_value *none = wg_fill(g, WG_F64, WG_SHAPE(2, 0, 0), 1),
                 *tall = wg_fill(g, WG_F64, WG_SHAPE(3, 0), 1),
                 *flat = wg_fill(g, WG_F64, WG_SHAPE(0, 3), 1);
        wg_value *q = wg_qr(tall), *u = wg_svd(flat);
        wg_value *y[] = {wg_eigh(none),
                         wg_matrix_exp(none),
                         q,
                         wg_result_of(q, 1),
                         u,
                         wg_result_of(u, 2),
                         wg_pinv(tall, 0),
                         wg_lstsq(tall, tall),
                         wg_nuclear_norm(flat)};
        wg_plan *p = run_on(g, y, WG_COUNT(y), way);
        assert_true(small_at(p, y[8], 0) == 0);
        assert_int_equal(y[6]->shape.dim[1], 3);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- what is made of them -------------------------------------------------------------------- */

static void norms_are_those_of_singular_values(void **state)
{
    (void)state;
    static const double diagonal[] = {0, -3, 0, 4, 0, 0, 0, 0, 0.5, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const double nuclear[] = {7.5, 3}, spectral[] = {4, 1}, cond[] = {8, 1};
    wg_graph *g = wg_graph_new();
    wg_value *a = numbers(g, WG_F64, WG_SHAPE(2, 3, 3), diagonal);
    wg_value *y[] = {wg_nuclear_norm(a), wg_spectral_norm(a), wg_cond(a), wg_eigvalsh(a)};
    wg_plan *p = run_on(g, y, 4, true);
    numbers_near("nuclear norm", p, y[0], nuclear, 2, 1e-14);
    numbers_near("spectral norm", p, y[1], spectral, 2, 1e-14);
    numbers_near("condition", p, y[2], cond, 2, 1e-14);
    numbers_near("eigenvalues", p, y[3], (double[]){-0.5, 0.5, 0.5, 1, 1, 1}, 6, 1e-14);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Of rank 1: what is left of the second singular value is rounding, and counts as 0. */
static void pinv_leaves_out_what_is_zero(void **state)
{
    (void)state;
    static const double a[] = {1, 2, 3, 2, 4, 6, 3, 6, 9}; /* x x' for x = (1, 2, 3), x' x = 14 */
    double y[9];
    for (int i = 0; i < 9; i++)
        y[i] = a[i] / 196;
    for (int way = 0; way < 2; way++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_pinv(numbers(g, WG_F64, WG_SHAPE(3, 3), a), 0);
        wg_plan *p = run_on(g, &x, 1, way);
        numbers_near("pinv", p, x, y, 9, 1e-14);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* Least squares through (0, 1), (1, 3), (2, 4), (3, 4): the line 1.5 + x. */
static void a_line_is_fitted(void **state)
{
    (void)state;
    static const double a[] = {1, 0, 1, 1, 1, 2, 1, 3}, b[] = {1, 3, 4, 4}, x[] = {1.5, 1};
    wg_graph *g = wg_graph_new();
    wg_value *y =
        wg_lstsq(numbers(g, WG_F64, WG_SHAPE(4, 2), a), numbers(g, WG_F64, WG_SHAPE(4), b));
    wg_plan *p = run_on(g, &y, 1, true);
    assert_int_equal(y->shape.rank, 1);
    numbers_near("line", p, y, x, 2, 1e-14);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_rank_that_is_not_full_ends_lstsq(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *y =
        wg_lstsq(wg_fill(g, WG_F64, WG_SHAPE(3, 2), 0), wg_fill(g, WG_F64, WG_SHAPE(3), 1));
    wg_plan *p;
    wg_plan_options o = {.outputs = &y, .n_outputs = 1, .no_fold = true};
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
    check_that(strstr(wg_plan_message(p), "the matrix is singular: element [0,0] of its diagonal"),
               "%s", wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* exp of a rotation's generator is the rotation; of a nilpotent matrix, a polynomial. */
static void exponentials_are_known(void **state)
{
    (void)state;
    double angle = 20, s = sin(angle), c = cos(angle);
    double a[] = {0, -angle, angle, 0, 0, 1e6, 0, 0, -5, 0, 0, 1};
    double y[] = {c, -s, s, c, 1, 1e6, 0, 1, exp(-5), 0, 0, exp(1)};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_matrix_exp(numbers(g, WG_F64, WG_SHAPE(3, 2, 2), a));
    wg_plan *p = run_on(g, &x, 1, true);
    numbers_near("matrix_exp", p, x, y, 12, 1e-13);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_multiply_to_the_matrix),
        cmocka_unit_test(size_does_not_matter),
        cmocka_unit_test(longest_columns),
        cmocka_unit_test(values_alone_have_a_gradient),
        cmocka_unit_test(vectors_of_equal_values_have_none),
        cmocka_unit_test(wrong_operands_are_refused),
        cmocka_unit_test(sizes_may_be_0),
        cmocka_unit_test(norms_are_those_of_singular_values),
        cmocka_unit_test(pinv_leaves_out_what_is_zero),
        cmocka_unit_test(a_line_is_fitted),
        cmocka_unit_test(a_rank_that_is_not_full_ends_lstsq),
        cmocka_unit_test(exponentials_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
