/* Shared by the files of files/ and by those above that read and write. */
#ifndef WG_FILES_INTERNAL_H
#define WG_FILES_INTERNAL_H

#include "wengert/files/safetensors.h"

/* A message under construction: text is appended as far as it fits; NULL or size 0 drops it. */
typedef struct wgi_message {
    char *text;
    size_t size, used;
} wgi_message;

wgi_message wgi_message_in(char *text, size_t size);
void wgi_message_add(wgi_message *m, const char *format, ...) WG_PRINTF(2, 3);
/* Appends "path: text" and returns the status. */
wg_status wgi_file_fail(wgi_message *m, wg_status status, const char *path, const char *format, ...)
    WG_PRINTF(4, 5);
/* Appends "path: what: strerror(errno)" and returns WG_EIO. */
wg_status wgi_file_errno(wgi_message *m, const char *path, const char *what);

/* A safetensors dtype, by its name in the file; NULL if there is none such. */
typedef struct wgi_file_dtype {
    const char *name;
    size_t size;
    wg_dtype dtype;
} wgi_file_dtype;
const wgi_file_dtype *wgi_file_dtype_named(const char *name);
const wgi_file_dtype *wgi_file_dtype_of(wg_dtype dtype);

/* The header's JSON.  Strings are unescaped and ended in place, so `text` must be writable and
 * outlive the result.  Offsets are checked for form only. */
typedef struct wgi_header_entry {
    wg_file_tensor tensor; /* data and size not set */
    uint64_t begin, end;
} wgi_header_entry;
typedef struct wgi_header {
    wgi_header_entry *entries; /* n_entries, by name */
    wg_file_note *notes;       /* n_notes, by key    */
    size_t n_entries, n_notes;
} wgi_header;
enum { WG_MAX_FILE_TENSORS = 65536 };
wg_status wgi_header_parse(wgi_header *out, const char *path, char *text, size_t size,
                           wgi_message *m);
void wgi_header_free(wgi_header *h);

/* Writes a file in one step: temporary file beside it, fsync, rename, fsync of the folder.  `write`
 * hands its bytes to wgi_file_put, which returns false once anything has failed. */
typedef struct wgi_file_writer wgi_file_writer;
bool wgi_file_put(wgi_file_writer *w, const void *bytes, size_t size);
wg_status wgi_file_replace(const char *path, void (*write)(wgi_file_writer *w, void *context),
                           void *context, wgi_message *m);

/* The file at `from` is then found at `to` as well, in the same one step: as a hard link, or as a
 * copy where the file system has none. */
wg_status wgi_file_link(const char *from, const char *to, wgi_message *m);

/* Fills the n tensors from the file, which must have the same names, dtypes and shapes: otherwise
 * nothing is changed and the message lists every difference. */
wg_status wgi_tensors_load(const wg_tensor *list, size_t n, const char *path, wgi_message *m);

#endif
