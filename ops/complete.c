/* Factorisations with complete bases. */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

static int64_t rows_of(const wg_value *a)
{
    return a->shape.dim[a->shape.rank - 2];
}

/* Whether a is a float matrix, whose sides are then m and n */
static bool need_matrix(wg_node *n, int64_t *rows, int64_t *columns)
{
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2, WG_MAX_RANK))
        return false;
    *rows = rows_of(n->in[0]);
    *columns = wgi_matrix_size(n->in[0]);
    return true;
}

/* The leading axes of a, then these two */
static wg_shape matrices(const wg_value *a, int64_t rows, int64_t columns)
{
    wg_shape s = a->shape;
    s.dim[s.rank - 2] = rows;
    s.dim[s.rank - 1] = columns;
    return s;
}

/* ---- qr_complete ----------------------------------------------------------------------------- */

static bool infer_qr_complete(wg_node *n)
{
    int64_t rows, columns;
    return need_matrix(n, &rows, &columns) &&
           wg_set_result(n, 0, n->in[0]->dtype, matrices(n->in[0], rows, rows)) &&
           wg_set_result(n, 1, n->in[0]->dtype, n->in[0]->shape);
}

/* Of a tall a, the factors of the square [a, e]: its first columns are a, so that r's are those of
 * a, and 0 after the first n rows. */
static void expand_qr_complete(wg_node *n, wg_value **y)
{
    wg_value *a = n->in[0];
    int64_t rows = rows_of(a), columns = wgi_matrix_size(a);
    if (rows <= columns) {
        y[0] = wg_qr(a);
        y[1] = wg_result_of(y[0], 1);
        return;
    }
    wg_value *identity = wg_eye(n->graph, a->dtype, rows);
    wg_value *e = wg_slice(identity, -1, columns, WG_TO_END, 1);
    wg_value *parts[] = {a, wg_expand(e, matrices(a, rows, rows - columns))};
    y[0] = wg_qr(wg_concat(parts, 2, -1));
    y[1] = wg_slice(wg_result_of(y[0], 1), -1, 0, columns, 1);
}

static const wg_sample qr_complete_samples[] = {
    {"square", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 2, 3, 3)}},
    {"tall", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 2, 4, 2)}},
    {"wide", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 2, 2, 4)}},
    {"batch", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 4, 2, 1, 3, 2)}},
    {"empty", NULL, 1, {WG_DOMINANT(-0.25, 0.25, 3, 2, 2, 0)}},
};

const wg_op wg_op_qr_complete = {
    .name = "qr_complete",
    .formula = "q r = a, q' q = 1, r upper triangular, q square",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "q r",
    .infer = infer_qr_complete,
    .expand = expand_qr_complete,
    WG_SAMPLES(qr_complete_samples),
};

wg_value *(wg_qr_complete)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_qr_complete, NULL, a);
}

/* ---- svd_full -------------------------------------------------------------------------------- */

static bool infer_svd_full(wg_node *n)
{
    int64_t rows, columns;
    if (!need_matrix(n, &rows, &columns))
        return false;
    wg_shape s = matrices(n->in[0], 1, rows < columns ? rows : columns);
    s.dim[s.rank - 2] = s.dim[s.rank - 1];
    s.rank--;
    return wg_set_result(n, 0, n->in[0]->dtype, matrices(n->in[0], rows, rows)) &&
           wg_set_result(n, 1, n->in[0]->dtype, s) &&
           wg_set_result(n, 2, n->in[0]->dtype, matrices(n->in[0], columns, columns));
}

/* u with orthonormal columns, and those that it lacks */
static wg_value *completed(wg_value *u)
{
    int64_t k = u ? wgi_matrix_size(u) : 0;
    if (!u || k == rows_of(u))
        return u;
    wg_value *parts[] = {u, wg_slice(wg_qr_complete(u), -1, k, WG_TO_END, 1)};
    return wg_concat(parts, 2, -1);
}

static void expand_svd_full(wg_node *n, wg_value **y)
{
    wg_value *u = wg_svd(n->in[0]), *vt = wg_result_of(u, 2);
    bool wide = wgi_matrix_size(n->in[0]) > rows_of(n->in[0]);
    y[0] = completed(u);
    y[1] = wg_result_of(u, 1);
    y[2] = wide ? wg_transpose(completed(wg_transpose(vt))) : vt;
}

static const wg_sample svd_full_samples[] = {
    {"square", NULL, 1, {WG_SPREAD(-1, 1, 2, 3, 3)}},
    {"tall", NULL, 1, {WG_SPREAD(-1, 1, 2, 4, 2)}},
    {"wide", NULL, 1, {WG_SPREAD(-1, 1, 2, 2, 3)}},
    {"batch", NULL, 1, {WG_SPREAD(-1, 1, 4, 2, 1, 3, 2)}},
    {"empty", NULL, 1, {WG_SPREAD(-1, 1, 3, 2, 0, 2)}},
};

const wg_op wg_op_svd_full = {
    .name = "svd_full",
    .formula = "u diag(s) vt = a, u' u = 1, vt vt' = 1, u and vt square",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "a",
    .results = "u s vt",
    .infer = infer_svd_full,
    .expand = expand_svd_full,
    WG_SAMPLES(svd_full_samples),
};

wg_value *(wg_svd_full)(const char *at, wg_value *a)
{
    return wg_apply1(at, &wg_op_svd_full, NULL, a);
}
