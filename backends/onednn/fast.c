/* Which own kernels the running CPU can take. */
#include "backends/onednn/fast/fast.h"

#if defined(__x86_64__)
const fast_table *od_fast(void)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512vnni") ? &fast_avx512vnni : &fast_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &fast_avx2;
    return &fast_base;
}
#else
const fast_table *od_fast(void)
{
    return &fast_base;
}
#endif
