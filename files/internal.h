/* The header of a safetensors file. */
#ifndef WG_FILES_INTERNAL_H
#define WG_FILES_INTERNAL_H

#include "wengert/files/safetensors.h"

/* A safetensors dtype. */
typedef struct wgi_file_dtype {
    const char *name; /* in the file */
    size_t size;
    wg_dtype dtype; /* WG_DTYPE_DEFAULT: wengert has no such dtype */
} wgi_file_dtype;
/* NULL if there is none. */
const wgi_file_dtype *wgi_file_dtype_named(const char *name);
const wgi_file_dtype *wgi_file_dtype_of(wg_dtype dtype);

/* The header's JSON.  Strings are unescaped and terminated in place, so `text` must be writable and
 * outlive the result.  Offsets are checked for form only. */
typedef struct wgi_header_entry {
    wg_file_tensor tensor; /* data and size not set */
    uint64_t begin, end;
} wgi_header_entry;
typedef struct wgi_header {
    wgi_header_entry *entries; /* n_entries, by name */
    wg_file_note *notes;       /* n_notes, by key    */
    size_t n_entries, n_notes, entry_room, note_room;
} wgi_header;
enum { WG_MAX_FILE_TENSORS = 65536, WG_MAX_FILE_HEADER = 100 * 1000 * 1000 /* bytes */ };
wg_status wgi_header_parse(wgi_header *out, const char *path, char *text, size_t size,
                           wg_error *error);
void wgi_header_free(wgi_header *h);

#endif
