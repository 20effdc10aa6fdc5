/* Saving and loading lists of tensors. */
#ifndef WG_PRIVATE_FILES_WEIGHTS_H
#define WG_PRIVATE_FILES_WEIGHTS_H

#include "wengert/files/weights.h"

/* Fills the n tensors from the file, which must have the same names, dtypes and shapes: otherwise
 * nothing is changed and the error lists every difference.  *digest is that of the file (files/
 * internal.h). */
wg_status wgi_tensors_load(const wg_tensor *list, size_t n, const char *path, uint64_t *digest,
                           wg_error *error);

/* WG_EDATA with a line for each difference, if the file has others. */
wg_status wgi_tensors_compare(const wg_tensor *list, size_t n, const char *path, wg_error *error);

/* wg_store_load from an open file. */
wg_status wgi_store_take(wg_store *store, const wg_safetensors *f, const char *path,
                         wg_error *error);

/* Writes the n tensors, with the notes of the store; a list of NULL means that memory is out.
 * `moments`, if not NULL, are the names of those that are states of an optimizer, each with a
 * newline behind it. */
wg_status wgi_tensors_save(const wg_store *store, const wg_tensor *list, size_t n,
                           const char *moments, const char *path, wg_error *error);
/* What the file says are states of an optimizer are that in the store, under names renamed as
 * below.  WG_ENOMEM. */
wg_status wgi_moments_load(wg_store *store, const wg_safetensors *f, const char *from,
                           const char *to);
/* A name with `to` in place of its beginning `from`, in memory of its own; NULL if it begins
 * otherwise, or without memory (*status). */
char *wgi_renamed(const char *name, const char *from, const char *to, wg_status *status);
/* Sets the file's metadata as notes of the store. */
wg_status wgi_notes_load(wg_store *store, const wg_safetensors *f, const char *path,
                         wg_error *error);

/* The file's tensor has t's dtype and shape; false for NULL. */
bool wgi_tensor_fits(const wg_tensor *t, const wg_file_tensor *got);
/* Adds the line that says how they differ; WG_EDATA. */
wg_status wgi_tensor_differs(const wg_tensor *t, const wg_file_tensor *got, const char *path,
                             wg_error *error);
/* *out is the file's tensor under another name; adds a line if the library lacks its dtype. */
wg_status wgi_file_tensor_take(wg_tensor *out, const wg_file_tensor *t, const char *name,
                               const char *path, wg_error *error);

#endif
