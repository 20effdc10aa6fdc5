/* Attention of single queries whose keys and values lie anywhere in a pool, each at a slot of its
 * own: a query names its slots.  So a cache of keys grows by writing one row (wg_put_rows),
 * hypotheses with a common beginning share its slots, and a reordered beam copies numbers of slots
 * instead of keys.  Kwon et al. 2023, with pages of one token. */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

static const wg_attr attrs[] = {WG_ATTR(REAL, wg_paged_attention_attrs, scale)};

static bool infer(wg_node *n)
{
    const wg_paged_attention_attrs *a = n->attrs;
    if (!(fabs(a->scale) < 1e30))
        return wg_fail(n, WG_EINVAL, "scale is %g, must be finite", a->scale);
    if (!wg_need_float(n, 0))
        return false;
    for (int i = 0; i < 3; i++)
        if (!wg_need_same_dtype(n, i, 0) || !wg_need_rank(n, i, 3, 3))
            return false;
    const int64_t *q = n->in[0]->shape.dim, *k = n->in[1]->shape.dim, *v = n->in[2]->shape.dim;
    if (!wg_need_dim(n, 1, 2, q[2]) || !wg_need_dim(n, 2, 0, k[0]) || !wg_need_dim(n, 2, 1, k[1]))
        return false;
    if (k[1] > 0 ? q[1] % k[1] != 0 : q[1] != 0)
        return wg_fail(n, WG_ESHAPE, "%lld heads of queries cannot share %lld heads of keys",
                       (long long)q[1], (long long)k[1]);
    return wg_need_int(n, 3) && wg_need_rank(n, 3, 2, 2) && wg_need_dim(n, 3, 0, q[0]) &&
           wg_need_int(n, 4) && wg_need_rank(n, 4, 1, 1) && wg_need_dim(n, 4, 0, q[0]) &&
           wg_set_result(n, 0, n->in[0]->dtype, WG_SHAPE(q[0], q[1], v[2]));
}

/* slots, but 0 from lengths[r] on: there they may hold anything. */
static wg_value *known(wg_value *slots, wg_value *lengths)
{
    const int64_t *s = slots->shape.dim;
    wg_value *i = wg_iota(wg_graph_of(slots), lengths->dtype, WG_SHAPE(1, s[1]), 1, 0, 1);
    wg_value *within = wg_less(i, wg_reshape(lengths, WG_SHAPE(s[0], 1)));
    return wg_where(within, slots, wg_scalar_like(slots, 0));
}

/* [N, heads, d] -> [R, heads, L, d] */
static wg_value *collect(wg_value *pool, wg_value *slots)
{
    return wg_permute(wg_take(pool, slots, 0), WG_AXES(0, 2, 1, 3));
}

static void expand(wg_node *n, wg_value **y)
{
    const wg_paged_attention_attrs *a = n->attrs;
    wg_value *lengths = wg_check_lengths(n->in[4], n->in[3]->shape.dim[1], "attention");
    wg_value *slots = lengths ? known(n->in[3], lengths) : NULL;
    const int64_t *q = n->in[0]->shape.dim;
    if (!slots)
        return;
    wg_value *one =
        wg_attention(wg_reshape(n->in[0], WG_SHAPE(q[0], q[1], 1, q[2])), collect(n->in[1], slots),
                     collect(n->in[2], slots), lengths, &(wg_attention_attrs){.scale = a->scale});
    y[0] = one ? wg_reshape(one, n->out[0]->shape) : NULL;
}

static double flops(const wg_node *n)
{
    const int64_t *q = n->in[0]->shape.dim, *v = n->in[2]->shape.dim;
    double scores = (double)q[0] * (double)q[1] * (double)n->in[3]->shape.dim[1];
    return scores * (2.0 * (double)q[2] + 2.0 * (double)v[2] + 5.0);
}

#define F3(...) WG_FLOATS(-2, 2, 3, __VA_ARGS__)
#define SLOTS(n, ...) WG_INTS(0, n, 2, __VA_ARGS__)
static const wg_paged_attention_attrs plain = {0}, scaled = {0.7};
static const wg_sample samples[] = {
    {"plain",
     &plain,
     5,
     {F3(3, 2, 4), F3(6, 2, 4), F3(6, 2, 4), SLOTS(6, 3, 5), WG_INTS(1, 6, 1, 3)}},
    {"grouped heads, other width",
     &scaled,
     5,
     {F3(2, 4, 2), F3(5, 2, 2), F3(5, 2, 3), SLOTS(5, 2, 4), WG_INTS(1, 5, 1, 2)}},
    {"queries without keys",
     &plain,
     5,
     {F3(3, 1, 2), F3(3, 1, 2), F3(3, 1, 2), SLOTS(3, 3, 2), WG_INTS(0, 2, 1, 3)}},
    {"no queries",
     &plain,
     5,
     {F3(0, 2, 4), F3(6, 2, 4), F3(6, 2, 4), SLOTS(6, 0, 5), WG_INTS(1, 6, 1, 0)}},
};

const wg_op wg_op_paged_attention = {
    .name = "paged_attention",
    .formula =
        "y[r] = sum over i < lengths[r] of softmax_i(scale q[r] . k[slots[r, i]]) v[slots[r, i]]",
    .family = WG_FAMILY_ATTENTION,
    .operands = "q k v slots lengths",
    .results = "y",
    .flops = flops,
    WG_ATTRS(wg_paged_attention_attrs, attrs),
    .infer = infer,
    .expand = expand,
    WG_SAMPLES(samples),
};

wg_value *(wg_paged_attention)(const char *at, wg_value *q, wg_value *k, wg_value *v,
                               wg_value *slots, wg_value *lengths, double scale)
{
    wg_value *in[] = {q, k, v, slots, lengths};
    return wgi_apply_list(at, &wg_op_paged_attention, &(wg_paged_attention_attrs){scale}, in, 5);
}
