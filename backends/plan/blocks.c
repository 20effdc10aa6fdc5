/* Convolutions in blocks of channels.  Where x is [N, C, H, W], oneDNN convolves fastest in the
 * layout [N, C / b, H, W, b], and would reorder x and y around every convolution.  This pass keeps
 * what lies between convolutions in blocks: the results of other convolutions, and of elementwise
 * ops, which work in any layout.  Any other reader gets the value converted back from blocks.
 *
 * Convolutions of one tap and stride 1 are as fast in our layout (docs/notes/performance.md) and
 * come along where their operand is in blocks already, or their result is wanted so.
 *
 * Only for plans without gradients of convolutions, which would need each value both ways, and not
 * where minimal filtering has many of the convolutions. */
#include "backends/plan/planner.h"
#include "backends/winograd.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/conv.h"
#include "wengert/ops/fused.h"

#include <stdlib.h>

typedef struct pass {
    wgi_planner *p;
    const wg_graph *from;
    wg_graph *to;
    int64_t block;
    bool *needed; /* [nodes] */
    bool *wanted; /* [values] in blocks, by a convolution of several taps behind it */
    wg_value **plain, **blocked; /* [values] in `to`; NULL: not there that way */
    int taken;                   /* convolutions */
} pass;

/* ---- what could be in blocks ----------------------------------------------------------------- */

static bool is_gradient(const wg_node *n)
{
    return n->op == &wg_op_conv2d_grad_x || n->op == &wg_op_conv2d_grad_w;
}

/* Whether there is a convolution, and no gradient of one. */
static bool applies(const wg_graph *g, const bool *needed)
{
    bool some = false, gradients = false;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        some |= needed[i] && n->op == &wg_op_conv2d;
        gradients |= needed[i] && is_gradient(n);
    }
    return some && !gradients;
}

static bool has_simd(const wgi_planner *p)
{
    bool has = false;
    for (size_t i = 0; i < p->backends.count; i++)
        has |= p->backends.open[i].backend == wg_simd_backend();
    return has;
}

/* Whether minimal filtering, which works in our layout, is to have more of the convolutions than it
 * takes to make up for the others, which are faster in blocks. */
static bool is_filtered(const wgi_planner *p, const bool *needed)
{
    const double share = 0.4;
    double all = 0, filtered = 0;
    for (size_t i = 0; i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        if (!needed[i] || n->op != &wg_op_conv2d)
            continue;
        wg_conv_geometry g =
            wg_conv_geometry_of(n->attrs, &n->in[0]->shape, &n->in[1]->shape, &n->out[0]->shape);
        double flops = wg_node_flops(n);
        all += flops;
        filtered += n->out[0]->dtype == WG_F32 && wgi_winograd_pays(&g) ? flops : 0;
    }
    return has_simd(p) && filtered > share * all;
}

static bool divides(const pass *s, const wg_value *v)
{
    return v->dtype == WG_F32 && v->shape.rank == 4 && v->shape.dim[1] % s->block == 0;
}

static bool may_convolve(const pass *s, const wg_node *n)
{
    return n->op == &wg_op_conv2d && divides(s, n->out[0]);
}

static bool is_pointwise(const wg_node *n)
{
    const wg_conv_attrs *a = n->attrs;
    const int64_t *w = n->in[1]->shape.dim;
    return a->groups == 1 && w[2] == 1 && w[3] == 1 && a->stride[1] == 1 && a->stride[2] == 1;
}

/* Whether n is a function of single elements, all of whose tensors could be in blocks. */
static bool is_elementwise(const pass *s, const wg_node *n)
{
    bool same = (n->op->flags & WG_OP_ELEMENTWISE) && !(n->op->flags & WG_OP_RANDOM) &&
                n->n_in > 0 && n->n_out == 1 && divides(s, n->out[0]);
    for (int k = 0; same && k < n->n_in; k++)
        same = n->in[k]->dtype == WG_F32 && wg_shape_equal(&n->in[k]->shape, &n->out[0]->shape);
    return same;
}

/* From the convolutions of several taps backwards. */
static void find_wanted(pass *s)
{
    for (size_t i = wg_graph_node_count(s->from); i-- > 0;) {
        const wg_node *n = wg_graph_node(s->from, i);
        bool convolves = may_convolve(s, n);
        int operands = convolves ? 1 : is_elementwise(s, n) ? n->n_in : 0;
        bool wants = s->needed[i] && operands &&
                     (s->wanted[n->out[0]->id] || (convolves && !is_pointwise(n)));
        for (int k = 0; wants && k < operands; k++)
            s->wanted[n->in[k]->id] = true;
    }
}

/* ---- values both ways ------------------------------------------------------------------------ */

/* v in the layout of `map`, by `op` from the other; NULL after an error. */
static wg_value *in_layout(pass *s, const wg_value *v, wg_value **map, wg_value *const *other,
                           const wg_op *op)
{
    wg_value **y = &map[v->id];
    if (*y || !other[v->id])
        return *y;
    const wg_block_attrs attrs = {s->block};
    const wg_node like = {.op = op,
                          .attrs = op->attrs_size ? &attrs : NULL,
                          .n_in = 1,
                          .scope = v->node->scope,
                          .at = v->node->at,
                          .phase = v->node->phase};
    const wg_node *n = wg_node_copy(s->to, &like, &other[v->id], WG_DTYPE_DEFAULT);
    if (n && wg_name_copy(n->out[0], v))
        *y = n->out[0];
    return *y;
}

static wg_value *plain(pass *s, const wg_value *v)
{
    return in_layout(s, v, s->plain, s->blocked, &wg_op_unblock_channels);
}

static wg_value *blocked(pass *s, const wg_value *v)
{
    return in_layout(s, v, s->blocked, s->plain, &wg_op_block_channels);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool copy_plain(pass *s, const wg_node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (!plain(s, n->in[k]))
            return false;
    return wgi_node_copy_mapped(s->to, n, s->plain, WG_DTYPE_DEFAULT) != NULL;
}

/* Adds `like` on those operands; its result is n's in blocks.  NULL after an error. */
static wg_node *add_blocked(pass *s, const wg_node *n, const wg_node *like, wg_value *const *in)
{
    wg_node *copy = wg_node_copy(s->to, like, in, WG_DTYPE_DEFAULT);
    return copy && wg_name_copy(copy->out[0], n->out[0]) ? copy : NULL;
}

static bool copy_elementwise(pass *s, const wg_node *n)
{
    wgi_operands operands;
    wg_value **in = wgi_operands_new(&operands, n->n_in);
    bool ok = in != NULL;
    for (int k = 0; ok && k < n->n_in; k++)
        ok = (in[k] = blocked(s, n->in[k])) != NULL;
    const wg_node *copy = ok ? add_blocked(s, n, n, in) : NULL;
    wgi_operands_free(&operands);
    if (copy)
        s->blocked[n->out[0]->id] = copy->out[0];
    return copy != NULL;
}

/* A node that no backend but the reference takes is left without readers, and n copied as it is. */
static bool copy_convolution(pass *s, const wg_node *n)
{
    const wgi_backends *b = &s->p->backends;
    wg_blocked_conv_attrs attrs = {*(const wg_conv_attrs *)n->attrs, s->block, false};
    wg_node like = *n;
    like.op = &wg_op_blocked_conv2d;
    like.attrs = &attrs;
    wg_value *in[3];
    for (int k = 0; k < n->n_in; k++)
        if (!(in[k] = k == 0 && divides(s, n->in[0]) ? blocked(s, n->in[0]) : plain(s, n->in[k])))
            return false;
    const wg_node *copy = add_blocked(s, n, &like, in);
    if (!copy)
        return false;
    if (!wgi_is_taken(b, b->count - 1, copy)) /* the last is the reference */
        return copy_plain(s, n);
    s->blocked[n->out[0]->id] = copy->out[0];
    s->taken++;
    return true;
}

/* Whether one of the first n operands is in blocks. */
static bool has_blocked(const pass *s, const wg_node *n, int operands)
{
    bool has = false;
    for (int k = 0; k < operands; k++)
        has |= s->blocked[n->in[k]->id] != NULL;
    return has;
}

static bool copy_node(pass *s, const wg_node *n)
{
    if (may_convolve(s, n) &&
        (!is_pointwise(n) || has_blocked(s, n, 1) || s->wanted[n->out[0]->id]))
        return copy_convolution(s, n);
    if (is_elementwise(s, n) && has_blocked(s, n, n->n_in))
        return copy_elementwise(s, n);
    return copy_plain(s, n);
}

static bool copy_all(pass *s)
{
    bool ok = true;
    for (size_t i = 0; ok && i < wg_graph_node_count(s->from); i++) {
        const wg_node *n = wg_graph_node(s->from, i);
        if (s->needed[i] || wgi_is_outer(n)) /* the caller may fill a leaf */
            ok = copy_node(s, n);
    }
    for (size_t i = 0; ok && i < s->p->marks.n_outputs; i++)
        ok = plain(s, s->p->marks.outputs[i].value);
    for (size_t i = 0; ok && i < s->p->marks.n_assigns; i++)
        ok = plain(s, s->p->marks.assigns[i].value);
    return ok;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* The graph with blocks of that size takes the place of the old one if a backend convolves so. */
static bool try_block(wgi_planner *p, bool *needed, int64_t block, bool *taken)
{
    size_t values = wg_graph_value_count(p->g);
    pass s = {.p = p, .from = p->g, .to = wg_graph_new(), .block = block, .needed = needed};
    s.wanted = calloc(values + 1, sizeof *s.wanted);
    s.plain = calloc(values + 1, sizeof *s.plain);
    s.blocked = calloc(values + 1, sizeof *s.blocked);
    bool ok = s.to && s.wanted && s.plain && s.blocked;
    if (ok) {
        find_wanted(&s);
        ok = copy_all(&s) || wgi_planner_fail_as(p, s.to);
    } else
        wgi_planner_fail_as(p, NULL);
    *taken = ok && s.taken;
    free(s.wanted);
    free(s.blocked);
    if (*taken)
        wgi_planner_adopt(p, s.to, s.plain);
    else {
        wg_graph_free(s.to);
        free(s.plain);
    }
    return ok;
}

bool wgi_pass_blocks(wgi_planner *p)
{
    static const int64_t blocks[] = {16, 8}; /* the widest vectors first */
    if (p->backends.count < 2 || p->options.no_fuse || p->options.keep_all)
        return true;
    bool *needed = wgi_needed_nodes(p->g, p->marks), ok = needed != NULL, taken = false;
    if (!ok)
        wgi_planner_fail_as(p, NULL);
    if (ok && applies(p->g, needed) && !is_filtered(p, needed))
        for (int i = 0; ok && !taken && i < WG_COUNT(blocks); i++)
            ok = try_block(p, needed, blocks[i], &taken);
    free(needed);
    return ok;
}
