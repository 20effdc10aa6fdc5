/* The nodes that groups of elementwise nodes become, and the graph in which they stand. */
#include "backends/plan/elementwise.h"
#include "wengert/ops/elementwise.h"
#include "wengert/ops/fused.h"

#include <stdio.h>
#include <string.h>

/* Of operand k of n. */
static wgi_term term_of(const wgi_groups *s, const wgi_group *x, const wg_node *n, int k)
{
    wg_value *v = n->in[k];
    if (wgi_group_has(s, x, v))
        return (wgi_term){WGI_TERM_STEP, wgi_index_of(x->member, x->n, v->node->id), 0};
    v = wgi_unexpanded(v);
    if (wgi_is_number(n, k))
        return (wgi_term){WGI_TERM_NUMBER, 0, wgi_number_of(v)};
    return (wgi_term){WGI_TERM_OPERAND, wgi_index_of(x->operand, x->n_operands, v->id), 0};
}

/* Where each member was built, with ';' between them. */
static void write_lines(const wgi_groups *s, const wgi_group *x, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < x->n && used < size; i++) {
        const wg_node *n = wgi_node_at(s, x->member[i]);
        used += (size_t)snprintf(text + used, size - used, "%s%s@%s", i ? ";" : "", n->scope->path,
                                 n->at ? n->at : "");
    }
    text[size - 1] = '\0';
}

/* The text of the members' steps; false if it is too long. */
static bool write_steps(wgi_groups *s, const wgi_group *x, char *text, size_t size)
{
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = wgi_node_at(s, x->member[i]);
        wgi_element_step *to = &s->step[i];
        *to = (wgi_element_step){.op = n->op,
                                 .n_in = n->n_in,
                                 .result = wgi_index_of(x->result, x->n_results, n->out[0]->id)};
        if (n->op->attrs_size)
            memcpy(to->attrs.bytes, n->attrs, n->op->attrs_size);
        for (int k = 0; k < n->n_in; k++)
            to->in[k] = term_of(s, x, n, k);
    }
    return wgi_steps_write(s->step, x->n, text, size);
}

/* The node for the group, at the end of the new graph, if a backend has a kernel for it: *built.
 * false only after an error. */
static bool build(wgi_groups *s, const wgi_group *x, bool *built)
{
    char steps[WGI_STEPS_TEXT], lines[WGI_STEPS_TEXT];
    wg_value *in[WGI_STEP_OPERANDS], *out[WGI_STEP_RESULTS];
    const wgi_backends *b = &s->p->backends;
    const wg_fused_elementwise_attrs attrs = {steps, lines};
    wg_node like = *wgi_node_at(s, x->member[x->n - 1]); /* scope, line and phase of the last */
    like.op = &wg_op_fused_elementwise;
    like.attrs = &attrs;
    like.in = in;
    like.n_in = x->n_operands;
    like.out = out;
    like.n_out = x->n_results;
    for (int k = 0; k < x->n_operands; k++)
        in[k] = wg_graph_value(s->g, x->operand[k]);
    for (int k = 0; k < x->n_results; k++)
        out[k] = wg_graph_value(s->g, x->result[k]);
    write_lines(s, x, lines, sizeof lines);
    *built = write_steps(s, x, steps, sizeof steps) &&
             wgi_is_taken(b, b->count - 1, &like); /* the last is the reference */
    if (!*built)
        return true;
    for (int k = 0; k < x->n_operands; k++)
        in[k] = s->map[x->operand[k]];
    wg_node *n = wg_node_copy(s->to, &like, in, WG_DTYPE_DEFAULT);
    for (int k = 0; n && k < x->n_results; k++) {
        s->map[out[k]->id] = n->out[k];
        if (!wg_name_copy(n->out[k], out[k]))
            return false;
    }
    return n != NULL;
}

static bool copy(wgi_groups *s, const wg_node *n)
{
    return wgi_node_copy_mapped(s->to, n, s->map, WG_DTYPE_DEFAULT);
}

/* With the expands before them, which seemed superfluous. */
static bool copy_members(wgi_groups *s, const wgi_group *x)
{
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = wgi_node_at(s, x->member[i]);
        for (int k = 0; k < n->n_in; k++)
            if (!s->map[n->in[k]->id] && !copy(s, n->in[k]->node))
                return false;
        if (!copy(s, n))
            return false;
    }
    return true;
}

bool wgi_build_groups(wgi_groups *s)
{
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wgi_group *found = wgi_group_of(s, i);
        const wgi_group *x = wgi_is_worth_it(found) ? found : NULL;
        bool built = false;
        if (x && i != x->member[x->n - 1])
            continue;
        if (x && !build(s, x, &built))
            return false;
        if (x && !built && !copy_members(s, x))
            return false;
        const wg_op *op = wgi_node_at(s, i)->op;
        bool superfluous = (op == &wg_op_expand || (op->flags & WG_OP_FILL)) && !s->is_read[i];
        if (!x && !superfluous && !copy(s, wgi_node_at(s, i)))
            return false;
    }
    return true;
}
