/* Reductions of dense tensors: sums over the first axes; all kinds along the last axis, over middle
 * axes and over both ends; extremes over axes in more parts; integers and bools over any axes; and
 * the positions of extremes. */

#include "backends/simd/internal.h"
#include "wengert/ops/reduce.h"
#include "wengert/ops/select.h"

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
    const char *why = wgi_simd_refuses_empty_floats(n);
    if (why)
        return why;
    if (!leading_axes(n))
        return "not over leading axes alone";
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
    return (size_t)(simd_column_blocks(a.rows) * a.width) * wg_dtype_size(n->in[0]->dtype);
}

static void run_columns(wg_call *c)
{
    simd_columns a = columns_of(c->node);
    a.x = c->in[0];
    a.y = c->out[0];
    a.threads = c->threads;
    a.scratch = c->scratch;
    simd_floats(c)->column_sum(&a);
}

/* ---- along the last axes --------------------------------------------------------------------- */

static const struct {
    const wg_op *op;
    simd_reduction how;
} reductions[] = {
    {&wg_op_sum, SIMD_SUM},
    {&wg_op_mean, SIMD_MEAN},
    {&wg_op_prod, SIMD_PROD},
    {&wg_op_max, SIMD_MAX},
    {&wg_op_min, SIMD_MIN},
    {&wg_op_var, SIMD_VAR},
    {&wg_op_logsumexp, SIMD_LOGSUMEXP},
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

/* The axes of operand 0.  Everything below sees them in this way alone. */
static simd_parts parts_of(const wg_node *n)
{
    const wg_shape *x = &n->in[0]->shape;
    wg_axes axes = wg_normalize_axes(n->attrs, x->rank);
    simd_parts p = {.count = 0};
    bool is_reduced[WG_MAX_RANK] = {false};
    for (int i = 0; i < axes.count; i++)
        is_reduced[axes.axis[i]] = true;
    for (int i = 0; i < x->rank; i++) {
        if (x->dim[i] == 1)
            continue;
        if (!p.count || p.reduced[p.count - 1] != is_reduced[i]) {
            p.reduced[p.count] = is_reduced[i];
            p.size[p.count++] = 1;
        }
        p.size[p.count - 1] *= x->dim[i];
    }
    return p;
}

static bool over_last_axes(const wg_node *n)
{
    simd_parts p = parts_of(n);
    return (p.count == 1 || p.count == 2) && p.reduced[p.count - 1];
}

static const char *refuses_norm(const wg_node *n)
{
    bool other = n->op == &wg_op_vector_norm && ((const wg_vector_norm_attrs *)n->attrs)->p != 2;
    return other ? "not the Euclidean norm" : NULL;
}

static int64_t correction_of(const wg_node *n)
{
    return n->op == &wg_op_var ? ((const wg_var_attrs *)n->attrs)->correction : 0;
}

static const char *refuses_rows(const wg_node *n)
{
    enum { FEW = 16, LONG = 1 << 15 };
    int64_t count = wg_value_count(n->in[0]), rows = wg_value_count(n->out[0]);
    const char *why = wgi_simd_refuses_empty_floats(n);
    if (why)
        return why;
    if (!over_last_axes(n))
        return "neither over the first nor over the last axes alone";
    if (count / rows <= SIMD_SHORT_ROW)
        return "short rows";
    if (rows < FEW && count >= LONG && simd_reduce_pieces(reduction_of(n->op), count / rows) == 1)
        return "few long rows, which threads could not share";
    return refuses_norm(n);
}

static size_t rows_scratch(const wg_node *n, int threads)
{
    (void)threads;
    int64_t rows = wg_value_count(n->out[0]), width = wg_value_count(n->in[0]) / rows;
    int64_t pieces = simd_reduce_pieces(reduction_of(n->op), width);
    return pieces > 1 ? (size_t)(rows * pieces) * sizeof(double) : 0;
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
                     .correction = correction_of(n),
                     .threads = c->threads,
                     .partial = c->scratch};
    simd_floats(c)->reduce(&a);
}

/* ---- over the middle, of short rows, or over both ends --------------------------------------- */

/* x as [outer, middle, inner], if its parts are three at most and one is kept; else middle is 0.
 * For the last axes inner is 1. */
static simd_reduce_axes axes_of(const wg_node *n)
{
    simd_parts p = parts_of(n);
    const int64_t *size = p.size;
    bool first = p.count && p.reduced[0];
    switch (p.count) {
    case 0: return (simd_reduce_axes){.outer = 1, .middle = 1, .inner = 1};
    case 1: return (simd_reduce_axes){.outer = 1, .middle = !first, .inner = size[0]};
    case 2:
        return first ? (simd_reduce_axes){.outer = 1, .middle = size[0], .inner = size[1]}
                     : (simd_reduce_axes){.outer = size[0], .middle = size[1], .inner = 1};
    case 3:
        return (simd_reduce_axes){
            .outer = size[0], .middle = size[1], .inner = size[2], .ends = first};
    default: return (simd_reduce_axes){.middle = 0};
    }
}

static const char *refuses_axes(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty_floats(n);
    if (why)
        return why;
    simd_reduce_axes a = axes_of(n);
    if (!a.middle)
        return a.outer ? "all axes" : "axes in more than three parts";
    bool rows = a.inner == 1 && !a.ends;
    return rows && a.middle > SIMD_SHORT_ROW ? "long rows" : refuses_norm(n);
}

static void run_axes(wg_call *c)
{
    simd_reduce_axes a = axes_of(c->node);
    a.x = c->in[0];
    a.y = c->out[0];
    a.how = reduction_of(c->node->op);
    a.correction = correction_of(c->node);
    a.threads = c->threads;
    simd_floats(c)->reduce_axes(&a);
}

/* ---- extremes over axes in more parts -------------------------------------------------------- */

/* Part after part, the first first, each as [outer, middle, inner]: extremes have the same bits. */
static const char *refuses_parts(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty_floats(n);
    return why ? why : parts_of(n).count > 3 ? NULL : "axes in three parts";
}

/* The first part that is reduced, with those before and behind it; p becomes what is left. */
static simd_reduce_axes without_first(simd_parts *p)
{
    int at = !p->reduced[0], left = 0;
    simd_reduce_axes a = {.outer = at ? p->size[0] : 1, .middle = p->size[at], .inner = 1};
    for (int i = at + 1; i < p->count; i++)
        a.inner *= p->size[i];
    if (at) /* what was kept before it and behind it is one part */
        p->size[left++] = a.outer * (p->count > 2 ? p->size[2] : 1);
    for (int i = 2 * at + 1; i < p->count; i++)
        p->size[left++] = p->size[i];
    p->count = left;
    p->reduced[0] = false;
    p->reduced[1] = true;
    return a;
}

static bool is_done(const simd_parts *p)
{
    return p->count < 2 && !p->reduced[0];
}

/* Room for the results of the first two: later ones take their places in turn. */
static size_t parts_scratch(const wg_node *n, int threads)
{
    (void)threads;
    simd_parts p = parts_of(n);
    simd_reduce_axes first = without_first(&p), second = without_first(&p);
    return (size_t)(first.outer * first.inner + second.outer * second.inner) *
           wg_dtype_size(n->in[0]->dtype);
}

static void run_parts(wg_call *c)
{
    simd_parts p = parts_of(c->node);
    const void *x = c->in[0];
    char *to[] = {c->scratch, NULL};
    for (int i = 0; !is_done(&p); i++) {
        simd_reduce_axes a = without_first(&p);
        if (i == 0)
            to[1] = to[0] + (size_t)(a.outer * a.inner) * wg_dtype_size(c->node->in[0]->dtype);
        if (a.inner == 1) /* rows of any length are both ends, of which one has size 1 */
            a = (simd_reduce_axes){.outer = 1, .middle = a.outer, .inner = a.middle, .ends = true};
        a.x = x;
        a.y = is_done(&p) ? c->out[0] : to[i % 2];
        a.how = reduction_of(c->node->op);
        a.threads = c->threads;
        simd_floats(c)->reduce_axes(&a);
        x = a.y;
    }
}

/* ---- integers and bools ---------------------------------------------------------------------- */

static const struct {
    const wg_op *op;
    simd_fold_how how;
} folds[] = {
    {&wg_op_sum, SIMD_FOLD_SUM}, {&wg_op_prod, SIMD_FOLD_PROD}, {&wg_op_max, SIMD_FOLD_MAX},
    {&wg_op_min, SIMD_FOLD_MIN}, {&wg_op_any, SIMD_FOLD_MAX},   {&wg_op_all, SIMD_FOLD_MIN},
};

static simd_fold_how fold_of(const wg_op *op)
{
    int i = 0;
    while (folds[i].op != op)
        i++;
    return folds[i].how;
}

static const char *refuses_fold(const wg_node *n)
{
    wg_dtype dtype = n->in[0]->dtype;
    if (dtype != WG_I32 && dtype != WG_I64 && dtype != WG_BOOL)
        return "neither integers nor bools";
    return wg_value_count(n->in[0]) ? NULL : "an empty operand";
}

static size_t fold_scratch(const wg_node *n, int threads)
{
    size_t bytes = (size_t)wg_value_count(n->out[0]) * wg_dtype_size(n->out[0]->dtype);
    return threads > 1 && bytes <= SIMD_FOLD_SHARED ? bytes * SIMD_FOLD_PARTS : 0;
}

static void run_fold(wg_call *c)
{
    wg_dtype dtype = c->node->in[0]->dtype;
    const simd_fold a = {.x = c->in[0],
                         .y = c->out[0],
                         .parts = parts_of(c->node),
                         .how = fold_of(c->node->op),
                         .kind = dtype == WG_I32   ? SIMD_FOLD_I32
                                 : dtype == WG_I64 ? SIMD_FOLD_I64
                                                   : SIMD_FOLD_BYTE,
                         .threads = c->threads,
                         .scratch = c->scratch};
    simd_kernels(c)->fold(&a);
}

/* ---- where the extremes are ------------------------------------------------------------------ */

static simd_arg arg_of(const wg_node *n)
{
    wgi_axis x = simd_axis_of(&n->in[0]->shape, ((const wg_arg_attrs *)n->attrs)->axis);
    return (simd_arg){.outer = x.outer, .size = x.size, .inner = x.inner};
}

static const char *refuses_arg(const wg_node *n)
{
    enum { MIN_INNER = 4 };
    const char *why = wgi_simd_refuses_empty_floats(n);
    if (why)
        return why;
    simd_arg a = arg_of(n);
    if (a.inner > 1 && a.inner < MIN_INNER)
        return "few adjacent numbers";
    return a.size > INT32_MAX ? "too many numbers along the axis" : NULL;
}

static void run_arg(wg_call *c)
{
    simd_arg a = arg_of(c->node);
    a.x = c->in[0];
    a.y = c->out[0];
    a.smallest = c->node->op == &wg_op_argmin;
    a.threads = c->threads;
    simd_floats(c)->arg(&a);
}

const simd_kernel wgi_simd_reduce[] = {
    {&wg_op_sum, "columns", refuses_columns, columns_scratch, run_columns},
    {&wg_op_sum, "rows", refuses_rows, rows_scratch, run_rows},
    {&wg_op_mean, "rows", refuses_rows, rows_scratch, run_rows},
    {&wg_op_prod, "rows", refuses_rows, rows_scratch, run_rows},
    {&wg_op_max, "rows", refuses_rows, rows_scratch, run_rows},
    {&wg_op_min, "rows", refuses_rows, rows_scratch, run_rows},
    {&wg_op_var, "rows", refuses_rows, rows_scratch, run_rows},
    {&wg_op_logsumexp, "rows", refuses_rows, rows_scratch, run_rows},
    {&wg_op_vector_norm, "rows", refuses_rows, rows_scratch, run_rows},
    {&wg_op_sum, "axes", refuses_axes, NULL, run_axes},
    {&wg_op_mean, "axes", refuses_axes, NULL, run_axes},
    {&wg_op_prod, "axes", refuses_axes, NULL, run_axes},
    {&wg_op_max, "axes", refuses_axes, NULL, run_axes},
    {&wg_op_min, "axes", refuses_axes, NULL, run_axes},
    {&wg_op_var, "axes", refuses_axes, NULL, run_axes},
    {&wg_op_logsumexp, "axes", refuses_axes, NULL, run_axes},
    {&wg_op_vector_norm, "axes", refuses_axes, NULL, run_axes},
    {&wg_op_max, "parts", refuses_parts, parts_scratch, run_parts},
    {&wg_op_min, "parts", refuses_parts, parts_scratch, run_parts},
    {&wg_op_sum, "integers", refuses_fold, fold_scratch, run_fold},
    {&wg_op_prod, "integers", refuses_fold, fold_scratch, run_fold},
    {&wg_op_max, "integers", refuses_fold, fold_scratch, run_fold},
    {&wg_op_min, "integers", refuses_fold, fold_scratch, run_fold},
    {&wg_op_any, "bools", refuses_fold, fold_scratch, run_fold},
    {&wg_op_all, "bools", refuses_fold, fold_scratch, run_fold},
    {&wg_op_argmax, "axis", refuses_arg, NULL, run_arg},
    {&wg_op_argmin, "axis", refuses_arg, NULL, run_arg},
    {.op = NULL},
};
