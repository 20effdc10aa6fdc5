/* The kernels of the LAPACK backend: kernels.c, compiled for each element type. */
#ifndef WG_BACKENDS_LAPACK_KERNELS_H
#define WG_BACKENDS_LAPACK_KERNELS_H

#include "wengert/graph/op.h"

typedef void wgi_lapack_kernel(wg_call *);

wgi_lapack_kernel wgi_lapack_cholesky_f32, wgi_lapack_lu_f32, wgi_lapack_triangular_solve_f32;
wgi_lapack_kernel wgi_lapack_cholesky_f64, wgi_lapack_lu_f64, wgi_lapack_triangular_solve_f64;

#endif
