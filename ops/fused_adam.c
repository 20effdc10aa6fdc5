/* adam and adamw of several parameters at once, whose gradients have a common factor. */
#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

enum { HEAD = 3, OWN = 4, RESULTS = 3 }; /* lr step factor, then p g m v of each parameter */

static bool need_scalar(wg_node *n, int i)
{
    return wg_need_rank(n, i, 0, 0) && (i == 1 || wg_need_same_dtype(n, i, HEAD));
}

static bool infer(wg_node *n)
{
    int tensors = (n->n_in - HEAD) / OWN;
    if (tensors < 1 || n->n_in != HEAD + OWN * tensors)
        return wg_fail(n, WG_EINVAL, "%d operands, must be 3 and 4 for each parameter", n->n_in);
    if (!wg_need_float(n, HEAD) || !wg_need_number(n, 1) || !need_scalar(n, 0) ||
        !need_scalar(n, 1) || !need_scalar(n, 2) || !wgi_need_adam_attrs(n) ||
        !wg_set_result_count(n, RESULTS * tensors))
        return false;
    for (int i = 0; i < tensors; i++) {
        int p = HEAD + OWN * i;
        for (int k = 0; k < OWN; k++)
            if (!wg_need_same_dtype(n, p + k, HEAD) || !wg_need_same_shape(n, p + k, p))
                return false;
        for (int k = 0; k < RESULTS; k++)
            if (!wg_set_result(n, RESULTS * i + k, n->in[p]->dtype, n->in[p]->shape))
                return false;
    }
    return true;
}

static void expand(wg_node *n, wg_value **y)
{
    const wg_op *one = n->op == &wg_op_adamw_scaled ? &wg_op_adamw : &wg_op_adam;
    for (int i = 0; HEAD + OWN * i < n->n_in; i++) {
        wg_value **own = n->in + HEAD + (ptrdiff_t)OWN * i;
        wg_value *in[] = {own[0], wg_mul(own[1], n->in[2]), own[2], own[3], n->in[0], n->in[1]};
        wg_node *step = wg_apply(WG_HERE, n->graph, one, n->attrs, in, WG_COUNT(in));
        for (int k = 0; step && k < RESULTS; k++)
            y[RESULTS * i + k] = step->out[k];
    }
}

/* The results of a parameter in place of its own operands. */
static bool overwrites(int result, int operand)
{
    return operand >= HEAD && (operand - HEAD) / OWN == result / RESULTS;
}

static double flops(const wg_node *n)
{
    double flops = 0;
    for (int i = HEAD; i < n->n_in; i += OWN)
        flops += 15.0 * (double)wg_value_count(n->in[i]);
    return flops;
}

/* clang-format off */
static const wg_attr attrs[] = {
    WG_ATTR(REAL, wg_adam_attrs, beta1), WG_ATTR(REAL, wg_adam_attrs, beta2),
    WG_ATTR(REAL, wg_adam_attrs, eps), WG_ATTR(REAL, wg_adam_attrs, weight_decay),
};
static const wg_adam_attrs plain = {0.9, 0.98, 1e-9, 0}, decay = {0.8, 0.9, 1e-3, 0.1};

#define X(lo, hi, ...) WG_FLOATS(lo, hi, __VA_ARGS__)
#define SCALARS X(0.01, 0.1, 0, 0), WG_INTS(1, 6, 0, 0), X(0.5, 1, 0, 0)
#define TENSOR(...)                                                                                \
    X(-2, 2, __VA_ARGS__), X(-2, 2, __VA_ARGS__), X(-2, 2, __VA_ARGS__),                           \
    X(0.5, 2, __VA_ARGS__)
static const wg_sample samples[] = {
    {"one", &plain, 7, {SCALARS, TENSOR(2, 2, 3)}},
    {"two, weight decay", &decay, 11, {SCALARS, TENSOR(2, 2, 3), TENSOR(1, 5)}},
    {"one empty", &decay, 11, {SCALARS, TENSOR(1, 0), TENSOR(1, 5)}},
};

#define SCALED                                                                                     \
    .family = WG_FAMILY_FUSED, .operands = "lr step factor tensors*", .results = "p*",             \
    .flags = WG_OP_UPDATE, .overwrites = overwrites, WG_ATTRS(wg_adam_attrs, attrs),               \
    .infer = infer, .expand = expand, .flops = flops,                                              \
    WG_SAMPLES(samples)

const wg_op wg_op_adam_scaled = {
    .name = "adam_scaled",
    .formula = "p, m, v = adam(p, factor g, m, v, lr, step) for each p, g, m, v", SCALED,
};
const wg_op wg_op_adamw_scaled = {
    .name = "adamw_scaled",
    .formula = "p, m, v = adamw(p, factor g, m, v, lr, step) for each p, g, m, v", SCALED,
};
/* clang-format on */
