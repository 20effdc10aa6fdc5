#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

/* ---- what ops on square matrices share ------------------------------------------------------- */

const char *const wgi_triangle_names[3] = {"lower", "upper", NULL};

bool wgi_need_square(wg_node *n, int i)
{
    char name[64], text[160];
    const wg_shape *s = &n->in[i]->shape;
    if (!wg_need_float(n, i) || !wg_need_rank(n, i, 2, WG_MAX_RANK))
        return false;
    if (s->dim[s->rank - 1] == s->dim[s->rank - 2])
        return true;
    return wg_fail(n, WG_ESHAPE, "%s is %s, must be square in its last two axes",
                   wg_op_operand_name(n->op, i, name, sizeof name),
                   wg_shape_text(s, text, sizeof text));
}

int64_t wgi_matrix_size(const wg_value *a)
{
    return a->shape.dim[a->shape.rank - 1];
}

bool wgi_infer_solution(wg_node *n)
{
    if (!wgi_need_square(n, 0) || !wg_need_same_dtype(n, 0, 1) ||
        !wg_need_rank(n, 1, 2, WG_MAX_RANK))
        return false;
    wg_shape a = n->in[0]->shape, b = n->in[1]->shape, x;
    int64_t rows = b.dim[b.rank - 2], columns = b.dim[b.rank - 1];
    if (rows != wgi_matrix_size(n->in[0]))
        return wg_fail(n, WG_ESHAPE, "%lld equations, but %lld rows of right-hand sides",
                       (long long)wgi_matrix_size(n->in[0]), (long long)rows);
    a.rank -= 2;
    b.rank -= 2;
    if (!wg_need_broadcast(n, &a, &b, &x))
        return false;
    x.dim[x.rank++] = rows;
    x.dim[x.rank++] = columns;
    return wg_set_result(n, 0, n->in[0]->dtype, x);
}

wg_value *wgi_apply_solution(const char *at, const wg_op *op, const void *attrs, wg_value *a,
                             wg_value *b)
{
    if (!b || b->shape.rank != 1)
        return wg_apply2(at, op, attrs, a, b);
    return (wg_squeeze)(at, wg_apply2(at, op, attrs, a, (wg_unsqueeze)(at, b, 1)), -1);
}

/* n multiplications and additions for each element of x */
double wgi_substitution_flops(const wg_node *n)
{
    return (double)wg_value_count(n->out[0]) * (double)wgi_matrix_size(n->in[0]);
}

/* ---- triangle -------------------------------------------------------------------------------- */

static const wg_attr triangle_attrs[] = {
    WG_ATTR_NAMED(wg_triangle_attrs, triangle, wgi_triangle_names),
    WG_ATTR(INT, wg_triangle_attrs, diagonal),
};

static bool infer_triangle(wg_node *n)
{
    return wg_need_rank(n, 0, 2, WG_MAX_RANK) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static void grad_triangle(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_apply1(WG_HERE, &wg_op_triangle, n->attrs, dy[0]);
}

static const wg_sample triangle_samples[] = {
    {"lower", &(const wg_triangle_attrs){WG_LOWER, 0}, 1, {WG_FLOATS(-2, 2, 2, 4, 4)}},
    {"upper", &(const wg_triangle_attrs){WG_UPPER, 0}, 1, {WG_FLOATS(-2, 2, 2, 4, 4)}},
    {"above the diagonal", &(const wg_triangle_attrs){WG_LOWER, 2}, 1, {WG_FLOATS(-2, 2, 2, 5, 3)}},
    {"below the diagonal",
     &(const wg_triangle_attrs){WG_UPPER, -2},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"batch", &(const wg_triangle_attrs){WG_UPPER, -1}, 1, {WG_FLOATS(-2, 2, 4, 2, 3, 3, 2)}},
    {"empty", &(const wg_triangle_attrs){WG_LOWER, 0}, 1, {WG_FLOATS(-2, 2, 2, 0, 3)}},
    {"integers", &(const wg_triangle_attrs){WG_LOWER, -1}, 1, {WG_INTS(1, 9, 2, 3, 3)}},
};

const wg_op wg_op_triangle = {
    .name = "triangle",
    .formula = "y[.., i, j] = x[.., i, j] if j - i <= diagonal (upper: >=), else 0",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "x",
    .results = "y",
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 1,
    WG_ATTRS(wg_triangle_attrs, triangle_attrs),
    .infer = infer_triangle,
    .grad = grad_triangle,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(triangle_samples),
};

wg_value *(wg_tril)(const char *at, wg_value *x, int64_t diagonal)
{
    return wg_apply1(at, &wg_op_triangle, &(wg_triangle_attrs){WG_LOWER, diagonal}, x);
}

wg_value *(wg_triu)(const char *at, wg_value *x, int64_t diagonal)
{
    return wg_apply1(at, &wg_op_triangle, &(wg_triangle_attrs){WG_UPPER, diagonal}, x);
}

/* ---- triangular_solve ------------------------------------------------------------------------ */

static const wg_attr triangular_solve_attrs[] = {
    WG_ATTR_NAMED(wg_triangular_solve_attrs, triangle, wgi_triangle_names),
    WG_ATTR(BOOL, wg_triangular_solve_attrs, transpose),
    WG_ATTR(BOOL, wg_triangular_solve_attrs, unit_diagonal),
};

/* With a x = b:   db is the solution of a' db = dx,  da = -db x'
 * With a' x = b:  db is the solution of a db = dx,   da = -x db'
 * of which only what is read of a counts: its triangle, without the diagonal where that is ones. */
static void grad_triangular_solve(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_triangular_solve_attrs t = *(const wg_triangular_solve_attrs *)n->attrs, other = t;
    wg_value *a = n->in[0], *x = n->out[0];
    other.transpose = !t.transpose;
    wg_value *db = wg_apply2(WG_HERE, &wg_op_triangular_solve, &other, a, dy[0]);
    wg_value *da = t.transpose ? wg_matmul_t(x, db, WG_NT) : wg_matmul_t(db, x, WG_NT);
    int64_t inward = t.unit_diagonal ? 1 : 0;
    dx[0] = wg_neg(t.triangle == WG_LOWER ? wg_tril(da, -inward) : wg_triu(da, inward));
    dx[1] = db;
}

/* With a diagonal of ones, other elements are small: the solution may grow by 1 + |a| in each
 * row. */
#define SOLVE(triangle, transpose, unit_diagonal)                                                  \
    &(const wg_triangular_solve_attrs)                                                             \
    {                                                                                              \
        triangle, transpose, unit_diagonal                                                         \
    }
static const wg_sample triangular_solve_samples[] = {
    {"lower",
     SOLVE(WG_LOWER, false, false),
     2,
     {WG_DOMINANT(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"upper",
     SOLVE(WG_UPPER, false, false),
     2,
     {WG_DOMINANT(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"lower transposed",
     SOLVE(WG_LOWER, true, false),
     2,
     {WG_DOMINANT(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"upper transposed",
     SOLVE(WG_UPPER, true, false),
     2,
     {WG_DOMINANT(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"lower unit",
     SOLVE(WG_LOWER, false, true),
     2,
     {WG_FLOATS(-0.1, 0.1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"upper unit transposed",
     SOLVE(WG_UPPER, true, true),
     2,
     {WG_FLOATS(-0.1, 0.1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 1)}},
    {"batch broadcast",
     SOLVE(WG_LOWER, false, false),
     2,
     {WG_DOMINANT(-1, 1, 4, 2, 1, 3, 3), WG_FLOATS(-2, 2, 3, 3, 3, 2)}},
    {"one matrix for a batch",
     SOLVE(WG_UPPER, false, false),
     2,
     {WG_DOMINANT(-1, 1, 2, 2, 2), WG_FLOATS(-2, 2, 3, 3, 2, 2)}},
    {"no right-hand side",
     SOLVE(WG_LOWER, false, false),
     2,
     {WG_DOMINANT(-1, 1, 2, 3, 3), WG_FLOATS(-2, 2, 2, 3, 0)}},
};

const wg_op wg_op_triangular_solve = {
    .name = "triangular_solve",
    .formula = "x with a x = b, or a' x = b, for one triangle of a",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a b",
    .results = "x",
    .inplace = 2,
    WG_ATTRS(wg_triangular_solve_attrs, triangular_solve_attrs),
    .infer = wgi_infer_solution,
    .grad = grad_triangular_solve,
    .reads = WG_READS_X | WG_READS_Y,
    .flops = wgi_substitution_flops,
    WG_SAMPLES(triangular_solve_samples),
};

wg_value *(wg_triangular_solve)(const char *at, wg_value *a, wg_value *b, wg_triangle triangle,
                                int flags)
{
    wg_triangular_solve_attrs t = {triangle, flags & WG_TRANSPOSED, flags & WG_UNIT_DIAGONAL};
    if (!wgi_check_flags(at, "wg_triangular_solve", a, flags, WG_TRANSPOSED | WG_UNIT_DIAGONAL))
        return NULL;
    return wgi_apply_solution(at, &wg_op_triangular_solve, &t, a, b);
}
