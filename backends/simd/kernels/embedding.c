/* The gradient of an embedding: dw = 0, then dw[ids[i]] += dy[i].  Every row of dw has one thread
 * that adds to it, in the order of the ids: the same bits at any number of threads.  Rows go to
 * threads in turn, since small ids are often the frequent ones. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

static void add_share(const void *args, simd_member m)
{
    enum { ROWS = 64 }; /* zeroed at a time */
    const simd_embedding *a = args;
    int64_t blocks = (a->rows + ROWS - 1) / ROWS;
    for (int64_t b = simd_first(m, blocks); b < simd_end(m, blocks); b++) {
        int64_t row = b * ROWS, rows = a->rows - row < ROWS ? a->rows - row : ROWS;
        memset(a->dw + row * a->width, 0, (size_t)(rows * a->width) * sizeof(float));
    }
    simd_meet(m);
    for (int64_t i = 0; i < a->count; i++) {
        int64_t id = a->ids64 ? a->ids64[i] : a->ids32[i];
        if (id % m.team != m.me)
            continue;
        float *restrict dw = a->dw + id * a->width;
        const float *restrict dy = a->dy + i * a->width;
        for (int64_t j = 0; j < a->width; j++)
            dw[j] += dy[j];
    }
}

void SIMD(embedding_grad)(const simd_embedding *a)
{
    simd_team((a->rows + a->count) * a->width < 1 << 14 ? 1 : a->threads, add_share, a);
}
