#include "ops/ops.h"
#include "ops/table.h"

static const wg_attr matmul_attrs[] = {
    WG_ATTR(BOOL, wg_matmul_attrs, transpose_a),
    WG_ATTR(BOOL, wg_matmul_attrs, transpose_b),
};

/* rows and columns of operand i after its transpose */
static void sizes(const wg_node *n, int i, bool transposed, int64_t *rows, int64_t *columns)
{
    const wg_shape *s = &n->in[i]->shape;
    *rows = s->dim[s->rank - (transposed ? 1 : 2)];
    *columns = s->dim[s->rank - (transposed ? 2 : 1)];
}

static bool infer_matmul(wg_node *n)
{
    const wg_matmul_attrs *t = n->attrs;
    int64_t rows, k, k2, columns;
    wg_shape y;
    if (!wg_need_float(n, 0) || !wg_need_same_dtype(n, 0, 1) || !wg_need_rank(n, 0, 2, WG_MAX_RANK) ||
        !wg_need_rank(n, 1, 2, WG_MAX_RANK))
        return false;
    sizes(n, 0, t->transpose_a, &rows, &k);
    sizes(n, 1, t->transpose_b, &k2, &columns);
    if (k != k2)
        return wg_fail(n, WG_ESHAPE, "inner sizes %lld and %lld differ", (long long)k, (long long)k2);
    wg_shape a = n->in[0]->shape, b = n->in[1]->shape;
    a.rank -= 2;
    b.rank -= 2;
    if (!wg_need_broadcast(n, &a, &b, &y))
        return false;
    y.dim[y.rank++] = rows;
    y.dim[y.rank++] = columns;
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

/* With y = A B:  dA = dy B',  dB = A' dy; where A or B is given transposed, so is its cotangent. */
static void grad_matmul(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_matmul_attrs *t = n->attrs;
    wg_value *a = n->in[0], *b = n->in[1];
    bool ta = t->transpose_a, tb = t->transpose_b;
    dx[0] = ta ? wg_matmul_t(b, dy[0], tb ? WG_TT : WG_NT) : wg_matmul_t(dy[0], b, tb ? WG_NN : WG_NT);
    dx[1] = tb ? wg_matmul_t(dy[0], a, ta ? WG_TT : WG_TN) : wg_matmul_t(a, dy[0], ta ? WG_NN : WG_TN);
}

static double matmul_flops(const wg_node *n)
{
    const wg_matmul_attrs *t = n->attrs;
    int64_t rows, k;
    sizes(n, 0, t->transpose_a, &rows, &k);
    return 2.0 * (double)wg_value_count(n->out[0]) * (double)k;
}

static const wg_sample matmul_samples[] = {
    {"nn", &(const wg_matmul_attrs){false, false}, 2, {WG_FLOATS(-2, 2, 2, 3, 5), WG_FLOATS(-2, 2, 2, 5, 4)}},
    {"tn", &(const wg_matmul_attrs){true, false}, 2, {WG_FLOATS(-2, 2, 2, 5, 3), WG_FLOATS(-2, 2, 2, 5, 4)}},
    {"nt", &(const wg_matmul_attrs){false, true}, 2, {WG_FLOATS(-2, 2, 2, 3, 5), WG_FLOATS(-2, 2, 2, 4, 5)}},
    {"tt", &(const wg_matmul_attrs){true, true}, 2, {WG_FLOATS(-2, 2, 2, 5, 3), WG_FLOATS(-2, 2, 2, 4, 5)}},
    {"batched", &(const wg_matmul_attrs){false, false}, 2,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4), WG_FLOATS(-2, 2, 3, 2, 4, 2)}},
    {"batch broadcast", &(const wg_matmul_attrs){false, true}, 2,
     {WG_FLOATS(-2, 2, 4, 2, 1, 3, 4), WG_FLOATS(-2, 2, 3, 3, 2, 4)}},
    {"empty inner", &(const wg_matmul_attrs){false, false}, 2,
     {WG_FLOATS(-2, 2, 2, 3, 0), WG_FLOATS(-2, 2, 2, 0, 4)}},
};

const wg_op wg_op_matmul = {
    .name = "matmul", .formula = "y[..., M, N] = a[..., M, K] b[..., K, N]", .family = "linear algebra",
    .operands = "a b", .results = "y",
    .attrs_size = sizeof(wg_matmul_attrs), .attrs = matmul_attrs, .n_attrs = WG_COUNT(matmul_attrs),
    .infer = infer_matmul, .grad = grad_matmul, .reads = WG_READS_X, .flops = matmul_flops,
    .samples = matmul_samples, .n_samples = WG_COUNT(matmul_samples),
};

wg_value *(wg_matmul_t)(const char *at, wg_value *a, wg_value *b, int transposes)
{
    wg_matmul_attrs t = {transposes & WG_TN, transposes & WG_NT};
    return wg_apply2(at, &wg_op_matmul, &t, a, b);
}

wg_value *(wg_matmul)(const char *at, wg_value *a, wg_value *b)
{
    return (wg_matmul_t)(at, a, b, WG_NN);
}
