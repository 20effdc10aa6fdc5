/* barrier: y = x, after the tokens. */
#include "ops/ops_internal.h"
#include "wengert/ops/barrier.h"
#include "wengert/ops/table.h"

#include <stdlib.h>

static bool infer(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static void grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)n;
    dx[0] = dy[0];
}

static const wg_sample samples[] = {
    {"no token", NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"tokens", NULL, 3, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 1, 5), WG_INTS(0, 9, 0, 0)}},
};

const wg_op wg_op_barrier = {
    .name = "barrier",
    .formula = "y = x, computed after the tokens",
    .family = WG_FAMILY_ORDER,
    .operands = "x token*",
    .results = "y",
    .flags = WG_OP_VIEW | WG_OP_OPAQUE,
    .smoothness = WG_PIECEWISE_LINEAR,
    .reads = WG_READS_NOTHING,
    .infer = infer,
    .grad = grad,
    WG_SAMPLES(samples),
};

wg_value *(wg_barrier)(const char *at, wg_value *x, wg_value *const *tokens, size_t n_tokens)
{
    wg_value *few[8], **in = few;
    if (!x)
        return NULL;
    if (n_tokens >= INT32_MAX || (n_tokens && !tokens))
        return wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, "barrier", "no list of %zu tokens",
                             n_tokens);
    if (n_tokens >= WG_COUNT(few) && !(in = malloc(sizeof *in * (n_tokens + 1))))
        return wg_graph_fail(wg_graph_of(x), WG_ENOMEM, at, "barrier", "out of memory");
    size_t n = 0;
    in[n++] = x;
    for (size_t i = 0; i < n_tokens; i++)
        if (tokens[i])
            in[n++] = tokens[i];
    wg_value *y = wgi_apply_list(at, &wg_op_barrier, NULL, in, n);
    if (in != few)
        free(in);
    return y;
}
