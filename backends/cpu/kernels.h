/* The names of all reference kernels, from wengert/ops/ops.def. */
#ifndef WG_BACKENDS_CPU_KERNELS_H
#define WG_BACKENDS_CPU_KERNELS_H

#include "wengert/graph/op.h"

typedef void cpu_kernel(wg_call *);

#define DECLARE_LEAF(name)
#define DECLARE_COMPOSITE(name)
#define DECLARE_ANY(name) cpu_kernel wgi_cpu_##name;
#define DECLARE_FLOAT(name) cpu_kernel wgi_cpu_##name##_f32, wgi_cpu_##name##_f64;
#define DECLARE_NUMBER(name)                                                                       \
    DECLARE_FLOAT(name) cpu_kernel wgi_cpu_##name##_i32, wgi_cpu_##name##_i64;
#define WG_OP(kind, name) DECLARE_##kind(name)
#include "wengert/ops/ops.def"
#undef WG_OP

#endif
