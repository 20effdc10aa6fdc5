/* A product of a transposed matrix reads the matrix where it lies: matmul and linear take operands
 * either way round, so the copy that a permutation makes is not needed.  In most cases nothing else
 * reads it, and it is dropped with the rest of the dead code. */
#include "backends/plan/planner.h"
#include "wengert/graph/rule.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* x if v is x with its last two axes exchanged, else NULL. */
static wg_value *transposed(const wg_value *v)
{
    if (v->node->op != &wg_op_permute)
        return NULL;
    const wg_permute_attrs *a = v->node->attrs;
    int rank = a->order.count;
    bool holds = rank >= 2;
    for (int k = 0; k < rank && holds; k++)
        holds = wg_normalize_axis(a->order.axis[k], rank) == (k < rank - 2 ? k : 2 * rank - 3 - k);
    return holds ? v->node->in[0] : NULL;
}

/* Whether n multiplies a transposed matrix at operand k. */
static bool turns(const wg_node *n, int k)
{
    bool takes = n->op == &wg_op_matmul ? k < 2 : n->op == &wg_op_linear && k == 1;
    return takes && transposed(n->in[k]);
}

static bool turns_any(const wg_graph *g)
{
    for (size_t i = 0; i < wg_graph_node_count(g); i++)
        for (int k = 0; k < wg_graph_node(g, i)->n_in; k++)
            if (turns(wg_graph_node(g, i), k))
                return true;
    return false;
}

/* The copy of n that takes such operands the other way round. */
static bool copy_turned(wg_graph *to, const wg_node *n, wg_value **map)
{
    union {
        wg_matmul_attrs matmul;
        wg_linear_attrs linear;
    } attrs;
    wg_value *in[4];
    wg_node like = *n;
    memcpy(&attrs, n->attrs, n->op->attrs_size);
    for (int k = 0; k < n->n_in; k++) {
        bool turned = turns(n, k);
        in[k] = map[(turned ? transposed(n->in[k]) : n->in[k])->id];
        if (n->op == &wg_op_linear)
            attrs.linear.in_first ^= turned;
        else if (k == 0)
            attrs.matmul.transpose_a ^= turned;
        else
            attrs.matmul.transpose_b ^= turned;
    }
    like.attrs = &attrs;
    const wg_node *copy = wg_node_copy(to, &like, in, WG_DTYPE_DEFAULT);
    if (copy)
        map[n->out[0]->id] = copy->out[0];
    return copy && wg_name_copy(copy->out[0], n->out[0]);
}

static bool copy_all(const wgi_planner *p, wg_graph *to, const bool *needed, wg_value **map)
{
    bool ok = true;
    for (size_t i = 0; ok && i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        bool turned = false;
        for (int k = 0; k < n->n_in; k++)
            turned = turned || turns(n, k);
        if (needed[i] || wgi_is_outer(n)) /* the caller may fill a leaf */
            ok = turned ? copy_turned(to, n, map)
                        : wgi_node_copy_mapped(to, n, map, WG_DTYPE_DEFAULT) != NULL;
    }
    return ok;
}

bool wgi_pass_transposes(wgi_planner *p)
{
    if (p->options.no_fuse || !turns_any(p->g))
        return true;
    wg_graph *to = wg_graph_new();
    bool *needed = wgi_needed_nodes(p->g, p->marks);
    wg_value **map = calloc(wg_graph_value_count(p->g) + 1, sizeof *map);
    bool ok = to && needed && map && copy_all(p, to, needed, map);
    free(needed);
    if (!ok) {
        wgi_planner_fail_as(p, to);
        wg_graph_free(to);
        free(map);
        return false;
    }
    wgi_planner_adopt(p, to, map);
    return true;
}
