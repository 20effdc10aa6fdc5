/* How single ops are built for K examples at once.  An op without a rule here is still vectorised,
 * by its expansion or by K copies (vmap.c): a rule only makes it fast. */
#include "autograd/vmap.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdio.h>
#include <string.h>

wg_shape wgi_vmap_shape(int64_t K, const wg_shape *shape)
{
    wg_shape s = {.rank = shape->rank + 1, .dim = {K}};
    for (int i = 0; i < shape->rank && i + 1 < WG_MAX_RANK; i++)
        s.dim[i + 1] = shape->dim[i];
    return s;
}

wg_value *wgi_vmap_repeat(wg_value *v, int64_t K)
{
    return v ? wg_expand(v, wgi_vmap_shape(K, &v->shape)) : NULL;
}

/* Operand i as [K, 1, ..., 1, shape], of at least rank `rank` without K, so that it broadcasts; an
 * operand that is not batched as it is. */
static wg_value *aligned(const wgi_vmap_node *m, int i, int rank)
{
    wg_value *v = m->in[i];
    const wg_shape *s = &m->node->in[i]->shape;
    if (!v || !m->batched[i] || s->rank >= rank)
        return v;
    wg_shape wide = {.rank = rank + 1, .dim = {m->size}};
    for (int k = 0; k < rank; k++)
        wide.dim[k + 1] = k < rank - s->rank ? 1 : s->dim[k - (rank - s->rank)];
    return wg_reshape(v, wide);
}

/* The node's op with other attributes on its batched operands. */
static bool apply(wgi_vmap_node *m, const void *attrs)
{
    const wg_node *n = m->node;
    wg_node *made = wg_apply(NULL, n->graph, n->op, attrs, m->in, n->n_in);
    for (int i = 0; made && i < n->n_out; i++)
        m->y[i] = made->out[i];
    return true;
}

static void repeat_all(wgi_vmap_node *m)
{
    for (int i = 0; i < m->node->n_in; i++)
        if (!m->batched[i]) {
            m->in[i] = wgi_vmap_repeat(m->in[i], m->size);
            m->batched[i] = true;
        }
}

/* The op takes operands of these shapes: tried in a graph of its own, since not every elementwise
 * op broadcasts. */
static bool accepts(const wgi_vmap_node *m)
{
    const wg_node *n = m->node;
    wg_graph *trial = wg_graph_new();
    wg_value *in[8] = {NULL};
    for (int i = 0; i < n->n_in; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        in[i] = m->in[i] ? wg_input(trial, name, m->in[i]->dtype, m->in[i]->shape) : NULL;
    }
    bool ok = wg_apply(NULL, trial, n->op, n->attrs, in, n->n_in) != NULL;
    if (wg_graph_status(trial) == WG_ENOMEM)
        wg_graph_fail(n->graph, WG_ENOMEM, NULL, "wg_vmap", "out of memory");
    wg_graph_free(trial);
    return ok;
}

/* Result element i depends on operand element i, broadcast. */
static bool elementwise(wgi_vmap_node *m)
{
    bool shared = false;
    if (m->node->n_in > 8)
        return false;
    for (int i = 0; i < m->node->n_in; i++) {
        m->in[i] = aligned(m, i, m->node->out[0]->shape.rank);
        shared |= !m->batched[i];
    }
    if (shared && !accepts(m))
        repeat_all(m);
    return apply(m, m->node->attrs);
}

/* All leading axes are rows. */
static bool rows(wgi_vmap_node *m)
{
    return apply(m, m->node->attrs);
}

/* With explicit positions, axis 0 of x is theirs. */
static bool rotary(wgi_vmap_node *m)
{
    return m->node->n_in == 1 && apply(m, m->node->attrs);
}

/* A copy of the attributes, in the graph. */
static void *copy_attrs(const wgi_vmap_node *m)
{
    void *copy = wg_graph_alloc(m->node->graph, m->node->op->attrs_size);
    if (copy)
        memcpy(copy, m->node->attrs, m->node->op->attrs_size);
    return copy;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static wg_axes shifted(const wg_axes *axes, int rank)
{
    wg_axes set = wg_normalize_axes(axes, rank);
    for (int i = 0; i < set.count; i++)
        set.axis[i]++;
    return set;
}

/* Attributes that are axes are those of operand 0: behind K, each is one further. */
static bool axes(wgi_vmap_node *m)
{
    const wg_op *op = m->node->op;
    int rank = m->node->in[0]->shape.rank;
    char *attrs = copy_attrs(m);
    if (!attrs)
        return true;
    for (int i = 0; i < op->n_attrs; i++) {
        void *field = attrs + op->attrs[i].offset;
        if (op->attrs[i].kind == WG_ATTR_AXES)
            *(wg_axes *)field = shifted(field, rank);
        else if (op->attrs[i].kind == WG_ATTR_AXIS)
            *(int64_t *)field = 1 + wg_normalize_axis(*(int64_t *)field, rank);
    }
    return apply(m, attrs);
}

/* The same where all operands have one rank. */
static bool axes_of_all(wgi_vmap_node *m)
{
    repeat_all(m);
    return axes(m);
}

/* A reduction.  Of a scalar it reduces an axis of size 1, since no axes would mean all of them. */
static bool reduction(wgi_vmap_node *m)
{
    if (m->node->in[0]->shape.rank > 0)
        return axes(m);
    const wg_op *op = m->node->op;
    char *attrs = copy_attrs(m);
    if (!attrs)
        return true;
    for (int i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].kind == WG_ATTR_AXES)
            *(wg_axes *)(attrs + op->attrs[i].offset) = WG_AXES(1);
        else if (op->attrs[i].kind == WG_ATTR_BOOL && strcmp(op->attrs[i].name, "keep") == 0)
            *(bool *)(attrs + op->attrs[i].offset) = false;
    m->in[0] = wg_reshape(m->in[0], WG_SHAPE(m->size, 1));
    return apply(m, attrs);
}

static bool permute(wgi_vmap_node *m)
{
    const wg_permute_attrs *a = m->node->attrs;
    wg_axes order = {.count = a->order.count + 1};
    for (int i = 0; i < a->order.count && i + 1 < WG_MAX_RANK; i++)
        order.axis[i + 1] = 1 + wg_normalize_axis(a->order.axis[i], a->order.count);
    m->y[0] = wg_permute(m->in[0], order);
    return true;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool reshape(wgi_vmap_node *m)
{
    m->y[0] = wg_reshape(m->in[0], wgi_vmap_shape(m->size, &m->node->out[0]->shape));
    return true;
}

static bool expand(wgi_vmap_node *m)
{
    const wg_shape *to = &m->node->out[0]->shape;
    m->y[0] = wg_expand(aligned(m, 0, to->rank), wgi_vmap_shape(m->size, to));
    return true;
}

static bool slice(wgi_vmap_node *m)
{
    wg_slice_attrs a = *(const wg_slice_attrs *)m->node->attrs;
    a.start = wgi_vmap_shape(0, &a.start);
    a.size = wgi_vmap_shape(m->size, &a.size);
    a.step = wgi_vmap_shape(1, &a.step);
    return apply(m, &a);
}

static bool slice_grad(wgi_vmap_node *m)
{
    wg_slice_grad_attrs a = *(const wg_slice_grad_attrs *)m->node->attrs;
    a.start = wgi_vmap_shape(0, &a.start);
    a.shape = wgi_vmap_shape(m->size, &a.shape);
    a.step = wgi_vmap_shape(1, &a.step);
    return apply(m, &a);
}

static bool pad(wgi_vmap_node *m)
{
    wg_pad_attrs a = *(const wg_pad_attrs *)m->node->attrs;
    a.before = wgi_vmap_shape(0, &a.before);
    a.after = wgi_vmap_shape(0, &a.after);
    return apply(m, &a);
}

/* ---- products, tables, images ---------------------------------------------------------------- */

/* Leading axes broadcast, before two axes of each operand. */
static bool matrices(wgi_vmap_node *m)
{
    for (int i = 0; i < 2; i++)
        m->in[i] = aligned(m, i, m->node->out[0]->shape.rank);
    return apply(m, m->node->attrs);
}

/* The permutations have one axis less than the matrices. */
static bool permute_rows(wgi_vmap_node *m)
{
    int rank = m->node->out[0]->shape.rank;
    m->in[0] = aligned(m, 0, rank);
    m->in[1] = aligned(m, 1, rank - 1);
    return apply(m, m->node->attrs);
}

/* A reduction of segments: its axis counts in the result. */
static bool segments(wgi_vmap_node *m)
{
    wg_segment_attrs a = *(const wg_segment_attrs *)m->node->attrs;
    a.axis = 1 + wg_normalize_axis(a.axis, m->node->out[0]->shape.rank);
    return apply(m, &a);
}

/* All examples have their window at one place: 0 along K. */
static wg_value *start_of_all(const wgi_vmap_node *m)
{
    wg_value *start = m->in[1], *zero = wg_fill(m->node->graph, start->dtype, WG_SHAPE(1), 0);
    return wg_concat((wg_value *[]){zero, start}, 2, 0);
}

static bool dynamic_slice(wgi_vmap_node *m)
{
    wg_dynamic_slice_attrs a = *(const wg_dynamic_slice_attrs *)m->node->attrs;
    a.size = wgi_vmap_shape(m->size, &a.size);
    m->in[1] = start_of_all(m);
    return apply(m, &a);
}

static bool dynamic_update_slice(wgi_vmap_node *m)
{
    for (int i = 0; i < 3; i += 2)
        m->in[i] = m->batched[i] ? m->in[i] : wgi_vmap_repeat(m->in[i], m->size);
    m->in[1] = start_of_all(m);
    return apply(m, m->node->attrs);
}

static wg_value *merge_first(wg_value *v)
{
    if (!v)
        return NULL;
    wg_shape s = v->shape;
    s.rank--;
    s.dim[0] *= s.dim[1];
    for (int i = 1; i < s.rank; i++)
        s.dim[i] = v->shape.dim[i + 1];
    return wg_reshape(v, s);
}

/* Axis 0 of the batched operands and of all results is itself a batch: [K, N, ...] is [K N, ...].
 */
static bool images(wgi_vmap_node *m)
{
    const wg_node *n = m->node;
    for (int i = 0; i < n->n_in; i++)
        if (m->batched[i])
            m->in[i] = merge_first(m->in[i]);
    apply(m, n->attrs);
    for (int i = 0; i < n->n_out; i++)
        m->y[i] = m->y[i] ? wg_reshape(m->y[i], wgi_vmap_shape(m->size, &n->out[i]->shape)) : NULL;
    return true;
}

static bool image_pairs(wgi_vmap_node *m)
{
    repeat_all(m);
    return images(m);
}

/* Losses of the examples of a batch: as long as they are not reduced, more examples are a larger
 * batch. */
static bool examples(wgi_vmap_node *m)
{
    const wg_ctc_attrs *a = m->node->attrs;
    return a->reduction == WG_LOSS_NONE && image_pairs(m);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { X = 1, SECOND = 2, THIRD = 4, ANY = ~0 }; /* which operands may be batched, as a set */

static const struct row {
    const wg_op *op;
    bool (*build)(wgi_vmap_node *m);
    int may;
} table[] = {
    {&wg_op_one_hot, rows, X},
    {&wg_op_layernorm, rows, X},
    {&wg_op_rmsnorm, rows, X},
    {&wg_op_linear, rows, X},
    {&wg_op_embedding, rows, SECOND},
    {&wg_op_barrier, rows, ANY},
    {&wg_op_guard, rows, ANY},
    {&wg_op_all_reduce, rows, ANY},
    {&wg_op_check_lengths, rows, ANY},
    {&wg_op_triangle, rows, X},
    {&wg_op_cholesky, rows, X},
    {&wg_op_lu, rows, X},
    {&wg_op_qr, rows, X},
    {&wg_op_eigh, rows, X},
    {&wg_op_svd, rows, X},
    {&wg_op_inverse, rows, X},
    {&wg_op_slogdet, rows, X},
    {&wg_op_pinv, rows, X},
    {&wg_op_matrix_exp, rows, X},
    {&wg_op_rotary, rotary, X},
    {&wg_op_softmax, axes, X},
    {&wg_op_log_softmax, axes, X},
    {&wg_op_cumsum, axes, X},
    {&wg_op_cumprod, axes, X},
    {&wg_op_cummax, axes, X},
    {&wg_op_cummin, axes, X},
    {&wg_op_sort, axes, X},
    {&wg_op_argmax, axes, X},
    {&wg_op_argmin, axes, X},
    {&wg_op_topk, axes, X},
    {&wg_op_flip, axes, X},
    {&wg_op_fft, axes, X},
    {&wg_op_rfft, axes, X},
    {&wg_op_irfft, axes, X},
    {&wg_op_complex_mul, elementwise, ANY},
    {&wg_op_roll, axes, X},
    {&wg_op_take, axes, X},
    {&wg_op_concat, axes_of_all, ANY},
    {&wg_op_gather, axes_of_all, ANY},
    {&wg_op_scatter, axes_of_all, ANY},
    {&wg_op_scatter_add, axes_of_all, ANY},
    {&wg_op_scatter_max, axes_of_all, ANY},
    {&wg_op_scatter_min, axes_of_all, ANY},
    {&wg_op_segment_sum, segments, X},
    {&wg_op_segment_max, segments, X},
    {&wg_op_segment_min, segments, X},
    {&wg_op_linear_scan, axes_of_all, ANY},
    {&wg_op_linear_scan_grad, axes_of_all, ANY},
    {&wg_op_sum, reduction, X},
    {&wg_op_mean, reduction, X},
    {&wg_op_max, reduction, X},
    {&wg_op_min, reduction, X},
    {&wg_op_prod, reduction, X},
    {&wg_op_var, reduction, X},
    {&wg_op_logsumexp, reduction, X},
    {&wg_op_vector_norm, reduction, X},
    {&wg_op_any, reduction, X},
    {&wg_op_all, reduction, X},
    {&wg_op_permute, permute, X},
    {&wg_op_reshape, reshape, X},
    {&wg_op_expand, expand, X},
    {&wg_op_slice, slice, X},
    {&wg_op_slice_grad, slice_grad, X},
    {&wg_op_pad, pad, X},
    {&wg_op_dynamic_slice, dynamic_slice, X},
    {&wg_op_dynamic_update_slice, dynamic_update_slice, X | THIRD},
    {&wg_op_matmul, matrices, ANY},
    {&wg_op_triangular_solve, matrices, ANY},
    {&wg_op_solve, matrices, ANY},
    {&wg_op_cholesky_solve, matrices, ANY},
    {&wg_op_lstsq, matrices, ANY},
    {&wg_op_permute_rows, permute_rows, ANY},
    {&wg_op_conv2d, images, X},
    {&wg_op_conv2d_grad_x, images, X},
    {&wg_op_conv3d, images, X},
    {&wg_op_conv3d_grad_x, images, X},
    {&wg_op_max_pool2d, images, X},
    {&wg_op_avg_pool2d, images, X},
    {&wg_op_avg_pool2d_grad, images, X},
    {&wg_op_upsample2d, images, X},
    {&wg_op_upsample2d_grad, images, X},
    {&wg_op_pool_scatter, image_pairs, ANY},
    {&wg_op_pool_gather, image_pairs, ANY},
    {&wg_op_ctc_loss, examples, ANY},
    {&wg_op_ctc_loss_grad, examples, ANY},
};

static bool fits(const struct row *r, const wgi_vmap_node *m)
{
    for (int i = 0; i < m->node->n_in; i++)
        if (m->batched[i] && !(i < 31 && r->may & 1 << i) && r->may != ANY)
            return false;
    return true;
}

bool wgi_vmap_by_rule(wgi_vmap_node *m)
{
    const wg_op *op = m->node->op;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].op == op)
            return fits(&table[i], m) && table[i].build(m);
    return op->flags & WG_OP_ELEMENTWISE && !(op->flags & WG_OP_RANDOM) && elementwise(m);
}
