/* The kernels of the LAPACK backend: kernels.c, compiled for each element type. */
#ifndef WG_BACKENDS_LAPACK_KERNELS_H
#define WG_BACKENDS_LAPACK_KERNELS_H

#include "wengert/graph/op.h"

/* A BLAS with threads of its own, which is asked how many it has and told how many to use; NULL:
 * it cannot be. */
typedef struct wgi_blas {
    int (*threads)(void);
    void (*set_threads)(int threads);
} wgi_blas;

/* c->state is a wgi_blas. */
typedef void wgi_lapack_kernel(wg_call *c);

wgi_lapack_kernel wgi_lapack_cholesky_f32, wgi_lapack_lu_f32, wgi_lapack_triangular_solve_f32;
wgi_lapack_kernel wgi_lapack_cholesky_f64, wgi_lapack_lu_f64, wgi_lapack_triangular_solve_f64;

#endif
