/* The order of execution.
 *
 * A list schedule: of the nodes whose operands have been computed, the one with the smallest key
 * runs next.  Two keys are tried,
 *   creation   the order in which the user built the nodes,
 *   eager      first nodes that free at least as much memory as they take, those that free the most
 *              before others; then in the order of creation,
 * and the order with the lower peak is taken.  With a heap both take O(n log n).
 *
 * Sums over ranks go before any key: their start runs at once, their wait when nothing else is
 * ready.  So a sum is under way while all runs that does not need it.  All starts also come before
 * the first wait, unless they need one: two ranks whose orders differ, since their batches have
 * other shapes, never wait for each other in a circle.
 *
 * An assignment can be written straight into its leaf if all readers of the leaf have run before.
 * So these readers get a soft edge to the node that computes the new value: it waits for them,
 * unless nothing else is left that could run (the new value leads to a reader); then the new value
 * is copied at the end of the run. */
#include "backends/memory.h"
#include "backends/plan/planner.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>

/* Successors of each node, in compressed rows. */
typedef struct edges {
    size_t *first; /* [nodes + 1] */
    uint32_t *to;
} edges;

/* Of a root (facts.h). */
typedef struct usage {
    size_t bytes;   /* 0 where it takes no room in the buffer               */
    uint32_t uses;  /* readers that have not run; one too many if it stays   */
    uint32_t users; /* their ids, xored: the last one's id when uses is 1   */
} usage;

typedef struct entry {
    int64_t key;
    uint32_t id;
} entry;

typedef struct schedule {
    const wgi_planner *p;
    size_t count, n_runs; /* nodes, and those of them that run         */
    bool *live, *runs;    /* [nodes] needed; and neither leaf nor folded */
    bool *is_output;      /* [values] root of an output                */
    uint32_t *root;
    wgi_uses uses;
    edges hard, soft;
    usage *usage; /* [values] by root */

    /* While nodes are listed: */
    bool eager;
    usage *left;                  /* [values] usage by nodes that are not done            */
    bool *done;                   /* [nodes] */
    uint32_t *waits, *soft_waits; /* [nodes] edges from nodes that are not done           */
    uint32_t *waiting;            /* [n_waiting] nodes that wait for soft edges alone     */
    size_t n_waiting;
    int64_t alive;   /* bytes */
    uint32_t *stamp; /* [values] of distinct(): the last node + 1 that saw the usage */
    entry *heap;
    size_t heap_size, heap_capacity;
    bool failed; /* without memory */
} schedule;

/* ---- heap ------------------------------------------------------------------------------------ */

static bool before(entry a, entry b)
{
    return a.key != b.key ? a.key < b.key : a.id < b.id;
}

static void push(schedule *s, entry e)
{
    if (!WGI_RESERVE(s->heap, s->heap_capacity, s->heap_size + 1)) {
        s->failed = true;
        return;
    }
    size_t i = s->heap_size++;
    for (; i > 0 && before(e, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static entry pop(schedule *s)
{
    entry top = s->heap[0], e = s->heap[--s->heap_size];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->heap_size)
            break;
        if (child + 1 < s->heap_size && before(s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s->heap[child], e))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = e;
    return top;
}

/* ---- graph of dependences -------------------------------------------------------------------- */

/* Whether root c has not been seen among the operands of n before. */
static bool distinct(schedule *s, const wg_node *n, uint32_t c)
{
    bool fresh = s->stamp[c] != n->id + 1;
    s->stamp[c] = n->id + 1;
    return fresh;
}

/* Rows from a list of (from, to) pairs. */
static bool make_edges(edges *e, size_t nodes, const uint32_t (*pairs)[2], size_t n_pairs)
{
    e->first = calloc(nodes + 2, sizeof *e->first);
    e->to = calloc(n_pairs + 1, sizeof *e->to);
    if (!e->first || !e->to)
        return false;
    for (size_t i = 0; i < n_pairs; i++)
        e->first[pairs[i][0] + 2]++;
    for (size_t i = 0; i < nodes; i++)
        e->first[i + 2] += e->first[i + 1];
    for (size_t i = 0; i < n_pairs; i++)
        e->to[e->first[pairs[i][0] + 1]++] = pairs[i][1];
    return true;
}

static bool hard_edges(schedule *s)
{
    size_t n_pairs = 0, at = 0;
    for (size_t i = 0; i < s->count; i++)
        n_pairs += s->runs[i] ? (size_t)wg_graph_node(s->p->g, i)->n_in : 0;
    uint32_t(*pairs)[2] = malloc((n_pairs + 1) * sizeof *pairs);
    if (!pairs)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        const wg_node *n = wg_graph_node(s->p->g, i);
        for (int k = 0; s->runs[i] && k < n->n_in; k++)
            if (s->runs[n->in[k]->node->id]) {
                pairs[at][0] = n->in[k]->node->id;
                pairs[at++][1] = i;
            }
    }
    bool ok = make_edges(&s->hard, s->count, (const uint32_t(*)[2])pairs, at);
    free(pairs);
    return ok;
}

/* The node that could write the new value of assignment i straight into its leaf, or NULL. */
static const wg_node *writer_of(schedule *s, size_t i)
{
    const wgi_assignment *a = &s->p->marks.assigns[i];
    uint32_t c = s->root[a->value->id];
    const wg_value *v = wg_graph_value(s->p->g, c);
    const wg_plan_options *o = &s->p->options;
    if (o->check_nonfinite || o->keep_all || o->no_inplace || s->is_output[c] ||
        !s->runs[v->node->id])
        return NULL;
    uint32_t leaf = a->leaf->id;
    bool fits =
        !wgi_reads(&s->uses, v->node, leaf) || wgi_may_overwrite(&s->uses, v->node, v->index, leaf);
    return fits ? v->node : NULL;
}

/* From each reader of an assigned leaf to the writer of its new value. */
static bool soft_edges(schedule *s)
{
    size_t values = wg_graph_value_count(s->p->g), n_pairs = 0, at = 0;
    int64_t *writer = malloc((values + 1) * sizeof *writer);
    for (size_t i = 0; i < s->count; i++)
        n_pairs += s->runs[i] ? (size_t)wg_graph_node(s->p->g, i)->n_in : 0;
    uint32_t(*pairs)[2] = malloc((n_pairs + 1) * sizeof *pairs);
    bool ok = writer && pairs;
    for (size_t i = 0; ok && i < values; i++)
        writer[i] = WGI_NONE;
    for (size_t i = 0; ok && i < s->p->marks.n_assigns; i++) {
        const wgi_assignment *a = &s->p->marks.assigns[i];
        const wg_node *w = writer_of(s, i);
        usage *c = &s->usage[s->root[a->value->id]];
        if (!w || c->bytes == 0)
            continue;
        writer[a->leaf->id] = w->id;
        c->bytes = 0; /* its room is the leaf's; a second assignment of the same value copies it */
    }
    for (uint32_t i = 0; ok && i < s->count; i++) {
        const wg_node *n = wg_graph_node(s->p->g, i);
        for (int k = 0; s->runs[i] && !wgi_is_view(n) && k < n->n_in; k++) {
            int64_t w = writer[s->root[n->in[k]->id]];
            if (w != WGI_NONE && w != i) {
                pairs[at][0] = i;
                pairs[at++][1] = (uint32_t)w;
            }
        }
    }
    ok = ok && make_edges(&s->soft, s->count, (const uint32_t(*)[2])pairs, at);
    free(writer);
    free(pairs);
    return ok;
}

/* Bytes and readers of each root. */
static void count_uses(schedule *s)
{
    const wg_graph *g = s->p->g;
    for (uint32_t i = 0; i < s->count; i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (!s->runs[i] || wgi_is_view(n))
            continue;
        for (int k = 0; k < n->n_out; k++)
            s->usage[n->out[k]->id].bytes = wgi_round_up(wg_value_bytes(n->out[k]));
        for (int k = 0; k < n->n_in; k++)
            if (distinct(s, n, s->root[n->in[k]->id])) {
                s->usage[s->root[n->in[k]->id]].uses++;
                s->usage[s->root[n->in[k]->id]].users ^= i;
            }
    }
    for (size_t i = 0; i < wg_graph_value_count(g); i++)
        s->usage[i].uses += s->is_output[i];
}

/* ---- the list schedule ----------------------------------------------------------------------- */

/* Bytes that running n would add to what is alive, less those it would free. */
static int64_t delta_of(const schedule *s, const wg_node *n)
{
    int64_t delta = 0;
    if (wgi_is_view(n))
        return 0;
    for (int k = 0; k < n->n_out; k++)
        if (s->left[n->out[k]->id].uses > 0)
            delta += (int64_t)s->left[n->out[k]->id].bytes;
    for (int k = 0; k < n->n_in; k++) {
        const usage *u = &s->left[s->root[n->in[k]->id]];
        bool seen = false;
        for (int j = 0; j < k && !seen && n->n_in <= 8; j++)
            seen = s->root[n->in[j]->id] == s->root[n->in[k]->id];
        if (u->uses == 1 && !seen)
            delta -= (int64_t)u->bytes;
    }
    return delta;
}

static int64_t key_of(const schedule *s, const wg_node *n)
{
    if (wgi_begins_sum(n) || wgi_awaits_sum(n))
        return wgi_begins_sum(n) ? INT64_MIN : INT64_MAX;
    int64_t delta = s->eager ? delta_of(s, n) : 0;
    return s->eager && delta <= 0 ? delta - 1 : 0;
}

static void make_ready(schedule *s, uint32_t id)
{
    push(s, (entry){key_of(s, wg_graph_node(s->p->g, id)), id});
}

static bool is_ready(const schedule *s, uint32_t id)
{
    return s->runs[id] && !s->done[id] && s->waits[id] == 0 && s->soft_waits[id] == 0;
}

/* Simulates n: what it frees.  Returns the bytes alive while it runs; s->alive becomes what is
 * alive after it. */
static int64_t simulate(schedule *s, const wg_node *n)
{
    int64_t during = s->alive, freed = 0, reused = 0;
    for (int k = 0; !wgi_is_view(n) && k < n->n_out; k++) {
        const usage *u = &s->left[n->out[k]->id];
        during += (int64_t)u->bytes;
        freed += u->uses == 0 ? (int64_t)u->bytes : 0;
    }
    for (int k = 0; !wgi_is_view(n) && k < n->n_in; k++) {
        uint32_t id = s->root[n->in[k]->id];
        usage *u = &s->left[id];
        if (!distinct(s, n, id))
            continue;
        u->uses--;
        u->users ^= n->id;
        if (u->uses == 0) {
            freed += (int64_t)u->bytes;
            if (!reused && n->n_out && u->bytes == s->left[n->out[0]->id].bytes &&
                wgi_may_overwrite(&s->uses, n, 0, id))
                reused = (int64_t)u->bytes;
        } else if (s->eager && u->uses == 1 && u->users < s->count && is_ready(s, u->users)) {
            make_ready(s, u->users); /* again, with a smaller key: it frees more now */
        }
    }
    s->alive = during - freed;
    return during - reused;
}

/* What waited for node id alone is ready after it. */
static void release_successors(schedule *s, uint32_t id)
{
    for (size_t i = s->hard.first[id]; i < s->hard.first[id + 1]; i++) {
        uint32_t to = s->hard.to[i];
        if (--s->waits[to] > 0)
            continue;
        if (s->soft_waits[to] == 0)
            make_ready(s, to);
        else
            s->waiting[s->n_waiting++] = to;
    }
    for (size_t i = s->soft.first[id]; i < s->soft.first[id + 1]; i++) {
        uint32_t to = s->soft.to[i];
        if (s->soft_waits[to] > 0 && --s->soft_waits[to] == 0 && s->waits[to] == 0)
            make_ready(s, to);
    }
}

static void begin(schedule *s, bool eager)
{
    size_t values = wg_graph_value_count(s->p->g);
    s->eager = eager;
    s->heap_size = s->n_waiting = 0;
    s->alive = 0;
    memset(s->stamp, 0, (values + 1) * sizeof *s->stamp);
    memset(s->waits, 0, (s->count + 1) * sizeof *s->waits);
    memset(s->soft_waits, 0, (s->count + 1) * sizeof *s->soft_waits);
    memset(s->done, 0, (s->count + 1) * sizeof *s->done);
    memcpy(s->left, s->usage, (values + 1) * sizeof *s->left);
    for (size_t i = 0; i < s->hard.first[s->count]; i++)
        s->waits[s->hard.to[i]]++;
    for (size_t i = 0; i < s->soft.first[s->count]; i++)
        s->soft_waits[s->soft.to[i]]++;
    for (uint32_t i = 0; i < s->count; i++)
        if (is_ready(s, i))
            make_ready(s, i);
        else if (s->runs[i] && s->waits[i] == 0)
            s->waiting[s->n_waiting++] = i;
}

/* Fills `order`; returns its peak, or -1 without memory. */
static int64_t list_schedule(schedule *s, bool eager, uint32_t *order)
{
    size_t n = 0, given_up = 0;
    int64_t peak = 0;
    begin(s, eager);
    while (n < s->n_runs && !s->failed) {
        if (s->heap_size == 0) { /* soft edges alone are left: the next node ignores its own */
            uint32_t id = s->waiting[given_up++];
            if (s->soft_waits[id] > 0) {
                s->soft_waits[id] = 0;
                make_ready(s, id);
            }
            continue;
        }
        uint32_t id = pop(s).id;
        if (s->done[id])
            continue;
        s->done[id] = true;
        order[n++] = id;
        int64_t during = simulate(s, wg_graph_node(s->p->g, id));
        peak = during > peak ? during : peak;
        release_successors(s, id);
    }
    return s->failed ? -1 : peak;
}

/* ---- the final graph ------------------------------------------------------------------------- */

/* Leaves and what is computed at plan time come first, then the others in order. */
static bool copy_in_order(wgi_planner *p, const bool *live, const bool *runs, const uint32_t *order,
                          size_t n_order)
{
    const wg_graph *g = p->g;
    wg_graph *to = wg_graph_new();
    wg_value **map = calloc(wg_graph_value_count(g) + 1, sizeof *map);
    bool ok = to && map;
    for (size_t i = 0; ok && i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if ((live[i] && !runs[i]) || wgi_is_outer(n))
            ok = wgi_node_copy_mapped(to, n, map, WG_DTYPE_DEFAULT) != NULL;
    }
    for (size_t i = 0; ok && i < n_order; i++)
        ok = wgi_node_copy_mapped(to, wg_graph_node(g, order[i]), map, WG_DTYPE_DEFAULT) != NULL;
    if (ok && wgi_graph_copy_marks(to, p->marks, map)) {
        wgi_planner_adopt(p, to, map);
        return true;
    }
    wgi_planner_fail_as(p, to);
    wg_graph_free(to);
    free(map);
    return false;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void free_schedule(schedule *s)
{
    free(s->hard.first);
    free(s->hard.to);
    free(s->soft.first);
    free(s->soft.to);
    free(s->usage);
    free(s->left);
    free(s->done);
    free(s->waiting);
    free(s->waits);
    free(s->soft_waits);
    free(s->stamp);
    free(s->heap);
    free(s->live);
    free(s->runs);
    free(s->is_output);
    wgi_uses_free(&s->uses);
    free(s->root);
}

/* Which nodes are scheduled, what they wait for, and what they read. */
static bool fill_schedule(schedule *s)
{
    const wgi_planner *p = s->p;
    size_t values = wg_graph_value_count(p->g);
    s->live = wgi_needed_nodes(p->g, p->marks);
    s->runs = wgi_foldable_nodes(p->g, !p->options.no_fold);
    s->is_output = calloc(values + 1, sizeof *s->is_output);
    s->root = wgi_roots(p->g);
    s->usage = calloc(values + 1, sizeof *s->usage);
    s->left = calloc(values + 1, sizeof *s->left);
    s->done = calloc(s->count + 1, sizeof *s->done);
    s->waiting = calloc(s->count + 1, sizeof *s->waiting);
    s->waits = calloc(s->count + 1, sizeof *s->waits);
    s->soft_waits = calloc(s->count + 1, sizeof *s->soft_waits);
    s->stamp = calloc(values + 1, sizeof *s->stamp);
    if (!s->live || !s->runs || !s->is_output || !s->root || !s->usage || !s->left || !s->done ||
        !s->waiting || !s->waits || !s->soft_waits || !s->stamp ||
        !wgi_uses_init(&s->uses, p->g, s->root))
        return false;
    for (size_t i = 0; i < s->count; i++) {
        s->runs[i] = s->live[i] && !s->runs[i] && !(wg_graph_node(p->g, i)->op->flags & WG_OP_LEAF);
        s->n_runs += s->runs[i];
    }
    for (size_t i = 0; i < p->marks.n_outputs; i++)
        s->is_output[s->root[p->marks.outputs[i].value->id]] = true;
    count_uses(s);
    if (!hard_edges(s) || !soft_edges(s))
        return false;
    for (size_t i = 0; i < p->marks.n_assigns; i++) /* copied at the end: alive till then */
        s->usage[s->root[p->marks.assigns[i].value->id]].uses++;
    return true;
}

/* This pass and later ones add up bytes of results, in 63 bits. */
static bool sums_fit(const wg_graph *g)
{
    size_t total = 0;
    bool fit = true;
    for (size_t i = 0; fit && i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        fit = v->node->op->flags & WG_OP_LEAF || wgi_add_bytes(&total, wg_value_bytes(v));
    }
    return fit;
}

bool wgi_pass_order(wgi_planner *p)
{
    if (!sums_fit(p->g))
        return wgi_planner_fail_results(p);
    schedule s = {.p = p, .count = wg_graph_node_count(p->g)};
    uint32_t *order = calloc(s.count + 1, sizeof *order),
             *eager = calloc(s.count + 1, sizeof *eager);
    bool ok = order && eager && fill_schedule(&s);
    int64_t a = ok ? list_schedule(&s, false, order) : -1,
            b = ok ? list_schedule(&s, true, eager) : -1;
    ok = a >= 0 && b >= 0 ? copy_in_order(p, s.live, s.runs, b < a ? eager : order, s.n_runs)
                          : wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    free(order);
    free(eager);
    free_schedule(&s);
    return ok;
}
