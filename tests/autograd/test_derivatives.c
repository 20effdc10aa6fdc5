/* Jacobian-vector products, Jacobians, Hessians, Laplacians and per-sample gradients, against
 * differences and against each other. */
#include "graph/element.h"
#include "tests/sample.h"
#include "tests/transformers.h"
#include "wengert/autograd/derivatives.h"
#include "wengert/backends/evaluate.h"

#include <math.h>

/* What was compared, and the worst error. */
typedef struct tally {
    size_t compared;
    double worst;
} tally;

static void near(tally *t, double got, double expected, double scale, double tolerance,
                 const char *what)
{
    double error = fabs(got - expected) / (scale > 1 ? scale : 1);
    if (!(error <= tolerance))
        fail_msg("%s: %.17g, expected %.17g: error %.3g above %.3g", what, got, expected, error,
                 tolerance);
    t->compared++;
    t->worst = error > t->worst ? error : t->worst;
}

/* ---- numbers of a graph ---------------------------------------------------------------------- */

/* A run of the reference kernels in f64. */
typedef struct numbers {
    const wg_evaluator *evaluator;
    void *run;
} numbers;

static numbers numbers_of(wg_graph *g, wg_value *const *y, size_t n)
{
    numbers r = {.evaluator = wg_plan_evaluator()};
    check_that(r.evaluator->create(&r.run, g, y, n) == WG_OK, "%s", wg_graph_message(g));
    return r;
}

static double *data(const numbers *r, const wg_value *v)
{
    double *found = r->evaluator->data(r->run, v);
    assert_non_null(found);
    assert_int_equal(v->dtype, WG_F64);
    return found;
}

static void compute(const numbers *r)
{
    check_that(r->evaluator->run(r->run, 5) == WG_OK, "%s", r->evaluator->message(r->run));
}

/* ---- a function with directions -------------------------------------------------------------- */

enum { MAX_VALUES = 128 };

/* y(x), the float results of a node in its float operands. */
typedef struct function {
    const char *name;
    wg_graph *g;
    wg_value *x[MAX_VALUES], *t[MAX_VALUES], *y[MAX_VALUES], *u[MAX_VALUES];
    size_t n_x, n_y;
} function;

/* Twice this is less than the distance of samples from kinks, 1e-3. */
static const double STEP = 0x1p-13;

static wg_value *input_like(wg_graph *g, const char *letter, size_t i, const wg_value *v)
{
    char name[32];
    snprintf(name, sizeof name, "%s%zu", letter, i);
    return wg_input(g, name, v->dtype, v->shape);
}

static function function_of(const sample_graph *b, const wg_op *op)
{
    function f = {.name = op->name, .g = b->g};
    for (int i = 0; i < b->n_in; i++)
        if (wg_dtype_is_float(b->in[i]->dtype))
            f.x[f.n_x++] = b->in[i];
    for (int j = 0; j < b->node->n_out && f.n_y < MAX_VALUES; j++)
        if (b->node->out[j]->dtype == WG_F64)
            f.y[f.n_y++] = b->node->out[j];
    for (size_t i = 0; i < f.n_x; i++)
        f.t[i] = input_like(f.g, "t", i, f.x[i]);
    for (size_t j = 0; j < f.n_y; j++)
        f.u[j] = input_like(f.g, "u", j, f.y[j]);
    return f;
}

static void fill(const numbers *r, wg_value *const *v, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < wg_value_count(v[i]); k++)
            data(r, v[i])[k] = (double)(wgi_splitmix64(&seed) >> 11) * 0x1p-52 - 1;
}

static void fill_operands(const numbers *r, const sample_graph *b)
{
    for (int i = 0; i < b->n_in; i++)
        memcpy(r->evaluator->data(r->run, b->in[i]), b->data[i], wg_value_bytes(b->in[i]));
}

/* The numbers of v[0..n), one after another; the caller frees them. */
static double *collected(const numbers *r, wg_value *const *v, size_t n, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < n; i++)
        *count += (size_t)wg_value_count(v[i]);
    double *all = calloc(*count + 1, sizeof *all), *at = all;
    assert_non_null(all);
    for (size_t i = 0; i < n; i++) {
        memcpy(at, data(r, v[i]), wg_value_bytes(v[i]));
        at += wg_value_count(v[i]);
    }
    return all;
}

/* x := x0 + h t, and all values anew. */
static void move(const numbers *r, const function *f, const double *x0, double h)
{
    for (size_t i = 0; i < f->n_x; i++)
        for (int64_t k = 0; k < wg_value_count(f->x[i]); k++)
            data(r, f->x[i])[k] = *x0++ + h * data(r, f->t[i])[k];
    compute(r);
}

/* d of the values v against (8 (v(h) - v(-h)) - (v(2h) - v(-2h))) / 12h along t. */
static void against_differences(tally *all, const numbers *r, const function *f, wg_value *const *v,
                                wg_value *const *d, size_t n, double h, double tolerance)
{
    static const double at[4] = {1, -1, 2, -2}, weight[4] = {8, -8, -1, 1};
    size_t n_x, count;
    double *x0 = collected(r, f->x, f->n_x, &n_x), scale = 1;
    compute(r);
    double *exact = collected(r, d, n, &count), *numeric = calloc(count + 1, sizeof *numeric);
    for (int i = 0; i < 4; i++) {
        move(r, f, x0, at[i] * h);
        double *y = collected(r, v, n, &count);
        for (size_t k = 0; k < count; k++) {
            numeric[k] += weight[i] * y[k] / (12 * h);
            scale = fabs(y[k]) > scale ? fabs(y[k]) : scale;
        }
        free(y);
    }
    for (size_t k = 0; k < count; k++)
        near(all, exact[k], numeric[k], fabs(numeric[k]) + scale, tolerance, f->name);
    move(r, f, x0, 0);
    free(x0);
    free(exact);
    free(numeric);
}

static double product(const numbers *r, wg_value *const *a, wg_value *const *b, size_t n,
                      double *size)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < wg_value_count(a[i]); k++) {
            double term = data(r, a[i])[k] * data(r, b[i])[k];
            sum += term;
            *size += fabs(term);
        }
    return sum;
}

/* ---- every op -------------------------------------------------------------------------------- */

static bool differentiable(const sample_graph *b)
{
    bool in = false, out = false;
    if (b->node && b->node->op->flags & WG_OP_DISCRETE)
        return false;
    for (int i = 0; i < b->n_in; i++)
        in |= b->in[i]->dtype == WG_F64;
    for (int j = 0; b->node && j < b->node->n_out; j++)
        out |= b->node->out[j]->dtype == WG_F64;
    return in && out && (b->node->op->grad || b->node->op->expand);
}

/* J t against differences, and <u, J t> = <u' J, t>. */
static void check_product(tally *differences, tally *transposed, const wg_op *op,
                          const wg_sample *s)
{
    sample_graph b = sample_build(op, s, WG_F64, 1);
    if (!differentiable(&b)) {
        sample_free(&b);
        return;
    }
    function f = function_of(&b, op);
    wg_value *v[4 * MAX_VALUES], **jt = v + MAX_VALUES, **uj = jt + MAX_VALUES;
    size_t n = 0;
    check_that(wg_jvp(f.y, f.n_y, f.x, f.t, f.n_x, jt) == WG_OK, "%s", wg_graph_message(b.g));
    check_that(wg_vjp(f.y, f.u, f.n_y, f.x, f.n_x, NULL, uj) == WG_OK, "%s", wg_graph_message(b.g));
    wg_value *wanted[3 * MAX_VALUES];
    for (size_t j = 0; j < f.n_y; j++)
        wanted[n++] = f.y[j], wanted[n++] = jt[j];
    for (size_t i = 0; i < f.n_x; i++)
        wanted[n++] = uj[i];
    numbers r = numbers_of(b.g, wanted, n);
    fill_operands(&r, &b);
    fill(&r, f.t, f.n_x, 1);
    fill(&r, f.u, f.n_y, 2);
    against_differences(differences, &r, &f, f.y, jt, f.n_y, STEP, 1e-10);
    double size = 1, left = product(&r, f.u, jt, f.n_y, &size),
           right = product(&r, uj, f.t, f.n_x, &size);
    near(transposed, left, right, size, 1e-13, op->name);
    r.evaluator->destroy(r.run);
    sample_free(&b);
}

static void products_of_every_op(void **state)
{
    (void)state;
    tally differences = {0}, transposed = {0};
    FOR_EACH_SAMPLE(op, s)
    check_product(&differences, &transposed, op, s);
    print_message("J t: %zu elements, worst error %.2g; <u, J t> = <u' J, t>: %zu samples, %.2g\n",
                  differences.compared, differences.worst, transposed.compared, transposed.worst);
    assert_true(differences.compared > 2000 && transposed.compared > 300);
}

/* The Jacobian by rows and by columns: equal, and J t is the product of jvp. */
static void check_matrix(tally *t, const wg_op *op, const wg_sample *s)
{
    sample_graph b = sample_build(op, s, WG_F64, 1);
    function f = {0};
    if (differentiable(&b))
        f = function_of(&b, op);
    for (size_t j = 0; j < f.n_y; j++) {
        wg_value *y = f.y[j], *v[3], *x = f.x[j % f.n_x], *dir = f.t[j % f.n_x];
        if (y->shape.rank + x->shape.rank > WG_MAX_RANK || y->shape.rank == WG_MAX_RANK)
            continue;
        int64_t rows = wg_value_count(y), columns = wg_value_count(x);
        wg_jacobian_options reverse = {WG_JACOBIAN_REVERSE, 5}, forward = {WG_JACOBIAN_FORWARD, 0};
        check_that(wg_jacobian(y, &x, 1, &reverse, &v[0]) == WG_OK &&
                       wg_jacobian(y, &x, 1, &forward, &v[1]) == WG_OK &&
                       wg_jvp(&y, 1, &x, &dir, 1, &v[2]) == WG_OK,
                   "%s: %s", op->name, wg_graph_message(b.g));
        numbers r = numbers_of(b.g, v, 3);
        fill_operands(&r, &b);
        fill(&r, &dir, 1, 3);
        compute(&r);
        for (int64_t i = 0; i < rows; i++) {
            double sum = 0, size = 1;
            for (int64_t k = 0; k < columns; k++) {
                double a = data(&r, v[0])[i * columns + k], c = data(&r, v[1])[i * columns + k];
                near(t, a, c, fabs(a), 1e-11, op->name);
                sum += a * data(&r, dir)[k];
                size += fabs(a * data(&r, dir)[k]);
            }
            near(t, sum, data(&r, v[2])[i], size, 1e-12, op->name);
        }
        r.evaluator->destroy(r.run);
    }
    sample_free(&b);
}

static void jacobians_of_every_op(void **state)
{
    (void)state;
    tally t = {0};
    FOR_EACH_SAMPLE(op, s)
    check_matrix(&t, op, s);
    print_message("Jacobians: %zu elements, worst error %.2g\n", t.compared, t.worst);
    assert_true(t.compared > 20000);
}

/* The Hessian of L = sum of sin(y) over all results: symmetric, and H v against differences of the
 * gradient. */
static void check_hessian(tally *t, const wg_op *op, const wg_sample *s)
{
    sample_graph b = sample_build(op, s, WG_F64, 1);
    function f = {0};
    if (differentiable(&b))
        f = function_of(&b, op);
    int64_t n = 0;
    for (size_t i = 0; i < f.n_x; i++)
        n += wg_value_count(f.x[i]);
    wg_value *L = NULL, *v[4 * MAX_VALUES];
    for (size_t j = 0; j < f.n_y; j++) {
        wg_value *part = wg_sum(wg_sin(f.y[j]), WG_ALL_AXES, WG_DROP);
        L = L ? wg_add(L, part) : part;
    }
    if (L && n <= 80 && f.x[0]->shape.rank <= WG_MAX_RANK / 2) {
        wg_value **g = v + 1, **hv = g + f.n_x;
        check_that(wg_hessian(L, f.x, 1, NULL, v) == WG_OK && wg_grad(L, f.x, f.n_x, g) == WG_OK &&
                       wg_hvp(L, f.x, f.t, f.n_x, hv) == WG_OK,
                   "%s: %s", op->name, wg_graph_message(b.g));
        numbers r = numbers_of(b.g, v, 1 + 2 * f.n_x);
        fill_operands(&r, &b);
        fill(&r, f.t, f.n_x, 4);
        against_differences(t, &r, &f, g, hv, f.n_x, STEP, 1e-9);
        int64_t side = wg_value_count(f.x[0]);
        for (int64_t i = 0; i < side * side; i++) {
            double a = data(&r, v[0])[i], c = data(&r, v[0])[i % side * side + i / side];
            near(t, a, c, fabs(a), 1e-10, op->name);
        }
        r.evaluator->destroy(r.run);
    }
    sample_free(&b);
}

static void hessians_of_every_op(void **state)
{
    (void)state;
    tally t = {0};
    FOR_EACH_SAMPLE(op, s)
    check_hessian(&t, op, s);
    print_message("Hessians: %zu elements, worst error %.2g\n", t.compared, t.worst);
    assert_true(t.compared > 10000);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* The Transformer of 2 + 2 layers in f64. */
static transformer small_transformer(void)
{
    wg_transformer_config c = transformer_sized("tiny", 11);
    c.d_model = 8;
    c.d_ff = 12;
    c.heads = 2;
    c.encoder_layers = c.decoder_layers = 2;
    c.dtype = WG_F64;
    c.activation = WG_ACTIVATION_GELU; /* no kinks */
    return transformer_of(&c, 2, 3, 4, true);
}

static void fill_ids(const numbers *r, const transformer *t)
{
    const wg_value *ids[] = {t->in.source, t->in.target_in, t->in.target_out};
    uint64_t seed = 3;
    for (int i = 0; i < 3; i++)
        for (int64_t k = 0; k < wg_value_count(ids[i]); k++)
            ((int32_t *)r->evaluator->data(r->run, ids[i]))[k] =
                (int32_t)(wgi_splitmix64(&seed) % 11);
    int32_t *lengths = r->evaluator->data(r->run, t->in.source_lengths);
    lengths[0] = 3;
    lengths[1] = 2;
}

/* In all parameters at once: J t of the logits and H v of the loss against differences. */
static void products_of_the_transformer(void **state)
{
    (void)state;
    transformer m = small_transformer();
    static wg_value *x[TRANSFORMER_MAX_PARAMETERS], *t[TRANSFORMER_MAX_PARAMETERS],
        *dx[TRANSFORMER_MAX_PARAMETERS], *hv[TRANSFORMER_MAX_PARAMETERS];
    size_t n = transformer_gradients(&m, x, dx), n_wanted = 0;
    static wg_value *wanted[2 * TRANSFORMER_MAX_PARAMETERS + 2];
    function f = {.name = "the Transformer", .g = m.g};
    tally first = {0}, second = {0};
    wg_value *jt;
    for (size_t i = 0; i < n; i++)
        t[i] = input_like(m.g, "direction", i, x[i]);
    check_that(wg_jvp(&m.logits, 1, x, t, n, &jt) == WG_OK && wg_hvp(m.loss, x, t, n, hv) == WG_OK,
               "%s", wg_graph_message(m.g));
    wanted[n_wanted++] = m.logits;
    wanted[n_wanted++] = jt;
    for (size_t i = 0; i < n; i++) {
        wanted[n_wanted++] = dx[i];
        wanted[n_wanted++] = hv[i];
    }
    numbers r = numbers_of(m.g, wanted, n_wanted);
    fill_ids(&r, &m);
    fill(&r, x, n, 1);
    fill(&r, t, n, 2);
    assert_true(n <= MAX_VALUES);
    f.n_x = n;
    memcpy(f.x, x, n * sizeof *x);
    memcpy(f.t, t, n * sizeof *t);
    against_differences(&first, &r, &f, &m.logits, &jt, 1, STEP, 1e-8);
    against_differences(&second, &r, &f, dx, hv, n, STEP, 1e-7);
    print_message("Transformer: J t %zu elements, worst error %.2g; H v %zu, %.2g\n",
                  first.compared, first.worst, second.compared, second.worst);
    r.evaluator->destroy(r.run);
    wg_graph_free(m.g);
}

/* Whole matrices of one parameter: the Jacobian of the logits by rows and by columns, the Hessian
 * of the loss and its symmetry. */
static void matrices_of_the_transformer(void **state)
{
    (void)state;
    transformer m = small_transformer();
    wg_value *x = wg_graph_find(m.g, "decoder/layer1/feed_forward/norm/gain"), *v[3], *p[256];
    size_t n = wg_graph_parameters(m.g, p, 256);
    for (size_t i = 0; i < n && !x; i++)
        x = p[i]->shape.rank == 1 && p[i]->shape.dim[0] == 8 ? p[i] : NULL;
    assert_non_null(x);
    wg_jacobian_options reverse = {WG_JACOBIAN_REVERSE, 7}, forward = {WG_JACOBIAN_FORWARD, 0};
    check_that(wg_jacobian(m.logits, &x, 1, &reverse, &v[0]) == WG_OK &&
                   wg_jacobian(m.logits, &x, 1, &forward, &v[1]) == WG_OK &&
                   wg_hessian(m.loss, &x, 1, NULL, &v[2]) == WG_OK,
               "%s", wg_graph_message(m.g));
    numbers r = numbers_of(m.g, v, 3);
    fill_ids(&r, &m);
    fill(&r, p, n, 1);
    compute(&r);
    tally same = {0}, symmetric = {0};
    double size = 0;
    for (int64_t i = 0; i < wg_value_count(v[0]); i++) {
        size += fabs(data(&r, v[0])[i]);
        near(&same, data(&r, v[0])[i], data(&r, v[1])[i], 1, 1e-12, "rows and columns");
    }
    for (int64_t i = 0; i < 64; i++)
        near(&symmetric, data(&r, v[2])[i], data(&r, v[2])[i % 8 * 8 + i / 8], 1, 1e-12, "H");
    print_message("Transformer: J %zu elements, worst error %.2g; H %zu, %.2g\n", same.compared,
                  same.worst, symmetric.compared, symmetric.worst);
    assert_true(size > 1 && same.compared == 2 * 4 * 11 * 8);
    r.evaluator->destroy(r.run);
    wg_graph_free(m.g);
}

/* ---- Laplacian, per-sample gradients --------------------------------------------------------- */

/* u = sin(x0) exp(2 x1) + x2^3 at 5 points:  -sin(x0) e + 4 sin(x0) e + 6 x2. */
static void laplacian_of_points(void **state)
{
    (void)state;
    enum { N = 5 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(N, 3)), *c[3];
    for (int i = 0; i < 3; i++)
        c[i] = wg_slice(x, 1, i, i + 1, 1);
    wg_value *u =
        wg_add(wg_mul(wg_sin(c[0]), wg_exp(wg_scale(c[1], 2))), wg_mul(c[2], wg_square(c[2])));
    wg_value *l = wg_laplacian(u, x);
    check_that(l != NULL, "%s", wg_graph_message(g));
    assert_true(wg_shape_equal(&l->shape, &u->shape));
    numbers r = numbers_of(g, &l, 1);
    fill(&r, &x, 1, 9);
    compute(&r);
    tally t = {0};
    for (int n = 0; n < N; n++) {
        const double *p = data(&r, x) + 3 * n;
        double e = sin(p[0]) * exp(2 * p[1]);
        near(&t, data(&r, l)[n], 3 * e + 6 * p[2], 1, 1e-13, "Laplacian");
    }
    assert_int_equal(t.compared, N);
    r.evaluator->destroy(r.run);
    wg_graph_free(g);
}

/* The Laplacian of |x|^4 in a 2 x 3 matrix is (4 d + 8) |x|^2 = 32 |x|^2. */
static void laplacian_of_a_scalar(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 3));
    wg_value *s = wg_sum(wg_square(x), WG_ALL_AXES, WG_DROP),
             *v[2] = {wg_laplacian(wg_square(s), x), s};
    check_that(v[0] != NULL, "%s", wg_graph_message(g));
    numbers r = numbers_of(g, v, 2);
    fill(&r, &x, 1, 2);
    compute(&r);
    tally t = {0};
    near(&t, *data(&r, v[0]), 32 * *data(&r, v[1]), 1, 1e-12, "Laplacian");
    r.evaluator->destroy(r.run);
    wg_graph_free(g);
}

/* Row k is the gradient for example k alone; the sum over rows is the gradient of the batch. */
static void gradients_of_each_sample(void **state)
{
    (void)state;
    enum { B = 6 };
    wg_graph *g = wg_graph_new();
    wg_value *x[2] = {wg_input(g, "x", WG_F64, WG_SHAPE(1, 2, 5, 5)),
                      wg_input(g, "t", WG_I32, WG_SHAPE(1))};
    wg_value *xb[2] = {wg_input(g, "xb", WG_F64, WG_SHAPE(B, 1, 2, 5, 5)),
                       wg_input(g, "tb", WG_I32, WG_SHAPE(B, 1))};
    wg_value *w[3] = {wg_parameter(g, "kernel", WG_F64, WG_SHAPE(3, 2, 3, 3), wg_xavier(1)),
                      wg_parameter(g, "weight", WG_F64, WG_SHAPE(4, 27), wg_xavier(1)),
                      wg_parameter(g, "bias", WG_F64, WG_SHAPE(4), wg_zeros())};
    wg_value *h = wg_relu(wg_conv2d(x[0], w[0], NULL, NULL));
    wg_value *logits = wg_linear(wg_reshape(h, WG_SHAPE(1, 27)), w[1], w[2], WG_ACTIVATION_NONE);
    wg_value *loss = wg_cross_entropy(logits, x[1], NULL, NULL), *v[6];
    check_that(wg_per_sample_grad(loss, x, xb, 2, w, 3, v) == WG_OK &&
                   wg_grad(loss, w, 3, v + 3) == WG_OK,
               "%s", wg_graph_message(g));
    numbers r = numbers_of(g, v, 6);
    fill(&r, w, 3, 1);
    fill(&r, xb, 1, 2);
    for (int k = 0; k < B; k++)
        ((int32_t *)r.evaluator->data(r.run, xb[1]))[k] = k % 4;
    tally t = {0};
    for (int k = 0; k < B; k++) {
        memcpy(data(&r, x[0]), data(&r, xb[0]) + 50 * k, 50 * sizeof(double));
        *(int32_t *)r.evaluator->data(r.run, x[1]) = k % 4;
        compute(&r);
        for (int i = 0; i < 3; i++) {
            int64_t count = wg_value_count(w[i]);
            for (int64_t e = 0; e < count; e++)
                near(&t, data(&r, v[i])[k * count + e], data(&r, v[3 + i])[e], 1, 1e-12, "sample");
        }
    }
    assert_int_equal(t.compared, B * (54 + 108 + 4));
    r.evaluator->destroy(r.run);
    wg_graph_free(g);
}

/* A tangent of NULL stands for ones; what does not depend on x does not move. */
static void defaults(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)), *z = wg_input(g, "z", WG_F64, WG_SHAPE(2));
    wg_value *y[2] = {wg_square(x), wg_exp(z)}, *d[2];
    assert_int_equal(wg_jvp(y, 2, &x, NULL, 1, d), WG_OK);
    numbers r = numbers_of(g, d, 2);
    data(&r, x)[0] = 3;
    data(&r, x)[1] = -4;
    compute(&r);
    assert_true(data(&r, d[0])[0] == 6 && data(&r, d[0])[1] == -8);
    assert_true(data(&r, d[1])[0] == 0 && data(&r, d[1])[1] == 0);
    r.evaluator->destroy(r.run);
    wg_graph_free(g);
}

/* Where a first derivative is 0 because there is none, so are all others: no number that the
 * substitute of a divisor makes, and the same in either order of differentiation. */
static void corners_are_flat(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(3)), *H[7];
    wg_value *ab[2] = {wg_input(g, "a", WG_F64, WG_SCALAR), wg_input(g, "b", WG_F64, WG_SCALAR)};
    assert_int_equal(wg_hessian(wg_vector_norm(x, WG_ALL_AXES, WG_DROP, 2), &x, 1, NULL, &H[0]),
                     WG_OK);
    assert_int_equal(wg_hessian(wg_vector_norm(x, WG_ALL_AXES, WG_DROP, 3), &x, 1, NULL, &H[1]),
                     WG_OK);
    assert_int_equal(wg_hessian(wg_global_norm(&x, 1), &x, 1, NULL, &H[2]), WG_OK);
    assert_int_equal(wg_hessian(wg_atan2(ab[0], ab[1]), ab, 2, NULL, H + 3), WG_OK);
    numbers r = numbers_of(g, H, WG_COUNT(H));
    int compared = 0;
    compute(&r); /* at zeros */
    for (int i = 0; i < WG_COUNT(H); i++)
        for (int64_t k = 0; k < wg_value_count(H[i]); k++, compared++)
            check_that(data(&r, H[i])[k] == 0, "%d [%lld]: %g", i, (long long)k, data(&r, H[i])[k]);
    assert_int_equal(compared, 3 * 9 + 4);
    r.evaluator->destroy(r.run);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_every_op),
        cmocka_unit_test(jacobians_of_every_op),
        cmocka_unit_test(hessians_of_every_op),
        cmocka_unit_test(products_of_the_transformer),
        cmocka_unit_test(matrices_of_the_transformer),
        cmocka_unit_test(laplacian_of_points),
        cmocka_unit_test(laplacian_of_a_scalar),
        cmocka_unit_test(gradients_of_each_sample),
        cmocka_unit_test(defaults),
        cmocka_unit_test(corners_are_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
