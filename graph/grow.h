/* Growing arrays on the heap. */
#ifndef WG_PRIVATE_GRAPH_GROW_H
#define WG_PRIVATE_GRAPH_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* `array` with room for at least `needed` > 0 items of `size` bytes, moved if it had less; at least
 * doubled then, and *capacity is the new room.  NULL without memory; the array and *capacity are
 * then as before. */
static inline void *wgi_grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return array;
    if (needed > SIZE_MAX / 2 / size)
        return NULL;
    size_t room = 2 * *capacity > needed ? 2 * *capacity : needed;
    room = room > 16 ? room : 16;
    void *moved = realloc(array, room * size);
    if (moved)
        *capacity = room;
    return moved;
}

/* The same for the pointer at `array`, of whatever type: false without memory. */
static inline bool wgi_reserve(void *array, size_t *capacity, size_t needed, size_t size)
{
    void *now;
    memcpy(&now, array, sizeof now);
    void *moved = wgi_grow(now, capacity, needed, size);
    if (moved)
        memcpy(array, &moved, sizeof moved);
    return moved;
}

/* Of a pointer and its capacity, both lvalues:
 *
 *     if (!WGI_RESERVE(list->item, list->capacity, list->count + 1))
 *         return WG_ENOMEM; */
#define WGI_RESERVE(array, capacity, needed)                                                       \
    wgi_reserve(&(array), &(capacity), (needed), sizeof *(array))

#endif
