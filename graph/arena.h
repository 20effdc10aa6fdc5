/* A bump allocator: many small allocations, freed together. */
#ifndef WG_GRAPH_ARENA_H
#define WG_GRAPH_ARENA_H

#include <stddef.h>

typedef struct wgi_arena_block wgi_arena_block;

typedef struct wgi_arena {
    wgi_arena_block *blocks; /* newest first */
    char *next, *end;        /* free part of the newest block */
    size_t total;            /* bytes taken from the system */
} wgi_arena;

/* Zeroed, 16-byte aligned memory that lives as long as the arena; NULL without memory. */
void *wgi_arena_alloc(wgi_arena *a, size_t size);
/* A copy of size bytes; NULL without memory. */
void *wgi_arena_copy(wgi_arena *a, const void *bytes, size_t size);
char *wgi_arena_text(wgi_arena *a, const char *text);
void wgi_arena_free(wgi_arena *a);

#endif
