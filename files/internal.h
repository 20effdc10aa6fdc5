/* The header of a safetensors file, and its checksums. */
#ifndef WG_FILES_INTERNAL_H
#define WG_FILES_INTERNAL_H

#include "wengert/files/safetensors.h"

#include <pthread.h>
#include <stdatomic.h>

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
enum { WGI_MAX_FILE_TENSORS = 65536, WGI_MAX_FILE_HEADER = 100 * 1000 * 1000 /* bytes */ };
wg_status wgi_header_parse(wgi_header *out, const char *path, char *text, size_t size,
                           wg_error *error);
void wgi_header_free(wgi_header *h);

/* ---- checksums (sums.c) ---------------------------------------------------------------------- */

/* The key of the metadata entry that has them: 16 digits for all other entries, then 16 for each
 * tensor in the order of names, so that the order in the file does not matter. */
#define WGI_SUMS_KEY "wengert-xxh64"

/* The text of that entry for a file that is being written.  Between wgi_sums_begin and wgi_sums_end
 * a thread of its own computes the sums of the tensors, if there is enough to do and the system
 * grants one; wgi_sums_end computes what it has not begun by then. */
typedef struct wgi_sums {
    const wg_tensor **order; /* by name */
    size_t n_tensors;
    atomic_size_t next; /* the first of them that nobody has begun */
    char *text;         /* before wgi_sums_end with zeros for the tensors */
    pthread_t helper;
    bool has_helper;
} wgi_sums;
/* False without memory. */
bool wgi_sums_make(wgi_sums *out, const wg_tensor *tensors, size_t n_tensors,
                   const wg_file_note *notes, size_t n_notes);
void wgi_sums_free(wgi_sums *s);
/* Nobody else may touch the text until wgi_sums_end has returned, which must be called. */
void wgi_sums_begin(wgi_sums *s);
void wgi_sums_end(wgi_sums *s);
/* One number for all of them, never 0. */
uint64_t wgi_sums_digest(const char *text);
/* Compares the data of all tensors and the other entries with the entry of that key, and takes it
 * out of the header; *digest is its digest, 0 if there is no such entry.  WG_EDATA: the error lists
 * all that differ. */
wg_status wgi_sums_check(wgi_header *h, const char *path, uint64_t *digest, wg_error *error);

/* ---- files (safetensors.c) ------------------------------------------------------------------- */

/* The digest of the file's checksums, which is another one if a tensor or an entry is another one;
 * 0 if it has none. */
uint64_t wgi_safetensors_digest(const wg_safetensors *file);
/* Whether wgi_safetensors_write would take them: no file is touched. */
wg_status wgi_safetensors_check(const char *path, const wg_tensor *tensors, size_t n_tensors,
                                const wg_file_note *notes, size_t n_notes, wg_error *error);
/* wg_safetensors_write; *digest is that of the new file. */
wg_status wgi_safetensors_write(const char *path, const wg_tensor *tensors, size_t n_tensors,
                                const wg_file_note *notes, size_t n_notes, uint64_t *digest,
                                wg_error *error);

#endif
