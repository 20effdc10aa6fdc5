/* Constant folding: a node that depends on constants alone is computed once, when the plan is made,
 * by the cpu backend's kernel.  Its result stays if a run reads it.  Large results are not worth
 * keeping, random ones differ from run to run; a kernel that reports bad data is left to report
 * them in the run. */
#include "backends/plan/planner.h"

#include <stdlib.h>
#include <string.h>

enum { FOLD_LARGEST = 1 << 20, FOLD_ALL = 64 << 20 }; /* bytes of one node, of all */

static size_t result_bytes(const wg_node *n)
{
    size_t bytes = 0;
    for (int k = 0; k < n->n_out; k++) {
        size_t more = wg_value_bytes(n->out[k]);
        bytes = more > FOLD_LARGEST || bytes > FOLD_LARGEST ? FOLD_LARGEST + 1 : bytes + more;
    }
    return bytes;
}

bool *wgi_foldable_nodes(const wg_plan *p, const wg_graph *g)
{
    size_t count = wg_graph_node_count(g), total = 0;
    bool *foldable = calloc(count + 1, sizeof *foldable);
    for (size_t i = 0; foldable && i < count; i++) {
        const wg_node *n = wg_graph_node(g, i);
        bool folds =
            !(n->op->flags & (WG_OP_LEAF | WG_OP_RANDOM | WG_OP_OPAQUE)) && !p->options.no_fold;
        for (int k = 0; folds && k < n->n_in; k++)
            folds = foldable[n->in[k]->node->id];
        size_t bytes = folds && !wgi_is_view(n) ? result_bytes(n) : 0;
        if (folds && bytes <= FOLD_LARGEST && total + bytes <= FOLD_ALL) {
            total += bytes;
            foldable[i] = true;
        }
        foldable[i] |= wgi_is_constant(n);
    }
    return foldable;
}

/* ---- computing ------------------------------------------------------------------------------- */

typedef struct fold {
    wg_plan *p;
    void **data; /* [values] of folded values; views share it */
    const void **in;
    void **out; /* of one node */
} fold;

/* What became of a node. */
typedef enum outcome { COMPUTED, NOT_FOLDED, NO_MEMORY } outcome;

/* One call of the node's kernel.  Not folded if there is none or it reports an error. */
static outcome call_once(const fold *f, const wg_node *n)
{
    const wg_plan *p = f->p;
    const wgi_open_backend *cpu = &p->backends[p->n_backends - 1];
    wg_kernel kernel = {0};
    char message[256] = "";
    if (cpu->backend->refuses(cpu->state, n))
        return NOT_FOLDED;
    wg_status status = cpu->backend->prepare(cpu->state, n, &kernel);
    if (status != WG_OK)
        return status == WG_ENOMEM ? NO_MEMORY : NOT_FOLDED;
    wgi_spare_if_empty(n, &kernel);
    void *scratch = kernel.scratch ? wgi_aligned_alloc(kernel.scratch) : NULL;
    bool ready = scratch || !kernel.scratch;
    wg_call call = {.node = n,
                    .in = f->in,
                    .out = f->out,
                    .state = kernel.state,
                    .scratch = scratch,
                    .threads = p->options.threads,
                    .message = message};
    if (ready)
        kernel.run(&call);
    free(scratch);
    if (cpu->backend->finish)
        cpu->backend->finish(cpu->state, &kernel);
    return !ready ? NO_MEMORY : call.status == WG_OK ? COMPUTED : NOT_FOLDED;
}

static outcome compute(const fold *f, const wg_node *n)
{
    outcome result = COMPUTED;
    for (int k = 0; k < n->n_in; k++)
        if (!(f->in[k] = f->data[n->in[k]->id]))
            return NOT_FOLDED;
    for (int k = 0; k < n->n_out; k++) {
        f->out[k] = f->data[n->out[k]->id] = wgi_aligned_alloc(wg_value_bytes(n->out[k]));
        if (!f->out[k])
            result = NO_MEMORY;
    }
    if (result == COMPUTED && wgi_is_constant(n)) {
        const wg_constant_attrs *a = n->attrs;
        if (a->data.size)
            memcpy(f->out[0], a->data.bytes, a->data.size);
    } else if (result == COMPUTED) {
        result = call_once(f, n);
    }
    for (int k = 0; result != COMPUTED && k < n->n_out; k++) {
        free(f->out[k]);
        f->data[n->out[k]->id] = NULL;
    }
    return result;
}

static bool compute_all(fold *f)
{
    wg_plan *p = f->p;
    size_t max_in = 0, max_out = 0;
    for (size_t i = 0; i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        max_in = (size_t)n->n_in > max_in ? (size_t)n->n_in : max_in;
        max_out = (size_t)n->n_out > max_out ? (size_t)n->n_out : max_out;
    }
    f->in = malloc((max_in + 1) * sizeof *f->in);
    f->out = malloc((max_out + 1) * sizeof *f->out);
    bool ok = f->in && f->out;
    for (size_t i = 0; ok && i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        if (!p->folded[i])
            continue;
        if (wgi_is_view(n)) {
            f->data[n->out[0]->id] = f->data[n->in[0]->id];
            p->folded[i] = f->data[n->out[0]->id] != NULL;
            continue;
        }
        outcome result = compute(f, n);
        p->folded[i] = result == COMPUTED;
        ok = result != NO_MEMORY;
    }
    return ok;
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* kept[c]: the folded content c is read by a run. */
static bool *kept_contents(const wg_plan *p)
{
    bool *kept = calloc(wg_graph_value_count(p->g) + 1, sizeof *kept);
    for (size_t i = 0; kept && i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        for (int k = 0; !p->folded[i] && k < n->n_in; k++)
            kept[p->root[n->in[k]->id]] = true;
        for (int k = 0; p->options.keep_all && k < n->n_out; k++)
            kept[p->root[n->out[k]->id]] = true;
    }
    for (size_t i = 0; kept && i < p->n_outputs; i++)
        kept[p->root[p->outputs[i]->id]] = true;
    for (size_t i = 0; kept && i < p->n_assigns; i++)
        kept[p->root[p->assigns[i].value->id]] = true;
    return kept;
}

/* One block for all that is kept. */
static bool keep(wg_plan *p, void *const *data, const bool *kept)
{
    size_t values = wg_graph_value_count(p->g), total = 0;
    for (size_t i = 0; i < values; i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        if (!data[i] || p->root[i] != i || !kept[i])
            continue;
        p->storage_of[i] = (int64_t)p->n_storages;
        p->storage[p->n_storages++] = (wgi_storage){
            .home = WG_HOME_CONSTANT, .bytes = wgi_round_up(wg_value_bytes(v)), .offset = total};
        total += wgi_round_up(wg_value_bytes(v));
    }
    p->constants = wgi_aligned_alloc(total);
    if (!p->constants)
        return false;
    for (size_t i = 0; i < values; i++) {
        if (p->root[i] != i || p->storage_of[i] == WG_NONE)
            continue;
        wgi_storage *s = &p->storage[p->storage_of[i]];
        s->memory = p->constants + s->offset;
        memcpy(s->memory, data[i], wg_value_bytes(wg_graph_value(p->g, i)));
    }
    p->leaf_bytes += total;
    return true;
}

bool wgi_plan_fold(wg_plan *p, wg_graph *source)
{
    size_t values = wg_graph_value_count(p->g);
    fold f = {.p = p, .data = calloc(values + 1, sizeof(void *))};
    p->folded = wgi_foldable_nodes(p, p->g);
    bool ok = f.data && p->folded && compute_all(&f);
    bool *kept = ok ? kept_contents(p) : NULL;
    ok = kept && keep(p, f.data, kept);
    for (size_t i = 0; f.data && i < values; i++)
        if (p->root[i] == i)
            free(f.data[i]);
    free(f.data);
    free(f.in);
    free(f.out);
    free(kept);
    return ok || wgi_plan_refuse_private(p, source);
}
