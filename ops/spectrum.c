/* Rules of eigh and svd: Giles, Collected matrix derivative results for forward and reverse mode
 * algorithmic differentiation, 2008, sections 3.1 and 3.2; Townsend, Differentiating the singular
 * value decomposition, 2016. */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* d x for diagonal d, given as a vector */
static wg_value *scale_rows(wg_value *d, wg_value *x)
{
    return wg_mul(wg_unsqueeze(d, -1), x);
}

/* x d */
static wg_value *scale_columns(wg_value *x, wg_value *d)
{
    return wg_mul(x, wg_unsqueeze(d, -2));
}

/* x - x', whose diagonal is exactly 0 */
static wg_value *skew(wg_value *x)
{
    return wg_sub(x, wg_transpose(x));
}

/* x with 1 added to its diagonal, so that what is 0 there may be divided by it */
static wg_value *plus_one(wg_value *x)
{
    return x ? wg_add(x, wg_eye(wg_graph_of(x), x->dtype, wgi_matrix_size(x))) : NULL;
}

/* w_j - w_i at [i, j] */
static wg_value *differences(wg_value *w)
{
    return wg_sub(wg_unsqueeze(w, -2), wg_unsqueeze(w, -1));
}

/* ---- eigh ------------------------------------------------------------------------------------ */

static bool infer_eigh(wg_node *n)
{
    if (!wgi_need_square(n, 0))
        return false;
    wg_shape v = n->in[0]->shape, w = v;
    w.rank -= 1;
    return wg_set_result(n, 0, n->in[0]->dtype, w) && wg_set_result(n, 1, n->in[0]->dtype, v);
}

/* With s = v diag(w) v':  dw = diag(v' ds v)  and  v' dv = F o (v' ds v),  F_ij = 1 / (w_j - w_i)
 * outside the diagonal.  So
 *     da = v (diag(dw) + K o F / 2) v'   with   K = v' dv - dv' v,
 * which is symmetric, since K and F are skew. */
static void grad_eigh(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *w = n->out[0], *v = n->out[1], *inner = NULL;
    if (dy[0])
        inner = scale_rows(dy[0], wg_transpose(v));
    if (dy[1]) {
        wg_value *k = wg_div(skew(wg_matmul_t(v, dy[1], WG_TN)), plus_one(differences(w)));
        wg_value *turned = wg_matmul_t(wg_scale(k, 0.5), v, WG_NT);
        inner = inner ? wg_add(inner, turned) : turned;
    }
    dx[0] = wg_matmul(v, inner);
}

/* About 9 n^3 for each matrix: to tridiagonal form, its eigenvectors, and back. */
static double eigh_flops(const wg_node *n)
{
    return 9 * (double)wg_value_count(n->in[0]) * (double)wgi_matrix_size(n->in[0]);
}

static const wg_sample eigh_samples[] = {
    {"matrix", NULL, 1, {WG_SPREAD(-1, 1, 2, 3, 3)}},
    {"batch", NULL, 1, {WG_SPREAD(-1, 1, 4, 2, 1, 2, 2)}},
    {"1 by 1", NULL, 1, {WG_SPREAD(-1, 1, 2, 1, 1)}},
    {"empty", NULL, 1, {WG_SPREAD(-1, 1, 3, 2, 0, 0)}},
};

const wg_op wg_op_eigh = {
    .name = "eigh",
    .formula = "s v = v diag(w), v' v = 1, for s = (a + a') / 2",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "w v",
    .infer = infer_eigh,
    .grad = grad_eigh,
    .reads = WG_READS_Y,
    .flops = eigh_flops,
    WG_SAMPLES(eigh_samples),
};

wg_value *(wg_eigh)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_eigh, NULL, a);
}

wg_value *(wg_eigvalsh)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_eigh, NULL, a);
}

/* ---- svd ------------------------------------------------------------------------------------- */

static bool infer_svd(wg_node *n)
{
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2, WG_MAX_RANK))
        return false;
    wg_shape u = n->in[0]->shape, s = u, vt = u;
    wg_dtype dtype = n->in[0]->dtype;
    int64_t *rows = &vt.dim[vt.rank - 2], *columns = &u.dim[u.rank - 1];
    int64_t k = *rows < *columns ? *rows : *columns;
    *rows = *columns = k;
    s.dim[--s.rank - 1] = k;
    return wg_set_result(n, 0, dtype, u) && wg_set_result(n, 1, dtype, s) &&
           wg_set_result(n, 2, dtype, vt);
}

/* a + b, where either may be missing */
static wg_value *sum_of(wg_value *a, wg_value *b)
{
    return a && b ? wg_add(a, b) : a ? a : b;
}

/* (1 - x x') dx diag(s)^-1: what moves the columns of x out of their span */
static wg_value *outward(wg_value *x, wg_value *dx, wg_value *s)
{
    wg_value *rest = wg_sub(dx, wg_matmul(x, wg_matmul_t(x, dx, WG_TN)));
    return wg_div(rest, wg_unsqueeze(s, -2));
}

/* K o F for an orthonormal x:  K = x' dx - dx' x,  F_ij = 1 / (s_j^2 - s_i^2) outside the
 * diagonal */
static wg_value *inward(wg_value *x, wg_value *dx, wg_value *s)
{
    wg_value *sums = wg_add(wg_unsqueeze(s, -2), wg_unsqueeze(s, -1));
    return wg_div(skew(wg_matmul_t(x, dx, WG_TN)), plus_one(wg_mul(differences(s), sums)));
}

/* With D = diag(s) and v = vt', and K o F of u and of v as above:
 *     da = u (diag(ds) + (K_u o F) D + D (K_v o F)) v'
 *          + (1 - u u') du D^-1 v'       if m > k
 *          + u D^-1 dv' (1 - v v')       if n > k */
static void grad_svd(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *u = n->out[0], *s = n->out[1], *vt = n->out[2], *v = wg_transpose(vt);
    wg_value *du = dy[0], *dv = dy[2] ? wg_transpose(dy[2]) : NULL, *inner = NULL;
    if (!v)
        return;
    int64_t rows = u->shape.dim[u->shape.rank - 2], k = wgi_matrix_size(u);
    if (du)
        inner = scale_columns(inward(u, du, s), s);
    if (dv)
        inner = sum_of(inner, scale_rows(s, inward(v, dv, s)));
    wg_value *right = inner ? wg_matmul(inner, vt) : NULL;
    if (dy[1])
        right = sum_of(right, scale_rows(dy[1], vt));
    if (dv && wgi_matrix_size(vt) > k)
        right = sum_of(right, wg_transpose(outward(v, dv, s)));
    dx[0] = wg_matmul(u, right);
    if (du && rows > k)
        dx[0] = wg_add(dx[0], wg_matmul(outward(u, du, s), vt));
}

/* About 14 q k^2 + 8 k^3 for a matrix whose sizes are k <= q (Golub and Van Loan, figure 8.6.1) */
static double svd_flops(const wg_node *n)
{
    const wg_shape *a = &n->in[0]->shape;
    double rows = (double)a->dim[a->rank - 2], columns = (double)a->dim[a->rank - 1];
    double k = rows < columns ? rows : columns, larger = rows + columns - k;
    double matrices = k > 0 ? (double)wg_value_count(n->in[0]) / (rows * columns) : 0;
    return matrices * k * k * (14 * larger + 8 * k);
}

static const wg_sample svd_samples[] = {
    {"square", NULL, 1, {WG_SPREAD(-1, 1, 2, 3, 3)}},
    {"tall", NULL, 1, {WG_SPREAD(-1, 1, 2, 4, 2)}},
    {"wide", NULL, 1, {WG_SPREAD(-1, 1, 2, 2, 3)}},
    {"batch", NULL, 1, {WG_SPREAD(-1, 1, 4, 2, 1, 3, 2)}},
    {"a column", NULL, 1, {WG_SPREAD(-1, 1, 2, 2, 1)}},
    {"empty", NULL, 1, {WG_SPREAD(-1, 1, 3, 2, 0, 2)}},
};

const wg_op wg_op_svd = {
    .name = "svd",
    .formula = "u diag(s) vt = a, u' u = 1, vt vt' = 1",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "u s vt",
    .infer = infer_svd,
    .grad = grad_svd,
    .reads = WG_READS_Y,
    .flops = svd_flops,
    WG_SAMPLES(svd_samples),
};

wg_value *(wg_svd)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_svd, NULL, a);
}

wg_value *(wg_svdvals)(const char *at, wg_value *a)
{
    return wg_result_of((wg_svd)(at, a), 1);
}

/* ---- pinv ------------------------------------------------------------------------------------ */

static const wg_attr pinv_attrs[] = {WG_ATTR(REAL, wg_pinv_attrs, rcond)};

static bool infer_pinv(wg_node *n)
{
    const wg_pinv_attrs *t = n->attrs;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2, WG_MAX_RANK))
        return false;
    if (!(t->rcond >= 0 && t->rcond < 1))
        return wg_fail(n, WG_EINVAL, "rcond is %g, must be at least 0 and below 1", t->rcond);
    wg_shape y = n->in[0]->shape;
    int64_t rows = y.dim[y.rank - 2];
    y.dim[y.rank - 2] = y.dim[y.rank - 1];
    y.dim[y.rank - 1] = rows;
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

/* The share of the largest singular value up to which one counts as 0: max(m, n) ulps of 1, unless
 * the attribute says another. */
static double share_that_is_zero(const wg_node *n)
{
    const wg_pinv_attrs *t = n->attrs;
    const wg_shape *a = &n->in[0]->shape;
    wg_dtype dtype = n->in[0]->dtype;
    int64_t rows = a->dim[a->rank - 2], columns = a->dim[a->rank - 1];
    double ulp = dtype == WG_F64   ? 0x1p-52
                 : dtype == WG_F32 ? 0x1p-23
                 : dtype == WG_F16 ? 0x1p-10
                                   : 0x1p-7;
    double usual = ulp * (double)(rows > columns ? rows : columns);
    return t->rcond > 0 ? t->rcond : usual;
}

/* y = v diag(1 / s, or 0) u' */
static void expand_pinv(wg_node *n, wg_value **y)
{
    wg_value *u = wg_svd(n->in[0]), *s = wg_result_of(u, 1), *vt = wg_result_of(u, 2);
    if (!s)
        return;
    if (wg_value_count(s) == 0) {
        y[0] = wg_fill(wg_graph_of(s), s->dtype, n->out[0]->shape, 0);
        return;
    }
    wg_value *limit = wg_scale(wg_max(s, WG_AXES(-1), WG_KEEP), share_that_is_zero(n));
    wg_value *kept = wg_greater(s, limit), *one = wg_shift(wg_zeros_like(s), 1);
    wg_value *inverse = wg_where(kept, wg_reciprocal(wg_where(kept, s, one)), wg_zeros_like(s));
    y[0] = wg_matmul_t(vt, scale_rows(inverse, wg_transpose(u)), WG_TN);
}

/* As long as the rank is the same,
 *     da = -y' dy y' + (1 - a y) dy' y y' + y' y dy' (1 - y a)
 * (Golub and Pereyra, The differentiation of pseudo-inverses, 1973).  The last terms are 0 for full
 * rank and m <= n, or m >= n. */
static void grad_pinv(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *a = n->in[0], *y = n->out[0], *d = dy[0];
    wg_value *left = wg_matmul_t(wg_matmul_t(d, y, WG_TN), y, WG_NT);       /* dy' y y' */
    wg_value *right = wg_matmul(wg_matmul_t(y, y, WG_TN), wg_transpose(d)); /* y' y dy' */
    wg_value *sum = wg_add(wg_sub(left, wg_matmul(a, wg_matmul(y, left))),
                           wg_sub(right, wg_matmul(wg_matmul(right, y), a)));
    dx[0] = wg_sub(sum, wg_matmul_t(wg_matmul_t(y, d, WG_TN), y, WG_NT));
}

static const wg_sample pinv_samples[] = {
    {"square", NULL, 1, {WG_ROTATED(-1, 1, 2, 3, 3)}},
    {"tall", NULL, 1, {WG_DOMINANT(-1, 1, 2, 3, 2)}},
    {"wide", NULL, 1, {WG_DOMINANT(-1, 1, 2, 2, 4)}},
    {"batch", &(const wg_pinv_attrs){0.001}, 1, {WG_DOMINANT(-1, 1, 4, 2, 1, 3, 2)}},
    {"empty", NULL, 1, {WG_DOMINANT(-1, 1, 3, 2, 3, 0)}},
};

const wg_op wg_op_pinv = {
    .name = "pinv",
    .formula = "y = v diag(1 / s) u' for a = u diag(s) v', where 1 / s is 0 for small s",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "y",
    WG_ATTRS(wg_pinv_attrs, pinv_attrs),
    .infer = infer_pinv,
    .grad = grad_pinv,
    .reads = WG_READS_X | WG_READS_Y,
    .expand = expand_pinv,
    .flops = svd_flops,
    WG_SAMPLES(pinv_samples),
};

wg_value *(wg_pinv)(const char *at, wg_value *a, double rcond)
{
    return wg_apply1(at, &wg_op_pinv, &(wg_pinv_attrs){rcond}, a);
}

/* ---- matrix_exp ------------------------------------------------------------------------------ */

static bool infer_matrix_exp(wg_node *n)
{
    return wgi_need_square(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* exp [[a', dy], [0, a']] = [[exp a', da], [0, exp a']]  (Higham, Functions of Matrices, 2008,
 * section 3.2) */
static void grad_matrix_exp(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    int64_t size = wgi_matrix_size(n->in[0]);
    wg_value *t = wg_transpose(n->in[0]);
    wg_value *above = wg_concat((wg_value *[]){t, dy[0]}, 2, -1);
    wg_value *below = wg_concat((wg_value *[]){wg_zeros_like(t), t}, 2, -1);
    wg_value *y = wg_matrix_exp(wg_concat((wg_value *[]){above, below}, 2, -2));
    dx[0] = wg_slice(wg_slice(y, -2, 0, size, 1), -1, size, WG_TO_END, 1);
}

/* About ten products */
static double matrix_exp_flops(const wg_node *n)
{
    return 20 * (double)wg_value_count(n->in[0]) * (double)wgi_matrix_size(n->in[0]);
}

static const wg_sample matrix_exp_samples[] = {
    {"small", NULL, 1, {WG_FLOATS(-0.25, 0.25, 2, 2, 2)}},
    {"squared", NULL, 1, {WG_FLOATS(-1, 1, 2, 3, 3)}},
    {"batch", NULL, 1, {WG_FLOATS(-1, 1, 4, 2, 1, 2, 2)}},
    {"1 by 1", NULL, 1, {WG_FLOATS(-1, 1, 2, 1, 1)}},
    {"empty", NULL, 1, {WG_FLOATS(-1, 1, 3, 2, 0, 0)}},
};

const wg_op wg_op_matrix_exp = {
    .name = "matrix_exp",
    .formula = "y = 1 + a + a a / 2! + a a a / 3! + ...",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "y",
    .infer = infer_matrix_exp,
    .grad = grad_matrix_exp,
    .reads = WG_READS_X,
    .flops = matrix_exp_flops,
    WG_SAMPLES(matrix_exp_samples),
};

wg_value *(wg_matrix_exp)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_matrix_exp, NULL, a);
}

/* ---- norms ----------------------------------------------------------------------------------- */

wg_value *(wg_nuclear_norm)(const char *at, wg_value *a)
{
    return (wg_sum)(at, (wg_svdvals)(at, a), WG_AXES(-1), WG_DROP);
}

wg_value *(wg_spectral_norm)(const char *at, wg_value *a)
{
    return (wg_max)(at, (wg_svdvals)(at, a), WG_AXES(-1), WG_DROP);
}

wg_value *(wg_cond)(const char *at, wg_value *a)
{
    wg_value *s = (wg_svdvals)(at, a);
    return (wg_div)(at, (wg_max)(at, s, WG_AXES(-1), WG_DROP),
                    (wg_min)(at, s, WG_AXES(-1), WG_DROP));
}
