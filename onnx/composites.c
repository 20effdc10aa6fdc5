/* Activations and norms that a file spells out, since its opset or its exporter has no op for them,
 * become one op: it has a kernel and a gradient of its own.
 *
 * GELU is seen by its polynomials: whatever the order of its factors, what a file computes is
 *     0.5 x + 0.5 x t,  with t = erf(x / sqrt(2)) or t = tanh(sqrt(2 / pi) (x + 0.044715 x^3)),
 * where the first is a polynomial in x and t, and the argument of t is one in x. */
#include "onnx/composites.h"
#include "wengert/graph/rule.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- polynomials ----------------------------------------------------------------------------- */

enum { DEGREE = 3, DEPTH = 6 };

/* c[j][i] is that of x^i t^j. */
typedef struct polynomial {
    double c[2][DEGREE + 1];
} polynomial;

static bool times(polynomial *p, const polynomial *a, const polynomial *b)
{
    *p = (polynomial){{{0}}};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= DEGREE; i++)
            for (int l = 0; l < 2; l++)
                for (int k = 0; k <= DEGREE; k++) {
                    double c = a->c[j][i] * b->c[l][k];
                    if (c != 0 && (j + l > 1 || i + k > DEGREE))
                        return false;
                    if (c != 0)
                        p->c[j + l][i + k] += c;
                }
    return true;
}

static void plus(polynomial *p, const polynomial *a, const polynomial *b, double factor)
{
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= DEGREE; i++)
            p->c[j][i] = a->c[j][i] + factor * b->c[j][i];
}

static bool is_constant(const polynomial *p)
{
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= DEGREE; i++)
            if (i + j > 0 && p->c[j][i] != 0)
                return false;
    return true;
}

static bool is_arithmetic(const wg_node *n)
{
    return n->op == &wg_op_add || n->op == &wg_op_sub || n->op == &wg_op_mul ||
           n->op == &wg_op_div || n->op == &wg_op_square || n->op == &wg_op_neg;
}

/* v as a polynomial in x and t; false if it is none. */
static bool polynomial_of(ox_finder *f, const wg_value *v, const wg_value *x, const wg_value *t,
                          int depth, polynomial *p)
{
    polynomial a, b;
    const wg_node *n = v->node;
    double number;
    *p = (polynomial){{{0}}};
    if (v == x || v == t) {
        p->c[v == t][v == x] = 1;
        return true;
    }
    if (wgi_ox_number_of(f, v, &number)) {
        p->c[0][0] = number;
        return true;
    }
    if (depth == 0 || !is_arithmetic(n) || !polynomial_of(f, n->in[0], x, t, depth - 1, &a))
        return false;
    if (n->op == &wg_op_square)
        return times(p, &a, &a);
    if (n->op == &wg_op_neg) {
        plus(p, p, &a, -1);
        return true;
    }
    if (!polynomial_of(f, n->in[1], x, t, depth - 1, &b))
        return false;
    if (n->op == &wg_op_mul)
        return times(p, &a, &b);
    if (n->op == &wg_op_add || n->op == &wg_op_sub) {
        plus(p, &a, &b, n->op == &wg_op_add ? 1 : -1);
        return true;
    }
    if (!is_constant(&b) || b.c[0][0] == 0)
        return false;
    plus(p, p, &a, 1 / b.c[0][0]);
    return true;
}

/* Up to the rounding of factors to f32. */
static bool is_near(const polynomial *p, const polynomial *expected)
{
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= DEGREE; i++)
            if (!(fabs(p->c[j][i] - expected->c[j][i]) <= 1e-6))
                return false;
    return true;
}

/* ---- GELU ------------------------------------------------------------------------------------ */

#define SQRT_HALF 0.70710678118654752 /* 1 / sqrt(2)  */
#define SQRT_2_PI 0.79788456080286536 /* sqrt(2 / pi) */
static const polynomial whole = {{{0, 0.5}, {0, 0.5}}};
static const polynomial erf_argument = {{{0, SQRT_HALF}}};
static const polynomial tanh_argument = {{{0, SQRT_2_PI, 0, 0.044715 * SQRT_2_PI}}};

/* The tanh or erf in the expression v. */
static const wg_value *find_t(const wg_value *v, int depth)
{
    const wg_node *n = v->node;
    const wg_value *t = NULL;
    if (n->op == &wg_op_erf || n->op == &wg_op_tanh)
        return v;
    for (int k = 0; k < n->n_in && !t && depth > 0 && is_arithmetic(n); k++)
        t = find_t(n->in[k], depth - 1);
    return t;
}

/* The value in the expression v by which `argument` is the expected polynomial; NULL without it. */
static const wg_value *find_x(ox_finder *f, const wg_value *v, const wg_value *argument,
                              const polynomial *expected, int depth)
{
    polynomial p;
    const wg_node *n = v->node;
    const wg_value *x = NULL;
    if (wg_shape_equal(&v->shape, &argument->shape) &&
        polynomial_of(f, argument, v, NULL, DEPTH, &p) && is_near(&p, expected))
        return v;
    for (int k = 0; k < n->n_in && !x && depth > 0 && is_arithmetic(n); k++)
        x = find_x(f, n->in[k], argument, expected, depth - 1);
    return x;
}

/* Linear layers of matrices have reshapes behind them; before those, a plan computes GELU with the
 * layer. */
static wg_value *on_rows(const ox_finder *f, const wg_value *x, wg_gelu_kind kind)
{
    const wg_node *n = wgi_ox_made_by(x, &wg_op_reshape);
    return n ? wg_reshape(wg_gelu(wgi_ox_copy_of(f, n->in[0]), kind), x->shape)
             : wg_gelu(wgi_ox_copy_of(f, x), kind);
}

static wg_value *gelu(ox_finder *f, const wg_node *n)
{
    const wg_value *y = n->out[0], *t = is_arithmetic(n) ? find_t(y, 4) : NULL;
    polynomial p;
    if (!t)
        return NULL;
    bool tanh = t->node->op == &wg_op_tanh;
    const wg_value *argument = t->node->in[0];
    const wg_value *x =
        find_x(f, argument, argument, tanh ? &tanh_argument : &erf_argument, DEPTH - 1);
    if (!x || !wg_shape_equal(&x->shape, &y->shape) || !polynomial_of(f, y, x, t, DEPTH, &p) ||
        !is_near(&p, &whole))
        return NULL;
    return on_rows(f, x, tanh ? WG_GELU_TANH : WG_GELU_ERF);
}

/* x sigmoid(x) */
static wg_value *silu(ox_finder *f, const wg_node *n)
{
    for (int i = 0; i < 2 && n->op == &wg_op_mul; i++) {
        const wg_node *s = wgi_ox_made_by(n->in[i], &wg_op_sigmoid);
        if (s && s->in[0] == n->in[1 - i])
            return wg_silu(wgi_ox_copy_of(f, s->in[0]));
    }
    return NULL;
}

/* ---- norms of rows --------------------------------------------------------------------------- */

typedef struct norm {
    const wg_value *x;
    bool centred; /* layernorm; else rmsnorm */
    double eps;
} norm;

/* The operand of a mean over the last axis, which stays with size 1. */
static const wg_value *mean_of(const wg_value *v)
{
    const wg_node *n = wgi_ox_made_by(v, &wg_op_mean);
    const wg_reduce_attrs *a = n ? n->attrs : NULL;
    int rank = n ? n->in[0]->shape.rank : 0;
    bool last = n && a->keep && a->axes.count == 1 && rank > 0 &&
                wg_normalize_axis(a->axes.axis[0], rank) == rank - 1;
    return last ? n->in[0] : NULL;
}

static const wg_value *square_of(const wg_value *v)
{
    const wg_node *n = v ? v->node : NULL;
    bool square = n && (n->op == &wg_op_square || (n->op == &wg_op_mul && n->in[0] == n->in[1]));
    return square ? n->in[0] : NULL;
}

/* x of x - mean(x); NULL if v is something else. */
static const wg_value *centred(const wg_value *v)
{
    const wg_node *n = wgi_ox_made_by(v, &wg_op_sub);
    return n && mean_of(n->in[1]) == n->in[0] ? n->in[0] : NULL;
}

/* v = sqrt(mean(d^2) + eps), where d is as given or the same expression. */
static bool is_deviation(ox_finder *f, const wg_value *v, const wg_value *d, double *eps)
{
    const wg_node *root = wgi_ox_made_by(v, &wg_op_sqrt);
    const wg_node *sum = root ? wgi_ox_made_by(root->in[0], &wg_op_add) : NULL;
    for (int i = 0; sum && i < 2; i++) {
        const wg_value *c = square_of(mean_of(sum->in[i]));
        bool same = c && (c == d || (centred(c) && centred(c) == centred(d)));
        if (same && wgi_ox_number_of(f, sum->in[1 - i], eps) && *eps >= 0)
            return true;
    }
    return false;
}

/* 1 / v, if it is written so */
static const wg_value *inverse_of(ox_finder *f, const wg_value *v)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): of an operand, which is there */
    const wg_node *n = v->node;
    double one;
    if (n->op == &wg_op_reciprocal)
        return n->in[0];
    return n->op == &wg_op_div && wgi_ox_number_of(f, n->in[0], &one) && one == 1 ? n->in[1] : NULL;
}

/* v = d / sqrt(mean(d^2) + eps), with d = x - mean(x) or x. */
static bool is_norm(ox_finder *f, const wg_value *v, norm *out)
{
    const wg_node *n = v->node;
    const wg_value *d = NULL;
    if (n->op == &wg_op_div && is_deviation(f, n->in[1], n->in[0], &out->eps))
        d = n->in[0];
    for (int i = 0; i < 2 && !d && n->op == &wg_op_mul; i++)
        if (is_deviation(f, inverse_of(f, n->in[i]), n->in[1 - i], &out->eps))
            d = n->in[1 - i];
    if (!d || !wg_shape_equal(&d->shape, &v->shape))
        return false;
    out->centred = centred(d) != NULL;
    out->x = out->centred ? centred(d) : d;
    return true;
}

/* Whether v has a number for each column of x. */
static bool is_row(const wg_value *v, const wg_value *x)
{
    return v->shape.rank == 1 && v->shape.dim[0] == x->shape.dim[x->shape.rank - 1] &&
           v->dtype == x->dtype;
}

/* v = norm or norm gain; *gain is NULL without it. */
static bool is_scaled_norm(ox_finder *f, const wg_value *v, norm *out, const wg_value **gain)
{
    *gain = NULL;
    if (is_norm(f, v, out))
        return true;
    for (int i = 0; i < 2 && v->node->op == &wg_op_mul; i++)
        if (is_norm(f, v->node->in[i], out) && is_row(v->node->in[1 - i], out->x)) {
            *gain = v->node->in[1 - i];
            return true;
        }
    return false;
}

static wg_value *norm_of_rows(ox_finder *f, const wg_node *n)
{
    norm found;
    const wg_value *gain = NULL, *bias = NULL;
    bool holds = is_scaled_norm(f, n->out[0], &found, &gain);
    for (int i = 0; i < 2 && !holds && n->op == &wg_op_add; i++) {
        holds = is_scaled_norm(f, n->in[i], &found, &gain) && gain && found.centred &&
                is_row(n->in[1 - i], found.x);
        bias = holds ? n->in[1 - i] : NULL;
    }
    if (!holds)
        return NULL;
    wg_value *x = wgi_ox_copy_of(f, found.x), *g = wgi_ox_copy_of(f, gain);
    return found.centred ? wg_layernorm(x, g, wgi_ox_copy_of(f, bias), WG_LAST_AXIS, found.eps)
                         : wg_rmsnorm(x, g, WG_LAST_AXIS, found.eps);
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* The root of a sum of squares, whose derivative at 0 is 0: a root by itself gives NaN there. */
static wg_value *length_of(const ox_finder *f, const wg_value *v)
{
    const wg_node *sum = wgi_ox_made_by(v, &wg_op_sum);
    const wg_value *x = sum ? square_of(sum->in[0]) : NULL;
    const wg_reduce_attrs *a = sum ? sum->attrs : NULL;
    return x ? wg_vector_norm(wgi_ox_copy_of(f, x), a->axes, a->keep ? WG_KEEP : WG_DROP, 2) : NULL;
}

/* Of one such sum, or of two multiplied, as the cosine of two vectors is divided by. */
static wg_value *length(ox_finder *f, const wg_node *n)
{
    const wg_value *v = n->op == &wg_op_sqrt ? n->in[0] : NULL;
    const wg_node *product = v ? wgi_ox_made_by(v, &wg_op_mul) : NULL;
    if (!product)
        return v ? length_of(f, v) : NULL;
    wg_value *a = length_of(f, product->in[0]), *b = a ? length_of(f, product->in[1]) : NULL;
    return b ? wg_mul(a, b) : NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

wg_value *wgi_ox_composite(ox_finder *f, const wg_node *n)
{
    wg_value *(*const finders[])(ox_finder *, const wg_node *) = {gelu, silu, norm_of_rows, length,
                                                                  wgi_ox_spelled_attention};
    wg_value *y = NULL;
    if (n->n_out != 1 || !wg_dtype_is_float(n->out[0]->dtype))
        return NULL;
    for (size_t i = 0; i < WG_COUNT(finders) && !y; i++)
        y = finders[i](f, n);
    return y;
}
