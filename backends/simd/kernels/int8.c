/* Rows of floats as integers of 8 bits, and products of such rows.
 *
 *     y[r, n] = x_scale[r] weight_scale[n] (sum over k of x[r, k] weight[n, k]) + bias[n]
 *
 * Outputs go in panels of so many as fill the registers with sums of some rows.  A panel's weights
 * are put side by side once, then all rows pass over them: they stay in the first cache. */
#include "backends/simd/kernels/int8.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/unrolled.h"

#include <float.h>
#include <math.h>

/* ---- quantize -------------------------------------------------------------------------------- */

static void quantize_row(const void *args, int64_t row)
{
    const simd_quantize *a = args;
    const float *x = a->x + row * a->width;
    int8_t *q = a->q + row * a->width;
    float top = simd_largest(x, a->width), inverse = a->steps / top;
    a->scale[row] = top <= a->min ? 0 : top / a->steps;
    if (top <= a->min || !(top <= FLT_MAX)) {
        memset(q, 0, (size_t)a->width);
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < a->width; i++)
        q[i] = (int8_t)(int32_t)rintf(x[i] * inverse);
}

void SIMD(quantize)(const simd_quantize *a)
{
    simd_tasks(a->threads, a->rows, quantize_row, a);
}

/* ---- the product ----------------------------------------------------------------------------- */

/* Sums in registers: ROWS x VECTORS, and what a step reads beside them. */
#if defined(__AVX512F__)
enum { VECTORS = 4 };
#else
enum { VECTORS = 2 };
#endif
enum { ROWS = 6 };
enum { PANEL = VECTORS * SIMD_INT8_LANES };

/* Scratch: rows of x as steps read them, how much each sum is raised, and a panel for each
 * thread. */
typedef struct pieces {
    simd_int8_common *x;
    int32_t *raised;
    simd_int8_lane *panel;
} pieces;

static pieces pieces_of(const simd_int8 *a)
{
    size_t width = (size_t)(simd_int8_groups(a->width) * SIMD_INT8_GROUP), rows = (size_t)a->rows;
    char *at = a->scratch;
    pieces p = {.raised = (int32_t *)(void *)at};
    at += (rows * sizeof *p.raised + 63) / 64 * 64;
    p.x = (simd_int8_common *)(void *)at;
    at += (rows * width * sizeof *p.x + 63) / 64 * 64;
    p.panel = (simd_int8_lane *)(void *)at;
    return p;
}

/* y of one row and the panel's outputs, from their sums. */
static void finish(const simd_int8 *a, int64_t r, int64_t first, int64_t outputs, int32_t raised,
                   const int32_t *sum)
{
    float *y = a->y + r * a->outputs + first, scale = a->x_scale[r];
    const float *scales = a->weight_scale + first, *bias = a->bias ? a->bias + first : NULL;
    if (!bias)
#pragma omp simd
        for (int64_t j = 0; j < outputs; j++)
            y[j] = (float)(sum[j] - raised) * scale * scales[j];
    else
#pragma omp simd
        for (int64_t j = 0; j < outputs; j++)
            y[j] = (float)(sum[j] - raised) * scale * scales[j] + bias[j];
    if (a->relu)
#pragma omp simd
        for (int64_t j = 0; j < outputs; j++)
            y[j] = y[j] < 0 ? 0 : y[j]; /* NaN stays */
}

/* `rows` rows of x from r on with a panel; `rows` is a constant wherever this is inlined. */
SIMD_INLINE void some_rows(const simd_int8 *a, const pieces *p, int64_t r, int64_t first,
                           int64_t outputs, const simd_int8_lane *panel, const int rows)
{
    int64_t groups = simd_int8_groups(a->width);
    int32_t sums[ROWS][PANEL];
    simd_int8_sums(p->x + r * groups * SIMD_INT8_GROUP, panel, groups, rows, VECTORS, sums[0]);
    for (int i = 0; i < rows; i++)
        finish(a, r + i, first, outputs, p->raised[r + i], sums[i]);
}

/* Outputs from `first` on, one panel at most, of the rows [r, end). */
static void one_panel(const simd_int8 *a, const pieces *p, int64_t first, int64_t r, int64_t end,
                      simd_int8_lane *panel)
{
    int64_t outputs = a->outputs - first < PANEL ? a->outputs - first : PANEL;
    simd_int8_lay_lanes(a->weight + first * a->width, outputs, a->width, PANEL, panel);
    for (; r + ROWS <= end; r += ROWS)
        some_rows(a, p, r, first, outputs, panel, ROWS);
    for (; r + 2 <= end; r += 2)
        some_rows(a, p, r, first, outputs, panel, 2);
    for (; r < end; r++)
        some_rows(a, p, r, first, outputs, panel, 1);
}

static void run_member(const void *args, simd_member m)
{
    const simd_int8 *a = args;
    const pieces p = pieces_of(a);
    int64_t panels = (a->outputs + PANEL - 1) / PANEL,
            width = simd_int8_groups(a->width) * SIMD_INT8_GROUP;
    /* Few panels: rows are shared out as well. */
    int64_t shares = panels >= 2 * a->threads ? 1 : a->threads;
    int64_t share = ((a->rows + shares - 1) / shares + ROWS - 1) / ROWS * ROWS;
    for (int64_t r = simd_first(m, a->rows); r < simd_end(m, a->rows); r++)
        p.raised[r] = simd_int8_lay_common(a->x + r * a->width, a->width, p.x + r * width);
    simd_meet(m);
    for (int64_t i = simd_first(m, panels * shares); i < simd_end(m, panels * shares); i++) {
        int64_t r = i % shares * share, end = r + share < a->rows ? r + share : a->rows;
        if (r < end)
            one_panel(a, &p, i / shares * PANEL, r, end, p.panel + m.me * PANEL * width);
    }
}

void SIMD(int8_linear)(const simd_int8 *a)
{
    simd_team(a->threads, run_member, a);
}
