/* Rows and lines that ids read or write: gather, the scatters, and segments of several rows. */
#include "graph/ids.h"
#include "backends/simd/internal.h"
#include "wengert/ops/index.h"
#include "wengert/ops/segment.h"

#include <math.h>

enum {
    SHORT = 8 /* numbers of a row that are not worth vectors, ids of a line not worth a call */
};

/* ---- one id for each number ------------------------------------------------------------------ */

/* ids [.., count, ..] along an axis of x [.., size, ..], and, of a scatter, of src [.., rows, ..]
 * (else -1): but for that axis all must have the same sizes, so that rows lie side by side. */
static const char *refuses_ids(const wg_node *n, int src)
{
    const wg_shape *x = &n->in[0]->shape, *ids = &n->in[1]->shape;
    const int64_t axis = ((const wg_index_attrs *)n->attrs)->axis;
    const int at = wg_normalize_axis(axis, x->rank);
    const wgi_axis of = wgi_axis_of(x, axis);
    if (wg_shape_count(ids) == 0 || of.size > INT32_MAX)
        return "no ids, or too long an axis";
    if (of.inner == 1 ? wgi_axis_of(ids, axis).size < SHORT : of.inner < SHORT)
        return "short rows";
    for (int i = 0; i < x->rank; i++)
        if (i != at &&
            (ids->dim[i] != x->dim[i] || (src >= 0 && n->in[src]->shape.dim[i] != ids->dim[i])))
            return "ids of some columns";
    return NULL;
}

static simd_ids ids_of(const wg_call *c)
{
    const wg_value *ids = c->node->in[1];
    const int64_t axis = ((const wg_index_attrs *)c->node->attrs)->axis;
    const wgi_axis x = wgi_axis_of(&c->node->in[0]->shape, axis);
    const bool wide = ids->dtype == WG_I64;
    return (simd_ids){.ids64 = wide ? c->in[1] : NULL,
                      .ids32 = wide ? NULL : c->in[1],
                      .outer = x.outer,
                      .size = x.size,
                      .count = wgi_axis_of(&ids->shape, axis).size,
                      .inner = x.inner};
}

static const char *refuses_gather(const wg_node *n)
{
    const size_t bytes = wg_dtype_size(n->in[0]->dtype);
    return bytes == 4 || bytes == 8 ? refuses_ids(n, -1) : "neither of 4 nor of 8 bytes";
}

/* x ids -> y */
static void run_gather(wg_call *c)
{
    bool failed = false;
    const simd_gather a = {
        .ids = ids_of(c), .x = c->in[0], .y = c->out[0], .threads = c->threads, .failed = &failed};
    simd_of_size(c, c->node->in[0]->dtype)->gather(&a);
    if (failed)
        wgi_ids_valid(c, 1, a.ids.size); /* says which */
}

static const char *refuses_scatter(const wg_node *n)
{
    const size_t bytes = wg_dtype_size(n->in[0]->dtype);
    return bytes == 4 || bytes == 8 ? refuses_ids(n, 2) : "neither of 4 nor of 8 bytes";
}

static size_t scatter_scratch(const wg_node *n, int threads)
{
    (void)threads;
    const wgi_axis ids = wgi_axis_of(&n->in[1]->shape, ((const wg_index_attrs *)n->attrs)->axis);
    return ids.inner == 1 ? 0 : (size_t)(ids.outer * ids.size) * sizeof(int32_t);
}

/* x ids src -> y */
static void run_scatter(wg_call *c)
{
    const wg_node *n = c->node;
    bool failed = false;
    const simd_scatter a = {
        .ids = ids_of(c),
        .from = c->in[2],
        .x = c->in[0],
        .y = c->out[0],
        .rows = wgi_axis_of(&n->in[2]->shape, ((const wg_index_attrs *)n->attrs)->axis).size,
        .join = n->op == &wg_op_scatter_add   ? SIMD_JOIN_SUM
                : n->op == &wg_op_scatter_max ? SIMD_JOIN_MAX
                : n->op == &wg_op_scatter_min ? SIMD_JOIN_MIN
                                              : SIMD_JOIN_LAST,
        .integers = wg_dtype_is_int(n->in[0]->dtype),
        .threads = c->threads,
        .row = c->scratch,
        .failed = &failed};
    simd_of_size(c, n->in[0]->dtype)->scatter(&a);
    if (failed)
        wgi_ids_valid(c, 1, a.ids.size);
}

/* ---- segments -------------------------------------------------------------------------------- */

static wgi_axis segments_of(const wg_node *n)
{
    return wgi_axis_of(&n->out[0]->shape, ((const wg_segment_attrs *)n->attrs)->axis);
}

static const char *refuses_segments(const wg_node *n)
{
    const wgi_axis y = segments_of(n);
    const char *why = wgi_simd_refuses_other_floats(n);
    if (why)
        return why;
    if (wg_value_count(n->in[0]) == 0 || wg_value_count(n->out[0]) == 0 || y.size > INT32_MAX)
        return "no ids, or too many segments";
    return y.inner < SHORT ? "short rows" : NULL;
}

/* x ids -> y */
static void run_segments(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_value *ids = n->in[1];
    const wgi_axis y = segments_of(n);
    const bool wide = ids->dtype == WG_I64, sum = n->op == &wg_op_segment_sum,
               max = n->op == &wg_op_segment_max;
    const int64_t count = wg_value_count(ids);
    const simd_scatter a = {.ids = {.ids64 = wide ? c->in[1] : NULL,
                                    .ids32 = wide ? NULL : c->in[1],
                                    .of_rows = true,
                                    .outer = y.outer,
                                    .size = y.size,
                                    .count = count,
                                    .inner = y.inner},
                            .from = c->in[0],
                            .y = c->out[0],
                            .rows = count,
                            .first = sum   ? 0
                                     : max ? -(double)INFINITY
                                           : (double)INFINITY,
                            .join = sum   ? SIMD_JOIN_SUM
                                    : max ? SIMD_JOIN_MAX
                                          : SIMD_JOIN_MIN,
                            .threads = c->threads};
    if (wgi_ids_valid(c, 1, y.size))
        simd_floats(c)->scatter(&a);
}

const simd_kernel wgi_simd_index[] = {
    {&wg_op_gather, "rows by id", refuses_gather, NULL, run_gather},
    {&wg_op_scatter, "rows by id", refuses_scatter, scatter_scratch, run_scatter},
    {&wg_op_scatter_add, "rows by id", refuses_scatter, scatter_scratch, run_scatter},
    {&wg_op_scatter_max, "rows by id", refuses_scatter, scatter_scratch, run_scatter},
    {&wg_op_scatter_min, "rows by id", refuses_scatter, scatter_scratch, run_scatter},
    {&wg_op_segment_sum, "rows by id", refuses_segments, NULL, run_segments},
    {&wg_op_segment_max, "rows by id", refuses_segments, NULL, run_segments},
    {&wg_op_segment_min, "rows by id", refuses_segments, NULL, run_segments},
    {.op = NULL},
};
