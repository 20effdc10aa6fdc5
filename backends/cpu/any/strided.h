/* Copies between tensors of any element size that are walked by strides: the one loop of all
 * movement. */
#ifndef WG_BACKENDS_CPU_ANY_STRIDED_H
#define WG_BACKENDS_CPU_ANY_STRIDED_H

#include "wengert/graph/op.h"

/* Where a walk begins and how far, in elements, a step along each axis goes. */
typedef struct cpu_walk {
    int64_t start;
    int64_t stride[WG_MAX_RANK];
} cpu_walk;

/* The walk over a dense tensor of shape s. */
cpu_walk wgi_cpu_dense(const wg_shape *s);

/* The walk over the elements start + i step, 0 <= i < size, of a dense tensor of shape s. */
cpu_walk wgi_cpu_window(const wg_shape *s, const wg_shape *start, const wg_shape *size,
                        const wg_shape *step);

/* to[i] = from[i] for every index i of `shape`, elements of `dtype`.  No element of `to` may be
 * met twice. */
void wgi_cpu_copy(const wg_call *c, wg_dtype dtype, const wg_shape *shape, void *to,
                  cpu_walk to_walk, const void *from, cpu_walk from_walk);

/* All `count` elements of a dense tensor become `value`. */
void wgi_cpu_fill_with(const wg_call *c, wg_dtype dtype, int64_t count, void *to, double value);

#endif
