/* Ways to break a gradient rule: what they make of the cotangent of an operand. */
#ifndef WG_TESTS_MUTATIONS_H
#define WG_TESTS_MUTATIONS_H

#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/ops.h"

/* d one place further along the elements: what a transposed or shifted index does.  A constant
 * matrix moves them. */
static inline wg_value *rolled(wg_value *d)
{
    wg_graph *g = wg_graph_of(d);
    int64_t n = wg_value_count(d);
    double *move = calloc((size_t)(n * n), sizeof *move);
    for (int64_t i = 0; i < n; i++)
        move[i * n + (i + 1) % n] = 1;
    wg_value *m = wg_constant(g, WG_F64, WG_SHAPE(n, n), move);
    free(move);
    return wg_reshape(wg_matmul(wg_reshape(d, WG_SHAPE(1, n)), m), d->shape);
}

static inline wg_value *negated(wg_value *d)
{
    return wg_neg(d);
}
static inline wg_value *doubled(wg_value *d)
{
    return wg_scale(d, 2);
}
static inline wg_value *slightly_larger(wg_value *d)
{
    return wg_scale(d, 1 + 1e-3);
}
static inline wg_value *dropped(wg_value *d)
{
    (void)d;
    return NULL;
}
static inline wg_value *shifted(wg_value *d)
{
    return wg_shift(d, 1e-3);
}
static inline wg_value *magnitude(wg_value *d) /* what a check of absolute values would let pass */
{
    return wg_add(wg_relu(d), wg_relu(wg_neg(d)));
}

static const struct mutation {
    const char *name;
    wg_value *(*change)(wg_value *d);
    bool needs_two; /* does nothing to a single element */
} mutations[] = {
    {"sign", negated, false},
    {"scale 2", doubled, false},
    {"scale 1.001", slightly_larger, false},
    {"dropped", dropped, false},
    {"constant", shifted, false},
    {"magnitude", magnitude, false},
    {"rolled", rolled, true},
};

/* Breaks the rules of one op, as wg_grad_hook.context. */
typedef struct target {
    const wg_op *op;
    int operand;
    const struct mutation *mutation;
    bool hit; /* a rule made a cotangent that could be changed */
} target;

static inline void break_rule(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    target *t = context;
    (void)dy;
    wg_value *d =
        n->op == t->op && n->phase == WG_FORWARD && t->operand < n->n_in ? dx[t->operand] : NULL;
    if (!d || wg_value_count(d) < (t->mutation->needs_two ? 2 : 1))
        return;
    t->hit = true;
    dx[t->operand] = t->mutation->change(d);
}

#endif
