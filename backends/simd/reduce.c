/* Reductions of dense tensors by own kernels: sums over the first axes, and all kinds along the
 * last. */

#include "backends/simd/internal.h"
#include "wengert/ops/reduce.h"

#include <math.h>

/* ---- sums over leading axes ------------------------------------------------------------------ */

/* How many leading axes are summed over, if no others are; else 0. */
static int leading_axes(const wg_node *n)
{
    int rank = n->in[0]->shape.rank;
    wg_axes axes = wg_normalize_axes(&((const wg_reduce_attrs *)n->attrs)->axes, rank);
    for (int i = 0; i < axes.count; i++)
        if (axes.axis[i] != i)
            return 0;
    return axes.count < rank ? axes.count : 0;
}

static const char *refuses_columns(const wg_node *n)
{
    enum { MIN_WIDTH = 16 }; /* a vector */
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    if (!leading_axes(n))
        return "not over leading axes alone";
    if (!wg_value_count(n->in[0]))
        return "an empty operand";
    return wg_value_count(n->out[0]) >= MIN_WIDTH ? NULL : "rows too short";
}

static simd_columns columns_of(const wg_node *n)
{
    int64_t width = wg_value_count(n->out[0]);
    return (simd_columns){.rows = wg_value_count(n->in[0]) / width, .width = width};
}

static size_t columns_scratch(const wg_node *n, int threads)
{
    (void)threads;
    simd_columns a = columns_of(n);
    return (size_t)(simd_column_blocks(a.rows) * a.width) * sizeof(float);
}

static void run_columns(wg_call *c)
{
    simd_columns a = columns_of(c->node);
    a.x = c->in[0];
    a.y = c->out[0];
    a.threads = c->threads;
    a.scratch = c->scratch;
    simd_kernels(c)->column_sum(&a);
}

/* ---- along the last axes --------------------------------------------------------------------- */

static const struct {
    const wg_op *op;
    simd_reduction how;
} reductions[] = {
    {&wg_op_sum, SIMD_SUM},          {&wg_op_mean, SIMD_MEAN}, {&wg_op_max, SIMD_MAX},
    {&wg_op_min, SIMD_MIN},          {&wg_op_var, SIMD_VAR},   {&wg_op_logsumexp, SIMD_LOGSUMEXP},
    {&wg_op_vector_norm, SIMD_NORM},
};

static simd_reduction reduction_of(const wg_op *op)
{
    int i = 0;
    while (reductions[i].op != op)
        i++;
    return reductions[i].how;
}

/* The attributes of all these ops begin with their axes. */
_Static_assert(offsetof(wg_reduce_attrs, axes) == 0 && offsetof(wg_var_attrs, axes) == 0 &&
                   offsetof(wg_vector_norm_attrs, axes) == 0,
               "axes come first");

static bool over_last_axes(const wg_node *n)
{
    int rank = n->in[0]->shape.rank;
    wg_axes axes = wg_normalize_axes(n->attrs, rank);
    for (int i = 0; i < axes.count; i++)
        if (axes.axis[i] != rank - axes.count + i)
            return false;
    return axes.count > 0;
}

static const char *refuses_rows(const wg_node *n)
{
    enum { FEW = 16, LONG = 1 << 15 };
    int64_t count = wg_value_count(n->in[0]), rows = wg_value_count(n->out[0]);
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    if (!over_last_axes(n))
        return "neither over the first nor over the last axes alone";
    if (!count)
        return "an empty operand";
    if (rows < FEW && count >= LONG)
        return "few long rows, which threads could not share";
    if (n->op == &wg_op_vector_norm && ((const wg_vector_norm_attrs *)n->attrs)->p != 2)
        return "not the Euclidean norm";
    return NULL;
}

static void run_rows(wg_call *c)
{
    const wg_node *n = c->node;
    int64_t rows = wg_value_count(n->out[0]);
    simd_reduce a = {.x = c->in[0],
                     .y = c->out[0],
                     .rows = rows,
                     .width = wg_value_count(n->in[0]) / rows,
                     .how = reduction_of(n->op),
                     .threads = c->threads};
    if (n->op == &wg_op_var)
        a.correction = ((const wg_var_attrs *)n->attrs)->correction;
    simd_kernels(c)->reduce(&a);
}

const simd_kernel wgi_simd_reduce[] = {
    {&wg_op_sum, "columns", refuses_columns, columns_scratch, run_columns},
    {&wg_op_sum, "rows", refuses_rows, NULL, run_rows},
    {&wg_op_mean, "rows", refuses_rows, NULL, run_rows},
    {&wg_op_max, "rows", refuses_rows, NULL, run_rows},
    {&wg_op_min, "rows", refuses_rows, NULL, run_rows},
    {&wg_op_var, "rows", refuses_rows, NULL, run_rows},
    {&wg_op_logsumexp, "rows", refuses_rows, NULL, run_rows},
    {&wg_op_vector_norm, "rows", refuses_rows, NULL, run_rows},
    {.op = NULL},
};
