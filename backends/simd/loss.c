/* cross_entropy and its gradient by kernels/loss.c; and linear_cross_entropy and its step, with the
 * logits in chunks of rows. */

#include "backends/call.h"
#include "backends/simd/internal.h"
#include "backends/targets.h"
#include "graph/element.h"
#include "wengert/ops/cross_entropy.h"

/* ---- what a row counts ----------------------------------------------------------------------- */

static double operand(const wg_call *c, int k, int64_t i)
{
    return wgi_get_element(c->in[k], c->node->in[k]->dtype, i);
}

/* Targets of 64 bits and the weight of each row, from operand `at` of so many classes and perhaps
 * operand `normaliser`; false: a target is outside [0, classes). */
static bool weigh(wg_call *c, int at, int64_t classes, int normaliser, int64_t *target,
                  double *weight)
{
    const wg_cross_entropy_attrs *a = c->node->attrs;
    int64_t rows = wg_value_count(c->node->in[at]), kept = 0;
    bool wide = c->node->in[at]->dtype == WG_I64;
    for (int64_t i = 0; i < rows; i++) {
        target[i] = wide ? ((const int64_t *)c->in[at])[i] : ((const int32_t *)c->in[at])[i];
        bool counts = !(a->use_ignore && target[i] == a->ignore);
        weight[i] = counts ? 1 : 0;
        kept += counts;
        if (counts && (target[i] < 0 || target[i] >= classes)) {
            wgi_refuse_target(c, at, a, i, target[i], classes);
            return false;
        }
    }
    double divisor = normaliser < c->node->n_in ? operand(c, normaliser, 0) : (double)kept;
    if (a->reduction == WG_LOSS_MEAN && divisor != 0)
        for (int64_t i = 0; i < rows; i++)
            weight[i] = weight[i] != 0 ? weight[i] / divisor : 0; /* also if that is NaN */
    return true;
}

static const char *refuses_one_class(const wg_node *n, int64_t classes)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    return a->spread == WG_SMOOTH_OFF_TARGET && classes < 2 ? "one class" : NULL;
}

/* ---- logits that are there ------------------------------------------------------------------- */

/* Where the logits are, and behind them targets and perhaps the normaliser. */
static int logits_of(const wg_node *n)
{
    return n->op == &wg_op_cross_entropy_grad;
}

static const char *refuses_rows(const wg_node *n)
{
    const wg_value *logits = n->in[logits_of(n)];
    if (logits->dtype != WG_F32 && logits->dtype != WG_F64)
        return "neither f32 nor f64";
    if (!wg_value_count(logits))
        return "an empty operand";
    return refuses_one_class(n, logits->shape.dim[logits->shape.rank - 1]);
}

/* A target of 64 bits, a weight and a loss for each row, of 8 bytes at most. */
static size_t scratch_rows(const wg_node *n, int threads)
{
    (void)threads;
    return (size_t)wg_value_count(n->in[logits_of(n) + 1]) * (sizeof(int64_t) + 2 * sizeof(double));
}

/* What the kernel is to read, with its weights; false: a target is wrong. */
static bool open_rows(wg_call *c, simd_row_losses *a, double **weights)
{
    const wg_node *n = c->node;
    int at = logits_of(n);
    const wg_shape *s = &n->in[at]->shape;
    int64_t classes = s->dim[s->rank - 1], rows = wg_value_count(n->in[at + 1]);
    int64_t *target = c->scratch;
    double *weight = (double *)(target + rows);
    wg_target_weights q = wg_target_weights_of(n->attrs, classes);
    *weights = weight;
    *a = (simd_row_losses){.x = c->in[at],
                           .targets = target,
                           .weights = weight,
                           .rows = rows,
                           .classes = classes,
                           .on = q.on,
                           .off = q.off,
                           .threads = c->threads};
    return weigh(c, at + 1, classes, at + 2, target, weight);
}

static void run_kernel(const wg_call *c, const simd_row_losses *a)
{
    const simd_table *kernels = simd_kernels(c);
    bool f64 = c->node->in[logits_of(c->node)]->dtype == WG_F64;
    (f64 ? kernels->f64 : kernels->f32)->row_losses(a);
}

static void run_losses(wg_call *c)
{
    const wg_cross_entropy_attrs *attrs = c->node->attrs;
    wg_dtype dtype = c->node->out[0]->dtype;
    double *weights;
    simd_row_losses a;
    if (!open_rows(c, &a, &weights))
        return;
    bool each = attrs->reduction == WG_LOSS_NONE;
    a.losses = each ? c->out[0] : weights + a.rows;
    run_kernel(c, &a);
    if (each)
        return;
    double sum = 0;
    for (int64_t i = 0; i < a.rows; i++)
        sum += wgi_get_element(a.losses, dtype, i);
    wgi_put_element(c->out[0], dtype, 0, sum);
}

static void run_gradients(wg_call *c)
{
    const wg_cross_entropy_attrs *attrs = c->node->attrs;
    double *weights;
    simd_row_losses a;
    if (!open_rows(c, &a, &weights))
        return;
    for (int64_t i = 0; i < a.rows; i++)
        if (weights[i] != 0) /* dy of what is ignored may be anything */
            weights[i] *= operand(c, 0, attrs->reduction == WG_LOSS_NONE ? i : 0);
    a.dx = c->out[0];
    run_kernel(c, &a);
}

/* ---- logits of a linear layer ---------------------------------------------------------------- */

/* Rows of a chunk: some 16 MiB of logits, fewer rows than a step has, and enough of them for fast
 * products: dW is read and written once for each chunk.  All chunks have about as many. */
static int64_t chunk_of(int64_t rows, int64_t classes)
{
    int64_t most = (1 << 22) / (classes > 0 ? classes : 1) / 64 * 64;
    most = most < 256 ? 256 : most > 1024 ? 1024 : most;
    int64_t chunks = (rows + most - 1) / most, even = (rows + chunks - 1) / chunks;
    return (even + 63) / 64 * 64 < rows ? (even + 63) / 64 * 64 : rows;
}

static int64_t rows_of(const wg_node *n)
{
    return wg_value_count(n->in[2]);
}

static int64_t classes_of(const wg_node *n)
{
    return n->in[1]->shape.dim[0];
}

static const char *refuses(const wg_node *n)
{
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    if (!wg_value_count(n->in[0]) || !wg_value_count(n->in[1]))
        return "an empty operand";
    return refuses_one_class(n, classes_of(n));
}

/* A weight and a target of 64 bits for each row, and what a chunk needs. */
static size_t scratch(const wg_node *n, int threads)
{
    int64_t rows = rows_of(n), chunk = chunk_of(rows, classes_of(n));
    return (size_t)rows * (sizeof(int64_t) + sizeof(double)) +
           (size_t)simd_loss_scratch(chunk, n->in[1]->shape.dim[1], classes_of(n), threads) *
               sizeof(float);
}

static void run_rows(wg_call *c, const float *dy, int normaliser)
{
    const wg_node *n = c->node;
    int64_t rows = rows_of(n);
    int64_t *target = c->scratch;
    double *weight = (double *)(target + rows);
    bool failed = false;
    if (!weigh(c, 2, classes_of(n), normaliser, target, weight))
        return;
    wg_target_weights q = wg_target_weights_of(n->attrs, classes_of(n));
    simd_loss a = {
        .x = c->in[0],
        .w = c->in[1],
        .targets = target,
        .weights = weight,
        .loss = c->out[0],
        .dx = dy ? c->out[1] : NULL,
        .dw = dy ? c->out[2] : NULL,
        .scale = dy ? *dy : 0,
        .rows = rows,
        .width = n->in[1]->shape.dim[1],
        .classes = classes_of(n),
        .chunk = chunk_of(rows, classes_of(n)),
        .on = (float)q.on,
        .off = (float)q.off,
        .threads = c->threads,
        .scratch = (float *)(weight + rows),
        .failed = &failed,
    };
    simd_kernels(c)->linear_loss(&a);
    if (failed)
        wgi_call_lacks_memory(c, "a product of the loss");
}

static void run_loss(wg_call *c)
{
    run_rows(c, NULL, 3);
}

static void run_step(wg_call *c)
{
    run_rows(c, c->in[3], 4);
}

const simd_kernel wgi_simd_loss[] = {
    {&wg_op_cross_entropy, "rows", refuses_rows, scratch_rows, run_losses},
    {&wg_op_cross_entropy_grad, "rows", refuses_rows, scratch_rows, run_gradients},
    {&wg_op_linear_cross_entropy, "fused loss", refuses, scratch, run_loss},
    {&wg_op_linear_cross_entropy_step, "fused loss", refuses, scratch, run_step},
    {.op = NULL},
};
