/* The most probable classes of a linear layer, whose logits x w' + bias are made in blocks of
 * classes for topk.c and never written whole.  The rows of x are transposed once, a panel [width,
 * SIMD_TOPK_ROWS] for each group; those of w are read as they lie, each number of them being
 * multiplied with a vector of rows. */
#include "backends/simd/kernels/topk.h"
#include "backends/simd/kernels/small.h"
#include "backends/simd/kernels/team.h"

static int64_t rows_of(const simd_linear_topk *a, int64_t group)
{
    int64_t rows = a->rows - group * SIMD_TOPK_ROWS;
    return rows < SIMD_TOPK_ROWS ? rows : SIMD_TOPK_ROWS;
}

static float *panel_of(const simd_linear_topk *a, int64_t group)
{
    return a->panels + group * SIMD_TOPK_ROWS * a->width;
}

/* block[c, lane] = bias[c] + w[c] . x[lane] */
static void make_logits(const void *of, int me, int64_t group, int64_t first, int64_t classes,
                        float *block)
{
    const simd_linear_topk *a = of;
    (void)me;
    int64_t vectors = (rows_of(a, group) + SIMD_LANES - 1) / SIMD_LANES;
    for (int64_t c = 0; a->bias && c < classes; c++)
        for (int64_t lane = 0; lane < SIMD_TOPK_ROWS; lane++)
            block[c * SIMD_TOPK_ROWS + lane] = a->bias[first + c];
    /* A whole block follows, and this is the first of the groups that it is for. */
    const bool more = first + 2 * SIMD_TOPK_CLASSES <= a->classes && group % SIMD_TOPK_BAND == 0;
    const simd_small product = {
        .m = classes,
        .n = vectors * SIMD_LANES,
        .k = a->width,
        .alpha = 1,
        .a = a->w + first * a->width,
        .a_row = a->width,
        .a_step = 1,
        .b = panel_of(a, group),
        .ldb = SIMD_TOPK_ROWS,
        .add = a->bias != NULL,
        .c = block,
        .ldc = SIMD_TOPK_ROWS,
        .next = more ? a->w + (first + SIMD_TOPK_CLASSES) * a->width : NULL,
    };
    simd_small_product(&product);
}

static void make_panel(const void *args, int64_t group)
{
    const simd_linear_topk *a = args;
    const float *x = a->x + group * SIMD_TOPK_ROWS * a->width;
    SIMD(rows_as_lanes)(x, a->width, rows_of(a, group), a->width, panel_of(a, group));
}

void SIMD(linear_topk)(const simd_linear_topk *a)
{
    simd_tasks(a->threads, simd_topk_groups(a->rows), make_panel, a);
    const simd_topk_of best = {make_logits, a,    a->values,  a->ids,    a->rows,
                               a->classes,  a->k, a->threads, a->scratch};
    SIMD(best_of_logits)(&best);
}
