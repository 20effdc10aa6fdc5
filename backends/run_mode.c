#include "backends/run_mode.h"

#include <omp.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
enum { FTZ_AND_DAZ = 0x8040 };

static bool flush(unsigned *former)
{
    *former = _mm_getcsr();
    _mm_setcsr(*former | FTZ_AND_DAZ);
    return (*former & FTZ_AND_DAZ) != FTZ_AND_DAZ;
}

/* The calling thread's mode is set outside the region: with LLVM's OpenMP, regions inherit it, and
 * undo what is set within them.  And after it: threads that the region starts inherit it too, and
 * would take it for what was before. */
static bool flush_subnormals(wgi_run_mode *m)
{
    bool changed = false;
    if (m->threads > 1) { /* a region would cost as much as thousands of elements */
#pragma omp parallel num_threads(m->threads) reduction(|| : changed)
        {
            int me = omp_get_thread_num();
            if (me > 0 && me < WGI_RUN_MODE_THREADS)
                changed = flush(&m->former[me]);
        }
    }
    return flush(&m->former[0]) || changed;
}

static void restore(const wgi_run_mode *m)
{
    if (m->threads > 1) {
#pragma omp parallel num_threads(m->threads)
        {
            int me = omp_get_thread_num();
            if (me > 0 && me < WGI_RUN_MODE_THREADS)
                _mm_setcsr(m->former[me]);
        }
    }
    _mm_setcsr(m->former[0]);
}
#else
static bool flush_subnormals(wgi_run_mode *m)
{
    (void)m;
    return false;
}

static void restore(const wgi_run_mode *m)
{
    (void)m;
}
#endif

void wgi_run_mode_enter(wgi_run_mode *m)
{
    m->former_threads = omp_get_max_threads();
    m->former_dynamic = omp_get_dynamic();
    m->former_levels = omp_get_max_active_levels();
    omp_set_num_threads(m->threads);
    if (m->former_dynamic)
        omp_set_dynamic(false);
    if (m->former_levels < 1)
        omp_set_max_active_levels(1);
    m->changed = flush_subnormals(m);
}

void wgi_run_mode_leave(wgi_run_mode *m)
{
    if (m->changed) /* else by a backend that entered before, which restores */
        restore(m);
    omp_set_num_threads(m->former_threads);
    if (m->former_dynamic)
        omp_set_dynamic(m->former_dynamic);
    if (m->former_levels < 1)
        omp_set_max_active_levels(m->former_levels);
}
