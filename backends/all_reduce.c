#include "backends/all_reduce.h"
#include "wengert/ops/table.h"

#include <string.h>

static const wg_attr attrs[] = {WG_ATTR(INT, wg_all_reduce_attrs, bucket),
                                WG_ATTR(DTYPE, wg_all_reduce_attrs, wire)};

/* As of the sum as a whole. */
static bool infer(wg_node *n)
{
    return wg_op_all_reduce.infer(n);
}

/* A rank sends and receives in the memory of the results, which may be that of the operands. */
static bool overwrites(int result, int operand)
{
    return result == operand;
}

void wgi_all_reduce_alone(wg_call *c)
{
    for (int k = 0; k < c->node->n_in; k++)
        if (c->out[k] != c->in[k] && wg_value_count(c->node->in[k]) > 0)
            memcpy(c->out[k], c->in[k], wg_value_bytes(c->node->in[k]));
}

#define PART(part, formula_)                                                                       \
    const wg_op wgi_op_all_reduce_##part = {                                                       \
        .name = "all_reduce_" #part,                                                               \
        .formula = (formula_),                                                                     \
        .family = WG_FAMILY_REDUCTION,                                                             \
        .operands = "x*",                                                                          \
        .results = "y*",                                                                           \
        .flags = WG_OP_OPAQUE,                                                                     \
        .overwrites = overwrites,                                                                  \
        WG_ATTRS(wg_all_reduce_attrs, attrs),                                                      \
        .infer = infer,                                                                            \
        .reference = wgi_all_reduce_alone,                                                         \
    };
PART(start, "y = x, whose sum over all ranks is under way")
PART(wait, "y = the sum that an all_reduce_start has begun")

bool wgi_all_reduce_divide(wg_node *n, wg_value **y)
{
    wg_graph *g = n->graph;
    const wg_origin before = wg_graph_origin(g);
    wg_graph_set_origin(g, (wg_origin){n->scope, n->at ? n->at : n->op->name, n->phase});
    wg_node *start = wg_apply(NULL, g, &wgi_op_all_reduce_start, n->attrs, n->in, n->n_in);
    wg_node *wait =
        start ? wg_apply(NULL, g, &wgi_op_all_reduce_wait, n->attrs, start->out, start->n_out)
              : NULL;
    wg_graph_set_origin(g, before);
    for (int i = 0; wait && i < n->n_out; i++)
        y[i] = wait->out[i];
    return wait != NULL;
}
