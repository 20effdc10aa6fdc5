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

wgi_lapack_kernel wgi_lapack_cholesky_f32, wgi_lapack_lu_f32, wgi_lapack_triangular_solve_f32;
wgi_lapack_kernel wgi_lapack_cholesky_f64, wgi_lapack_lu_f64, wgi_lapack_triangular_solve_f64;

#endif
