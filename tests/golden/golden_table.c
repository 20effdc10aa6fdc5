/* PyTorch's names for ops and attributes, and what they are here.  An op of one or two operands
 * without attributes is a row of `unary` or `binary`, a reduction one of `reductions`; the others
 * have a function. */
#include "tests/golden/golden.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    wg_value *(*build)(const char *at, wg_value *x);
} unary[] = {
    {"neg", wg_neg},
    {"abs", wg_abs},
    {"exp", wg_exp},
    {"log", wg_log},
    {"log1p", wg_log1p},
    {"expm1", wg_expm1},
    {"sqrt", wg_sqrt},
    {"rsqrt", wg_rsqrt},
    {"reciprocal", wg_reciprocal},
    {"square", wg_square},
    {"sin", wg_sin},
    {"cos", wg_cos},
    {"tan", wg_tan},
    {"asin", wg_asin},
    {"acos", wg_acos},
    {"atan", wg_atan},
    {"sinh", wg_sinh},
    {"cosh", wg_cosh},
    {"asinh", wg_asinh},
    {"acosh", wg_acosh},
    {"atanh", wg_atanh},
    {"erf", wg_erf},
    {"lgamma", wg_lgamma},
    {"digamma", wg_digamma},
    {"sign", wg_sign},
    {"floor", wg_floor},
    {"ceil", wg_ceil},
    {"round", wg_round},
    {"relu", wg_relu},
    {"sigmoid", wg_sigmoid},
    {"tanh", wg_tanh},
    {"silu", wg_silu},
    {"hardswish", wg_hardswish},
    {"swish", wg_silu},
    {"logical_not", wg_logical_not},
    {"bitwise_not", wg_bitwise_not},
    {"isnan", wg_isnan},
    {"isinf", wg_isinf},
    {"isfinite", wg_isfinite},
    {"detach", wg_stop_gradient},
};

static const struct {
    const char *name;
    wg_value *(*build)(const char *at, wg_value *a, wg_value *b);
} binary[] = {
    {"add", wg_add},
    {"sub", wg_sub},
    {"mul", wg_mul},
    {"div", wg_div},
    {"remainder", wg_remainder},
    {"atan2", wg_atan2},
    {"complex_mul", wg_complex_mul},
    {"maximum", wg_maximum},
    {"minimum", wg_minimum},
    {"eq", wg_equal},
    {"ne", wg_not_equal},
    {"lt", wg_less},
    {"le", wg_less_equal},
    {"gt", wg_greater},
    {"ge", wg_greater_equal},
    {"logical_and", wg_logical_and},
    {"logical_or", wg_logical_or},
    {"logical_xor", wg_logical_xor},
    {"floor_divide", wg_floor_divide},
    {"bitwise_and", wg_bitwise_and},
    {"bitwise_or", wg_bitwise_or},
    {"bitwise_xor", wg_bitwise_xor},
    {"bitwise_left_shift", wg_bitwise_left_shift},
    {"bitwise_right_shift", wg_bitwise_right_shift},
};

static const struct {
    const char *name;
    wg_value *(*build)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
} reductions[] = {
    {"sum", wg_sum},  {"mean", wg_mean}, {"amax", wg_max},  {"max", wg_max},
    {"amin", wg_min}, {"min", wg_min},   {"prod", wg_prod}, {"logsumexp", wg_logsumexp},
    {"any", wg_any},  {"all", wg_all},
};

/* ---- words that many ops share --------------------------------------------------------------- */

static const char AXIS[] = "axis|axes|dim|dims", KEEP[] = "keepdim|keepdims";

/* ---- elementwise ----------------------------------------------------------------------------- */

static void build_pow(golden *c)
{
    wg_value *a = golden_in(c, "a|x");
    wg_value *b = golden_has(c, "exponent") ? wg_scalar_like(a, golden_real(c, "exponent", 0))
                                            : golden_in(c, "b|y");
    golden_give(c, wg_pow(a, b));
}

static void build_where(golden *c)
{
    golden_give(c, wg_where(golden_as_bool(golden_in(c, "c|condition|mask")), golden_in(c, "a|x"),
                            golden_in(c, "b|y")));
}

static void build_leaky_relu(golden *c)
{
    golden_give(c, wg_leaky_relu(golden_in(c, "x"), golden_real(c, "slope|negative_slope", 0.01)));
}

static void build_elu(golden *c)
{
    golden_give(c, wg_elu(golden_in(c, "x"), golden_real(c, "alpha", 1)));
}

/* ln(1 + exp(beta x)) / beta; above `threshold` PyTorch returns x, which differs by less than 1e-8
 * only there. */
static void build_softplus(golden *c)
{
    double beta = golden_real(c, "beta", 1), threshold = golden_real(c, "threshold", 20);
    wg_value *x = golden_in(c, "x");
    wg_value *soft = wg_scale(wg_softplus(wg_scale(x, beta)), 1 / beta);
    wg_value *linear = x ? wg_greater(wg_scale(x, beta), wg_scalar_like(x, threshold)) : NULL;
    golden_give(c, wg_where(linear, x, soft));
}

static void build_gelu(golden *c)
{
    bool tanh_form = golden_is(golden_text(c, "approximate", "none"), "tanh");
    golden_give(c, wg_gelu(golden_in(c, "x"), tanh_form ? WG_GELU_TANH : WG_GELU_ERF));
}

static void build_clamp(golden *c)
{
    double min = golden_real(c, "min|min_val", -INFINITY),
           max = golden_real(c, "max|max_val", INFINITY);
    golden_give(c, wg_clamp(golden_in(c, "x"), min, max));
}

static void build_glu(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int axis = golden_axis(c, AXIS, -1);
    if (x && axis != -1 && axis != x->shape.rank - 1)
        golden_fail(c, "glu along another axis than the last");
    golden_give(c, wg_gated(x, WG_GLU));
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* unbiased: divided by n - 1 */
static wg_value *variance(golden *c)
{
    bool unbiased = golden_bool(c, "unbiased", true);
    int64_t correction = golden_int(c, "correction|ddof", unbiased);
    wg_axes axes = golden_axes(c, AXIS);
    return wg_var(golden_in(c, "x"), axes, golden_bool(c, KEEP, false), correction);
}

static void build_var(golden *c)
{
    golden_give(c, variance(c));
}

static void build_std(golden *c)
{
    golden_give(c, wg_sqrt(variance(c)));
}

static void build_norm(golden *c)
{
    double p = golden_real(c, "p|ord", 2);
    wg_axes axes = golden_axes(c, AXIS);
    golden_give(c, wg_vector_norm(golden_in(c, "x"), axes, golden_bool(c, KEEP, false), p));
}

static void build_linear_scan(golden *c)
{
    const wg_linear_scan_attrs a = {golden_axis(c, AXIS, 0), golden_bool(c, "reverse", false)};
    golden_give(c,
                wg_linear_scan(golden_in(c, "a"), golden_in(c, "x"), golden_in(c, "initial"), &a));
}

static void build_argmax(golden *c)
{
    wg_value *x = golden_in(c, "x");
    bool all = !golden_has(c, AXIS);
    if (all && x)
        x = wg_reshape(x, WG_SHAPE(wg_value_count(x)));
    int axis = golden_axis(c, AXIS, 0);
    golden_give(c, wg_argmax(x, axis, golden_bool(c, KEEP, false)));
}

static void build_topk(golden *c)
{
    if (!golden_bool(c, "largest", true) || !golden_bool(c, "sorted", true))
        golden_fail(c, "topk of the smallest, or unsorted");
    int axis = golden_axis(c, AXIS, -1);
    golden_give_results(c, wg_topk(golden_in(c, "x"), golden_int(c, "k", 1), axis), 2);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const golden_op ops[] = {
    {"pow", build_pow},
    {"where", build_where},
    {"leaky_relu", build_leaky_relu},
    {"elu", build_elu},
    {"softplus", build_softplus},
    {"gelu", build_gelu},
    {"clamp", build_clamp},
    {"hardtanh", build_clamp},
    {"glu", build_glu},
    {"var", build_var},
    {"std", build_std},
    {"norm", build_norm},
    {"linear_scan", build_linear_scan},
    {"argmax", build_argmax},
    {"topk", build_topk},
};

static bool build(golden *c, const char *op)
{
    for (size_t i = 0; i < WG_COUNT(unary); i++)
        if (golden_is(unary[i].name, op))
            return golden_give(c, unary[i].build(WG_HERE, golden_in(c, "x|a"))), true;
    for (size_t i = 0; i < WG_COUNT(binary); i++)
        if (golden_is(binary[i].name, op)) {
            wg_value *a = golden_in(c, "a|x");
            return golden_give(c, binary[i].build(WG_HERE, a, golden_in(c, "b|y"))), true;
        }
    for (size_t i = 0; i < WG_COUNT(reductions); i++)
        if (golden_is(reductions[i].name, op)) {
            wg_axes axes = golden_axes(c, AXIS);
            wg_keep keep = golden_bool(c, KEEP, false) ? WG_KEEP : WG_DROP;
            return golden_give(c, reductions[i].build(WG_HERE, golden_in(c, "x"), axes, keep)),
                   true;
        }
    for (size_t i = 0; i < WG_COUNT(ops); i++)
        if (golden_is(ops[i].name, op))
            return ops[i].build(c), true;
    const golden_op *const tables[] = {golden_nn_ops, golden_layers, golden_arrays, golden_linalg,
                                       golden_movement};
    for (int i = 0; i < WG_COUNT(tables); i++)
        for (const golden_op *o = tables[i]; o->name; o++)
            if (golden_is(o->name, op))
                return o->build(c), true;
    return false;
}

void golden_build(golden *c, const char *op)
{
    if (!build(c, op))
        golden_fail(c, "op \"%s\" is not known", op);
    const char *name;
    json_t *value;
    json_object_foreach(c->attrs, name, value)
        golden_fail(c, "attribute \"%s\" has no meaning here", name);
    for (int i = 0; i < c->n_in; i++)
        if (!c->in[i].used)
            golden_fail(c, "input \"%s\" has no meaning here", c->in[i].name);
    if (wg_graph_status(c->graph) != WG_OK)
        golden_fail(c, "%s", wg_graph_message(c->graph));
}
