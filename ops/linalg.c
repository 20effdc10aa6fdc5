#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

const wg_attr wgi_matmul_table[2] = {
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

/* Whether the inner sizes of operands 0 and 1, transposed or not, are equal. */
static bool need_same_inner(wg_node *n, bool transpose_a, bool transpose_b, int64_t inner,
                            int64_t other)
{
    char a[160], b[160];
    return inner == other ||
           wg_fail(n, WG_ESHAPE, "%s%s times %s%s: inner sizes %lld and %lld differ",
                   wg_shape_text(&n->in[0]->shape, a, sizeof a), transpose_a ? " transposed" : "",
                   wg_shape_text(&n->in[1]->shape, b, sizeof b), transpose_b ? " transposed" : "",
                   (long long)inner, (long long)other);
}

static bool infer_matmul(wg_node *n)
{
    const wg_matmul_attrs *t = n->attrs;
    int64_t rows, k, k2, columns;
    wg_shape y;
    if (!wg_need_float(n, 0) || !wg_need_same_dtype(n, 0, 1) ||
        !wg_need_rank(n, 0, 2, WG_MAX_RANK) || !wg_need_rank(n, 1, 2, WG_MAX_RANK))
        return false;
    sizes(n, 0, t->transpose_a, &rows, &k);
    sizes(n, 1, t->transpose_b, &k2, &columns);
    if (!need_same_inner(n, t->transpose_a, t->transpose_b, k, k2))
        return false;
    wg_shape a = n->in[0]->shape, b = n->in[1]->shape;
    a.rank -= 2;
    b.rank -= 2;
    if (!wg_need_broadcast(n, &a, &b, &y))
        return false;
    y.dim[y.rank++] = rows;
    y.dim[y.rank++] = columns;
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

wg_value *wgi_as_rows(wg_value *x)
{
    int64_t rows = 1;
    for (int i = 0; x && i < x->shape.rank - 1; i++)
        rows *= x->shape.dim[i];
    return x ? wg_reshape(x, WG_SHAPE(rows, x->shape.dim[x->shape.rank - 1])) : NULL;
}

/* With y = A B:  dA = dy B',  dB = A' dy; where A or B is given transposed, so is its cotangent.
 * A matrix B that serves a batch of A gets one product over all rows, not a batch of them to be
 * summed. */
static void grad_matmul(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_matmul_attrs *t = n->attrs;
    wg_value *a = n->in[0], *b = n->in[1], *d = dy[0];
    bool ta = t->transpose_a, tb = t->transpose_b;
    dx[0] = ta ? wg_matmul_t(b, d, tb ? WG_TT : WG_NT) : wg_matmul_t(d, b, tb ? WG_NN : WG_NT);
    if (b->shape.rank == 2 && !ta) {
        a = wgi_as_rows(a);
        d = wgi_as_rows(d);
    }
    dx[1] = tb ? wg_matmul_t(d, a, ta ? WG_TT : WG_TN) : wg_matmul_t(a, d, ta ? WG_NN : WG_TN);
}

static double matmul_flops(const wg_node *n)
{
    const wg_matmul_attrs *t = n->attrs;
    int64_t rows, k;
    sizes(n, 0, t->transpose_a, &rows, &k);
    return 2.0 * (double)wg_value_count(n->out[0]) * (double)k;
}

static const wg_sample matmul_samples[] = {
    {"nn",
     &(const wg_matmul_attrs){false, false},
     2,
     {WG_FLOATS(-2, 2, 2, 3, 5), WG_FLOATS(-2, 2, 2, 5, 4)}},
    {"tn",
     &(const wg_matmul_attrs){true, false},
     2,
     {WG_FLOATS(-2, 2, 2, 5, 3), WG_FLOATS(-2, 2, 2, 5, 4)}},
    {"nt",
     &(const wg_matmul_attrs){false, true},
     2,
     {WG_FLOATS(-2, 2, 2, 3, 5), WG_FLOATS(-2, 2, 2, 4, 5)}},
    {"tt",
     &(const wg_matmul_attrs){true, true},
     2,
     {WG_FLOATS(-2, 2, 2, 5, 3), WG_FLOATS(-2, 2, 2, 4, 5)}},
    {"batched",
     &(const wg_matmul_attrs){false, false},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4), WG_FLOATS(-2, 2, 3, 2, 4, 2)}},
    {"batch broadcast",
     &(const wg_matmul_attrs){false, true},
     2,
     {WG_FLOATS(-2, 2, 4, 2, 1, 3, 4), WG_FLOATS(-2, 2, 3, 3, 2, 4)}},
    {"one matrix for a batch",
     &(const wg_matmul_attrs){false, true},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4), WG_FLOATS(-2, 2, 2, 5, 4)}},
    {"empty inner",
     &(const wg_matmul_attrs){false, false},
     2,
     {WG_FLOATS(-2, 2, 2, 3, 0), WG_FLOATS(-2, 2, 2, 0, 4)}},
};

const wg_op wg_op_matmul = {
    .name = "matmul",
    .smoothness = WG_PIECEWISE_LINEAR,
    .formula = "y[..., M, N] = a[..., M, K] b[..., K, N]",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a b",
    .results = "y",
    WG_ATTRS(wg_matmul_attrs, wgi_matmul_table),
    .infer = infer_matmul,
    .grad = grad_matmul,
    .reads = WG_READS_X,
    .flops = matmul_flops,
    WG_SAMPLES(matmul_samples),
};

/* A vector a is a matrix of one row, a vector b one of one column; the result lacks that axis. */
static wg_value *matmul_vectors(const char *at, wg_value *a, wg_value *b, wg_matmul_attrs t)
{
    char is[160], other[160];
    bool row = a->shape.rank == 1, column = b->shape.rank == 1;
    int64_t inner = a->shape.dim[a->shape.rank - (t.transpose_a && !row ? 2 : 1)],
            must = b->shape.dim[b->shape.rank - (t.transpose_b || column ? 1 : 2)];
    if (inner != must)
        return wg_graph_fail(wg_graph_of(a), WG_ESHAPE, at, "matmul",
                             "%s times %s: inner sizes %lld and %lld differ",
                             wg_shape_text(&a->shape, is, sizeof is),
                             wg_shape_text(&b->shape, other, sizeof other), (long long)inner,
                             (long long)must);
    t.transpose_a &= !row;
    t.transpose_b &= !column;
    wg_value *y = wg_apply2(at, &wg_op_matmul, &t, row ? (wg_unsqueeze)(at, a, 0) : a,
                            column ? (wg_unsqueeze)(at, b, 1) : b);
    if (column)
        y = (wg_squeeze)(at, y, -1);
    return row ? (wg_squeeze)(at, y, column ? -1 : -2) : y;
}

wg_value *(wg_matmul_t)(const char *at, wg_value *a, wg_value *b, int transposes)
{
    wg_matmul_attrs t = {transposes & WG_TN, transposes & WG_NT};
    if (!wgi_check_flags(at, "wg_matmul_t", a, transposes, WG_TT))
        return NULL;
    if (a && b && (a->shape.rank == 0 || b->shape.rank == 0))
        return wg_graph_fail(wg_graph_of(a), WG_ESHAPE, at, "matmul",
                             "%s is a scalar: wg_mul multiplies by one", a->shape.rank ? "b" : "a");
    if (a && b && (a->shape.rank == 1 || b->shape.rank == 1))
        return matmul_vectors(at, a, b, t);
    return wg_apply2(at, &wg_op_matmul, &t, a, b);
}

wg_value *(wg_matmul)(const char *at, wg_value *a, wg_value *b)
{
    return (wg_matmul_t)(at, a, b, WG_NN);
}

/* ---- linear ---------------------------------------------------------------------------------- */

static const char *const activation_names[] = {"none", "relu",      "tanh", "sigmoid",
                                               "gelu", "gelu_tanh", "silu", NULL};

static const wg_attr linear_attrs[] = {
    WG_ATTR_NAMED(wg_linear_attrs, activation, activation_names),
    WG_ATTR(BOOL, wg_linear_attrs, in_first),
};

/* Sizes of the weight: [out, in], or [in, out]. */
static int64_t size_in(const wg_node *n)
{
    const wg_linear_attrs *a = n->attrs;
    return n->in[1]->shape.dim[a->in_first ? 0 : 1];
}

static int64_t size_out(const wg_node *n)
{
    const wg_linear_attrs *a = n->attrs;
    return n->in[1]->shape.dim[a->in_first ? 1 : 0];
}

static bool infer_linear(wg_node *n)
{
    if (!wg_need_float(n, 0) || !wg_need_same_dtype(n, 0, 1) ||
        !wg_need_rank(n, 0, 1, WG_MAX_RANK) || !wg_need_rank(n, 1, 2, 2))
        return false;
    wg_shape y = n->in[0]->shape;
    if (!need_same_inner(n, false, !((const wg_linear_attrs *)n->attrs)->in_first,
                         y.dim[y.rank - 1], size_in(n)))
        return false;
    if (n->n_in > 2 && (!wg_need_same_dtype(n, 0, 2) || !wg_need_rank(n, 2, 1, 1) ||
                        !wg_need_dim(n, 2, 0, size_out(n))))
        return false;
    y.dim[y.rank - 1] = size_out(n);
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

/* z = x W' + b, as a layer without activation: backends take it whole, and the layer itself where
 * its gradient does not read z. */
static wg_value *preactivation(const wg_node *n)
{
    wg_linear_attrs plain = *(const wg_linear_attrs *)n->attrs;
    plain.activation = WG_ACTIVATION_NONE;
    return wg_apply3(WG_HERE, &wg_op_linear, &plain, n->in[0], n->in[1],
                     n->n_in > 2 ? n->in[2] : NULL);
}

static wg_value *product(const wg_node *n)
{
    const wg_linear_attrs *a = n->attrs;
    wg_value *z = wg_matmul_t(wgi_as_rows(n->in[0]), n->in[1], a->in_first ? WG_NN : WG_NT);
    if (n->n_in > 2)
        z = wg_add(z, n->in[2]);
    return z ? wg_reshape(z, n->out[0]->shape) : NULL;
}

wg_value *(wg_activate)(const char *at, wg_value *x, wg_activation activation)
{
    switch (activation) {
    case WG_ACTIVATION_RELU: return (wg_relu)(at, x);
    case WG_ACTIVATION_TANH: return (wg_tanh)(at, x);
    case WG_ACTIVATION_SIGMOID: return (wg_sigmoid)(at, x);
    case WG_ACTIVATION_GELU: return (wg_gelu)(at, x, WG_GELU_ERF);
    case WG_ACTIVATION_GELU_TANH: return (wg_gelu)(at, x, WG_GELU_TANH);
    case WG_ACTIVATION_SILU: return (wg_silu)(at, x);
    default: return x;
    }
}

static void expand_linear(wg_node *n, wg_value **y)
{
    const wg_linear_attrs *a = n->attrs;
    wg_value *z = a->activation == WG_ACTIVATION_NONE ? product(n) : preactivation(n);
    y[0] = wg_activate(z, a->activation);
}

/* The cotangent of z: from y where the derivative is a function of y, so that z need not be kept;
 * else from z built once more, for which a plan computes the forward pass in two steps. */
static wg_value *before_activation(const wg_node *n, wg_value *dy)
{
    const wg_linear_attrs *a = n->attrs;
    wg_value *y = n->out[0];
    switch (a->activation) {
    case WG_ACTIVATION_RELU: return wg_relu_grad(y, dy);
    case WG_ACTIVATION_TANH: return wg_sub(dy, wg_mul(dy, wg_mul(y, y)));
    case WG_ACTIVATION_SIGMOID: return wg_mul(dy, wg_sub(y, wg_mul(y, y)));
    case WG_ACTIVATION_GELU: return wg_gelu_grad(preactivation(n), dy, WG_GELU_ERF);
    case WG_ACTIVATION_GELU_TANH: return wg_gelu_grad(preactivation(n), dy, WG_GELU_TANH);
    case WG_ACTIVATION_SILU: return wg_silu_grad(preactivation(n), dy);
    default: return dy;
    }
}

/* dx = dz W,  dW = dz' x,  db = sum of dz over rows. */
static void grad_linear(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_linear_attrs *a = n->attrs;
    wg_value *x = n->in[0], *dz = before_activation(n, dy[0]);
    wg_value *x_rows = wgi_as_rows(x), *dz_rows = wgi_as_rows(dz);
    bool vector = x->shape.rank == 1;
    dx[0] = wg_matmul_t(vector ? dz_rows : dz, n->in[1], a->in_first ? WG_NT : WG_NN);
    if (vector && dx[0])
        dx[0] = wg_reshape(dx[0], x->shape);
    dx[1] = a->in_first ? wg_matmul_t(x_rows, dz_rows, WG_TN) : wg_matmul_t(dz_rows, x_rows, WG_TN);
    if (n->n_in > 2)
        dx[2] = dz_rows;
}

static double linear_flops(const wg_node *n)
{
    return (2.0 * (double)size_in(n) + n->n_in - 2) * (double)wg_value_count(n->out[0]);
}

#define LINEAR_SAMPLE(name, activation)                                                            \
    {                                                                                              \
        name, &(const wg_linear_attrs){activation, false}, 3,                                      \
        {                                                                                          \
            WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-1, 1, 2, 2, 4), WG_FLOATS(-1, 1, 1, 2)           \
        }                                                                                          \
    }
static const wg_sample linear_samples[] = {
    {"weight [in, out]",
     &(const wg_linear_attrs){WG_ACTIVATION_TANH, true},
     3,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4), WG_FLOATS(-1, 1, 2, 4, 5), WG_FLOATS(-1, 1, 1, 5)}},
    LINEAR_SAMPLE("matrix", WG_ACTIVATION_NONE),
    LINEAR_SAMPLE("relu", WG_ACTIVATION_RELU),
    LINEAR_SAMPLE("tanh", WG_ACTIVATION_TANH),
    LINEAR_SAMPLE("sigmoid", WG_ACTIVATION_SIGMOID),
    LINEAR_SAMPLE("gelu", WG_ACTIVATION_GELU),
    LINEAR_SAMPLE("gelu by tanh", WG_ACTIVATION_GELU_TANH),
    LINEAR_SAMPLE("silu", WG_ACTIVATION_SILU),
    {"vector", NULL, 2, {WG_FLOATS(-2, 2, 1, 4), WG_FLOATS(-1, 1, 2, 2, 4)}},
    {"sentences",
     NULL,
     3,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4), WG_FLOATS(-1, 1, 2, 5, 4), WG_FLOATS(-1, 1, 1, 5)}},
    {"no rows",
     NULL,
     3,
     {WG_FLOATS(-2, 2, 2, 0, 4), WG_FLOATS(-1, 1, 2, 5, 4), WG_FLOATS(-1, 1, 1, 5)}},
};

const wg_op wg_op_linear = {
    .name = "linear",
    .formula = "y = activation(x weight' + bias)",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "x weight bias?",
    .results = "y",
    .smoothness = WG_KINKED,
    WG_ATTRS(wg_linear_attrs, linear_attrs),
    .infer = infer_linear,
    .grad = grad_linear,
    .reads = WG_READS_X | WG_READS_Y,
    .expand = expand_linear,
    .flops = linear_flops,
    WG_SAMPLES(linear_samples),
};

wg_value *(wg_linear)(const char *at, wg_value *x, wg_value *weight, wg_value *bias,
                      wg_activation activation)
{
    wg_linear_attrs a = {.activation = activation};
    return wg_apply3(at, &wg_op_linear, &a, x, weight, bias);
}
