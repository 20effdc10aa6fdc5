/* Backends by name and by file.  A backend outside the library is a shared object with one
 * function:
 *
 *     const wg_backend *wengert_backend(uint32_t abi)
 *
 * `abi` is the WG_BACKEND_ABI of the program that loads it; the function returns its table, which
 * lives as long as the object is loaded, or NULL if it has another ABI.  docs/adding-a-backend.md
 * explains an example. */
#ifndef WG_BACKENDS_LOAD_H
#define WG_BACKENDS_LOAD_H

#include "wengert/backends/backend.h"
#include "wengert/graph/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The type of that function. */
typedef const wg_backend *wg_backend_entry(uint32_t abi);
/** The name of that function. */
#define WG_BACKEND_ENTRY wengert_backend

/** The i-th backend built into the library: "onednn" and "lapack" (if the library was built
 * with them) and "simd", in the order "onednn", "simd", "lapack", "cpu"; NULL past the end. */
WG_API const wg_backend *wg_backend_at(size_t i);
/** The built-in backend of that name, or NULL. */
WG_API const wg_backend *wg_backend_find(const char *name);

/** A backend in a shared object. */
typedef struct wg_loaded_backend {
    const wg_backend *backend; /* its table; valid while the object is loaded */
    void *handle;              /* of the dynamic linker */
} wg_loaded_backend;

/** Loads the shared object at `path`.  The dynamic linker searches for a path without '/', so a
 * file in the current folder is "./libmine.so".  The caller calls wg_backend_unload once no plan
 * uses the backend.  On failure *out is zero.  WG_EIO: there is no such object, or symbols are
 * missing; WG_EINVAL: it is not a backend; WG_EUNSUPPORTED: it has another ABI. */
WG_API WG_MUST_USE wg_status wg_backend_load(wg_loaded_backend *out, const char *path,
                                             wg_error *error);
/** Unloads the object and clears *loaded; a cleared one and NULL are allowed. */
WG_API void wg_backend_unload(wg_loaded_backend *loaded);

/** Capacity of a wg_backend_list. */
enum { WG_MAX_BACKENDS = 8 };

/** Backends in the order in which plans ask them. */
typedef struct wg_backend_list {
    const wg_backend *backend[WG_MAX_BACKENDS]; /* the first `count` are set */
    wg_loaded_backend loaded[WG_MAX_BACKENDS];  /* the shared object of each; zero if built in */
    size_t count;                               /* number of backends */
} wg_backend_list;

/** All built-in backends in the order of wg_backend_at, the fastest list for general use.  It need
 * not be closed. */
WG_API wg_backend_list wg_backend_list_built_in(void);

/** Opens a comma-separated list of names of built-in backends and paths of shared objects:
 * "./libmine.so,cpu".  NULL or "": the list of wg_backend_list_built_in.  The caller calls
 * wg_backend_list_close once no plan uses them.  On failure *out is empty: WG_EINVAL for an unknown
 * name or too many, or as wg_backend_load. */
WG_API WG_MUST_USE wg_status wg_backend_list_open(wg_backend_list *out, const char *names,
                                                  wg_error *error);
/** Unloads the shared objects and empties the list. */
WG_API void wg_backend_list_close(wg_backend_list *list);

#ifdef __cplusplus
}
#endif
#endif
