#include "tests/bounds.h"
#include "tests/half.h"
#include "wengert/ops/fused.h"

/* ---- bounds ---------------------------------------------------------------------------------- */

/* A sum of k products of random sign, added in f32 one after the other, has a relative mean squared
 * error of about k u^2 / 6 with u = 2^-24 (each partial sum of i terms is rounded by u / sqrt(3) of
 * itself, and its mean square grows as i): 6e-13 for the up to 1000 terms of the cases here. */
#define SHORT_SUMS 1e-12

static const op_bound bounds[] = {
    {"matmul", SHORT_SUMS, BOUND_PRODUCT, 0, 0},
    {"matmul_add", SHORT_SUMS, BOUND_PRODUCT, 0, 0},
    {"linear", SHORT_SUMS, BOUND_MEAN_SQUARE, 0, 0},
    {"einsum", 1e-10, BOUND_PRODUCT, 0, 0},
    {"fft", SHORT_SUMS, BOUND_MEAN_SQUARE, 0, 0},
    {"rfft", SHORT_SUMS, BOUND_MEAN_SQUARE, 0, 0},
    {"irfft", SHORT_SUMS, BOUND_MEAN_SQUARE, 0, 0},
    {"conv1d", 1e-10, BOUND_PRODUCT, 0, 0},
    {"conv2d", 1e-10, BOUND_PRODUCT, 0, 0},
    {"blocked_conv2d", 1e-10, BOUND_PRODUCT, 0, 0},
    {"conv2d_grad_x", SHORT_SUMS, BOUND_PRODUCT, 0, 0},
    {"conv2d_grad_w", 1e-10, BOUND_PRODUCT, 0, 0},
    {"conv3d", 1e-10, BOUND_PRODUCT, 0, 0},
    {"conv3d_grad_x", SHORT_SUMS, BOUND_PRODUCT, 0, 0},
    {"conv3d_grad_w", 1e-10, BOUND_PRODUCT, 0, 0},
    {"conv_transpose1d", SHORT_SUMS, BOUND_PRODUCT, 0, 0},
    {"conv_transpose2d", 1e-10, BOUND_PRODUCT, 0, 0},
    {"conv_transpose3d", 1e-10, BOUND_PRODUCT, 0, 0},
    {"upsample2d_grad", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"rnn_cell", SHORT_SUMS, BOUND_MEAN_SQUARE, 0, 0},
    /* h by h weights of -0.2..0.2 have a spectral radius of about 0.2 sqrt(h / 3), below 1 up to
     * h = 75: rounding errors of earlier steps shrink, and that of the last step is what is left.
     * Larger weights would let any rounding error grow from step to step. */
    {"rnn", SHORT_SUMS, BOUND_MEAN_SQUARE, -0.2, 0.2},
    {"softmax", 10 * 0x1p-23, BOUND_RELATIVE, 0, 0},
    {"log_softmax", 10 * 0x1p-23, BOUND_RELATIVE, 0, 0},
    /* LAPACK's methods round by a few 2^-24 of the matrix's norm, and vectors by that divided by
     * the gaps between the values, which are here an n-th of the norm: the square of n 2^-24 is
     * 6e-11 for n = 128. */
    {"qr", SHORT_SUMS, BOUND_MEAN_SQUARE, 0, 0},
    {"eigh", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"svd", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"svd_full", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"layernorm", 5e-7, BOUND_RELATIVE, -1, 1}, /* y is 0(1) with gains and biases up to 1 */
    {"layernorm_grad", 1, BOUND_TERMS, 0, 0},
    {"residual_layernorm_grad", 1, BOUND_TERMS, 0, 0},
    {"rmsnorm_grad", 1, BOUND_TERMS, 0, 0},
    /* where two numbers are almost equal their difference is multiplied by up to 300 */
    {"batchnorm", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"batchnorm_grad", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"groupnorm_grad", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"residual_layernorm", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"linear_cross_entropy_step", 1e-10, BOUND_MEAN_SQUARE, 0, 0},
    {"relu", 0, BOUND_RELATIVE, -1, 4}, /* mostly not 0 */
    {"relu_grad", 0, BOUND_RELATIVE, -1, 4},
    {NULL, 4e-6, BOUND_RELATIVE, 0, 0},
};

/* Copies of operands, choices among them, and results that IEEE 754 rounds correctly: the f64
 * result rounded to f32, and nothing else. */
static const char *const rounded_once[] = {
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "maximum_grad",
    "clamp_grad",
    "neg",
    "abs",
    "sign",
    "square",
    "sqrt",
    "reciprocal",
    "floor",
    "ceil",
    "round",
    "where",
    "max",
    "min",
    "topk",
    "reshape",
    "permute",
    "expand",
    "slice",
    "slice_grad",
    "pad",
    "flip",
    "roll",
    "concat",
    "stack",
    "split",
    "tile",
    "take",
    "embedding",
    "gather",
    "barrier",
    "guard",
    "masked_fill",
    "put_rows",
    "max_pool1d",
    "max_pool2d",
    "pool_gather",
    "stop_gradient",
    "block_channels",
    "unblock_channels",
    "triangle",
};

op_bound bound_of(const wg_op *op)
{
    for (int k = 0; k < WG_COUNT(rounded_once); k++)
        if (strcmp(rounded_once[k], op->name) == 0)
            return (op_bound){rounded_once[k], 0, BOUND_RELATIVE, 0, 0};
    int i = 0;
    while (bounds[i].op && strcmp(bounds[i].op, op->name) != 0)
        i++;
    return bounds[i];
}

op_bound bound_usual(void)
{
    return bounds[WG_COUNT(bounds) - 1];
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
static double error_of(const op_bound *b, bool exact, const conf_results *y,
                       const conf_results *truth, int i, const double *limit)
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
    return (b->kind == BOUND_MEAN_SQUARE || b->kind == BOUND_PRODUCT) && !exact
               ? difference / (size > 0 ? size : 1)
               : worst;
}

void bound_errors(const op_bound *b, const conf_case *c, const conf_results *y,
                  const conf_results *truth, double error[CONF_RESULTS])
{
    const bool exact = c->whole && b->kind == BOUND_PRODUCT;
    norm_bounds limits = {.n = 0};
    if (b->kind == BOUND_TERMS)
        limits = norm_bounds_of(c);
    for (int i = 0; i < truth->n; i++)
        error[i] = error_of(b, exact, y, truth, i, i < limits.n ? limits.of[i] : NULL);
    norm_bounds_free(&limits);
}

bool bound_of_small(const op_bound *b, const conf_case *c, const conf_results *y,
                    const conf_results *truth, int i)
{
    const op_bound usual = bound_usual();
    double error[CONF_RESULTS] = {0}, size = 0;
    for (int64_t k = 0; k < truth->count[i]; k++)
        size += pow(wgi_get_element(truth->data[i], truth->dtype[i], k), 2);
    if (!(size <= 0.01 * (double)truth->count[i])) /* 0.1 in the mean square */
        return false;
    if ((b->kind != BOUND_MEAN_SQUARE && b->kind != BOUND_PRODUCT) || c->whole)
        return false;
    bound_errors(&usual, c, y, truth, error);
    return error[i] <= usual.tolerance;
}

/* ---- bf16 and f16 ---------------------------------------------------------------------------- */

/* Half a unit of the format, and what f32 alone may err */
static double bound_beside(const half_format *f, double t, double single)
{
    return ldexp(fabs(t), -1 - f->fraction) + single * fmax(1, fabs(t));
}

double bound_of_half(const half_format *f, double t)
{
    return bound_beside(f, t, 1e-5);
}

/* Where the bound of f32 is of the mean square, one of a thousand numbers may err four times as
 * much as the root of it: singular vectors do. */
static double single_of(const op_bound *b)
{
    return b->kind == BOUND_MEAN_SQUARE ? fmax(1e-5, 4 * sqrt(b->tolerance)) : 1e-5;
}

/* What the nearest f32 becomes in the format where that is infinite, else that f32. */
static double rounded(const half_format *f, double t)
{
    float single = (float)t, x = half_rounded(f, single);
    return (double)(isinf(x) ? x : single);
}

static double share_of_half(const half_format *f, const op_bound *b, const conf_results *y,
                            const conf_results *truth, int i)
{
    double worst = 0;
    bool real = truth->dtype[i] == WG_F64, quantised = truth->dtype[i] == WG_I8;
    int64_t halfway = 0;
    for (int64_t k = 0; k < truth->count[i]; k++) {
        double a = wgi_get_element(y->data[i], y->dtype[i], k);
        double t = wgi_get_element(truth->data[i], truth->dtype[i], k);
        bool same = a == (real ? rounded(f, t) : t) || (isnan(a) && isnan(t));
        double share = same        ? 0
                       : real      ? fabs(a - t) / bound_beside(f, t, single_of(b))
                       : quantised ? fabs(a - t)
                                   : INFINITY;
        halfway += quantised && !same;
        worst = share <= worst ? worst : share; /* NaN stays */
    }
    return halfway > 1 + truth->count[i] / 100 ? INFINITY : worst;
}

void bound_shares_of_half(const half_format *f, const op_bound *b, const conf_results *y,
                          const conf_results *truth, double share[CONF_RESULTS])
{
    for (int i = 0; i < truth->n; i++)
        share[i] = share_of_half(f, b, y, truth, i);
}

void bound_round_operands(const half_format *f, conf_case *c)
{
    for (int i = 0; i < c->sample.n_in; i++)
        if (!c->sample.in[i].dtype)
            for (int64_t k = 0; k < wg_shape_count(&c->sample.in[i].shape); k++) {
                float *x = (float *)c->data[i] + k;
                *x = half_rounded(f, *x);
            }
}
