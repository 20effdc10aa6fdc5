/* The LAPACK backend: its table, what it takes, and its libraries, which are loaded for the first
 * node that it takes.  A process that factorises nothing does without them: loading takes a third
 * of a short one's time, and an OpenBLAS with threads starts them at once. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "wengert/backends/lapack.h"
#include "backends/batch.h"
#include "backends/lapack/kernels.h"
#include "backends/matrix_exp.h"
#include "wengert/ops/table.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LAPACK pays from matrices of about this size on, the smaller of rows and columns: its calls cost
 * as much as the reference takes for smaller ones, and lu is transposed twice.  Measured on
 * batches: docs/notes/performance.md. */
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
    {&wg_op_qr, "gelqf", 40, wgi_lapack_qr_f32, wgi_lapack_qr_f64},
    {&wg_op_eigh, "syevd", 8, wgi_lapack_eigh_f32, wgi_lapack_eigh_f64},
    {&wg_op_svd, "gesdd", 8, wgi_lapack_svd_f32, wgi_lapack_svd_f64},
    {&wg_op_matrix_exp, "gemm", 16, wgi_lapack_matrix_exp_f32, wgi_lapack_matrix_exp_f64},
};

static const struct row *row_of(const wg_op *op)
{
    for (int i = 0; i < WG_COUNT(rows); i++)
        if (rows[i].op == op)
            return &rows[i];
    return NULL;
}

/* ---- the libraries --------------------------------------------------------------------------- */

/* Of a plan; kernels see `calls`. */
typedef struct lapack {
    wgi_lapack_calls calls;
    bool sought;   /* the libraries have been, */
    char why[200]; /* and this is why they cannot be used; "" if they can */
} lapack;

/* As if linked with them: what the program brings along precedes the library's own. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol)
        symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol); /* ISO C has no cast from object to function */
    return symbol != NULL;
}

/* The BLAS is the one that the system has chosen for LAPACK: OpenBLAS or another.  Nothing is
 * unloaded, since its threads may run. */
static void load(lapack *l)
{
    static const struct function {
        const char *name;
        size_t at;
    } functions[] = {
#define WGI_LAPACK_FUNCTION(name, function) {#function, offsetof(wgi_lapack_calls, name)},
        WGI_LAPACK_CALLS(WGI_LAPACK_FUNCTION)
#undef WGI_LAPACK_FUNCTION
    };
    static const char name[] = "liblapacke.so.3";
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    l->sought = true;
    if (!library) {
        /* It names the file.  NOLINTNEXTLINE(concurrency-mt-unsafe): each thread has its own */
        const char *text = dlerror();
        snprintf(l->why, sizeof l->why, "LAPACK cannot be loaded: %s", text ? text : name);
        return;
    }
    for (int i = 0; i < WG_COUNT(functions) && !*l->why; i++)
        if (!find(library, functions[i].name, (char *)&l->calls + functions[i].at))
            snprintf(l->why, sizeof l->why, "neither %s nor its BLAS has the function %s", name,
                     functions[i].name);
    if (!find(library, "openblas_get_num_threads", &l->calls.threads) ||
        !find(library, "openblas_set_num_threads", &l->calls.set_threads))
        l->calls.set_threads = NULL;
    dlclose(library);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* LAPACK's exchanges of rows, for each matrix; its work, which all matrices share. */
static wgi_lapack_work work_of(const wg_node *n)
{
    wgi_batch a = wgi_batch_of(&n->in[0]->shape);
    return n->op == &wg_op_lu     ? (wgi_lapack_work){.integers = wg_value_count(n->out[1])}
           : n->op == &wg_op_qr   ? wgi_lapack_qr_work(a.rows, a.columns)
           : n->op == &wg_op_eigh ? wgi_lapack_eigh_work(a.rows)
           : n->op == &wg_op_svd  ? wgi_lapack_svd_work(a.rows, a.columns)
           : n->op == &wg_op_matrix_exp
               ? (wgi_lapack_work){.doubles = wgi_matrix_exp_numbers(a.rows)}
               : (wgi_lapack_work){.reals = 0};
}

static bool fits_an_int(const wg_node *n)
{
    for (int i = 0; i < n->out[0]->shape.rank; i++)
        if (n->out[0]->shape.dim[i] > INT_MAX)
            return false;
    return wgi_batch_of(&n->in[0]->shape).columns <= INT_MAX && work_of(n).reals <= INT_MAX;
}

static const char *refuses(void *state, const wg_node *n)
{
    lapack *l = state;
    const struct row *r = row_of(n->op);
    if (!r)
        return "LAPACK has no such op";
    if (n->out[0]->dtype != WG_F32 && n->out[0]->dtype != WG_F64)
        return "LAPACK computes in f32 and f64 only";
    wgi_batch a = wgi_batch_of(&n->in[0]->shape);
    if (a.rows < r->min_size || a.columns < r->min_size)
        return "LAPACK is slower on matrices as small as this";
    if (!fits_an_int(n))
        return "LAPACK counts in 32 bits";
    if (!l->sought)
        load(l);
    return *l->why ? l->why : NULL;
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *k)
{
    const struct row *r = row_of(n->op);
    wgi_lapack_work work = work_of(n);
    size_t reals = (size_t)work.reals * wg_dtype_size(n->out[0]->dtype);
    *k = (wg_kernel){.name = r->name,
                     .run = n->out[0]->dtype == WG_F32 ? r->f32 : r->f64,
                     .state = &((lapack *)state)->calls,
                     .scratch = reals + (size_t)work.integers * sizeof(lapack_int) +
                                (size_t)work.doubles * sizeof(double)};
    return WG_OK;
}

static wg_status open_backend(void **state, const wg_backend_config *config)
{
    (void)config;
    *state = calloc(1, sizeof(lapack));
    return *state ? WG_OK : WG_ENOMEM;
}

const wg_backend *wg_lapack_backend(void)
{
    static const wg_backend backend = {
        .abi = WG_BACKEND_ABI,
        .name = "lapack",
        .doc =
            "factorisations, eigenvalues and triangular systems by LAPACKE and CBLAS, f32 and f64",
        .reproducible = WG_SAME_THREADS,
        .open = open_backend,
        .close = free,
        .refuses = refuses,
        .prepare = prepare,
    };
    return &backend;
}
