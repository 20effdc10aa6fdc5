/* The oneDNN backend (oneDNN 2.6 or 3.x): fast f32 kernels, and fused ones of its own where oneDNN has none. */
#ifndef WG_BACKENDS_ONEDNN_ONEDNN_H
#define WG_BACKENDS_ONEDNN_ONEDNN_H

#include "backends/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/** NULL if the library was built without oneDNN. */
WG_API const wg_backend *wg_onednn_backend(void);

#ifdef __cplusplus
}
#endif
#endif
