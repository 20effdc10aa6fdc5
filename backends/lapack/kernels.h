/* The kernels of the LAPACK backend: kernels.c, compiled for each element type. */
#ifndef WG_BACKENDS_LAPACK_KERNELS_H
#define WG_BACKENDS_LAPACK_KERNELS_H

#include "wengert/graph/op.h"

#include <cblas.h>
#include <lapacke.h>

/* The functions that kernels call, and what they are called here. */
#define WGI_LAPACK_CALLS(CALL)                                                                     \
    CALL(spotrf, LAPACKE_spotrf_work)                                                              \
    CALL(dpotrf, LAPACKE_dpotrf_work)                                                              \
    CALL(sgetrf, LAPACKE_sgetrf_work)                                                              \
    CALL(dgetrf, LAPACKE_dgetrf_work)                                                              \
    CALL(sgelqf, LAPACKE_sgelqf_work)                                                              \
    CALL(dgelqf, LAPACKE_dgelqf_work)                                                              \
    CALL(sorglq, LAPACKE_sorglq_work)                                                              \
    CALL(dorglq, LAPACKE_dorglq_work)                                                              \
    CALL(ssyevd, LAPACKE_ssyevd_work)                                                              \
    CALL(dsyevd, LAPACKE_dsyevd_work)                                                              \
    CALL(sgesdd, LAPACKE_sgesdd_work)                                                              \
    CALL(dgesdd, LAPACKE_dgesdd_work)                                                              \
    CALL(dgemm, cblas_dgemm)                                                                       \
    CALL(strsm, cblas_strsm)                                                                       \
    CALL(dtrsm, cblas_dtrsm)

/* threads, set_threads: of a BLAS with threads of its own, which is asked how many it has and told
 * how many to use; NULL: it cannot be. */
typedef struct wgi_lapack_calls {
#define WGI_LAPACK_FIELD(name, function) __typeof__(function) *name;
    WGI_LAPACK_CALLS(WGI_LAPACK_FIELD)
#undef WGI_LAPACK_FIELD
    int (*threads)(void);
    void (*set_threads)(int threads);
} wgi_lapack_calls;

/* c->state is a wgi_lapack_calls. */
typedef void wgi_lapack_kernel(wg_call *c);

wgi_lapack_kernel wgi_lapack_cholesky_f32, wgi_lapack_lu_f32, wgi_lapack_triangular_solve_f32,
    wgi_lapack_qr_f32, wgi_lapack_eigh_f32, wgi_lapack_svd_f32, wgi_lapack_matrix_exp_f32;
wgi_lapack_kernel wgi_lapack_cholesky_f64, wgi_lapack_lu_f64, wgi_lapack_triangular_solve_f64,
    wgi_lapack_qr_f64, wgi_lapack_eigh_f64, wgi_lapack_svd_f64, wgi_lapack_matrix_exp_f64;

/* What the calls of a node need besides operands and results, one matrix after the other: reals,
 * and behind them integers; or doubles, whatever the dtype. */
typedef struct wgi_lapack_work {
    int64_t reals, integers, doubles;
} wgi_lapack_work;

/* LAPACK works on blocks of at most so many rows or columns. */
enum { WGI_LAPACK_BLOCK = 64 };

/* tau, and the work of gelqf and orglq */
static inline wgi_lapack_work wgi_lapack_qr_work(int64_t m, int64_t n)
{
    return (wgi_lapack_work){.reals = (m < n ? m : n) + WGI_LAPACK_BLOCK * (m > n ? m : n)};
}

/* of syevd with vectors */
static inline wgi_lapack_work wgi_lapack_eigh_work(int64_t n)
{
    return (wgi_lapack_work){.reals = 1 + 6 * n + 2 * n * n, .integers = 3 + 5 * n};
}

/* a copy of the matrix, and the work of gesdd for min(m, n) vectors */
static inline wgi_lapack_work wgi_lapack_svd_work(int64_t m, int64_t n)
{
    int64_t k = m < n ? m : n, q = m < n ? n : m;
    const int64_t work = 4 * k * k + 7 * k + q + WGI_LAPACK_BLOCK * (q + 2 * k);
    return (wgi_lapack_work){.reals = m * n + work, .integers = 8 * k};
}

#endif
