/* The LAPACK backend: factorisations, eigenvalues and triangular systems by LAPACKE and CBLAS, f32
 * and f64. */
#ifndef WG_BACKENDS_LAPACK_H
#define WG_BACKENDS_LAPACK_H

#include "wengert/backends/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The LAPACK backend; NULL if the library was built without LAPACKE. */
WG_API const wg_backend *wg_lapack_backend(void);

#ifdef __cplusplus
}
#endif
#endif
