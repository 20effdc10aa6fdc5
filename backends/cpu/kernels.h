/* The names of all reference kernels, from wengert/ops/ops.def. */
#ifndef WG_BACKENDS_CPU_KERNELS_H
#define WG_BACKENDS_CPU_KERNELS_H

#include "wengert/graph/op.h"

typedef void cpu_kernel(wg_call *);

#define LEAF(name)
#define COMPOSITE(name)
#define ANY(name) cpu_kernel wgi_cpu_##name;
#define FLOAT(name) cpu_kernel wgi_cpu_##name##_f32, wgi_cpu_##name##_f64;
#define NUMBER(name)                                                                               \
    cpu_kernel wgi_cpu_##name##_f32, wgi_cpu_##name##_f64, wgi_cpu_##name##_i32,                   \
        wgi_cpu_##name##_i64;
#include "wengert/ops/ops.def"
#undef LEAF
#undef COMPOSITE
#undef ANY
#undef FLOAT
#undef NUMBER

#endif
