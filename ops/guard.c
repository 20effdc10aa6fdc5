/* guard: y = x, if all checks are finite. */
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
