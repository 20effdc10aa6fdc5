/* Looking for files and reading them.  There are three answers to whether a file is there: yes, no,
 * and that it cannot be told, which is an error and never a no. */
#ifndef WG_FILES_READ_H
#define WG_FILES_READ_H

#include "wengert/graph/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether there is something at that path; a link that leads nowhere is nothing.  WG_EIO or
 * WG_ENOMEM: it cannot be told; *exists is then false. */
wg_status wgi_file_exists(const char *path, bool *exists, wg_error *error);

/* Why there is no folder of that name: "no such folder", "a FIFO, not a folder".  NULL: there is
 * one, or it cannot be told. */
const char *wgi_folder_missing(const char *path);

/* What a file of that mode is, with its article: "a FIFO". */
const char *wgi_file_mode_text(mode_t mode);

/* Opens a regular file for reading, without ever waiting for a FIFO's writer; *size is its length.
 * The caller closes *fd.  WG_EIO: it cannot be opened, or is a directory, a FIFO or a device. */
wg_status wgi_file_open(int *fd, size_t *size, const char *path, wg_error *error);

/* The `size` bytes at that offset of an open file.  WG_EIO: they cannot be read, or the file ends
 * before; `path` is for the message. */
wg_status wgi_file_read_at(int fd, void *bytes, size_t size, uint64_t offset, const char *path,
                           wg_error *error);

/* The next bytes of an open file: `size`, or fewer if it ends before; -1: see errno. */
ssize_t wgi_file_read_on(int fd, char *bytes, size_t size);

/* The whole regular file, of at most `max` bytes, with a NUL behind it.  The caller frees *bytes,
 * which is NULL on failure.  Fails as wgi_file_open does, and with WG_EDATA if it is longer. */
wg_status wgi_file_read(char **bytes, size_t *size, const char *path, size_t max, wg_error *error);

#endif
