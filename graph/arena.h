/* A bump allocator: many small allocations, freed together. */
#ifndef WG_GRAPH_ARENA_H
#define WG_GRAPH_ARENA_H

#include <stddef.h>

typedef struct wg_arena_block wg_arena_block;

typedef struct wg_arena {
    wg_arena_block *blocks; /* newest first */
    char *next, *end;       /* free part of the newest block */
    size_t total;           /* bytes taken from the system */
} wg_arena;

/* Zeroed, 16-byte aligned memory that lives as long as the arena; NULL without memory. */
void *wg_arena_alloc(wg_arena *a, size_t size);
/* A copy of size bytes; NULL without memory. */
void *wg_arena_copy(wg_arena *a, const void *bytes, size_t size);
char *wg_arena_text(wg_arena *a, const char *text);
void wg_arena_free(wg_arena *a);

#endif
