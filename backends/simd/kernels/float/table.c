#include "backends/simd/kernels/kernels.h"

#define OWN(name, args) .name = SIMD(name),
#define OTHER(name, args) .name = SIMD_OTHER(name),

extern const simd_float_table SIMD(floats);
const simd_float_table SIMD(floats) = {SIMD_PRODUCT_KERNEL(OWN) SIMD_FLOAT_KERNELS(OTHER)};
