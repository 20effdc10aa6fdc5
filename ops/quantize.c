#include "wengert/ops/quantize.h"
#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

/* ---- quantize -------------------------------------------------------------------------------- */

static bool infer_quantize(wg_node *n)
{
    wg_shape rows = n->in[0]->shape;
    if (!wg_need_float(n, 0) || !wg_need_rank(n, 0, 1, WG_MAX_RANK))
        return false;
    rows.dim[--rows.rank] = 0;
    return wg_set_result(n, 0, WG_I8, n->in[0]->shape) &&
           wg_set_result(n, 1, n->in[0]->dtype, rows);
}

/* Written so that NaN is not below the least: the scale of its row is NaN. */
static void expand_quantize(wg_node *n, wg_value **y)
{
    wg_value *x = n->in[0], *zero = wg_scalar_like(x, 0),
             *steps = wg_scalar_like(x, WG_QUANTIZE_STEPS);
    if (x->shape.dim[x->shape.rank - 1] == 0) { /* rows of nothing have no largest number */
        y[0] = wg_cast(x, WG_I8);
        y[1] = wg_fill(wg_graph_of(x), x->dtype, n->out[1]->shape, 0);
        return;
    }
    wg_value *top = wg_max(wg_abs(x), WG_AXES(-1), WG_KEEP);
    wg_value *nothing = wg_less_equal(top, wg_scalar_like(x, WG_QUANTIZE_MIN));
    wg_value *inverse = wg_where(nothing, zero, wg_div(steps, top));
    wg_value *scale = wg_where(nothing, zero, wg_div(top, steps));
    y[0] = wg_cast(wg_round(wg_mul(x, inverse)), WG_I8);
    y[1] = scale ? wg_reshape(scale, n->out[1]->shape) : NULL;
}

static double quantize_flops(const wg_node *n)
{
    return 4 * (double)wg_value_count(n->in[0]);
}

static const wg_sample quantize_samples[] = {
    {"rows", NULL, 1, {WG_FLOATS(-2, 2, 2, 4, 7)}},
    {"one row", NULL, 1, {WG_FLOATS(-0.1, 0.1, 1, 33)}},
    {"planes of rows", NULL, 1, {WG_FLOATS(-9, 9, 3, 2, 3, 5)}},
    {"empty rows", NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 0)}},
};

const wg_op wg_op_quantize = {
    .name = "quantize",
    .formula = "q = round(x / scale) of 8 bits, scale = max |x| / 127 of each row",
    .family = WG_FAMILY_QUANTISATION,
    .operands = "x",
    .results = "q scale",
    .flops = quantize_flops,
    .infer = infer_quantize,
    .expand = expand_quantize,
    WG_SAMPLES(quantize_samples),
};

wg_value *(wg_quantize)(const char *at, wg_value *x)
{
    return wg_apply1(at, &wg_op_quantize, NULL, x);
}

/* ---- quantized_linear ------------------------------------------------------------------------ */

static const wg_attr linear_attrs[] = {WG_ATTR(BOOL, wg_quantized_linear_attrs, relu)};

/* The scale of each row: all axes of x but the last. */
static bool need_scales_of_rows(wg_node *n)
{
    wg_shape rows = n->in[0]->shape;
    char is[160], must[160];
    rows.dim[--rows.rank] = 0;
    return wg_shape_equal(&n->in[1]->shape, &rows) ||
           wg_fail(n, WG_ESHAPE, "x_scale is %s, must be %s",
                   wg_shape_text(&n->in[1]->shape, is, sizeof is),
                   wg_shape_text(&rows, must, sizeof must));
}

static bool infer_linear(wg_node *n)
{
    if (!wg_need_dtype(n, 0, WG_I8) || !wg_need_rank(n, 0, 1, WG_MAX_RANK) ||
        !wg_need_float(n, 1) || !need_scales_of_rows(n) || !wg_need_dtype(n, 2, WG_I8) ||
        !wg_need_rank(n, 2, 2, 2) || !wg_need_same_dtype(n, 3, 1) || !wg_need_rank(n, 3, 1, 1))
        return false;
    wg_shape y = n->in[0]->shape;
    const int64_t *weight = n->in[2]->shape.dim, inputs = y.dim[y.rank - 1];
    if (inputs != weight[1])
        return wg_fail(n, WG_ESHAPE, "inner sizes %lld and %lld differ", (long long)inputs,
                       (long long)weight[1]);
    if (inputs > WG_QUANTIZED_INPUTS)
        return wg_fail(n, WG_ESHAPE, "%lld inputs, of which sums need not fit 32 bits; at most %d",
                       (long long)inputs, WG_QUANTIZED_INPUTS);
    if (!wg_need_dim(n, 3, 0, weight[0]) ||
        (n->n_in > 4 && (!wg_need_same_dtype(n, 4, 1) || !wg_need_rank(n, 4, 1, 1) ||
                         !wg_need_dim(n, 4, 0, weight[0]))))
        return false;
    y.dim[y.rank - 1] = weight[0];
    return wg_set_result(n, 0, n->in[1]->dtype, y);
}

static void expand_linear(wg_node *n, wg_value **y)
{
    const wg_quantized_linear_attrs *a = n->attrs;
    wg_value *x = n->in[0], *x_scale = n->in[1], *weight = n->in[2], *weight_scale = n->in[3];
    wg_value *sums = wg_matmul_t(wgi_as_rows(wg_cast(x, x_scale->dtype)),
                                 wg_cast(weight, x_scale->dtype), WG_NT);
    if (!sums)
        return;
    wg_value *z = wg_mul(sums, wg_reshape(x_scale, WG_SHAPE(sums->shape.dim[0], 1)));
    z = wg_mul(z, weight_scale);
    if (n->n_in > 4)
        z = wg_add(z, n->in[4]);
    y[0] = wg_reshape(a->relu ? wg_relu(z) : z, n->out[0]->shape);
}

static double linear_flops(const wg_node *n)
{
    return (2 * (double)n->in[2]->shape.dim[1] + n->n_in - 2) * (double)wg_value_count(n->out[0]);
}

/* clang-format off */
#define BYTES(...) {WG_I8, WG_STATIC_SHAPE(__VA_ARGS__), -127, 128, WG_MATRICES_ANY}
/* of which a small step in a scale is a small step of the product, for differences */
#define SMALL(...) {WG_I8, WG_STATIC_SHAPE(__VA_ARGS__), -15, 16, WG_MATRICES_ANY}
/* clang-format on */
#define SCALES(...) WG_FLOATS(0.01, 0.02, __VA_ARGS__)
static const wg_quantized_linear_attrs plain = {false}, with_relu = {true};
static const wg_sample linear_samples[] = {
    {"matrix", &plain, 4, {SMALL(2, 3, 4), SCALES(1, 3), SMALL(2, 5, 4), SCALES(1, 5)}},
    {"bias",
     &plain,
     5,
     {BYTES(2, 7, 33), SCALES(1, 7), BYTES(2, 70, 33), SCALES(1, 70), WG_FLOATS(-1, 1, 1, 70)}},
    {"relu",
     &with_relu,
     5,
     {SMALL(3, 2, 3, 8), SCALES(2, 2, 3), SMALL(2, 6, 8), SCALES(1, 6), WG_FLOATS(2, 4, 1, 6)}},
    {"vector", &plain, 4, {SMALL(1, 4), SCALES(0, 0), SMALL(2, 3, 4), SCALES(1, 3)}},
};

const wg_op wg_op_quantized_linear = {
    .name = "quantized_linear",
    .formula =
        "y = x_scale (x weight') weight_scale + bias, of integers x, weight; perhaps relu(y)",
    .family = WG_FAMILY_QUANTISATION,
    .operands = "x x_scale weight weight_scale bias?",
    .results = "y",
    .flops = linear_flops,
    WG_ATTRS(wg_quantized_linear_attrs, linear_attrs),
    .infer = infer_linear,
    .expand = expand_linear,
    WG_SAMPLES(linear_samples),
};

wg_value *(wg_quantized_linear)(const char *at, wg_value *x, wg_value *x_scale, wg_value *weight,
                                wg_value *weight_scale, wg_value *bias, wg_activation activation)
{
    wg_value *const in[] = {x, x_scale, weight, weight_scale, bias};
    const wg_quantized_linear_attrs a = {activation == WG_ACTIVATION_RELU};
    wg_value *y = wgi_apply_list(at, &wg_op_quantized_linear, &a, in, WG_COUNT(in));
    return a.relu ? y : (wg_activate)(at, y, activation);
}
