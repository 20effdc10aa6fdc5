/* A store holds what outlives a run: the tensors of parameters and states, by full name.  Plans of
 * different graphs (training and evaluation, one per length bucket) that share a store share its
 * tensors.
 *
 * Ownership: the store owns its tensors until wg_store_free; plans that use it must be freed first.
 * Not thread-safe. */
#ifndef WG_BACKENDS_STORE_H
#define WG_BACKENDS_STORE_H

#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_store wg_store;

typedef struct wg_tensor {
    const char *name;
    wg_dtype dtype;
    wg_shape shape;
    void *data; /* dense, row-major, 64-byte aligned */
} wg_tensor;

/** An empty store; initial values are drawn with `seed` and the tensor's name.  NULL without
 * memory. */
WG_API wg_store *wg_store_new(uint64_t seed);
/** An empty store over another: what is not in it is looked for in `base`, so plans share base's
 * parameters and
 *  leave states (caches of a decoder, say) that base never sees.  `base` must outlive it.  NULL
 *  without memory. */
WG_API wg_store *wg_store_new_over(wg_store *base);
WG_API void wg_store_free(wg_store *s);
/** Of its own tensors, not of those under it. */
WG_API size_t wg_store_count(const wg_store *s);
/** The i-th of them in order of creation, NULL past the end. */
WG_API const wg_tensor *wg_store_at(const wg_store *s, size_t i);
/** The tensor of that name, or NULL. */
WG_API const wg_tensor *wg_store_find(const wg_store *s, const char *name);
/** Adds a zeroed tensor; NULL without memory, or if the name exists with another dtype or shape
 * (then
 *  *status says which).  An equal one is returned as it is. */
WG_API const wg_tensor *wg_store_add(wg_store *s, const char *name, wg_dtype dtype,
                                     const wg_shape *shape, wg_status *status);

#ifdef __cplusplus
}
#endif
#endif
