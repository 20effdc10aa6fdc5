/* The loops of elementwise kernels: UNARY(exp, exp(x)) and BINARY(add, a + b) each define one
 * kernel; the formula is written in x, or in a and b.
 *
 * An element is computed the same way wherever it lies, so threads may share the work in any
 * manner.  `omp simd` is allowed because a result may take the buffer of an operand, but never lies
 * beside it. */
#ifndef WG_BACKENDS_CPU_ELEMENTWISE_H
#define WG_BACKENDS_CPU_ELEMENTWISE_H

#include "backends/broadcast.h"
#include "backends/cpu/kernel.h"

static inline void cpu_share_elements(const wg_call *call, cpu_tasks *tasks)
{
    int64_t count = cpu_count(call->node->out[0]);
    cpu_share(call, NULL, count, cpu_threads(call, count), tasks);
}

static inline void cpu_share_rows(const wg_call *call, cpu_tasks *tasks)
{
    wgi_rows r = wgi_rows_of(call->node);
    cpu_share(call, &r, r.tasks, cpu_threads(call, r.rows * r.size), tasks);
}

/* ---- one operand ----------------------------------------------------------------------------- */

/* clang-format off */
#define UNARY(name, formula) UNARY_OF(KERNEL(name), real, real, formula)

#define UNARY_OF(function, from, to, formula)                                                      \
    void function(wg_call *call);                                                                  \
    static void WGI_PASTE(function, _tasks)(const wg_call *call, const void *loop, int64_t first,  \
                                           int64_t end)                                            \
    {                                                                                              \
        (void)loop;                                                                                \
        const from *in = call->in[0];                                                              \
        to *out = call->out[0];                                                                    \
        _Pragma("omp simd") for (int64_t i = first; i < end; i++)                                  \
        {                                                                                          \
            from x = in[i];                                                                        \
            out[i] = (to)(formula);                                                                \
        }                                                                                          \
    }                                                                                              \
    void function(wg_call *call)                                                                   \
    {                                                                                              \
        cpu_share_elements(call, WGI_PASTE(function, _tasks));                                     \
    }
/* clang-format on */

/* ---- two operands, broadcast ----------------------------------------------------------------- */

/* clang-format off */
#define BINARY(name, formula) BINARY_OF(KERNEL(name), real, real, formula)
#define BINARY_TO(name, to, formula) BINARY_OF(KERNEL(name), real, to, formula)

/* y[j] = formula of a = first and b = second, which may depend on j, for j < size */
#define BINARY_LOOP(size, y, from, to, first, second, formula)                                     \
    _Pragma("omp simd") for (int64_t j = 0; j < (size); j++)                                       \
    {                                                                                              \
        from a = first, b = second;                                                                \
        (y)[j] = (to)(formula);                                                                    \
    }

#define BINARY_OF(function, from, to, formula)                                                     \
    void function(wg_call *call);                                                                  \
    static void WGI_PASTE(function, _tasks)(const wg_call *call, const void *loop, int64_t first,  \
                                           int64_t end)                                            \
    {                                                                                              \
        const wgi_rows *r = loop;                                                                  \
        for (int64_t task = first; task < end; task++)                                             \
            for (wgi_cursor k = wgi_cursor_at(r, task); k.left > 0; wgi_cursor_next(r, &k)) {      \
                const from *p = (const from *)call->in[0] + k.at[0], p0 = *p;                      \
                const from *q = (const from *)call->in[1] + k.at[1], q0 = *q;                      \
                to *y = (to *)call->out[0] + k.out;                                                \
                if (r->step[0] && r->step[1]) {                                                    \
                    BINARY_LOOP(k.size, y, from, to, p[j], q[j], formula)                          \
                } else if (r->step[0]) {                                                           \
                    BINARY_LOOP(k.size, y, from, to, p[j], q0, formula)                            \
                } else {                                                                           \
                    BINARY_LOOP(k.size, y, from, to, p0, q[j], formula)                            \
                }                                                                                  \
            }                                                                                      \
    }                                                                                              \
    void function(wg_call *call)                                                                   \
    {                                                                                              \
        cpu_share_rows(call, WGI_PASTE(function, _tasks));                                         \
    }
/* clang-format on */

#endif
