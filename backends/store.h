/* What plans need of a store beyond its public interface. */
#ifndef WG_PRIVATE_BACKENDS_STORE_H
#define WG_PRIVATE_BACKENDS_STORE_H

#include "backends/memory.h"
#include "wengert/backends/store.h"
#include "wengert/graph/op.h"

/* What a tensor is for, as the plan that first used it knew, or else the file that it is from. */
typedef enum wgi_role {
    WGI_ROLE_UNKNOWN, /* no plan has used it, and no file said */
    WGI_ROLE_PARAMETER,
    WGI_ROLE_STATE,     /* of the model: a running mean, a carried state       */
    WGI_ROLE_OPTIMIZER, /* a state of the update phase: a moment, a step count */
} wgi_role;

/* Which tensors plans may still add to a store that a file has filled. */
typedef enum wgi_seal {
    WGI_SEAL_NONE,       /* all         */
    WGI_SEAL_PARAMETERS, /* states only */
    WGI_SEAL_ALL,        /* none        */
} wgi_seal;

/* The same as wg_store_new_over, for tensors of which little may ever be written: they take no
 * large pages, so that what is never written takes no memory. */
wg_store *wgi_store_new_sparse(wg_store *base);

static inline size_t wgi_tensor_bytes(const wg_tensor *t)
{
    return wg_shape_bytes(&t->shape, t->dtype);
}

/* Bytes of a tensor in a piece. */
static inline size_t wgi_store_room(wg_dtype dtype, const wg_shape *shape)
{
    return wgi_round_up(wg_shape_bytes(shape, dtype));
}

/* Takes memory for the tensors that are added next in one piece of that many bytes, unless the last
 * piece has as many left.  Most tensors are smaller than a large page: in pages of 4 KiB, each of
 * which costs a fault and a place in the processor's table of pages, the norm of all parameters
 * took 1.4 to 2 times as long.  Tensors that do not fit, as all of a store without large pages,
 * have memory of their own.  false without memory, after which they all do. */
bool wgi_store_reserve(wg_store *s, size_t bytes);

/* The tensor of a parameter or state, added with its initial value if it is new, which so many
 * threads draw.  Fails as wg_store_add does, and with WG_EDATA if a file filled the store and lacks
 * the tensor. */
wg_status wgi_store_leaf(wg_store *s, const wg_value *leaf, int threads, const wg_tensor **out);

/* Copies the n tensors, of different names, into the store, which has none of its own; `source` is
 * the file that they come from.  `loose`: a state that a plan needs in another shape starts from
 * its initial value instead.  WG_ENOMEM leaves the store empty. */
wg_status wgi_store_fill(wg_store *s, const wg_tensor *list, size_t n, const char *source,
                         wgi_seal seal, bool loose);
/* The file that filled the store or one that it lies over; NULL if there is none. */
const char *wgi_store_source(const wg_store *s);

/* The place of its own tensor of that name, SIZE_MAX if it has none. */
size_t wgi_store_place(const wg_store *s, const char *name);
/* What its i-th tensor is for. */
wgi_role wgi_store_role(const wg_store *s, size_t i);
/* What the file says that the tensor is for: trusted until a plan uses it. */
void wgi_store_set_role(wg_store *s, size_t i, wgi_role role);

#endif
