/* The most probable classes of a linear layer in 8 bits, whose logits are made in blocks of classes
 * for topk.c and never written whole.  The rows of x are the lanes, a panel for each group, laid
 * out once; what they have in common are the rows of the weight, of which a thread lays out a block
 * when it comes to it. */
#include "backends/simd/kernels/topk.h"
#include "backends/simd/kernels/int8.h"
#include "backends/simd/kernels/team.h"

/* So many classes at once keep their sums in registers. */
#if defined(__AVX512F__)
enum { TOGETHER = 8 };
#elif defined(__AVX2__)
enum { TOGETHER = 2 };
#else
enum { TOGETHER = 1 };
#endif
enum { LANES = SIMD_TOPK_ROWS, VECTORS = LANES / SIMD_INT8_LANES };

/* A thread's block of weights, from class `first` on. */
typedef struct block_of_weights {
    int64_t *first;            /* -1: none yet                    */
    int32_t *raised;           /* [SIMD_TOPK_CLASSES]             */
    simd_int8_common *weights; /* [SIMD_TOPK_CLASSES, width padded] */
} block_of_weights;

static int64_t padded(const simd_int8_topk *a)
{
    return simd_int8_groups(a->width) * SIMD_INT8_GROUP;
}

static simd_int8_lane *panel_of(const simd_int8_topk *a, int64_t group)
{
    return (simd_int8_lane *)a->panels + group * LANES * padded(a);
}

static block_of_weights weights_of(const simd_int8_topk *a, int thread)
{
    size_t width = (size_t)padded(a), size = sizeof(int64_t) * (1 + SIMD_TOPK_CLASSES / 2) +
                                             SIMD_TOPK_CLASSES * width * sizeof(simd_int8_common);
    char *at = (char *)panel_of(a, simd_topk_groups(a->rows));
    int64_t *first = (int64_t *)(void *)(at + (size_t)thread * ((size + 7) / 8 * 8));
    int32_t *raised = (int32_t *)(void *)(first + 1);
    return (block_of_weights){first, raised,
                              (simd_int8_common *)(void *)(raised + SIMD_TOPK_CLASSES)};
}

/* block[c, lane] = x_scale[lane] weight_scale[c] (sum - raised[c]) + bias[c] of `classes` classes,
 * a constant where this is inlined. */
SIMD_INLINE void some_classes(const simd_int8_topk *a, int64_t group, int64_t c,
                              const block_of_weights *w, const float *scale, float *block,
                              const int classes)
{
    int64_t groups = simd_int8_groups(a->width);
    int32_t sums[TOGETHER][LANES];
    simd_int8_sums(w->weights + c * padded(a), panel_of(a, group), groups, classes, VECTORS,
                   sums[0]);
    for (int i = 0; i < classes; i++) {
        int64_t class = *w->first + c + i;
        int32_t raised = w->raised[c + i];
        float step = a->weight_scale[class], bias = a->bias ? a->bias[class] : 0;
        float *to = block + (c + i) * LANES;
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++)
            to[lane] = (float)(sums[i][lane] - raised) * scale[lane] * step + bias;
    }
}

static void make_logits(const void *of, int me, int64_t group, int64_t first, int64_t classes,
                        float *block)
{
    const simd_int8_topk *a = of;
    const block_of_weights w = weights_of(a, me);
    float scale[LANES] = {0};
    int64_t row = group * LANES, rows = a->rows - row < LANES ? a->rows - row : LANES, c = 0;
    memcpy(scale, a->x_scale + row, (size_t)rows * sizeof *scale);
    if (*w.first != first) { /* groups come one after the other with the same classes */
        for (int64_t i = 0; i < classes; i++)
            w.raised[i] = simd_int8_lay_common(a->weight + (first + i) * a->width, a->width,
                                               w.weights + i * padded(a));
        *w.first = first;
    }
    for (; c + TOGETHER <= classes; c += TOGETHER)
        some_classes(a, group, c, &w, scale, block, TOGETHER);
    for (; c < classes; c++)
        some_classes(a, group, c, &w, scale, block, 1);
}

static void make_panel(const void *args, int64_t group)
{
    const simd_int8_topk *a = args;
    int64_t row = group * LANES, rows = a->rows - row < LANES ? a->rows - row : LANES;
    simd_int8_lay_lanes(a->x + row * a->width, rows, a->width, LANES, panel_of(a, group));
}

void SIMD(int8_topk)(const simd_int8_topk *a)
{
    for (int thread = 0; thread < a->threads; thread++)
        *weights_of(a, thread).first = -1;
    simd_tasks(a->threads, simd_topk_groups(a->rows), make_panel, a);
    const simd_topk_of best = {make_logits, a,    a->values,  a->ids,  a->rows,
                               a->outputs,  a->k, a->threads, a->best, false};
    SIMD_OTHER(best_of_logits)(&best);
}
