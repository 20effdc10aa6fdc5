#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* ---- qr -------------------------------------------------------------------------------------- */

static bool infer_qr(wg_node *n)
{
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2, WG_MAX_RANK))
        return false;
    wg_shape q = n->in[0]->shape, r = q;
    int64_t *rows = &r.dim[r.rank - 2], *columns = &q.dim[q.rank - 1];
    *rows = *columns = *rows < *columns ? *rows : *columns;
    return wg_set_result(n, 0, n->in[0]->dtype, q) && wg_set_result(n, 1, n->in[0]->dtype, r);
}

/* The first k columns of r, or the others */
static wg_value *first(wg_value *r, int64_t k)
{
    return r ? wg_slice(r, -1, 0, k, 1) : NULL;
}

static wg_value *others(wg_value *r, int64_t k)
{
    return r ? wg_slice(r, -1, k, WG_TO_END, 1) : NULL;
}

/* The cotangent of q u, for a square u:
 *     (dq + q T) u^-T   with   T = M on and above the diagonal, made symmetric,
 *     M = du u' - q' dq
 * (Walter and Lehmann, Algorithmic differentiation of linear algebra functions, 2010).  dq or du
 * may be missing. */
static wg_value *of_square(wg_value *q, wg_value *u, wg_value *dq, wg_value *du)
{
    wg_value *m = du ? wg_matmul_t(du, u, WG_NT) : NULL;
    if (dq) {
        wg_value *turned = wg_matmul_t(q, dq, WG_TN);
        m = m ? wg_sub(m, turned) : wg_neg(turned);
    }
    wg_value *t = wg_add(wg_triu(m, 0), wg_transpose(wg_triu(m, 1)));
    wg_value *dx = wg_matmul(q, t);
    dx = wg_transpose(dq ? wg_add(dq, dx) : dx);
    return wg_transpose(wg_triangular_solve(u, dx, WG_UPPER, 0)); /* (u^-1 dx')' */
}

/* Of a wide a = [q u, y], r is [u, v] with v = q' y.  So dv adds y dv' = q v dv' to dq, and the
 * cotangent of y is q dv. */
static void grad_qr(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *q = n->out[0], *r = n->out[1], *dq = dy[0], *dr = dy[1];
    int64_t k = wgi_matrix_size(q);
    if (wgi_matrix_size(r) == k) {
        dx[0] = of_square(q, r, dq, dr);
        return;
    }
    wg_value *v = others(r, k), *dv = dr ? others(dr, k) : wg_zeros_like(v);
    if (dr) {
        wg_value *more = wg_matmul(q, wg_matmul_t(v, dv, WG_NT));
        dq = dq ? wg_add(dq, more) : more;
    }
    wg_value *parts[] = {of_square(q, first(r, k), dq, first(dr, k)), wg_matmul(q, dv)};
    dx[0] = wg_concat(parts, 2, -1);
}

/* For an [m, n] matrix 2 k^2 (max(m, n) - k / 3) to r, and 2 k^2 (m - k / 3) to q */
static double qr_flops(const wg_node *n)
{
    const wg_shape *a = &n->in[0]->shape;
    double rows = (double)a->dim[a->rank - 2], columns = (double)a->dim[a->rank - 1];
    double k = rows < columns ? rows : columns, larger = rows + columns - k;
    double matrices = k > 0 ? (double)wg_value_count(n->in[0]) / (rows * columns) : 0;
    return matrices * 2 * k * k * (larger + rows - 2 * k / 3);
}

static const wg_sample qr_samples[] = {
    {"square", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 2, 3, 3)}},
    {"tall", NULL, 1, {WG_ROTATED(-0.25, 0.25, 2, 4, 2)}},
    {"wide", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 2, 2, 4)}},
    {"batch", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 4, 2, 1, 3, 2)}},
    {"wide batch", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 3, 2, 2, 3)}},
    {"1 by 1", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 2, 1, 1)}},
    {"empty", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 3, 2, 2, 0)}},
};

const wg_op wg_op_qr = {
    .name = "qr",
    .formula = "q r = a, q' q = 1, r upper triangular",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "q r",
    .infer = infer_qr,
    .grad = grad_qr,
    .reads = WG_READS_Y,
    .flops = qr_flops,
    WG_SAMPLES(qr_samples),
};

wg_value *(wg_qr)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_qr, NULL, a);
}

/* ---- lstsq ----------------------------------------------------------------------------------- */

static bool infer_lstsq(wg_node *n)
{
    if (!wg_need_float(n, 0) || !wg_need_same_dtype(n, 0, 1) ||
        !wg_need_rank(n, 0, 2, WG_MAX_RANK) || !wg_need_rank(n, 1, 2, WG_MAX_RANK))
        return false;
    wg_shape a = n->in[0]->shape, b = n->in[1]->shape, x;
    int64_t equations = a.dim[a.rank - 2], rows = b.dim[b.rank - 2];
    if (rows != equations)
        return wg_fail(n, WG_ESHAPE, "%lld equations, but %lld rows of right-hand sides",
                       (long long)equations, (long long)rows);
    int64_t unknowns = a.dim[a.rank - 1], columns = b.dim[b.rank - 1];
    a.rank -= 2;
    b.rank -= 2;
    if (!wg_need_broadcast(n, &a, &b, &x))
        return false;
    x.dim[x.rank++] = unknowns;
    x.dim[x.rank++] = columns;
    return wg_set_result(n, 0, n->in[0]->dtype, x);
}

/* m >= n:  a = q r,   x = r^-1 q' b
 * m < n:   a' = q r,  x = q r'^-1 b, which has no part outside the rows of a */
static void expand_lstsq(wg_node *n, wg_value **y)
{
    wg_value *a = n->in[0], *b = n->in[1];
    bool wide = wgi_matrix_size(a) > a->shape.dim[a->shape.rank - 2];
    wg_value *q = wg_qr(wide ? wg_transpose(a) : a), *r = wg_result_of(q, 1);
    if (wide)
        y[0] = wg_matmul(q, wg_triangular_solve(r, b, WG_UPPER, WG_TRANSPOSED));
    else
        y[0] = wg_triangular_solve(r, wg_matmul_t(q, b, WG_TN), WG_UPPER, 0);
}

/* 2 k^2 q for the factors of a matrix whose sizes are k <= q, and its products with b */
static double lstsq_flops(const wg_node *n)
{
    const wg_shape *a = &n->in[0]->shape;
    double rows = (double)a->dim[a->rank - 2], columns = (double)a->dim[a->rank - 1];
    double k = rows < columns ? rows : columns;
    return 4 * (double)wg_value_count(n->in[0]) * k + 4 * (double)wg_value_count(n->in[1]) * k;
}

static const wg_sample lstsq_samples[] = {
    {"square", NULL, 2, {WG_ROTATED(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"tall", NULL, 2, {WG_DOMINANT(-1, 1, 2, 4, 2), WG_FLOATS(-2, 2, 2, 4, 3)}},
    {"wide", NULL, 2, {WG_DOMINANT(-1, 1, 2, 2, 3), WG_FLOATS(-2, 2, 2, 2, 2)}},
    {"batch broadcast", NULL, 2, {WG_DOMINANT(-1, 1, 4, 2, 1, 3, 2), WG_FLOATS(-2, 2, 3, 3, 3, 1)}},
    {"one matrix for a batch",
     NULL,
     2,
     {WG_DOMINANT(-1, 1, 2, 2, 3), WG_FLOATS(-2, 2, 3, 2, 2, 2)}},
    {"empty", NULL, 2, {WG_DOMINANT(-1, 1, 3, 2, 3, 0), WG_FLOATS(-2, 2, 3, 2, 3, 2)}},
};

const wg_op wg_op_lstsq = {
    .name = "lstsq",
    .formula = "the x of least |a x - b|, and of these the shortest",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a b",
    .results = "x",
    .infer = infer_lstsq,
    .expand = expand_lstsq,
    .flops = lstsq_flops,
    WG_SAMPLES(lstsq_samples),
};

wg_value *(wg_lstsq)(const char *at, wg_value *a, wg_value *b)
{
    return wgi_apply_solution(at, &wg_op_lstsq, NULL, a, b);
}
