/* Tensors made from nothing, elementwise functions and reductions, as opset 17 has them. */
#include "graph/element.h"
#include "onnx/lower_forms.h"

#include <math.h>

/* ---- ops that ONNX has under another name ---------------------------------------------------- */

typedef struct same {
    const wg_op *op;
    const char *name;
} same;

const char *wgi_ox_same_name(const wg_op *op)
{
    static const same table[] = {
        {&wg_op_add, "Add"},           {&wg_op_sub, "Sub"},
        {&wg_op_mul, "Mul"},           {&wg_op_div, "Div"},
        {&wg_op_pow, "Pow"},           {&wg_op_maximum, "Max"},
        {&wg_op_minimum, "Min"},       {&wg_op_neg, "Neg"},
        {&wg_op_abs, "Abs"},           {&wg_op_sign, "Sign"},
        {&wg_op_exp, "Exp"},           {&wg_op_log, "Log"},
        {&wg_op_sqrt, "Sqrt"},         {&wg_op_reciprocal, "Reciprocal"},
        {&wg_op_sin, "Sin"},           {&wg_op_cos, "Cos"},
        {&wg_op_tan, "Tan"},           {&wg_op_asin, "Asin"},
        {&wg_op_acos, "Acos"},         {&wg_op_atan, "Atan"},
        {&wg_op_sinh, "Sinh"},         {&wg_op_cosh, "Cosh"},
        {&wg_op_asinh, "Asinh"},       {&wg_op_acosh, "Acosh"},
        {&wg_op_atanh, "Atanh"},       {&wg_op_erf, "Erf"},
        {&wg_op_floor, "Floor"},       {&wg_op_ceil, "Ceil"},
        {&wg_op_round, "Round"},       {&wg_op_equal, "Equal"},
        {&wg_op_less, "Less"},         {&wg_op_less_equal, "LessOrEqual"},
        {&wg_op_greater, "Greater"},   {&wg_op_greater_equal, "GreaterOrEqual"},
        {&wg_op_isnan, "IsNaN"},       {&wg_op_isinf, "IsInf"},
        {&wg_op_logical_and, "And"},   {&wg_op_logical_or, "Or"},
        {&wg_op_logical_xor, "Xor"},   {&wg_op_logical_not, "Not"},
        {&wg_op_where, "Where"},       {&wg_op_tanh, "Tanh"},
        {&wg_op_relu, "Relu"},         {&wg_op_sigmoid, "Sigmoid"},
        {&wg_op_softplus, "Softplus"}, {&wg_op_hardswish, "HardSwish"},
    };
    for (int i = 0; i < WG_COUNT(table); i++)
        if (table[i].op == op)
            return table[i].name;
    return NULL;
}

void wgi_ox_write_same(ox_export *e, const wg_node *n)
{
    node_of(e, n, wgi_ox_same_name(n->op), n->n_in);
}

/* What only orders or checks a computation, or stops gradients. */
void wgi_ox_write_identity(ox_export *e, const wg_node *n)
{
    node_of(e, n, "Identity", 1);
}

/* ---- tensors made from nothing --------------------------------------------------------------- */

void wgi_ox_write_constant(ox_export *e, const wg_node *n)
{
    const wg_constant_attrs *a = n->attrs;
    static const char none[1];
    wgi_ox_fixed(e, out(e, n), a->dtype, &a->shape, a->data.bytes ? a->data.bytes : none);
}

void wgi_ox_write_fill(ox_export *e, const wg_node *n)
{
    const wg_fill_attrs *a = n->attrs;
    const char *one = wgi_ox_number(e, a->dtype, a->value);
    apply2(e, "Expand", one, wgi_ox_list_of(e, a->shape.dim, (size_t)a->shape.rank), out(e, n));
}

/* Its numbers along the axis, expanded. */
void wgi_ox_write_iota(ox_export *e, const wg_node *n)
{
    const wg_iota_attrs *a = n->attrs;
    int axis = (int)(a->axis < 0 ? a->axis + a->shape.rank : a->axis);
    int64_t size = a->shape.dim[axis];
    wg_shape s = a->shape;
    char *data = wgi_ox_room(e, (size_t)size * wg_dtype_size(a->dtype) + 1);
    for (int64_t i = 0; data && i < size; i++)
        wgi_put_element(data, a->dtype, i, a->start + (double)i * a->step);
    for (int k = 0; k < s.rank; k++)
        s.dim[k] = k == axis ? size : 1;
    const char *line = wgi_ox_fixed(e, wgi_ox_new_name(e, "numbers"), a->dtype, &s, data);
    apply2(e, "Expand", line, wgi_ox_list_of(e, a->shape.dim, (size_t)a->shape.rank), out(e, n));
}

/* ids equal to 0, 1, ... along a new axis: ids out of range give zeros, as ours do. */
void wgi_ox_write_one_hot(ox_export *e, const wg_node *n)
{
    const wg_one_hot_attrs *a = n->attrs;
    wg_dtype dtype = n->in[0]->dtype;
    char *data = wgi_ox_room(e, (size_t)a->depth * wg_dtype_size(dtype) + 1);
    wg_shape s = WG_SHAPE(a->depth);
    for (int64_t i = 0; data && i < a->depth; i++)
        wgi_put_element(data, dtype, i, (double)i);
    const char *classes = wgi_ox_fixed(e, wgi_ox_new_name(e, "classes"), dtype, &s, data);
    const char *ids =
        apply2(e, "Unsqueeze", in(e, n, 0), wgi_ox_list_of(e, &(int64_t){-1}, 1), NULL);
    const char *hot = apply2(e, "Equal", ids, classes, NULL);
    ox_node_proto *p = wgi_ox_node(e, "Cast", &hot, 1, out(e, n));
    wgi_ox_set_int(e, p, "to", wgi_ox_type_of(a->dtype)->number);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

void wgi_ox_write_square(ox_export *e, const wg_node *n)
{
    apply2(e, "Mul", in(e, n, 0), in(e, n, 0), out(e, n));
}

void wgi_ox_write_rsqrt(ox_export *e, const wg_node *n)
{
    apply1(e, "Reciprocal", apply1(e, "Sqrt", in(e, n, 0), NULL), out(e, n));
}

void wgi_ox_write_log1p(ox_export *e, const wg_node *n)
{
    const char *one = wgi_ox_number(e, n->out[0]->dtype, 1);
    apply1(e, "Log", apply2(e, "Add", in(e, n, 0), one, NULL), out(e, n));
}

void wgi_ox_write_expm1(ox_export *e, const wg_node *n)
{
    const char *one = wgi_ox_number(e, n->out[0]->dtype, 1);
    apply2(e, "Sub", apply1(e, "Exp", in(e, n, 0), NULL), one, out(e, n));
}

void wgi_ox_write_not_equal(ox_export *e, const wg_node *n)
{
    apply1(e, "Not", apply2(e, "Equal", in(e, n, 0), in(e, n, 1), NULL), out(e, n));
}

void wgi_ox_write_isfinite(ox_export *e, const wg_node *n)
{
    const char *nan = apply1(e, "IsNaN", in(e, n, 0), NULL);
    const char *inf = apply1(e, "IsInf", in(e, n, 0), NULL);
    apply1(e, "Not", apply2(e, "Or", nan, inf, NULL), out(e, n));
}

/* Mod has the divisor's sign too, but takes integers alone. */
void wgi_ox_write_remainder(ox_export *e, const wg_node *n)
{
    const char *a = in(e, n, 0), *b = in(e, n, 1);
    if (wg_dtype_is_int(n->out[0]->dtype)) {
        apply2(e, "Mod", a, b, out(e, n));
        return;
    }
    const char *times = apply1(e, "Floor", apply2(e, "Div", a, b, NULL), NULL);
    apply2(e, "Sub", a, apply2(e, "Mul", times, b, NULL), out(e, n));
}

/* Integers: Div rounds towards 0, so it gets a multiple of b (which wraps around within b of the
 * smallest integer). */
void wgi_ox_write_floor_divide(ox_export *e, const wg_node *n)
{
    const char *a = in(e, n, 0), *b = in(e, n, 1);
    if (wg_dtype_is_int(n->out[0]->dtype))
        apply2(e, "Div", apply2(e, "Sub", a, apply2(e, "Mod", a, b, NULL), NULL), b, out(e, n));
    else
        apply1(e, "Floor", apply2(e, "Div", a, b, NULL), out(e, n));
}

/* -1 - x: opset 17 has no BitwiseNot. */
void wgi_ox_write_bitwise_not(ox_export *e, const wg_node *n)
{
    apply2(e, "Sub", wgi_ox_number(e, n->out[0]->dtype, -1), in(e, n, 0), out(e, n));
}

void wgi_ox_write_silu(ox_export *e, const wg_node *n)
{
    apply2(e, "Mul", in(e, n, 0), apply1(e, "Sigmoid", in(e, n, 0), NULL), out(e, n));
}

/* x (1 + erf(x / sqrt 2)) / 2, or x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
void wgi_ox_write_gelu(ox_export *e, const wg_node *n)
{
    const wg_gelu_attrs *a = n->attrs;
    wg_dtype d = n->out[0]->dtype;
    const char *x = in(e, n, 0), *inner;
    if (a->kind == WG_GELU_ERF)
        inner = apply1(e, "Erf", apply2(e, "Mul", x, wgi_ox_number(e, d, sqrt(0.5)), NULL), NULL);
    else {
        const char *square = apply2(e, "Mul", x, x, NULL);
        const char *cube = apply2(e, "Mul", square, x, NULL);
        const char *sum =
            apply2(e, "Add", x, apply2(e, "Mul", cube, wgi_ox_number(e, d, 0.044715), NULL), NULL);
        const char *factor = wgi_ox_number(e, d, 0.79788456080286535588);
        inner = apply1(e, "Tanh", apply2(e, "Mul", sum, factor, NULL), NULL);
    }
    const char *gate = apply2(e, "Add", inner, wgi_ox_number(e, d, 1), NULL);
    const char *half = apply2(e, "Mul", x, wgi_ox_number(e, d, 0.5), NULL);
    apply2(e, "Mul", half, gate, out(e, n));
}

void wgi_ox_write_leaky_relu(ox_export *e, const wg_node *n)
{
    const wg_leaky_relu_attrs *a = n->attrs;
    wgi_ox_set_real(e, node_of(e, n, "LeakyRelu", 1), "alpha", a->slope);
}

void wgi_ox_write_elu(ox_export *e, const wg_node *n)
{
    const wg_elu_attrs *a = n->attrs;
    wgi_ox_set_real(e, node_of(e, n, "Elu", 1), "alpha", a->alpha);
}

void wgi_ox_write_relu_grad(ox_export *e, const wg_node *n)
{
    const char *zero = wgi_ox_number(e, n->out[0]->dtype, 0);
    apply3(e, "Where", apply2(e, "Greater", in(e, n, 0), zero, NULL), in(e, n, 1), zero, out(e, n));
}

void wgi_ox_write_clamp(ox_export *e, const wg_node *n)
{
    const wg_clamp_attrs *a = n->attrs;
    wg_dtype d = n->out[0]->dtype;
    apply3(e, "Clip", in(e, n, 0), wgi_ox_number(e, d, a->min), wgi_ox_number(e, d, a->max),
           out(e, n));
}

void wgi_ox_write_cast(ox_export *e, const wg_node *n)
{
    wgi_ox_set_int(e, node_of(e, n, "Cast", 1), "to", wgi_ox_type_of(n->out[0]->dtype)->number);
}

void wgi_ox_write_masked_fill(ox_export *e, const wg_node *n)
{
    const wg_masked_fill_attrs *a = n->attrs;
    apply3(e, "Where", in(e, n, 1), wgi_ox_number(e, n->out[0]->dtype, a->value), in(e, n, 0),
           out(e, n));
}

/* Nothing is dropped outside of training. */
void wgi_ox_write_dropout(ox_export *e, const wg_node *n)
{
    const wg_dropout_attrs *a = n->attrs;
    apply2(e, "Dropout", in(e, n, 0), wgi_ox_number(e, WG_F32, a->p), out(e, n));
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Of opset 17: the axes are an attribute, but for ReduceSum. */
static void reduce(ox_export *e, const char *op, const char *x, const wg_axes *axes, bool keep,
                   const char *y)
{
    int64_t at[WG_MAX_RANK];
    size_t count = axes_of(axes, at);
    const char *operands[] = {x, NULL};
    bool is_sum = strcmp(op, "ReduceSum") == 0;
    if (is_sum && count)
        operands[1] = wgi_ox_list_of(e, at, count);
    ox_node_proto *p = wgi_ox_node(e, op, operands, 2, y);
    if (!is_sum && count)
        wgi_ox_set_ints(e, p, "axes", at, count);
    wgi_ox_set_int(e, p, "keepdims", keep);
}

void wgi_ox_write_reduction(ox_export *e, const wg_node *n)
{
    static const same table[] = {
        {&wg_op_sum, "ReduceSum"},   {&wg_op_mean, "ReduceMean"},
        {&wg_op_max, "ReduceMax"},   {&wg_op_min, "ReduceMin"},
        {&wg_op_prod, "ReduceProd"}, {&wg_op_logsumexp, "ReduceLogSumExp"},
    };
    const wg_reduce_attrs *a = n->attrs;
    for (int i = 0; i < WG_COUNT(table); i++)
        if (table[i].op == n->op)
            reduce(e, table[i].name, in(e, n, 0), &a->axes, a->keep, out(e, n));
}

/* Bools by way of integers. */
void wgi_ox_write_any_all(ox_export *e, const wg_node *n)
{
    const wg_reduce_attrs *a = n->attrs;
    const char *x = in(e, n, 0), *y = wgi_ox_new_name(e, "reduced");
    ox_node_proto *p = wgi_ox_node(e, "Cast", &x, 1, NULL);
    wgi_ox_set_int(e, p, "to", wgi_ox_type_of(WG_I32)->number);
    reduce(e, n->op == &wg_op_any ? "ReduceMax" : "ReduceMin", wgi_ox_result(p), &a->axes, a->keep,
           y);
    wgi_ox_set_int(e, wgi_ox_node(e, "Cast", &y, 1, out(e, n)), "to",
                   wgi_ox_type_of(WG_BOOL)->number);
}

void wgi_ox_write_norm(ox_export *e, const wg_node *n)
{
    const wg_vector_norm_attrs *a = n->attrs;
    const char *x = in(e, n, 0);
    if (a->p == 1 || a->p == 2)
        reduce(e, a->p == 1 ? "ReduceL1" : "ReduceL2", x, &a->axes, a->keep, out(e, n));
    else
        reduce(e, "ReduceMax", apply1(e, "Abs", x, NULL), &a->axes, a->keep, out(e, n));
}

/* sum (x - mean)^2 / (n - correction) */
void wgi_ox_write_var(ox_export *e, const wg_node *n)
{
    const wg_var_attrs *a = n->attrs;
    const char *mean = wgi_ox_new_name(e, "mean"), *sum = wgi_ox_new_name(e, "sum");
    int64_t count = wg_value_count(n->in[0]) / wg_value_count(n->out[0]) - a->correction;
    reduce(e, "ReduceMean", in(e, n, 0), &a->axes, true, mean);
    const char *d = apply2(e, "Sub", in(e, n, 0), mean, NULL);
    reduce(e, "ReduceSum", apply2(e, "Mul", d, d, NULL), &a->axes, a->keep, sum);
    apply2(e, "Div", sum, wgi_ox_number(e, n->out[0]->dtype, (double)count), out(e, n));
}

void wgi_ox_write_arg(ox_export *e, const wg_node *n)
{
    const wg_arg_attrs *a = n->attrs;
    ox_node_proto *p = node_of(e, n, n->op == &wg_op_argmax ? "ArgMax" : "ArgMin", 1);
    wgi_ox_set_int(e, p, "axis", a->axis);
    wgi_ox_set_int(e, p, "keepdims", a->keep);
}

void wgi_ox_write_topk(ox_export *e, const wg_node *n)
{
    const wg_topk_attrs *a = n->attrs;
    ox_node_proto *p = wgi_ox_node(
        e, "TopK", (const char *[]){in(e, n, 0), wgi_ox_list_of(e, &a->k, 1)}, 2, out(e, n));
    wgi_ox_set_int(e, p, "axis", a->axis);
    wgi_ox_add_result(e, p, wgi_ox_name(e, n->out[1]));
}

/* All of the axis: equal ones stay in order of index there too. */
void wgi_ox_write_sort(ox_export *e, const wg_node *n)
{
    const wg_sort_attrs *a = n->attrs;
    const wg_shape *s = &n->in[0]->shape;
    int64_t size = s->dim[wg_normalize_axis(a->axis, s->rank)];
    const char *const operands[] = {in(e, n, 0), wgi_ox_list_of(e, &size, 1)};
    ox_node_proto *p = wgi_ox_node(e, "TopK", operands, 2, out(e, n));
    wgi_ox_set_int(e, p, "axis", a->axis);
    wgi_ox_set_int(e, p, "largest", a->order == WG_DESCENDING);
    wgi_ox_add_result(e, p, wgi_ox_name(e, n->out[1]));
}

void wgi_ox_write_cumsum(ox_export *e, const wg_node *n)
{
    const wg_cumsum_attrs *a = n->attrs;
    const char *axis = wgi_ox_number(e, WG_I64, (double)a->axis);
    ox_node_proto *p = wgi_ox_node(e, "CumSum", (const char *[]){in(e, n, 0), axis}, 2, out(e, n));
    wgi_ox_set_int(e, p, "reverse", a->reverse);
    wgi_ox_set_int(e, p, "exclusive", a->exclusive);
}

/* The inverse of ONNX is divided by the size. */
void wgi_ox_write_fft(ox_export *e, const wg_node *n)
{
    const wg_fft_attrs *a = n->attrs;
    const wg_shape *s = &n->in[0]->shape;
    const int axis = wg_normalize_axis(a->axis, s->rank);
    const char *result = a->inverse ? NULL : out(e, n);
    ox_node_proto *p = wgi_ox_node(e, "DFT", (const char *[]){in(e, n, 0)}, 1, result);
    wgi_ox_set_int(e, p, "axis", axis);
    wgi_ox_set_int(e, p, "inverse", a->inverse);
    if (a->inverse) {
        const char *size = wgi_ox_number(e, n->out[0]->dtype, (double)s->dim[axis]);
        apply2(e, "Mul", wgi_ox_result(p), size, out(e, n));
    }
}

void wgi_ox_write_rfft(ox_export *e, const wg_node *n)
{
    const wg_rfft_attrs *a = n->attrs;
    const wg_shape *s = &n->in[0]->shape;
    const int64_t last = s->rank;
    const char *operands[] = {in(e, n, 0), wgi_ox_list_of(e, &last, 1)};
    const char *real = wgi_ox_result(wgi_ox_node(e, "Unsqueeze", operands, 2, NULL));
    ox_node_proto *p = wgi_ox_node(e, "DFT", &real, 1, out(e, n));
    wgi_ox_set_int(e, p, "axis", wg_normalize_axis(a->axis, s->rank));
    wgi_ox_set_int(e, p, "onesided", 1);
}
