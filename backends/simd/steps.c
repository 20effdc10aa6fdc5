/* Elementwise ops that a plan has put together. */
#include "backends/simd/internal.h"
#include "ops/steps.h"
#include "wengert/ops/compare.h"
#include "wengert/ops/elementwise.h"
#include "wengert/ops/fused.h"

#include <stdlib.h>

_Static_assert((int)WGI_STEPS <= (int)SIMD_STEPS &&
                   (int)WGI_STEP_OPERANDS <= (int)SIMD_STEP_OPERANDS &&
                   (int)WGI_STEP_NUMBERS <= (int)SIMD_STEP_NUMBERS &&
                   (int)WGI_STEP_RESULTS <= (int)SIMD_STEP_RESULTS,
               "the kernel has room for all steps");

/* ---- functions ------------------------------------------------------------------------------- */

/* With bools as 0 and 1; `swapped`: of its arguments in the other order. */
static const struct {
    const wg_op *op;
    simd_function f;
    bool swapped;
} functions[] = {
    {&wg_op_equal, SIMD_IS_EQUAL, false},
    {&wg_op_not_equal, SIMD_IS_NOT_EQUAL, false},
    {&wg_op_less, SIMD_IS_LESS, false},
    {&wg_op_less_equal, SIMD_IS_LESS_EQUAL, false},
    {&wg_op_greater, SIMD_IS_LESS, true},
    {&wg_op_greater_equal, SIMD_IS_LESS_EQUAL, true},
    {&wg_op_logical_and, SIMD_MUL, false},
    {&wg_op_logical_or, SIMD_MAXIMUM, false},
    {&wg_op_logical_xor, SIMD_IS_NOT_EQUAL, false},
    {&wg_op_logical_not, SIMD_NOT, false},
    {&wg_op_where, SIMD_CHOOSE, false},
    {&wg_op_maximum_grad, SIMD_MAXIMUM_GRAD, false},
    {&wg_op_cast, SIMD_COPY, false},
};

/* The function of a step, whose arguments may be swapped; false if there is none. */
static bool set_function(const wgi_element_step *from, simd_step *to, bool *swapped)
{
    simd_elementwise e = {.f = SIMD_COPY};
    *swapped = false;
    for (int i = 0; i < WG_COUNT(functions); i++)
        if (functions[i].op == from->op) {
            to->f = functions[i].f;
            *swapped = functions[i].swapped;
            return true;
        }
    const wg_node n = {.op = from->op, .attrs = from->attrs.bytes};
    if (!wgi_simd_function(&n, &e))
        return false;
    to->f = e.f;
    to->parameter = e.parameter;
    to->upper = e.upper;
    return true;
}

/* ---- places ---------------------------------------------------------------------------------- */

typedef struct compiler {
    simd_program *p;
    const wg_node *node;
    wgi_element_step step[WGI_STEPS];
    int last[WGI_STEPS]; /* the last step that reads the step's value; itself: none */
    int out[WGI_STEPS];  /* its place */
    bool taken[SIMD_STEP_VALUES];
} compiler;

enum {
    NUMBERS = SIMD_STEP_OPERANDS,
    RESULTS = NUMBERS + SIMD_STEP_NUMBERS,
    VALUES = RESULTS + SIMD_STEP_RESULTS /* the first places of those */
};

/* The place of a number, which may be there already; -1: no room. */
static int place_of_number(simd_program *p, double x)
{
    int k = 0;
    while (k < p->n_numbers && memcmp(&p->number[k], &x, sizeof x) != 0)
        k++;
    if (k == SIMD_STEP_NUMBERS)
        return -1;
    if (k == p->n_numbers)
        p->number[p->n_numbers++] = x;
    return NUMBERS + k;
}

static int place_of_value(compiler *c)
{
    for (int k = 0; k < SIMD_STEP_VALUES; k++)
        if (!c->taken[k]) {
            c->taken[k] = true;
            return VALUES + k;
        }
    return -1;
}

/* Where step i reads and writes.  A value may take the place of one that the step reads last. */
static bool set_places(compiler *c, int i, bool swapped)
{
    const wgi_element_step *from = &c->step[i];
    simd_step *to = &c->p->step[i];
    to->n_in = from->n_in;
    for (int k = 0; k < from->n_in; k++) {
        const wgi_term *t = &from->in[swapped ? from->n_in - 1 - k : k];
        to->in[k] = t->kind == WGI_TERM_OPERAND ? t->index
                    : t->kind == WGI_TERM_STEP  ? c->out[t->index]
                                                : place_of_number(c->p, t->number);
        if (to->in[k] < 0)
            return false;
        if (t->kind == WGI_TERM_OPERAND)
            c->p->operand[t->index].last = i;
    }
    for (int s = 0; s < i; s++)
        if (c->last[s] == i && c->step[s].result < 0)
            c->taken[c->out[s] - VALUES] = false;
    if (from->result >= 0) {
        c->p->result[from->result].step = i;
        c->p->result[from->result].is_bool = c->node->out[from->result]->dtype == WG_BOOL;
    }
    to->last = c->last[i];
    c->out[i] = to->out = from->result >= 0 ? RESULTS + from->result : place_of_value(c);
    return to->out >= 0;
}

static void describe_operand(simd_step_operand *o, const wg_node *n, int k)
{
    wg_value *x = n->in[k];
    const wg_node alone = {.in = &x, .n_in = 1, .out = n->out};
    *o = (simd_step_operand){.rows = wgi_rows_of(&alone), .is_bool = x->dtype == WG_BOOL};
    bool like_result = o->rows.rows == 1 && o->rows.step[0] == 1;
    o->how = like_result && !o->is_bool                                ? SIMD_DENSE
             : wg_value_count(x) == 1 && wg_value_count(n->out[0]) > 1 ? SIMD_ONE
                                                                       : SIMD_SPREAD;
}

/* The text of n's steps: an op of three operands that is no other kernel's is one. */
static const char *steps_of(const wg_node *n)
{
    return n->op == &wg_op_maximum_grad ? "y0=maximum_grad(x0,x1,x2)"
                                        : ((const wg_fused_elementwise_attrs *)n->attrs)->steps;
}

/* NULL, or why it cannot be. */
static const char *make_program(simd_program *p, const wg_node *n)
{
    compiler c = {.p = p, .node = n};
    *p = (simd_program){
        .n_operands = n->n_in, .n_results = n->n_out, .count = wg_value_count(n->out[0])};
    p->n_steps = wgi_steps_read(steps_of(n), c.step);
    for (int k = 0; k < n->n_in; k++)
        describe_operand(&p->operand[k], n, k);
    for (int i = 0; i < p->n_steps; i++) {
        c.last[i] = i;
        for (int k = 0; k < c.step[i].n_in; k++)
            if (c.step[i].in[k].kind == WGI_TERM_STEP)
                c.last[c.step[i].in[k].index] = i;
    }
    for (int i = 0; i < p->n_steps; i++) {
        bool swapped;
        const wgi_term *t = c.step[i].in;
        if (!set_function(&c.step[i], &p->step[i], &swapped))
            return "a step of another function";
        if (p->step[i].f == SIMD_POW &&
            (p->count < 2 || t[1].kind == WGI_TERM_STEP ||
             (t[1].kind == WGI_TERM_OPERAND && p->operand[t[1].index].how != SIMD_ONE)))
            return "exponents of several elements, or one element";
        if (!set_places(&c, i, swapped))
            return "too many values at once";
    }
    return NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static const char *refuses(const wg_node *n)
{
    simd_program p;
    for (int k = 0; k < n->n_in; k++)
        if (wg_dtype_is_half(n->in[k]->dtype))
            return "16 bits";
    return wg_value_count(n->out[0]) ? make_program(&p, n) : "an empty result";
}

simd_steps_state *wgi_simd_steps_state(const simd_backend *b, const wg_node *n)
{
    simd_steps_state *s = malloc(sizeof *s);
    if (!s)
        return NULL;
    s->backend = *b;
    make_program(&s->program, n);
    return s;
}

static const simd_float_table *table_of(const wg_call *c)
{
    for (int k = 0; k < c->node->n_in; k++)
        if (c->node->in[k]->dtype == WG_F64)
            return simd_kernels(c)->f64;
    return simd_kernels(c)->f32;
}

static void run(wg_call *c)
{
    const simd_steps_state *state = c->state;
    const simd_steps a = {
        .program = &state->program, .in = c->in, .out = c->out, .threads = c->threads};
    table_of(c)->steps(&a);
}

const simd_kernel wgi_simd_steps[] = {
    {&wg_op_fused_elementwise, "steps", refuses, NULL, run},
    {&wg_op_maximum_grad, "steps", refuses, NULL, run},
    {.op = NULL},
};
