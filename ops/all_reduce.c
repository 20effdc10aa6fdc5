/* all_reduce: sums over ranks.  A plan makes a start and a wait of it (backends/all_reduce.c). */
#include "ops/ops_internal.h"
#include "wengert/ops/all_reduce.h"
#include "wengert/ops/table.h"

enum { ORDERS = 4 }; /* the sum itself, and derivatives up to the third: each has other buckets */

static const wg_attr attrs[] = {WG_ATTR(INT, wg_all_reduce_attrs, bucket),
                                WG_ATTR(DTYPE, wg_all_reduce_attrs, wire)};

static const wg_all_reduce_attrs *attrs_of(const wg_node *n)
{
    return n->attrs;
}

/* Each result is like its operand. */
static bool set_results(wg_node *n)
{
    if (!wg_set_result_count(n, n->n_in))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!wg_set_result(n, i, n->in[i]->dtype, n->in[i]->shape))
            return false;
    return true;
}

static bool infer(wg_node *n)
{
    int64_t most = (int64_t)ORDERS * WG_MAX_BUCKETS;
    const int64_t bucket = attrs_of(n)->bucket;
    const wg_dtype wire = attrs_of(n)->wire;
    if (bucket < 0 || bucket >= most)
        return wg_fail(n, WG_EINVAL,
                       "bucket %lld: expected one of 0 to %d, to which each order of derivatives "
                       "adds %d, up to the third",
                       (long long)bucket, WG_MAX_BUCKETS - 1, WG_MAX_BUCKETS);
    if (wire && (wire != WG_BF16 || (n->n_in > 0 && n->in[0]->dtype == WG_F64)))
        return wg_fail(n, WG_EDTYPE, "messages of %s: expected bf16, for sums of f32 or less",
                       wg_dtype_name(wire));
    for (int i = 0; i < n->n_in; i++)
        if (!wg_need_float(n, i) || !wg_need_same_dtype(n, i, 0))
            return false;
    return set_results(n);
}

static void sum(const char *at, wg_value *const *x, size_t n, const wg_all_reduce_attrs *a,
                wg_value **y)
{
    wg_node *node = NULL;
    wg_graph *g = n > 0 && x[0] ? wg_graph_of(x[0]) : NULL;
    if (n > INT32_MAX)
        wg_graph_fail(g, WG_EINVAL, at, "all_reduce", "too many operands: %zu", n);
    else if (n > 0)
        node = wg_apply(at, g, &wg_op_all_reduce, a, x, (int)n);
    for (size_t i = 0; i < n; i++)
        y[i] = node ? node->out[i] : NULL;
}

/* dx = all_reduce(dy); those that are zero are so on all ranks, and are left out. */
static void grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_all_reduce_attrs a = *attrs_of(n);
    wg_value **list = wg_graph_alloc(n->graph, ((size_t)n->n_out + 1) * sizeof *list);
    size_t count = 0;
    a.bucket += WG_MAX_BUCKETS;
    for (int i = 0; list && i < n->n_out; i++)
        if (dy[i])
            list[count++] = dy[i];
    if (list)
        sum(WG_HERE, list, count, &a, list);
    count = 0;
    for (int i = 0; list && i < n->n_out; i++)
        if (dy[i])
            dx[i] = list[count++];
}

static const wg_all_reduce_attrs first = {0}, fifth = {.bucket = 5};
static const wg_sample samples[] = {
    {"one", &first, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"two", &fifth, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 1, 5)}},
};

const wg_op wg_op_all_reduce = {
    .name = "all_reduce",
    .formula = "y = sum of x over all ranks, for each x",
    .family = WG_FAMILY_REDUCTION,
    .operands = "x*",
    .results = "y*",
    .flags = WG_OP_OPAQUE,
    .smoothness = WG_PIECEWISE_LINEAR,
    .reads = WG_READS_NOTHING,
    WG_ATTRS(wg_all_reduce_attrs, attrs),
    .infer = infer,
    .grad = grad,
    WG_SAMPLES(samples),
};

void(wg_all_reduce)(const char *at, wg_value *const *x, size_t n, int64_t bucket, wg_value **y)
{
    sum(at, x, n, &(wg_all_reduce_attrs){.bucket = bucket}, y);
}
