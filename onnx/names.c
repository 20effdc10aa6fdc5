#include "onnx/names.h"
#include "graph/mix.h"

#include <stdlib.h>
#include <string.h>

static size_t place(const ox_names *t, const char *key)
{
    size_t i = (size_t)wgi_hash_text(key) & (t->size - 1);
    for (; t->slot[i].key && strcmp(t->slot[i].key, key) != 0; i = (i + 1) & (t->size - 1))
        ;
    return i;
}

void *wgi_ox_names_get(const ox_names *t, const char *key)
{
    return t->size ? t->slot[place(t, key)].item : NULL;
}

/* Twice the room: linear probing stays short below three quarters. */
static bool widen(ox_names *t)
{
    ox_names wider = {NULL, t->used, t->size ? 2 * t->size : 64};
    if (!(wider.slot = calloc(wider.size, sizeof *wider.slot)))
        return false;
    for (size_t i = 0; i < t->size; i++)
        if (t->slot[i].key)
            wider.slot[place(&wider, t->slot[i].key)] = t->slot[i];
    free(t->slot);
    *t = wider;
    return true;
}

bool wgi_ox_names_put(ox_names *t, const char *key, void *item)
{
    if (4 * (t->used + 1) > 3 * t->size && !widen(t))
        return false;
    struct ox_slot *s = &t->slot[place(t, key)];
    t->used += !s->key;
    s->key = key;
    s->item = item;
    return true;
}
