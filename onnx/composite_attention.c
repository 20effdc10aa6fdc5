/* Attention that a file spells out:
 *
 *     q k'  ->  * scale  ->  + bias  ->  mask  ->  softmax  ->  (dropout)  ->  * v
 *
 * where q and k may be scaled instead, k' is a transposed operand or a permutation, and the mask is
 * a choice between the scores and a number so low that its weight is 0, or a bias that is known to
 * be 0 and such numbers. */
#include "onnx/composites.h"
#include "graph/element.h"
#include "wengert/graph/rule.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <stdlib.h>

typedef struct found {
    const wg_value *q, *k, *v; /* [B, H, T, d], [B, H, S, d], [B, H, S, dv] */
    wg_axes order;             /* of k, if it has to be permuted; count 0: as it is */
    const wg_value *bias;      /* or NULL */
    const wg_value *mask;      /* bools; or NULL */
    bool hidden_if;            /* where the mask is true */
    bool low;                  /* what hides is a number, not -infinity */
    double scale;
    wg_attention_attrs attrs;
} found;

enum { AXES = 4 };

/* A score of this, beside others of usual size, has the weight 0. */
static bool hides(double x)
{
    return x <= -1e4;
}

/* ---- queries and keys ------------------------------------------------------------------------ */

/* The keys of k', the second operand of the product: d and S change places. */
static bool take_keys(ox_finder *f, found *a, const wg_node *product)
{
    const wg_matmul_attrs *t = product->attrs;
    a->k = wgi_ox_unscaled(f, product->in[1], &a->scale);
    if (t->transpose_b)
        return true;
    const wg_node *permute = wgi_ox_made_by(a->k, &wg_op_permute);
    if (!permute)
        return false;
    const wg_permute_attrs *p = permute->attrs;
    a->k = permute->in[0];
    a->order = p->order;
    a->order.axis[AXES - 2] = p->order.axis[AXES - 1];
    a->order.axis[AXES - 1] = p->order.axis[AXES - 2];
    return true;
}

static wg_shape shape_of_keys(const found *a)
{
    wg_shape s = a->k->shape;
    for (int i = 0; i < a->order.count; i++)
        s.dim[i] = a->k->shape.dim[wg_normalize_axis(a->order.axis[i], AXES)];
    return s;
}

/* Whether the operands are those of attention without broadcasting. */
static bool have_shapes(const found *a)
{
    if (a->q->shape.rank != AXES || a->k->shape.rank != AXES || a->v->shape.rank != AXES)
        return false;
    const wg_shape k = shape_of_keys(a);
    const int64_t *q = a->q->shape.dim, *v = a->v->shape.dim;
    for (int i = 0; i < 2; i++)
        if (q[i] != k.dim[i] || q[i] != v[i])
            return false;
    return q[1] > 0 && q[3] == k.dim[3] && k.dim[2] == v[2];
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Whether v broadcasts to the scores [B, H, T, S]. */
static bool fits_scores(const wg_value *v, const wg_shape *scores)
{
    int less = AXES - v->shape.rank;
    for (int i = 0; i < v->shape.rank && less >= 0; i++)
        if (v->shape.dim[i] != 1 && v->shape.dim[i] != scores->dim[less + i])
            return false;
    return less >= 0;
}

/* where(mask, scores, low) or where(mask, low, scores): takes the mask; returns the scores, or v
 * itself. */
static const wg_value *take_choice(ox_finder *f, found *a, const wg_value *v)
{
    const wg_node *n = wgi_ox_made_by(v, &wg_op_where);
    double low;
    for (int i = 1; n && i < 3; i++)
        if (wgi_ox_number_of(f, n->in[i], &low) && hides(low) &&
            wg_shape_equal(&n->in[3 - i]->shape, &v->shape) && fits_scores(n->in[0], &v->shape)) {
            a->mask = n->in[0];
            a->hidden_if = i == 1;
            a->low = isfinite(low);
            return n->in[3 - i];
        }
    return v;
}

/* scores + bias: takes the bias, the operand that does not come from a product. */
static const wg_value *take_bias(found *a, const wg_value *v)
{
    const wg_node *n = wgi_ox_made_by(v, &wg_op_add);
    for (int i = 0; n && i < 2; i++) {
        const wg_op *op = n->in[i]->node->op;
        bool scores =
            op == &wg_op_matmul || op == &wg_op_mul || op == &wg_op_div || op == &wg_op_where;
        if (scores && wg_shape_equal(&n->in[i]->shape, &v->shape) &&
            fits_scores(n->in[1 - i], &v->shape)) {
            a->bias = n->in[1 - i];
            return n->in[i];
        }
    }
    return v;
}

/* ---- known masks ----------------------------------------------------------------------------- */

/* Whether element i of a mask, or of a bias that is one, hides its key. */
static bool hidden_at(const found *a, const wg_onnx_tensor *t, int64_t i)
{
    double x = wgi_get_element(t->data, t->dtype, i);
    return a->mask ? (x != 0) == a->hidden_if : hides(x);
}

/* The offset of a causal mask [.., T, S] whose other axes are 1: query t sees keys s <= t + offset.
 * False if it is another mask. */
static bool is_causal(const found *a, const wg_onnx_tensor *t, int64_t *offset)
{
    int rank = t->shape.rank;
    if (rank < 2)
        return false;
    int64_t queries = t->shape.dim[rank - 2], keys = t->shape.dim[rank - 1], first = 0;
    if (wg_shape_count(&t->shape) != queries * keys || keys < 2 || queries < 2)
        return false;
    while (first < keys && !hidden_at(a, t, first))
        first++;
    *offset = first - 1;
    for (int64_t q = 0; q < queries; q++)
        for (int64_t s = 0; s < keys; s++)
            if (hidden_at(a, t, q * keys + s) != (s > q + *offset))
                return false;
    return *offset >= 0;
}

static bool is_zero_or_hides(const wg_onnx_tensor *t)
{
    for (int64_t i = 0; i < wg_shape_count(&t->shape); i++) {
        double x = wgi_get_element(t->data, t->dtype, i);
        if (x != 0 && !hides(x))
            return false;
    }
    return true;
}

/* A causal mask that is known becomes an attribute: kernels then skip what it hides. */
static void settle_causal(ox_finder *f, found *a)
{
    const wg_value *v = a->mask ? a->mask : a->bias;
    const wg_onnx_tensor *t = v ? wgi_ox_numbers(f->import, v) : NULL;
    int64_t offset;
    if (!t || (!a->mask && !is_zero_or_hides(t)) || !is_causal(a, t, &offset))
        return;
    a->attrs.causal = true;
    a->attrs.causal_offset = offset;
    if (a->mask)
        a->mask = NULL;
    else
        a->bias = NULL;
}

/* ---- the pattern ----------------------------------------------------------------------------- */

/* The scores before softmax and dropout; NULL if v is no such weights, or others read them. */
static const wg_value *scores_of(ox_finder *f, found *a, const wg_value *v)
{
    const wg_node *dropout = wgi_ox_made_by(v, &wg_op_dropout);
    if (dropout && f->readers[v->id] == 1) {
        const wg_dropout_attrs *d = dropout->attrs;
        a->attrs.dropout = d->p;
        a->attrs.key = d->key;
        v = dropout->in[0];
    }
    const wg_node *softmax = wgi_ox_made_by(v, &wg_op_softmax);
    if (!softmax || f->readers[v->id] != 1 || v->shape.rank != AXES)
        return NULL;
    const wg_softmax_attrs *s = softmax->attrs;
    bool last = wg_normalize_axis(s->axis, AXES) == AXES - 1;
    return last && f->readers[softmax->in[0]->id] == 1 ? softmax->in[0] : NULL;
}

static bool take_scores(ox_finder *f, found *a, const wg_value *v)
{
    v = take_choice(f, a, v);
    v = take_bias(a, v);
    if (!a->mask)
        v = take_choice(f, a, v);
    a->scale = 1;
    const wg_node *product = wgi_ox_made_by(wgi_ox_unscaled(f, v, &a->scale), &wg_op_matmul);
    if (!product || product->out[0]->shape.rank != AXES ||
        ((const wg_matmul_attrs *)product->attrs)->transpose_a)
        return false;
    a->q = wgi_ox_unscaled(f, product->in[0], &a->scale);
    return take_keys(f, a, product);
}

/* With as many axes as scores. */
static wg_value *spread(wg_value *v)
{
    wg_shape s = {AXES, {1, 1, 1, 1}};
    for (int i = 0; v && i < v->shape.rank; i++)
        s.dim[AXES - v->shape.rank + i] = v->shape.dim[i];
    return v && v->shape.rank != AXES ? wg_reshape(v, s) : v;
}

static wg_value *build(const ox_finder *f, found *a)
{
    wg_value *k = wgi_ox_copy_of(f, a->k), *mask = spread(wgi_ox_copy_of(f, a->mask)),
             *bias = spread(wgi_ox_copy_of(f, a->bias));
    double usual = 1 / sqrt((double)a->q->shape.dim[AXES - 1]);
    if (a->order.count)
        k = wg_permute(k, a->order);
    if (mask && a->hidden_if)
        mask = wg_logical_not(mask);
    a->attrs.scale = fabs(a->scale - usual) <= 1e-6 * usual ? 0 : a->scale;
    return wg_biased_attention(wgi_ox_copy_of(f, a->q), k, wgi_ox_copy_of(f, a->v),
                               mask ? mask : bias, NULL, &a->attrs);
}

wg_value *wgi_ox_spelled_attention(ox_finder *f, const wg_node *n)
{
    found a = {.scale = 1};
    const wg_matmul_attrs *t = n->attrs;
    if (n->op != &wg_op_matmul || t->transpose_a || t->transpose_b || n->out[0]->shape.rank != AXES)
        return NULL;
    const wg_value *scores = scores_of(f, &a, n->in[0]);
    a.v = n->in[1];
    if (!scores || !take_scores(f, &a, scores) || !have_shapes(&a))
        return NULL;
    settle_causal(f, &a);
    if (a.mask && (a.bias || a.low)) /* a row of low numbers alone has equal weights, not zeros */
        return NULL;
    return a.scale != 0 && fabs(a.scale) < 1e30 ? build(f, &a) : NULL;
}
