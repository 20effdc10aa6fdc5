#include "backends/run_mode.h"

#include <omp.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#define FLUSHES 1
enum { FLUSH = 0x8040 /* FTZ and DAZ */ };

static unsigned get_control(void)
{
    return _mm_getcsr();
}

static void set_control(unsigned control)
{
    _mm_setcsr(control);
}
#elif defined(__aarch64__)
#define FLUSHES 1
enum { FLUSH = 1 << 24 /* FZ */ };

static unsigned get_control(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return (unsigned)control;
}

static void set_control(unsigned control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)control));
}
#else
#define FLUSHES 0
#endif

#if FLUSHES
static bool flush(unsigned *former)
{
    *former = get_control();
    set_control(*former | FLUSH);
    return (*former & FLUSH) != FLUSH;
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
                set_control(m->former[me]);
        }
    }
    set_control(m->former[0]);
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
