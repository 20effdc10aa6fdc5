/* Groups of elementwise nodes.
 *
 * The nodes are looked at in their order of execution.  One that reads the value of a group joins
 * it, and makes one of several groups that it reads; so a group is open as long as nobody else has
 * read it.  The new node stands where the last of the group stood: what the group reads comes
 * before, and whoever reads the group, after.  Other nodes may lie between its members, a few, if
 * memory does not suffer: over them, what the group reads stays alive in the place of what it has
 * computed. */
#include "backends/plan/elementwise.h"
#include "wengert/ops/elementwise.h"

#include <string.h>

enum { MOST_BETWEEN = 8 };

/* ---- candidates ------------------------------------------------------------------------------ */

static bool is_float(const wg_value *v)
{
    return v->dtype == WG_F32 || v->dtype == WG_F64;
}

/* *to broadcast with a shape that fits. */
static void broadcast(wg_shape *to, const wg_shape *shape)
{
    wg_shape wide = to->rank >= shape->rank ? *to : *shape;
    const wg_shape *other = to->rank >= shape->rank ? shape : to;
    for (int i = 0; i < other->rank; i++) {
        int64_t *dim = &wide.dim[i + wide.rank - other->rank];
        *dim = *dim == 1 ? other->dim[i] : *dim;
    }
    *to = wide;
}

static bool is_fill(const wg_value *v)
{
    return (v->node->op->flags & WG_OP_FILL) && is_float(v);
}

/* Whether the operands of n that are no fills give the shape of its result, and a float dtype. */
static bool does_without_fills(const wg_node *n)
{
    wg_shape shape = {0};
    bool has_float = false;
    for (int k = 0; k < n->n_in; k++)
        if (!is_fill(wgi_unexpanded(n->in[k]))) {
            broadcast(&shape, &n->in[k]->shape);
            has_float |= is_float(n->in[k]);
        }
    return has_float && wg_shape_equal(&shape, &n->out[0]->shape);
}

bool wgi_is_number(const wg_node *n, int k)
{
    const wg_value *v = wgi_unexpanded(n->in[k]);
    return is_fill(v) && (wg_value_count(v) == 1 || does_without_fills(n));
}

double wgi_number_of(const wg_value *v)
{
    return ((const wg_fill_attrs *)v->node->attrs)->value;
}

/* Whether n may be a step: its dtypes are those of the op's row in ops/steps.c. */
static bool is_candidate(const wg_node *n)
{
    const char *dtypes = wgi_step_dtypes(n->op);
    if (!dtypes || n->n_out != 1 || n->n_in != (int)strcspn(dtypes, ":") ||
        !wg_value_count(n->out[0]) || n->op->attrs_size > sizeof((wgi_element_step *)0)->attrs)
        return false;
    wg_dtype dtype = WG_BOOL;
    for (int k = 0; k <= n->n_in; k++) {
        const wg_value *v = k < n->n_in ? n->in[k] : n->out[0];
        bool want_bool = dtypes[k < n->n_in ? k : k + 1] == 'b';
        if (want_bool ? v->dtype != WG_BOOL
                      : !is_float(v) || (dtype != WG_BOOL && v->dtype != dtype))
            return false;
        dtype = want_bool ? dtype : v->dtype;
    }
    return n->op != &wg_op_pow || (wg_value_count(n->in[1]) == 1 && wg_value_count(n->out[0]) > 1);
}

wg_dtype wgi_step_dtype(const wg_node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (is_float(n->in[k]))
            return n->in[k]->dtype;
    return n->out[0]->dtype;
}

bool wgi_go_together(wg_dtype a, wg_dtype b)
{
    return a == b || a == WG_BOOL || b == WG_BOOL;
}

/* Nodes of one strip. */
static bool are_alike(const wg_node *a, const wg_node *b)
{
    return wg_shape_equal(&a->out[0]->shape, &b->out[0]->shape) && a->phase == b->phase;
}

/* ---- groups ---------------------------------------------------------------------------------- */

wgi_group *wgi_group_of(const wgi_groups *s, uint32_t node)
{
    uint32_t i = s->of[node];
    if (!i)
        return NULL;
    wgi_group *x = &s->group[i - 1];
    while (x->into != (uint32_t)(x - s->group))
        x = &s->group[x->into];
    return x;
}

wg_node *wgi_node_at(const wgi_groups *s, uint32_t id)
{
    return wg_graph_node(s->g, id);
}

wg_value *wgi_unexpanded(wg_value *v)
{
    while (v->node->op == &wg_op_expand)
        v = v->node->in[0];
    return v;
}

bool wgi_group_has(const wgi_groups *s, const wgi_group *x, const wg_value *v)
{
    return wgi_group_of(s, v->node->id) == x ||
           (x->n_again > 0 && wgi_index_of(x->member, x->n, v->node->id) >= 0);
}

static bool add_to(uint32_t *list, int *n, int most, uint32_t id)
{
    for (int i = 0; i < *n; i++)
        if (list[i] == id)
            return true;
    if (*n == most)
        return false;
    list[(*n)++] = id;
    return true;
}

static bool add_number(double *number, int *numbers, double x)
{
    for (int i = 0; i < *numbers; i++)
        if (number[i] == x)
            return true;
    if (*numbers == WGI_STEP_NUMBERS)
        return false;
    number[(*numbers)++] = x;
    return true;
}

bool wgi_list_operands(const wgi_groups *s, wgi_group *x)
{
    double number[WGI_STEP_NUMBERS];
    int numbers = 0;
    x->n_operands = 0;
    x->has_float = x->has_expands = false;
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = wgi_node_at(s, x->member[i]);
        for (int k = 0; k < n->n_in; k++) {
            wg_value *v = wgi_unexpanded(n->in[k]);
            if (wgi_group_has(s, x, n->in[k]))
                continue;
            const bool is_number = wgi_is_number(n, k);
            if (is_number ? !add_number(number, &numbers, wgi_number_of(v))
                          : !add_to(x->operand, &x->n_operands, WGI_STEP_OPERANDS, v->id))
                return false;
            x->has_float |= !is_number && is_float(v);
            x->has_expands |= v != n->in[k] || (is_number && wg_value_count(v) > 1);
        }
    }
    return true;
}

/* The members of both in x, if that is not too large; else nothing changes. */
static bool unite(wgi_groups *s, wgi_group *x, wgi_group *y)
{
    wgi_group before = *x;
    int i = 0, k = 0;
    if (x->n + y->n > WGI_STEPS || !wgi_go_together(x->dtype, y->dtype))
        return false;
    x->dtype = x->dtype == WG_BOOL ? y->dtype : x->dtype;
    x->n = 0;
    while (i < before.n || k < y->n)
        x->member[x->n++] = k == y->n || (i < before.n && before.member[i] < y->member[k])
                                ? before.member[i++]
                                : y->member[k++];
    y->into = (uint32_t)(x - s->group);
    if (wgi_list_operands(s, x))
        return true;
    y->into = (uint32_t)(y - s->group);
    *x = before;
    return false;
}

/* The same of x and n. */
static bool append(wgi_groups *s, wgi_group *x, const wg_node *n)
{
    wgi_group before = *x;
    if (x->n == WGI_STEPS || !wgi_go_together(x->dtype, wgi_step_dtype(n)))
        return false;
    x->dtype = x->dtype == WG_BOOL ? wgi_step_dtype(n) : x->dtype;
    x->member[x->n++] = n->id;
    s->of[n->id] = (uint32_t)(x - s->group) + 1;
    if (wgi_list_operands(s, x))
        return true;
    s->of[n->id] = 0;
    *x = before;
    return false;
}

static wgi_group *begin_group(wgi_groups *s)
{
    wgi_group *x = &s->group[s->n];
    *x = (wgi_group){.dtype = WG_BOOL, .into = s->n++};
    return x;
}

/* Whether the last reader of the value, directly or through views, is of the group. */
static bool dies_in(const wgi_groups *s, const wgi_group *x, uint32_t value)
{
    uint32_t last = s->last[s->root[value]];
    return last != WGI_NO_READER && wgi_group_of(s, last) == x;
}

/* Whether the group takes no more memory if it waits: for a computed operand that it uses up, a
 * result that is not there yet. */
static bool may_wait(const wgi_groups *s, const wgi_group *x)
{
    size_t reads = 0, makes = 0;
    for (int k = 0; k < x->n_operands; k++) {
        const wg_value *root = wg_graph_value(s->g, s->root[x->operand[k]]);
        if (root->node->n_in && dies_in(s, x, x->operand[k]))
            reads += wg_value_bytes(root);
    }
    for (int i = 0; i < x->n; i++) {
        const wg_value *v = wgi_node_at(s, x->member[i])->out[0];
        makes += dies_in(s, x, v->id) ? 0 : wg_value_bytes(v);
    }
    return reads <= makes;
}

/* n, which is node number `place` of those that run, may become part of the group. */
static bool is_open_to(const wgi_groups *s, const wgi_group *x, const wg_node *n, uint32_t place)
{
    uint32_t between = place - x->place - 1;
    return !x->closed && are_alike(wgi_node_at(s, x->member[0]), n) &&
           (between == 0 || (between <= MOST_BETWEEN && may_wait(s, x)));
}

/* n, node number `place` of those that run, joins the groups that it reads, or begins one.  A group
 * that it reads and does not join is closed. */
static void place_candidate(wgi_groups *s, const wg_node *n, uint32_t place)
{
    wgi_group *mine = NULL;
    for (int k = 0; k < n->n_in; k++) {
        wgi_group *x = wgi_group_of(s, n->in[k]->node->id);
        if (!x || x == mine)
            continue;
        bool joins = is_open_to(s, x, n, place) && (!mine || unite(s, mine, x));
        x->closed |= !joins;
        mine = joins && !mine ? x : mine;
    }
    if (mine && !append(s, mine, n)) {
        mine->closed = true;
        mine = NULL;
    }
    if (!mine) {
        mine = begin_group(s);
        append(s, mine, n);
    }
    mine->place = place;
}

/* Others read values only once they are whole. */
static void close_read(wgi_groups *s, const wg_node *n)
{
    for (int k = 0; k < n->n_in; k++) {
        wgi_group *x = wgi_group_of(s, n->in[k]->node->id);
        if (x)
            x->closed = true;
    }
}

static void find_last_readers(wgi_groups *s)
{
    for (size_t i = 0; i < wg_graph_value_count(s->g); i++)
        s->last[i] = WGI_NO_READER;
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = wgi_node_at(s, i);
        for (int k = 0; !wgi_is_view(n) && k < n->n_in; k++)
            s->last[s->root[n->in[k]->id]] = i;
    }
    for (size_t i = 0; i < s->p->marks.n_outputs; i++)
        s->last[s->root[s->p->marks.outputs[i].value->id]] = WGI_NO_READER;
    for (size_t i = 0; i < s->p->marks.n_assigns; i++)
        s->last[s->root[s->p->marks.assigns[i].value->id]] = WGI_NO_READER;
}

static void place_all(wgi_groups *s)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = wgi_node_at(s, i);
        if (!s->foldable[i] && is_candidate(n))
            place_candidate(s, n, place);
        else
            close_read(s, n);
        place += n->n_in > 0 && !wgi_is_view(n);
    }
}

bool wgi_is_worth_it(const wgi_group *x)
{
    return x && (x->n > 1 || (x->n == 1 && x->has_expands)) && x->n_results > 0 && x->has_float &&
           x->has_shape;
}

/* ---- results --------------------------------------------------------------------------------- */

int wgi_index_of(const uint32_t *list, int n, uint32_t id)
{
    int i = 0;
    while (i < n && list[i] != id)
        i++;
    return i < n ? i : -1;
}

bool wgi_results_have_shape(const wgi_groups *s, const wgi_group *x)
{
    wg_shape own[WGI_STEPS] = {{0}};
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = wgi_node_at(s, x->member[i]);
        for (int k = 0; k < n->n_in; k++) {
            const wg_value *v = wgi_unexpanded(n->in[k]);
            broadcast(&own[i], wgi_group_has(s, x, n->in[k])
                                   ? &own[wgi_index_of(x->member, x->n, v->node->id)]
                               : wgi_is_number(n, k) ? &(wg_shape){0}
                                                     : &v->shape);
        }
        if (wgi_index_of(x->result, x->n_results, n->out[0]->id) >= 0 &&
            !wg_shape_equal(&own[i], &n->out[0]->shape))
            return false;
    }
    return true;
}

static void add_result(wgi_group *x, const wg_value *v)
{
    if (!add_to(x->result, &x->n_results, WGI_STEP_RESULTS, v->id))
        x->n = 0; /* too many: its members stay by themselves */
}

/* Values that others read, in the order of the members. */
static void find_results(wgi_groups *s)
{
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = wgi_node_at(s, i);
        for (int k = 0; k < n->n_in; k++) {
            wgi_group *x = wgi_group_of(s, n->in[k]->node->id);
            if (x && wgi_group_of(s, i) != x)
                s->is_marked[n->in[k]->id] = true;
        }
    }
    for (size_t i = 0; i < s->p->marks.n_outputs; i++)
        s->is_marked[s->p->marks.outputs[i].value->id] = true;
    for (size_t i = 0; i < s->p->marks.n_assigns; i++)
        s->is_marked[s->p->marks.assigns[i].value->id] = true;
    for (uint32_t i = 0; i < s->n; i++) {
        wgi_group *x = &s->group[i];
        for (int k = 0; x->into == i && k < x->n; k++)
            if (s->is_marked[wgi_node_at(s, x->member[k])->out[0]->id])
                add_result(x, wgi_node_at(s, x->member[k])->out[0]);
        x->has_shape = x->into == i && wgi_results_have_shape(s, x);
    }
}

void wgi_find_groups(wgi_groups *s)
{
    find_last_readers(s);
    place_all(s);
    find_results(s);
}

void wgi_find_superfluous(wgi_groups *s)
{
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = wgi_node_at(s, i);
        const bool alone = !wgi_is_worth_it(wgi_group_of(s, i));
        for (int k = 0; k < n->n_in; k++)
            s->is_read[n->in[k]->node->id] |= alone || (is_fill(n->in[k]) && !wgi_is_number(n, k));
        for (int k = 0; k < n->n_out; k++)
            s->is_read[i] |= s->is_marked[n->out[k]->id];
    }
}
