/* Products of f32 on AMX (backends/simd/kernels/amx/product.c), where wg_isa_best says so: the simd
 * backend takes them, and onednn leaves them to it. */
#ifndef WG_BACKENDS_AMX_H
#define WG_BACKENDS_AMX_H

#include <stdbool.h>
#include <stdint.h>

/* Whether tiles are filled well by [m, k] [k, n], and used often enough for what packing costs */
static inline bool wgi_amx_pays(int64_t m, int64_t n, int64_t k)
{
    enum { FEWEST = 32, WORK = 1 << 20 };
    return m >= FEWEST && n >= FEWEST && k >= FEWEST && m * n >= WORK / k;
}

#endif
