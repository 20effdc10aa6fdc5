/* The most probable classes, of given logits and of a linear layer's, by kernels/topk.c,
 * kernels/linear_topk.c, kernels/screened_topk.c and kernels/int8_topk.c. */
#include "backends/simd/kernels/topk.h"
#include "backends/fixed.h"
#include "backends/simd/internal.h"
#include "wengert/ops/select.h"

static int64_t k_of(const wg_node *n)
{
    return ((const wg_topk_attrs *)n->attrs)->k;
}

static int64_t rows_of(const wg_node *n)
{
    return wg_value_count(n->out[0]) / k_of(n);
}

static const char *refuses(const wg_node *n)
{
    if (n->out[0]->dtype != WG_F32)
        return "not f32";
    for (int i = 0; i < n->n_in; i++)
        if (wg_value_count(n->in[i]) == 0)
            return "an empty operand";
    return k_of(n) >= 1 && k_of(n) <= SIMD_TOPK_CLASSES ? NULL : "none wanted, or many";
}

/* ---- of given logits ------------------------------------------------------------------------- */

static int64_t width_of(const wg_node *n)
{
    return n->in[0]->shape.dim[n->in[0]->shape.rank - 1];
}

static size_t scratch(const wg_node *n, int threads)
{
    return simd_topk_scratch(rows_of(n), width_of(n), k_of(n), threads);
}

static void run(wg_call *c)
{
    const wg_node *n = c->node;
    const simd_topk a = {
        .x = c->in[0],
        .values = c->out[0],
        .ids = c->out[1],
        .rows = rows_of(n),
        .width = width_of(n),
        .k = k_of(n),
        .threads = c->threads,
        .scratch = c->scratch,
    };
    simd_kernels(c)->topk(&a);
}

/* ---- of a linear layer ----------------------------------------------------------------------- */

static int64_t classes_of(const wg_node *n)
{
    return n->in[1]->shape.dim[0];
}

/* Floats of all panels, which come before the rest. */
static int64_t panels_of(const wg_node *n)
{
    return simd_topk_groups(rows_of(n)) * SIMD_TOPK_ROWS * width_of(n);
}

/* Largest logits of many rows are found by approximate ones. */
static bool is_screened(const wg_node *n)
{
    enum { CLASSES = 1024, WIDTH = 32, MOST_WIDTH = 4096 }; /* at least, at least, at most */
    return n->op == &wg_op_linear_topk && rows_of(n) > SIMD_TOPK_FEW && classes_of(n) >= CLASSES &&
           width_of(n) >= WIDTH && width_of(n) <= MOST_WIDTH &&
           k_of(n) + SIMD_SCREEN_SPARE <= SIMD_TOPK_CLASSES;
}

static size_t scratch_of_linear(const wg_node *n, int threads)
{
    size_t exact = (size_t)panels_of(n) * sizeof(float) +
                   simd_topk_scratch(rows_of(n), classes_of(n), k_of(n), threads),
           screened = is_screened(n) ? simd_screened_scratch(rows_of(n), width_of(n), classes_of(n),
                                                             k_of(n), threads)
                                     : 0;
    return exact > screened ? exact : screened;
}

/* Packed weights, where rows are few; approximate ones */
size_t wgi_simd_topk_keeps(const wg_node *n)
{
    if (!wgi_is_parameter(n->in[1]))
        return 0;
    if (is_screened(n))
        return simd_approximate_bytes(width_of(n), classes_of(n));
    bool few = rows_of(n) <= SIMD_TOPK_FEW;
    return few ? (size_t)simd_topk_packed(width_of(n), classes_of(n)) * sizeof(float) : 0;
}

static simd_linear_topk linear_of(const wg_call *c)
{
    const wg_node *n = c->node;
    return (simd_linear_topk){
        .x = c->in[0],
        .w = c->in[1],
        .bias = n->n_in > 2 ? c->in[2] : NULL,
        .values = c->out[0],
        .ids = c->out[1],
        .rows = rows_of(n),
        .width = width_of(n),
        .classes = classes_of(n),
        .k = k_of(n),
        .threads = c->threads,
        .panels = c->scratch,
        .scratch = (float *)c->scratch + panels_of(n),
        .as_they_are = n->op == &wg_op_linear_topk,
    };
}

static void run_screened(const wg_call *c, simd_kept *kept)
{
    const simd_screened_topk a = {linear_of(c), kept->data, c->scratch};
    if (!kept->made)
        simd_kernels(c)->approximate_classes(&a);
    kept->made = true;
    simd_kernels(c)->screened_topk(&a);
}

static void run_of_linear(wg_call *c)
{
    enum { RUNS_OF_SCREENED = 8, RUNS_OF_PACKED = 32 }; /* from then on, what is kept pays */
    simd_linear_topk a = linear_of(c);
    simd_kept *kept = simd_kept_of(c);
    bool screened = is_screened(c->node),
         pays = kept && simd_kept_pays(kept, screened ? RUNS_OF_SCREENED : RUNS_OF_PACKED);
    if (pays && screened) {
        run_screened(c, kept);
        return;
    }
    if (pays) {
        a.packed = kept->data;
        if (!kept->made)
            simd_kernels(c)->pack_classes(&a);
        kept->made = true;
    }
    simd_kernels(c)->linear_topk(&a);
}

/* ---- of a linear layer in 8 bits ------------------------------------------------------------- */

/* Bytes of the panels, up to where the rest is aligned. */
static size_t panels_of_int8(const wg_node *n, int threads)
{
    return (simd_int8_topk_panels(rows_of(n), width_of(n), threads) + 63) / 64 * 64;
}

static size_t scratch_of_int8(const wg_node *n, int threads)
{
    return panels_of_int8(n, threads) +
           simd_topk_scratch(rows_of(n), n->in[2]->shape.dim[0], k_of(n), threads);
}

/* x x_scale weight weight_scale bias? */
static void run_of_int8(wg_call *c)
{
    const wg_node *n = c->node;
    const simd_int8_topk a = {
        .x = c->in[0],
        .x_scale = c->in[1],
        .weight = c->in[2],
        .weight_scale = c->in[3],
        .bias = n->n_in > 4 ? c->in[4] : NULL,
        .values = c->out[0],
        .ids = c->out[1],
        .rows = rows_of(n),
        .width = width_of(n),
        .outputs = n->in[2]->shape.dim[0],
        .k = k_of(n),
        .threads = c->threads,
        .panels = c->scratch,
        .best = (char *)c->scratch + panels_of_int8(n, c->threads),
    };
    simd_kernels(c)->int8_topk(&a);
}

const simd_kernel wgi_simd_topk[] = {
    {&wg_op_log_softmax_topk, "rows", refuses, scratch, run},
    {&wg_op_linear_log_softmax_topk, "blocks of logits", refuses, scratch_of_linear, run_of_linear},
    {&wg_op_linear_topk, "blocks of logits", refuses, scratch_of_linear, run_of_linear},
    {&wg_op_quantized_linear_log_softmax_topk, "int8 blocks of logits", refuses, scratch_of_int8,
     run_of_int8},
    {.op = NULL},
};
