/* Models in shared objects.  Such an object has one function:
 *
 *     const wg_model *wengert_model(uint32_t abi)
 *
 * `abi` is the WG_MODEL_ABI of the program that loads it; the function returns its model, which
 * lives as long as the object is loaded, or NULL if it has another ABI.  docs/graph-file.md
 * explains an example.
 *
 * Loading an object runs its code, with all rights of the program: load only what you trust.  A
 * file of a graph (wg_graph_read) runs no code. */
#ifndef WG_MODELS_LOAD_H
#define WG_MODELS_LOAD_H

#include "wengert/graph/error.h"
#include "wengert/models/models.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version of wg_model, wg_op and of the functions that a model calls. */
enum { WG_MODEL_ABI = 2 };

/** The type of that function. */
typedef const wg_model *wg_model_entry(uint32_t abi);
/** The name of that function. */
#define WG_MODEL_ENTRY wengert_model

/** A model in a shared object. */
typedef struct wg_loaded_model {
    const wg_model *model; /* valid while the object is loaded */
    void *handle;          /* of the dynamic linker */
} wg_loaded_model;

/** Loads the shared object at `path`.  The dynamic linker searches for a path without '/', so a
 * file in the current folder is "./model.so".  The caller calls wg_model_unload after freeing the
 * graphs that the model has built, whose ops may be in the object.  On failure *out is zero.
 * WG_EIO: there is no such object, or symbols are missing; WG_EINVAL: it is not a model;
 * WG_EUNSUPPORTED: it has another ABI. */
WG_API WG_MUST_USE wg_status wg_model_load(wg_loaded_model *out, const char *path, wg_error *error);
/** Unloads the object and clears *loaded; a cleared one and NULL are allowed. */
WG_API void wg_model_unload(wg_loaded_model *loaded);

#ifdef __cplusplus
}
#endif
#endif
