/* NumPy's files of one array (.npy), versions 1.0 to 3.0:
 *
 *     6 bytes        "\x93NUMPY"
 *     2 bytes        version, major and minor
 *     2 or 4 bytes   N, little-endian: length of the header; 4 from version 2.0 on
 *     N bytes        header, a dict of Python:
 *                    {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *     the rest       the numbers, dense
 *
 * Files are untrusted.  A file is read only if its header has exactly that form and the numbers
 * fill the rest of it; memory is taken once both are known. */
#ifndef WG_FILES_NPY_H
#define WG_FILES_NPY_H

#include "wengert/backends/store.h"
#include "wengert/graph/error.h"

enum { WGI_MAX_NPY_HEADER = 65535 /* bytes */ };

/* An array in memory. */
typedef struct wgi_npy {
    wg_dtype dtype;
    wg_shape shape;
    void *data;  /* dense, row-major, aligned as by malloc; never NULL */
    size_t size; /* of data, in bytes */
} wgi_npy;

/* Reads f2, f4, f8, i1, u1, i4, i8 and b1; numbers of two bytes and more must be little-endian.
 * An array in Fortran's order becomes a row-major one.  On failure *out is zero.  WG_EIO: the file
 * cannot be read or is not a regular one; WG_EDATA: it violates a rule above; WG_EUNSUPPORTED:
 * another dtype or more than WG_MAX_RANK axes; WG_ENOMEM. */
wg_status wgi_npy_read(wgi_npy *out, const char *path, wg_error *error);
/* Frees what the array holds. */
void wgi_npy_free(wgi_npy *a);

/* Replaces the file by one of version 1.0, whole or not at all.  WG_EUNSUPPORTED: bf16, which NumPy
 * lacks; WG_EIO. */
wg_status wgi_npy_write(const char *path, const wg_tensor *t, wg_error *error);

#endif
