/* Discrete Fourier transforms, and arithmetic of the pairs that stand for complex numbers.
 *
 * The transforms are linear, and the matrix e^(2 pi i jk / n) is symmetric, so the gradient of each
 * is another one: of fft the inverse without 1/n, and of rfft and irfft each other with the same
 * weights of frequencies. */
#include "wengert/ops/fft.h"
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool need_pairs(wg_node *n, int i)
{
    return wg_need_float(n, i) && wg_need_rank(n, i, 1, WG_MAX_RANK) &&
           wg_need_dim(n, i, n->in[i]->shape.rank - 1, 2);
}

/* An axis that has a first element and, with pairs, is not theirs. */
static bool need_transformed(wg_node *n, int64_t axis, bool pairs, int *out)
{
    const wg_shape *x = &n->in[0]->shape;
    char text[160];
    if (!wg_need_axis(n, 0, axis, out))
        return false;
    if (pairs && *out == x->rank - 1)
        return wg_fail(n, WG_ESHAPE,
                       "axis %d of x %s is that of the pairs (real, imaginary), which cannot be "
                       "transformed",
                       *out, wg_shape_text(x, text, sizeof text));
    return x->dim[*out] > 0 ||
           wg_fail(n, WG_ESHAPE, "axis %d of x %s must have at least one element", *out,
                   wg_shape_text(x, text, sizeof text));
}

static bool infer_fft(wg_node *n)
{
    const wg_fft_attrs *a = n->attrs;
    int axis;
    return need_pairs(n, 0) && need_transformed(n, a->axis, true, &axis) &&
           wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static bool infer_rfft(wg_node *n)
{
    const wg_rfft_attrs *a = n->attrs;
    int axis;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 1, WG_MAX_RANK - 1) ||
        !need_transformed(n, a->axis, false, &axis))
        return false;
    if (a->n != 0)
        return wg_fail(n, WG_EINVAL, "n is %lld, must be 0: x says it", (long long)a->n);
    wg_shape y = n->in[0]->shape;
    y.dim[axis] = y.dim[axis] / 2 + 1;
    y.dim[y.rank++] = 2;
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

static bool infer_irfft(wg_node *n)
{
    const wg_rfft_attrs *a = n->attrs;
    int axis;
    if (!need_pairs(n, 0) || !need_transformed(n, a->axis, true, &axis))
        return false;
    wg_shape y = n->in[0]->shape;
    const int64_t half = y.dim[axis];
    if (a->n < 1 || a->n / 2 + 1 != half)
        return wg_fail(n, WG_ESHAPE,
                       "%lld frequencies along axis %d are of n = %lld or %lld numbers, not %lld",
                       (long long)half, axis, (long long)(half > 1 ? 2 * half - 2 : 1),
                       (long long)(2 * half - 1), (long long)a->n);
    y.dim[axis] = a->n;
    y.rank--;
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void grad_fft(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_fft_attrs *a = n->attrs;
    dx[0] = wg_apply1(WG_HERE, n->op, &(const wg_fft_attrs){a->axis, !a->inverse}, dy[0]);
}

/* y[k] = c[k] sum of x[j] e^(-2 pi i jk / n)  ->  dx[j] = Re sum of c[k] dy[k] e^(2 pi i jk / n) */
static void grad_rfft(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_rfft_attrs *a = n->attrs;
    const int axis = wg_normalize_axis(a->axis, n->in[0]->shape.rank);
    const wg_rfft_attrs back = {axis, n->in[0]->shape.dim[axis], a->weighted};
    dx[0] = wg_apply1(WG_HERE, &wg_op_irfft, &back, dy[0]);
}

static void grad_irfft(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const wg_rfft_attrs *a = n->attrs;
    const int axis = wg_normalize_axis(a->axis, n->in[0]->shape.rank);
    const wg_rfft_attrs back = {axis, 0, a->weighted};
    dx[0] = wg_apply1(WG_HERE, &wg_op_rfft, &back, dy[0]);
}

/* 5 n log2(n) for n complex numbers, half of that for real ones */
static double flops_of(double pairs, double n)
{
    return 5 * pairs * fmax(log2(n), 1);
}

static double flops_fft(const wg_node *n)
{
    const wg_fft_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    return flops_of((double)wg_value_count(n->in[0]) / 2,
                    (double)x->dim[wg_normalize_axis(a->axis, x->rank)]);
}

static double flops_real(const wg_node *n)
{
    const wg_rfft_attrs *a = n->attrs;
    const wg_value *real = n->op == &wg_op_rfft ? n->in[0] : n->out[0];
    const int axis = wg_normalize_axis(a->axis, n->in[0]->shape.rank);
    return flops_of((double)wg_value_count(real) / 2, (double)real->shape.dim[axis]);
}

/* ---- the transforms -------------------------------------------------------------------------- */

static const wg_attr fft_attrs[] = {
    WG_ATTR(AXIS, wg_fft_attrs, axis),
    WG_ATTR(BOOL, wg_fft_attrs, inverse),
};
static const wg_attr rfft_attrs[] = {
    WG_ATTR(AXIS, wg_rfft_attrs, axis),
    WG_ATTR(INT, wg_rfft_attrs, n),
    WG_ATTR(BOOL, wg_rfft_attrs, weighted),
};

#define TRANSFORM                                                                                  \
    .family = WG_FAMILY_LINEAR_ALGEBRA, .operands = "x", .flags = WG_OP_UNFOLDED,                  \
    .reads = WG_READS_NOTHING
#define WEIGHTS "c = 2 where weighted and 0 < k < n / 2, else 1"
#define NUMBERS(...) WG_FLOATS(-1, 1, __VA_ARGS__)
static const wg_sample fft_samples[] = {
    {"8 numbers", &(const wg_fft_attrs){-2, false}, 1, {NUMBERS(3, 2, 8, 2)}},
    {"inverse of 5", &(const wg_fft_attrs){0, true}, 1, {NUMBERS(2, 5, 2)}},
    {"middle axis", &(const wg_fft_attrs){1, false}, 1, {NUMBERS(4, 2, 6, 3, 2)}},
    {"one number", &(const wg_fft_attrs){0, false}, 1, {NUMBERS(3, 1, 2, 2)}},
};
static const wg_sample rfft_samples[] = {
    {"8 numbers", &(const wg_rfft_attrs){-1, 0, false}, 1, {NUMBERS(2, 2, 8)}},
    {"5 numbers, weighted", &(const wg_rfft_attrs){0, 0, true}, 1, {NUMBERS(2, 5, 2)}},
    {"middle axis, weighted", &(const wg_rfft_attrs){1, 0, true}, 1, {NUMBERS(3, 2, 6, 3)}},
    {"one number", &(const wg_rfft_attrs){0, 0, false}, 1, {NUMBERS(1, 1)}},
};
static const wg_sample irfft_samples[] = {
    {"8 numbers", &(const wg_rfft_attrs){1, 8, true}, 1, {NUMBERS(3, 2, 5, 2)}},
    {"5 numbers", &(const wg_rfft_attrs){0, 5, false}, 1, {NUMBERS(3, 3, 2, 2)}},
    {"middle axis", &(const wg_rfft_attrs){1, 6, false}, 1, {NUMBERS(4, 2, 4, 3, 2)}},
    {"one number", &(const wg_rfft_attrs){0, 1, true}, 1, {NUMBERS(2, 1, 2)}},
};

const wg_op wg_op_fft = {
    .name = "fft",
    .formula = "y[k] = sum of x[j] e^(-2 pi i jk / n) along axis, of pairs",
    TRANSFORM,
    .flops = flops_fft,
    WG_ATTRS(wg_fft_attrs, fft_attrs),
    .infer = infer_fft,
    .grad = grad_fft,
    WG_SAMPLES(fft_samples),
};
const wg_op wg_op_rfft = {
    .name = "rfft",
    .formula = "y[k] = c sum of x[j] e^(-2 pi i jk / n) along axis, k <= n / 2; " WEIGHTS,
    TRANSFORM,
    .flops = flops_real,
    WG_ATTRS(wg_rfft_attrs, rfft_attrs),
    .infer = infer_rfft,
    .grad = grad_rfft,
    WG_SAMPLES(rfft_samples),
};
const wg_op wg_op_irfft = {
    .name = "irfft",
    .formula = "y[j] = Re sum over k <= n / 2 of c x[k] e^(2 pi i jk / n) along axis; " WEIGHTS,
    TRANSFORM,
    .flops = flops_real,
    WG_ATTRS(wg_rfft_attrs, rfft_attrs),
    .infer = infer_irfft,
    .grad = grad_irfft,
    WG_SAMPLES(irfft_samples),
};

/* ---- products of pairs ----------------------------------------------------------------------- */

static const wg_attr product_attrs[] = {WG_ATTR(BOOL, wg_complex_mul_attrs, conjugate)};

static bool infer_product(wg_node *n)
{
    wg_shape z;
    return need_pairs(n, 0) && need_pairs(n, 1) && wg_need_same_dtype(n, 0, 1) &&
           wg_need_broadcast(n, &n->in[0]->shape, &n->in[1]->shape, &z) &&
           wg_set_result(n, 0, n->in[0]->dtype, z);
}

/* z = x y: dx = dz y*, dy = dz x*;  z = x y*: dx = dz y, dy = x dz* */
static void grad_product(wg_node *n, wg_value *const *dz, wg_value **dx)
{
    const bool conjugate = ((const wg_complex_mul_attrs *)n->attrs)->conjugate;
    const wg_complex_mul_attrs other = {!conjugate}, conjugated = {true};
    wg_value *x = n->in[0], *y = n->in[1];
    dx[0] = wg_apply2(WG_HERE, n->op, &other, dz[0], y);
    dx[1] = wg_apply2(WG_HERE, n->op, &conjugated, conjugate ? x : dz[0], conjugate ? dz[0] : x);
}

/* The pairs' i-th numbers, [..., 1]. */
static wg_value *part(wg_value *x, int i)
{
    return wg_slice(x, -1, i, i + 1, 1);
}

/* (a + bi) (c + di) = ac - bd + (bc + ad) i,  (a + bi) (c - di) = ac + bd + (bc - ad) i */
static void expand_product(wg_node *n, wg_value **z)
{
    const bool conjugate = ((const wg_complex_mul_attrs *)n->attrs)->conjugate;
    wg_value *a = part(n->in[0], 0), *b = part(n->in[0], 1);
    wg_value *c = part(n->in[1], 0), *d = part(n->in[1], 1);
    wg_value *ac = wg_mul(a, c), *bd = wg_mul(b, d), *bc = wg_mul(b, c), *ad = wg_mul(a, d);
    wg_value *re = conjugate ? wg_add(ac, bd) : wg_sub(ac, bd);
    wg_value *im = conjugate ? wg_sub(bc, ad) : wg_add(bc, ad);
    z[0] = wg_concat((wg_value *[]){re, im}, 2, -1);
}

static double flops_product(const wg_node *n)
{
    return 3 * (double)wg_value_count(n->out[0]);
}

static const wg_complex_mul_attrs plain = {false}, conjugating = {true};
static const wg_sample product_samples[] = {
    {"same shape", &plain, 2, {NUMBERS(2, 5, 2), NUMBERS(2, 5, 2)}},
    {"conjugate", &conjugating, 2, {NUMBERS(3, 2, 3, 2), NUMBERS(3, 2, 3, 2)}},
    {"broadcast", &plain, 2, {NUMBERS(3, 4, 1, 2), NUMBERS(2, 3, 2)}},
    {"conjugate, broadcast", &conjugating, 2, {NUMBERS(1, 2), NUMBERS(3, 2, 3, 2)}},
};
const wg_op wg_op_complex_mul = {
    .name = "complex_mul",
    .formula = "z = x y, or x y* with conjugate, of pairs",
    .family = WG_FAMILY_ELEMENTWISE,
    .operands = "x y",
    .results = "z",
    .flops = flops_product,
    WG_ATTRS(wg_complex_mul_attrs, product_attrs),
    .infer = infer_product,
    .grad = grad_product,
    .reads = WG_READS_X,
    .expand = expand_product,
    WG_SAMPLES(product_samples),
};

/* ---- builders -------------------------------------------------------------------------------- */

/* A builder's axis, which does not count that of the pairs, among all axes of x. */
static bool find_axis(const char *at, const char *builder, wg_value *x, int axis, bool pairs,
                      int64_t *out)
{
    const int rank = x ? x->shape.rank - pairs : 0;
    *out = axis < 0 ? axis + rank : axis;
    if (x && (*out < 0 || *out >= rank)) {
        char text[160];
        wg_graph_fail(x->node->graph, WG_EINVAL, at, builder, "x %s%s has no axis %d",
                      wg_shape_text(&x->shape, text, sizeof text),
                      pairs ? ", without the axis of its pairs," : "", axis);
        return false;
    }
    return x != NULL;
}

static wg_value *transform(const char *at, const char *builder, wg_value *x, int axis, bool inverse)
{
    wg_fft_attrs a = {.inverse = inverse};
    if (!find_axis(at, builder, x, axis, true, &a.axis))
        return NULL;
    return wg_apply1(at, &wg_op_fft, &a, x);
}

wg_value *(wg_fft)(const char *at, wg_value *x, int axis)
{
    return transform(at, "fft", x, axis, false);
}

wg_value *(wg_ifft)(const char *at, wg_value *x, int axis)
{
    wg_value *y = transform(at, "ifft", x, axis, true);
    return y ? (wg_scale)(at, y, 1 / (double)wg_value_dim(y, axis < 0 ? axis - 1 : axis)) : NULL;
}

wg_value *(wg_rfft)(const char *at, wg_value *x, int axis)
{
    wg_rfft_attrs a = {.n = 0};
    if (!find_axis(at, "rfft", x, axis, false, &a.axis))
        return NULL;
    return wg_apply1(at, &wg_op_rfft, &a, x);
}

wg_value *(wg_irfft)(const char *at, wg_value *x, int axis, int64_t n)
{
    wg_rfft_attrs a = {.n = n, .weighted = true};
    if (!find_axis(at, "irfft", x, axis, true, &a.axis))
        return NULL;
    const int64_t half = x->shape.dim[a.axis];
    a.n = n ? n : half > 1 ? 2 * half - 2 : 1;
    wg_value *y = wg_apply1(at, &wg_op_irfft, &a, x);
    return y ? (wg_scale)(at, y, 1 / (double)a.n) : NULL;
}

wg_value *(wg_complex)(const char *at, wg_value *re, wg_value *im)
{
    return (wg_stack)(at, (wg_value *[]){re, im}, 2, -1);
}

static wg_value *part_of(const char *at, const char *builder, wg_value *x, int i)
{
    char text[160];
    if (x && (x->shape.rank < 1 || x->shape.dim[x->shape.rank - 1] != 2))
        return wg_graph_fail(x->node->graph, WG_ESHAPE, at, builder,
                             "x is %s, must be pairs: a last axis of 2",
                             wg_shape_text(&x->shape, text, sizeof text));
    return (wg_squeeze)(at, (wg_slice)(at, x, -1, i, i + 1, 1), -1);
}

wg_value *(wg_real_part)(const char *at, wg_value *x)
{
    return part_of(at, "real_part", x, 0);
}

wg_value *(wg_imaginary_part)(const char *at, wg_value *x)
{
    return part_of(at, "imaginary_part", x, 1);
}

wg_value *(wg_complex_mul)(const char *at, wg_value *x, wg_value *y)
{
    return wg_apply2(at, &wg_op_complex_mul, &plain, x, y);
}
