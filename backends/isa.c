#define _DEFAULT_SOURCE /* syscall */
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
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char *const names[] = {
    "SSE41", "AVX2", "AVX2_VNNI", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_AMX", "ALL"};

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

static bool has_avx_vnni(void)
{
#if ASKS_PROCESSOR
    enum { LEAF = 7, PART = 1, AVX_VNNI = 1 << 4 };
    unsigned a, b, c, d;
    return __get_cpuid_count(LEAF, PART, &a, &b, &c, &d) && a & AVX_VNNI;
#else
    return __builtin_cpu_supports("avxvnni");
#endif
}
#endif

/* Tiles are 8 KiB of registers for each thread.  Linux keeps them for a process only if that has
 * asked it to; then threads that began before may use them as well. */
static bool may_use_tiles(void)
{
#if defined(__linux__) && defined(__x86_64__)
    enum { REQUEST_PERMISSION = 0x1023 /* ARCH_REQ_XCOMP_PERM */, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static bool has_amx(void)
{
#if !defined(__x86_64__)
    bool has = false;
#elif ASKS_PROCESSOR
    enum { LEAF = 7, TILE = 1 << 24, BF16 = 1 << 22 };
    unsigned a, b, c, d;
    bool has = __get_cpuid_count(LEAF, 0, &a, &b, &c, &d) && d & TILE && d & BF16;
#else
    bool has = __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16");
#endif
    return has && may_use_tiles();
}

/* Without AMX, which must be asked for */
static wg_isa processor(void)
{
#if defined(__x86_64__)
    if (!has_f16c())
        return WG_ISA_SSE41;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512vnni") ? WG_ISA_AVX512_CORE_VNNI : WG_ISA_AVX512_CORE;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return has_avx_vnni() ? WG_ISA_AVX2_VNNI : WG_ISA_AVX2;
#endif
    return WG_ISA_SSE41;
}

wg_isa wg_isa_best(void)
{
    wg_isa cap, have = processor();
    if (wg_isa_cap(&cap, NULL) != WG_OK || cap == WG_ISA_ALL)
        return have;
    if (cap == WG_ISA_AVX512_CORE_AMX)
        return have == WG_ISA_AVX512_CORE_VNNI && has_amx() ? cap : have;
#if defined(__x86_64__)
    if (cap == WG_ISA_AVX2_VNNI && cap < have) /* which some with AVX-512 lack */
        return has_avx_vnni() ? cap : WG_ISA_AVX2;
#endif
    return cap < have ? cap : have;
}
