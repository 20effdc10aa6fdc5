/* Comparisons, and the choice between two operands of 4 or 8 bytes. */

#include "backends/simd/internal.h"

enum { SHORT = 64 }; /* bytes of a vector: shorter rows would only be remainders of loops */

static bool has_short_rows(const wgi_rows *r)
{
    return r->rows > 1 && r->size < SHORT;
}

static const struct {
    const wg_op *op;
    simd_comparison how;
} comparisons[] = {
    {&wg_op_equal, SIMD_EQUAL},     {&wg_op_not_equal, SIMD_NOT_EQUAL},
    {&wg_op_less, SIMD_LESS},       {&wg_op_less_equal, SIMD_LESS_EQUAL},
    {&wg_op_greater, SIMD_GREATER}, {&wg_op_greater_equal, SIMD_GREATER_EQUAL},
};

static const char *refuses_compare(const wg_node *n)
{
    const char *why = wgi_simd_refuses_other_floats(n);
    if (why)
        return why;
    wgi_rows rows = wgi_rows_of(n);
    if (has_short_rows(&rows))
        return "short rows";
    return wg_value_count(n->out[0]) ? NULL : "an empty result";
}

static void run_compare(wg_call *c)
{
    wgi_rows rows = wgi_rows_of(c->node);
    int i = 0;
    while (comparisons[i].op != c->node->op)
        i++;
    simd_compare a = {.a = c->in[0],
                      .b = c->in[1],
                      .y = c->out[0],
                      .how = comparisons[i].how,
                      .rows = &rows,
                      .threads = c->threads};
    simd_floats(c)->compare(&a);
}

static const char *refuses_where(const wg_node *n)
{
    size_t bytes = wg_dtype_size(n->out[0]->dtype);
    if (bytes != 4 && bytes != 8)
        return "neither of 4 nor of 8 bytes";
    wgi_rows rows = wgi_rows_of(n);
    if (rows.step[0] && has_short_rows(&rows)) /* one condition a row is better here in any case */
        return "short rows";
    return wg_value_count(n->out[0]) ? NULL : "an empty result";
}

static void run_where(wg_call *c)
{
    wgi_rows rows = wgi_rows_of(c->node);
    simd_where a = {.condition = c->in[0],
                    .a = c->in[1],
                    .b = c->in[2],
                    .y = c->out[0],
                    .rows = &rows,
                    .threads = c->threads};
    simd_of_size(c, c->node->out[0]->dtype)->where(&a);
}

const simd_kernel wgi_simd_choose[] = {
    {&wg_op_equal, "comparison", refuses_compare, NULL, run_compare},
    {&wg_op_not_equal, "comparison", refuses_compare, NULL, run_compare},
    {&wg_op_less, "comparison", refuses_compare, NULL, run_compare},
    {&wg_op_less_equal, "comparison", refuses_compare, NULL, run_compare},
    {&wg_op_greater, "comparison", refuses_compare, NULL, run_compare},
    {&wg_op_greater_equal, "comparison", refuses_compare, NULL, run_compare},
    {&wg_op_where, "where", refuses_where, NULL, run_where},
    {.op = NULL},
};
