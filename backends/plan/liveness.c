/* Who lives how long, and in whose place.
 *
 * A content lives from the step that computes it to the last step that reads it or one of its
 * views; outputs and values to be assigned live to the end.  A result takes, in this order of
 * preference,
 *   - the storage of a leaf to which it is assigned, if no one reads the leaf any more,
 *   - the storage of an operand that dies at this step, where the op allows it,
 *   - a storage of its own in the buffer. */
#include "backends/plan/planner.h"

#include <stdlib.h>
#include <string.h>

/* ---- contents -------------------------------------------------------------------------------- */

uint32_t *wgi_roots(const wg_graph *g)
{
    size_t count = wg_graph_value_count(g);
    uint32_t *root = malloc((count + 1) * sizeof *root);
    for (uint32_t i = 0; root && i < count; i++) {
        const wg_node *n = wg_graph_value(g, i)->node;
        root[i] = wgi_is_view(n) ? root[n->in[0]->id] : i;
    }
    return root;
}

bool wgi_reads(const wg_node *n, uint32_t c, const uint32_t *root)
{
    bool reads = false;
    for (int k = 0; k < n->n_in && !reads; k++)
        reads = root[n->in[k]->id] == c;
    return reads;
}

/* Whether the op lets result j take the buffer of operand k. */
static bool allows(const wg_op *op, int j, int k)
{
    if (op->overwrites)
        return op->overwrites(j, k);
    return k < 31 && (op->inplace >> k & 1) && (j == 0 || (op->flags & WG_OP_UPDATE));
}

bool wgi_may_overwrite(const wg_node *n, int j, uint32_t c, const uint32_t *root)
{
    int times = 0;
    for (int k = 0; k < n->n_in; k++) {
        if (root[n->in[k]->id] != c)
            continue;
        if (!allows(n->op, j, k) || wg_value_bytes(n->in[k]) != wg_value_bytes(n->out[j]))
            return false;
        times++;
    }
    return times == 1 || (times > 1 && (n->op->flags & (WG_OP_ELEMENTWISE | WG_OP_UPDATE)));
}

/* ---- liveness -------------------------------------------------------------------------------- */

typedef struct place {
    wg_plan *p;
    int64_t *last;    /* [values] last step that reads the content; n_work: alive at the end */
    int64_t *becomes; /* [values] assignment whose leaf the content could be written to     */
    bool *apart;      /* [values] an output, and other plans share the workspace            */
} place;

static void find_last_reads(place *w)
{
    const wg_plan *p = w->p;
    int64_t end = (int64_t)p->n_work;
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++)
        w->last[i] = w->becomes[i] = WG_NONE;
    for (int64_t i = 0; i < end; i++) {
        const wg_node *n = p->work[i].node;
        for (int k = 0; k < n->n_in; k++)
            if (w->last[p->root[n->in[k]->id]] < i)
                w->last[p->root[n->in[k]->id]] = i;
        for (int k = 0; k < n->n_out; k++)
            w->last[n->out[k]->id] = p->options.keep_all ? end : i;
    }
    for (size_t i = 0; i < p->n_outputs; i++) {
        uint32_t c = p->root[p->outputs[i]->id];
        w->last[c] = end;
        w->apart[c] = p->options.workspace != NULL;
    }
}

/* Values that are assigned live to the end.  One that is no output may be written into its leaf. */
static void find_assigned(place *w)
{
    const wg_plan *p = w->p;
    for (size_t i = 0; i < p->n_assigns; i++) {
        uint32_t c = p->root[p->assigns[i].value->id];
        bool free_to_move = w->last[c] < (int64_t)p->n_work && w->becomes[c] == WG_NONE;
        if (free_to_move && !p->options.check_nonfinite && !p->options.no_inplace)
            w->becomes[c] = (int64_t)i;
    }
    for (size_t i = 0; i < p->n_assigns; i++)
        w->last[p->root[p->assigns[i].value->id]] = (int64_t)p->n_work;
}

/* ---- storages -------------------------------------------------------------------------------- */

static int64_t new_storage(wg_plan *p, size_t bytes, int64_t first, int64_t last)
{
    p->storage[p->n_storages] = (wgi_storage){
        .home = WG_HOME_BUFFER, .bytes = wgi_round_up(bytes), .first = first, .last = last};
    return (int64_t)p->n_storages++;
}

/* The leaf's storage, if at step i nobody but n itself can still read its old value. */
static int64_t leaf_to_overwrite(const place *w, int64_t i, const wg_node *n, int j)
{
    const wg_plan *p = w->p;
    int64_t a = w->becomes[n->out[j]->id];
    if (a == WG_NONE)
        return WG_NONE;
    uint32_t leaf = p->assigns[a].leaf->id;
    bool dead = w->last[leaf] < i || (w->last[leaf] == i && wgi_may_overwrite(n, j, leaf, p->root));
    return dead ? p->storage_of[leaf] : WG_NONE;
}

/* The storage of an operand that dies here and has room for result j. */
static int64_t operand_to_overwrite(const place *w, int64_t i, const wg_node *n, int j)
{
    const wg_plan *p = w->p;
    for (int k = 0; k < n->n_in && !p->options.no_inplace; k++) {
        uint32_t c = p->root[n->in[k]->id];
        int64_t s = p->storage_of[c];
        bool taken = false;
        for (int e = 0; e < j; e++)
            taken |= p->storage_of[n->out[e]->id] == s;
        if (!taken && p->storage[s].home == WG_HOME_BUFFER && w->last[c] == i &&
            p->storage[s].last == i && wgi_may_overwrite(n, j, c, p->root))
            return s;
    }
    return WG_NONE;
}

static void place_result(place *w, int64_t i, int j)
{
    wg_plan *p = w->p;
    const wg_node *n = p->work[i].node;
    uint32_t c = n->out[j]->id;
    int64_t s = leaf_to_overwrite(w, i, n, j);
    if (s == WG_NONE && !w->apart[c] && (s = operand_to_overwrite(w, i, n, j)) != WG_NONE) {
        p->storage[s].last = w->last[c];
        p->work[i].inplace = true;
    }
    if (s == WG_NONE) {
        s = new_storage(p, wg_value_bytes(n->out[j]), i, w->last[c]);
        p->storage[s].apart = w->apart[c];
    }
    p->storage_of[c] = s;
    p->value_bytes += wgi_round_up(wg_value_bytes(n->out[j]));
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static bool place_leaves(wg_plan *p, wg_graph *source)
{
    size_t total = 0, values = wg_graph_value_count(p->g);
    for (size_t i = 0; i < values; i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        if (!wgi_is_outer(v->node))
            continue;
        size_t bytes = wgi_round_up(wg_value_bytes(v));
        wgi_storage s = {.home = wgi_is_stored(v->node) ? WG_HOME_STORE : WG_HOME_INPUT,
                         .bytes = bytes};
        if (wgi_is_stored(v->node)) {
            wg_status status;
            const wg_tensor *t = wgi_store_leaf(p->store, v, &status);
            char have[160], want[160];
            const wg_tensor *old = t ? t : wg_store_find(p->store, v->name);
            if (!t && status != WG_ENOMEM && old)
                return wgi_plan_refuse(
                    source, status, "%s is %s%s in the graph, %s%s in the store", v->name,
                    wg_dtype_name(v->dtype), wg_shape_text(&v->shape, want, sizeof want),
                    wg_dtype_name(old->dtype), wg_shape_text(&old->shape, have, sizeof have));
            if (!t)
                return wgi_plan_refuse(source, status, "%s: %s", v->name, wg_status_text(status));
            s.memory = t->data;
        } else {
            s.offset = total;
            if (bytes > SIZE_MAX / 2 - total)
                return wgi_plan_refuse(source, WG_ENOMEM, "the inputs need more than %zu bytes",
                                       total);
            total += bytes;
        }
        p->leaf_bytes += bytes;
        p->storage_of[i] = (int64_t)p->n_storages;
        p->storage[p->n_storages++] = s;
    }
    p->inputs = wgi_aligned_alloc(total);
    if (!p->inputs)
        return wgi_plan_refuse(source, WG_ENOMEM, "no memory for inputs of %zu bytes", total);
    memset(p->inputs, 0, total);
    for (size_t i = 0; i < p->n_storages; i++)
        if (p->storage[i].home == WG_HOME_INPUT)
            p->storage[i].memory = p->inputs + p->storage[i].offset;
    return true;
}

/* ---- statistics: who is alive when ----------------------------------------------------------- */

static bool measure(wg_plan *p)
{
    size_t steps = p->n_work + 1;
    int64_t *change = calloc(steps + 2, sizeof *change), alive = 0;
    if (!change)
        return false;
    for (size_t i = 0; i < p->n_storages; i++) {
        const wgi_storage *s = &p->storage[i];
        if (s->home != WG_HOME_BUFFER)
            continue;
        change[s->first] += (int64_t)s->bytes;
        change[s->last + 1] -= (int64_t)s->bytes;
    }
    for (size_t i = 0; i < steps; i++) {
        alive += change[i];
        if ((size_t)alive > p->live_bytes) {
            p->live_bytes = (size_t)alive;
            p->peak_step = (int64_t)i;
        }
    }
    free(change);
    return true;
}

/* Lists the storages of the buffer by the step after which they are dead, for poisoning. */
static bool list_dying(wg_plan *p)
{
    size_t *first = calloc(p->n_work + 2, sizeof *first);
    p->dying = calloc(p->n_storages + 1, sizeof *p->dying);
    if (!first || !p->dying) {
        free(first);
        return false;
    }
    for (size_t i = 0; i < p->n_storages; i++)
        if (p->storage[i].home == WG_HOME_BUFFER && p->storage[i].last < (int64_t)p->n_work)
            first[p->storage[i].last + 1]++;
    for (size_t i = 0; i < p->n_work; i++) {
        first[i + 1] += first[i];
        p->work[i].dies = p->work[i].dies_end = first[i];
    }
    for (size_t i = 0; i < p->n_storages; i++)
        if (p->storage[i].home == WG_HOME_BUFFER && p->storage[i].last < (int64_t)p->n_work)
            p->dying[p->work[p->storage[i].last].dies_end++] = (int64_t)i;
    free(first);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool place_results(place *w)
{
    wg_plan *p = w->p;
    find_last_reads(w);
    find_assigned(w);
    for (int64_t i = 0; i < (int64_t)p->n_work; i++) {
        wgi_work *k = &p->work[i];
        for (int j = 0; j < k->node->n_out; j++)
            place_result(w, i, j);
        k->scratch = WG_NONE;
        if (k->kernel.scratch) {
            k->scratch = new_storage(p, k->kernel.scratch, i, i);
            p->value_bytes += wgi_round_up(k->kernel.scratch);
        }
    }
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++)
        p->storage_of[i] = p->storage_of[p->root[i]];
    p->shared_bytes = wgi_place_storages(p->storage, p->n_storages);
    if (p->shared_bytes == SIZE_MAX)
        return false;
    p->buffer_bytes = p->shared_bytes;
    for (size_t i = 0; i < p->n_storages; i++)
        if (p->storage[i].apart) {
            p->storage[i].offset = p->buffer_bytes;
            p->buffer_bytes += p->storage[i].bytes;
        }
    return measure(p) && list_dying(p);
}

bool wgi_plan_place(wg_plan *p, wg_graph *source)
{
    if (!place_leaves(p, source))
        return false;
    size_t values = wg_graph_value_count(p->g);
    place w = {p, malloc((values + 1) * sizeof(int64_t)), malloc((values + 1) * sizeof(int64_t)),
               calloc(values + 1, sizeof(bool))};
    bool ok = w.last && w.becomes && w.apart && place_results(&w);
    free(w.last);
    free(w.becomes);
    free(w.apart);
    if (!ok)
        return wgi_plan_refuse_private(p, source);
    size_t apart = p->buffer_bytes - p->shared_bytes;
    p->apart = wgi_aligned_alloc(apart);
    if (!p->apart || !wgi_workspace_reserve(p->workspace, p->shared_bytes))
        return wgi_plan_refuse(source, WG_ENOMEM, "no memory for a buffer of %zu bytes",
                               p->buffer_bytes);
    return true;
}
