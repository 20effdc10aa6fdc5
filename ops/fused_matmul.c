/* A matrix product added to what is there, as cotangents are accumulated and residual sums made: a
 * kernel begins with c instead of zeros and needs no pass of its own over memory for the sum. */
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

/* The shape rule of matmul for a and b; c and bias [N] fit its result y. */
static bool infer(wg_node *n)
{
    wg_node product = *n;
    product.n_in = 2;
    if (!wg_op_matmul.infer(&product) || !wg_need_same_dtype(n, 0, 2))
        return false;
    const wg_shape *y = &n->out[0]->shape, *c = &n->in[2]->shape;
    char is[160], must[160];
    if (!wg_shape_equal(c, y))
        return wg_fail(n, WG_ESHAPE, "c is %s, must be %s", wg_shape_text(c, is, sizeof is),
                       wg_shape_text(y, must, sizeof must));
    return n->n_in < 4 || (wg_need_same_dtype(n, 0, 3) && wg_need_rank(n, 3, 1, 1) &&
                           wg_need_dim(n, 3, 0, y->dim[y->rank - 1]));
}

static void expand(wg_node *n, wg_value **y)
{
    const wg_matmul_attrs *t = n->attrs;
    int transposes = (t->transpose_a ? WG_TN : WG_NN) | (t->transpose_b ? WG_NT : WG_NN);
    wg_value *product = wg_matmul_t(n->in[0], n->in[1], transposes);
    y[0] = wg_add(n->n_in < 4 ? product : wg_add(product, n->in[3]), n->in[2]);
}

static double flops(const wg_node *n)
{
    return wg_op_matmul.flops(n) + (n->n_in - 2.0) * (double)wg_value_count(n->out[0]);
}

/* clang-format off */
static const wg_matmul_attrs nn = {false, false}, tn = {true, false}, nt = {false, true},
    tt = {true, true};

#define X(...) WG_FLOATS(-2, 2, __VA_ARGS__)
static const wg_sample samples[] = {
    {"nn", &nn, 3, {X(2, 3, 5), X(2, 5, 4), X(2, 3, 4)}},
    {"tn", &tn, 3, {X(2, 5, 3), X(2, 5, 4), X(2, 3, 4)}},
    {"nt, bias", &nt, 4, {X(2, 3, 5), X(2, 4, 5), X(2, 3, 4), X(1, 4)}},
    {"tt", &tt, 3, {X(2, 5, 3), X(2, 4, 5), X(2, 3, 4)}},
    {"one matrix for a batch, bias", &nn, 4, {X(3, 2, 3, 4), X(2, 4, 5), X(3, 2, 3, 5), X(1, 5)}},
    {"batch broadcast", &nt, 3, {X(4, 2, 1, 3, 4), X(3, 3, 2, 4), X(4, 2, 3, 3, 2)}},
    {"empty inner", &nn, 3, {X(2, 3, 0), X(2, 0, 4), X(2, 3, 4)}},
};

const wg_op wg_op_matmul_add = {
    .name = "matmul_add",
    .formula = "y[..., M, N] = a[..., M, K] b[..., K, N] + bias[N] + c[..., M, N]",
    .family = WG_FAMILY_FUSED, .operands = "a b c bias?", .results = "y", .inplace = 1 << 2,
    WG_ATTRS(wg_matmul_attrs, wgi_matmul_table),
    .infer = infer, .expand = expand, .flops = flops, WG_SAMPLES(samples),
};
/* clang-format on */
