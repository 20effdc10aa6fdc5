/* The oneDNN backend (oneDNN 2.6 or 3.x): its primitives for matrix products, convolution, pooling
 * and elementwise functions. */
#ifndef WG_BACKENDS_ONEDNN_H
#define WG_BACKENDS_ONEDNN_H

#include "wengert/backends/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The oneDNN backend; NULL if the library was built without oneDNN. */
WG_API const wg_backend *wg_onednn_backend(void);

/** The version of oneDNN in use at run time (not of its headers): {2, 6, 3}.  false if the library
 * was built without oneDNN. */
WG_API bool wg_onednn_version(int version[3]);

#ifdef __cplusplus
}
#endif
#endif
