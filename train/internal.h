/* Shared by the files of train/; not installed. */
#ifndef WG_TRAIN_INTERNAL_H
#define WG_TRAIN_INTERNAL_H

#include "train/safetensors.h"

/* A message under construction: text is appended as far as it fits; NULL or size 0 drops it. */
typedef struct wg_message {
    char *text;
    size_t size, used;
} wg_message;

wg_message wg_message_in(char *text, size_t size);
void wg_message_add(wg_message *m, const char *format, ...) WG_PRINTF(2, 3);
/* Appends "path: text" and returns the status. */
wg_status wg_file_fail(wg_message *m, wg_status status, const char *path, const char *format, ...)
    WG_PRINTF(4, 5);
/* Appends "path: what: strerror(errno)" and returns WG_EIO. */
wg_status wg_file_errno(wg_message *m, const char *path, const char *what);

/* The code point that begins at *at, which moves on behind it.  What is no UTF-8 is -1: a byte that begins nothing, or
 * the beginning of a sequence as far as it is right. */
int32_t wg_utf8_read(const char **at, const char *end);
/* Is text[0..size) well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms)? */
bool wg_utf8_valid(const char *text, size_t size);

/* A safetensors dtype, by its name in the file; NULL if there is none such. */
typedef struct wg_file_dtype {
    const char *name;
    size_t size;
    wg_dtype dtype;
} wg_file_dtype;
const wg_file_dtype *wg_file_dtype_named(const char *name);
const wg_file_dtype *wg_file_dtype_of(wg_dtype dtype);

/* The header's JSON.  Strings are unescaped and ended in place, so `text` must be writable and
 * outlive the result.  Offsets are checked for form only. */
typedef struct wg_header_entry {
    wg_file_tensor tensor; /* data and size not set */
    uint64_t begin, end;
} wg_header_entry;
typedef struct wg_header {
    wg_header_entry *entries; /* n_entries, by name */
    wg_file_note *notes;      /* n_notes, by key    */
    size_t n_entries, n_notes;
} wg_header;
enum { WG_MAX_FILE_TENSORS = 65536 };
wg_status wg_header_parse(wg_header *out, const char *path, char *text, size_t size, wg_message *m);
void wg_header_free(wg_header *h);

/* Writes a file in one step: temporary file beside it, fsync, rename, fsync of the folder.  `write`
 * hands its bytes to wg_file_put, which returns false once anything has failed. */
typedef struct wg_file_writer wg_file_writer;
bool wg_file_put(wg_file_writer *w, const void *bytes, size_t size);
wg_status wg_file_replace(const char *path, void (*write)(wg_file_writer *w, void *context),
                          void *context, wg_message *m);

/* The file at `from` is then found at `to` as well, in the same one step: as a hard link, or as a copy where the file
 * system has none. */
wg_status wg_file_link(const char *from, const char *to, wg_message *m);

/* Fills the n tensors from the file, which must have the same names, dtypes and shapes: otherwise nothing is changed and
 * the message lists every difference. */
wg_status wg_tensors_load(const wg_tensor *list, size_t n, const char *path, wg_message *m);

#endif
