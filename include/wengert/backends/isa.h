/* The instruction set that kernels may use: what the processor has, below a cap that the
 * environment may set.  With it every variant of every kernel can be run, and is tested, on any
 * machine that has a better one. */
#ifndef WG_BACKENDS_ISA_H
#define WG_BACKENDS_ISA_H

#include "wengert/graph/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Each includes those before it.  On other processors than x86-64 only WG_ISA_SSE41 and WG_ISA_ALL
 * mean anything: the
 *  portable kernels, and whatever there is. */
typedef enum wg_isa {
    WG_ISA_SSE41,            /* kernels of our own: the baseline of the compiler */
    WG_ISA_AVX2,             /* with FMA */
    WG_ISA_AVX512_CORE,      /* F, BW, DQ, VL */
    WG_ISA_AVX512_CORE_VNNI, /* and products of 8-bit integers */
    WG_ISA_ALL               /* no cap */
} wg_isa;

#define WG_ISA_VARIABLE "WENGERT_MAX_CPU_ISA"

/** The name, as in the environment: "AVX2".  Static. */
WG_API const char *wg_isa_name(wg_isa isa);

/** The cap that the environment variable WENGERT_MAX_CPU_ISA sets, WG_ISA_ALL if it is not set or
 * empty.  Its values are
 *  the names above in any case, those of oneDNN's own ONEDNN_MAX_CPU_ISA.  WG_EINVAL: it is none of
 *  them, as `error` then says. */
WG_API WG_MUST_USE wg_status wg_isa_cap(wg_isa *cap, wg_error *error);

/** The best set of the running processor that own kernels have a variant for and the cap allows;
 * never WG_ISA_ALL. */
WG_API wg_isa wg_isa_best(void);

#ifdef __cplusplus
}
#endif
#endif
