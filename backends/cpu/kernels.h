/* The names of all reference kernels, from ops/ops.def. */
#ifndef WG_BACKENDS_CPU_KERNELS_H
#define WG_BACKENDS_CPU_KERNELS_H

#include "graph/op.h"

typedef void cpu_kernel(wg_call *);

#define LEAF(name)
#define COMPOSITE(name)
#define ANY(name) cpu_kernel cpu_##name;
#define FLOAT(name) cpu_kernel cpu_##name##_f32, cpu_##name##_f64;
#define NUMBER(name)                                                                               \
    cpu_kernel cpu_##name##_f32, cpu_##name##_f64, cpu_##name##_i32, cpu_##name##_i64;
#include "ops/ops.def"
#undef LEAF
#undef COMPOSITE
#undef ANY
#undef FLOAT
#undef NUMBER

#endif
