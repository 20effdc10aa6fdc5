/* The store: a growing array of tensors and an open-addressing table from name to place. */
#include "backends/store.h"
#include "backends/align.h"
#include "graph/grow.h"
#include "graph/mix.h"
#include "ops/initial.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

typedef struct wgi_owned {
    wg_tensor tensor;
    void *block; /* memory that tensor.data lies in */
} wgi_owned;

struct wg_store {
    uint64_t seed;
    wg_store *base;     /* NULL, or where to look further */
    wgi_owned **tensor; /* each on its own: addresses given out stay valid */
    size_t count, capacity;
    size_t *slot; /* place + 1 in `tensor`, 0: free */
    size_t slots; /* 0 or a power of two            */
};

wg_store *wg_store_new(uint64_t seed)
{
    wg_store *s = calloc(1, sizeof *s);
    if (s)
        s->seed = seed;
    return s;
}

wg_store *wg_store_new_over(wg_store *base)
{
    wg_store *s = wg_store_new(base ? base->seed : 0);
    if (s)
        s->base = base;
    return s;
}

static void free_tensor(wgi_owned *t)
{
    if (!t)
        return;
    free((char *)(uintptr_t)t->tensor.name);
    free(t->block);
    free(t);
}

void wg_store_free(wg_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        free_tensor(s->tensor[i]);
    free(s->tensor);
    free(s->slot);
    free(s);
}

size_t wg_store_count(const wg_store *s)
{
    return s ? s->count : 0;
}

const wg_tensor *wg_store_at(const wg_store *s, size_t i)
{
    return s && i < s->count ? &s->tensor[i]->tensor : NULL;
}

/* The slot of that name, or the free one where it belongs. */
static size_t *slot_of(const wg_store *s, const char *name)
{
    size_t i = (size_t)wgi_hash_text(name) & (s->slots - 1);
    while (s->slot[i] && strcmp(s->tensor[s->slot[i] - 1]->tensor.name, name) != 0)
        i = (i + 1) & (s->slots - 1);
    return &s->slot[i];
}

const wg_tensor *wg_store_find(const wg_store *s, const char *name)
{
    if (!s || !name)
        return NULL;
    size_t place = s->slots ? *slot_of(s, name) : 0;
    return place ? &s->tensor[place - 1]->tensor : wg_store_find(s->base, name);
}

/* Room for one more tensor and its slot. */
static bool reserve(wg_store *s)
{
    if (!WGI_RESERVE(s->tensor, s->capacity, s->count + 1))
        return false;
    if (2 * (s->count + 1) <= s->slots)
        return true;
    size_t slots = s->slots ? 2 * s->slots : 64;
    size_t *slot = calloc(slots, sizeof *slot);
    if (!slot)
        return false;
    free(s->slot);
    s->slot = slot;
    s->slots = slots;
    for (size_t i = 0; i < s->count; i++)
        *slot_of(s, s->tensor[i]->tensor.name) = i + 1;
    return true;
}

/* Zeroed by calloc, which maps large tensors to untouched pages: they cost nothing before they are
 * used. */
static wgi_owned *new_tensor(const char *name, wg_dtype dtype, const wg_shape *shape)
{
    size_t bytes = (size_t)wg_shape_count(shape) * wg_dtype_size(dtype), length = strlen(name) + 1;
    wgi_owned *t = malloc(sizeof *t);
    char *own = malloc(length);
    char *block = bytes < SIZE_MAX - WG_ALIGN ? calloc(1, bytes + WG_ALIGN) : NULL;
    if (!t || !own || !block) {
        free(t);
        free(own);
        free(block);
        return NULL;
    }
    memcpy(own, name, length);
    size_t past = (size_t)((uintptr_t)block % WG_ALIGN);
    t->block = block;
    t->tensor = (wg_tensor){own, dtype, *shape, block + (past ? WG_ALIGN - past : 0)};
    return t;
}

wg_status wg_store_add(wg_store *s, const char *name, wg_dtype dtype, const wg_shape *shape,
                       const wg_tensor **out)
{
    const wg_tensor *ignored;
    out = out ? out : &ignored;
    *out = NULL;
    if (!s || !name || !shape || !wg_shape_valid(shape, dtype))
        return WG_EINVAL;
    const wg_tensor *old = wg_store_find(s, name);
    if (old && old->dtype != dtype)
        return WG_EDTYPE;
    if (old && !wg_shape_equal(&old->shape, shape))
        return WG_ESHAPE;
    if (old) {
        *out = old;
        return WG_OK;
    }
    wgi_owned *t = reserve(s) ? new_tensor(name, dtype, shape) : NULL;
    if (!t)
        return WG_ENOMEM;
    s->tensor[s->count++] = t;
    *slot_of(s, name) = s->count;
    *out = &t->tensor;
    return WG_OK;
}

/* Takes back the last wg_store_add: no other name was put into the table after it. */
static void forget_last(wg_store *s)
{
    wgi_owned *t = s->tensor[s->count - 1];
    *slot_of(s, t->tensor.name) = 0;
    s->count--;
    free_tensor(t);
}

wg_status wgi_store_leaf(wg_store *s, const wg_value *leaf, const wg_tensor **out)
{
    bool fresh = !wg_store_find(s, leaf->name);
    wg_status status = wg_store_add(s, leaf->name, leaf->dtype, &leaf->shape, out);
    const wg_op *op = leaf->node->op;
    if (status == WG_OK && fresh && (op == &wg_op_parameter || op == &wg_op_state))
        status = wgi_initial_values((*out)->data, s->seed, (*out)->name, leaf);
    if (status != WG_OK && fresh && *out) {
        forget_last(s);
        *out = NULL;
    }
    return status;
}
