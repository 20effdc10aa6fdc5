/* guard: y = x, if all checks are finite.  check_lengths: y = x, if all are in their range. */
#include "ops/ops_internal.h"
#include "wengert/ops/guard.h"
#include "wengert/ops/table.h"

#include <string.h>

static bool infer(wg_node *n)
{
    for (int i = 1; i < n->n_in; i++)
        if (!wg_need_float(n, i))
            return false;
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static void grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = dy[0];
}

static const wg_sample samples[] = {
    {"no check", NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"checks",
     NULL,
     3,
     {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 1, 5), WG_FLOATS(-2, 2, 0, 0)}},
};

const wg_op wg_op_guard = {
    .name = "guard",
    .formula = "y = x, if all checks are finite",
    .family = WG_FAMILY_ORDER,
    .operands = "x check*",
    .results = "y",
    .flags = WG_OP_OPAQUE,
    .inplace = 1,
    .smoothness = WG_PIECEWISE_LINEAR,
    .reads = WG_READS_NOTHING,
    .infer = infer,
    .grad = grad,
    WG_SAMPLES(samples),
};

wg_value *(wg_guard)(const char *at, wg_value *x, wg_value *const *checks, size_t n_checks)
{
    enum { MAX = 15 };
    wg_value *in[1 + MAX] = {x};
    if (!x)
        return NULL;
    if (n_checks > MAX || (n_checks && !checks))
        return wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, "guard",
                             "no list of %zu checks, at most %d are allowed", n_checks, MAX);
    for (size_t i = 0; i < n_checks; i++)
        in[1 + i] = checks[i];
    return wgi_apply_list(at, &wg_op_guard, NULL, in, 1 + n_checks);
}

/* ---- check_lengths --------------------------------------------------------------------------- */

static const wg_attr lengths_attrs[] = {
    WG_ATTR(INT, wg_check_lengths_attrs, max),
    WG_ATTR(TEXT, wg_check_lengths_attrs, of),
};

static bool infer_lengths(wg_node *n)
{
    const wg_check_lengths_attrs *a = n->attrs;
    if (a->max < 0)
        return wg_fail(n, WG_EINVAL, "max is %lld, must not be negative", (long long)a->max);
    return wg_need_int(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static const wg_sample lengths_samples[] = {
    {NULL, &(const wg_check_lengths_attrs){4, "lstm"}, 1, {WG_INTS(0, 5, 1, 3)}},
};

const wg_op wg_op_check_lengths = {
    .name = "check_lengths",
    .formula = "y = x, if all x are in [0, max]",
    .family = WG_FAMILY_ORDER,
    .operands = "x",
    .results = "y",
    .flags = WG_OP_DISCRETE,
    .inplace = 1,
    WG_ATTRS(wg_check_lengths_attrs, lengths_attrs),
    .infer = infer_lengths,
    WG_SAMPLES(lengths_samples),
};

wg_value *(wg_check_lengths)(const char *at, wg_value *x, int64_t max, const char *of)
{
    return wg_apply1(at, &wg_op_check_lengths, &(wg_check_lengths_attrs){max, of}, x);
}
