#include "backends/onednn/fast/fast.h"

#define X(name, args) void FAST(name)(const args *);
FAST_KERNELS(X)
#undef X

#define FAST_TEXT_(x) #x
#define FAST_TEXT(x) FAST_TEXT_(x)
const fast_table FAST(fast) = {.isa = FAST_TEXT(FAST_SUFFIX),
#define X(name, args) .name = FAST(name),
                               FAST_KERNELS(X)
#undef X
};
