#include "wengert/backends/isa.h"
#include "wengert/graph/op.h"
#include "graph/error.h"

/* Compilers whose __builtin_cpu_supports does not know every name */
#if defined(__clang__) || __GNUC__ < 11
#define ASKS_PROCESSOR 1
#else
#define ASKS_PROCESSOR 0
#endif

#if defined(__x86_64__) && ASKS_PROCESSOR
#include <cpuid.h>
#endif
#include <stdlib.h>
#include <strings.h>

static const char *const names[] = {"SSE41", "AVX2", "AVX512_CORE", "AVX512_CORE_VNNI", "ALL"};

const char *wg_isa_name(wg_isa isa)
{
    return names[isa];
}

wg_status wg_isa_cap(wg_isa *cap, wg_error *error)
{
    wgi_error_clear(error);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
    const char *asked = getenv(WG_ISA_VARIABLE);
    *cap = WG_ISA_ALL;
    if (!asked || !*asked)
        return WG_OK;
    for (int i = 0; i < WG_COUNT(names); i++)
        if (strcasecmp(asked, names[i]) == 0) {
            *cap = (wg_isa)i;
            return WG_OK;
        }
    wgi_error_set(error, WG_EINVAL, "%s is '%.40s', which is none of", WG_ISA_VARIABLE, asked);
    for (int i = 0; i < WG_COUNT(names); i++)
        wgi_error_add(error, i ? ", %s" : " %s", names[i]);
    return WG_EINVAL;
}

#if defined(__x86_64__)
/* __builtin_cpu_supports reads what was found when the program began; on a virtual machine, the
 * instruction takes ten microseconds, half of the creation of a small plan. */
static bool has_f16c(void)
{
#if ASKS_PROCESSOR
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
#else
    return __builtin_cpu_supports("f16c");
#endif
}
#endif

static wg_isa processor(void)
{
#if defined(__x86_64__)
    if (!has_f16c())
        return WG_ISA_SSE41;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512vnni") ? WG_ISA_AVX512_CORE_VNNI : WG_ISA_AVX512_CORE;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return WG_ISA_AVX2;
#endif
    return WG_ISA_SSE41;
}

wg_isa wg_isa_best(void)
{
    wg_isa cap, have = processor();
    return wg_isa_cap(&cap, NULL) == WG_OK && cap < have ? cap : have;
}
