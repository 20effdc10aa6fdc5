/* Files of named tensors in the safetensors format:
 *
 *     8 bytes   N, little-endian: length of the header
 *     N bytes   header, JSON: {"__metadata__": {key: text, ...}, name: TENSOR, ...} with TENSOR =
 *               {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}
 *     the rest  the tensors' bytes, dense, row-major, little-endian; offsets count from here
 *
 * Files are untrusted.  The reader maps the file and, whatever its contents, needs at most its size
 * and 16 MB of memory.  It accepts a file only if
 *
 *   - the header is at most 100 MB, lies within the file, and is JSON of exactly that form, in
 *     valid UTF-8 and with unique keys,
 *   - the tensors fill the rest of the file without gaps or overlap, and
 *   - the size of each is that of its shape and dtype.
 *
 * The writer replaces a file in one step: after a failure or a crash at any moment the old file is
 * intact or the new one is complete.
 *
 * The writer adds a metadata entry "wengert-xxh64" with checksums: 16 hexadecimal digits for the
 * other entries, then 16 for each tensor in the order of names.  The reader verifies them where
 * that entry exists, and hides it.  A file without it, such as one of another program, is read as
 * it is; a program that changes tensors must leave the entry out.  While large tensors are written,
 * a thread computes their checksums, if the system grants one; it has ended when the call returns.
 *
 * Messages read "file: what, expected, got".  The functions keep no global state; files are
 * independent of each other. */
#ifndef WG_FILES_SAFETENSORS_H
#define WG_FILES_SAFETENSORS_H

#include "wengert/backends/store.h"
#include "wengert/graph/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open file. */
typedef struct wg_safetensors wg_safetensors;

/** One tensor of a file, which owns what the fields point to. */
typedef struct wg_file_tensor {
    const char *name;       /**< unique in the file */
    const char *dtype_name; /**< as in the file: "F32" */
    wg_dtype dtype;         /**< WG_DTYPE_DEFAULT for one that the library lacks, such as U16 */
    wg_shape shape;         /**< rank at most WG_MAX_RANK */
    const void *data;       /**< may be unaligned: copy it; bools are 0 or 1 */
    size_t size;            /**< of data, in bytes */
} wg_file_tensor;

/** The key of a note that names the command of the program which wrote the file and may replace it,
 * such as "average".  A store does not load it: what it holds is soon something else. */
#define WG_NOTE_MADE_BY "wengert-made-by"

/** A metadata entry of the header. */
typedef struct wg_file_note {
    const char *key;  /**< unique in the file */
    const char *text; /**< UTF-8 */
} wg_file_note;

/** Opens and checks the file.  WG_EIO: it cannot be read or is not a regular file; WG_EDATA: it
 * violates a rule above, or does not match its checksums, and the error names each damaged tensor;
 * WG_EUNSUPPORTED: a rank above WG_MAX_RANK, more than 65536 tensors or more than 65536 metadata
 * entries.  The caller closes *out, which owns everything that it returns; on failure *out is
 * NULL. */
WG_API WG_MUST_USE wg_status wg_safetensors_open(wg_safetensors **out, const char *path,
                                                 wg_error *error);
/** Closes the file and frees what it returned; NULL is allowed. */
WG_API void wg_safetensors_close(wg_safetensors *file);

/** The number of tensors. */
WG_API size_t wg_safetensors_count(const wg_safetensors *file);
/** The i-th tensor in order of names, NULL past the end. */
WG_API const wg_file_tensor *wg_safetensors_at(const wg_safetensors *file, size_t i);
/** The tensor of that name, or NULL. */
WG_API const wg_file_tensor *wg_safetensors_find(const wg_safetensors *file, const char *name);
/** The metadata text of that key, or NULL. */
WG_API const char *wg_safetensors_note(const wg_safetensors *file, const char *key);

/** The number of metadata entries. */
WG_API size_t wg_safetensors_note_count(const wg_safetensors *file);
/** The i-th of them in order of keys, NULL past the end. */
WG_API const wg_file_note *wg_safetensors_note_at(const wg_safetensors *file, size_t i);

/** Writes the tensors (name, dtype, shape, data; order is kept, bytes are copied from data) and the
 * metadata entries `notes`.  WG_EINVAL: a name or key is missing, repeated, reserved or not UTF-8;
 * WG_ESHAPE: an invalid dtype or shape; WG_EUNSUPPORTED: more tensors or entries, or a larger
 * header, than wg_safetensors_open takes; WG_EIO: the file cannot be written. */
WG_API WG_MUST_USE wg_status wg_safetensors_write(const char *path, const wg_tensor *tensors,
                                                  size_t n_tensors, const wg_file_note *notes,
                                                  size_t n_notes, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
