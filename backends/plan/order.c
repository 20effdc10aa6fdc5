/* The order of execution.
 *
 * A list schedule: among the nodes whose operands are there, the one with the least key runs next.
 * Two keys are tried,
 *   creation   the order in which the user built the nodes,
 *   eager      nodes that free at least as much memory as they take, those that free most first;
 *              else creation,
 * and the order with the lower peak is taken.  A heap makes both O(n log n).
 *
 * An assignment can be written straight into its leaf if all readers of the leaf have run before.
 * So these readers get a soft edge to the node that computes the new value: it waits for them,
 * unless nothing else is left that could run (the new value leads to a reader); then the new value
 * is copied at the end of the run. */
#include "backends/plan/planner.h"

#include <stdlib.h>
#include <string.h>

/* Successors of each node, in compressed rows. */
typedef struct edges {
    size_t *first; /* [nodes + 1] */
    uint32_t *to;
} edges;

typedef struct content {
    size_t bytes;   /* 0 where it takes no room in the buffer            */
    uint32_t uses;  /* readers that have not run; pinned: one too many   */
    uint32_t users; /* their ids, xored: the last one's id when uses is 1 */
} content;

typedef struct entry {
    int64_t key;
    uint32_t id;
} entry;

typedef struct schedule {
    const wg_plan *p;
    size_t count;
    const bool *runs; /* [nodes] is to be scheduled: lives, is no leaf, not folded */
    const uint32_t *root;
    edges hard, soft;
    content *content; /* [values] as at the start */
    uint32_t *waits, *soft_waits;
    uint32_t *stamp; /* [values] of distinct(): the last node + 1 that saw the content */
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
    if (s->heap_size == s->heap_capacity) {
        size_t capacity = 2 * s->heap_capacity + 64;
        entry *bigger = realloc(s->heap, capacity * sizeof *bigger);
        if (!bigger) {
            s->failed = true;
            return;
        }
        s->heap = bigger;
        s->heap_capacity = capacity;
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

/* Whether n meets content c for the first time, among its operands up to k. */
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
static const wg_node *writer_of(const schedule *s, size_t i, const bool *is_output)
{
    const wgi_assigning *a = &s->p->assigns[i];
    uint32_t c = s->root[a->value->id];
    const wg_value *v = wg_graph_value(s->p->g, c);
    const wg_plan_options *o = &s->p->options;
    if (o->check_nonfinite || o->keep_all || o->no_inplace || is_output[c] || !s->runs[v->node->id])
        return NULL;
    uint32_t leaf = a->leaf->id;
    bool fits =
        !wgi_reads(v->node, leaf, s->root) || wgi_may_overwrite(v->node, v->index, leaf, s->root);
    return fits ? v->node : NULL;
}

/* From each reader of an assigned leaf to the writer of its new value. */
static bool soft_edges(schedule *s, const bool *is_output)
{
    size_t values = wg_graph_value_count(s->p->g), n_pairs = 0, at = 0;
    int64_t *writer = malloc((values + 1) * sizeof *writer);
    for (size_t i = 0; i < s->count; i++)
        n_pairs += s->runs[i] ? (size_t)wg_graph_node(s->p->g, i)->n_in : 0;
    uint32_t(*pairs)[2] = malloc((n_pairs + 1) * sizeof *pairs);
    bool ok = writer && pairs;
    for (size_t i = 0; ok && i < values; i++)
        writer[i] = WG_NONE;
    for (size_t i = 0; ok && i < s->p->n_assigns; i++) {
        const wgi_assigning *a = &s->p->assigns[i];
        const wg_node *w = writer_of(s, i, is_output);
        content *c = &s->content[s->root[a->value->id]];
        if (!w || c->bytes == 0)
            continue;
        writer[a->leaf->id] = w->id;
        c->bytes = 0; /* its room is the leaf's; a second assignment of the same value copies it */
    }
    for (uint32_t i = 0; ok && i < s->count; i++) {
        const wg_node *n = wg_graph_node(s->p->g, i);
        for (int k = 0; s->runs[i] && !wgi_is_view(n) && k < n->n_in; k++) {
            int64_t w = writer[s->root[n->in[k]->id]];
            if (w != WG_NONE && w != i) {
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

/* Bytes and readers of each content. */
static void count_uses(schedule *s, const bool *is_output)
{
    const wg_graph *g = s->p->g;
    for (uint32_t i = 0; i < s->count; i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (!s->runs[i] || wgi_is_view(n))
            continue;
        for (int k = 0; k < n->n_out; k++)
            s->content[n->out[k]->id].bytes = wgi_round_up(wg_value_bytes(n->out[k]));
        for (int k = 0; k < n->n_in; k++)
            if (distinct(s, n, s->root[n->in[k]->id])) {
                s->content[s->root[n->in[k]->id]].uses++;
                s->content[s->root[n->in[k]->id]].users ^= i;
            }
    }
    for (size_t i = 0; i < wg_graph_value_count(g); i++)
        s->content[i].uses += is_output[i];
}

/* ---- the list schedule ----------------------------------------------------------------------- */

/* Bytes that running n would add to what is alive, less those it would free. */
static int64_t delta_of(schedule *s, const content *state, const wg_node *n)
{
    int64_t delta = 0;
    if (wgi_is_view(n))
        return 0;
    for (int k = 0; k < n->n_out; k++)
        if (state[n->out[k]->id].uses > 0)
            delta += (int64_t)state[n->out[k]->id].bytes;
    for (int k = 0; k < n->n_in; k++) {
        const content *c = &state[s->root[n->in[k]->id]];
        bool seen = false;
        for (int j = 0; j < k && !seen && n->n_in <= 8; j++)
            seen = s->root[n->in[j]->id] == s->root[n->in[k]->id];
        if (c->uses == 1 && !seen)
            delta -= (int64_t)c->bytes;
    }
    return delta;
}

static void make_ready(schedule *s, const content *state, uint32_t id, bool eager)
{
    int64_t delta = eager ? delta_of(s, state, wg_graph_node(s->p->g, id)) : 0;
    push(s, (entry){eager ? (delta <= 0 ? delta - 1 : 0) : 0, id});
}

/* Runs n on paper: what it frees, what becomes ready.  Returns the bytes alive while it runs, of
 * `alive` before; *alive is then what is left. */
static int64_t step(schedule *s, content *state, const bool *done, const wg_node *n, int64_t *alive,
                    bool eager)
{
    int64_t during = *alive, freed = 0, reused = 0;
    for (int k = 0; !wgi_is_view(n) && k < n->n_out; k++) {
        const content *c = &state[n->out[k]->id];
        during += (int64_t)c->bytes;
        freed += c->uses == 0 ? (int64_t)c->bytes : 0;
    }
    for (int k = 0; !wgi_is_view(n) && k < n->n_in; k++) {
        uint32_t id = s->root[n->in[k]->id];
        content *c = &state[id];
        if (!distinct(s, n, id))
            continue;
        c->uses--;
        c->users ^= n->id;
        if (c->uses == 0) {
            freed += (int64_t)c->bytes;
            if (!reused && n->n_out && c->bytes == state[n->out[0]->id].bytes &&
                wgi_may_overwrite(n, 0, id, s->root))
                reused = (int64_t)c->bytes;
        } else if (eager && c->uses == 1 && c->users < s->count && s->runs[c->users] &&
                   !done[c->users] && s->waits[c->users] == 0 && s->soft_waits[c->users] == 0) {
            make_ready(s, state, c->users, eager); /* again, with a lesser key: it frees more now */
        }
    }
    *alive = during - freed;
    return during - reused;
}

/* Fills `order`; returns its peak, or -1 without memory. */
static int64_t list_schedule(schedule *s, bool eager, uint32_t *order)
{
    size_t values = wg_graph_value_count(s->p->g), blocked = 0, n_blocked = 0, n = 0, left = 0;
    content *state = malloc((values + 1) * sizeof *state);
    bool *done = calloc(s->count + 1, sizeof *done);
    uint32_t *waiting = malloc((s->count + 1) * sizeof *waiting); /* for soft edges alone */
    int64_t alive = 0, peak = 0;
    s->failed = !state || !done || !waiting;
    s->heap_size = 0;
    memset(s->stamp, 0, (values + 1) * sizeof *s->stamp);
    memset(s->waits, 0, (s->count + 1) * sizeof *s->waits);
    memset(s->soft_waits, 0, (s->count + 1) * sizeof *s->soft_waits);
    if (!s->failed)
        memcpy(state, s->content, (values + 1) * sizeof *state);
    for (size_t i = 0; i < s->hard.first[s->count]; i++)
        s->waits[s->hard.to[i]]++;
    for (size_t i = 0; i < s->soft.first[s->count]; i++)
        s->soft_waits[s->soft.to[i]]++;
    for (uint32_t i = 0; !s->failed && i < s->count; i++) {
        left += s->runs[i];
        if (s->runs[i] && s->waits[i] == 0 && s->soft_waits[i] == 0)
            make_ready(s, state, i, eager);
        else if (s->runs[i] && s->waits[i] == 0)
            waiting[n_blocked++] = i;
    }
    while (n < left && !s->failed) {
        if (s->heap_size ==
            0) { /* only soft edges are left: the next one gives up writing in place */
            uint32_t id = waiting[blocked++];
            if (s->soft_waits[id] > 0) {
                s->soft_waits[id] = 0;
                make_ready(s, state, id, eager);
            }
            continue;
        }
        uint32_t id = pop(s).id;
        if (done[id])
            continue;
        done[id] = true;
        order[n++] = id;
        int64_t during = step(s, state, done, wg_graph_node(s->p->g, id), &alive, eager);
        peak = during > peak ? during : peak;
        for (size_t i = s->hard.first[id]; i < s->hard.first[id + 1]; i++) {
            uint32_t to = s->hard.to[i];
            if (--s->waits[to] > 0)
                continue;
            if (s->soft_waits[to] == 0)
                make_ready(s, state, to, eager);
            else
                waiting[n_blocked++] = to;
        }
        for (size_t i = s->soft.first[id]; i < s->soft.first[id + 1]; i++) {
            uint32_t to = s->soft.to[i];
            if (s->soft_waits[to] > 0 && --s->soft_waits[to] == 0 && s->waits[to] == 0)
                make_ready(s, state, to, eager);
        }
    }
    free(state);
    free(done);
    free(waiting);
    return s->failed ? -1 : peak;
}

/* ---- the final graph ------------------------------------------------------------------------- */

static bool copy_node(wg_graph *to, const wg_node *n, wg_value **map)
{
    wg_value *few[16] = {NULL}, **in = few;
    if (n->n_in > WG_COUNT(few) && !(in = malloc((size_t)n->n_in * sizeof *in)))
        return false;
    for (int k = 0; k < n->n_in; k++)
        in[k] = map[n->in[k]->id];
    wg_node *copy = wg_node_copy(to, n, in, WG_DTYPE_DEFAULT);
    if (in != few)
        free(in);
    for (int k = 0; copy && k < n->n_out; k++) {
        map[n->out[k]->id] = copy->out[k];
        if (!wg_name_copy(copy->out[k], n->out[k]))
            return false;
    }
    return copy != NULL;
}

/* Leaves and what is computed at plan time come first, then the others in order; the plan moves to
 * the copy. */
static bool take_order(wg_plan *p, const bool *live, const bool *runs, const uint32_t *order,
                       size_t n_order)
{
    const wg_graph *g = p->g;
    wg_graph *to = wg_graph_new();
    wg_value **map = calloc(wg_graph_value_count(g) + 1, sizeof *map);
    bool ok = to && map;
    for (size_t i = 0; ok && i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if ((live[i] && !runs[i]) || wgi_is_outer(n))
            ok = copy_node(to, n, map);
    }
    for (size_t i = 0; ok && i < n_order; i++)
        ok = copy_node(to, wg_graph_node(g, order[i]), map);
    for (size_t i = 0; ok && i < p->n_source; i++)
        p->of[i] = p->of[i] ? map[p->of[i]->id] : NULL;
    for (size_t i = 0; ok && i < p->n_outputs; i++) {
        p->outputs[i] = map[p->outputs[i]->id];
        ok = wg_output(p->outputs[i], p->output_names[i]) != NULL;
    }
    for (size_t i = 0; ok && i < p->n_assigns; i++) {
        wgi_assigning *a = &p->assigns[i];
        *a = (wgi_assigning){map[a->leaf->id], map[a->value->id]};
        wg_assign(a->leaf, a->value);
        ok = wg_graph_status(to) == WG_OK;
    }
    free(map);
    if (to) {
        wg_graph_free(p->g);
        p->g = to;
    }
    return ok;
}

static void free_schedule(schedule *s)
{
    free(s->hard.first);
    free(s->hard.to);
    free(s->soft.first);
    free(s->soft.to);
    free(s->content);
    free(s->waits);
    free(s->soft_waits);
    free(s->stamp);
    free(s->heap);
}

bool wgi_plan_order(wg_plan *p, wg_graph *source)
{
    size_t count = wg_graph_node_count(p->g), values = wg_graph_value_count(p->g), n_order = 0;
    bool *live = wgi_needed_nodes(p, p->g), *runs = wgi_foldable_nodes(p, p->g),
         *is_output = calloc(values + 1, 1);
    uint32_t *root = wgi_roots(p->g);
    uint32_t *order = calloc(count + 1, sizeof *order), *eager = calloc(count + 1, sizeof *eager);
    schedule s = {.p = p, .count = count, .runs = runs, .root = root};
    s.content = calloc(values + 1, sizeof *s.content);
    s.waits = calloc(count + 1, sizeof *s.waits);
    s.soft_waits = calloc(count + 1, sizeof *s.soft_waits);
    s.stamp = calloc(values + 1, sizeof *s.stamp);
    bool ok = live && runs && is_output && root && order && eager && s.content && s.waits &&
              s.soft_waits && s.stamp;
    for (size_t i = 0; ok && i < count; i++) {
        runs[i] = live[i] && !runs[i] && !(wg_graph_node(p->g, i)->op->flags & WG_OP_LEAF);
        n_order += runs[i];
    }
    for (size_t i = 0; ok && i < p->n_outputs; i++)
        is_output[root[p->outputs[i]->id]] = true;
    if (ok) {
        count_uses(&s, is_output);
        ok = hard_edges(&s) && soft_edges(&s, is_output);
    }
    for (size_t i = 0; ok && i < p->n_assigns; i++) /* copied at the end: alive till then */
        s.content[root[p->assigns[i].value->id]].uses++;
    if (ok) {
        int64_t a = list_schedule(&s, false, order), b = list_schedule(&s, true, eager);
        ok = a >= 0 && b >= 0;
        ok = ok && take_order(p, live, runs, b < a ? eager : order, n_order);
    }
    free(live);
    free(runs);
    free(is_output);
    free(root);
    free(order);
    free(eager);
    free_schedule(&s);
    return ok || wgi_plan_refuse_private(p, source);
}
