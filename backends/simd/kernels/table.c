#include "backends/simd/kernels/kernels.h"

#define X(name, args) void SIMD(name)(const args *);
SIMD_KERNELS(X)
#undef X

#define SIMD_TEXT_(x) #x
#define SIMD_TEXT(x) SIMD_TEXT_(x)
const simd_table SIMD(table) = {.isa = SIMD_TEXT(SIMD_SUFFIX),
#define X(name, args) .name = SIMD(name),
                                SIMD_KERNELS(X)
#undef X
};
