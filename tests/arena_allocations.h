/* The same for each piece that the arena of a graph is asked for: the program is linked with
 * -Wl,--wrap for each of these functions too. */
#ifndef WG_TESTS_ARENA_ALLOCATIONS_H
#define WG_TESTS_ARENA_ALLOCATIONS_H

#include "graph/arena.h"
#include "tests/allocations.h"

void *__real_wgi_arena_alloc(wgi_arena *a, size_t size);
void *__real_wgi_arena_copy(wgi_arena *a, const void *bytes, size_t size);
char *__real_wgi_arena_text(wgi_arena *a, const char *text);
void *__wrap_wgi_arena_alloc(wgi_arena *a, size_t size);
void *__wrap_wgi_arena_copy(wgi_arena *a, const void *bytes, size_t size);
char *__wrap_wgi_arena_text(wgi_arena *a, const char *text);

void *__wrap_wgi_arena_alloc(wgi_arena *a, size_t size)
{
    return refuse(size) ? NULL : __real_wgi_arena_alloc(a, size);
}

void *__wrap_wgi_arena_copy(wgi_arena *a, const void *bytes, size_t size)
{
    return refuse(size) ? NULL : __real_wgi_arena_copy(a, bytes, size);
}

char *__wrap_wgi_arena_text(wgi_arena *a, const char *text)
{
    return refuse(strlen(text) + 1) ? NULL : __real_wgi_arena_text(a, text);
}

#endif
