/* Allocations that a test counts, and has fail: the program is linked with -Wl,--wrap for each of them. */
#ifndef WG_TESTS_ALLOCATIONS_H
#define WG_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

static struct {
    bool counting;
    size_t calls, fail_at; /* 0: none fails */
    bool for_good;
} allocations;

static bool refuse(void)
{
    if (!allocations.counting)
        return false;
    size_t call = ++allocations.calls;
    return allocations.fail_at &&
           (call == allocations.fail_at || (allocations.for_good && call > allocations.fail_at));
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return refuse() ? NULL : __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return refuse() ? NULL : __real_aligned_alloc(align, size);
}

static void count_allocations(size_t fail_at, bool for_good)
{
    allocations.counting = true;
    allocations.calls = 0;
    allocations.fail_at = fail_at;
    allocations.for_good = for_good;
}

#endif
