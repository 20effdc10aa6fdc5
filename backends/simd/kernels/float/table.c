#include "backends/simd/kernels/kernels.h"

#define OWN(name, args) .name = SIMD(name),

const simd_float_table SIMD(floats) = {SIMD_FLOAT_KERNELS(OWN)};
