/* Loading any list of tensors. */
#ifndef WG_PRIVATE_FILES_WEIGHTS_H
#define WG_PRIVATE_FILES_WEIGHTS_H

#include "wengert/files/weights.h"

/* Fills the n tensors from the file, which must have the same names, dtypes and shapes: otherwise
 * nothing is changed and the error lists every difference. */
wg_status wgi_tensors_load(const wg_tensor *list, size_t n, const char *path, wg_error *error);

#endif
