/* topk(log_softmax(x)), so that a kernel need not write all the log-probabilities, and the same of
 * a linear layer, whose logits need not be written either, nor if they are wanted as they are: see
 * the head of fused.h. */
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static const wg_attr attrs[] = {
    WG_ATTR(INT, wg_topk_attrs, k),
    WG_ATTR(AXIS, wg_topk_attrs, axis),
};

/* Of logits that may exist in shape only. */
static bool infer_best(wg_node *n)
{
    const wg_topk_attrs *a = n->attrs;
    int rank = n->in[0]->shape.rank;
    if (!wg_need_float(n, 0) || !wg_op_topk.infer(n))
        return false;
    return wg_normalize_axis(a->axis, rank) == rank - 1 ||
           wg_fail(n, WG_EINVAL, "axis is %lld, must be the last", (long long)a->axis);
}

static bool infer_of_linear(wg_node *n)
{
    const wg_shape *w = &n->in[1]->shape;
    if (!wg_need_float(n, 0) || !wg_need_same_dtype(n, 0, 1) ||
        !wg_need_rank(n, 0, 1, WG_MAX_RANK) || !wg_need_rank(n, 1, 2, 2) ||
        !wg_need_dim(n, 0, -1, w->dim[1]))
        return false;
    if (n->n_in > 2 && (!wg_need_same_dtype(n, 0, 2) || !wg_need_rank(n, 2, 1, 1) ||
                        !wg_need_dim(n, 2, 0, w->dim[0])))
        return false;
    wg_value logits = *n->in[0];
    logits.shape.dim[logits.shape.rank - 1] = w->dim[0];
    wg_node seen = *n;
    seen.in = (wg_value *[]){&logits};
    seen.n_in = 1;
    return infer_best(&seen);
}

static bool infer_of_quantized(wg_node *n)
{
    wg_node product = *n, seen = *n;
    /* The copy shares n's results: this puts the logits into result 0, which infer_best then
     * replaces by the values. */
    if (!wg_op_quantized_linear.infer(&product))
        return false;
    wg_value logits = *n->out[0];
    seen.in = (wg_value *[]){&logits};
    seen.n_in = 1;
    return infer_best(&seen);
}

static void best_of(const wg_node *n, wg_value *logits, wg_value **y)
{
    y[0] = wg_topk(wg_log_softmax(logits, -1), ((const wg_topk_attrs *)n->attrs)->k, -1);
    y[1] = wg_result_of(y[0], 1);
}

static void expand_best(wg_node *n, wg_value **y)
{
    best_of(n, n->in[0], y);
}

static void expand_of_linear(wg_node *n, wg_value **y)
{
    wg_value *bias = n->n_in > 2 ? n->in[2] : NULL;
    best_of(n, wg_linear(n->in[0], n->in[1], bias, WG_ACTIVATION_NONE), y);
}

static void expand_linear_topk(wg_node *n, wg_value **y)
{
    wg_value *bias = n->n_in > 2 ? n->in[2] : NULL,
             *logits = wg_linear(n->in[0], n->in[1], bias, WG_ACTIVATION_NONE);
    y[0] = wg_topk(logits, ((const wg_topk_attrs *)n->attrs)->k, -1);
    y[1] = wg_result_of(y[0], 1);
}

static void expand_of_quantized(wg_node *n, wg_value **y)
{
    wg_value *bias = n->n_in > 4 ? n->in[4] : NULL;
    best_of(n,
            wg_quantized_linear(n->in[0], n->in[1], n->in[2], n->in[3], bias, WG_ACTIVATION_NONE),
            y);
}

static double flops_of_best(const wg_node *n)
{
    return 4 * (double)wg_value_count(n->in[0]);
}

static double flops_of_linear(const wg_node *n)
{
    const int64_t *w = n->in[1]->shape.dim;
    return (2 + 4 / (double)(w[1] > 0 ? w[1] : 1)) * (double)wg_value_count(n->in[0]) *
           (double)w[0];
}

static double flops_of_quantized(const wg_node *n)
{
    const int64_t *w = n->in[2]->shape.dim;
    return (2 + 6 / (double)(w[1] > 0 ? w[1] : 1)) * (double)wg_value_count(n->in[0]) *
           (double)w[0];
}

/* clang-format off */
#define X(...) WG_FLOATS(-4, 4, __VA_ARGS__)
static const wg_sample best_samples[] = {
    {"three of each row", &(const wg_topk_attrs){3, -1}, 1, {X(3, 2, 2, 9)}},
    {"all of a long row", &(const wg_topk_attrs){40, 0}, 1, {X(1, 40)}},
    {"several blocks", &(const wg_topk_attrs){6, 1}, 1, {WG_FLOATS(-16, 16, 2, 2, 330)}},
};
#undef X
#define X(...) WG_FLOATS(-1, 1, __VA_ARGS__)
static const wg_sample linear_samples[] = {
    {"three of each row", &(const wg_topk_attrs){3, -1}, 2, {X(3, 2, 2, 5), X(2, 9, 5)}},
    {"bias", &(const wg_topk_attrs){7, 0}, 3, {X(1, 6), X(2, 7, 6), X(1, 7)}},
    {"several blocks", &(const wg_topk_attrs){3, 1}, 2, {X(2, 2, 4), X(2, 70, 4)}},
};

#define BYTES(...) {WG_I8, WG_STATIC_SHAPE(__VA_ARGS__), -127, 128, WG_MATRICES_ANY}
#define SCALES(...) WG_FLOATS(0.01, 0.02, __VA_ARGS__)
static const wg_sample quantized_samples[] = {
    {"three of each row", &(const wg_topk_attrs){3, -1}, 4,
     {BYTES(3, 2, 2, 5), SCALES(2, 2, 2), BYTES(2, 9, 5), SCALES(1, 9)}},
    {"bias", &(const wg_topk_attrs){7, 0}, 5,
     {BYTES(1, 6), SCALES(0, 0), BYTES(2, 7, 6), SCALES(1, 7), X(1, 7)}},
    {"several blocks", &(const wg_topk_attrs){3, 1}, 4,
     {BYTES(2, 2, 4), SCALES(1, 2), BYTES(2, 70, 4), SCALES(1, 70)}},
};

#define BEST                                                                                       \
    .family = WG_FAMILY_FUSED, .results = "values indices", WG_ATTRS(wg_topk_attrs, attrs)

const wg_op wg_op_log_softmax_topk = {
    .name = "log_softmax_topk",
    .formula = "the k largest log_softmax(x) in each row, descending, and where they are", BEST,
    .operands = "x", .flops = flops_of_best, .infer = infer_best, .expand = expand_best,
    WG_SAMPLES(best_samples),
};
const wg_op wg_op_linear_log_softmax_topk = {
    .name = "linear_log_softmax_topk",
    .formula = "the k largest log_softmax(x weight' + bias) in each row, descending, and where "
               "they are", BEST,
    .operands = "x weight bias?", .flops = flops_of_linear, .infer = infer_of_linear,
    .expand = expand_of_linear, WG_SAMPLES(linear_samples),
};
const wg_op wg_op_linear_topk = {
    .name = "linear_topk",
    .formula = "the k largest x weight' + bias in each row, descending, and where they are", BEST,
    .operands = "x weight bias?", .flops = flops_of_linear, .infer = infer_of_linear,
    .expand = expand_linear_topk, WG_SAMPLES(linear_samples),
};
const wg_op wg_op_quantized_linear_log_softmax_topk = {
    .name = "quantized_linear_log_softmax_topk",
    .formula = "the same of log_softmax(quantized_linear(x, x_scale, weight, weight_scale, bias))",
    BEST,
    .operands = "x x_scale weight weight_scale bias?", .flops = flops_of_quantized,
    .infer = infer_of_quantized, .expand = expand_of_quantized, .flags = WG_OP_DISCRETE,
    WG_SAMPLES(quantized_samples),
};
/* clang-format on */
