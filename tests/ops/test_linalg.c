/* matmul against the triple loop, linear against its formula, einsum against the sum over all
 * letters. */
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

#include <time.h>

/* ---- matmul ---------------------------------------------------------------------------------- */

/* y[m, n] of one product, by definition. */
static double element(const double *a, const double *b, int64_t rows, int64_t columns,
                      int64_t inner, int transposes, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; k < inner; k++)
        sum += a[transposes & WG_TN ? k * rows + i : i * inner + k] *
               b[transposes & WG_NT ? j * inner + k : k * columns + j];
    return sum;
}

static wg_shape matrix_shape(int64_t rows, int64_t columns, bool transposed)
{
    return transposed ? WG_SHAPE(columns, rows) : WG_SHAPE(rows, columns);
}

static void check_matmul(wg_dtype dtype, int64_t rows, int64_t columns, int64_t inner,
                         int transposes)
{
    char what[100];
    snprintf(what, sizeof what, "%lld x %lld x %lld, transposes %d", (long long)rows,
             (long long)columns, (long long)inner, transposes);
    trial t = trial_new();
    wg_value *a = trial_input(&t, dtype, matrix_shape(rows, inner, transposes & WG_TN));
    wg_value *b = trial_input(&t, dtype, matrix_shape(inner, columns, transposes & WG_NT));
    wg_value *y = wg_matmul_t(a, b, transposes);
    trial_run(&t, &y, 1, 2);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            trial_expect(&t, what, y, i * columns + j,
                         element(trial_data(&t, a), trial_data(&t, b), rows, columns, inner,
                                 transposes, i, j));
    trial_end(&t, rows * columns);
}

/* Sizes around those of registers, tiles and panels, and the empty ones. */
static void matmul_is_the_triple_loop(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {
        {1, 1, 1},    {4, 8, 3},       {3, 5, 7},   {5, 9, 1},   {1, 33, 70},   {33, 1, 70},
        {4, 8, 128},  {4, 8, 129},     {2, 3, 257}, {127, 2, 5}, {128, 128, 2}, {129, 9, 65},
        {9, 130, 64}, {131, 137, 150}, {0, 3, 4},   {3, 0, 4},   {3, 4, 0},     {0, 0, 0},
    };
    for (size_t i = 0; i < WG_COUNT(sizes); i++)
        for (int transposes = WG_NN; transposes <= WG_TT; transposes++) {
            check_matmul(WG_F32, sizes[i][0], sizes[i][1], sizes[i][2], transposes);
            check_matmul(WG_F64, sizes[i][0], sizes[i][1], sizes[i][2], transposes);
        }
}

/* a [2, 1, m, k], b [3, k, n]: y [2, 3, m, n]. */
static void matmul_broadcasts_leading_axes(void **state)
{
    (void)state;
    enum { M = 3, N = 5, K = 4 };
    for (int transposes = WG_NN; transposes <= WG_TT; transposes++) {
        trial t = trial_new();
        bool ta = transposes & WG_TN, tb = transposes & WG_NT;
        wg_value *a = trial_input(&t, WG_F32, WG_SHAPE(2, 1, ta ? K : M, ta ? M : K));
        wg_value *b = trial_input(&t, WG_F32, WG_SHAPE(3, tb ? N : K, tb ? K : N));
        wg_value *y = wg_matmul_t(a, b, transposes);
        trial_run(&t, &y, 1, 2);
        for (int64_t i = 0; i < 2 * 3 * M * N; i++) {
            int64_t p = i / (3 * M * N), q = i / (M * N) % 3;
            trial_expect(&t, "batch", y, i,
                         element(trial_data(&t, a) + p * M * K, trial_data(&t, b) + q * K * N, M, N,
                                 K, transposes, i / N % M, i % N));
        }
        trial_end(&t, 2 * 3 * M * N);
    }
}

/* Random fractions: f32 stays near the sum in f64, and neither the number of threads nor the
 * neighbours of a row (1 of them or 200) change a bit of it. */
static void matmul_rounds_alike_everywhere(void **state)
{
    (void)state;
    enum { M = 200, N = 150, K = 300 };
    static float bits[M * N];
    trial t = trial_new();
    t.reference = true; /* others may divide sums by the sizes of a product */
    wg_value *a = trial_input(&t, WG_F32, WG_SHAPE(M, K)),
             *b = trial_input(&t, WG_F32, WG_SHAPE(N, K));
    for (int64_t i = 0; i < M * K; i++)
        trial_data(&t, a)[i] = (double)(float)(trial_draw(&t, -1000, 1000) / 777);
    for (int64_t i = 0; i < N * K; i++)
        trial_data(&t, b)[i] = (double)(float)(trial_draw(&t, -1000, 1000) / 777);
    wg_value *all = wg_matmul_t(a, b, WG_NT);
    wg_value *one = wg_matmul_t(wg_slice(a, 0, 77, 78, 1), wg_slice(b, 0, 10, 149, 1), WG_NT);
    wg_value *both[] = {all, one};
    double error = 0, norm = 0;
    for (int threads = 1; threads <= 4; threads++) {
        trial_run(&t, both, 2, threads);
        const float *y = wg_plan_data(t.p, all);
        if (threads == 1)
            memcpy(bits, y, sizeof bits);
        assert_memory_equal(bits, y, sizeof bits);
        assert_memory_equal(y + 77 * N + 10, wg_plan_data(t.p, one), 139 * sizeof(float));
    }
    for (int64_t i = 0; i < M * N; i++) {
        double exact = element(trial_data(&t, a), trial_data(&t, b), M, N, K, WG_NT, i / N, i % N);
        error += ((double)bits[i] - exact) * ((double)bits[i] - exact);
        norm += exact * exact;
        t.compared++;
    }
    check_that(error <= 1e-12 * norm, "normalised mean square error %g", error / norm);
    trial_end(&t, M * N);
}

static void matmul_names_what_disagrees(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_input(g, "a", WG_F32, WG_SHAPE(2, 3)),
             *b = wg_input(g, "b", WG_F32, WG_SHAPE(4, 5));
    trial_expect_message("matmul(a, b): [2,3] times [4,5]: inner sizes 3 and 4 differ",
                         wg_matmul(a, b), g);
    g = wg_graph_new();
    a = wg_input(g, "a", WG_F32, WG_SHAPE(2, 2, 3)),
    b = wg_input(g, "b", WG_F32, WG_SHAPE(3, 3, 5));
    trial_expect_message("matmul(a, b): [2] and [3] do not broadcast", wg_matmul(a, b), g);
    g = wg_graph_new();
    a = wg_input(g, "a", WG_F32, WG_SCALAR), b = wg_input(g, "b", WG_F32, WG_SHAPE(3, 5));
    trial_expect_message("matmul: a is a scalar: wg_mul multiplies by one", wg_matmul(a, b), g);
    g = wg_graph_new();
    a = wg_input(g, "a", WG_F32, WG_SHAPE(4)), b = wg_input(g, "b", WG_F32, WG_SHAPE(3, 5));
    trial_expect_message("matmul: [4] times [3,5]: inner sizes 4 and 3 differ", wg_matmul(a, b), g);
    g = wg_graph_new();
    a = wg_input(g, "a", WG_F32, WG_SHAPE(3, 5)), b = wg_input(g, "b", WG_F32, WG_SHAPE(4));
    trial_expect_message("matmul: [3,5] times [4]: inner sizes 3 and 4 differ",
                         wg_matmul_t(a, b, WG_TT), g);
    g = wg_graph_new();
    a = wg_input(g, "a", WG_I32, WG_SHAPE(3, 3));
    trial_expect_message("matmul(a, a): a is i32, must be f32, f64, bf16 or f16", wg_matmul(a, a),
                         g);
}

/* Vectors as NumPy's matmul has them: a row in front, a column behind, and the axis is gone. */
static void vectors_multiply_as_numpy_has_it(void **state)
{
    (void)state;
    static const struct {
        wg_shape a, b, y;
        int transposes;
    } cases[] = {
        {{1, {4}}, {1, {4}}, {0}, WG_NN},
        {{1, {4}}, {1, {4}}, {0}, WG_TT},
        {{1, {4}}, {2, {4, 3}}, {1, {3}}, WG_NN},
        {{1, {4}}, {2, {3, 4}}, {1, {3}}, WG_NT},
        {{2, {3, 4}}, {1, {4}}, {1, {3}}, WG_NN},
        {{2, {4, 3}}, {1, {4}}, {1, {3}}, WG_TN},
        {{1, {4}}, {3, {2, 4, 3}}, {2, {2, 3}}, WG_NN},
        {{4, {5, 2, 3, 4}}, {1, {4}}, {3, {5, 2, 3}}, WG_NN},
        {{1, {0}}, {2, {0, 2}}, {1, {2}}, WG_NN},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        trial t = trial_new();
        wg_value *a = trial_input(&t, WG_F64, cases[i].a), *b = trial_input(&t, WG_F64, cases[i].b);
        wg_value *y = wg_matmul_t(a, b, cases[i].transposes);
        check_that(y != NULL, "%s", wg_graph_message(t.g));
        check_that(wg_shape_equal(&y->shape, &cases[i].y), "case %d", i);
        trial_run(&t, &y, 1, 2);
        const wg_shape *m = cases[i].a.rank == 1 ? &cases[i].b : &cases[i].a; /* [.., a matrix] */
        const double *v = trial_data(&t, cases[i].a.rank == 1 ? a : b),
                     *x = trial_data(&t, m == &cases[i].a ? a : b);
        int64_t K = (cases[i].a.rank == 1 ? cases[i].a : cases[i].b).dim[0],
                count = wg_value_count(y);
        bool by_row = m->rank == 1 || m->dim[m->rank - 1] == K; /* a number is a row's product */
        int64_t inner = by_row ? 1 : m->dim[m->rank - 1];
        for (int64_t j = 0; j < count; j++) {
            double sum = 0;
            for (int64_t k = 0; k < K; k++)
                sum += v[k] * x[j / inner * inner * K + k * inner + j % inner];
            trial_expect(&t, "a vector", y, j, sum);
        }
        trial_end(&t, count);
    }
}

/* ---- linear ---------------------------------------------------------------------------------- */

/* y = activation(x W' + b) and, with cotangents of ones, db = the sum of the activation's
 * derivative. */
static void linear_is_its_formula(void **state)
{
    (void)state;
    enum { ROWS = 6, IN = 4, OUT = 3 };
    for (int bias = 0; bias < 2; bias++)
        for (int activation = WG_ACTIVATION_NONE; activation <= WG_ACTIVATION_RELU; activation++) {
            trial t = trial_new();
            wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(2, 3, IN));
            wg_value *w = trial_input(&t, WG_F64, WG_SHAPE(OUT, IN)),
                     *b = trial_input(&t, WG_F64, WG_SHAPE(OUT));
            wg_value *y = wg_linear(x, w, bias ? b : NULL, (wg_activation)activation), *dx[3];
            assert_int_equal(wg_vjp(&y, NULL, 1, (wg_value *[]){x, w, b}, 3, NULL, dx), WG_OK);
            wg_value *all[] = {y, dx[0], dx[1], dx[2]};
            trial_run(&t, all, 4, 2);
            double expected_dx[ROWS * IN] = {0}, expected_dw[OUT * IN] = {0},
                                      expected_db[OUT] = {0};
            const double *px = trial_data(&t, x), *pw = trial_data(&t, w), *pb = trial_data(&t, b);
            for (int i = 0; i < ROWS * OUT; i++) {
                int r = i / OUT, o = i % OUT;
                double z = element(px, pw, ROWS, OUT, IN, WG_NT, r, o) + (bias ? pb[o] : 0);
                double slope = activation == WG_ACTIVATION_NONE || z > 0;
                trial_expect(&t, "y", y, i, slope > 0 ? z : 0);
                expected_db[o] += bias ? slope : 0;
                for (int k = 0; k < IN; k++) {
                    expected_dx[r * IN + k] += slope * pw[o * IN + k];
                    expected_dw[o * IN + k] += slope * px[r * IN + k];
                }
            }
            for (int i = 0; i < ROWS * IN; i++)
                trial_expect(&t, "dx", dx[0], i, expected_dx[i]);
            for (int i = 0; i < OUT * IN; i++)
                trial_expect(&t, "dweight", dx[1], i, expected_dw[i]);
            for (int i = 0; i < OUT; i++)
                trial_expect(&t, "dbias", dx[2], i, expected_db[i]);
            trial_end(&t, ROWS * OUT + ROWS * IN + OUT * IN + OUT);
        }
}

static void linear_activates_as_the_ops_do(void **state)
{
    (void)state;
    trial t = trial_new();
    wg_value *x = trial_input(&t, WG_F64, WG_SHAPE(2, 3)),
             *w = trial_input(&t, WG_F64, WG_SHAPE(5, 3));
    wg_value *z = wg_linear(x, w, NULL, WG_ACTIVATION_NONE), *y[14];
    wg_value *expected[] = {z,
                            wg_relu(z),
                            wg_tanh(z),
                            wg_sigmoid(z),
                            wg_gelu(z, WG_GELU_ERF),
                            wg_gelu(z, WG_GELU_TANH),
                            wg_silu(z)};
    for (int i = 0; i < 7; i++) {
        y[i] = wg_linear(x, w, NULL, (wg_activation)i);
        y[7 + i] = expected[i];
    }
    trial_run(&t, y, 14, 1);
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 10; k++)
            trial_expect(&t, "activation", y[i], k, trial_at(&t, y[7 + i], k));
    trial_end(&t, 70);
}

static void linear_names_what_disagrees(void **state)
{
    (void)state;
#define WRONG(message, bias_shape, activation)                                                     \
    do {                                                                                           \
        wg_graph *g = wg_graph_new();                                                              \
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4));                                    \
        wg_value *w = wg_input(g, "w", WG_F32, WG_SHAPE(5, 4));                                    \
        wg_value *b = wg_input(g, "b", WG_F32, bias_shape);                                        \
        trial_expect_message(message, wg_linear(x, w, b, activation), g);                          \
    } while (0)
    WRONG("linear(x, w, b): bias is [4], its axis 0 must be 5, not 4", WG_SHAPE(4),
          WG_ACTIVATION_NONE);
    WRONG("linear(x, w, b): bias is [1,5] of rank 2, must be of rank 1", WG_SHAPE(1, 5),
          WG_ACTIVATION_NONE);
    WRONG("linear(x, w, b): activation is 7, must be 0 to 6", WG_SHAPE(5), (wg_activation)7);
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4));
    wg_value *w = wg_input(g, "w", WG_F32, WG_SHAPE(4, 5));
    trial_expect_message("linear(x, w): [3,4] times [4,5] transposed: inner sizes 4 and 5 differ",
                         wg_linear(x, w, NULL, WG_ACTIVATION_NONE), g);
}

/* ---- einsum ---------------------------------------------------------------------------------- */

typedef struct einsum_case {
    const char *spec;
    const char *plain; /* the same without "...", spaces and an implicit result */
    wg_shape shape[4];
} einsum_case;

/* The sum over all values of all letters; axes of size 1 broadcast. */
static void naive_einsum(const einsum_case *e, double *const *x, const wg_shape *shape, int n,
                         double *y)
{
    char letters[32] = "";
    wg_shape all = {0}, result = {0};
    const char *c = e->plain;
    for (int i = 0, k = 0; *c != '-'; c++) {
        if (*c == ',') {
            i++, k = 0;
            continue;
        }
        char *place = strchr(letters, *c);
        int at = place ? (int)(place - letters) : all.rank++;
        letters[at] = *c;
        if (shape[i].dim[k] != 1 || !place)
            all.dim[at] = shape[i].dim[k];
        k++;
    }
    for (const char *r = c + 2; *r; r++)
        result.dim[result.rank++] = all.dim[strchr(letters, *r) - letters];
    memset(y, 0, sizeof *y * (size_t)wg_shape_count(&result));
    int64_t index[WG_MAX_RANK] = {0};
    if (wg_shape_count(&all) == 0)
        return;
    do {
        double product = 1;
        int64_t own[WG_MAX_RANK];
        const char *p = e->plain;
        for (int i = 0; i < n; i++, p++) {
            for (int k = 0; k < shape[i].rank; k++)
                own[k] = index[strchr(letters, *p++) - letters];
            product *= x[i][trial_offset(&shape[i], own)];
        }
        for (int k = 0; k < result.rank; k++)
            own[k] = index[strchr(letters, c[2 + k]) - letters];
        y[trial_offset(&result, own)] += product;
    } while (trial_next(&all, index));
}

static void einsum_is_the_sum_over_all_letters(void **state)
{
    (void)state;
    static const einsum_case cases[] = {
        {"ij,jk->ik", "ij,jk->ik", {{2, {3, 4}}, {2, {4, 5}}}},
        {"ij,jk", "ij,jk->ik", {{2, {3, 4}}, {2, {4, 5}}}},
        {"kj,ji", "kj,ji->ik", {{2, {3, 4}}, {2, {4, 5}}}},
        {"bij,bjk->bik", "bij,bjk->bik", {{3, {2, 3, 4}}, {3, {2, 4, 5}}}},
        {"bij,bkj->bki", "bij,bkj->bki", {{3, {2, 3, 4}}, {3, {2, 5, 4}}}},
        {"bqhd,bkhd->bhqk", "bqhd,bkhd->bhqk", {{4, {2, 3, 2, 4}}, {4, {2, 5, 2, 4}}}},
        {"ji,jk->ik", "ji,jk->ik", {{2, {3, 4}}, {2, {3, 5}}}},
        {"abcd,cbea->ed", "abcd,cbea->ed", {{4, {2, 3, 2, 4}}, {4, {2, 3, 5, 2}}}},
        {"i,i", "i,i->", {{1, {7}}, {1, {7}}}},
        {"i,i->i", "i,i->i", {{1, {7}}, {1, {7}}}},
        {"i,j->ji", "i,j->ji", {{1, {3}}, {1, {4}}}},
        {"ij->ji", "ij->ji", {{2, {3, 4}}}},
        {"ij->ij", "ij->ij", {{2, {3, 4}}}},
        {"ij->", "ij->", {{2, {3, 4}}}},
        {"ij->i", "ij->i", {{2, {3, 4}}}},
        {"ba", "ba->ab", {{2, {3, 4}}}},
        {"ii", "ii->", {{2, {4, 4}}}},
        {"ii->i", "ii->i", {{2, {4, 4}}}},
        {"iji->ji", "iji->ji", {{3, {3, 2, 3}}}},
        {"iii->i", "iii->i", {{3, {3, 3, 3}}}},
        {"ijij,j->i", "ijij,j->i", {{4, {2, 3, 2, 3}}, {1, {3}}}},
        {"i,ij,j", "i,ij,j->", {{1, {3}}, {2, {3, 4}}, {1, {4}}}},
        {"ab,bc,cd,de->ea",
         "ab,bc,cd,de->ea",
         {{2, {2, 3}}, {2, {3, 4}}, {2, {4, 2}}, {2, {2, 5}}}},
        {"ab,ac,ad->abcd", "ab,ac,ad->abcd", {{2, {2, 3}}, {2, {2, 4}}, {2, {2, 5}}}},
        {" b i , b -> i ", "bi,b->i", {{2, {3, 4}}, {1, {3}}}},
        {"Ab,bA", "Ab,bA->", {{2, {3, 4}}, {2, {4, 3}}}},
        {"aB", "aB->Ba", {{2, {3, 4}}}},
        {"...ij,...jk->...ik", "pqij,qjk->pqik", {{4, {2, 3, 4, 2}}, {3, {3, 2, 5}}}},
        {"...ij,...j", "pqij,qj->pqi", {{4, {2, 1, 4, 2}}, {2, {3, 2}}}},
        {"...ij,j...->i...", "pqij,jpq->ipq", {{4, {2, 1, 4, 2}}, {3, {2, 1, 3}}}},
        {"...,...", "pq,q->pq", {{2, {1, 3}}, {1, {3}}}},
        {"i...->i", "ipq->i", {{3, {2, 3, 4}}}},
        {"...i->...i", "i->i", {{1, {3}}}},
        {"i,->i", "i,->i", {{1, {3}}, {0, {0}}}},
        {"ij,jk->ik", "ij,jk->ik", {{2, {3, 0}}, {2, {0, 5}}}},
        {"ij,jk->ik", "ij,jk->ik", {{2, {0, 2}}, {2, {2, 5}}}},
        {"abcdefgh,h->abcdefgh", "abcdefgh,h->abcdefgh", {{8, {1, 2, 1, 2, 1, 2, 1, 3}}, {1, {3}}}},
    };
    static double expected[1000];
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        const einsum_case *e = &cases[i];
        trial t = trial_new();
        int n = 1;
        for (const char *c = e->plain; *c; c++)
            n += *c == ',';
        for (int k = 0; k < n; k++)
            trial_input(&t, WG_F64, e->shape[k]);
        wg_value *y = wg_einsum(e->spec, t.x, n);
        trial_run(&t, &y, 1, 1);
        naive_einsum(e, t.data, e->shape, n, expected);
        for (int64_t k = 0; k < wg_value_count(y); k++)
            trial_expect(&t, e->spec, y, k, expected[k]);
        trial_end(&t, wg_value_count(y));
    }
}

/* A spec is read once, however many operands it has: 100000 took 40 s when each looked for its term
 * from the start. */
static void einsum_takes_many_operands(void **state)
{
    (void)state;
    enum { MANY = 100000, SECONDS = 5 };
    wg_graph *g = wg_graph_new();
    wg_value *one = wg_input(g, "x", WG_F32, WG_SCALAR);
    wg_value **x = malloc(MANY * sizeof *x);
    char *spec = malloc(MANY + 2);
    assert_true(x && spec);
    for (int i = 0; i < MANY; i++)
        x[i] = one;
    memset(spec, ',', MANY - 1);
    strcpy(spec + MANY - 1, "->");
    const clock_t start = clock();
    const wg_value *y = wg_einsum(spec, x, MANY);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    check_that(y && y->node->n_in == MANY && y->shape.rank == 0, "%s", wg_graph_message(g));
    check_that(seconds < SECONDS, "%d operands took %.1f s", MANY, seconds);
    free(x);
    free(spec);
    wg_graph_free(g);
}

static void einsum_names_the_letter(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *message;
        int n;
        wg_shape shape[3];
    } wrong[] = {
        {"ij,jk->ik", "letter j is 4 in operand 1, but 3 before", 2, {{2, {2, 3}}, {2, {4, 5}}}},
        {"ii->i", "letter i is 3 in operand 0, but 2 before", 1, {{2, {2, 3}}}},
        {"ij->ijk", "letter k of the result is in no operand", 1, {{2, {2, 3}}}},
        {"ij->ii", "letter i is twice in the result", 1, {{2, {2, 3}}}},
        {"ij,jk", "\"ij,jk\" is for 2 operands, not 1", 1, {{2, {2, 3}}}},
        {"i", "\"i\" has 1 letters for an operand of rank 2", 1, {{2, {2, 3}}}},
        {"ijk...", "\"ijk...\" has 3 letters for an operand of rank 2", 1, {{2, {2, 3}}}},
        {"i1->i", "'1' in \"i1\" is out of place", 1, {{2, {2, 3}}}},
        {"i..->i", "'.' in \"i..\" is out of place", 1, {{2, {2, 3}}}},
        {"ij->i->j", "'-' in \"i->j\" is out of place", 1, {{2, {2, 3}}}},
        {"......", "'.' in \"......\" is out of place", 1, {{2, {2, 3}}}},
        {"...,...",
         "sizes 2 and 3 under \"...\" do not broadcast, in operand 1",
         2,
         {{1, {2}}, {1, {3}}}},
        {"abc,def,ghi->abcdefghi",
         "\"abcdefghi\" makes rank 9, more than 8",
         3,
         {{3, {1, 1, 1}}, {3, {1, 1, 1}}, {3, {1, 1, 1}}}},
        {"abc,def,ghi",
         "the result of \"abc,def,ghi\" has rank 9, more than 8",
         3,
         {{3, {1, 1, 1}}, {3, {1, 1, 1}}, {3, {1, 1, 1}}}},
        {NULL, "no spec", 1, {{1, {2}}}},
    };
    for (size_t i = 0; i < WG_COUNT(wrong); i++) {
        trial t = trial_new();
        for (int k = 0; k < wrong[i].n; k++)
            trial_input(&t, WG_F32, wrong[i].shape[k]);
        assert_null(wg_einsum(wrong[i].spec, t.x, wrong[i].n));
        check_that(strstr(wg_graph_message(t.g), wrong[i].message) != NULL,
                   "\"%s\" instead of \"%s\"", wg_graph_message(t.g), wrong[i].message);
        trial_end(&t, 0);
    }
    wg_graph *g = wg_graph_new(); /* a b c d e f g h i are all needed after the second operand */
    wg_value *x[3] = {wg_input(g, "x", WG_F32, WG_SHAPE(1, 1, 1, 1, 1)),
                      wg_input(g, "y", WG_F32, WG_SHAPE(1, 1, 1, 1)),
                      wg_input(g, "z", WG_F32, WG_SHAPE(1, 1, 1, 1, 1, 1, 1, 1))};
    trial_expect_message(
        "einsum(x, y, z): the product of the first 2 operands has 9 axes, more than 8",
        wg_einsum("abcde,fghi,abcdefgh->i", x, 3), g);
}

/* ---- the identity ---------------------------------------------------------------------------- */

static void eye_times_a_matrix_is_the_matrix(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_F64};
    for (int d = 0; d < WG_COUNT(dtypes); d++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, dtypes[d], WG_SHAPE(4, 4));
        wg_value *y[] = {wg_matmul(wg_eye(t.g, dtypes[d], 4), x), wg_eye(t.g, dtypes[d], 4)};
        trial_run(&t, y, 2, 1);
        for (int64_t i = 0; i < 16; i++) {
            trial_expect(&t, "eye x", y[0], i, trial_data(&t, x)[i]);
            trial_expect(&t, "eye", y[1], i, i % 5 == 0);
        }
        trial_end(&t, 32);
    }
    wg_graph *g = wg_graph_new();
    assert_null(wg_eye(g, WG_F32, -1));
    assert_non_null(strstr(wg_graph_message(g), "test_linalg.c"));
    wg_graph_free(g);
    assert_null(wg_eye(NULL, WG_F32, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_is_the_triple_loop),
        cmocka_unit_test(matmul_broadcasts_leading_axes),
        cmocka_unit_test(matmul_rounds_alike_everywhere),
        cmocka_unit_test(matmul_names_what_disagrees),
        cmocka_unit_test(vectors_multiply_as_numpy_has_it),
        cmocka_unit_test(linear_is_its_formula),
        cmocka_unit_test(linear_activates_as_the_ops_do),
        cmocka_unit_test(linear_names_what_disagrees),
        cmocka_unit_test(einsum_is_the_sum_over_all_letters),
        cmocka_unit_test(einsum_takes_many_operands),
        cmocka_unit_test(einsum_names_the_letter),
        cmocka_unit_test(eye_times_a_matrix_is_the_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
