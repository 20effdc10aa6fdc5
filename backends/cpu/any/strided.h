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

/* Where line k along `axis` of shape s begins in a tensor with those strides, at index 0 of the
 * axis. */
static inline int64_t cpu_line_start(const wg_shape *s, int axis, int64_t k,
                                     const int64_t stride[WG_MAX_RANK])
{
    int64_t start = 0;
    for (int i = s->rank - 1; i >= 0; i--) {
        if (i == axis)
            continue;
        start += k % s->dim[i] * stride[i];
        k /= s->dim[i];
    }
    return start;
}

/* How the scatters walk: line k along the axis, of `lines`, has `size` ids. */
typedef struct cpu_scatter {
    int axis;
    int64_t lines, size, inner; /* inner: how far apart the ids of a line are */
    int64_t x_stride[WG_MAX_RANK], src_stride[WG_MAX_RANK];
} cpu_scatter;

/* Brings x (operand 0) to y, and says how to walk ids (1) and src (2).  false, and the call has
 * failed, if an id is out of range. */
bool wgi_cpu_scatter_begin(wg_call *c, cpu_scatter *s);

/* Where the ids of line k begin. */
static inline int64_t cpu_scatter_ids(const cpu_scatter *s, int64_t k)
{
    return k / s->inner * s->size * s->inner + k % s->inner;
}

#endif
