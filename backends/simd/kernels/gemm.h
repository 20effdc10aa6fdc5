/* Matrix products inside other kernels, each on the calling thread: by oneDNN's sgemm where the
 * library is built with it, since it is up to a tenth faster, and otherwise by product.c. */
#ifndef WG_BACKENDS_SIMD_KERNELS_GEMM_H
#define WG_BACKENDS_SIMD_KERNELS_GEMM_H

#include "backends/simd/kernels/kernels.h"

#if defined(WG_HAVE_ONEDNN)
#include "backends/dnnl.h"
#endif
void SIMD(product)(const simd_product *p);

/* With p's threads 1 and scratch of simd_gemm_scratch floats.  No bias, no relu.  To be called
 * within a parallel region, or where OpenMP gives one thread: oneDNN takes as many as it gives.
 * Sets *failed, which threads may share, if oneDNN has no memory for its copies of a and b. */
static inline void simd_gemm(const simd_product *p, bool *failed)
{
#if defined(WG_HAVE_ONEDNN)
    if (wgi_dnnl.sgemm(p->ta ? 'T' : 'N', p->tb ? 'T' : 'N', p->m, p->n, p->k, (float)p->alpha,
                       p->a, p->lda, p->b, p->ldb, (float)p->beta, p->c, p->ldc) != dnnl_success) {
#pragma omp atomic write
        *failed = true;
    }
#else
    (void)failed;
    SIMD(product)(p);
#endif
}

#endif
