#include "backends/plan_cache.h"
#include "backends/memory.h"
#include "graph/error.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>

struct wgi_plan_cache_entry {
    wgi_plan_key key;
    wg_plan *plan;
    size_t bytes;
    uint64_t used; /* the clock at its last use */
    max_align_t io[];
};

static void free_entry(wgi_plan_cache_entry *e)
{
    if (e)
        wg_plan_free(e->plan);
    free(e);
}

void *wgi_plan_cache_find(wgi_plan_cache *c, const wgi_plan_key *key)
{
    for (size_t i = 0; i < c->count; i++)
        if (memcmp(&c->entry[i]->key, key, sizeof *key) == 0) {
            c->entry[i]->used = ++c->clock;
            return c->entry[i]->io;
        }
    return NULL;
}

static void evict_oldest(wgi_plan_cache *c)
{
    size_t oldest = 0;
    for (size_t i = 1; i < c->count; i++)
        if (c->entry[i]->used < c->entry[oldest]->used)
            oldest = i;
    c->bytes -= c->entry[oldest]->bytes;
    free_entry(c->entry[oldest]);
    c->entry[oldest] = c->entry[--c->count];
}

/* Frees the least recently used plans until one more of `bytes` is within the limits. */
static void evict(wgi_plan_cache *c, size_t bytes)
{
    while (c->count && ((c->max_plans && c->count >= c->max_plans) ||
                        (c->max_bytes && c->bytes + bytes > c->max_bytes)))
        evict_oldest(c);
}

size_t wgi_plan_cache_own_bytes(const wgi_plan_cache *c)
{
    size_t bytes = 0;
    for (size_t i = 0; i < c->count; i++) {
        const wg_plan_stats s = wg_plan_statistics(c->entry[i]->plan);
        bytes += s.buffer_bytes - s.shared_bytes + s.leaf_bytes - s.tensor_bytes +
                 s.nodes * WGI_NODE_BYTES;
    }
    return bytes;
}

size_t wgi_plan_cache_shared_bytes(const wgi_plan_cache *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t bytes = wg_plan_statistics(c->entry[i]->plan).shared_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

bool wgi_plan_cache_evict(wgi_plan_cache *c)
{
    bool several = c->count > 1;
    if (several)
        evict_oldest(c);
    return several;
}

wg_status wgi_plan_cache_get(wgi_plan_cache *c, void *context, const wgi_plan_key *key, void **io,
                             wg_error *error)
{
    if ((*io = wgi_plan_cache_find(c, key)))
        return WG_OK;
    wgi_plan_cache_entry *e = calloc(1, sizeof *e + c->io_size);
    if (!e || !WGI_RESERVE(c->entry, c->capacity, c->count + 1)) {
        free(e);
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    }
    e->key = *key;
    wg_status status = c->make(context, key, &e->plan, e->io, error);
    if (status != WG_OK) {
        free_entry(e);
        return status;
    }
    const wg_plan_stats stats = wg_plan_statistics(e->plan);
    e->bytes = stats.buffer_bytes - stats.shared_bytes + stats.nodes * WGI_NODE_BYTES;
    evict(c, e->bytes);
    e->used = ++c->clock;
    c->bytes += e->bytes;
    c->entry[c->count++] = e;
    *io = e->io;
    return WG_OK;
}

void wgi_plan_cache_clear(wgi_plan_cache *c)
{
    for (size_t i = 0; i < c->count; i++)
        free_entry(c->entry[i]);
    free(c->entry);
    c->entry = NULL;
    c->count = c->capacity = c->bytes = 0;
}
