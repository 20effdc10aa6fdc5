/* The most probable classes of a linear layer, or its largest logits, x w' + bias, which are made
 * in blocks of classes for topk.c and never written whole.
 *
 * Of many rows, those of x are transposed once, a panel [width, SIMD_TOPK_ROWS] for each group, and
 * those of w are read as they lie, each number of them being multiplied with a vector of rows.  Of
 * a few rows, as in the search for one sentence, most lanes of such a vector would be none: there,
 * squares of w are transposed in registers, or all of w once for many runs, and each number of x is
 * multiplied with a vector of classes.  Either way a logit is the sum of its terms in their order,
 * so its bits are the same. */
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/square.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/topk.h"

#include <string.h>

enum {
    FEW = SIMD_LANES < 8 ? 1 : SIMD_LANES / 2, /* if w is not packed */
    ROWS = SIMD_TOPK_FEW,
    LANES = SIMD_LANES,
    CLASSES = SIMD_TOPK_CLASSES,
    CHAINS = 4
};

/* ---- many rows ------------------------------------------------------------------------------- */

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

/* ---- few rows -------------------------------------------------------------------------------- */

/* sum[row, i] += x[row, k] w[i, k], k < terms, for the LANES rows i of w */
SIMD_INLINE void add_terms(const simd_linear_topk *a, int64_t k, const float *w, int64_t ldw,
                           int terms, float *sum)
{
    simd_vector column[LANES];
    simd_square_columns(w, ldw, column);
    for (int64_t row = 0; row < a->rows; row++, sum += CLASSES) {
        const float *x = a->x + row * a->width + k;
        simd_vector all = *(const simd_vector *)sum;
        SIMD_UNROLLED
        for (int i = 0; i < LANES; i++)
            if (i < terms)
                all += x[i] * column[i];
        *(simd_vector *)sum = all;
    }
}

/* The same at an edge: of `classes` rows of w, no more than LANES of them */
static void add_edge(const simd_linear_topk *a, int64_t k, const float *w, int64_t classes,
                     int64_t terms, float *sum)
{
    _Alignas(64) float square[LANES * LANES] = {0};
    for (int64_t c = 0; c < classes; c++)
        memcpy(square + c * LANES, w + c * a->width, (size_t)terms * sizeof *w);
    add_terms(a, k, square, LANES, (int)terms, sum);
}

/* sum[row, c] of a block of classes; lines of the next block of w are asked for. */
static void add_squares(const simd_linear_topk *a, int64_t first, int64_t classes,
                        float sum[ROWS][CLASSES])
{
    const float *w = a->w + first * a->width;
    bool more = first + 2 * CLASSES <= a->classes;
    for (int64_t k = 0; k < a->width; k += LANES)
        for (int64_t c = 0; c < classes; c += LANES) {
            const float *square = w + c * a->width + k;
            for (int64_t i = 0; more && i < LANES; i++)
                __builtin_prefetch(square + (CLASSES + i) * a->width, 0, 2);
            if (c + LANES <= classes && k + LANES <= a->width)
                add_terms(a, k, square, a->width, LANES, &sum[0][c]);
            else
                add_edge(a, k, square, simd_smaller(LANES, classes - c),
                         simd_smaller(LANES, a->width - k), &sum[0][c]);
        }
}

/* The same of a packed block, [width, CLASSES] */
static void add_packed(const simd_linear_topk *a, int64_t first, float sum[ROWS][CLASSES])
{
    for (int64_t row = 0; row < a->rows; row++)
        for (int64_t c = 0; c < CLASSES; c += CHAINS * LANES) {
            const float *x = a->x + row * a->width, *w = a->packed + first * a->width + c;
            simd_vector chain[CHAINS] = {{0}};
            for (int64_t k = 0; k < a->width; k++) {
                SIMD_UNROLLED
                for (int i = 0; i < CHAINS; i++)
                    chain[i] += x[k] * ((const simd_vector *)(w + k * CLASSES))[i];
            }
            SIMD_UNROLLED
            for (int i = 0; i < CHAINS; i++)
                ((simd_vector *)(sum[row] + c))[i] = chain[i];
        }
}

/* The same as make_logits */
static void make_few_logits(const void *of, int me, int64_t group, int64_t first, int64_t classes,
                            float *block)
{
    const simd_linear_topk *a = of;
    (void)me, (void)group;
    _Alignas(64) float sum[ROWS][CLASSES] = {{0}};
    if (a->packed)
        add_packed(a, first, sum);
    else
        add_squares(a, first, classes, sum);
    for (int64_t row = 0; a->bias && row < a->rows; row++)
        for (int64_t c = 0; c < classes; c++)
            sum[row][c] = a->bias[first + c] + sum[row][c];
    simd_transpose_matrix(sum[0], CLASSES, ROWS, classes, block, SIMD_TOPK_ROWS);
}

static void pack_block(const void *args, int64_t block)
{
    const simd_linear_topk *a = args;
    int64_t first = block * CLASSES, classes = simd_smaller(CLASSES, a->classes - first);
    float *to = a->packed + first * a->width;
    if (classes < CLASSES)
        memset(to, 0, (size_t)(CLASSES * a->width) * sizeof *to);
    simd_transpose_matrix(a->w + first * a->width, a->width, classes, a->width, to, CLASSES);
}

void SIMD(pack_classes)(const simd_linear_topk *a)
{
    simd_tasks(a->threads, simd_divide_up(a->classes, CLASSES), pack_block, a);
}

/* ---- of some classes ------------------------------------------------------------------------- */

void SIMD(some_logits)(const simd_linear_topk *a, int64_t row, const int64_t *ids, int64_t count,
                       float *logits)
{
    const float *x = a->x + row * a->width;
    memset(logits, 0, (size_t)count * sizeof *logits);
    for (int64_t k = 0; k < a->width; k++)
        for (int64_t i = 0; i < count; i++)
            logits[i] += x[k] * a->w[ids[i] * a->width + k];
    for (int64_t i = 0; a->bias && i < count; i++)
        logits[i] = a->bias[ids[i]] + logits[i];
}

/* ---- the best -------------------------------------------------------------------------------- */

static void make_panel(const void *args, int64_t group)
{
    const simd_linear_topk *a = args;
    const float *x = a->x + group * SIMD_TOPK_ROWS * a->width;
    SIMD(rows_as_lanes)(x, a->width, rows_of(a, group), a->width, panel_of(a, group));
}

void SIMD(linear_topk)(const simd_linear_topk *a)
{
    const bool few = a->rows <= (a->packed ? ROWS : FEW);
    if (!few)
        simd_tasks(a->threads, simd_topk_groups(a->rows), make_panel, a);
    const simd_topk_of best = {few ? make_few_logits : make_logits,
                               a,
                               a->values,
                               a->ids,
                               a->rows,
                               a->classes,
                               a->k,
                               a->threads,
                               a->scratch,
                               a->as_they_are};
    SIMD(best_of_logits)(&best);
}
