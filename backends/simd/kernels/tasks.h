/* Tasks that threads share, in phases.  Tasks are numbered through, those of one phase after those
 * of the former, and every thread takes the next that is left; it waits until all tasks of former
 * phases are done, not for other threads: whoever has not come yet, because the processor is busy
 * with something else, keeps nobody waiting. */
#ifndef WG_BACKENDS_SIMD_KERNELS_TASKS_H
#define WG_BACKENDS_SIMD_KERNELS_TASKS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct simd_work {
    int64_t members, taken, done; /* threads that came, tasks that were taken and done */
} simd_work;

typedef struct simd_turn {
    int64_t ticket;     /* this thread's next task: at first simd_take(&work->taken) */
    int64_t first, end; /* the phase's tasks */
} simd_turn;

static inline int64_t simd_take(int64_t *counter)
{
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static inline void simd_begin_phase(simd_turn *my, int64_t tasks)
{
    my->first = my->end;
    my->end += tasks;
}

/* Whether there is a task of this phase for the caller; its number in the phase. */
static inline bool simd_next_task(simd_work *work, simd_turn *my, int64_t *task)
{
    if (my->ticket >= my->end)
        return false;
    for (int64_t spins = 0; __atomic_load_n(&work->done, __ATOMIC_ACQUIRE) < my->first; spins++)
        if (spins > 1000)
            sched_yield();
    *task = my->ticket - my->first;
    return true;
}

static inline void simd_end_task(simd_work *work, simd_turn *my)
{
    __atomic_fetch_add(&work->done, 1, __ATOMIC_RELEASE);
    my->ticket = simd_take(&work->taken);
}

#endif
