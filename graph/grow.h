/* Growing arrays on the heap. */
#ifndef WG_PRIVATE_GRAPH_GROW_H
#define WG_PRIVATE_GRAPH_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* `array` with room for at least `needed` > 0 items of `size` bytes, moved if it had less; at least
 * doubled then, and *capacity is the new room.  NULL without memory; the array and *capacity are
 * then as before.
 *
 *     item *moved = wgi_grow(list->item, &list->capacity, list->count + 1, sizeof *moved);
 *     if (!moved)
 *         return WG_ENOMEM;
 *     list->item = moved; */
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

#endif
