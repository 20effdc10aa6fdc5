#include "backends/bad_input.h"
#include "backends/plan/facts.h"
#include "backends/plan/plan.h"

/* Element i of the result is computed from element i of the operand alone. */
static bool keeps_elements(const wg_node *n)
{
    return wgi_is_view(n) || n->op == &wg_op_cast;
}

const wg_value *wgi_plan_bad_input(const wg_plan *p, int64_t *element)
{
    const wg_value *v = p->bad;
    while (v && keeps_elements(v->node))
        v = v->node->in[0];
    *element = p->bad_at;
    return v && v->node->op == &wg_op_input ? v : NULL;
}
