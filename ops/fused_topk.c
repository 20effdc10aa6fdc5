/* topk(log_softmax(x)), so that a kernel need not write all the log-probabilities: see the head of fused.h. */
#include "ops/fused.h"
#include "ops/ops.h"
#include "ops/table.h"

static const wg_attr attrs[] = {
    WG_ATTR(INT, wg_topk_attrs, k),
    WG_ATTR(INT, wg_topk_attrs, axis),
};

static bool infer(wg_node *n)
{
    const wg_topk_attrs *a = n->attrs;
    int rank = n->in[0]->shape.rank;
    if (!wg_need_float(n, 0) || !wg_op_topk.infer(n))
        return false;
    return wg_axis_of(a->axis, rank) == rank - 1 ||
           wg_fail(n, WG_EINVAL, "axis is %lld, must be the last", (long long)a->axis);
}

static void expand(wg_node *n, wg_value **y)
{
    const wg_topk_attrs *a = n->attrs;
    y[0] = wg_topk(wg_log_softmax(n->in[0], -1), a->k, -1);
    y[1] = wg_result_of(y[0], 1);
}

static double flops(const wg_node *n)
{
    return 4 * (double)wg_value_count(n->in[0]);
}

static const wg_sample samples[] = {
    {"three of each row", &(const wg_topk_attrs){3, -1}, 1, {WG_FLOATS(-4, 4, 3, 2, 2, 9)}},
    {"all of a long row", &(const wg_topk_attrs){40, 0}, 1, {WG_FLOATS(-4, 4, 1, 40)}},
    {"several blocks", &(const wg_topk_attrs){6, 1}, 1, {WG_FLOATS(-4, 4, 2, 2, 330)}},
};

const wg_op wg_op_log_softmax_topk = {
    .name = "log_softmax_topk",
    .formula = "the k largest log_softmax(x) in each row, descending, and where they are",
    .family = "fused",
    .operands = "x",
    .results = "values indices",
    .flops = flops,
    .attrs_size = sizeof(wg_topk_attrs),
    .attrs = attrs,
    .n_attrs = WG_COUNT(attrs),
    .infer = infer,
    .expand = expand,
    .samples = samples,
    .n_samples = WG_COUNT(samples),
};
