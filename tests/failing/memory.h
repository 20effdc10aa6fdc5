/* Allocations that fail, of a whole process: memory.c takes the place of malloc and its relatives,
 * in every library of a program that is linked with it or has it preloaded. */
#ifndef WG_TESTS_FAILING_MEMORY_H
#define WG_TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* From now on allocations are counted; number `at` fails, and with `for_good` all after it.  0:
 * none does.  Those of libgomp do not count: see memory.c. */
void fail_from_now(size_t at, bool for_good);
/* Ends this; how many allocations there were. */
size_t fail_no_more(void);
/* The same for tests/coverage_exit.c, in whatever process. */
void stop_failing(void);

/* Blocks that are not freed: all, and those that code within [begin, end) asked for itself. */
size_t live_blocks(void);
void watch_code(const void *begin, const void *end);
size_t watched_blocks(void);
/* The code that asked for one of the watched blocks. */
const void *a_watched_block(void);

enum { UNCAUGHT = -1 }; /* in the place of a signal: an exception that nobody caught */

/* Where the process crashes, `tell` gets the signal and the path of the object that crashed: the
 * innermost one that is not of the C or C++ runtime.  It must not return. */
void tell_crashes(void (*tell)(int signal, const char *object));

#endif
