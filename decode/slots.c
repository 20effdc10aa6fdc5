#include "decode/slots.h"

#include <stdlib.h>
#include <string.h>

bool wgi_slots_create(wgi_slots *s, int64_t count)
{
    *s = (wgi_slots){.count = count};
    s->free = malloc((size_t)count * sizeof *s->free);
    s->n_holders = malloc((size_t)count * sizeof *s->n_holders);
    if (!s->free || !s->n_holders)
        return false;
    wgi_slots_reset(s);
    return true;
}

void wgi_slots_reset(wgi_slots *s)
{
    s->n_free = s->count - 1;
    memset(s->n_holders, 0, (size_t)s->count * sizeof *s->n_holders);
    for (int64_t i = 0; i < s->count - 1; i++)
        s->free[i] = (int32_t)(s->count - 1 - i);
}

void wgi_slots_clear(wgi_slots *s)
{
    free(s->free);
    free(s->n_holders);
    *s = (wgi_slots){0};
}

int32_t wgi_slots_take(wgi_slots *s)
{
    if (s->n_free == 0)
        return -1;
    int32_t slot = s->free[--s->n_free];
    s->n_holders[slot] = 1;
    return slot;
}

void wgi_slots_hold(wgi_slots *s, const int32_t *slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->n_holders[slots[i]]++;
}

void wgi_slots_drop(wgi_slots *s, const int32_t *slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (--s->n_holders[slots[i]] == 0)
            s->free[s->n_free++] = slots[i];
}
