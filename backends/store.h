/* What plans need of a store beyond its public interface. */
#ifndef WG_PRIVATE_BACKENDS_STORE_H
#define WG_PRIVATE_BACKENDS_STORE_H

#include "wengert/backends/store.h"
#include "wengert/graph/op.h"

/* The tensor of a parameter or state, added with its initial value if it is new.  NULL on the same
 * errors as wg_store_add. */
const wg_tensor *wgi_store_leaf(wg_store *s, const wg_value *leaf, wg_status *status);

#endif
