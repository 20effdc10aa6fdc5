/* Rows of floats as integers of 8 bits, and products of such rows.
 *
 *     y[r, n] = x_scale[r] weight_scale[n] (sum over k of x[r, k] weight[n, k]) + bias[n]
 *
 * Outputs go in panels of so many as fill the registers with sums of some rows.  A panel's weights are put side by side
 * once, then all rows pass over them: they stay in the first cache. */
#include "backends/onednn/fast/int8.h"

#include <float.h>
#include <math.h>
#include <omp.h>

#define X(name, args) void FAST(name)(const args *);
FAST_KERNELS(X)
#undef X

/* ---- quantize ------------------------------------------------------------------------------------------ */

/* The largest |x|, NaN if there is one: without their signs, floats are ordered like their bits. */
static float largest(const float *x, int64_t n)
{
    int32_t top = 0;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= INT32_MAX;
        top = bits > top ? bits : top;
    }
    float y;
    memcpy(&y, &top, sizeof y);
    return y;
}

void FAST(quantize)(const fast_quantize *a)
{
#pragma omp parallel for schedule(static) num_threads(a->threads)
    for (int64_t row = 0; row < a->rows; row++) {
        const float *x = a->x + row * a->width;
        int8_t *q = a->q + row * a->width;
        float top = largest(x, a->width), inverse = FAST_INT8_STEPS / top;
        a->scale[row] = top <= FAST_INT8_LEAST ? 0 : top / FAST_INT8_STEPS;
        if (top <= FAST_INT8_LEAST || !(top <= FLT_MAX)) {
            memset(q, 0, (size_t)a->width);
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < a->width; i++)
            q[i] = (int8_t)(int32_t)rintf(x[i] * inverse);
    }
}

/* ---- the product --------------------------------------------------------------------------------------- */

/* Sums in registers: ROWS x VECTORS, and what a step reads beside them. */
#if defined(__AVX512F__)
enum { ROWS = 6, VECTORS = 4 };
#else
enum { ROWS = 4, VECTORS = 2 };
#endif
enum { PANEL = VECTORS * FAST_INT8_LANES };

static int64_t groups_of(const fast_int8 *a)
{
    return (a->width + FAST_INT8_GROUP - 1) / FAST_INT8_GROUP;
}

/* Scratch: rows of x as steps read them, how much each sum is raised, and a panel for each thread. */
typedef struct pieces {
    fast_int8_x *x;
    int32_t *raised;
    fast_int8_weight *panel;
} pieces;

static pieces pieces_of(const fast_int8 *a)
{
    size_t width = (size_t)(groups_of(a) * FAST_INT8_GROUP), rows = (size_t)a->rows;
    char *at = a->scratch;
    pieces p = {.raised = (int32_t *)(void *)at};
    at += (rows * sizeof *p.raised + 63) / 64 * 64;
    p.x = (fast_int8_x *)(void *)at;
    at += (rows * width * sizeof *p.x + 63) / 64 * 64;
    p.panel = (fast_int8_weight *)(void *)at;
    return p;
}

static void lay_out_row(const fast_int8 *a, const pieces *p, int64_t r)
{
    int64_t width = groups_of(a) * FAST_INT8_GROUP;
    const int8_t *x = a->x + r * a->width;
    fast_int8_x *to = p->x + r * width;
    int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < a->width; k++) {
        to[k] = x[k];
        sum += x[k];
    }
    for (int64_t k = a->width; k < width; k++)
        to[k] = 0;
    p->raised[r] = FAST_INT8_RAISED * sum;
}

/* panel[group][output][in the group], 0 beyond the last output or input. */
static void lay_out_panel(const fast_int8 *a, int64_t first, int64_t outputs,
                          fast_int8_weight *panel)
{
    int64_t groups = groups_of(a), whole = a->width / FAST_INT8_GROUP;
    for (int64_t j = 0; j < PANEL; j++) {
        const int8_t *w = a->weight + (first + j) * a->width;
        int64_t known = j < outputs ? whole : 0;
        for (int64_t g = 0; g < known; g++)
            for (int i = 0; i < FAST_INT8_GROUP; i++)
                panel[(g * PANEL + j) * FAST_INT8_GROUP + i] =
                    (fast_int8_weight)(w[g * FAST_INT8_GROUP + i] + FAST_INT8_RAISED);
        for (int64_t g = known; g < groups; g++)
            for (int i = 0; i < FAST_INT8_GROUP; i++) {
                int64_t k = g * FAST_INT8_GROUP + i;
                panel[(g * PANEL + j) * FAST_INT8_GROUP + i] =
                    (fast_int8_weight)((j < outputs && k < a->width ? w[k] : 0) + FAST_INT8_RAISED);
            }
    }
}

/* y of one row and the panel's outputs, from their sums. */
static void finish(const fast_int8 *a, int64_t r, int64_t first, int64_t outputs, int32_t raised,
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
static inline __attribute__((always_inline)) void
some_rows(const fast_int8 *a, const pieces *p, int64_t r, int64_t first, int64_t outputs,
          const fast_int8_weight *panel, const int rows)
{
    int64_t groups = groups_of(a), width = groups * FAST_INT8_GROUP;
    const fast_int8_x *x = p->x + r * width;
    const fast_sums *weights = (const fast_sums *)(const void *)panel;
    fast_sums sum[ROWS][VECTORS]; /* indexed in loops that can be unrolled: registers */
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < VECTORS; v++)
            sum[i][v] = (fast_sums){0};
    for (int64_t g = 0; g < groups; g++) {
        fast_sums w[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            w[v] = weights[g * VECTORS + v];
        for (int i = 0; i < rows; i++) {
            int32_t group;
            memcpy(&group, x + i * width + g * FAST_INT8_GROUP, sizeof group);
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] = FAST_INT8_STEP(sum[i][v], w[v], group);
        }
    }
    int32_t stored[ROWS][PANEL];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < VECTORS; v++)
            FAST_INT8_STORE(stored[i] + v * FAST_INT8_LANES, sum[i][v]);
    for (int i = 0; i < rows; i++)
        finish(a, r + i, first, outputs, p->raised[r + i], stored[i]);
}

/* Outputs from `first` on, one panel at most, of the rows [r, end). */
static void one_panel(const fast_int8 *a, const pieces *p, int64_t first, int64_t r, int64_t end,
                      fast_int8_weight *panel)
{
    int64_t outputs = a->outputs - first < PANEL ? a->outputs - first : PANEL;
    lay_out_panel(a, first, outputs, panel);
    for (; r + ROWS <= end; r += ROWS)
        some_rows(a, p, r, first, outputs, panel, ROWS);
    for (; r + 2 <= end; r += 2)
        some_rows(a, p, r, first, outputs, panel, 2);
    for (; r < end; r++)
        some_rows(a, p, r, first, outputs, panel, 1);
}

void FAST(int8_linear)(const fast_int8 *a)
{
    const pieces p = pieces_of(a);
    int64_t panels = (a->outputs + PANEL - 1) / PANEL,
            panel_size = groups_of(a) * PANEL * FAST_INT8_GROUP;
    /* Few panels: rows are shared out as well. */
    int64_t shares = panels >= 2 * a->threads ? 1 : a->threads;
    int64_t share = ((a->rows + shares - 1) / shares + ROWS - 1) / ROWS * ROWS;
#pragma omp parallel num_threads(a->threads)
    {
#pragma omp for schedule(static)
        for (int64_t r = 0; r < a->rows; r++)
            lay_out_row(a, &p, r);
#pragma omp for schedule(static) collapse(2)
        for (int64_t i = 0; i < panels; i++)
            for (int64_t k = 0; k < shares; k++) {
                int64_t r = k * share, end = r + share < a->rows ? r + share : a->rows;
                if (r < end)
                    one_panel(a, &p, i * PANEL, r, end,
                              p.panel + omp_get_thread_num() * panel_size);
            }
    }
}
