#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

static const char *const pairs[] = {"interleaved", "halves", NULL};

static const wg_attr rotary_attrs[] = {
    WG_ATTR(REAL, wg_rotary_attrs, base),
    WG_ATTR(INT, wg_rotary_attrs, first),
    WG_ATTR_NAMED(wg_rotary_attrs, pairs, pairs),
    WG_ATTR(BOOL, wg_rotary_attrs, inverse),
};

static bool infer(wg_node *n)
{
    const wg_rotary_attrs *a = n->attrs;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 2, WG_MAX_RANK))
        return false;
    const wg_shape *s = &n->in[0]->shape;
    if (s->dim[s->rank - 1] % 2 != 0)
        return wg_fail(n, WG_ESHAPE,
                       "the last axis of x is %lld, must be even: positions turn pairs",
                       (long long)s->dim[s->rank - 1]);
    if (!(a->base >= 0 && isfinite(a->base)))
        return wg_fail(n, WG_EINVAL, "base is %g, must be positive and finite", a->base);
    if (a->first < INT32_MIN || a->first > INT32_MAX)
        return wg_fail(n, WG_EINVAL, "first is %lld, must fit in 32 bits", (long long)a->first);
    if (n->n_in > 1 && (!wg_need_rank(n, 0, 3, WG_MAX_RANK) || !wg_need_int(n, 1) ||
                        !wg_need_rank(n, 1, 1, 1) || !wg_need_dim(n, 1, 0, s->dim[0])))
        return false;
    return wg_set_result(n, 0, n->in[0]->dtype, *s);
}

/* The transpose of a rotation is its inverse. */
static void grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_rotary_attrs back = *(const wg_rotary_attrs *)n->attrs;
    back.inverse = !back.inverse;
    dx[0] = n->n_in > 1 ? wg_rotary_at(dy[0], n->in[1], &back) : wg_rotary(dy[0], &back);
}

static double flops(const wg_node *n)
{
    return 3.0 * (double)wg_value_count(n->in[0]);
}

static const wg_sample samples[] = {
    {"interleaved",
     &(const wg_rotary_attrs){0, 0, WG_ROTARY_INTERLEAVED, false},
     1,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4)}},
    {"halves",
     &(const wg_rotary_attrs){100, 7, WG_ROTARY_HALVES, false},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 6)}},
    {"inverse",
     &(const wg_rotary_attrs){0, 3, WG_ROTARY_HALVES, true},
     1,
     {WG_FLOATS(-2, 2, 4, 1, 2, 2, 4)}},
    {"empty",
     &(const wg_rotary_attrs){0, 0, WG_ROTARY_INTERLEAVED, false},
     1,
     {WG_FLOATS(-2, 2, 3, 2, 0, 4)}},
    {"positions",
     &(const wg_rotary_attrs){100, 1, WG_ROTARY_INTERLEAVED, false},
     2,
     {WG_FLOATS(-2, 2, 4, 3, 2, 2, 4), WG_INTS(0, 9, 1, 3)}},
};

const wg_op wg_op_rotary = {
    .name = "rotary",
    .formula = "pair i of x[..., t, :] rotated by (first + t) base^(-2 i / d)",
    .family = WG_FAMILY_ATTENTION,
    .operands = "x positions?",
    .results = "y",
    .inplace = 1,
    .flops = flops,
    WG_ATTRS(wg_rotary_attrs, rotary_attrs),
    .infer = infer,
    .grad = grad,
    .reads = WG_READS_X, /* the positions */
    WG_SAMPLES(samples),
};

wg_value *(wg_rotary)(const char *at, wg_value *x, const wg_rotary_attrs *options)
{
    return wg_apply1(at, &wg_op_rotary, options, x);
}

wg_value *(wg_rotary_at)(const char *at, wg_value *x, wg_value *positions,
                         const wg_rotary_attrs *options)
{
    return wg_apply2(at, &wg_op_rotary, options, x, positions);
}
