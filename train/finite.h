/* Numbers that are none. */
#ifndef WG_TRAIN_FINITE_H
#define WG_TRAIN_FINITE_H

#include "wengert/backends/store.h"
#include "wengert/graph/error.h"

/* Checks that no float of the n tensors is NaN or infinite; the error lists the tensors that have
 * some: "PATH: tensor NAME: element 5 is NaN".  Fails with `status`. */
wg_status wgi_check_finite(const wg_tensor *list, size_t n, wg_status status, const char *path,
                           wg_error *error);

#endif
