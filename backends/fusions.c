/* The table of fusions: patterns of plain ops that some backend has one kernel for.  A pattern is written from its anchor
 * outward; each `matches` reads like the picture above it. */
#include "backends/plan_fuse.h"
#include "ops/norm.h"

/* v if it is computed by `op`, else NULL. */
static wg_node *made_by(const wg_value *v, const wg_op *op)
{
    return v && v->node->op == op ? v->node : NULL;
}

/* The one node that reads v; NULL if there are several readers, or one that is an output. */
static wg_node *only_reader(const wg_fusion_view *view, const wg_value *v)
{
    size_t first = view->first_reader[v->id], nodes = view->first_reader[v->id + 1] - first;
    return nodes == 1 && view->readers[v->id] == 1 ? view->reader[first] : NULL;
}

/* ---- attention between permutations -------------------------------------------------------------
 *
 *     q4, k4, v4 [B, T, H, d]  ->  permute  ->  attention  ->  permute  ->  y4        (and likewise its gradient)
 */

static bool swaps_heads(const wg_node *n)
{
    static const int order[] = {0, 2, 1, 3};
    if (!n || n->op != &wg_op_permute)
        return false;
    const wg_permute_attrs *a = n->attrs;
    for (int i = 0; i < 4; i++)
        if (a->order.count != 4 || wg_axis_of(a->order.axis[i], 4) != order[i])
            return false;
    return true;
}

/* Operands first ... first + count - 1 of n, all permuted, as they were before; the rest follows as it is. */
static bool before_permutes(const wg_node *n, int count, wg_fused *out)
{
    out->n_in = n->n_in;
    for (int i = 0; i < n->n_in; i++) {
        if (i < count && !swaps_heads(n->in[i]->node))
            return false;
        out->in[i] = i < count ? n->in[i]->node->in[0] : n->in[i];
    }
    return true;
}

/* Every result of n is read by one permutation alone, whose result is replaced; or by nothing. */
static bool after_permutes(const wg_fusion_view *view, const wg_node *n, wg_fused *out)
{
    for (int i = 0; i < n->n_out; i++) {
        if (view->readers[n->out[i]->id] == 0)
            continue;
        wg_node *reader = only_reader(view, n->out[i]);
        if (!swaps_heads(reader))
            return false;
        out->replaces[i] = reader->out[0];
    }
    return true;
}

static bool attention_by_token(const wg_fusion_view *view, wg_node *n, wg_fused *out)
{
    bool forward = n->op == &wg_op_attention;
    out->op = forward ? &wg_op_attention_by_token : &wg_op_attention_by_token_grad;
    out->attrs.attention = *(const wg_attention_attrs *)n->attrs;
    return before_permutes(n, forward ? 3 : 4, out) && after_permutes(view, n, out);
}

/* ---- layernorm of a residual sum ------------------------------------------------------------------
 *
 *     x + dropout(branch)  ->  layernorm
 */

static bool over_last_axis(const wg_node *norm)
{
    const wg_rownorm_attrs *a = norm->attrs;
    return a->axes <= 1;
}

/* Which operand of the sum is the branch: the one made by a dropout for this sum alone. */
static int dropped_operand(const wg_fusion_view *view, const wg_node *sum)
{
    for (int i = 0; i < 2; i++)
        if (made_by(sum->in[i], &wg_op_dropout) && only_reader(view, sum->in[i]) == sum)
            return i;
    return WG_NONE;
}

static bool residual_layernorm(const wg_fusion_view *view, wg_node *n, wg_fused *out)
{
    wg_node *sum = made_by(n->in[0], &wg_op_add);
    if (!sum || !over_last_axis(n) || !wg_shape_equal(&sum->in[0]->shape, &sum->in[1]->shape))
        return false;
    int branch = dropped_operand(view, sum);
    const wg_node *drop = branch == WG_NONE ? NULL : sum->in[branch]->node;
    out->op = &wg_op_residual_layernorm;
    out->attrs.residual =
        (wg_residual_layernorm_attrs){.eps = ((const wg_rownorm_attrs *)n->attrs)->eps};
    if (drop) {
        const wg_dropout_attrs *a = drop->attrs;
        out->attrs.residual.p = a->p;
        out->attrs.residual.key = a->key;
    }
    out->n_in = n->n_in + 1;
    out->in[0] = sum->in[drop ? 1 - branch : 0];
    out->in[1] = drop ? drop->in[0] : sum->in[1];
    for (int i = 1; i < n->n_in; i++)
        out->in[i + 1] = n->in[i];
    for (int i = 0; i < 3; i++)
        out->replaces[i] = n->out[i];
    out->replaces[3] = sum->out[0];
    return true;
}

/* Its gradient:   layernorm_grad  ->  dx  ->  dropout  ->  dbranch */
static bool residual_layernorm_grad(const wg_fusion_view *view, wg_node *n, wg_fused *out)
{
    const wg_value *dx = n->out[0];
    wg_node *drop = NULL;
    for (size_t i = view->first_reader[dx->id]; i < view->first_reader[dx->id + 1]; i++)
        if (view->reader[i]->op == &wg_op_dropout)
            drop = view->reader[i];
    if (!drop || !over_last_axis(n))
        return false;
    const wg_dropout_attrs *a = drop->attrs;
    out->op = &wg_op_residual_layernorm_grad;
    out->attrs.residual =
        (wg_residual_layernorm_attrs){a->p, a->key, ((const wg_rownorm_attrs *)n->attrs)->eps};
    out->n_in = n->n_in;
    for (int i = 0; i < n->n_in; i++)
        out->in[i] = n->in[i];
    for (int i = 0; i < 3; i++)
        out->replaces[i] = n->out[i];
    out->replaces[3] = drop->out[0];
    return true;
}

const wg_fusion wg_fusions[] = {
    {"attention by token", &wg_op_attention, attention_by_token},
    {"attention by token, gradient", &wg_op_attention_grad, attention_by_token},
    {"residual layernorm", &wg_op_layernorm, residual_layernorm},
    {"residual layernorm, gradient", &wg_op_layernorm_grad, residual_layernorm_grad},
    {NULL, NULL, NULL},
};
