/* The order of a program in which values are to be dropped.  The order pass considers the peak
 * alone; once the peak is lowered, other parts of the run become the bottleneck, so two things
 * change.
 *
 * Gradients of parameters come forward.  A cotangent dies with its last reader, mostly the product
 * that is the gradient of a parameter, which nobody waits for.  It runs as soon as another reader
 * of the cotangent has run, if what the remaining readers make is no larger than it; and so
 * does whatever else can use up a value.
 *
 * Updates step back.  A parameter may be updated as soon as its gradient is known, but a forward
 * value that is computed from it can be computed again only before.  So the update waits for the
 * last use of all forward values that depend on its leaf: mostly a few steps, to the end of a
 * layer's backward pass. */
#include "backends/plan/recompute.h"
#include "backends/plan/planner.h"

#include <stdlib.h>

typedef struct order {
    const wgi_planner *p;
    size_t n, values;
    uint32_t *first, *reader; /* reader[first[r]..first[r + 1]): the works that read root r */
    uint32_t *work;           /* [n] the order so far */
    bool *done;               /* [n] is in it         */
    int64_t *last;            /* [values] the last place at which a root is read            */
    int64_t *update;          /* [values] the place of the first update of what it is made from */
    int64_t *need;            /* [values] ... or a forward value that was computed from it  */
    int64_t *read;            /* [values] the latest new place of its readers               */
    int64_t *made;            /* [values] the new place of what makes it                    */
    int64_t *at;              /* [n] the new place of each place                            */
    uint32_t *leaf_of;        /* [storages] the leaf that is there                          */
} order;

static const wg_node *node_of(const order *o, size_t work)
{
    return o->p->program.work[work].node;
}

static uint32_t root_of(const order *o, const wg_value *v)
{
    return o->p->root[v->id];
}

static const wgi_storage *storage_of(const order *o, uint32_t root)
{
    return &o->p->layout.storage[o->p->layout.storage_of[root]];
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- gradients of parameters come forward ---------------------------------------------------- */

static bool list_readers(order *o)
{
    size_t count = 0;
    for (size_t i = 0; i < o->n; i++)
        count += (size_t)node_of(o, i)->n_in;
    o->first = calloc(o->values + 2, sizeof *o->first);
    o->reader = calloc(count + 1, sizeof *o->reader);
    if (!o->first || !o->reader)
        return false;
    for (size_t i = 0; i < o->n; i++)
        for (int k = 0; k < node_of(o, i)->n_in; k++)
            o->first[root_of(o, node_of(o, i)->in[k]) + 2]++;
    for (size_t v = 0; v < o->values; v++)
        o->first[v + 2] += o->first[v + 1];
    for (size_t i = 0; i < o->n; i++)
        for (int k = 0; k < node_of(o, i)->n_in; k++)
            o->reader[o->first[root_of(o, node_of(o, i)->in[k]) + 1]++] = (uint32_t)i;
    return true;
}

/* Whether all that reads a leaf has run, but for work j, which writes its new value there. */
static bool is_last_reader(const order *o, uint32_t j, int64_t storage)
{
    uint32_t leaf = o->leaf_of[storage];
    bool last = true;
    for (uint32_t i = o->first[leaf]; i < o->first[leaf + 1] && last; i++)
        last = o->done[o->reader[i]] || o->reader[i] == j;
    return last;
}

static bool is_made(const order *o, uint32_t r)
{
    return o->made[r] != WGI_NONE || (wg_graph_value(o->p->g, r)->node->op->flags & WG_OP_LEAF) ||
           storage_of(o, r)->kind == WGI_STORAGE_CONSTANT;
}

/* Bytes of the results of work j, or SIZE_MAX if it cannot run yet, or should not. */
static size_t bytes_if_ready(const order *o, uint32_t j)
{
    const wg_node *n = node_of(o, j);
    size_t bytes = 0;
    if (wgi_awaits_sum(n)) /* its place is behind all that can run without it */
        return SIZE_MAX;
    for (int k = 0; k < n->n_in; k++)
        if (!is_made(o, root_of(o, n->in[k])))
            return SIZE_MAX;
    for (int k = 0; k < n->n_out; k++) {
        int64_t s = o->p->layout.storage_of[n->out[k]->id];
        bool in_leaf = o->p->layout.storage[s].kind == WGI_STORAGE_TENSOR;
        if (in_leaf && !is_last_reader(o, j, s))
            return SIZE_MAX;
        bytes += in_leaf ? 0 : wg_value_bytes(n->out[k]);
    }
    return bytes;
}

/* Whether all readers of r that are left can run, and make less than r. */
static bool should_finish(const order *o, uint32_t r)
{
    size_t left = wg_value_bytes(wg_graph_value(o->p->g, r)), n = 0;
    if (storage_of(o, r)->kind != WGI_STORAGE_BUFFER)
        return false;
    for (uint32_t i = o->first[r]; i < o->first[r + 1]; i++) {
        if (o->done[o->reader[i]] || (i > o->first[r] && o->reader[i] == o->reader[i - 1]))
            continue;
        size_t bytes = bytes_if_ready(o, o->reader[i]);
        if (bytes > left)
            return false;
        left -= bytes;
        n++;
    }
    return n > 0;
}

static void append(order *o, size_t *n, uint32_t i)
{
    const wg_node *node = node_of(o, i);
    o->done[i] = true;
    o->work[(*n)++] = i;
    for (int k = 0; k < node->n_out; k++)
        o->made[node->out[k]->id] = 0;
}

/* Runs what finishes root r, if it should be finished. */
static void finish(order *o, size_t *n, uint32_t r)
{
    if (should_finish(o, r))
        for (uint32_t j = o->first[r]; j < o->first[r + 1]; j++)
            if (!o->done[o->reader[j]])
                append(o, n, o->reader[j]);
}

static void bring_forward(order *o)
{
    enum { FEW = 8 }; /* an update of all parameters at once has thousands of operands */
    size_t n = 0;
    for (size_t v = 0; v < o->values; v++)
        o->made[v] = WGI_NONE;
    for (uint32_t i = 0; i < o->n; i++) {
        size_t at = n;
        if (!o->done[i])
            append(o, &n, i);
        for (; at < n; at++) { /* what comes forward may bring more */
            const wg_node *node = node_of(o, o->work[at]);
            for (int k = 0; k < node->n_in && node->n_in <= FEW; k++)
                finish(o, &n, root_of(o, node->in[k]));
            for (int k = 0; k < node->n_out && node->n_out <= FEW; k++)
                finish(o, &n, node->out[k]->id);
        }
    }
}

/* ---- updates step back ----------------------------------------------------------------------- */

/* The place of the first update of a leaf from which each root is computed. */
static void find_updates(order *o)
{
    for (size_t v = 0; v < o->values; v++)
        o->update[v] = INT64_MAX;
    for (size_t i = 0; i < o->n; i++)
        for (int k = 0; k < node_of(o, o->work[i])->n_out; k++) {
            int64_t s = o->p->layout.storage_of[node_of(o, o->work[i])->out[k]->id];
            if (o->p->layout.storage[s].kind == WGI_STORAGE_TENSOR)
                o->update[o->leaf_of[s]] = (int64_t)i;
        }
    for (size_t i = 0; i < o->n; i++) {
        const wg_node *n = node_of(o, o->work[i]);
        int64_t first = INT64_MAX;
        for (int k = 0; k < n->n_in; k++) {
            int64_t of = o->update[root_of(o, n->in[k])];
            first = of < first ? of : first;
        }
        for (int k = 0; k < n->n_out; k++)
            o->update[n->out[k]->id] = first;
    }
}

/* The last place at which each root is read, but not if that is long after the first update of
 * what it is computed from: a weight that is used at both ends of a net has part of its gradient
 * made far from the rest, and must not hold up all other updates. */
static void find_last(order *o)
{
    const int64_t far = later(64, (int64_t)o->n / 8);
    for (size_t i = 0; i < o->n; i++) {
        const wg_node *n = node_of(o, o->work[i]);
        for (int k = 0; k < n->n_in; k++) {
            uint32_t r = root_of(o, n->in[k]);
            if ((int64_t)i - far <= o->update[r])
                o->last[r] = (int64_t)i;
        }
    }
}

static void find_needs(order *o)
{
    find_updates(o);
    find_last(o);
    for (size_t i = o->n; i-- > 0;) {
        const wg_node *n = node_of(o, o->work[i]);
        int64_t need = 0;
        for (int k = 0; k < n->n_out; k++)
            need = later(need, later(o->last[n->out[k]->id], o->need[n->out[k]->id]));
        for (int k = 0; k < n->n_in && n->phase == WG_FORWARD; k++) {
            int64_t *of = &o->need[root_of(o, n->in[k])];
            *of = later(*of, need);
        }
    }
}

/* The earliest place for place i that keeps it behind what it reads and, if it writes into a leaf,
 * behind all that needs the old value. */
static int64_t place_of(const order *o, size_t i)
{
    const wg_node *n = node_of(o, o->work[i]);
    int64_t at = (int64_t)i;
    for (int k = 0; k < n->n_in; k++)
        at = later(at, o->made[root_of(o, n->in[k])]);
    for (int k = 0; k < n->n_out; k++) {
        int64_t s = o->p->layout.storage_of[n->out[k]->id];
        if (o->p->layout.storage[s].kind != WGI_STORAGE_TENSOR)
            continue;
        at = later(at, o->read[o->leaf_of[s]]);
        at = later(at, o->need[o->leaf_of[s]] + 1);
    }
    return at;
}

static void find_places(order *o)
{
    for (size_t v = 0; v < o->values; v++)
        o->made[v] = 0;
    for (size_t i = 0; i < o->n; i++) {
        const wg_node *n = node_of(o, o->work[i]);
        int64_t at = o->at[i] = place_of(o, i);
        for (int k = 0; k < n->n_out; k++)
            o->made[n->out[k]->id] = at;
        for (int k = 0; k < n->n_in; k++) {
            int64_t *read = &o->read[root_of(o, n->in[k])];
            *read = later(*read, at);
        }
    }
}

/* By new place, then by old: a counting sort.  The largest place is n, behind all others. */
static bool sort_by_place(const order *o, uint32_t *sorted)
{
    size_t *first = calloc(o->n + 3, sizeof *first);
    for (size_t i = 0; first && i < o->n; i++)
        first[o->at[i] + 1]++;
    for (size_t i = 0; first && i <= o->n; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; first && i < o->n; i++)
        sorted[first[o->at[i]]++] = o->work[i];
    free(first);
    return first != NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool wgi_recompute_order(const wgi_planner *p, uint32_t *work)
{
    size_t n = p->program.n_work, values = wg_graph_value_count(p->g);
    order o = {.p = p,
               .n = n,
               .values = values,
               .work = calloc(n + 1, sizeof *o.work),
               .done = calloc(n + 1, sizeof *o.done),
               .last = calloc(values + 1, sizeof *o.last),
               .update = calloc(values + 1, sizeof *o.update),
               .need = calloc(values + 1, sizeof *o.need),
               .read = calloc(values + 1, sizeof *o.read),
               .made = calloc(values + 1, sizeof *o.made),
               .at = calloc(n + 1, sizeof *o.at),
               .leaf_of = calloc(p->layout.n_storages + 1, sizeof *o.leaf_of)};
    bool ok = o.work && o.done && o.last && o.update && o.need && o.read && o.made && o.at &&
              o.leaf_of && list_readers(&o);
    for (size_t i = 0; ok && i < values; i++)
        if (wgi_is_outer(wg_graph_value(p->g, i)->node))
            o.leaf_of[p->layout.storage_of[i]] = (uint32_t)i;
    if (ok) {
        bring_forward(&o);
        find_needs(&o);
        find_places(&o);
        ok = sort_by_place(&o, work);
    }
    void *const owned[] = {o.first, o.reader, o.work, o.done, o.last,   o.update,
                           o.need,  o.read,   o.made, o.at,   o.leaf_of};
    for (int i = 0; i < WG_COUNT(owned); i++)
        free(owned[i]);
    return ok;
}
