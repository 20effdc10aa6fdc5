/* Flags that one thread sets and others look at, such as a request to stop.  In the interface they
 * are volatile int, which a signal handler may set as well; here they are loaded and stored as
 * atomics, by what gcc and clang have for objects that are not declared as such.  Nothing else is
 * passed on by them, so that relaxed order is enough. */
#ifndef WG_PRIVATE_GRAPH_FLAG_H
#define WG_PRIVATE_GRAPH_FLAG_H

#include <stdbool.h>
#include <stddef.h>

/* NULL is never set. */
static inline int wgi_flag(const volatile int *flag)
{
    return flag ? __atomic_load_n(flag, __ATOMIC_RELAXED) : 0;
}

static inline void wgi_flag_set(volatile int *flag, int value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELAXED);
}

#endif
