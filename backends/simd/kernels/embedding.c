/* The gradient of an embedding: dw = 0, then dw[ids[i]] += dy[i].  Every row of dw has one thread
 * that adds to it, in the order of the ids: the same bits at any number of threads.  Rows go to
 * threads in turn, since small ids are often the frequent ones. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/unrolled.h"

/* Own rows, those whose ids leave the thread's number; one column is a constant. */
SIMD_INLINE void add_rows(const simd_embedding *a, simd_member m, int64_t width)
{
    const uint32_t team = (uint32_t)m.team, me = (uint32_t)m.me;
    for (int64_t i = 0; i < a->count; i++) {
        int64_t id = a->ids64 ? a->ids64[i] : a->ids32[i];
        if (team > 1 && (uint32_t)id % team != me)
            continue;
        float *restrict dw = a->dw + id * width;
        const float *restrict dy = a->dy + i * width;
        for (int64_t j = 0; j < width; j++)
            dw[j] += dy[j];
    }
}

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
    if (a->width == 1)
        add_rows(a, m, 1);
    else
        add_rows(a, m, a->width);
}

void SIMD(embedding_grad)(const simd_embedding *a)
{
    simd_team((a->rows + a->count) * a->width < 1 << 14 ? 1 : a->threads, add_share, a);
}
