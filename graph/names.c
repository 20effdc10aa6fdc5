/* Texts to pointers: scopes by path, values by name. */
#include "graph/internal.h"

#include <stdlib.h>
#include <string.h>

static size_t place(const wgi_names *t, const char *key)
{
    size_t i = (size_t)wgi_hash_text(key) & (t->size - 1);
    while (t->slot[i].key && strcmp(t->slot[i].key, key) != 0)
        i = (i + 1) & (t->size - 1);
    return i;
}

void *wgi_names_get(const wgi_names *t, const char *key)
{
    return t->size ? t->slot[place(t, key)].item : NULL;
}

static bool grow(wgi_names *t)
{
    wgi_names bigger = {.size = t->size ? t->size * 2 : 16};
    bigger.slot = calloc(bigger.size, sizeof *bigger.slot);
    if (!bigger.slot)
        return false;
    for (size_t i = 0; i < t->size; i++)
        if (t->slot[i].key)
            bigger.slot[place(&bigger, t->slot[i].key)] = t->slot[i];
    bigger.used = t->used;
    free(t->slot);
    *t = bigger;
    return true;
}

bool wgi_names_put(wgi_names *t, const char *key, void *item)
{
    if ((t->used + 1) * 4 > t->size * 3 && !grow(t))
        return false;
    struct wgi_names_slot *s = &t->slot[place(t, key)];
    t->used += !s->key;
    *s = (struct wgi_names_slot){key, item};
    return true;
}
