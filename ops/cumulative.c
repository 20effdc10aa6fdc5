/* Cumulative sums, products and extremes along one axis. */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#define ALONG .family = WG_FAMILY_REDUCTION, .operands = "x", .results = "y", .infer = infer_along

static bool infer_along(wg_node *n)
{
    const wg_cumsum_attrs *a = n->attrs;
    int axis;
    return wg_need_number(n, 0) && wg_need_axis(n, 0, a->axis, &axis) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* ---- cumsum ---------------------------------------------------------------------------------- */

static const wg_attr cumsum_attrs[] = {
    WG_ATTR(AXIS, wg_cumsum_attrs, axis),
    WG_ATTR(BOOL, wg_cumsum_attrs, reverse),
    WG_ATTR(BOOL, wg_cumsum_attrs, exclusive),
};

/* x[j] is in y[i] for i >= j: so dx[j] sums dy from the other end. */
static void grad_cumsum(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_cumsum_attrs *a = n->attrs;
    const wg_cumsum_attrs back = {a->axis, !a->reverse, a->exclusive};
    dx[0] = wg_apply1(WG_HERE, n->op, &back, dy[0]);
}

static const wg_sample cumsum_samples[] = {
    {"axis 0", &(const wg_cumsum_attrs){0, false, false}, 1, {WG_FLOATS(-2, 2, 2, 4, 3)}},
    {"reverse", &(const wg_cumsum_attrs){-1, true, false}, 1, {WG_FLOATS(-2, 2, 2, 2, 5)}},
    {"exclusive", &(const wg_cumsum_attrs){1, false, true}, 1, {WG_FLOATS(-2, 2, 3, 2, 3, 2)}},
    {"both", &(const wg_cumsum_attrs){1, true, true}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
};

const wg_op wg_op_cumsum = {
    .name = "cumsum",
    .formula = "y[i] = sum of x[j] over j <= i along axis",
    ALONG,
    .smoothness = WG_PIECEWISE_LINEAR,
    .inplace = 1,
    WG_ATTRS(wg_cumsum_attrs, cumsum_attrs),
    .grad = grad_cumsum,
    .reads = WG_READS_NOTHING,
    WG_SAMPLES(cumsum_samples),
};

wg_value *(wg_cumsum)(const char *at, wg_value *x, int axis, int flags)
{
    const wg_cumsum_attrs a = {axis, flags & WG_CUMSUM_REVERSE, flags & WG_CUMSUM_EXCLUSIVE};
    if (!wgi_check_flags(at, "wg_cumsum", x, flags, WG_CUMSUM_REVERSE | WG_CUMSUM_EXCLUSIVE))
        return NULL;
    return wg_apply1(at, &wg_op_cumsum, &a, x);
}

/* ---- cumprod --------------------------------------------------------------------------------- */

/* v moved by one along the axis, towards higher indices if `up`; what enters is 0. */
static wg_value *moved(wg_value *v, int axis, bool up)
{
    if (!v || v->shape.dim[axis] == 0)
        return v;
    wg_shape before = {.rank = v->shape.rank}, after = before;
    before.dim[axis] = up;
    after.dim[axis] = !up;
    wg_value *rest = up ? wg_slice(v, axis, 0, -1, 1) : wg_slice(v, axis, 1, WG_TO_END, 1);
    return wg_pad(rest, before, after, 0);
}

/* dx[j] = e[j] s[j], where e[j] is the product of all x before j, and
 *     s[j] = sum over i >= j of dy[i] product of x[k] over j < k <= i
 *          = dy[j] + x[j+1] s[j+1]
 * Nothing is divided by, so this and its derivatives are right where elements are 0.  If y excludes
 * x[i], dy[j+1] stands for dy[j]. */
static void grad_cumprod(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_cumsum_attrs *a = n->attrs;
    int axis = wg_normalize_axis(a->axis, n->in[0]->shape.rank);
    int direction = a->reverse ? WG_CUMSUM_REVERSE : WG_CUMSUM_FORWARD;
    wg_value *e = wg_cumprod(n->in[0], axis, direction | WG_CUMSUM_EXCLUSIVE);
    wg_value *d = a->exclusive ? moved(dy[0], axis, a->reverse) : dy[0];
    wg_value *s = wg_linear_scan(moved(n->in[0], axis, a->reverse), d, NULL,
                                 &(wg_linear_scan_attrs){axis, !a->reverse});
    dx[0] = wg_mul(e, s);
}

const wg_op wg_op_cumprod = {
    .name = "cumprod",
    .formula = "y[i] = product of x[j] over j <= i along axis",
    ALONG,
    .inplace = 1,
    WG_ATTRS(wg_cumsum_attrs, cumsum_attrs),
    .grad = grad_cumprod,
    .reads = WG_READS_X,
    WG_SAMPLES(cumsum_samples),
};

wg_value *(wg_cumprod)(const char *at, wg_value *x, int axis, int flags)
{
    const wg_cumsum_attrs a = {axis, flags & WG_CUMSUM_REVERSE, flags & WG_CUMSUM_EXCLUSIVE};
    if (!wgi_check_flags(at, "wg_cumprod", x, flags, WG_CUMSUM_REVERSE | WG_CUMSUM_EXCLUSIVE))
        return NULL;
    return wg_apply1(at, &wg_op_cumprod, &a, x);
}

/* ---- cummax, cummin -------------------------------------------------------------------------- */

static const wg_attr extreme_attrs[] = {WG_ATTR(AXIS, wg_index_attrs, axis)};

static bool infer_extreme(wg_node *n)
{
    const wg_index_attrs *a = n->attrs;
    int axis;
    return wg_need_number(n, 0) && wg_need_axis(n, 0, a->axis, &axis) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape) &&
           wg_set_result(n, 1, WG_I64, n->in[0]->shape);
}

/* Each value's cotangent goes back to where the value came from. */
static void grad_extreme(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_index_attrs *a = n->attrs;
    if (dy[0])
        dx[0] = wg_scatter_add(wg_zeros_like(n->in[0]), n->out[1], dy[0], (int)a->axis);
}

static const wg_sample extreme_samples[] = {
    {"axis 0", &(const wg_index_attrs){0}, 1, {WG_FLOATS(-2, 2, 2, 5, 3)}},
    {"last axis", &(const wg_index_attrs){-1}, 1, {WG_FLOATS(-2, 2, 3, 2, 3, 4)}},
    {"ties", &(const wg_index_attrs){0}, 1, {WG_INTS(0, 4, 2, 7, 2)}},
};

#define EXTREME                                                                                    \
    .family = WG_FAMILY_REDUCTION, .operands = "x", .results = "values indices",                   \
    .smoothness = WG_PIECEWISE_LINEAR, WG_ATTRS(wg_index_attrs, extreme_attrs),                    \
    .infer = infer_extreme, .grad = grad_extreme, .reads = WG_READS_Y, WG_SAMPLES(extreme_samples)

const wg_op wg_op_cummax = {.name = "cummax",
                            .formula = "the largest x[j] over j <= i along axis, and where it is",
                            EXTREME};
const wg_op wg_op_cummin = {.name = "cummin",
                            .formula = "the smallest x[j] over j <= i along axis, and where it is",
                            EXTREME};

wg_value *(wg_cummax)(const char *at, wg_value *x, int axis)
{
    return wg_apply1(at, &wg_op_cummax, &(wg_index_attrs){axis}, x);
}

wg_value *(wg_cummin)(const char *at, wg_value *x, int axis)
{
    return wg_apply1(at, &wg_op_cummin, &(wg_index_attrs){axis}, x);
}
