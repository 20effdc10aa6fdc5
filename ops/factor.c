#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static wg_value *halved(wg_value *x)
{
    return wg_scale(x, 0.5);
}

/* ---- cholesky -------------------------------------------------------------------------------- */

static const wg_attr cholesky_attrs[] = {
    WG_ATTR_NAMED(wg_cholesky_attrs, triangle, wgi_triangle_names),
};

static bool infer_cholesky(wg_node *n)
{
    return wgi_need_square(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* With L L' = (a + a') / 2 and F(x) the lower triangle of x with half its diagonal,
 *     dL = L F(L^-1 da L^-T)   so   da = (S + S') / 2   with   S = L^-T F(L' dL) L^-1
 * (Murray, Differentiation of the Cholesky decomposition, 2016, equation 10).  Upper: L = y'. */
static void grad_cholesky(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_cholesky_attrs *t = n->attrs;
    bool upper = t->triangle == WG_UPPER;
    wg_value *y = n->out[0];
    wg_value *m = upper ? wg_matmul_t(y, dy[0], WG_NT) : wg_matmul_t(y, dy[0], WG_TN);
    wg_value *f = halved(wg_add(wg_tril(m, 0), wg_tril(m, -1)));
    int flags = upper ? 0 : WG_TRANSPOSED; /* L^-T x */
    wg_value *left = wg_triangular_solve(y, f, t->triangle, flags);
    wg_value *s = wg_triangular_solve(y, wg_transpose(left), t->triangle, flags); /* S' */
    dx[0] = halved(wg_add(s, wg_transpose(s)));
}

/* n^3 / 3 for each matrix */
static double cholesky_flops(const wg_node *n)
{
    double size = (double)wgi_matrix_size(n->in[0]);
    return (double)wg_value_count(n->in[0]) * size / 3;
}

static const wg_sample cholesky_samples[] = {
    {"lower", &(const wg_cholesky_attrs){WG_LOWER}, 1, {WG_DOMINANT(-1, 1, 2, 3, 3)}},
    {"upper", &(const wg_cholesky_attrs){WG_UPPER}, 1, {WG_DOMINANT(-1, 1, 2, 3, 3)}},
    {"batch", &(const wg_cholesky_attrs){WG_LOWER}, 1, {WG_DOMINANT(-1, 1, 4, 2, 1, 2, 2)}},
    {"upper batch", &(const wg_cholesky_attrs){WG_UPPER}, 1, {WG_DOMINANT(-1, 1, 3, 3, 2, 2)}},
    {"1 by 1", &(const wg_cholesky_attrs){WG_LOWER}, 1, {WG_DOMINANT(-1, 1, 2, 1, 1)}},
    {"empty", &(const wg_cholesky_attrs){WG_LOWER}, 1, {WG_DOMINANT(-1, 1, 3, 2, 0, 0)}},
};

const wg_op wg_op_cholesky = {
    .name = "cholesky",
    .formula = "y y' = (a + a') / 2, y lower triangular; or y' y, y upper triangular",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "y",
    WG_ATTRS(wg_cholesky_attrs, cholesky_attrs),
    .infer = infer_cholesky,
    .grad = grad_cholesky,
    .reads = WG_READS_Y,
    .flops = cholesky_flops,
    WG_SAMPLES(cholesky_samples),
};

wg_value *(wg_cholesky)(const char *at, wg_value *a, wg_triangle triangle)
{
    return wg_apply1(at, &wg_op_cholesky, &(wg_cholesky_attrs){triangle}, a);
}

/* ---- lu -------------------------------------------------------------------------------------- */

static bool infer_lu(wg_node *n)
{
    if (!wgi_need_square(n, 0))
        return false;
    wg_shape a = n->in[0]->shape, p = a, sign = a;
    p.rank -= 1;
    sign.rank -= 2;
    return wg_set_result(n, 0, n->in[0]->dtype, a) && wg_set_result(n, 1, WG_I64, p) &&
           wg_set_result(n, 2, n->in[0]->dtype, sign);
}

/* With l u = a[p] and N = l^-1 da[p] u^-1:  dl = l N below the diagonal, du = N u on and above it.
 * So  da[p] = l^-T M u^-T  with  M = l' dl below the diagonal, du u' on and above it (de Hoog,
 * Anderssen, Lukas, Differentiation of matrix functionals using triangular factorization, 2011).
 * Result 2 is constant between exchanges of rows. */
static void grad_lu(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    if (!dy[0])
        return;
    wg_value *y = n->out[0], *dl = wg_tril(dy[0], -1), *du = wg_triu(dy[0], 0);
    wg_value *below = wg_add(wg_matmul_t(wg_tril(y, -1), dl, WG_TN), dl); /* l = 1 + tril(y, -1) */
    wg_value *above = wg_matmul_t(du, wg_triu(y, 0), WG_NT);
    wg_value *m = wg_add(wg_tril(below, -1), wg_triu(above, 0));
    wg_value *left = wg_triangular_solve(y, m, WG_LOWER, WG_TRANSPOSED | WG_UNIT_DIAGONAL);
    wg_value *both = wg_triangular_solve(y, wg_transpose(left), WG_UPPER, 0);
    dx[0] = wg_unpermute_rows(wg_transpose(both), n->out[1]);
}

static double lu_flops(const wg_node *n)
{
    return 2 * cholesky_flops(n);
}

static const wg_sample lu_samples[] = {
    {"in order", NULL, 1, {WG_DOMINANT(-1, 1, 2, 3, 3)}},
    {"rows exchanged", NULL, 1, {WG_ROTATED(-1, 1, 2, 4, 4)}},
    {"batch", NULL, 1, {WG_ROTATED(-1, 1, 4, 2, 1, 2, 2)}},
    {"1 by 1", NULL, 1, {WG_DOMINANT(-1, 1, 2, 1, 1)}},
    {"empty", NULL, 1, {WG_DOMINANT(-1, 1, 3, 2, 0, 0)}},
};

const wg_op wg_op_lu = {
    .name = "lu",
    .formula = "l u = a[p]; y has u, and below its diagonal l",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "y p sign",
    .infer = infer_lu,
    .grad = grad_lu,
    .reads = WG_READS_Y,
    .flops = lu_flops,
    WG_SAMPLES(lu_samples),
};

wg_value *(wg_lu)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_lu, NULL, a);
}

/* ---- permute_rows ---------------------------------------------------------------------------- */

static const wg_attr permute_rows_attrs[] = {WG_ATTR(BOOL, wg_permute_rows_attrs, inverse)};

static bool infer_permute_rows(wg_node *n)
{
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2, WG_MAX_RANK) || !wg_need_int(n, 1) ||
        !wg_need_rank(n, 1, 1, WG_MAX_RANK - 1))
        return false;
    wg_shape x = n->in[0]->shape, p = n->in[1]->shape, y;
    int64_t rows = x.dim[x.rank - 2], columns = x.dim[x.rank - 1];
    if (!wg_need_dim(n, 1, -1, rows))
        return false;
    x.rank -= 2;
    p.rank -= 1;
    if (!wg_need_broadcast(n, &x, &p, &y))
        return false;
    y.dim[y.rank++] = rows;
    y.dim[y.rank++] = columns;
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

static void grad_permute_rows(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_permute_rows_attrs other = *(const wg_permute_rows_attrs *)n->attrs;
    other.inverse = !other.inverse;
    dx[0] = wg_apply2(WG_HERE, &wg_op_permute_rows, &other, dy[0], n->in[1]);
}

static const wg_sample permute_rows_samples[] = {
    {"rows",
     &(const wg_permute_rows_attrs){false},
     2,
     {WG_FLOATS(-2, 2, 2, 4, 3), WG_INTS(0, 4, 1, 4)}},
    {"inverse",
     &(const wg_permute_rows_attrs){true},
     2,
     {WG_FLOATS(-2, 2, 2, 4, 3), WG_INTS(0, 4, 1, 4)}},
    {"batch broadcast",
     &(const wg_permute_rows_attrs){false},
     2,
     {WG_FLOATS(-2, 2, 4, 2, 1, 3, 2), WG_INTS(0, 3, 2, 3, 3)}},
    {"one matrix for a batch, inverse",
     &(const wg_permute_rows_attrs){true},
     2,
     {WG_FLOATS(-2, 2, 2, 3, 2), WG_INTS(0, 3, 2, 2, 3)}},
    {"empty",
     &(const wg_permute_rows_attrs){true},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 0, 3), WG_INTS(0, 1, 2, 2, 0)}},
};

const wg_op wg_op_permute_rows = {
    .name = "permute_rows",
    .formula = "y[.., i, :] = x[.., p[.., i], :]; inverse: y[.., p[.., i], :] = x[.., i, :]",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "x p",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_ATTRS(wg_permute_rows_attrs, permute_rows_attrs),
    .infer = infer_permute_rows,
    .grad = grad_permute_rows,
    .reads = WG_READS_X,
    WG_SAMPLES(permute_rows_samples),
};

wg_value *(wg_permute_rows)(const char *at, wg_value *x, wg_value *p)
{
    return wg_apply2(at, &wg_op_permute_rows, &(wg_permute_rows_attrs){false}, x, p);
}

wg_value *(wg_unpermute_rows)(const char *at, wg_value *x, wg_value *p)
{
    return wg_apply2(at, &wg_op_permute_rows, &(wg_permute_rows_attrs){true}, x, p);
}
