/* The instruction set that kernels may use: the best one of the processor, up to a cap that the
 * environment may set.  With the cap, one machine can run and test every variant of a kernel up to
 * its own best. */
#ifndef WG_BACKENDS_ISA_H
#define WG_BACKENDS_ISA_H

#include "wengert/graph/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Instruction sets in ascending order; each includes the previous ones, except that many
 * processors with AVX-512 lack WG_ISA_AVX2_VNNI, which is WG_ISA_AVX2 there.  On other
 * architectures than x86-64 only WG_ISA_SSE41 (portable kernels) and WG_ISA_ALL differ. */
typedef enum wg_isa {
    WG_ISA_SSE41,            /* the project's kernels: the compiler's baseline */
    WG_ISA_AVX2,             /* with FMA and F16C */
    WG_ISA_AVX2_VNNI,        /* and products of 8-bit integers */
    WG_ISA_AVX512_CORE,      /* F, BW, DQ, VL */
    WG_ISA_AVX512_CORE_VNNI, /* and products of 8-bit integers */
    WG_ISA_AVX512_CORE_AMX,  /* and products of f32 on AMX, on request */
    WG_ISA_ALL               /* no cap */
} wg_isa;

/** The environment variable that sets the cap. */
#define WG_ISA_VARIABLE "WENGERT_MAX_CPU_ISA"

/** The name, as in the environment variable: "AVX2".  Static. */
WG_API const char *wg_isa_name(wg_isa isa);

/** Reads the cap from the environment variable; WG_ISA_ALL if it is not set or empty.  Its values
 * are those of oneDNN's ONEDNN_MAX_CPU_ISA, in upper or lower case: SSE41, AVX2, AVX2_VNNI,
 * AVX512_CORE, AVX512_CORE_VNNI, AVX512_CORE_AMX, ALL.  WG_EINVAL: any other value. */
WG_API WG_MUST_USE wg_status wg_isa_cap(wg_isa *cap, wg_error *error);

/** The best instruction set of this processor that the cap allows and the simd backend has kernels
 * for; never WG_ISA_ALL, and WG_ISA_AVX512_CORE_AMX only if that is the cap: its products take 0.6
 * of the time on a core of their own, and 1.4 of it where another hyperthread of the core is busy
 * (docs/performance.md). */
WG_API wg_isa wg_isa_best(void);

#ifdef __cplusplus
}
#endif
#endif
