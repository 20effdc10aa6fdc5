/* Plans by key, for graphs that are built for one shape at a time: each key's plan is made when it
 * is first asked for.  Beyond a limit the least recently used plans are freed. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_CACHE_H
#define WG_PRIVATE_BACKENDS_PLAN_CACHE_H

#include "wengert/backends/plan.h"
#include "wengert/graph/error.h"

/* What tells two plans of a cache apart: sizes of a batch, a kind.  Unused numbers are 0. */
typedef struct wgi_plan_key {
    int64_t n[5];
} wgi_plan_key;

/* Makes the plan of `key`, and fills `io`, the caller's record of where its inputs and outputs are
 * (zeroed, io_size bytes).  On failure there is no plan. */
typedef wg_status wgi_plan_maker(void *context, const wgi_plan_key *key, wg_plan **plan, void *io,
                                 wg_error *error);

typedef struct wgi_plan_cache_entry wgi_plan_cache_entry;

/* Zero-initialised but for the first four fields, which the caller sets. */
typedef struct wgi_plan_cache {
    wgi_plan_maker *make;
    size_t io_size;
    size_t max_plans; /* 0: no limit                                                         */
    size_t max_bytes; /* of the plans together: their own buffers and programs; 0: no limit */
    wgi_plan_cache_entry **entry; /* [count] */
    size_t count, capacity, bytes;
    uint64_t clock; /* of uses */
} wgi_plan_cache;

/* Is there one already?  Its io, or NULL. */
void *wgi_plan_cache_find(wgi_plan_cache *c, const wgi_plan_key *key);

/* The io of the plan of `key`, which is made if it is missing.  It stays valid until the next call
 * that makes a plan. */
wg_status wgi_plan_cache_get(wgi_plan_cache *c, void *context, const wgi_plan_key *key, void **io,
                             wg_error *error);

/* Bytes that its plans have for themselves: inputs, constants, outputs, programs. */
size_t wgi_plan_cache_own_bytes(const wgi_plan_cache *c);

/* The most that one of them needs of a workspace. */
size_t wgi_plan_cache_shared_bytes(const wgi_plan_cache *c);

/* Frees the least recently used plan; false if there is at most one. */
bool wgi_plan_cache_evict(wgi_plan_cache *c);

/* Frees all plans; the cache can be used again. */
void wgi_plan_cache_clear(wgi_plan_cache *c);

#endif
