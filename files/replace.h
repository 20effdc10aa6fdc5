/* Replacing a file in one step: temporary file beside it, fsync, rename, fsync of the folder. */
#ifndef WG_FILES_REPLACE_H
#define WG_FILES_REPLACE_H

#include "wengert/graph/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct wgi_file_writer wgi_file_writer;

/* Returns false once anything has failed. */
bool wgi_file_put(wgi_file_writer *w, const void *bytes, size_t size);

/* `write` passes the new contents to wgi_file_put. */
wg_status wgi_file_replace(const char *path, void (*write)(wgi_file_writer *w, void *context),
                           void *context, wg_error *error);

/* Makes the file at `from` appear at `to` as well, in one step: as a hard link, or as a copy where
 * the file system has none. */
wg_status wgi_file_link(const char *from, const char *to, wg_error *error);

#endif
