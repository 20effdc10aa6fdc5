/* Every op of the table that has a float result, on at least 50 cases: the f32 kernels of each
 * built-in backend against the cpu backend in f64.  What a backend refuses, but whose expansion it
 * computes, is compared as a plan. */
#include "tests/conformance.h"
#include "wengert/backends/lapack.h"
#include "wengert/backends/load.h"
#include "wengert/ops/fused.h"

enum { MIN_CASES = 50, MAX_TURNS = 12000 };

/* ---- bounds ---------------------------------------------------------------------------------- */

/* |y - truth| <= tolerance max(1, |truth|), or the normalised mean squared error for sums of
 * products, or what rounding can do to each element: see norm_bounds. */
typedef struct bound {
    const char *op;
    double tolerance;
    enum { RELATIVE, MEAN_SQUARE, PRODUCT, TERMS } kind; /* PRODUCT: and exact on whole numbers */
    double lo, hi; /* the numbers of float operands, if not those of the sample */
} bound;

/* A sum of k products of random sign, added in f32 one after the other, has a relative mean squared
 * error of about k u^2 / 6 with u = 2^-24 (each partial sum of i terms is rounded by u / sqrt(3) of
 * itself, and its mean square grows as i): 6e-13 for the up to 1000 terms of the cases here. */
#define SHORT_SUMS 1e-12

static const bound bounds[] = {
    {"matmul", SHORT_SUMS, PRODUCT, 0, 0},
    {"matmul_add", SHORT_SUMS, PRODUCT, 0, 0},
    {"linear", SHORT_SUMS, MEAN_SQUARE, 0, 0},
    {"einsum", 1e-10, PRODUCT, 0, 0},
    {"conv1d", 1e-10, PRODUCT, 0, 0},
    {"conv2d", 1e-10, PRODUCT, 0, 0},
    {"conv2d_grad_x", SHORT_SUMS, PRODUCT, 0, 0},
    {"conv2d_grad_w", 1e-10, PRODUCT, 0, 0},
    {"conv3d", 1e-10, PRODUCT, 0, 0},
    {"conv3d_grad_x", SHORT_SUMS, PRODUCT, 0, 0},
    {"conv3d_grad_w", 1e-10, PRODUCT, 0, 0},
    {"conv_transpose1d", SHORT_SUMS, PRODUCT, 0, 0},
    {"conv_transpose2d", 1e-10, PRODUCT, 0, 0},
    {"conv_transpose3d", 1e-10, PRODUCT, 0, 0},
    {"upsample2d_grad", 1e-10, MEAN_SQUARE, 0, 0},
    {"rnn_cell", SHORT_SUMS, MEAN_SQUARE, 0, 0},
    /* h by h weights of -0.2..0.2 have a spectral radius of about 0.2 sqrt(h / 3), below 1 up to
     * h = 75: rounding errors of earlier steps shrink, and that of the last step is what is left.
     * Larger weights would let any rounding error grow from step to step. */
    {"rnn", SHORT_SUMS, MEAN_SQUARE, -0.2, 0.2},
    {"softmax", 10 * 0x1p-23, RELATIVE, 0, 0},
    {"log_softmax", 10 * 0x1p-23, RELATIVE, 0, 0},
    {"layernorm", 5e-7, RELATIVE, -1, 1}, /* y is 0(1) with gains and biases up to 1 */
    {"layernorm_grad", 1, TERMS, 0, 0},
    {"residual_layernorm_grad", 1, TERMS, 0, 0},
    {"rmsnorm_grad", 1, TERMS, 0, 0},
    /* where two numbers are almost equal their difference is multiplied by up to 300 */
    {"batchnorm", 1e-10, MEAN_SQUARE, 0, 0},
    {"batchnorm_grad", 1e-10, MEAN_SQUARE, 0, 0},
    {"groupnorm_grad", 1e-10, MEAN_SQUARE, 0, 0},
    {"residual_layernorm", 1e-10, MEAN_SQUARE, 0, 0},
    {"linear_cross_entropy_step", 1e-10, MEAN_SQUARE, 0, 0},
    {"relu", 0, RELATIVE, -1, 4}, /* mostly not 0 */
    {"relu_grad", 0, RELATIVE, -1, 4},
    {NULL, 4e-6, RELATIVE, 0, 0},
};

/* Copies of operands, choices among them, and results that IEEE 754 rounds correctly: the f64
 * result rounded to f32, and nothing else. */
static const char *const rounded_once[] = {
    "add",         "sub",      "mul",        "div",        "maximum",     "minimum",
    "neg",         "abs",      "sign",       "square",     "sqrt",        "reciprocal",
    "floor",       "ceil",     "round",      "where",      "max",         "min",
    "topk",        "reshape",  "permute",    "expand",     "slice",       "slice_grad",
    "pad",         "flip",     "roll",       "concat",     "stack",       "split",
    "tile",        "take",     "embedding",  "gather",     "barrier",     "guard",
    "masked_fill", "put_rows", "max_pool1d", "max_pool2d", "pool_gather", "stop_gradient",
    "triangle",
};

static bound bound_of(const wg_op *op)
{
    for (int k = 0; k < WG_COUNT(rounded_once); k++)
        if (strcmp(rounded_once[k], op->name) == 0)
            return (bound){rounded_once[k], 0, RELATIVE, 0, 0};
    int i = 0;
    while (bounds[i].op && strcmp(bounds[i].op, op->name) != 0)
        i++;
    return bounds[i];
}

/* ---- sums whose terms cancel ----------------------------------------------------------------- */

/* The gradient of a normalisation consists of sums of products, over the rows and along each.  The
 * terms cancel: the result may be any share of their magnitude, so a bound relative to the result
 * would be wrong.  But in any order of additions
 *
 *     |y - truth| <= n 2^-24 (sum of |terms|)
 *
 * to first order, where n is the maximum number of times that a term is rounded to float (Higham,
 * Accuracy and Stability of Numerical Algorithms, section 4.2).  With rows of `width` numbers,
 * h = (x - mean) rstd and e = dy gain, and sums made in at least 32 blocks of rows and 16 lanes
 * along a row, n is the sum of
 *
 *     dgain = sum over rows of dy h     3 to make a term
 *                                       ceil(rows / 32) in a block
 *                                       1 to store the sum
 *     dbias = sum over rows of dy       no more than dgain
 *     dx = rstd (e - mean(e) - h mean(e h)) (+ dsum)
 *                                       (the last mean is rounded most)
 *                                       4 to make e h
 *                                       ceil(width / 16) in a lane
 *                                       1 for the mean
 *                                       3 for the product with h
 *                                       2 for the differences
 *                                       1 each for rstd and dsum
 *     dbranch = dx / (1 - p) or 0       2 more than dx
 *
 * A kernel that satisfies this does so for all numbers, not only for those drawn here. */
enum { NORM_RESULTS = 4 };
typedef struct norm_bounds {
    double *of[NORM_RESULTS]; /* for each element of a result */
    int n;
} norm_bounds;

static norm_bounds norm_bounds_of(const conf_case *c)
{
    const wg_op *op = c->op;
    bool centred = op != &wg_op_rmsnorm_grad, fused = op == &wg_op_residual_layernorm_grad;
    const float *dy = c->data[0], *x = c->data[1], *mean = centred ? c->data[2] : NULL;
    const float *rstd = c->data[centred ? 3 : 2], *gain = c->data[centred ? 4 : 3],
                *dsum = fused ? c->data[5] : NULL;
    int64_t count = wg_shape_count(&c->sample.in[1].shape),
            rows = wg_shape_count(&c->sample.in[2].shape), width = rows ? count / rows : 0;
    double kept = fused ? 1 - ((const wg_residual_layernorm_attrs *)c->sample.attrs)->p : 1;
    double in_block = 4 + ceil((double)rows / 32), in_lane = 12 + ceil((double)width / 16);
    norm_bounds b = {.n = NORM_RESULTS};
    for (int i = 0; i < NORM_RESULTS; i++) {
        b.of[i] = calloc((size_t)count + 1, sizeof(double));
        assert_non_null(b.of[i]);
    }
    double *dx = b.of[0], *dgain = b.of[1], *dbias = b.of[2], *dbranch = b.of[3];
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0, product = 0, s = (double)rstd[r], m = mean ? (double)mean[r] : 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0, k = r * width; i < width; i++, k++) {
                double h = fabs(((double)x[k] - m) * s), d = fabs((double)dy[k]);
                double e = gain ? d * fabs((double)gain[i]) : d;
                if (pass == 0) {
                    sum += centred ? e / (double)width : 0;
                    product += e * h / (double)width;
                    dgain[i] += in_block * 0x1p-24 * d * h;
                    dbias[i] += in_block * 0x1p-24 * d;
                    continue;
                }
                double size =
                    fabs(s) * (e + sum + h * product) + (dsum ? fabs((double)dsum[k]) : 0);
                dx[k] = in_lane * 0x1p-24 * size;
                dbranch[k] = (in_lane + 2) * 0x1p-24 * size / kept;
            }
    }
    return b;
}

static void norm_bounds_free(norm_bounds *b)
{
    for (int i = 0; i < b->n; i++)
        free(b->of[i]);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Error of one result, NaN and infinities counting as right only where the truth has the same; with
 * `limit`, as a share of it. */
static double error_of(const bound *b, bool exact, const conf_results *y, const conf_results *truth,
                       int i, const double *limit)
{
    double worst = 0, difference = 0, size = 0;
    for (int64_t k = 0; k < y->count[i]; k++) {
        double a = wgi_get_element(y->data[i], y->dtype[i], k);
        double t = wgi_get_element(truth->data[i], truth->dtype[i], k);
        double rounded = y->dtype[i] == WG_F32 ? (double)(float)t : t;
        if (a == rounded || (isnan(a) && isnan(rounded))) {
            size += t * t;
            continue;
        }
        double error = exact ? INFINITY : fabs(a - t) / (limit ? limit[k] : fmax(1, fabs(t)));
        worst = error <= worst ? worst : error; /* NaN stays */
        difference += (a - t) * (a - t);
        size += t * t;
    }
    return (b->kind == MEAN_SQUARE || b->kind == PRODUCT) && !exact
               ? difference / (size > 0 ? size : 1)
               : worst;
}

/* The largest share of zeros that still says something: 30 %, or the other triangle of a factor.
 * An op that writes zeros must not pass. */
static double max_zeros(const wg_op *op)
{
    return op == &wg_op_cholesky ? 0.5 : 0.3;
}

static bool too_many_zeros(const wg_op *op, const conf_results *truth)
{
    int64_t zeros = 0, total = 0;
    for (int i = 0; i < truth->n; i++)
        if (wg_dtype_is_float(truth->dtype[i])) {
            total += truth->count[i];
            for (int64_t k = 0; k < truth->count[i]; k++)
                zeros += wgi_get_element(truth->data[i], truth->dtype[i], k) == 0;
        }
    return (double)zeros > max_zeros(op) * (double)total;
}

static int64_t total_of(const conf_results *r)
{
    int64_t total = 0;
    for (int i = 0; i < r->n; i++)
        total += r->count[i];
    return total;
}

/* ---- one row of the table -------------------------------------------------------------------- */

typedef struct column {
    int cases, empty, failures;
    int64_t elements;
    double worst;
    char kernels[128]; /* their names */
} column;

typedef struct row {
    const wg_op *op;
    bound bound;
    column column[WG_MAX_BACKENDS]; /* of each backend, as in devices */
} row;

static void note_kernel(column *col, const char *op, const char *name)
{
    size_t used = strlen(col->kernels);
    if (strstr(name, "ref") && col->failures++ < 3) /* right, but up to 600 times as slow */
        print_error("%s: a reference kernel is taken: %s\n", op, name);
    if (name[0] && !strstr(col->kernels, name))
        snprintf(col->kernels + used, sizeof col->kernels - used, used ? ", %s" : "%s", name);
}

static void describe(const conf_case *c, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < c->sample.n_in && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, "[");
        for (int k = 0; k < c->sample.in[i].shape.rank && at < size; k++)
            at += (size_t)snprintf(text + at, size - at, k ? ",%lld" : "%lld",
                                   (long long)c->sample.in[i].shape.dim[k]);
        at += at < size ? (size_t)snprintf(text + at, size - at, "] ") : 0;
    }
}

static void judge(const row *r, column *col, const char *who, const conf_case *c,
                  const conf_results *y, const conf_results *truth, bool sparse)
{
    int64_t total = total_of(truth);
    char shapes[256];
    describe(c, shapes, sizeof shapes);
    norm_bounds limits = {.n = 0};
    if (r->bound.kind == TERMS)
        limits = norm_bounds_of(c);
    for (int i = 0; i < truth->n; i++) {
        bool exact = c->whole && r->bound.kind == PRODUCT;
        double error = error_of(&r->bound, exact, y, truth, i, i < limits.n ? limits.of[i] : NULL);
        col->worst = error <= col->worst ? col->worst : error;
        if (error <= r->bound.tolerance)
            continue;
        if (col->failures++ < 3)
            print_error("%s on %s, %s(%s), result %d: error %.3g > %.3g\n", r->op->name, who,
                        c->sample.name ? c->sample.name : "sample", shapes, i, error,
                        r->bound.tolerance);
    }
    norm_bounds_free(&limits);
    if (!total)
        col->empty++;
    else if (!sparse)
        col->cases++, col->elements += total;
}

static void same_bits(const row *r, column *col, const char *what, const conf_results *a,
                      conf_results *b)
{
    if (!conf_same_bits(a, b) && col->failures++ < 3)
        print_error("%s by %s: other bits %s\n", r->op->name, col->kernels, what);
    conf_results_free(b);
}

/* The built-in backends, each with one thread and with two; the last is cpu. */
typedef struct devices {
    conf_device one[WG_MAX_BACKENDS], two[WG_MAX_BACKENDS];
    int count;
} devices;

/* The kernel again: in place, once more, and, where the backend promises the same bits for it, on
 * another number of threads. */
static void repeat(const devices *d, int i, const row *r, column *col, const conf_case *c,
                   const wg_node *n, const conf_results *first)
{
    conf_results again;
    if (conf_run_kernel(&d->two[i], c, n, true, &again, NULL))
        same_bits(r, col, "in place", first, &again);
    if (conf_run_kernel(&d->two[i], c, n, false, &again, NULL))
        same_bits(r, col, "when run again", first, &again);
    if (d->two[i].backend->reproducible == WG_ANY_THREADS &&
        conf_run_kernel(&d->one[i], c, n, false, &again, NULL))
        same_bits(r, col, "on one thread", first, &again);
}

/* Backend i's kernel for n or, if it has none, its plan of the expansion. */
static void run_on(const devices *d, int i, row *r, const conf_case *c, const wg_node *n,
                   const conf_results *truth, bool sparse)
{
    column *col = &r->column[i];
    const wg_backend *backend = d->two[i].backend;
    bool is_cpu = i == d->count - 1;
    char kernel[64] = "";
    int used = is_cpu; /* which computes whatever it is given */
    conf_results y = {.n = 0};
    if (col->cases >= 2 * MIN_CASES)
        return;
    bool direct = conf_run_kernel(&d->two[i], c, n, false, &y, kernel);
    if (!direct && (is_cpu || r->op->expand))
        conf_run_plan(c, WG_F32, is_cpu ? NULL : backend, &y, is_cpu ? NULL : &used, kernel);
    if (direct || used) {
        note_kernel(col, r->op->name, is_cpu ? "" : kernel);
        judge(r, col, backend->name, c, &y, truth, sparse);
    }
    if (direct)
        repeat(d, i, r, col, c, n, &y);
    conf_results_free(&y);
}

static void run_case(const devices *d, row *r, conf_case *c)
{
    conf_results truth;
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    wg_node *n = conf_build(g, c, WG_F32, in);
    if (n && conf_run_plan(c, WG_F64, NULL, &truth, NULL, NULL)) {
        bool sparse = too_many_zeros(r->op, &truth);
        for (int i = 0; i < d->count; i++)
            run_on(d, i, r, c, n, &truth, sparse);
        conf_results_free(&truth);
    }
    wg_graph_free(g);
}

/* ---- more samples ---------------------------------------------------------------------------- */

/* More samples for ops whose own rarely pass the shape rule on zeros, or miss cases that kernels
 * distinguish: oneDNN's convolutions want channels in blocks of 16. */

/* clang-format off */
#define F(...) WG_FLOATS(-2, 2, __VA_ARGS__)
#define CONV(s, p, d, g)                                                                           \
    &(const wg_conv_attrs){                                                                        \
        .stride = {s, s, s}, .padding = {p, p, p}, .dilation = {d, d, d}, .groups = g}
static const struct {
    const wg_op *op;
    wg_sample sample;
} more[] = {
    {&wg_op_conv2d,
     {"blocks", CONV(1, 1, 1, 1), 3, {F(4, 2, 16, 9, 7), F(4, 32, 16, 3, 3), F(1, 32)}}},
    {&wg_op_conv2d,
     {"picture", CONV(2, 3, 1, 1), 3, {F(4, 2, 3, 14, 13), F(4, 8, 3, 7, 7), F(1, 8)}}},
    {&wg_op_conv2d,
     {"1x1 in blocks", CONV(1, 0, 1, 1), 2, {F(4, 2, 16, 6, 5), F(4, 32, 16, 1, 1)}}},
    {&wg_op_conv2d,
     {"depthwise blocks", CONV(1, 1, 1, 16), 2, {F(4, 2, 16, 6, 5), F(4, 16, 1, 3, 3)}}},
    {&wg_op_conv2d,
     {"groups of blocks", CONV(1, 1, 2, 2), 2, {F(4, 2, 32, 6, 5), F(4, 32, 16, 3, 3)}}},
    {&wg_op_conv3d,
     {"blocks", CONV(1, 1, 1, 1), 3, {F(5, 2, 16, 4, 5, 6), F(5, 32, 16, 3, 3, 3), F(1, 32)}}},
    {&wg_op_conv3d,
     {"film", CONV(2, 1, 1, 1), 3, {F(5, 1, 3, 5, 9, 8), F(5, 8, 3, 3, 5, 5), F(1, 8)}}},
    {&wg_op_conv3d,
     {"1x1x1 in blocks", CONV(1, 0, 1, 1), 2, {F(5, 2, 16, 3, 4, 5), F(5, 32, 16, 1, 1, 1)}}},
    {&wg_op_conv3d,
     {"groups of blocks", CONV(1, 1, 2, 2), 2, {F(5, 1, 32, 4, 5, 3), F(5, 32, 16, 3, 3, 3)}}},
    {&wg_op_dropout,
     {"tenth", &(const wg_dropout_attrs){0.1, 5}, 1, {F(2, 24, 5)}}},
    {&wg_op_dropout,
     {"fifth", &(const wg_dropout_attrs){0.2, 6}, 1, {F(3, 2, 3, 7)}}},
    {&wg_op_slice_grad,
     {"most of it", &(const wg_slice_grad_attrs){{2, {5, 8}}, {2, {0, 0}}, {2, {1, 1}}}, 1,
      {F(2, 5, 8)}}},
    {&wg_op_slice_grad,
     {"all but one", &(const wg_slice_grad_attrs){{2, {9, 8}}, {2, {1, 7}}, {2, {1, -1}}}, 1,
      {F(2, 8, 8)}}},
};
/* clang-format on */

/* Sample k of an op, its own first; NULL past the end. */
static const wg_sample *sample_of(const wg_op *op, int k)
{
    if (k < op->n_samples)
        return &op->samples[k];
    k -= op->n_samples;
    for (int i = 0; i < WG_COUNT(more); i++)
        if (more[i].op == op && k-- == 0)
            return &more[i].sample;
    return NULL;
}

/* ---- all rows -------------------------------------------------------------------------------- */

static bool enough(const devices *d, const row *r)
{
    for (int i = 0; i < d->count; i++) {
        const column *c = &r->column[i];
        bool takes = c->cases + c->empty > 0 || i == d->count - 1;
        if (takes && c->cases < MIN_CASES)
            return false;
    }
    return true;
}

static void run_row(const devices *d, row *r)
{
    const wg_op *from = conf_source_of(r->op);
    const wg_sample *s;
    uint64_t seed = 11;
    for (int turn = 0; turn < MAX_TURNS && !enough(d, r); turn++)
        for (int k = 0; (s = sample_of(from, k)); k++) {
            conf_case c;
            if (!conf_case_of(r->op, s, turn, &seed, &c))
                continue;
            c.whole = turn % 2 && r->bound.kind == PRODUCT;
            if (conf_is_small(&c)) {
                conf_fill(&c, r->bound.lo, r->bound.hi, &seed);
                run_case(d, r, &c);
            }
            conf_free(&c);
        }
}

static void print_column(const column *c)
{
    if (c->cases + c->empty)
        print_message(" %5d %5d %9lld %8.1e", c->cases, c->empty, (long long)c->elements, c->worst);
    else
        print_message(" %30s", "");
}

static bool float_result(const wg_op *op)
{
    for (int k = 0; k < op->n_samples; k++) {
        wg_graph *g = wg_graph_new();
        wg_value *in[WG_MAX_SAMPLE_OPERANDS];
        conf_case c = {.op = op, .sample = op->samples[k]};
        wg_node *n = conf_build(g, &c, WG_F32, in);
        bool yes = n && n->out[0]->dtype == WG_F32;
        wg_graph_free(g);
        if (yes)
            return true;
    }
    return false;
}

static devices open_devices(void)
{
    const wg_backend_list built = wg_backend_list_built_in();
    devices d = {.count = (int)built.count};
    for (int i = 0; i < d.count; i++) {
        d.one[i] = conf_open(built.backend[i], 1);
        d.two[i] = conf_open(built.backend[i], 2);
    }
    return d;
}

static void close_devices(devices *d)
{
    for (int i = 0; i < d->count; i++) {
        conf_close(&d->one[i]);
        conf_close(&d->two[i]);
    }
}

/* How many ops a backend must have computed, if only parts of their expansions. */
static int min_claimed(const wg_backend *b)
{
    return b == wg_lapack_backend() ? 7 : 10;
}

static void print_head(const devices *d)
{
    print_message("%-20s", "");
    for (int i = 0; i < d->count; i++)
        print_message(" %30s", d->two[i].backend->name);
    print_message("  kernels\n%-20s", "op");
    for (int i = 0; i < d->count; i++)
        print_message(" %5s %5s %9s %8s", "cases", "empty", "elements", "error");
    print_message("\n");
}

static void every_op_is_right(void **state)
{
    (void)state;
    devices d = open_devices();
    int failures = 0, rows = 0, claimed[WG_MAX_BACKENDS] = {0};
    const wg_op *op;
    print_head(&d);
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        if (!float_result(op))
            continue;
        row r = {.op = op, .bound = bound_of(op)};
        run_row(&d, &r);
        print_message("%-20s", op->name);
        for (int k = 0; k < d.count; k++) {
            print_column(&r.column[k]);
            failures += r.column[k].failures;
            claimed[k] += r.column[k].cases > 0;
        }
        for (int k = 0; k < d.count; k++)
            print_message("  %s", r.column[k].kernels);
        print_message("\n");
        if (!enough(&d, &r)) {
            print_error("%s: fewer than %d cases\n", op->name, MIN_CASES);
            failures++;
        }
        rows++;
    }
    for (int k = 0; k < d.count; k++) {
        print_message("%d ops on %s\n", claimed[k], d.two[k].backend->name);
        assert_true(claimed[k] >= min_claimed(d.two[k].backend));
    }
    close_devices(&d);
    assert_true(rows > 80);
    check_that(failures == 0, "%d failures", failures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
