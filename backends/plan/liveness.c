/* Lifetimes of results, and the storage that each one takes.
 *
 * A root (facts.h) lives from the step that computes it to the last step that reads it or one of
 * its views; outputs and values to be assigned live to the end.  A result takes, in this order of
 * preference,
 *   - the storage of a leaf to which it is assigned, if nothing reads the leaf any more,
 *   - the storage of an operand that dies at this step, where the op allows it,
 *   - a storage of its own in the buffer. */
#include "backends/memory.h"
#include "backends/plan/offsets.h"
#include "backends/plan/planner.h"

#include <stdlib.h>

/* ---- liveness -------------------------------------------------------------------------------- */

typedef struct lifetimes {
    wgi_planner *p;
    int64_t *last;    /* [values] last step that reads the root; n_work: alive at the end */
    int64_t *becomes; /* [values] assignment whose leaf the root could be written to      */
    bool *exclusive;  /* [values] an output, and other plans share the workspace          */
    wgi_uses uses;
} lifetimes;

static void find_last_reads(lifetimes *w)
{
    const wgi_planner *p = w->p;
    int64_t end = (int64_t)p->program.n_work;
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++)
        w->last[i] = w->becomes[i] = WGI_NONE;
    for (int64_t i = 0; i < end; i++) {
        const wg_node *n = p->program.work[i].node;
        for (int k = 0; k < n->n_in; k++)
            if (w->last[p->root[n->in[k]->id]] < i)
                w->last[p->root[n->in[k]->id]] = i;
        for (int k = 0; k < n->n_out; k++)
            w->last[n->out[k]->id] = p->options.keep_all ? end : i;
    }
    for (size_t i = 0; i < p->marks.n_outputs; i++) {
        uint32_t c = p->root[p->marks.outputs[i].value->id];
        w->last[c] = end;
        w->exclusive[c] = p->options.workspace != NULL;
    }
}

/* Values that are assigned live to the end.  One that is no output may be written into its leaf. */
static void find_assigned(lifetimes *w)
{
    const wgi_planner *p = w->p;
    for (size_t i = 0; i < p->marks.n_assigns; i++) {
        uint32_t c = p->root[p->marks.assigns[i].value->id];
        bool free_to_move = w->last[c] < (int64_t)p->program.n_work && w->becomes[c] == WGI_NONE;
        if (free_to_move && !p->options.check_nonfinite && !p->options.no_inplace)
            w->becomes[c] = (int64_t)i;
    }
    for (size_t i = 0; i < p->marks.n_assigns; i++)
        w->last[p->root[p->marks.assigns[i].value->id]] = (int64_t)p->program.n_work;
}

/* ---- storages -------------------------------------------------------------------------------- */

static int64_t new_storage(wgi_planner *p, size_t bytes, int64_t first, int64_t last)
{
    p->layout.storage[p->layout.n_storages] = (wgi_storage){
        .kind = WGI_STORAGE_BUFFER, .bytes = wgi_round_up(bytes), .first = first, .last = last};
    return (int64_t)p->layout.n_storages++;
}

/* The leaf's storage, if at step i only n itself can still read its old value. */
static int64_t leaf_to_overwrite(lifetimes *w, int64_t i, const wg_node *n, int j)
{
    const wgi_planner *p = w->p;
    int64_t a = w->becomes[n->out[j]->id];
    if (a == WGI_NONE)
        return WGI_NONE;
    uint32_t leaf = p->marks.assigns[a].leaf->id;
    bool dead =
        w->last[leaf] < i || (w->last[leaf] == i && wgi_may_overwrite(&w->uses, n, j, leaf));
    return dead ? p->layout.storage_of[leaf] : WGI_NONE;
}

/* Whether one of the first j results of n has storage s. */
static bool is_taken(const wgi_planner *p, const wg_node *n, int j, int64_t s)
{
    bool taken = false;
    for (int e = 0; e < j && !taken; e++)
        taken = p->layout.storage_of[n->out[e]->id] == s;
    return taken;
}

/* The storage of an operand that dies here and has room for result j. */
static int64_t operand_to_overwrite(lifetimes *w, int64_t i, const wg_node *n, int j)
{
    const wgi_planner *p = w->p;
    for (int k = 0; k < n->n_in && !p->options.no_inplace; k++) {
        uint32_t c = p->root[n->in[k]->id];
        int64_t s = p->layout.storage_of[c];
        if (p->layout.storage[s].kind == WGI_STORAGE_BUFFER && w->last[c] == i &&
            p->layout.storage[s].last == i && wgi_may_overwrite(&w->uses, n, j, c) &&
            !is_taken(p, n, j, s))
            return s;
    }
    return WGI_NONE;
}

static void place_result(lifetimes *w, int64_t i, int j)
{
    wgi_planner *p = w->p;
    const wg_node *n = p->program.work[i].node;
    uint32_t c = n->out[j]->id;
    int64_t s = leaf_to_overwrite(w, i, n, j);
    if (s == WGI_NONE && !w->exclusive[c] && (s = operand_to_overwrite(w, i, n, j)) != WGI_NONE) {
        p->layout.storage[s].last = w->last[c];
        p->program.work[i].inplace = true;
    }
    if (s == WGI_NONE) {
        s = new_storage(p, wg_value_bytes(n->out[j]), i, w->last[c]);
        p->layout.storage[s].exclusive = w->exclusive[c];
    }
    p->layout.storage_of[c] = s;
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* Bytes alive at each step: their maximum and where it is. */
static bool measure(wgi_planner *p)
{
    size_t steps = p->program.n_work + 1;
    int64_t *change = calloc(steps + 2, sizeof *change), alive = 0;
    if (!change)
        return false;
    for (size_t i = 0; i < p->layout.n_storages; i++) {
        const wgi_storage *s = &p->layout.storage[i];
        if (s->kind != WGI_STORAGE_BUFFER)
            continue;
        change[s->first] += (int64_t)s->bytes;
        change[s->last + 1] -= (int64_t)s->bytes;
    }
    for (size_t i = 0; i < steps; i++) {
        alive += change[i];
        if ((size_t)alive > p->layout.live_bytes) {
            p->layout.live_bytes = (size_t)alive;
            p->layout.peak_step = (int64_t)i;
        }
    }
    free(change);
    return true;
}

/* Lists the storages of the buffer by the step after which they are dead: a run may poison them. */
static bool list_dying(wgi_planner *p)
{
    size_t *first = calloc(p->program.n_work + 2, sizeof *first);
    p->layout.dying = calloc(p->layout.n_storages + 1, sizeof *p->layout.dying);
    if (!first || !p->layout.dying) {
        free(first);
        return false;
    }
    for (size_t i = 0; i < p->layout.n_storages; i++)
        if (p->layout.storage[i].kind == WGI_STORAGE_BUFFER &&
            p->layout.storage[i].last < (int64_t)p->program.n_work)
            first[p->layout.storage[i].last + 1]++;
    for (size_t i = 0; i < p->program.n_work; i++) {
        first[i + 1] += first[i];
        p->program.work[i].dies = p->program.work[i].dies_end = first[i];
    }
    for (size_t i = 0; i < p->layout.n_storages; i++)
        if (p->layout.storage[i].kind == WGI_STORAGE_BUFFER &&
            p->layout.storage[i].last < (int64_t)p->program.n_work)
            p->layout.dying[p->program.work[p->layout.storage[i].last].dies_end++] = (int64_t)i;
    free(first);
    return true;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void place_results(lifetimes *w)
{
    wgi_planner *p = w->p;
    find_last_reads(w);
    find_assigned(w);
    for (int64_t i = 0; i < (int64_t)p->program.n_work; i++) {
        wgi_work *k = &p->program.work[i];
        for (int j = 0; j < k->node->n_out; j++)
            place_result(w, i, j);
        k->scratch = WGI_NONE;
        if (k->kernel.scratch)
            k->scratch = new_storage(p, k->kernel.scratch, i, i);
    }
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++)
        p->layout.storage_of[i] = p->layout.storage_of[p->root[i]];
}

/* Results and scratch, if none of them shared memory.  False if they are so many bytes that a sum
 * of some of them, or of offsets, could overflow. */
static bool count_bytes(wgi_planner *p)
{
    size_t total = 0;
    bool ok = true;
    for (size_t i = 0; i < p->program.n_work; i++) {
        const wgi_work *k = &p->program.work[i];
        for (int j = 0; j < k->node->n_out; j++)
            ok = ok && wgi_add_bytes(&total, wg_value_bytes(k->node->out[j]));
        ok = ok && wgi_add_bytes(&total, k->kernel.scratch);
    }
    p->layout.value_bytes = total;
    return ok;
}

/* First the storages in the workspace, then the exclusive ones, in sequence. */
static bool set_offsets(wgi_layout *l)
{
    l->shared_bytes = wgi_place_storages(l->storage, l->n_storages);
    if (l->shared_bytes == SIZE_MAX)
        return false;
    l->buffer_bytes = l->shared_bytes;
    for (size_t i = 0; i < l->n_storages; i++)
        if (l->storage[i].exclusive) {
            l->storage[i].offset = l->buffer_bytes;
            l->buffer_bytes += l->storage[i].bytes;
        }
    return true;
}

bool wgi_pass_memory(wgi_planner *p)
{
    size_t values = wg_graph_value_count(p->g);
    if (!count_bytes(p))
        return wgi_planner_fail_results(p);
    lifetimes w = {.p = p,
                   .last = malloc((values + 1) * sizeof(int64_t)),
                   .becomes = malloc((values + 1) * sizeof(int64_t)),
                   .exclusive = calloc(values + 1, sizeof(bool))};
    bool ok = wgi_uses_init(&w.uses, p->g, p->root) && w.last && w.becomes && w.exclusive;
    if (ok)
        place_results(&w);
    ok = ok && set_offsets(&p->layout) && measure(p) && list_dying(p);
    free(w.last);
    free(w.becomes);
    free(w.exclusive);
    wgi_uses_free(&w.uses);
    return ok || wgi_planner_fail(p, WG_ENOMEM, "out of memory");
}
