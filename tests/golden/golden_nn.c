/* PyTorch's softmax, normalisation and losses. */
#include "tests/golden/golden.h"

/* ---- words that many ops share --------------------------------------------------------------- */

static const char AXIS[] = "axis|dim", EPS[] = "eps|epsilon";

/* "none", "mean", "sum"; "mean over kept" is PyTorch's mean with an ignored index; "batchmean" is
 * not here. */
static wg_reduction reduction_of(golden *c)
{
    const char *r = golden_text(c, "reduction", "mean");
    if (golden_is(r, "none"))
        return WG_LOSS_NONE;
    if (golden_is(r, "sum"))
        return WG_LOSS_SUM;
    if (!golden_is(r, "mean") && !golden_is(r, "mean over kept"))
        golden_fail(c, "reduction %s is not known", r);
    return WG_LOSS_MEAN;
}

/* ---- softmax, normalisation ------------------------------------------------------------------ */

static void build_softmax(golden *c)
{
    int axis = golden_axis(c, AXIS, -1);
    golden_give(c, wg_softmax(golden_in(c, "x"), axis));
}

static void build_log_softmax(golden *c)
{
    int axis = golden_axis(c, AXIS, -1);
    golden_give(c, wg_log_softmax(golden_in(c, "x"), axis));
}

static const char GAIN[] = "g|w|weight|gamma", BIAS[] = "b|bias|beta";

/* How many axes make a row: as many as normalized_shape, or the gain, has. */
static int row_axes(golden *c, wg_value *gain)
{
    int64_t shape[WG_MAX_RANK];
    int n = golden_ints(c, "normalized_shape", shape, WG_MAX_RANK, 1);
    return n > 0 ? n : gain ? gain->shape.rank : 1;
}

static void build_layernorm(golden *c)
{
    wg_value *gain = golden_in_maybe(c, GAIN);
    int axes = row_axes(c, gain);
    double eps = golden_real(c, EPS, 1e-5);
    golden_give_results(
        c, wg_layernorm(golden_in(c, "x"), gain, golden_in_maybe(c, BIAS), axes, eps), 3);
}

static void build_rmsnorm(golden *c)
{
    wg_value *gain = golden_in_maybe(c, GAIN);
    int axes = row_axes(c, gain);
    golden_give(
        c, wg_rmsnorm(golden_in(c, "x"), gain, axes, golden_real(c, EPS, 2.220446049250313e-16)));
}

/* training: statistics of this batch; otherwise the given ones */
static void build_batchnorm(golden *c)
{
    wg_value *x = golden_in(c, "x"), *gain = golden_in_maybe(c, GAIN),
             *bias = golden_in_maybe(c, BIAS);
    double eps = golden_real(c, EPS, 1e-5);
    golden_real(c, "momentum", 0.1);
    wg_value *mean = golden_in_maybe(c, "mean|running_mean|m"),
             *var = golden_in_maybe(c, "var|running_var|v");
    if (golden_bool(c, "training|train", !mean))
        golden_give(c, wg_batchnorm(x, gain, bias, eps));
    else
        golden_give(c, wg_batchnorm_eval(x, mean, var, gain, bias, eps));
}

static void build_groupnorm(golden *c)
{
    int64_t groups = golden_int(c, "groups|num_groups", 1);
    double eps = golden_real(c, EPS, 1e-5);
    golden_give(c, wg_groupnorm(golden_in(c, "x"), golden_in_maybe(c, GAIN),
                                golden_in_maybe(c, BIAS), groups, eps));
}

/* each channel of each element of the batch by itself */
static void build_instancenorm(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int64_t channels = x && x->shape.rank > 1 ? x->shape.dim[1] : 1;
    double eps = golden_real(c, EPS, 1e-5);
    golden_give(c,
                wg_groupnorm(x, golden_in_maybe(c, GAIN), golden_in_maybe(c, BIAS), channels, eps));
}

/* ---- losses ---------------------------------------------------------------------------------- */

static const char LEFT[] = "a|x|input|p", RIGHT[] = "b|t|target|y";

/* PyTorch has classes at axis 1 of x [N, C, ...]; here they come last. */
static wg_value *classes_last(wg_value *x)
{
    if (!x || x->shape.rank < 3)
        return x;
    wg_axes order = {x->shape.rank, {0}};
    for (int i = 1; i + 1 < x->shape.rank; i++)
        order.axis[i] = i + 1;
    order.axis[x->shape.rank - 1] = 1;
    return wg_permute(x, order);
}

static wg_cross_entropy_attrs entropy_of(golden *c)
{
    return (wg_cross_entropy_attrs){.smoothing = golden_real(c, "label_smoothing", 0),
                                    .use_ignore = true,
                                    .ignore = golden_int(c, "ignore_index", -100),
                                    .reduction = reduction_of(c)};
}

static void build_cross_entropy(golden *c)
{
    wg_value *x = golden_in(c, "x|logits|input"), *t = golden_in(c, "t|target|y");
    wg_cross_entropy_attrs a = entropy_of(c);
    golden_give(c, wg_cross_entropy(classes_last(x), t, NULL, &a));
}

static void build_weighted_cross_entropy(golden *c)
{
    wg_value *x = golden_in(c, "x"), *t = golden_in(c, "t"), *weight = golden_in(c, "weight");
    wg_cross_entropy_attrs a = entropy_of(c);
    golden_give(c, wg_weighted_cross_entropy(classes_last(x), t, weight, &a));
}

/* PyTorch has the frames first, and its gradient is meant for the operand of log_softmax: x. */
static void build_ctc_loss(golden *c)
{
    wg_value *x = golden_in(c, "x"), *targets = golden_in(c, "targets");
    wg_value *frames = golden_in(c, "input_lengths"), *labels = golden_in(c, "target_lengths");
    wg_ctc_attrs a = {.blank = golden_int(c, "blank", 0)};
    a.zero_infinity = golden_bool(c, "zero_infinity", false);
    a.reduction = reduction_of(c);
    wg_value *log_probs = wg_permute(wg_log_softmax(x, -1), WG_AXES(1, 0, 2));
    golden_give(c, wg_ctc_loss(log_probs, targets, frames, labels, &a));
}

static void build_bce_with_logits(golden *c)
{
    wg_value *x = golden_in(c, LEFT), *t = golden_in(c, RIGHT);
    golden_give(c, wg_bce_with_logits(x, t, reduction_of(c)));
}

static void build_weighted_bce_with_logits(golden *c)
{
    wg_value *x = golden_in(c, LEFT), *t = golden_in(c, RIGHT), *w = golden_in(c, "pos_weight");
    golden_give(c, wg_weighted_bce_with_logits(x, t, w, reduction_of(c)));
}

static void build_mse(golden *c)
{
    wg_value *a = golden_in(c, LEFT), *b = golden_in(c, RIGHT);
    golden_give(c, wg_mse(a, b, reduction_of(c)));
}

static void build_huber(golden *c)
{
    wg_value *a = golden_in(c, LEFT), *b = golden_in(c, RIGHT);
    double delta = golden_real(c, "delta", 1);
    golden_give(c, wg_huber(a, b, delta, reduction_of(c)));
}

/* smooth_l1 with beta is huber with delta = beta, divided by beta */
static void build_smooth_l1(golden *c)
{
    wg_value *a = golden_in(c, LEFT), *b = golden_in(c, RIGHT);
    double beta = golden_real(c, "beta", 1);
    golden_give(c, wg_scale(wg_huber(a, b, beta, reduction_of(c)), 1 / beta));
}

static void build_l1(golden *c)
{
    wg_value *d = wg_abs(wg_sub(golden_in(c, LEFT), golden_in(c, RIGHT)));
    wg_reduction r = reduction_of(c);
    golden_give(c, r == WG_LOSS_NONE  ? d
                   : r == WG_LOSS_SUM ? wg_sum(d, WG_ALL_AXES, WG_DROP)
                                      : wg_mean(d, WG_ALL_AXES, WG_DROP));
}

/* batchmean: the sum over the size of the first axis */
static void build_kl(golden *c)
{
    wg_value *log_q = golden_in(c, LEFT), *p = golden_in(c, RIGHT);
    wg_kl_target given = golden_bool(c, "log_target", false) ? WG_KL_LOG_P : WG_KL_P;
    wg_reduction r;
    const char *text = golden_text(c, "reduction", "mean");
    bool batch = golden_is(text, "batchmean");
    r = golden_is(text, "none")           ? WG_LOSS_NONE
        : golden_is(text, "sum") || batch ? WG_LOSS_SUM
                                          : WG_LOSS_MEAN;
    wg_value *y = wg_kl(log_q, p, given, r);
    golden_give(c, batch && y ? wg_scale(y, 1 / (double)log_q->shape.dim[0]) : y);
}

/* ---- the table ------------------------------------------------------------------------------- */

const golden_op golden_nn_ops[] = {
    {"softmax", build_softmax},
    {"log_softmax", build_log_softmax},
    {"layernorm", build_layernorm},
    {"layer_norm", build_layernorm},
    {"rmsnorm", build_rmsnorm},
    {"rms_norm", build_rmsnorm},
    {"batchnorm", build_batchnorm},
    {"batch_norm", build_batchnorm},
    {"groupnorm", build_groupnorm},
    {"group_norm", build_groupnorm},
    {"instance_norm", build_instancenorm},
    {"cross_entropy", build_cross_entropy},
    {"weighted_cross_entropy", build_weighted_cross_entropy},
    {"weighted_bce_with_logits", build_weighted_bce_with_logits},
    {"ctc_loss", build_ctc_loss},
    {"bce_with_logits", build_bce_with_logits},
    {"mse", build_mse},
    {"huber", build_huber},
    {"smooth_l1", build_smooth_l1},
    {"l1", build_l1},
    {"kl", build_kl},
    {"kl_div", build_kl},
    {NULL, NULL},
};
