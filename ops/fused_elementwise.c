/* Elementwise ops one after the other, which a plan puts together so that values between them are
 * never written to memory (backends/plan/elementwise.c). */
#include "graph/internal.h"
#include "ops/steps.h"
#include "wengert/ops/elementwise.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/leaf.h"
#include "wengert/ops/table.h"

#include <string.h>

static const char *text_of(const wg_node *n)
{
    return ((const wg_fused_elementwise_attrs *)n->attrs)->steps;
}

/* ---- shape rule ------------------------------------------------------------------------------ */

static bool is_bool(const wgi_element_step *s)
{
    return strchr(wgi_step_dtypes(s->op), ':')[1] == 'b';
}

/* The float dtype of the operands, and the shape to which all are broadcast. */
static bool take_operands(wg_node *n, wg_dtype *dtype, wg_shape *shape)
{
    *dtype = WG_DTYPE_DEFAULT;
    *shape = n->in[0]->shape;
    for (int i = 0; i < n->n_in; i++) {
        wg_dtype own = n->in[i]->dtype;
        bool fits = own == WG_BOOL ||
                    (wg_dtype_is_float(own) && (*dtype == WG_DTYPE_DEFAULT || *dtype == own));
        if (!fits)
            return wg_fail(n, WG_EDTYPE, "x%d is %s, must be bool or the one float dtype", i,
                           wg_dtype_name(own));
        *dtype = own == WG_BOOL ? *dtype : own;
        if (!wg_need_broadcast(n, shape, &n->in[i]->shape, shape))
            return false;
    }
    return *dtype != WG_DTYPE_DEFAULT || wg_fail(n, WG_EDTYPE, "no operand is a float");
}

/* Operand k of step i exists, and has the dtype that the step's op wants. */
static bool check_term(wg_node *n, const wgi_element_step *step, int i, int k)
{
    const wgi_term *t = &step[i].in[k];
    bool want_bool = wgi_step_dtypes(step[i].op)[k] == 'b';
    if (t->kind == WGI_TERM_OPERAND && t->index >= n->n_in)
        return wg_fail(n, WG_EINVAL, "step %d reads x%d of %d operands", i, t->index, n->n_in);
    bool got_bool = t->kind == WGI_TERM_STEP      ? is_bool(&step[t->index])
                    : t->kind == WGI_TERM_OPERAND ? n->in[t->index]->dtype == WG_BOOL
                                                  : false;
    return want_bool == got_bool || wg_fail(n, WG_EDTYPE, "step %d, %s: operand %d is %sa bool", i,
                                            step[i].op->name, k, got_bool ? "" : "not ");
}

/* Its operands fit together; *own is their shape. */
static bool check_step(wg_node *n, const wgi_element_step *step, int i, wg_shape *own)
{
    own[i] = (wg_shape){0};
    for (int k = 0; k < step[i].n_in; k++) {
        const wgi_term *t = &step[i].in[k];
        if (!check_term(n, step, i, k))
            return false;
        const wg_shape *of = t->kind == WGI_TERM_STEP      ? &own[t->index]
                             : t->kind == WGI_TERM_OPERAND ? &n->in[t->index]->shape
                                                           : NULL;
        if (of && !wg_need_broadcast(n, &own[i], of, &own[i]))
            return false;
    }
    return true;
}

/* All results have one shape. */
static bool check_result(wg_node *n, int i, const wg_shape *own, const wg_shape *shape)
{
    char is[160], must[160];
    return wg_shape_equal(own, shape) ||
           wg_fail(n, WG_ESHAPE, "step %d has shape %s, must have %s", i,
                   wg_shape_text(own, is, sizeof is), wg_shape_text(shape, must, sizeof must));
}

static bool infer_steps(wg_node *n)
{
    wgi_element_step step[WGI_STEPS];
    wg_shape own[WGI_STEPS], shape;
    wg_dtype dtype;
    int count = wgi_steps_read(text_of(n), step), results = 0;
    if (count < 1 || n->n_in < 1 || n->n_in > WGI_STEP_OPERANDS)
        return wg_fail(n, WG_EINVAL, "'%s' are no steps of %d operands",
                       text_of(n) ? text_of(n) : "", n->n_in);
    if (!take_operands(n, &dtype, &shape))
        return false;
    for (int i = 0; i < count; i++) {
        bool is_result = step[i].result >= 0;
        if (!check_step(n, step, i, own) || (is_result && !check_result(n, i, &own[i], &shape)))
            return false;
        results += is_result;
    }
    if (!results)
        return wg_fail(n, WG_EINVAL, "no step is a result");
    if (!wg_set_result_count(n, results))
        return false;
    for (int i = 0; i < count; i++)
        if (step[i].result >= 0 &&
            !wg_set_result(n, step[i].result, is_bool(&step[i]) ? WG_BOOL : dtype, shape))
            return false;
    return true;
}

/* ---- expansion ------------------------------------------------------------------------------- */

/* Where step i was built, from its part of `lines`; that of n if there is none. */
static wg_origin origin_of(const wg_node *n, int i)
{
    wg_origin own = {n->scope, n->at, n->phase};
    const char *part = ((const wg_fused_elementwise_attrs *)n->attrs)->lines;
    for (; part && i > 0; i--)
        part = strchr(part, ';') ? strchr(part, ';') + 1 : NULL;
    size_t length = part ? strcspn(part, ";") : 0;
    char *text = length ? wg_graph_alloc(n->graph, length + 1) : NULL;
    if (!text)
        return own;
    memcpy(text, part, length);
    text[length] = '\0';
    char *at = strchr(text, '@');
    if (!at)
        return own;
    *at++ = '\0';
    const wg_scope *scope = wgi_scope_intern(n->graph, text);
    return (wg_origin){scope ? scope : n->scope, *at ? at : n->at, n->phase};
}

static void expand_steps(wg_node *n, wg_value **y)
{
    wgi_element_step step[WGI_STEPS];
    wg_value *made[WGI_STEPS];
    wg_dtype dtype = WG_F32;
    int count = wgi_steps_read(text_of(n), step);
    for (int k = 0; k < n->n_in; k++)
        dtype = n->in[k]->dtype == WG_BOOL ? dtype : n->in[k]->dtype;
    for (int i = 0; i < count; i++) {
        const wgi_element_step *s = &step[i];
        wg_value *in[3] = {NULL, NULL, NULL};
        for (int k = 0; k < s->n_in; k++)
            in[k] = s->in[k].kind == WGI_TERM_OPERAND ? n->in[s->in[k].index]
                    : s->in[k].kind == WGI_TERM_STEP
                        ? made[s->in[k].index]
                        : wg_fill(n->graph, dtype, (wg_shape){0}, s->in[k].number);
        wg_graph_set_origin(n->graph, origin_of(n, i));
        wg_node *one =
            wg_apply(WG_HERE, n->graph, s->op, s->op->n_attrs ? s->attrs.bytes : NULL, in, s->n_in);
        made[i] = one ? one->out[0] : NULL;
        if (s->result >= 0)
            y[s->result] = made[i];
    }
}

/* ---- the op ---------------------------------------------------------------------------------- */

static double flops_of_steps(const wg_node *n)
{
    wgi_element_step step[WGI_STEPS];
    return (double)wg_value_count(n->out[0]) * wgi_steps_read(text_of(n), step);
}

/* Values of one element are used up together. */
static bool overwrites_any(int result, int operand)
{
    (void)result, (void)operand;
    return true;
}

/* clang-format off */
static const wg_attr attrs[] = {
    WG_ATTR(TEXT, wg_fused_elementwise_attrs, steps),
    WG_ATTR(TEXT, wg_fused_elementwise_attrs, lines),
};

#define STEPS(text) &(const wg_fused_elementwise_attrs){text, NULL}
#define X(...) WG_FLOATS(-2, 2, __VA_ARGS__)
static const wg_sample samples[] = {
    {"two steps", STEPS("t0=mul(x0,x1) y0=tanh(t0)"), 2, {X(2, 3, 4), X(2, 3, 4)}},
    {"broadcast", STEPS("t0=mul(x0,x1) t1=add(t0,x2) y0=silu(t1) y1=mul(y0,0.5)"), 3,
     {X(3, 2, 3, 4), X(1, 4), X(3, 2, 1, 1)}},
    {"choice", STEPS("t0=greater(x0,x1) y0=where(t0,x0,x2) y1=square(y0)"), 3,
     {X(2, 5, 7), X(2, 5, 1), X(0, 0)}},
    {"attributes", STEPS("t0=clamp[-1,1.5](x0) y0=leaky_relu[0.1](t0) y1=gelu[1](x1)"), 2,
     {X(1, 300), X(1, 300)}},
    {"one element", STEPS("t0=add(x0,x1) t1=exp(t0) y0=sub(1,t1)"), 2, {X(0, 0), X(0, 0)}},
};
#undef X

const wg_op wg_op_fused_elementwise = {
    .name = "fused_elementwise",
    .formula = "t0 = op(x0, x1), y0 = op(t0, 0.5), ..., element by element",
    .family = WG_FAMILY_FUSED,
    .operands = "x*",
    .results = "y*",
    .overwrites = overwrites_any,
    WG_ATTRS(wg_fused_elementwise_attrs, attrs),
    .infer = infer_steps,
    .expand = expand_steps,
    .flops = flops_of_steps,
    WG_SAMPLES(samples),
};
/* clang-format on */
