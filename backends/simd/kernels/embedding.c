/* The gradient of an embedding: dw = 0, then dw[ids[i]] += dy[i].  Every row of dw has one thread
 * that adds to it, in the order of the ids: the same bits at any number of threads.  Rows go to
 * threads in turn, since small ids are often the frequent ones. */
#include "backends/simd/kernels/kernels.h"

#include <omp.h>

#define X(name, args) void SIMD(name)(const args *);
SIMD_KERNELS(X)
#undef X

void SIMD(embedding_grad)(const simd_embedding *a)
{
    enum { ROWS = 64 }; /* zeroed at a time */
    int threads = (a->rows + a->count) * a->width < 1 << 14 ? 1 : a->threads;
#pragma omp parallel num_threads(threads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
#pragma omp for schedule(static)
        for (int64_t row = 0; row < a->rows; row += ROWS)
            memset(a->dw + row * a->width, 0,
                   (size_t)((a->rows - row < ROWS ? a->rows - row : ROWS) * a->width) *
                       sizeof(float));
        for (int64_t i = 0; i < a->count; i++) {
            int64_t id = a->ids64 ? a->ids64[i] : a->ids32[i];
            if (id % team != me)
                continue;
            float *restrict dw = a->dw + id * a->width;
            const float *restrict dy = a->dy + i * a->width;
            for (int64_t j = 0; j < a->width; j++)
                dw[j] += dy[j];
        }
    }
}
