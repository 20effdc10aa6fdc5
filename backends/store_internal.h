/* What plans need of a store beyond its public face. */
#ifndef WG_BACKENDS_STORE_INTERNAL_H
#define WG_BACKENDS_STORE_INTERNAL_H

#include "wengert/backends/store.h"
#include "wengert/graph/op.h"

enum { WG_ALIGN = 64 }; /* of every buffer that a kernel sees */

/* Memory for kernels, to be freed by free(); at least one byte. */
void *wgi_aligned_alloc(size_t size);

/* The tensor of a parameter or state, added and given its initial value if it is new.  NULL as
 * wg_store_add. */
const wg_tensor *wgi_store_leaf(wg_store *s, const wg_value *leaf, wg_status *status);

#endif
