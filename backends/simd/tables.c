/* Which own kernels run: those of the best instruction set that the processor has and the cap
 * allows. */
#include "backends/simd/kernels/kernels.h"
#include "wengert/backends/isa.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const simd_table *chosen; /* a fact of the process, found once */

static void choose(void)
{
    static const simd_table *const tables[] = {
        [WG_ISA_SSE41] = &wgi_simd_table_base,
#if defined(__x86_64__)
        [WG_ISA_AVX2] = &wgi_simd_table_avx2,
        [WG_ISA_AVX512_CORE] = &wgi_simd_table_avx512,
        [WG_ISA_AVX512_CORE_VNNI] = &wgi_simd_table_avx512vnni,
#endif
    };
    chosen = tables[wg_isa_best()];
}

const simd_table *wgi_simd_kernels(void)
{
    pthread_once(&once, choose);
    return chosen;
}
