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
    {"swish", wg_silu},
    {"logical_not", wg_logical_not},
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

/* One axis, by default `otherwise`. */
static int axis_of(golden *c, int otherwise)
{
    return golden_axis(c, AXIS, otherwise);
}

static wg_value *as_bool(wg_value *x)
{
    return x && x->dtype != WG_BOOL ? wg_cast(x, WG_BOOL) : x;
}

/* "x2" before "x10": shorter names first, then by letters. */
static int by_name(const void *a, const void *b)
{
    const char *p = ((const golden_input *)a)->name, *q = ((const golden_input *)b)->name;
    size_t n = strlen(p), m = strlen(q);
    return n != m ? (n < m ? -1 : 1) : strcmp(p, q);
}

/* All inputs, in order of names. */
static int all_inputs(golden *c, wg_value **x)
{
    qsort(c->in, (size_t)c->n_in, sizeof *c->in, by_name);
    for (int i = 0; i < c->n_in; i++) {
        x[i] = c->in[i].value;
        c->in[i].used = true;
    }
    return c->n_in;
}

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
    golden_give(c, wg_where(as_bool(golden_in(c, "c|condition|mask")), golden_in(c, "a|x"),
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
    int axis = axis_of(c, -1);
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
    const wg_linear_scan_attrs a = {axis_of(c, 0), golden_bool(c, "reverse", false)};
    golden_give(c,
                wg_linear_scan(golden_in(c, "a"), golden_in(c, "x"), golden_in(c, "initial"), &a));
}

static void build_argmax(golden *c)
{
    wg_value *x = golden_in(c, "x");
    bool all = !golden_has(c, AXIS);
    if (all && x)
        x = wg_reshape(x, WG_SHAPE(wg_value_count(x)));
    int axis = axis_of(c, 0);
    golden_give(c, wg_argmax(x, axis, golden_bool(c, KEEP, false)));
}

static void build_topk(golden *c)
{
    if (!golden_bool(c, "largest", true) || !golden_bool(c, "sorted", true))
        golden_fail(c, "topk of the smallest, or unsorted");
    int axis = axis_of(c, -1);
    golden_give_results(c, wg_topk(golden_in(c, "x"), golden_int(c, "k", 1), axis), 2);
}

/* ---- linear algebra -------------------------------------------------------------------------- */

static void build_matmul(golden *c)
{
    int transposes = (golden_bool(c, "transpose_a", false) ? WG_TN : WG_NN) |
                     (golden_bool(c, "transpose_b", false) ? WG_NT : WG_NN);
    golden_give(c, wg_matmul_t(golden_in(c, "a|x"), golden_in(c, "b|y|w"), transposes));
}

static void build_linear(golden *c)
{
    wg_value *w = golden_in(c, "w|weight");
    if (golden_is(golden_text(c, "weight_layout", "out,in"), "in,out"))
        w = wg_transpose(w);
    const char *activation = golden_text(c, "activation", "none");
    wg_value *y = wg_linear(golden_in(c, "x"), w, golden_in_maybe(c, "b|bias"), WG_ACTIVATION_NONE);
    golden_give(c, golden_is(activation, "relu")   ? wg_relu(y)
                   : golden_is(activation, "tanh") ? wg_tanh(y)
                                                   : y);
    if (!golden_is(activation, "relu") && !golden_is(activation, "tanh") &&
        !golden_is(activation, "none"))
        golden_fail(c, "activation %s is not known", activation);
}

static void build_einsum(golden *c)
{
    wg_value *x[GOLDEN_TENSORS];
    const char *equation = golden_text(c, "equation|spec|subscripts", "");
    int n = all_inputs(c, x);
    golden_give(c, wg_einsum(equation, x, n));
}

/* ---- linear algebra: linalg.py --------------------------------------------------------------- */

static wg_triangle triangle_of(golden *c)
{
    return golden_bool(c, "upper", false) ? WG_UPPER : WG_LOWER;
}

static void build_tril(golden *c)
{
    golden_give(c, wg_tril(golden_in(c, "x"), golden_int(c, "diagonal", 0)));
}

static void build_triu(golden *c)
{
    golden_give(c, wg_triu(golden_in(c, "x"), golden_int(c, "diagonal", 0)));
}

static void build_solve_triangular(golden *c)
{
    int flags = golden_bool(c, "unitriangular", false) ? WG_UNIT_DIAGONAL : 0;
    wg_triangle triangle = triangle_of(c);
    golden_give(c, wg_triangular_solve(golden_in(c, "a"), golden_in(c, "b"), triangle, flags));
}

static void build_cholesky(golden *c)
{
    golden_give(c, wg_cholesky(golden_in(c, "a"), triangle_of(c)));
}

static void build_lu_factor(golden *c)
{
    golden_give(c, wg_lu(golden_in(c, "a")));
}

static void build_solve(golden *c)
{
    golden_give(c, wg_solve(golden_in(c, "a"), golden_in(c, "b")));
}

static void build_cholesky_solve(golden *c)
{
    wg_triangle triangle = triangle_of(c);
    golden_give(c, wg_cholesky_solve(golden_in(c, "factor"), golden_in(c, "b"), triangle));
}

static void build_inv(golden *c)
{
    golden_give(c, wg_inverse(golden_in(c, "a")));
}

static void build_slogdet(golden *c)
{
    golden_give_results(c, wg_slogdet(golden_in(c, "a")), 2);
}

/* ---- movement -------------------------------------------------------------------------------- */

static wg_shape shape_of(golden *c, const char *names)
{
    int64_t dim[WG_MAX_RANK];
    int n = golden_ints(c, names, dim, WG_MAX_RANK, 1);
    if (n < 0)
        golden_fail(c, "attribute %s is missing", names);
    return wg_shape_make(n < 0 ? 0 : n, dim);
}

static void build_reshape(golden *c)
{
    golden_give(c, wg_reshape(golden_in(c, "x"), shape_of(c, "shape|size")));
}

static void build_permute(golden *c)
{
    golden_give(c, wg_permute(golden_in(c, "x"), golden_axes(c, "perm|dims|axes")));
}

static void build_transpose(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int a = golden_axis(c, "dim0|axis0", -2), b = golden_axis(c, "dim1|axis1", -1);
    int rank = x ? x->shape.rank : 0;
    wg_axes order = {.count = rank};
    for (int i = 0; i < rank; i++)
        order.axis[i] = i;
    if (wg_normalize_axis(a, rank) < 0 || wg_normalize_axis(b, rank) < 0) {
        golden_fail(c, "axes %d and %d are outside rank %d", a, b, rank);
        return;
    }
    order.axis[wg_normalize_axis(a, rank)] = wg_normalize_axis(b, rank);
    order.axis[wg_normalize_axis(b, rank)] = wg_normalize_axis(a, rank);
    golden_give(c, wg_permute(x, order));
}

static void build_squeeze(golden *c)
{
    int axis = axis_of(c, -1);
    golden_give(c, wg_squeeze(golden_in(c, "x"), axis));
}

static void build_unsqueeze(golden *c)
{
    int axis = axis_of(c, -1);
    golden_give(c, wg_unsqueeze(golden_in(c, "x"), axis));
}

/* -1 keeps the size of x */
static void build_expand(golden *c)
{
    wg_value *x = golden_in(c, "x");
    wg_shape s = shape_of(c, "shape|size|sizes");
    for (int i = 0; x && i < s.rank; i++)
        if (s.dim[i] == -1 && i >= s.rank - x->shape.rank)
            s.dim[i] = x->shape.dim[i - (s.rank - x->shape.rank)];
    golden_give(c, wg_expand(x, s));
}

static void build_repeat(golden *c)
{
    golden_give(c, wg_tile(golden_in(c, "x"), shape_of(c, "repeats|times|reps")));
}

static void build_slice(golden *c)
{
    int64_t step = golden_int(c, "step", 1);
    int axis = axis_of(c, 0);
    int64_t start = golden_int(c, "start", step > 0 ? 0 : WG_TO_END),
            stop = golden_int(c, "stop|end", step > 0 ? WG_TO_END : WG_TO_START);
    golden_give(c, wg_slice(golden_in(c, "x"), axis, start, stop, step));
}

static void build_concat(golden *c)
{
    wg_value *x[GOLDEN_TENSORS];
    int axis = axis_of(c, 0), n = all_inputs(c, x);
    golden_give(c, wg_concat(x, n, axis));
}

static void build_stack(golden *c)
{
    wg_value *x[GOLDEN_TENSORS];
    int axis = axis_of(c, 0), n = all_inputs(c, x);
    golden_give(c, wg_stack(x, n, axis));
}

/* torch.split: pieces of one size (the last may be smaller) or of given sizes; torch.chunk: so many
 * pieces. */
static void build_split(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int64_t sizes[GOLDEN_TENSORS], chunks = golden_int(c, "chunks|sections", 0);
    int axis = axis_of(c, 0), normal = x ? wg_normalize_axis(axis, x->shape.rank) : -1;
    int n = golden_ints(c, "split_size_or_sections|split_size|sizes", sizes, GOLDEN_TENSORS, 1);
    if (normal < 0)
        return;
    int64_t size = x->shape.dim[normal];
    if (n <= 1) {
        int64_t piece = n == 1 ? sizes[0] : chunks > 0 ? (size + chunks - 1) / chunks : size;
        for (n = 0; piece > 0 && n < GOLDEN_TENSORS && (int64_t)n * piece < size; n++)
            sizes[n] = size - n * piece < piece ? size - n * piece : piece;
    }
    golden_give_results(c, wg_split(x, axis, sizes, n), n);
}

/* "before" and "after" for each axis, or F.pad's "pad": pairs from the last axis on. */
static void build_pad(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int64_t pairs[2 * WG_MAX_RANK];
    double value = golden_real(c, "value", 0);
    const char *mode = golden_text(c, "mode", "constant");
    if (!x)
        return;
    int n = golden_ints(c, "pad|padding", pairs, 2 * WG_MAX_RANK, 1);
    wg_shape before = {x->shape.rank, {0}}, after = before;
    if (n >= 0) {
        for (int i = 0; i + 1 < n && i / 2 < x->shape.rank; i += 2) {
            before.dim[x->shape.rank - 1 - i / 2] = pairs[i];
            after.dim[x->shape.rank - 1 - i / 2] = pairs[i + 1];
        }
    } else {
        before = shape_of(c, "before");
        after = shape_of(c, "after");
    }
    if (golden_is(mode, "constant"))
        golden_give(c, wg_pad(x, before, after, value));
    else if (golden_is(mode, "reflect"))
        golden_give(c, wg_pad_border(x, before, after, WG_BORDER_REFLECT));
    else if (golden_is(mode, "replicate") || golden_is(mode, "edge"))
        golden_give(c, wg_pad_border(x, before, after, WG_BORDER_EDGE));
    else if (golden_is(mode, "circular") || golden_is(mode, "wrap"))
        golden_give(c, wg_pad_border(x, before, after, WG_BORDER_WRAP));
    else
        golden_fail(c, "padding mode %s", mode);
}

static void build_flip(golden *c)
{
    golden_give(c, wg_flip(golden_in(c, "x"), golden_axes(c, AXIS)));
}

/* Without an axis PyTorch rolls the elements in row-major order. */
static void build_roll(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int64_t shift[WG_MAX_RANK];
    int n = golden_ints(c, "shifts|shift", shift, WG_MAX_RANK, 1);
    wg_axes axes = golden_axes(c, AXIS);
    if (x && !axes.count && n == 1) {
        golden_give(c, wg_reshape(wg_roll(wg_reshape(x, WG_SHAPE(wg_value_count(x))), shift[0], 0),
                                  x->shape));
        return;
    }
    if (n != axes.count)
        golden_fail(c, "%d shifts for %d axes", n, axes.count);
    for (int i = 0; i < n && i < axes.count; i++)
        x = wg_roll(x, shift[i], axes.axis[i]);
    golden_give(c, x);
}

/* ---- indices --------------------------------------------------------------------------------- */

static const char IDS[] = "i|ids|index|indices|idx";

/* padding_idx: rows of that id are read, but get no gradient */
static void build_embedding(golden *c)
{
    wg_value *w = golden_in(c, "w|weight"), *ids = golden_in(c, IDS);
    wg_value *y = wg_embedding(w, ids);
    if (y && golden_has(c, "padding_idx")) {
        wg_value *padding =
            wg_equal(ids, wg_scalar_like(ids, (double)golden_int(c, "padding_idx", 0)));
        y = wg_where(wg_unsqueeze(padding, -1), wg_stop_gradient(y), y);
    }
    golden_give(c, y);
}

static void build_gather(golden *c)
{
    int axis = axis_of(c, 0);
    golden_give(c, wg_gather(golden_in(c, "x"), golden_in(c, IDS), axis));
}

static void build_take(golden *c)
{
    int axis = axis_of(c, 0);
    golden_give(c, wg_take(golden_in(c, "x"), golden_in(c, IDS), axis));
}

static void build_scatter_add(golden *c)
{
    int axis = axis_of(c, 0);
    golden_give(
        c, wg_scatter_add(golden_in(c, "x"), golden_in(c, IDS), golden_in(c, "src|s|y|b"), axis));
}

static void build_masked_fill(golden *c)
{
    double value = golden_real(c, "value", 0);
    golden_give(c, wg_masked_fill(golden_in(c, "x"), as_bool(golden_in(c, "mask|m|c")), value));
}

static void build_one_hot(golden *c)
{
    golden_give(c,
                wg_one_hot(golden_in(c, "x|i|ids"), golden_int(c, "num_classes|depth", 0), WG_I64));
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
    {"matmul", build_matmul},
    {"bmm", build_matmul},
    {"linear", build_linear},
    {"einsum", build_einsum},
    {"tril", build_tril},
    {"triu", build_triu},
    {"linalg.solve_triangular", build_solve_triangular},
    {"linalg.cholesky", build_cholesky},
    {"linalg.lu_factor", build_lu_factor},
    {"linalg.solve", build_solve},
    {"cholesky_solve", build_cholesky_solve},
    {"linalg.inv", build_inv},
    {"linalg.slogdet", build_slogdet},
    {"reshape", build_reshape},
    {"view", build_reshape},
    {"permute", build_permute},
    {"transpose", build_transpose},
    {"squeeze", build_squeeze},
    {"unsqueeze", build_unsqueeze},
    {"expand", build_expand},
    {"broadcast_to", build_expand},
    {"repeat", build_repeat},
    {"tile", build_repeat},
    {"slice", build_slice},
    {"concat", build_concat},
    {"cat", build_concat},
    {"stack", build_stack},
    {"split", build_split},
    {"chunk", build_split},
    {"pad", build_pad},
    {"flip", build_flip},
    {"roll", build_roll},
    {"embedding", build_embedding},
    {"gather", build_gather},
    {"index_select", build_take},
    {"take", build_take},
    {"scatter_add", build_scatter_add},
    {"masked_fill", build_masked_fill},
    {"one_hot", build_one_hot},
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
    const golden_op *const tables[] = {golden_nn_ops, golden_layers, golden_arrays};
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
