/* Composites over the factorisations: a plan merges the equal lu nodes of their expansions, so one
 * matrix is factorised once, in the forward pass and its gradient together.  Their rules are in
 * terms of themselves and matmul (Giles, Collected matrix derivative results for forward and
 * reverse mode algorithmic differentiation, 2008). */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* l u = a[p], and what it was made of. */
typedef struct factors {
    wg_value *lu, *p, *sign;
} factors;

static factors factors_of(wg_value *a)
{
    wg_value *lu = wg_lu(a);
    return (factors){lu, wg_result_of(lu, 1), wg_result_of(lu, 2)};
}

/* ---- solve ----------------------------------------------------------------------------------- */

static const wg_attr solve_attrs[] = {WG_ATTR(BOOL, wg_solve_attrs, transpose)};

/* a x = b:   l u x = b[p]
 * a' x = b:  u' l' x[p] = b */
static void expand_solve(wg_node *n, wg_value **y)
{
    const wg_solve_attrs *t = n->attrs;
    factors f = factors_of(n->in[0]);
    wg_value *b = n->in[1];
    if (t->transpose) {
        wg_value *z = wg_triangular_solve(f.lu, b, WG_UPPER, WG_TRANSPOSED);
        z = wg_triangular_solve(f.lu, z, WG_LOWER, WG_TRANSPOSED | WG_UNIT_DIAGONAL);
        y[0] = wg_unpermute_rows(z, f.p);
    } else {
        wg_value *z = wg_permute_rows(b, f.p);
        z = wg_triangular_solve(f.lu, z, WG_LOWER, WG_UNIT_DIAGONAL);
        y[0] = wg_triangular_solve(f.lu, z, WG_UPPER, 0);
    }
}

/* As for triangular_solve, with all of a read. */
static void grad_solve(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_solve_attrs *t = n->attrs;
    wg_value *a = n->in[0], *x = n->out[0];
    wg_value *db = t->transpose ? wg_solve(a, dy[0]) : wg_solve_transposed(a, dy[0]);
    dx[0] = wg_neg(t->transpose ? wg_matmul_t(x, db, WG_NT) : wg_matmul_t(db, x, WG_NT));
    dx[1] = db;
}

static double elimination_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[0]) * (double)wgi_matrix_size(n->in[0]) * 2 / 3;
}

static double solve_flops(const wg_node *n)
{
    return elimination_flops(n) + 2 * wgi_substitution_flops(n);
}

static const wg_sample solve_samples[] = {
    {"matrix",
     &(const wg_solve_attrs){false},
     2,
     {WG_ROTATED(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"transposed",
     &(const wg_solve_attrs){true},
     2,
     {WG_ROTATED(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"batch broadcast",
     &(const wg_solve_attrs){false},
     2,
     {WG_DOMINANT(-1, 1, 4, 2, 1, 2, 2), WG_FLOATS(-2, 2, 3, 3, 2, 1)}},
    {"one matrix for a batch, transposed",
     &(const wg_solve_attrs){true},
     2,
     {WG_ROTATED(-1, 1, 2, 2, 2), WG_FLOATS(-2, 2, 3, 3, 2, 2)}},
    {"empty",
     &(const wg_solve_attrs){false},
     2,
     {WG_DOMINANT(-1, 1, 3, 2, 0, 0), WG_FLOATS(-2, 2, 3, 2, 0, 3)}},
};

const wg_op wg_op_solve = {
    .name = "solve",
    .formula = "x with a x = b, or a' x = b",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a b",
    .results = "x",
    WG_ATTRS(wg_solve_attrs, solve_attrs),
    .infer = wgi_infer_solution,
    .grad = grad_solve,
    .reads = WG_READS_X | WG_READS_Y,
    .expand = expand_solve,
    .flops = solve_flops,
    WG_SAMPLES(solve_samples),
};

wg_value *(wg_solve)(const char *at, wg_value *a, wg_value *b)
{
    return wgi_apply_solution(at, &wg_op_solve, &(wg_solve_attrs){false}, a, b);
}

wg_value *(wg_solve_transposed)(const char *at, wg_value *a, wg_value *b)
{
    return wgi_apply_solution(at, &wg_op_solve, &(wg_solve_attrs){true}, a, b);
}

/* ---- cholesky_solve -------------------------------------------------------------------------- */

static const wg_attr cholesky_solve_attrs[] = {
    WG_ATTR_NAMED(wg_cholesky_solve_attrs, triangle, wgi_triangle_names),
};

/* l l' x = b, or u' u x = b.  Its derivative is that of the two solutions. */
static void expand_cholesky_solve(wg_node *n, wg_value **y)
{
    const wg_cholesky_solve_attrs *t = n->attrs;
    int first = t->triangle == WG_UPPER ? WG_TRANSPOSED : 0;
    wg_value *z = wg_triangular_solve(n->in[0], n->in[1], t->triangle, first);
    y[0] = wg_triangular_solve(n->in[0], z, t->triangle, WG_TRANSPOSED - first);
}

static double cholesky_solve_flops(const wg_node *n)
{
    return 2 * wgi_substitution_flops(n);
}

static const wg_sample cholesky_solve_samples[] = {
    {"lower",
     &(const wg_cholesky_solve_attrs){WG_LOWER},
     2,
     {WG_DOMINANT(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"upper",
     &(const wg_cholesky_solve_attrs){WG_UPPER},
     2,
     {WG_DOMINANT(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"batch broadcast",
     &(const wg_cholesky_solve_attrs){WG_LOWER},
     2,
     {WG_DOMINANT(-1, 1, 4, 2, 1, 2, 2), WG_FLOATS(-2, 2, 3, 3, 2, 1)}},
};

const wg_op wg_op_cholesky_solve = {
    .name = "cholesky_solve",
    .formula = "x with factor factor' x = b (upper: factor' factor x = b)",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "factor b",
    .results = "x",
    WG_ATTRS(wg_cholesky_solve_attrs, cholesky_solve_attrs),
    .infer = wgi_infer_solution,
    .expand = expand_cholesky_solve,
    .flops = cholesky_solve_flops,
    WG_SAMPLES(cholesky_solve_samples),
};

wg_value *(wg_cholesky_solve)(const char *at, wg_value *factor, wg_value *b, wg_triangle triangle)
{
    return wgi_apply_solution(at, &wg_op_cholesky_solve, &(wg_cholesky_solve_attrs){triangle},
                              factor, b);
}

/* ---- inverse --------------------------------------------------------------------------------- */

static bool infer_inverse(wg_node *n)
{
    return wgi_need_square(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* l u y = 1[p], and row i of 1[p] is one_hot(p[i]) */
static void expand_inverse(wg_node *n, wg_value **y)
{
    factors f = factors_of(n->in[0]);
    wg_value *z = wg_one_hot(f.p, wgi_matrix_size(n->in[0]), n->in[0]->dtype);
    z = wg_triangular_solve(f.lu, z, WG_LOWER, WG_UNIT_DIAGONAL);
    y[0] = wg_triangular_solve(f.lu, z, WG_UPPER, 0);
}

/* da = -y' dy y' */
static void grad_inverse(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *y = n->out[0];
    dx[0] = wg_neg(wg_matmul_t(wg_matmul_t(y, dy[0], WG_TN), y, WG_NT));
}

static double inverse_flops(const wg_node *n)
{
    return 4 * elimination_flops(n);
}

static const wg_sample square_samples[] = {
    {"in order", NULL, 1, {WG_DOMINANT(-1, 1, 2, 3, 3)}},
    {"rows exchanged", NULL, 1, {WG_ROTATED(-1, 1, 2, 2, 2)}},
    {"batch", NULL, 1, {WG_ROTATED(-1, 1, 4, 2, 1, 3, 3)}},
    {"1 by 1", NULL, 1, {WG_DOMINANT(-1, 1, 2, 1, 1)}},
    {"empty", NULL, 1, {WG_DOMINANT(-1, 1, 3, 2, 0, 0)}},
};

const wg_op wg_op_inverse = {
    .name = "inverse",
    .formula = "y with a y = 1",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "y",
    .infer = infer_inverse,
    .grad = grad_inverse,
    .reads = WG_READS_Y,
    .expand = expand_inverse,
    .flops = inverse_flops,
    WG_SAMPLES(square_samples),
};

wg_value *(wg_inverse)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_inverse, NULL, a);
}

/* ---- slogdet --------------------------------------------------------------------------------- */

static bool infer_slogdet(wg_node *n)
{
    if (!wgi_need_square(n, 0))
        return false;
    wg_shape y = n->in[0]->shape;
    y.rank -= 2;
    return wg_set_result(n, 0, n->in[0]->dtype, y) && wg_set_result(n, 1, n->in[0]->dtype, y);
}

/* [..., n, n] -> [..., n]: elements 0, n + 1, 2 (n + 1), ... of the last two axes seen as one */
static wg_value *diagonal(wg_value *a)
{
    wg_shape flat = a->shape;
    int64_t n = wgi_matrix_size(a);
    flat.dim[--flat.rank - 1] = n * n;
    return wg_slice(wg_reshape(a, flat), -1, 0, WG_TO_END, n + 1);
}

/* det a = (sign of p) times the product of u's diagonal */
static void expand_slogdet(wg_node *n, wg_value **y)
{
    factors f = factors_of(n->in[0]);
    if (!f.lu)
        return;
    wg_value *d = diagonal(f.lu);
    y[0] = wg_mul(f.sign, wg_prod(wg_sign(d), WG_AXES(-1), WG_DROP));
    y[1] = wg_sum(wg_log(wg_abs(d)), WG_AXES(-1), WG_DROP);
}

/* da = dlogdet a^-T; the sign is constant between singular matrices. */
static void grad_slogdet(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    if (!dy[1])
        return;
    wg_value *d = wg_unsqueeze(wg_unsqueeze(dy[1], -1), -1);
    dx[0] = wg_mul(d, wg_transpose(wg_inverse(n->in[0])));
}

const wg_op wg_op_slogdet = {
    .name = "slogdet",
    .formula = "the sign of det a, and log |det a|",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "sign logdet",
    .infer = infer_slogdet,
    .grad = grad_slogdet,
    .reads = WG_READS_X,
    .expand = expand_slogdet,
    .flops = elimination_flops,
    WG_SAMPLES(square_samples),
};

wg_value *(wg_slogdet)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_slogdet, NULL, a);
}

wg_value *(wg_logdet)(const char *at, wg_value *a)
{
    return wg_result_of((wg_slogdet)(at, a), 1);
}
