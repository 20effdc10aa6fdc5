/* What plans need of a store beyond its public interface. */
#ifndef WG_PRIVATE_BACKENDS_STORE_H
#define WG_PRIVATE_BACKENDS_STORE_H

#include "wengert/backends/store.h"
#include "wengert/graph/op.h"

/* The tensor of a parameter or state, added with its initial value if it is new.  Fails as
 * wg_store_add does. */
wg_status wgi_store_leaf(wg_store *s, const wg_value *leaf, const wg_tensor **out);

#endif
