#include "backends/simd/kernels/kernels.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define OWN(name, args) .name = SIMD(name),
#define OTHER(name, args) .name = SIMD_OTHER(name),

const simd_table SIMD(table) = {.isa = TEXT(SIMD_SUFFIX),
                                SIMD_INT8_KERNELS(OWN) SIMD_OTHER_KERNELS(OTHER)};
