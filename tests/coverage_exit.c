/* In builds with --coverage every program is linked with this and -Wl,--wrap=_exit: _exit then
 * writes the counters as exit does, so that what child processes run counts too. */
#include <stdlib.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);

/* Writing takes memory: a test that makes allocations fail defines this to let them succeed. */
__attribute__((weak)) void stop_failing(void);

_Noreturn void __wrap__exit(int code)
{
    if (stop_failing)
        stop_failing();
    __gcov_dump();
    __real__exit(code);
}
