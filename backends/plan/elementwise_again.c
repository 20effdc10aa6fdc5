/* Values that one group of elementwise nodes keeps for a later one, which can compute them again
 * from less: a loss keeps differences and masks for its gradient, which are a step or two away from
 * prediction and target.
 *
 * The later group takes over the steps that lead to such values, as long as each is cheap and reads
 * what the group has or reads already, or what is there anyway; if that is faster and keeps no more
 * bytes. */
#include "backends/plan/elementwise.h"

#include <stdlib.h>
#include <string.h>

/* What they take, by measurement, in halves of the time that reading a byte takes: to write a byte
 * and read it again, to read one, and a step for each of its elements */
enum { KEEPING = 4, READING = 2, STEP = 3 };

#define NOBODY 0u
#define SEVERAL UINT32_MAX

typedef struct again {
    wgi_groups *s;
    uint32_t *reader; /* [values] the group + 1 that alone reads it, of those that do not have it */
    bool *is_assigned; /* [values] leaves that the run writes */
} again;

static const wg_value *value_at(const again *a, uint32_t id)
{
    return wg_graph_value(a->s->g, id);
}

static uint32_t number_of(const again *a, const wgi_group *x)
{
    return (uint32_t)(x - a->s->group) + 1;
}

static void find_readers(again *a)
{
    const wgi_groups *s = a->s;
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = wgi_node_at(s, i);
        const wgi_group *x = wgi_group_of(s, i);
        uint32_t me = wgi_is_worth_it(x) || (x && x->n == 1) ? number_of(a, x) : SEVERAL;
        for (int k = 0; k < n->n_in; k++) {
            uint32_t *reader = &a->reader[n->in[k]->id];
            if (!x || wgi_group_of(s, n->in[k]->node->id) != x)
                *reader = *reader == NOBODY || *reader == me ? me : SEVERAL;
        }
    }
    for (size_t i = 0; i < s->p->marks.n_outputs; i++)
        a->reader[s->p->marks.outputs[i].value->id] = SEVERAL;
    for (size_t i = 0; i < s->p->marks.n_assigns; i++) {
        a->reader[s->p->marks.assigns[i].value->id] = SEVERAL;
        a->is_assigned[s->p->marks.assigns[i].leaf->id] = true;
    }
}

/* Whether v is in memory when x runs, without x: a later reader may have taken it over. */
static bool is_kept_anyway(const again *a, const wgi_group *x, const wg_value *v)
{
    const wgi_groups *s = a->s;
    const wgi_group *from = wgi_group_of(s, v->node->id);
    if (from && wgi_index_of(from->result, from->n_results, v->id) < 0)
        return false;
    const wg_node *root = value_at(a, s->root[v->id])->node;
    uint32_t last = s->last[s->root[v->id]];
    return (!root->n_in && !a->is_assigned[s->root[v->id]]) || last == WGI_NO_READER ||
           last >= x->member[x->n - 1];
}

static void insert(wgi_group *x, uint32_t node)
{
    int i = x->n++;
    for (; i > 0 && x->member[i - 1] > node; i--)
        x->member[i] = x->member[i - 1];
    x->member[i] = node;
    x->n_again++;
}

/* x is to compute n itself, and what n needs that is not there; false, and x as before, if it
 * cannot. */
static bool take_over(const again *a, wgi_group *x, const wg_node *n)
{
    const wgi_groups *s = a->s;
    const wgi_group before = *x;
    const wg_dtype dtype = wgi_step_dtype(n);
    bool ok = wgi_step_is_cheap(n->op) && wgi_go_together(x->dtype, dtype) &&
              wg_shape_equal(&n->out[0]->shape, &wgi_node_at(s, x->member[0])->out[0]->shape);
    for (int k = 0; ok && k < n->n_in; k++) {
        const wg_value *v = wgi_unexpanded(n->in[k]);
        const wgi_group *from = wgi_group_of(s, v->node->id);
        if (wgi_is_number(n, k) || wgi_group_has(s, x, n->in[k]) ||
            wgi_index_of(x->operand, x->n_operands, v->id) >= 0 || is_kept_anyway(a, x, v))
            continue;
        ok = from ? (v == n->in[k] && take_over(a, x, v->node)) ||
                        wgi_index_of(from->result, from->n_results, v->id) >= 0
                  : !a->is_assigned[s->root[v->id]];
    }
    if (!ok || x->n == WGI_STEPS) {
        *x = before;
        return false;
    }
    insert(x, n->id);
    x->dtype = x->dtype == WG_BOOL ? dtype : x->dtype;
    return true;
}

/* Whether another node of its group reads it, so that the group has a result without it. */
static bool is_read_within(const again *a, const wg_value *v)
{
    const wgi_group *x = wgi_group_of(a->s, v->node->id);
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = wgi_node_at(a->s, x->member[i]);
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] == v)
                return true;
    }
    return false;
}

/* Whether v is kept for x alone. */
static bool is_kept_for(const again *a, const wgi_group *x, const wg_value *v)
{
    const wgi_group *from = wgi_group_of(a->s, v->node->id);
    return from && from != x && a->reader[v->id] == number_of(a, x) && wgi_is_worth_it(from) &&
           is_read_within(a, v);
}

/* Whether what x has become from `before` is faster and keeps no more. */
static bool is_better(const again *a, const wgi_group *before, const wgi_group *x)
{
    size_t saved = 0, reads = 0, keeps = 0;
    for (int k = 0; k < before->n_operands; k++) {
        const wg_value *v = value_at(a, before->operand[k]);
        saved += wgi_group_has(a->s, x, v) ? wg_value_bytes(v) : 0;
    }
    for (int k = 0; k < x->n_operands; k++) {
        const wg_value *v = value_at(a, x->operand[k]);
        if (wgi_index_of(before->operand, before->n_operands, v->id) >= 0)
            continue;
        reads += wg_value_bytes(v);
        keeps += is_kept_anyway(a, x, v) ? 0 : wg_value_bytes(v);
    }
    size_t elements = (size_t)wg_value_count(wgi_node_at(a->s, x->member[0])->out[0]);
    size_t steps = (size_t)x->n_again * elements;
    return keeps <= saved && READING * reads + STEP * steps < KEEPING * saved;
}

static void remove_result(wgi_group *x, uint32_t value)
{
    int at = wgi_index_of(x->result, x->n_results, value);
    memmove(&x->result[at], &x->result[at + 1],
            (size_t)(x->n_results - at - 1) * sizeof *x->result);
    x->n_results--;
}

/* The groups before x no longer keep what it computes, and keep what it reads now. */
static void tell_others(const again *a, const wgi_group *before, const wgi_group *x)
{
    for (int k = 0; k < before->n_operands; k++) {
        const wg_value *v = value_at(a, before->operand[k]);
        if (wgi_group_has(a->s, x, v))
            remove_result(wgi_group_of(a->s, v->node->id), v->id);
    }
    for (int k = 0; k < x->n_operands; k++) {
        uint32_t *reader = &a->reader[x->operand[k]];
        *reader = *reader == number_of(a, x) ? *reader : SEVERAL;
    }
}

static void compute_again(const again *a, wgi_group *x)
{
    const wgi_group before = *x;
    for (int k = 0; k < before.n_operands; k++) {
        const wg_value *v = value_at(a, before.operand[k]);
        const wgi_group so_far = *x;
        if (is_kept_for(a, x, v) && !(take_over(a, x, v->node) && wgi_list_operands(a->s, x)))
            *x = so_far;
    }
    x->has_shape = wgi_results_have_shape(a->s, x);
    if (x->n_again > 0 && wgi_is_worth_it(x) && is_better(a, &before, x))
        tell_others(a, &before, x);
    else
        *x = before;
}

bool wgi_compute_again(wgi_groups *s)
{
    size_t values = wg_graph_value_count(s->g);
    again a = {s, calloc(values + 1, sizeof *a.reader), calloc(values + 1, sizeof *a.is_assigned)};
    bool ok = a.reader && a.is_assigned;
    if (ok)
        find_readers(&a);
    for (uint32_t i = 0; ok && i < s->n; i++)
        if (s->group[i].into == i && s->group[i].n_results > 0)
            compute_again(&a, &s->group[i]);
    free(a.reader);
    free(a.is_assigned);
    return ok;
}
