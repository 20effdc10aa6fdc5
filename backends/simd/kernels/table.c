#include "backends/simd/kernels/kernels.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define OWN(name, args) .name = SIMD(name),
#define OTHER(name, args) .name = SIMD_OTHER(name),

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define F64 PASTE(SIMD_OTHER(floats), f64)

#if defined(SIMD_AMX)
#define ON_AMX SIMD_AMX_KERNELS(OWN)
#else
#define ON_AMX
#endif

extern const simd_float_table SIMD_OTHER(floats), F64;

const simd_table SIMD(table) = {.isa = TEXT(SIMD_SUFFIX),
                                .f32 = &SIMD_OTHER(floats),
                                .f64 = &F64,
                                SIMD_INTEGER_KERNELS(OWN) SIMD_OTHER_KERNELS(OTHER) ON_AMX};
