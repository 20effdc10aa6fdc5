/* Backends by name and by file.  A backend outside the library is a shared object with one
 * function:
 *
 *     const wg_backend *wengert_backend(uint32_t abi)
 *
 * `abi` is the WG_BACKEND_ABI of the program that loads it; the function returns its table, which
 * lives as long as the object is loaded, or NULL if it does not speak that version.
 * docs/adding-a-backend.md follows one. */
#ifndef WG_BACKENDS_LOAD_H
#define WG_BACKENDS_LOAD_H

#include "wengert/backends/backend.h"
#include "wengert/graph/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The type and the name of that function. */
typedef const wg_backend *wg_backend_entry(uint32_t abi);
#define WG_BACKEND_ENTRY wengert_backend

/** The i-th backend built into the library: "onednn" (if the library was built with it), "simd",
 * "cpu"; NULL past the end. */
WG_API const wg_backend *wg_backend_at(size_t i);
/** The built-in backend of that name, or NULL. */
WG_API const wg_backend *wg_backend_find(const char *name);

typedef struct wg_loaded_backend {
    const wg_backend *backend;
    void *handle; /* of the dynamic linker */
} wg_loaded_backend;

/** Loads the shared object at `path`.  A path without '/' is searched for where the dynamic linker
 * looks, so a file
 *  of the current folder is "./libmine.so".  The caller calls wg_backend_unload once no plan uses
 *  the backend.  On failure *out is zero:
 *  WG_EIO if there is no such object or it lacks symbols, WG_EINVAL if it is no backend,
 *  WG_EUNSUPPORTED if it is one for another ABI. */
WG_API WG_MUST_USE wg_status wg_backend_load(wg_loaded_backend *out, const char *path,
                                             wg_error *error);
/** Unloads and zeroes; zero and NULL are allowed. */
WG_API void wg_backend_unload(wg_loaded_backend *loaded);

/** Backends in the order in which plans ask them. */
enum { WG_MAX_BACKENDS = 8 };
typedef struct wg_backend_list {
    const wg_backend *backend[WG_MAX_BACKENDS];
    wg_loaded_backend loaded[WG_MAX_BACKENDS];
    size_t count;
} wg_backend_list;

/** All built-in backends in the order of wg_backend_at, the fastest list for general use.  There is
 * nothing to close. */
WG_API wg_backend_list wg_backend_list_built_in(void);

/** Names of built-in backends and paths of shared objects, by comma: "./libmine.so,cpu"; NULL or "":
 * what
 * wg_backend_list_built_in gives.  The caller calls wg_backend_list_close once no plan uses them; on
 *  failure *out is empty. */
WG_API WG_MUST_USE wg_status wg_backend_list_open(wg_backend_list *out, const char *names,
                                                  wg_error *error);
WG_API void wg_backend_list_close(wg_backend_list *list);

#ifdef __cplusplus
}
#endif
#endif
