/* cross_entropy(x weight', targets) together with its derivatives by x and weight, so that a kernel
 * can go through the rows in chunks and never hold all logits: see the head of fused.h. */
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

/* Operands: x weight targets dy? normaliser?, with dy only where the derivatives are wanted. */
static bool has_dy(const wg_node *n)
{
    return n->op == &wg_op_linear_cross_entropy_step;
}

static wg_value *normaliser(const wg_node *n)
{
    int i = has_dy(n) ? 4 : 3;
    return n->n_in > i ? n->in[i] : NULL;
}

/* The shape rule of cross_entropy on logits that exist in shape only. */
static bool infer_loss(wg_node *n)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    const wg_shape *w = &n->in[1]->shape;
    if (!wg_need_float(n, 0) || !wg_need_same_dtype(n, 0, 1) ||
        !wg_need_rank(n, 0, 1, WG_MAX_RANK) || !wg_need_rank(n, 1, 2, 2) ||
        !wg_need_dim(n, 0, -1, w->dim[1]))
        return false;
    if (a->reduction == WG_LOSS_NONE)
        return wg_fail(n, WG_EINVAL, "reduction is none, must be mean or sum");
    wg_value logits = *n->in[0];
    logits.shape.dim[logits.shape.rank - 1] = w->dim[0];
    wg_value *in[] = {&logits, n->in[2], normaliser(n)};
    wg_node seen = *n;
    seen.in = in;
    seen.n_in = in[2] ? 3 : 2;
    return wg_op_cross_entropy.infer(&seen);
}

static bool infer_step(wg_node *n)
{
    return infer_loss(n) && wg_need_same_dtype(n, 0, 3) && wg_need_rank(n, 3, 0, 0) &&
           wg_set_result(n, 1, n->in[0]->dtype, n->in[0]->shape) &&
           wg_set_result(n, 2, n->in[1]->dtype, n->in[1]->shape);
}

static void expand(wg_node *n, wg_value **y)
{
    wg_value *x = n->in[0], *weight = n->in[1], *targets = n->in[2];
    wg_value *logits = wg_linear(x, weight, NULL, WG_ACTIVATION_NONE);
    y[0] = wg_cross_entropy(logits, targets, normaliser(n), n->attrs);
    if (!has_dy(n))
        return;
    wg_value *in[] = {n->in[3], logits, targets, normaliser(n)};
    wg_node *d = wg_apply(WG_HERE, n->graph, &wg_op_cross_entropy_grad, n->attrs, in, 4);
    wg_value *dlogits = d ? wgi_as_rows(d->out[0]) : NULL;
    wg_value *dx = wg_matmul(dlogits, weight);
    y[1] = dx ? wg_reshape(dx, x->shape) : NULL;
    y[2] = wg_matmul_t(dlogits, wgi_as_rows(x), WG_TN);
}

static double flops(const wg_node *n) /* of the one product, or of all three */
{
    return (has_dy(n) ? 6.0 : 2.0) * (double)wg_value_count(n->in[0]) *
           (double)n->in[1]->shape.dim[0];
}

/* clang-format off */
static const wg_cross_entropy_attrs mean = {0.1, WG_SMOOTH_UNIFORM, true, 0, WG_LOSS_MEAN},
                                    sum = {0.1, WG_SMOOTH_OFF_TARGET, false, 0, WG_LOSS_SUM},
                                    plain = {0, WG_SMOOTH_UNIFORM, false, 0, WG_LOSS_MEAN};

#define X(...) WG_FLOATS(-2, 2, __VA_ARGS__)
static const wg_sample loss_samples[] = {
    {"mean, ignored targets", &mean, 3, {X(3, 2, 3, 4), X(2, 5, 4), WG_INTS(0, 5, 2, 2, 3)}},
    {"sum, off target", &sum, 3, {X(2, 6, 4), X(2, 5, 4), WG_INTS(0, 5, 1, 6)}},
    {"normaliser", &plain, 4, {X(2, 6, 4), X(2, 5, 4), WG_INTS(0, 5, 1, 6), WG_FLOATS(2, 4, 0, 0)}},
};
static const wg_sample step_samples[] = {
    {"mean, ignored targets", &mean, 4,
     {X(3, 2, 3, 4), X(2, 5, 4), WG_INTS(0, 5, 2, 2, 3), X(0, 0)}},
    {"sum, off target", &sum, 4, {X(2, 6, 4), X(2, 5, 4), WG_INTS(0, 5, 1, 6), X(0, 0)}},
    {"normaliser", &plain, 5,
     {X(2, 6, 4), X(2, 5, 4), WG_INTS(0, 5, 1, 6), X(0, 0), WG_FLOATS(2, 4, 0, 0)}},
};

#define LINEAR_LOSS                                                                                \
    .family = WG_FAMILY_FUSED, WG_ATTRS(wg_cross_entropy_attrs, wgi_cross_entropy_table),          \
    .expand = expand, .flops = flops

const wg_op wg_op_linear_cross_entropy = {
    .name = "linear_cross_entropy", .formula = "loss = cross_entropy(x weight', targets)",
    LINEAR_LOSS,
    .operands = "x weight targets normaliser?", .results = "loss", .infer = infer_loss,
    WG_SAMPLES(loss_samples),
};
const wg_op wg_op_linear_cross_entropy_step = {
    .name = "linear_cross_entropy_step",
    .formula = "the same, with dx and dweight for the cotangent dy of the loss",
    LINEAR_LOSS, .operands = "x weight targets dy normaliser?", .results = "loss dx dweight",
    .infer = infer_step, WG_SAMPLES(step_samples),
};
/* clang-format on */
