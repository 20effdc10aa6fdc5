/* How a wg_error is filled.  All of these allow NULL for it. */
#ifndef WG_PRIVATE_GRAPH_ERROR_H
#define WG_PRIVATE_GRAPH_ERROR_H

#include "wengert/graph/error.h"

/* No failure and no warning: how each function that takes one begins. */
void wgi_error_clear(wg_error *e);

/* Sets status and text, and returns the status. */
wg_status wgi_error_set(wg_error *e, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

/* Appends to the text, as far as it fits. */
void wgi_error_add(wg_error *e, const char *format, ...) WG_PRINTF(2, 3);

/* Appends a line to the warning, as far as it fits. */
void wgi_error_warn(wg_error *e, const char *format, ...) WG_PRINTF(2, 3);

/* Sets "PATH: text" and returns the status. */
wg_status wgi_error_file(wg_error *e, wg_status status, const char *path, const char *format, ...)
    WG_PRINTF(4, 5);

/* Sets "PATH: what: strerror(errno)" and returns WG_EIO. */
wg_status wgi_error_errno(wg_error *e, const char *path, const char *what);

#endif
