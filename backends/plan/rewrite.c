/* A graph that the backends can run:
 * - dead code: only leaves and what outputs and assignments need is copied;
 * - common subexpressions: a node equal to an earlier one (same op, attributes and operands) is
 *   replaced by it; leaves and opaque ops are never equal, random ops are if their keys are;
 * - bf16 and f16: where no backend computes in them, a node is computed in f32;
 * - composites are expanded, recursively, where no backend takes them whole, or where their
 *   gradient needs a part of them; only here a sum over ranks becomes a start and a wait;
 * - assigned leaves whose old value is still wanted after the run are copied first. */
#include "backends/plan/planner.h"
#include "graph/grow.h"
#include "graph/mix.h"
#include "wengert/ops/elementwise.h"
#include "wengert/ops/linalg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rewrite {
    wgi_planner *p;
    wg_graph *to;
    wg_value **map;         /* [values of p->g] in `to`                                      */
    wg_value **replacement; /* [capacity] by id in `to`: what replaces a value, NULL: itself */
    size_t capacity;
    wg_node **table; /* [slots] nodes of `to` by hash of op, attributes and operands         */
    size_t slots, used;
    bool must_expand; /* the node that is admitted next, even if a backend takes it          */
    uint32_t *layer;  /* [values of p->g] the last needed linear layer without activation that
                       * has it as its first operand: id + 1, 0: none */
    uint32_t *before; /* [nodes of p->g] the layer before it, likewise */
} rewrite;

/* ---- replaced values ------------------------------------------------------------------------- */

static wg_value *current(const rewrite *r, wg_value *v)
{
    return v->id < r->capacity && r->replacement[v->id] ? r->replacement[v->id] : v;
}

static bool redirect(rewrite *r, const wg_value *from, wg_value *to)
{
    size_t known = r->capacity;
    if (!WGI_RESERVE(r->replacement, r->capacity, (size_t)from->id + 1))
        return false;
    memset(r->replacement + known, 0, (r->capacity - known) * sizeof(wg_value *));
    r->replacement[from->id] = to;
    return true;
}

/* ---- common subexpressions ------------------------------------------------------------------- */

static uint64_t hash_of(const wg_node *n, wg_value *const *in)
{
    uint64_t h = wgi_mix64((uintptr_t)n->op ^ wg_node_attrs_hash(n->op, n->attrs));
    for (int k = 0; k < n->n_in; k++)
        h = wgi_mix64(h ^ (in[k]->id + UINT64_C(1)));
    return h;
}

static bool equal(const wg_node *a, const wg_node *n, wg_value *const *in)
{
    if (a->op != n->op || a->n_in != n->n_in)
        return false;
    if (n->op == &wg_op_cast && wg_dtype_is_half(in[0]->dtype) && a->phase != n->phase)
        return false; /* a wide copy kept until the backward pass would cost what 16 bits save */
    for (int k = 0; k < n->n_in; k++)
        if (a->in[k] != in[k])
            return false;
    return !n->op->attrs_size || wg_node_attrs_equal(n->op, a->attrs, n->attrs);
}

static bool grow_table(rewrite *r)
{
    size_t slots = r->slots ? 2 * r->slots : 256;
    wg_node **table = calloc(slots, sizeof(wg_node *));
    if (!table)
        return false;
    for (size_t i = 0; i < r->slots; i++) {
        if (!r->table[i])
            continue;
        size_t at = hash_of(r->table[i], r->table[i]->in) & (slots - 1);
        while (table[at])
            at = (at + 1) & (slots - 1);
        table[at] = r->table[i];
    }
    free(r->table);
    r->table = table;
    r->slots = slots;
    return true;
}

/* The place in the table of a node equal to n with operands `in`, or the free one where it belongs.
 */
static wg_node **find(const rewrite *r, const wg_node *n, wg_value *const *in)
{
    size_t at = hash_of(n, in) & (r->slots - 1);
    while (r->table[at] && !equal(r->table[at], n, in))
        at = (at + 1) & (r->slots - 1);
    return &r->table[at];
}

/* ---- one node -------------------------------------------------------------------------------- */

static bool lower(rewrite *r, wg_node *n);

static bool copy_names(wg_node *to, const wg_node *from)
{
    for (int k = 0; to != from && k < from->n_out; k++)
        if (!to->out[k]->name && !wg_name_copy(to->out[k], from->out[k]))
            return false;
    return true;
}

/* The node of the private graph that stands for n with operands `in`: an equal one, n itself if it
 * is of that graph and its operands are unchanged, or a copy.  NULL after an error. */
static wg_node *admit(rewrite *r, const wg_node *n, wg_value *const *in)
{
    wg_graph *g = r->to;
    bool merges = !(n->op->flags & WG_OP_OPAQUE) && !r->p->options.no_cse;
    if (merges && 2 * (r->used + 1) > r->slots && !grow_table(r))
        return NULL;
    wg_node **slot = merges ? find(r, n, in) : NULL;
    if (slot && *slot)
        return copy_names(*slot, n) ? *slot : NULL;
    bool own = n->graph == g;
    for (int k = 0; own && k < n->n_in; k++)
        own = n->in[k] == in[k];
    wg_node *node = own ? wg_graph_node(g, n->id) : wg_node_copy(g, n, in, WG_DTYPE_DEFAULT);
    if (!node || !copy_names(node, n))
        return NULL;
    if (slot) {
        *slot = node;
        r->used++;
    }
    return lower(r, node) ? node : NULL;
}

static bool any_takes(const rewrite *r, const wg_node *n)
{
    return wgi_is_taken(&r->p->backends, r->p->backends.count, n);
}

/* A node of an expansion: its operands may have moved, it may equal an earlier one. */
static bool admit_expanded(rewrite *r, const wg_node *e)
{
    wgi_operands operands;
    wg_value **in = wgi_operands_new(&operands, e->n_in);
    for (int k = 0; in && k < e->n_in; k++)
        in[k] = current(r, e->in[k]);
    wg_node *node = in ? admit(r, e, in) : NULL;
    wgi_operands_free(&operands);
    for (int k = 0; node && node != e && k < e->n_out; k++)
        if (!redirect(r, e->out[k], current(r, node->out[k])))
            return false;
    return node != NULL;
}

static bool has_expansion(const wg_node *n)
{
    return n->op->expand || n->op == &wg_op_all_reduce;
}

/* Builds the expansion of n at the end of the graph. */
static bool build_expansion(wg_node *n, wg_value **y)
{
    return n->op->expand ? wg_expand_node(n, y) : wgi_all_reduce_divide(n, y);
}

/* Replaces n by its expansion. */
static bool expand(rewrite *r, wg_node *n)
{
    wg_graph *g = r->to;
    wg_value **y = calloc((size_t)n->n_out + 1, sizeof *y);
    size_t first = wg_graph_node_count(g);
    bool ok = y && build_expansion(n, y);
    size_t end = wg_graph_node_count(g);
    for (size_t i = first; ok && i < end; i++)
        ok = admit_expanded(r, wg_graph_node(g, i));
    for (int k = 0; ok && k < n->n_out; k++)
        ok = redirect(r, n->out[k], current(r, y[k]));
    free(y);
    return ok;
}

/* ---- 16 bits: y = cast(op(cast(x, f32)), bf16), the same with f16 ---------------------------- */

static bool taken_by_parts(rewrite *r, wg_node *n, int *roundings);

/* The same of a copy of n in the graph `trial`.  An expansion that cannot be built in 16 bits, such
 * as one with a constant that f16 cannot hold, is not taken. */
static bool expands_to_taken(rewrite *r, wg_graph *trial, const wg_node *n, int *roundings)
{
    size_t n_in = (size_t)n->n_in, n_out = (size_t)n->n_out;
    wg_value **in = calloc(n_in + n_out + 1, sizeof *in);
    for (size_t i = 0; in && i < n_in; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%zu", i);
        in[i] = wg_input(trial, name, n->in[i]->dtype, n->in[i]->shape);
    }
    wg_node *copy = in ? wg_node_copy(trial, n, in, WG_DTYPE_DEFAULT) : NULL;
    size_t first = wg_graph_node_count(trial);
    bool taken = copy && wg_expand_node(copy, in + n_in);
    size_t end = wg_graph_node_count(trial);
    for (size_t i = first; taken && i < end; i++)
        taken = taken_by_parts(r, wg_graph_node(trial, i), roundings);
    if (!in || wg_graph_status(trial) == WG_ENOMEM)
        wg_graph_fail(r->to, WG_ENOMEM, n->at, "wg_plan_create", "out of memory");
    free(in);
    return taken;
}

/* Whether backends take n, or all that it expands to, as it is, with one rounding at most: a stack
 * of narrow tensors only moves bytes, as all does that the reference takes. */
static bool taken_by_parts(rewrite *r, wg_node *n, int *roundings)
{
    if (wgi_is_view(n))
        return true;
    if (any_takes(r, n)) {
        const wgi_open_backend *reference = wgi_reference(&r->p->backends);
        *roundings += reference->backend->refuses(reference->state, n) != NULL;
        return *roundings <= 1;
    }
    if (!n->op->expand)
        return false;
    wg_graph *trial = wg_graph_new();
    bool taken = expands_to_taken(r, trial, n, roundings);
    wg_graph_free(trial);
    return taken;
}

/* v in another dtype, for n; known by the name of `like`.  NULL after an error. */
static wg_value *cast(rewrite *r, const wg_node *n, wg_value *v, wg_dtype dtype,
                      const wg_value *like)
{
    wg_cast_attrs attrs = {dtype};
    wg_node as = {.op = &wg_op_cast,
                  .attrs = &attrs,
                  .n_in = 1,
                  .scope = n->scope,
                  .at = n->at,
                  .phase = n->phase};
    wg_node *node = admit(r, &as, &v);
    if (!node || (!node->out[0]->name && !wg_name_copy(node->out[0], like)))
        return NULL;
    return node->out[0];
}

/* n with its bf16 and f16 in f32, or NULL after an error.  A dtype among the attributes is that of
 * the results. */
static wg_node *widened(rewrite *r, const wg_node *n)
{
    wg_dtype narrow = WG_BF16;
    for (int k = 0; k < n->n_out; k++)
        narrow = n->out[k]->dtype == WG_F16 ? WG_F16 : narrow;
    wg_value **in = calloc((size_t)n->n_in + 1, sizeof *in);
    bool ok = in != NULL;
    for (int k = 0; ok && k < n->n_in; k++) {
        in[k] = n->in[k];
        if (wg_dtype_is_half(in[k]->dtype))
            in[k] = cast(r, n, in[k], WG_F32, in[k]);
        ok = in[k] != NULL;
    }
    wg_node *wide = ok ? wg_node_retype(r->to, n, in, narrow, WG_F32) : NULL;
    free(in);
    return wide;
}

/* Replaces n by itself in f32 between casts.  A composite becomes wide as a whole, so nothing
 * within it is rounded. */
static bool widen(rewrite *r, wg_node *n)
{
    wg_node *wide = widened(r, n);
    if (wide && (wgi_has_half(wide) || !(has_expansion(wide) || any_takes(r, wide))))
        return !has_expansion(n) || expand(r, n); /* f32 does not help; a message will name n */
    wg_node *node = wide ? admit(r, wide, wide->in) : NULL;
    for (int k = 0; node && k < n->n_out; k++) {
        wg_value *y = current(r, node->out[k]);
        if (y->dtype != n->out[k]->dtype)
            y = cast(r, n, y, n->out[k]->dtype, n->out[k]);
        if (!y || !redirect(r, n->out[k], y))
            return false;
    }
    return node != NULL;
}

/* A node that no backend takes as it is becomes what they do take. */
static bool lower(rewrite *r, wg_node *n)
{
    bool must_expand = r->must_expand;
    r->must_expand = false;
    if ((n->op->flags & WG_OP_LEAF) || wgi_is_view(n) || (!must_expand && any_takes(r, n)))
        return true;
    int roundings = 0;
    if (wgi_has_half(n) && !taken_by_parts(r, n, &roundings))
        return wg_graph_status(r->to) == WG_OK && widen(r, n);
    return !has_expansion(n) || expand(r, n);
}

static wg_activation activation_of(const wg_node *n)
{
    return ((const wg_linear_attrs *)n->attrs)->activation;
}

static bool list_layers(rewrite *r, const wg_graph *g, const bool *needed)
{
    r->layer = calloc(wg_graph_value_count(g) + 1, sizeof *r->layer);
    r->before = calloc(wg_graph_node_count(g) + 1, sizeof *r->before);
    for (uint32_t i = 0; r->layer && r->before && i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (!needed[i] || n->op != &wg_op_linear || activation_of(n) != WG_ACTIVATION_NONE)
            continue;
        r->before[i] = r->layer[n->in[0]->id];
        r->layer[n->in[0]->id] = i + 1;
    }
    return r->layer && r->before;
}

/* Whether n is a layer y = activation(z) and z, for its gradient, is a node as well: taken whole,
 * the layer would compute z a second time. */
static bool shares_product(const rewrite *r, const wg_node *n)
{
    if (n->op != &wg_op_linear || r->p->options.no_cse || wgi_has_half(n) ||
        activation_of(n) == WG_ACTIVATION_NONE)
        return false;
    wg_linear_attrs plain = *(const wg_linear_attrs *)n->attrs;
    bool shares = false;
    plain.activation = WG_ACTIVATION_NONE;
    for (uint32_t i = r->layer[n->in[0]->id]; i && !shares; i = r->before[i - 1]) {
        const wg_node *m = wg_graph_node(n->graph, i - 1);
        shares = m->n_in == n->n_in && wg_node_attrs_equal(m->op, m->attrs, &plain);
        for (int k = 0; shares && k < n->n_in; k++)
            shares = m->in[k] == n->in[k];
    }
    return shares;
}

/* A node of the graph that is rewritten. */
static bool admit_given(rewrite *r, const wg_node *n)
{
    wgi_operands operands;
    wg_value **in = wgi_operands_new(&operands, n->n_in);
    for (int k = 0; in && k < n->n_in; k++)
        in[k] = r->map[n->in[k]->id];
    r->must_expand = in && shares_product(r, n);
    wg_node *node = in ? admit(r, n, in) : NULL;
    r->must_expand = false;
    wgi_operands_free(&operands);
    for (int k = 0; node && k < n->n_out; k++)
        r->map[n->out[k]->id] = current(r, node->out[k]);
    return node != NULL;
}

/* ---- the pass -------------------------------------------------------------------------------- */

bool wgi_pass_rewrite(wgi_planner *p)
{
    const wg_graph *from = p->g;
    rewrite r = {.p = p, .to = wg_graph_new()};
    bool *needed = wgi_needed_nodes(from, p->marks);
    r.map = calloc(wg_graph_value_count(from) + 1, sizeof *r.map);
    bool ok = r.to && needed && r.map && list_layers(&r, from, needed);
    for (size_t i = 0; ok && i < wg_graph_node_count(from); i++)
        if (needed[i] || wgi_is_outer(wg_graph_node(from, i))) /* the caller may fill a leaf */
            ok = admit_given(&r, wg_graph_node(from, i));
    free(needed);
    free(r.replacement);
    free(r.table);
    free(r.layer);
    free(r.before);
    if (!ok) {
        wgi_planner_fail_as(p, r.to);
        wg_graph_free(r.to);
        free(r.map);
        return false;
    }
    wgi_planner_adopt(p, r.to, r.map);
    return wgi_save_old_values(p) || wgi_planner_fail_as(p, p->g);
}
