/* Shared objects that are loaded at run time: backends and models. */
#ifndef WG_PRIVATE_GRAPH_OBJECT_H
#define WG_PRIVATE_GRAPH_OBJECT_H

#include "wengert/graph/error.h"

#include <stddef.h>

/* Loads the object at `path` and finds its function `name`, which goes into the function pointer at
 * `function` of `size` bytes.  `what` is what the object ought to be, with its article: "a
 * backend".  *handle is for dlclose; NULL on failure.  WG_EIO: there is no such object, or symbols
 * are missing; WG_EINVAL: no path or no such function. */
wg_status wgi_object_open(void **handle, const char *path, const char *what, const char *name,
                          void *function, size_t size, wg_error *error);

#endif
