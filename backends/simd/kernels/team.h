/* Work for a team of threads.  A team of one is a plain call: libgomp opens a parallel region of
 * one thread in 0.4 us, with a system call, which is as much as thousands of elements.
 *
 * Work that is worth a few threads gets all of a plan's, never some: libgomp ends those that a
 * smaller team leaves over, and the next region of all has to start them again. */
#ifndef WG_BACKENDS_SIMD_KERNELS_TEAM_H
#define WG_BACKENDS_SIMD_KERNELS_TEAM_H

#include "backends/one_copy.h"
#include "backends/simd/kernels/unrolled.h"

#include <omp.h>
#include <stdint.h>

/* One thread of a team. */
typedef struct simd_member {
    int me, team;
} simd_member;

/* work(a, m) on each thread of a team. */
SIMD_INLINE void simd_team(int threads, void (*work)(const void *a, simd_member m), const void *a)
{
    WGI_ONE_COPY(work);
    if (threads <= 1) {
        work(a, (simd_member){0, 1});
        return;
    }
#pragma omp parallel num_threads(threads)
    work(a, (simd_member){omp_get_thread_num(), omp_get_num_threads()});
}

/* task(a, i) for all i < n, in shares of successive i. */
SIMD_INLINE void simd_tasks(int threads, int64_t n, void (*task)(const void *a, int64_t i),
                            const void *a)
{
    WGI_ONE_COPY(task);
    if (threads <= 1) {
        for (int64_t i = 0; i < n; i++)
            task(a, i);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < n; i++)
        task(a, i);
}

/* The same where tasks differ in length: a thread takes the next `share` of them as soon as it is
 * free.  `me` is its number in the team. */
SIMD_INLINE void simd_uneven_tasks(int threads, int64_t n, int64_t share,
                                   void (*task)(const void *a, int64_t i, int me), const void *a)
{
    WGI_ONE_COPY(task);
    if (threads <= 1) {
        for (int64_t i = 0; i < n; i++)
            task(a, i, 0);
        return;
    }
#pragma omp parallel for schedule(dynamic, share) num_threads(threads)
    for (int64_t i = 0; i < n; i++)
        task(a, i, omp_get_thread_num());
}

/* The member's share of n tasks: from simd_first to below simd_end. */
static inline int64_t simd_first(simd_member m, int64_t n)
{
    return n * m.me / m.team;
}

static inline int64_t simd_end(simd_member m, int64_t n)
{
    return n * (m.me + 1) / m.team;
}

/* All members have come here. */
static inline void simd_meet(simd_member m)
{
    if (m.team > 1) {
#pragma omp barrier
    }
}

#endif
