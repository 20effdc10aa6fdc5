/* The simd backend: the library's own vectorised f32 kernels, which need no other library. */
#ifndef WG_BACKENDS_SIMD_H
#define WG_BACKENDS_SIMD_H

#include "wengert/backends/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The simd backend: fused and row-wise kernels (attention, softmax, normalisation, losses, top-k,
 * 8-bit products, optimizers) and matrix products.  Each has a variant for every instruction set of
 * isa.h; a plan uses the variant for wg_isa_best.  Promises WG_ANY_THREADS.  Always built; static,
 * never NULL. */
WG_API const wg_backend *wg_simd_backend(void);

#ifdef __cplusplus
}
#endif
#endif
