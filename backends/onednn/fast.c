/* Which own kernels run: those of the best instruction set that the processor has and the cap allows. */
#include "backends/onednn/fast/fast.h"
#include "backends/isa.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const fast_table *chosen; /* a fact of the process, found once */

static void choose(void)
{
    static const fast_table *const tables[] = {
        [WG_ISA_SSE41] = &fast_base,
#if defined(__x86_64__)
        [WG_ISA_AVX2] = &fast_avx2,
        [WG_ISA_AVX512_CORE] = &fast_avx512,
        [WG_ISA_AVX512_CORE_VNNI] = &fast_avx512vnni,
#endif
    };
    chosen = tables[wg_isa_best()];
}

const fast_table *od_fast(void)
{
    pthread_once(&once, choose);
    return chosen;
}
