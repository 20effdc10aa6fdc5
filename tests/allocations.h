/* Allocations that a test counts, and has fail: the program is linked with -Wl,--wrap for each of
 * them. */
#ifndef WG_TESTS_ALLOCATIONS_H
#define WG_TESTS_ALLOCATIONS_H

#include "tests/test.h"
#include "wengert/graph/status.h"

#include <stdbool.h>

static struct {
    bool counting;
    size_t calls, fail_at; /* 0: none fails */
    bool for_good;
    size_t bytes;   /* other allocations do not count; 0: all do */
    size_t *shared; /* in the place of `calls`: memory that child processes share, or NULL */
} allocations;

static size_t *allocation_calls(void)
{
    return allocations.shared ? allocations.shared : &allocations.calls;
}

static bool refuse(size_t bytes)
{
    if (!allocations.counting || (allocations.bytes && bytes != allocations.bytes))
        return false;
    size_t call = ++*allocation_calls();
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
    return refuse(size) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuse(count * size) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return refuse(size) ? NULL : __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return refuse(size) ? NULL : __real_aligned_alloc(align, size);
}

/* For tests/coverage_exit.c. */
void stop_failing(void);
void stop_failing(void)
{
    allocations.counting = false;
}

static void count_allocations(size_t fail_at, bool for_good)
{
    allocations.counting = true;
    *allocation_calls() = 0;
    allocations.fail_at = fail_at;
    allocations.for_good = for_good;
}

/* ---- every allocation of some work ----------------------------------------------------------- */

typedef wg_status work(void *context);

typedef struct failing_allocations {
    bool spares;          /* where only one allocation fails the work may do without it */
    size_t first, stride; /* of the allocations that fail; 0: the first one, each one */
} failing_allocations;

/* `expected` with all the memory in the world, WG_ENOMEM whichever allocation fails. */
static inline size_t fail_some(const char *what, work *f, void *context, wg_status expected,
                               failing_allocations which)
{
    count_allocations(0, false);
    wg_status status = f(context);
    size_t total = *allocation_calls(), stride = which.stride ? which.stride : 1;
    allocations.counting = false;
    check_that(status == expected, "%s: %s", what, wg_status_text(status));
    for (int for_good = 0; for_good < 2; for_good++)
        for (size_t i = 1 + which.first % stride; i <= total; i += stride) {
            count_allocations(i, for_good);
            status = f(context);
            allocations.counting = false;
            bool spared = which.spares && !for_good && status == expected;
            check_that(status == WG_ENOMEM || spared, "%s: allocation %zu of %zu fails%s: %s", what,
                       i, total, for_good ? " and all after" : "", wg_status_text(status));
        }
    return total;
}

static inline size_t fail_each(const char *what, work *f, void *context, wg_status expected)
{
    return fail_some(what, f, context, expected, (failing_allocations){0});
}

#endif
