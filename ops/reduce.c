#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- what reductions share ------------------------------------------------------------------- */

static const wg_attr reduce_attrs[] = {
    WG_ATTR(AXES, wg_reduce_attrs, axes),
    WG_ATTR(BOOL, wg_reduce_attrs, keep),
};

static int64_t terms_over(const wg_shape *x, const wg_axes *axes)
{
    wg_axes set = wg_normalize_axes(axes, x->rank);
    int64_t terms = 1;
    for (int i = 0; i < set.count; i++)
        terms *= x->dim[set.axis[i]];
    return terms;
}

static bool infer_over(wg_node *n, const wg_axes *axes, wg_keep keep)
{
    wg_axes set;
    return wg_need_axes(n, 0, axes, &set) &&
           wg_set_result(n, 0, n->in[0]->dtype, wg_shape_reduced(&n->in[0]->shape, &set, keep));
}

static bool infer_reduce(wg_node *n)
{
    const wg_reduce_attrs *a = n->attrs;
    return wg_need_number(n, 0) && infer_over(n, &a->axes, a->keep);
}

static bool infer_float(wg_node *n)
{
    return wg_need_float(n, 0) && infer_reduce(n);
}

static bool infer_extreme(wg_node *n)
{
    const wg_reduce_attrs *a = n->attrs;
    char text[160];
    const wg_shape *x = &n->in[0]->shape;
    return infer_reduce(n) &&
           (terms_over(x, &a->axes) > 0 ||
            wg_fail(n, WG_ESHAPE, "x is %s: an empty axis has no extreme element",
                    wg_shape_text(x, text, sizeof text)));
}

/* y, or a cotangent of y, as it would be with the reduced axes kept: it then broadcasts against x.
 */
static wg_value *kept_over(const wg_node *n, wg_value *y, const wg_axes *axes)
{
    wg_axes set = wg_normalize_axes(axes, n->in[0]->shape.rank);
    return wg_reshape(y, wg_shape_reduced(&n->in[0]->shape, &set, WG_KEEP));
}

static wg_value *kept(const wg_node *n, wg_value *y)
{
    const wg_reduce_attrs *a = n->attrs;
    return kept_over(n, y, &a->axes);
}

static double reduce_flops(const wg_node *n)
{
    return (double)wg_value_count(n->in[0]);
}

#define REDUCE_SAMPLES(name, lo, hi)                                                               \
    static const wg_sample name[] = {                                                              \
        {"all", &(const wg_reduce_attrs){{0, {0}}, false}, 1, {WG_FLOATS(lo, hi, 2, 3, 4)}},       \
        {"axis 0", &(const wg_reduce_attrs){{1, {0}}, false}, 1, {WG_FLOATS(lo, hi, 3, 3, 4, 2)}}, \
        {"middle axis kept",                                                                       \
         &(const wg_reduce_attrs){{1, {1}}, true},                                                 \
         1,                                                                                        \
         {WG_FLOATS(lo, hi, 3, 3, 4, 2)}},                                                         \
        {"outer axes",                                                                             \
         &(const wg_reduce_attrs){{2, {0, -1}}, false},                                            \
         1,                                                                                        \
         {WG_FLOATS(lo, hi, 3, 3, 4, 2)}},                                                         \
        {"size 1", &(const wg_reduce_attrs){{1, {1}}, false}, 1, {WG_FLOATS(lo, hi, 2, 3, 1)}},    \
        {"scalar", &(const wg_reduce_attrs){{0, {0}}, false}, 1, {WG_FLOATS(lo, hi, 0, 0)}},       \
    }
REDUCE_SAMPLES(reduce_samples, -2, 2);

#define REDUCTION                                                                                  \
    .family = WG_FAMILY_REDUCTION, .operands = "x", .results = "y",                                \
    WG_ATTRS(wg_reduce_attrs, reduce_attrs), .flops = reduce_flops, WG_SAMPLES(reduce_samples)

#define BUILDER(name)                                                                              \
    wg_value *(wg_##name)(const char *at, wg_value *x, wg_axes axes, wg_keep keep)                 \
    {                                                                                              \
        return wg_apply1(at, &wg_op_##name, &(wg_reduce_attrs){axes, keep}, x);                    \
    }

/* ---- sum, mean ------------------------------------------------------------------------------- */

static void grad_sum(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_expand(kept(n, dy[0]), n->in[0]->shape);
}
const wg_op wg_op_sum = {
    .name = "sum",
    .formula = "y = sum of x over axes",
    REDUCTION,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_reduce,
    .grad = grad_sum,
    .reads = WG_READS_NOTHING,
};
BUILDER(sum)

wg_value *(wg_sum_to)(const char *at, wg_value *x, wg_shape shape)
{
    if (!x || wg_shape_equal(&x->shape, &shape))
        return x;
    wg_axes axes = {0};
    int lead = x->shape.rank - shape.rank;
    bool broadcasts = shape.rank >= 0 && lead >= 0;
    for (int i = 0; i < shape.rank && broadcasts; i++)
        broadcasts = shape.dim[i] == 1 || shape.dim[i] == x->shape.dim[i + lead];
    if (!broadcasts) {
        char from[160], to[160];
        return wg_graph_fail(wg_graph_of(x), WG_ESHAPE, at, "sum_to", "%s does not broadcast to %s",
                             wg_shape_text(&shape, to, sizeof to),
                             wg_shape_text(&x->shape, from, sizeof from));
    }
    for (int i = 0; i < x->shape.rank; i++)
        if (i < lead || (shape.dim[i - lead] == 1 && x->shape.dim[i] != 1))
            axes.axis[axes.count++] = i;
    wg_value *y = axes.count ? (wg_sum)(at, x, axes, WG_DROP) : x;
    return (wg_reshape)(at, y, shape);
}

static void grad_mean(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_reduce_attrs *a = n->attrs;
    int64_t terms = terms_over(&n->in[0]->shape, &a->axes);
    wg_value *each = wg_scale(kept(n, dy[0]), 1 / (double)(terms ? terms : 1));
    dx[0] = wg_expand(each, n->in[0]->shape);
}
const wg_op wg_op_mean = {
    .name = "mean",
    .formula = "y = mean of x over axes",
    REDUCTION,
    .infer = infer_float,
    .grad = grad_mean,
    .reads = WG_READS_NOTHING,
};
BUILDER(mean)

/* ---- max, min -------------------------------------------------------------------------------- */

/* Each element that equals y gets an equal share of dy. */
static void grad_extreme(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_reduce_attrs *a = n->attrs;
    wg_value *x = n->in[0], *is_y = wg_equal(x, kept(n, n->out[0]));
    wg_value *ties = wg_sum(wg_cast(is_y, x->dtype), a->axes, WG_KEEP);
    dx[0] = wg_where(is_y, wg_div(kept(n, dy[0]), ties), wg_scalar_like(x, 0));
}
const wg_op wg_op_max = {
    .name = "max",
    .formula = "y = largest x over axes",
    REDUCTION,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_extreme,
    .grad = grad_extreme,
    .reads = WG_READS_X | WG_READS_Y,
};
const wg_op wg_op_min = {
    .name = "min",
    .formula = "y = smallest x over axes",
    REDUCTION,
    .smoothness = WG_PIECEWISE_LINEAR,
    .infer = infer_extreme,
    .grad = grad_extreme,
    .reads = WG_READS_X | WG_READS_Y,
};
BUILDER(max)
BUILDER(min)

/* ---- prod ------------------------------------------------------------------------------------ */

/* Axes with the reduced ones last */
static wg_axes order_with_last(const wg_shape *x, const wg_axes *axes)
{
    wg_axes set = wg_normalize_axes(axes, x->rank), order = {0};
    for (int i = 0, k = 0; i < x->rank; i++)
        if (k < set.count && set.axis[k] == i)
            k++;
        else
            order.axis[order.count++] = i;
    for (int k = 0; k < set.count; k++)
        order.axis[order.count++] = set.axis[k];
    return order;
}

/* x with the reduced axes moved to the end and made one: [..., terms] */
static wg_value *reduced_last(wg_value *x, const wg_axes *axes)
{
    wg_axes set = wg_normalize_axes(axes, x->shape.rank);
    wg_shape shape = wg_shape_reduced(&x->shape, &set, WG_DROP);
    if (set.count == 0) /* a scalar */
        return wg_reshape(x, WG_SHAPE(1));
    shape.dim[shape.rank++] = terms_over(&x->shape, axes);
    return wg_reshape(wg_permute(x, order_with_last(&x->shape, axes)), shape);
}

/* The reverse: d [..., terms] in the shape of x */
static wg_value *put_back(wg_value *d, const wg_shape *x, const wg_axes *axes)
{
    const wg_axes order = order_with_last(x, axes);
    wg_axes back = {.count = order.count};
    wg_shape permuted = *x;
    if (wg_normalize_axes(axes, x->rank).count == 0)
        return wg_reshape(d, *x);
    for (int i = 0; i < order.count; i++) {
        permuted.dim[i] = x->dim[order.axis[i]];
        back.axis[order.axis[i]] = i;
    }
    return wg_permute(wg_reshape(d, permuted), back);
}

/* A level of a tree: the first half of its terms, the second, and one that may be left */
typedef struct halves {
    wg_value *first, *second, *rest;
} halves;

static halves halves_of(wg_value *x, int64_t terms)
{
    const int64_t half = terms / 2;
    return (halves){.first = wg_slice(x, -1, 0, half, 1),
                    .second = wg_slice(x, -1, half, 2 * half, 1),
                    .rest = terms % 2 ? wg_slice(x, -1, 2 * half, WG_TO_END, 1) : NULL};
}

/* The first half times the second, and so on until one term is left; returns how many levels there
 * were.  There is no division, so derivatives of every order are right where elements are 0. */
enum { LEVELS = 64 };
static int multiply_tree(const wg_node *n, halves level[LEVELS], wg_value **y)
{
    const wg_reduce_attrs *a = n->attrs;
    wg_value *x = reduced_last(n->in[0], &a->axes);
    int count = 0;
    for (int64_t terms = terms_over(&n->in[0]->shape, &a->axes); terms > 1 && x;
         terms = (terms + 1) / 2) {
        const halves h = level[count++] = halves_of(x, terms);
        wg_value *pairs = wg_mul(h.first, h.second);
        x = h.rest ? wg_concat((wg_value *[]){pairs, h.rest}, 2, -1) : pairs;
    }
    *y = x;
    return count;
}

static void expand_prod(wg_node *n, wg_value **y)
{
    halves level[LEVELS];
    wg_value *product;
    multiply_tree(n, level, &product);
    y[0] = wg_value_count(n->in[0]) || !wg_value_count(n->out[0])
               ? wg_reshape(product, n->out[0]->shape)
               : wg_fill(n->graph, n->out[0]->dtype, n->out[0]->shape, 1);
}

/* Down the tree: what comes to a pair goes to each half times the other. */
static void grad_prod(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_reduce_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    halves level[LEVELS];
    wg_value *d;
    if (!wg_value_count(n->in[0])) {
        dx[0] = wg_fill(n->graph, n->in[0]->dtype, *x, 0);
        return;
    }
    int count = multiply_tree(n, level, &d);
    d = d ? wg_reshape(dy[0], d->shape) : NULL;
    while (count-- > 0 && d) {
        const halves h = level[count];
        const int64_t half = h.first->shape.dim[h.first->shape.rank - 1];
        wg_value *pairs = h.rest ? wg_slice(d, -1, 0, half, 1) : d;
        wg_value *parts[] = {wg_mul(pairs, h.second), wg_mul(pairs, h.first),
                             h.rest ? wg_slice(d, -1, half, WG_TO_END, 1) : NULL};
        d = wg_concat(parts, h.rest ? 3 : 2, -1);
    }
    dx[0] = put_back(d, x, &a->axes);
}
const wg_op wg_op_prod = {
    .name = "prod",
    .formula = "y = product of x over axes",
    REDUCTION,
    .infer = infer_reduce,
    .expand = expand_prod,
    .grad = grad_prod,
    .reads = WG_READS_X,
};
BUILDER(prod)

/* ---- var ------------------------------------------------------------------------------------- */

static const wg_attr var_attrs[] = {
    WG_ATTR(AXES, wg_var_attrs, axes),
    WG_ATTR(BOOL, wg_var_attrs, keep),
    WG_ATTR(INT, wg_var_attrs, correction),
};

static bool infer_var(wg_node *n)
{
    const wg_var_attrs *a = n->attrs;
    if (!wg_need_float(n, 0) || !infer_over(n, &a->axes, a->keep))
        return false;
    int64_t terms = terms_over(&n->in[0]->shape, &a->axes);
    if (a->correction < 0)
        return wg_fail(n, WG_EINVAL, "correction is %lld, must be 0 or more",
                       (long long)a->correction);
    return terms > a->correction ||
           wg_fail(n, WG_ESHAPE,
                   "%lld elements with a correction of %lld leave nothing to divide by",
                   (long long)terms, (long long)a->correction);
}

/* dx = dy 2 (x - mean) / (n - correction) */
static void grad_var(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_var_attrs *a = n->attrs;
    wg_value *x = n->in[0];
    double divisor = (double)(terms_over(&x->shape, &a->axes) - a->correction);
    wg_value *slope = wg_scale(kept_over(n, dy[0], &a->axes), 2 / divisor);
    dx[0] = wg_mul(slope, wg_sub(x, wg_mean(x, a->axes, WG_KEEP)));
}

static double var_flops(const wg_node *n)
{
    return 4 * reduce_flops(n);
}

static const wg_sample var_samples[] = {
    {"all", &(const wg_var_attrs){{0, {0}}, false, 1}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"last axis kept", &(const wg_var_attrs){{1, {-1}}, true, 0}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"outer axes", &(const wg_var_attrs){{2, {0, 2}}, false, 1}, 1, {WG_FLOATS(-2, 2, 3, 3, 2, 2)}},
};

const wg_op wg_op_var = {
    .name = "var",
    .formula = "y = sum (x - mean)^2 / (n - correction) over axes",
    .family = WG_FAMILY_REDUCTION,
    .operands = "x",
    .results = "y",
    WG_ATTRS(wg_var_attrs, var_attrs),
    .infer = infer_var,
    .grad = grad_var,
    .reads = WG_READS_X,
    .flops = var_flops,
    WG_SAMPLES(var_samples),
};

wg_value *(wg_var)(const char *at, wg_value *x, wg_axes axes, wg_keep keep, int64_t correction)
{
    return wg_apply1(at, &wg_op_var, &(wg_var_attrs){axes, keep, correction}, x);
}

/* ---- logsumexp ------------------------------------------------------------------------------- */

/* dx = dy exp(x - y); where y = -inf all x are, and exp(x - 0) is the 0 that is wanted */
static void grad_logsumexp(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *y = kept(n, n->out[0]);
    wg_value *none = wg_equal(y, wg_scalar_like(y, -INFINITY));
    wg_value *top = wg_where(none, wg_scalar_like(y, 0), y);
    dx[0] = wg_mul(kept(n, dy[0]), wg_exp(wg_sub(n->in[0], top)));
}

const wg_op wg_op_logsumexp = {
    .name = "logsumexp",
    .formula = "y = ln sum exp(x) over axes",
    REDUCTION,
    .infer = infer_float,
    .grad = grad_logsumexp,
    .reads = WG_READS_X | WG_READS_Y,
};
BUILDER(logsumexp)

/* ---- norm ------------------------------------------------------------------------------------ */

static const wg_attr norm_attrs[] = {
    WG_ATTR(AXES, wg_vector_norm_attrs, axes),
    WG_ATTR(BOOL, wg_vector_norm_attrs, keep),
    WG_ATTR(REAL, wg_vector_norm_attrs, p),
};

static bool infer_norm(wg_node *n)
{
    const wg_vector_norm_attrs *a = n->attrs;
    if (!wg_need_float(n, 0) || !infer_over(n, &a->axes, a->keep))
        return false;
    return a->p > 0 || wg_fail(n, WG_EINVAL, "p is %g, must be positive", a->p);
}

/* v with 1 in the place of 0: for divisors of what is 0 there anyway */
static wg_value *not_0(wg_value *v)
{
    return wg_where(wg_equal(v, wg_scalar_like(v, 0)), wg_scalar_like(v, 1), v);
}

/* dx = dy sign(x) (|x| / y)^(p - 1);  p infinite: the largest |x| share dy.  Where y is 0, so are
 * all derivatives: of any order, since none of them then depends on x. */
static void grad_norm(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_vector_norm_attrs *a = n->attrs;
    wg_value *x = n->in[0], *y = kept_over(n, n->out[0], &a->axes),
             *d = kept_over(n, dy[0], &a->axes);
    if (a->p == 1) {
        dx[0] = wg_mul(d, wg_sign(x));
    } else if (a->p == 2) {
        wg_value *zero = wg_scalar_like(y, 0), *slope = wg_div(d, not_0(y));
        dx[0] = wg_mul(x, wg_where(wg_equal(y, zero), zero, slope));
    } else if (isinf(a->p)) {
        wg_value *is_y = wg_equal(wg_abs(x), y);
        wg_value *ties = wg_sum(wg_cast(is_y, x->dtype), a->axes, WG_KEEP);
        dx[0] = wg_mul(wg_where(is_y, wg_div(d, ties), wg_scalar_like(x, 0)), wg_sign(x));
    } else {
        wg_value *ratio = wg_div(not_0(wg_abs(x)), not_0(y));
        dx[0] = wg_mul(wg_mul(d, wg_sign(x)), wg_pow(ratio, wg_scalar_like(x, a->p - 1)));
    }
}

static double norm_flops(const wg_node *n)
{
    return 2 * reduce_flops(n);
}

static const wg_sample norm_samples[] = {
    {"p 2", &(const wg_vector_norm_attrs){{1, {-1}}, false, 2}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"p 2 over all",
     &(const wg_vector_norm_attrs){{0, {0}}, false, 2},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"p 1", &(const wg_vector_norm_attrs){{1, {0}}, true, 1}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"p 3",
     &(const wg_vector_norm_attrs){{2, {0, 2}}, false, 3},
     1,
     {WG_FLOATS(-2, 2, 3, 2, 3, 2)}},
    {"p infinite",
     &(const wg_vector_norm_attrs){{1, {-1}}, false, INFINITY},
     1,
     {WG_FLOATS(-2, 2, 2, 3, 4)}},
};
static const double zero[] = {0};

const wg_op wg_op_vector_norm = {
    .name = "vector_norm",
    .formula = "y = (sum |x|^p)^(1/p) over axes",
    .family = WG_FAMILY_REDUCTION,
    .operands = "x",
    .results = "y",
    .smoothness = WG_KINKED,
    WG_ATTRS(wg_vector_norm_attrs, norm_attrs),
    .infer = infer_norm,
    .grad = grad_norm,
    .reads = WG_READS_X | WG_READS_Y,
    .flops = norm_flops,
    WG_SAMPLES(norm_samples),
    WG_KINKS(zero),
};

wg_value *(wg_vector_norm)(const char *at, wg_value *x, wg_axes axes, wg_keep keep, double p)
{
    return wg_apply1(at, &wg_op_vector_norm, &(wg_vector_norm_attrs){axes, keep, p}, x);
}

/* ---- any, all -------------------------------------------------------------------------------- */

static bool infer_logical(wg_node *n)
{
    const wg_reduce_attrs *a = n->attrs;
    return wg_need_dtype(n, 0, WG_BOOL) && infer_over(n, &a->axes, a->keep);
}

static const wg_sample logical_samples[] = {
    {"all axes", &(const wg_reduce_attrs){{0, {0}}, false}, 1, {WG_BOOLS(2, 3, 4)}},
    {"axis 0", &(const wg_reduce_attrs){{1, {0}}, false}, 1, {WG_BOOLS(3, 3, 4, 2)}},
    {"outer axes kept", &(const wg_reduce_attrs){{2, {0, -1}}, true}, 1, {WG_BOOLS(3, 3, 4, 2)}},
    {"scalar", &(const wg_reduce_attrs){{0, {0}}, false}, 1, {WG_BOOLS(0, 0)}},
};

#define LOGICAL                                                                                    \
    .family = WG_FAMILY_REDUCTION, .operands = "x", .results = "y", .flags = WG_OP_DISCRETE,       \
    WG_ATTRS(wg_reduce_attrs, reduce_attrs), .infer = infer_logical, .flops = reduce_flops,        \
    WG_SAMPLES(logical_samples)

const wg_op wg_op_any = {.name = "any", .formula = "y = (some x over axes is true)", LOGICAL};
const wg_op wg_op_all = {.name = "all", .formula = "y = (every x over axes is true)", LOGICAL};
BUILDER(any)
BUILDER(all)
