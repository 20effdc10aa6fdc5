/* Writing files: all of a file or nothing of it.
 *
 * The new contents go to a temporary file in the same folder, which is synced, renamed, and the
 * folder synced.  Its name, ".wengert-" 16 digits ".tmp", is of no other use; the file is made new
 * (O_EXCL, O_NOFOLLOW) and locked by flock until it is renamed, so that what a dead process has
 * left can be told from what a living one writes. */
#ifndef WG_FILES_REPLACE_H
#define WG_FILES_REPLACE_H

#include "wengert/graph/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct wgi_file_writer wgi_file_writer;

/* Returns false once anything has failed. */
bool wgi_file_put(wgi_file_writer *w, const void *bytes, size_t size);
/* Other bytes in the place of those that were put at byte `at` of the file.  What is put next still
 * goes to its end. */
bool wgi_file_put_over(wgi_file_writer *w, size_t at, const void *bytes, size_t size);

/* `write` passes the new contents to wgi_file_put. */
wg_status wgi_file_replace(const char *path, void (*write)(wgi_file_writer *w, void *context),
                           void *context, wg_error *error);
/* The same of bytes in memory. */
wg_status wgi_file_replace_bytes(const char *path, const void *bytes, size_t size, wg_error *error);

/* Makes the file at `from` appear at `to` as well, in one step: as a hard link, or as a copy where
 * the file system has none. */
wg_status wgi_file_link(const char *from, const char *to, wg_error *error);

/* Opens a log for appending, cut to at most `size` bytes.  Only a regular file is opened or made:
 * WG_EIO otherwise. */
wg_status wgi_file_append(FILE **out, const char *path, size_t size, wg_error *error);

/* Removes temporary files of dead processes from the folder.  What cannot be told or removed
 * stays. */
void wgi_file_remove_abandoned(const char *folder);

#endif
