/* The LAPACK backend: its table, and what it takes. */
#include "wengert/backends/lapack.h"
#include "backends/lapack/kernels.h"
#include "wengert/ops/table.h"

#include <lapacke.h>
#include <limits.h>

static const struct row {
    const wg_op *op;
    const char *name;
    wgi_lapack_kernel *f32, *f64;
} rows[] = {
    {&wg_op_cholesky, "potrf", wgi_lapack_cholesky_f32, wgi_lapack_cholesky_f64},
    {&wg_op_lu, "getrf", wgi_lapack_lu_f32, wgi_lapack_lu_f64},
    {&wg_op_triangular_solve, "trsm", wgi_lapack_triangular_solve_f32,
     wgi_lapack_triangular_solve_f64},
};

static const struct row *row_of(const wg_op *op)
{
    for (int i = 0; i < WG_COUNT(rows); i++)
        if (rows[i].op == op)
            return &rows[i];
    return NULL;
}

static const char *refuses(void *state, const wg_node *n)
{
    (void)state;
    if (!row_of(n->op))
        return "LAPACK has no such op";
    if (n->out[0]->dtype != WG_F32 && n->out[0]->dtype != WG_F64)
        return "LAPACK computes in f32 and f64 only";
    for (int i = 0; i < n->out[0]->shape.rank; i++)
        if (n->out[0]->shape.dim[i] > INT_MAX)
            return "LAPACK counts in 32 bits";
    return NULL;
}

/* LAPACK's exchanges of rows, for each matrix. */
static size_t scratch_of(const wg_node *n)
{
    return n->op == &wg_op_lu ? (size_t)wg_value_count(n->out[1]) * sizeof(lapack_int) : 0;
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state;
    const struct row *r = row_of(n->op);
    *k = (wg_kernel){.name = r->name,
                     .run = n->out[0]->dtype == WG_F32 ? r->f32 : r->f64,
                     .scratch = scratch_of(n)};
    return WG_OK;
}

const wg_backend *wg_lapack_backend(void)
{
    static const wg_backend lapack = {
        .abi = WG_BACKEND_ABI,
        .name = "lapack",
        .doc = "factorisations and triangular systems by LAPACKE and CBLAS, f32 and f64",
        .reproducible = WG_SAME_THREADS,
        .refuses = refuses,
        .prepare = prepare,
    };
    return &lapack;
}
