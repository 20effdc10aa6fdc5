/* The patterns around attention: of heads that are axes of their own, and of one projection. */
#include "backends/plan/patterns.h"

/* ---- attention between permutations -------------------------------------------------------------
 *
 *     q4, k4, v4 [B, T, H, d]  ->  permute  ->  attention  ->  permute  ->  y4
 *
 * and likewise its gradient. */

static bool swaps_heads(const wg_node *n)
{
    static const int order[] = {0, 2, 1, 3};
    if (!n || n->op != &wg_op_permute)
        return false;
    const wg_permute_attrs *a = n->attrs;
    for (int i = 0; i < 4; i++)
        if (a->order.count != 4 || wg_normalize_axis(a->order.axis[i], 4) != order[i])
            return false;
    return true;
}

/* Operands first ... first + count - 1 of n, all permuted, as they were before; the rest follows as
 * it is. */
static bool before_permutes(const wg_node *n, int count, wgi_fused *out)
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
static bool after_permutes(const wgi_fusion_view *view, const wg_node *n, wgi_fused *out)
{
    for (int i = 0; i < n->n_out; i++) {
        if (view->readers[n->out[i]->id] == 0)
            continue;
        wg_node *reader = wgi_only_reader(view, n->out[i]);
        if (!swaps_heads(reader))
            return false;
        out->replaces[i] = reader->out[0];
    }
    return true;
}

bool wgi_attention_by_token(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    bool forward = n->op == &wg_op_attention;
    out->op = forward ? &wg_op_attention_by_token : &wg_op_attention_by_token_grad;
    out->attrs.attention = *(const wg_attention_attrs *)n->attrs;
    return before_permutes(n, forward ? 3 : 4, out) && after_permutes(view, n, out);
}

/* ---- attention of one projection ----------------------------------------------------------------
 *
 *     x [B, T, H d + Hk (d + dv)]  ->  split in three  ->  reshape  ->  permute  ->  attention
 *
 * and its gradient, where the three results go the same way back to a concat. */

/* The split of x whose results are reshaped and permuted into operands first ... first + 2 of n, in
 * this order. */
static wg_node *split_of(const wg_node *n, int first)
{
    wg_node *split = NULL;
    for (int i = 0; i < 3; i++) {
        const wg_node *permute = n->in[first + i]->node;
        const wg_node *reshape =
            swaps_heads(permute) ? wgi_made_by(permute->in[0], &wg_op_reshape) : NULL;
        wg_node *from = reshape ? wgi_made_by(reshape->in[0], &wg_op_split) : NULL;
        if (!from || (split && from != split) || reshape->in[0] != from->out[i])
            return NULL;
        split = from;
    }
    const wg_split_attrs *a = split->attrs;
    bool last = wg_normalize_axis(a->axis, split->in[0]->shape.rank) == 2;
    return split->n_out == 3 && split->in[0]->shape.rank == 3 && last ? split : NULL;
}

/* The only concat of all results of n, permuted and reshaped back. */
static wg_node *concat_of(const wgi_fusion_view *view, const wg_node *n)
{
    wg_node *concat = NULL;
    for (int i = 0; i < 3; i++) {
        wg_node *permute = wgi_only_reader(view, n->out[i]);
        wg_node *reshape = swaps_heads(permute) ? wgi_only_reader(view, permute->out[0]) : NULL;
        wg_node *to = reshape && reshape->op == &wg_op_reshape && reshape->out[0]->shape.rank == 3
                          ? wgi_only_reader(view, reshape->out[0])
                          : NULL;
        if (!to || to->op != &wg_op_concat || to->n_in != 3 || to->in[i] != reshape->out[0])
            return NULL;
        concat = to;
    }
    const wg_concat_attrs *a = concat->attrs;
    return wg_normalize_axis(a->axis, 3) == 2 ? concat : NULL;
}

bool wgi_packed_attention(const wgi_fusion_view *view, wg_node *n, wgi_fused *out)
{
    bool forward = n->op == &wg_op_attention;
    int first = forward ? 0 : 1;
    wg_node *split = split_of(n, first), *concat = split && !forward ? concat_of(view, n) : NULL;
    if (!split || (!forward && (!concat || !swaps_heads(n->in[0]->node))))
        return false;
    const int64_t *q = n->in[first]->shape.dim, *k = n->in[first + 1]->shape.dim;
    out->attrs.packed =
        (wg_packed_attention_attrs){*(const wg_attention_attrs *)n->attrs, q[1], k[1], q[3]};
    if (!forward)
        out->in[out->n_in++] = n->in[0]->node->in[0];
    out->in[out->n_in++] = split->in[0];
    for (int i = first + 3; i < n->n_in; i++)
        out->in[out->n_in++] = n->in[i];
    out->op = forward ? &wg_op_packed_attention : &wg_op_packed_attention_grad;
    if (forward)
        return after_permutes(view, n, out);
    out->replaces[0] = concat->out[0];
    return true;
}
