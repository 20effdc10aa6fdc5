#include "tests/autograd/mutations.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>

/* d one place further along the elements: what a transposed or shifted index does.  A constant
 * matrix moves them. */
static wg_value *rolled(wg_value *d)
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

static wg_value *negated(wg_value *d)
{
    return wg_neg(d);
}
static wg_value *doubled(wg_value *d)
{
    return wg_scale(d, 2);
}
static wg_value *slightly_larger(wg_value *d)
{
    return wg_scale(d, 1 + 1e-3);
}
static wg_value *dropped(wg_value *d)
{
    (void)d;
    return NULL;
}
static wg_value *shifted(wg_value *d)
{
    return wg_shift(d, 1e-3);
}
static wg_value *magnitude(wg_value *d) /* what a check of absolute values would let pass */
{
    return wg_add(wg_relu(d), wg_relu(wg_neg(d)));
}

const mutation mutations[MUTATIONS] = {
    {"sign", negated, false},
    {"scale 2", doubled, false},
    {"scale 1.001", slightly_larger, false},
    {"dropped", dropped, false},
    {"constant", shifted, false},
    {"magnitude", magnitude, false},
    {"rolled", rolled, true},
};

void break_rule(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
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
