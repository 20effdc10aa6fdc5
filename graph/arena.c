#include "graph/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct wgi_arena_block {
    wgi_arena_block *older;
    size_t size;
};

static size_t round_up(size_t n)
{
    return (n + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
}

/* Blocks double up to LARGEST_BLOCK, so small graphs stay small and large ones take few
 * allocations. */
static char *new_block(wgi_arena *a, size_t min)
{
    size_t head = round_up(sizeof(wgi_arena_block));
    size_t size = a->blocks ? a->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < head + min)
        size = head + min;
    wgi_arena_block *b = calloc(1, size);
    if (!b)
        return NULL;
    b->older = a->blocks;
    b->size = size;
    a->blocks = b;
    a->total += size;
    a->end = (char *)b + size;
    return (char *)b + head;
}

void *wgi_arena_alloc(wgi_arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = round_up(size ? size : 1);
    if (!a->next || (size_t)(a->end - a->next) < size) {
        char *fresh = new_block(a, size);
        if (!fresh)
            return NULL;
        a->next = fresh;
    }
    void *p = a->next;
    a->next += size;
    return p;
}

void *wgi_arena_copy(wgi_arena *a, const void *bytes, size_t size)
{
    void *p = wgi_arena_alloc(a, size);
    if (p && size)
        memcpy(p, bytes, size);
    return p;
}

char *wgi_arena_text(wgi_arena *a, const char *text)
{
    return wgi_arena_copy(a, text, strlen(text) + 1);
}

void wgi_arena_free(wgi_arena *a)
{
    for (wgi_arena_block *b = a->blocks; b;) {
        wgi_arena_block *older = b->older;
        free(b);
        b = older;
    }
    *a = (wgi_arena){0};
}
