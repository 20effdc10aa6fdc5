/* For the authors of reference kernels.
 *
 * A kernel is a function of one wg_call.  It lives in one of three folders:
 *   float/   compiled twice, with `real` = float and double     (ops.def: FLOAT)
 *   number/  compiled four times, also int32_t and int64_t      (ops.def: NUMBER)
 *   any/     compiled once; looks at dtypes or element sizes itself (ops.def: ANY)
 * and is written   void KERNEL(softmax)(wg_call *c) { const real *x = c->in[0]; ... }
 * (in any/:        void wgi_cpu_permute(wg_call *c) { ... }).
 *
 * Rules: readable first; loops that a compiler can vectorise; no allocation; the same bits at any
 * number of threads (each result element is computed by one thread in one fixed order; reductions
 * go over chunks of fixed size). */
#ifndef WG_BACKENDS_CPU_KERNEL_H
#define WG_BACKENDS_CPU_KERNEL_H

#include "backends/axis.h"
#include "backends/cpu/kernels.h"
#include "backends/one_copy.h"

#include <math.h>
#include <string.h>

#define WGI_PASTE_(a, b) a##b
#define WGI_PASTE(a, b) WGI_PASTE_(a, b)

#ifdef REAL
typedef REAL real;
#define KERNEL(name) WGI_PASTE(wgi_cpu_##name##_, SUFFIX)
#ifdef REAL_IS_FLOAT
#include <tgmath.h>  /* exp(x) is expf(x) where real is float */
typedef double wide; /* of accumulators */
static inline bool cpu_is_nan(real x)
{
    return isnan(x);
}
static inline real cpu_highest(void)
{
    return (real)INFINITY;
}
static inline real cpu_lowest(void)
{
    return -(real)INFINITY;
}
#else
typedef int64_t wide;
static inline bool cpu_is_nan(real x)
{
    (void)x;
    return false;
}
static inline real cpu_highest(void) /* of two's complement, in the number of bits of real */
{
    return (real)(INT64_MAX >> 8 * (sizeof(wide) - sizeof(real)));
}
static inline real cpu_lowest(void)
{
    return (real)(-cpu_highest() - 1);
}
#endif
#endif

/* How many threads a loop of that much work (elementary operations) is worth. */
static inline int cpu_threads(const wg_call *c, int64_t work)
{
    return work < 1 << 15 ? 1 : c->threads;
}

/* Does tasks [first, end) of a kernel's loop; `loop` is what the tasks have in common. */
typedef void cpu_tasks(const wg_call *c, const void *loop, int64_t first, int64_t end);

/* Tasks [0, n), each of about as much work.  One thread alone opens no parallel region, which
 * would cost as much as hundreds of elements; kernels that small models call often share their
 * loops in this way. */
static inline void cpu_share(const wg_call *c, const void *loop, int64_t n, int threads,
                             cpu_tasks *tasks)
{
    WGI_ONE_COPY(tasks);
    if (threads == 1) {
        tasks(c, loop, 0, n);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < threads; i++)
        tasks(c, loop, n * i / threads, n * (i + 1) / threads);
}

static inline int64_t cpu_count(const wg_value *v)
{
    return wg_shape_count(&v->shape);
}

#endif
