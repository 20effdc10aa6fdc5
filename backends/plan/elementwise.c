/* Elementwise nodes of one shape become one node, fused_elementwise, which computes them strip by
 * strip: values that only they read are never written to memory, and threads meet once for all.
 *
 * The nodes are looked at in their order of execution.  One that reads the value of a group joins
 * it, and makes one of several groups that it reads; so a group is open as long as nobody else has
 * read it.  The new node stands where the last of the group stood: what the group reads comes
 * before, and whoever reads the group, after.  Other nodes may lie between its members, a few, if
 * memory does not suffer: over them, what the group reads stays alive in the place of what it has
 * computed.
 *
 * What a step reads may be broadcast, so an expand before it is left out.
 *
 * In a checked plan each node stays by itself, so that a message can name it; in others,
 * wg_plan_first_nonfinite finds the step (run.c). */
#include "backends/plan/planner.h"
#include "ops/steps.h"
#include "wengert/ops/elementwise.h"
#include "wengert/ops/fused.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BETWEEN = 8 };
#define NO_READER UINT32_MAX

typedef struct group {
    uint32_t member[WGI_STEPS]; /* nodes, ascending */
    int n;
    wg_dtype dtype; /* of its floats; WG_BOOL: it has none */
    uint32_t into;  /* the group that it has become part of, or itself */
    uint32_t place; /* in the order of nodes that run, of its last member */
    bool closed;
    uint32_t operand[WGI_STEP_OPERANDS]; /* values */
    uint32_t result[WGI_STEP_RESULTS];   /* values */
    int n_operands, n_results;
    bool has_float;   /* among the operands */
    bool has_shape;   /* each result has its shape without expands before it, too */
    bool has_expands; /* that it makes superfluous */
} group;

typedef struct pass {
    wgi_planner *p;
    const wg_graph *g;
    group *group;
    uint32_t n_groups;
    uint32_t *of;    /* [nodes] group + 1, 0: none */
    bool *foldable;  /* [nodes] computed when the plan is made */
    uint32_t *root;  /* [values] facts.h */
    uint32_t *last;  /* [values] by root: the last node that reads it, or NO_READER */
    bool *is_marked; /* [values] an output, assigned, or read outside of its group */
    bool *is_read;   /* [nodes] of expands: by others than groups that make them superfluous */
    wgi_step step[WGI_STEPS];
    wg_graph *to;
    wg_value **map;
} pass;

/* ---- candidates ------------------------------------------------------------------------------ */

/* A scalar that a step's text can hold. */
static bool is_number(const wg_value *v)
{
    return (v->node->op->flags & WG_OP_FILL) && wg_value_count(v) == 1 &&
           (v->dtype == WG_F32 || v->dtype == WG_F64);
}

static double number_of(const wg_value *v)
{
    return ((const wg_fill_attrs *)v->node->attrs)->value;
}

static bool is_float(const wg_value *v)
{
    return v->dtype == WG_F32 || v->dtype == WG_F64;
}

/* Whether n may be a step: its dtypes are those of the op's row in ops/steps.c. */
static bool is_candidate(const wg_node *n)
{
    const char *dtypes = wgi_step_dtypes(n->op);
    if (!dtypes || n->n_out != 1 || n->n_in != (int)strcspn(dtypes, ":") ||
        !wg_value_count(n->out[0]) || n->op->attrs_size > sizeof((wgi_step *)0)->attrs)
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

/* The float dtype of a candidate; WG_BOOL if it has bools alone. */
static wg_dtype dtype_of(const wg_node *n)
{
    for (int k = 0; k < n->n_in; k++)
        if (is_float(n->in[k]))
            return n->in[k]->dtype;
    return n->out[0]->dtype;
}

/* What has bools alone goes with either dtype. */
static bool go_together(wg_dtype a, wg_dtype b)
{
    return a == b || a == WG_BOOL || b == WG_BOOL;
}

/* Nodes of one strip. */
static bool are_alike(const wg_node *a, const wg_node *b)
{
    return wg_shape_equal(&a->out[0]->shape, &b->out[0]->shape) && a->phase == b->phase;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The group of a node, NULL if it is in none. */
static group *group_of(const pass *s, uint32_t node)
{
    uint32_t i = s->of[node];
    if (!i)
        return NULL;
    group *x = &s->group[i - 1];
    while (x->into != (uint32_t)(x - s->group))
        x = &s->group[x->into];
    return x;
}

static wg_node *node_at(const pass *s, uint32_t id)
{
    return wg_graph_node(s->g, id);
}

/* v before it was broadcast. */
static wg_value *unexpanded(wg_value *v)
{
    while (v->node->op == &wg_op_expand)
        v = v->node->in[0];
    return v;
}

static bool has_value(const pass *s, const group *x, const wg_value *v)
{
    return group_of(s, v->node->id) == x;
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

/* What the members read from outside the group; false if it is too much. */
static bool list_operands(const pass *s, group *x)
{
    double number[WGI_STEP_NUMBERS];
    int numbers = 0;
    x->n_operands = 0;
    x->has_float = x->has_expands = false;
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = node_at(s, x->member[i]);
        for (int k = 0; k < n->n_in; k++) {
            wg_value *v = unexpanded(n->in[k]);
            if (has_value(s, x, n->in[k]))
                continue;
            if (is_number(v) ? !add_number(number, &numbers, number_of(v))
                             : !add_to(x->operand, &x->n_operands, WGI_STEP_OPERANDS, v->id))
                return false;
            x->has_float |= !is_number(v) && is_float(v);
            x->has_expands |= v != n->in[k];
        }
    }
    return true;
}

/* The members of both in x, if that is not too large; else nothing changes. */
static bool unite(pass *s, group *x, group *y)
{
    group before = *x;
    int i = 0, k = 0;
    if (x->n + y->n > WGI_STEPS || !go_together(x->dtype, y->dtype))
        return false;
    x->dtype = x->dtype == WG_BOOL ? y->dtype : x->dtype;
    x->n = 0;
    while (i < before.n || k < y->n)
        x->member[x->n++] = k == y->n || (i < before.n && before.member[i] < y->member[k])
                                ? before.member[i++]
                                : y->member[k++];
    y->into = (uint32_t)(x - s->group);
    if (list_operands(s, x))
        return true;
    y->into = (uint32_t)(y - s->group);
    *x = before;
    return false;
}

/* The same of x and n. */
static bool append(pass *s, group *x, const wg_node *n)
{
    group before = *x;
    if (x->n == WGI_STEPS || !go_together(x->dtype, dtype_of(n)))
        return false;
    x->dtype = x->dtype == WG_BOOL ? dtype_of(n) : x->dtype;
    x->member[x->n++] = n->id;
    s->of[n->id] = (uint32_t)(x - s->group) + 1;
    if (list_operands(s, x))
        return true;
    s->of[n->id] = 0;
    *x = before;
    return false;
}

static group *begin_group(pass *s)
{
    group *x = &s->group[s->n_groups];
    *x = (group){.dtype = WG_BOOL, .into = s->n_groups++};
    return x;
}

/* Whether the last reader of the value, directly or through views, is of the group. */
static bool dies_in(const pass *s, const group *x, uint32_t value)
{
    uint32_t last = s->last[s->root[value]];
    return last != NO_READER && group_of(s, last) == x;
}

/* Whether the group takes no more memory if it waits: for a computed operand that it uses up, a
 * result that is not there yet. */
static bool may_wait(const pass *s, const group *x)
{
    size_t reads = 0, makes = 0;
    for (int k = 0; k < x->n_operands; k++) {
        const wg_value *root = wg_graph_value(s->g, s->root[x->operand[k]]);
        if (root->node->n_in && dies_in(s, x, x->operand[k]))
            reads += wg_value_bytes(root);
    }
    for (int i = 0; i < x->n; i++) {
        const wg_value *v = node_at(s, x->member[i])->out[0];
        makes += dies_in(s, x, v->id) ? 0 : wg_value_bytes(v);
    }
    return reads <= makes;
}

/* n, which is node number `place` of those that run, may become part of the group. */
static bool is_open_to(const pass *s, const group *x, const wg_node *n, uint32_t place)
{
    uint32_t between = place - x->place - 1;
    return !x->closed && are_alike(node_at(s, x->member[0]), n) &&
           (between == 0 || (between <= MOST_BETWEEN && may_wait(s, x)));
}

/* n, node number `place` of those that run, joins the groups that it reads, or begins one.  A group
 * that it reads and does not join is closed. */
static void place_candidate(pass *s, const wg_node *n, uint32_t place)
{
    group *mine = NULL;
    for (int k = 0; k < n->n_in; k++) {
        group *x = group_of(s, n->in[k]->node->id);
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
static void close_read(pass *s, const wg_node *n)
{
    for (int k = 0; k < n->n_in; k++) {
        group *x = group_of(s, n->in[k]->node->id);
        if (x)
            x->closed = true;
    }
}

static void find_last_readers(pass *s)
{
    for (size_t i = 0; i < wg_graph_value_count(s->g); i++)
        s->last[i] = NO_READER;
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = node_at(s, i);
        for (int k = 0; !wgi_is_view(n) && k < n->n_in; k++)
            s->last[s->root[n->in[k]->id]] = i;
    }
    for (size_t i = 0; i < s->p->marks.n_outputs; i++)
        s->last[s->root[s->p->marks.outputs[i].value->id]] = NO_READER;
    for (size_t i = 0; i < s->p->marks.n_assigns; i++)
        s->last[s->root[s->p->marks.assigns[i].value->id]] = NO_READER;
}

static void find_groups(pass *s)
{
    uint32_t place = 0;
    find_last_readers(s);
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = node_at(s, i);
        if (!s->foldable[i] && is_candidate(n))
            place_candidate(s, n, place);
        else
            close_read(s, n);
        place += n->n_in > 0 && !wgi_is_view(n);
    }
}

/* Whether the group is to become a node, once its results are known. */
static bool is_worth_it(const group *x)
{
    return x && (x->n > 1 || (x->n == 1 && x->has_expands)) && x->n_results > 0 && x->has_float &&
           x->has_shape;
}

/* ---- results --------------------------------------------------------------------------------- */

static int index_of(const uint32_t *list, int n, uint32_t id)
{
    int i = 0;
    while (i < n && list[i] != id)
        i++;
    return i < n ? i : -1;
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

static bool results_have_shape(const pass *s, const group *x)
{
    wg_shape own[WGI_STEPS] = {{0}};
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = node_at(s, x->member[i]);
        for (int k = 0; k < n->n_in; k++) {
            const wg_value *v = unexpanded(n->in[k]);
            broadcast(&own[i], has_value(s, x, n->in[k])
                                   ? &own[index_of(x->member, x->n, v->node->id)]
                               : is_number(v) ? &(wg_shape){0}
                                              : &v->shape);
        }
        if (index_of(x->result, x->n_results, n->out[0]->id) >= 0 &&
            !wg_shape_equal(&own[i], &n->out[0]->shape))
            return false;
    }
    return true;
}

static void add_result(group *x, const wg_value *v)
{
    if (!add_to(x->result, &x->n_results, WGI_STEP_RESULTS, v->id))
        x->n = 0; /* too many: its members stay by themselves */
}

/* Values that others read, in the order of the members. */
static void find_results(pass *s)
{
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = node_at(s, i);
        for (int k = 0; k < n->n_in; k++) {
            group *x = group_of(s, n->in[k]->node->id);
            if (x && group_of(s, i) != x)
                s->is_marked[n->in[k]->id] = true;
        }
    }
    for (size_t i = 0; i < s->p->marks.n_outputs; i++)
        s->is_marked[s->p->marks.outputs[i].value->id] = true;
    for (size_t i = 0; i < s->p->marks.n_assigns; i++)
        s->is_marked[s->p->marks.assigns[i].value->id] = true;
    for (uint32_t i = 0; i < s->n_groups; i++) {
        group *x = &s->group[i];
        for (int k = 0; x->into == i && k < x->n; k++)
            if (s->is_marked[node_at(s, x->member[k])->out[0]->id])
                add_result(x, node_at(s, x->member[k])->out[0]);
        x->has_shape = x->into == i && results_have_shape(s, x);
    }
}

static void find_read_expands(pass *s)
{
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = node_at(s, i);
        for (int k = 0; !is_worth_it(group_of(s, i)) && k < n->n_in; k++)
            s->is_read[n->in[k]->node->id] = true;
        for (int k = 0; k < n->n_out; k++)
            s->is_read[i] |= s->is_marked[n->out[k]->id];
    }
}

/* ---- the new nodes --------------------------------------------------------------------------- */

static wgi_term term_of(const pass *s, const group *x, wg_value *v)
{
    if (has_value(s, x, v))
        return (wgi_term){WGI_TERM_STEP, index_of(x->member, x->n, v->node->id), 0};
    v = unexpanded(v);
    if (is_number(v))
        return (wgi_term){WGI_TERM_NUMBER, 0, number_of(v)};
    return (wgi_term){WGI_TERM_OPERAND, index_of(x->operand, x->n_operands, v->id), 0};
}

/* Where each member was built, with ';' between them. */
static void write_lines(const pass *s, const group *x, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < x->n && used < size; i++) {
        const wg_node *n = node_at(s, x->member[i]);
        used += (size_t)snprintf(text + used, size - used, "%s%s@%s", i ? ";" : "", n->scope->path,
                                 n->at ? n->at : "");
    }
    text[size - 1] = '\0';
}

/* The text of the members' steps; false if it is too long. */
static bool write_steps(pass *s, const group *x, char *text, size_t size)
{
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = node_at(s, x->member[i]);
        wgi_step *to = &s->step[i];
        *to = (wgi_step){.op = n->op,
                         .n_in = n->n_in,
                         .result = index_of(x->result, x->n_results, n->out[0]->id)};
        if (n->op->attrs_size)
            memcpy(to->attrs.bytes, n->attrs, n->op->attrs_size);
        for (int k = 0; k < n->n_in; k++)
            to->in[k] = term_of(s, x, n->in[k]);
    }
    return wgi_steps_write(s->step, x->n, text, size);
}

/* The node for the group, at the end of the new graph, if a backend has a kernel for it: *built.
 * false only after an error. */
static bool build(pass *s, const group *x, bool *built)
{
    char steps[WGI_STEPS_TEXT], lines[WGI_STEPS_TEXT];
    wg_value *in[WGI_STEP_OPERANDS], *out[WGI_STEP_RESULTS];
    const wgi_backends *b = &s->p->backends;
    const wg_fused_elementwise_attrs attrs = {steps, lines};
    wg_node like = *node_at(s, x->member[x->n - 1]); /* scope, line and phase of the last */
    like.op = &wg_op_fused_elementwise;
    like.attrs = &attrs;
    like.in = in;
    like.n_in = x->n_operands;
    like.out = out;
    like.n_out = x->n_results;
    for (int k = 0; k < x->n_operands; k++)
        in[k] = wg_graph_value(s->g, x->operand[k]);
    for (int k = 0; k < x->n_results; k++)
        out[k] = wg_graph_value(s->g, x->result[k]);
    write_lines(s, x, lines, sizeof lines);
    *built = write_steps(s, x, steps, sizeof steps) &&
             wgi_is_taken(b, b->count - 1, &like); /* the last is the reference */
    if (!*built)
        return true;
    for (int k = 0; k < x->n_operands; k++)
        in[k] = s->map[x->operand[k]];
    wg_node *n = wg_node_copy(s->to, &like, in, WG_DTYPE_DEFAULT);
    for (int k = 0; n && k < x->n_results; k++) {
        s->map[out[k]->id] = n->out[k];
        if (!wg_name_copy(n->out[k], out[k]))
            return false;
    }
    return n != NULL;
}

static bool copy(pass *s, const wg_node *n)
{
    return wgi_node_copy_mapped(s->to, n, s->map, WG_DTYPE_DEFAULT);
}

/* With the expands before them, which seemed superfluous. */
static bool copy_members(pass *s, const group *x)
{
    for (int i = 0; i < x->n; i++) {
        const wg_node *n = node_at(s, x->member[i]);
        for (int k = 0; k < n->n_in; k++)
            if (!s->map[n->in[k]->id] && !copy(s, n->in[k]->node))
                return false;
        if (!copy(s, n))
            return false;
    }
    return true;
}

static bool copy_all(pass *s)
{
    for (uint32_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const group *found = group_of(s, i);
        const group *x = is_worth_it(found) ? found : NULL;
        bool built = false;
        if (x && i != x->member[x->n - 1])
            continue;
        if (x && !build(s, x, &built))
            return false;
        if (x && !built && !copy_members(s, x))
            return false;
        bool superfluous = node_at(s, i)->op == &wg_op_expand && !s->is_read[i];
        if (!x && !superfluous && !copy(s, node_at(s, i)))
            return false;
    }
    return true;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool start(pass *s)
{
    size_t nodes = wg_graph_node_count(s->g), values = wg_graph_value_count(s->g);
    s->group = malloc((nodes + 1) * sizeof *s->group);
    s->of = calloc(nodes + 1, sizeof *s->of);
    s->foldable = wgi_foldable_nodes(s->g, !s->p->options.no_fold);
    s->root = wgi_roots(s->g);
    s->last = malloc((values + 1) * sizeof *s->last);
    s->is_marked = calloc(values + 1, sizeof *s->is_marked);
    s->is_read = calloc(nodes + 1, sizeof *s->is_read);
    s->map = calloc(values + 1, sizeof(wg_value *));
    return s->group && s->of && s->foldable && s->root && s->last && s->is_marked && s->is_read &&
           s->map;
}

static bool found_any(const pass *s)
{
    for (uint32_t i = 0; i < s->n_groups; i++)
        if (s->group[i].into == i && is_worth_it(&s->group[i]))
            return true;
    return false;
}

bool wgi_pass_elementwise(wgi_planner *p)
{
    const wg_plan_options *o = &p->options;
    if (p->backends.count < 2 || o->no_fuse || o->keep_all || o->check_nonfinite)
        return true;
    pass s = {.p = p, .g = p->g};
    bool ok = start(&s);
    if (ok) {
        find_groups(&s);
        find_results(&s);
        find_read_expands(&s);
    }
    if (ok && found_any(&s)) {
        s.to = wg_graph_new();
        ok = s.to && copy_all(&s) && wgi_graph_copy_marks(s.to, p->marks, s.map);
    }
    ok = wgi_planner_end(p, ok, s.to, s.map);
    free(s.group);
    free(s.of);
    free(s.foldable);
    free(s.root);
    free(s.last);
    free(s.is_marked);
    free(s.is_read);
    return ok;
}
