/* The LAPACK backend: its table, what it takes, and the threads of its BLAS. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "wengert/backends/lapack.h"
#include "backends/lapack/kernels.h"
#include "wengert/ops/table.h"

#include <dlfcn.h>
#include <lapacke.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* LAPACK pays from matrices of about this size on: its calls cost as much as the reference takes
 * for smaller ones, and lu is transposed twice.  Measured on batches: docs/notes/performance.md. */
static const struct row {
    const wg_op *op;
    const char *name;
    int64_t min_size;
    wgi_lapack_kernel *f32, *f64;
} rows[] = {
    {&wg_op_cholesky, "potrf", 8, wgi_lapack_cholesky_f32, wgi_lapack_cholesky_f64},
    {&wg_op_lu, "getrf", 32, wgi_lapack_lu_f32, wgi_lapack_lu_f64},
    {&wg_op_triangular_solve, "trsm", 8, wgi_lapack_triangular_solve_f32,
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
    const struct row *r = row_of(n->op);
    const wg_shape *a = r ? &n->in[0]->shape : NULL;
    if (!r)
        return "LAPACK has no such op";
    if (n->out[0]->dtype != WG_F32 && n->out[0]->dtype != WG_F64)
        return "LAPACK computes in f32 and f64 only";
    if (a->dim[a->rank - 1] < r->min_size)
        return "LAPACK is slower on matrices as small as this";
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
    const struct row *r = row_of(n->op);
    *k = (wg_kernel){.name = r->name,
                     .run = n->out[0]->dtype == WG_F32 ? r->f32 : r->f64,
                     .state = state,
                     .scratch = scratch_of(n)};
    return WG_OK;
}

/* The BLAS is the one that the system has chosen: OpenBLAS or another. */
static wg_status open_backend(void **state, const wg_backend_config *config)
{
    (void)config;
    wgi_blas *blas = calloc(1, sizeof *blas);
    if (!blas)
        return WG_ENOMEM;
    void *threads = dlsym(RTLD_DEFAULT, "openblas_get_num_threads"),
         *set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
    if (threads && set) { /* ISO C has no cast from object to function */
        memcpy(&blas->threads, &threads, sizeof threads);
        memcpy(&blas->set_threads, &set, sizeof set);
    }
    *state = blas;
    return WG_OK;
}

const wg_backend *wg_lapack_backend(void)
{
    static const wg_backend lapack = {
        .abi = WG_BACKEND_ABI,
        .name = "lapack",
        .doc = "factorisations and triangular systems by LAPACKE and CBLAS, f32 and f64",
        .reproducible = WG_SAME_THREADS,
        .open = open_backend,
        .close = free,
        .refuses = refuses,
        .prepare = prepare,
    };
    return &lapack;
}
