/* Walks over ids that say where along one axis of a tensor something lies: gather and the scatters.
 * They are met row by row of their last axis, so that what lies side by side is met together. */
#ifndef WG_BACKENDS_CPU_ANY_ROWS_OF_IDS_H
#define WG_BACKENDS_CPU_ANY_ROWS_OF_IDS_H

#include "wengert/graph/op.h"

/* Some neighbouring ids.  Number i of them lies at `ids` + i, and means element `at` + i `beside` +
 * id `step` of the tensor that has the axis, and element `other` + i of the other one. */
typedef struct cpu_ids {
    int64_t count, ids, other;
    int64_t at, beside, step;
} cpu_ids;

typedef void cpu_ids_kernel(const wg_call *c, const cpu_ids *row);

/* The kernel `name` of `by`, to which beside and step are constants where the axis is the last. */
#define CPU_IDS_INLINE static inline __attribute__((always_inline))
#define CPU_IDS_KERNEL(name, by)                                                                   \
    static void name(const wg_call *c, const cpu_ids *row)                                         \
    {                                                                                              \
        if (row->beside == 0 && row->step == 1)                                                    \
            by(c, row, 0, 1);                                                                      \
        else                                                                                       \
            by(c, row, row->beside, row->step);                                                    \
    }

/* Calls `kernel` for all of operand 1, ids along `axis` of a tensor of shape x; the other one has
 * shape `other`, of which only as many elements along each axis as there are ids are met.  For each
 * line along the axis the ids come in their order, all in one thread. */
void wgi_cpu_each_row_of_ids(const wg_call *c, int axis, const wg_shape *x, const wg_shape *other,
                             cpu_ids_kernel *kernel);
/* The same for x and src, operands 0 and 2 of a scatter, after y has become x; only a failure
 * of the call if an id is out of range. */
void wgi_cpu_scatter_with(wg_call *c, cpu_ids_kernel *kernel);

#endif
