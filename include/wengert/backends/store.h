/* A store holds what outlives a run: the tensors of parameters and states, by full name.  Plans
 * that use one store share its tensors, even if their graphs differ (training and evaluation, or
 * one graph for each batch length).
 *
 * Loading a file into an empty store takes what the file has (wengert/files/weights.h), and plans
 * created later check it; if plans have already created the tensors, loading checks the file
 * against them.
 *
 * Ownership: the store owns its tensors until wg_store_free; plans that use it must be freed first.
 * Not thread-safe. */
#ifndef WG_BACKENDS_STORE_H
#define WG_BACKENDS_STORE_H

#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A set of named tensors. */
typedef struct wg_store wg_store;

/** A tensor of a store, which owns it. */
typedef struct wg_tensor {
    const char *name; /**< full name of the leaf */
    wg_dtype dtype;   /**< of its elements */
    wg_shape shape;   /**< fixed */
    void *data;       /**< dense, row-major, 64-byte aligned */
} wg_tensor;

/** An empty store; initial values are drawn with `seed` and the tensor's name.  NULL if out of
 * memory. */
WG_API wg_store *wg_store_new(uint64_t seed);
/** An empty store layered over `base`: names that it lacks are looked up in `base`.  Plans share
 * the parameters of `base` and keep states of their own: those that `base` lacks, such as the
 * caches of a decoder, or has in another shape, such as a carried state of another batch size.
 * `base` must outlive it.  NULL if out of memory. */
WG_API wg_store *wg_store_new_over(wg_store *base);
/** Frees the store and its tensors, not those of its base; NULL is allowed. */
WG_API void wg_store_free(wg_store *s);
/** The number of its own tensors, without those of its base. */
WG_API size_t wg_store_count(const wg_store *s);
/** The i-th of them in order of creation, NULL past the end. */
WG_API const wg_tensor *wg_store_at(const wg_store *s, size_t i);
/** The tensor of that name, its own or its base's, or NULL. */
WG_API const wg_tensor *wg_store_find(const wg_store *s, const char *name);
/** Adds a tensor of zeros, or finds the one of that name if it has the same dtype and shape.  `out`
 * may be NULL.  On failure *out is NULL: WG_EDTYPE or WG_ESHAPE (that name has another dtype or
 * shape), WG_EINVAL (NULL or an invalid shape), WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_store_add(wg_store *s, const char *name, wg_dtype dtype,
                                          const wg_shape *shape, const wg_tensor **out);

/* ---- notes ----------------------------------------------------------------------------------- */

/** Sets the note of that key, a text such as an epoch or a configuration, which is saved and loaded
 * with the store (wengert/files/weights.h).  Key and text are UTF-8 and copied; a text of NULL
 * removes the note.  WG_EINVAL: NULL or an empty key; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_store_set_note(wg_store *s, const char *key, const char *text);
/** The text of that key in this store; a base is not searched.  NULL if there is none.  Valid until
 * it is set again. */
WG_API const char *wg_store_note(const wg_store *s, const char *key);
/** The number of notes. */
WG_API size_t wg_store_note_count(const wg_store *s);
/** The key of the i-th note, NULL past the end. */
WG_API const char *wg_store_note_key(const wg_store *s, size_t i);

#ifdef __cplusplus
}
#endif
#endif
