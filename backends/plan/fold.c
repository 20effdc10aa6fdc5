/* Constant folding: a node that depends on constants alone is computed once, when the plan is made,
 * by the cpu backend's kernel.  Its result is kept if a run reads it.  Large results are not worth
 * keeping, and random ones differ from run to run.  Where the kernel refuses its data, the node is
 * left to the run, which then reports it. */
#include "backends/memory.h"
#include "backends/plan/planner.h"

#include <stdlib.h>
#include <string.h>

/* ---- computing ------------------------------------------------------------------------------- */

typedef struct fold {
    wgi_planner *p;
    void **data; /* [values] of folded values; views share it */
    const void **in;
    void **out; /* of one node */
} fold;

/* WG_OK, WG_ENOMEM, or another code: n is not folded. */
static wg_status compute(const fold *f, const wg_node *n)
{
    wg_status status = WG_OK;
    for (int k = 0; k < n->n_in; k++)
        if (!(f->in[k] = f->data[n->in[k]->id]))
            return WG_EUNSUPPORTED;
    for (int k = 0; k < n->n_out; k++) {
        f->out[k] = f->data[n->out[k]->id] = wgi_aligned_alloc(wg_value_bytes(n->out[k]));
        if (!f->out[k])
            status = WG_ENOMEM;
    }
    if (status == WG_OK && wgi_is_constant(n)) {
        const wg_constant_attrs *a = n->attrs;
        if (a->data.size) /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): it has an output */
            memcpy(f->out[0], a->data.bytes, a->data.size);
    } else if (status == WG_OK) {
        status = wgi_compute_node(wgi_reference(&f->p->backends), n, f->in, f->out,
                                  f->p->options.threads);
    }
    for (int k = 0; status != WG_OK && k < n->n_out; k++) {
        free(f->out[k]); /* NOLINT(clang-analyzer-core.CallAndMessage): allocated above, or NULL */
        f->data[n->out[k]->id] = NULL;
    }
    return status;
}

static bool compute_all(fold *f)
{
    wgi_planner *p = f->p;
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
        wg_status status = compute(f, n);
        p->folded[i] = status == WG_OK;
        ok = status != WG_ENOMEM;
    }
    return ok;
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* kept[c]: a run reads the folded root c. */
static bool *kept_roots(const wgi_planner *p)
{
    bool *kept = calloc(wg_graph_value_count(p->g) + 1, sizeof *kept);
    for (size_t i = 0; kept && i < wg_graph_node_count(p->g); i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        for (int k = 0; !p->folded[i] && k < n->n_in; k++)
            kept[p->root[n->in[k]->id]] = true;
        for (int k = 0; p->options.keep_all && k < n->n_out; k++)
            kept[p->root[n->out[k]->id]] = true;
    }
    for (size_t i = 0; kept && i < p->marks.n_outputs; i++)
        kept[p->root[p->marks.outputs[i].value->id]] = true;
    for (size_t i = 0; kept && i < p->marks.n_assigns; i++)
        kept[p->root[p->marks.assigns[i].value->id]] = true;
    return kept;
}

/* One block for all that is kept. */
static bool keep(wgi_planner *p, void *const *data, const bool *kept)
{
    size_t values = wg_graph_value_count(p->g), total = 0;
    for (size_t i = 0; i < values; i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        if (!data[i] || p->root[i] != i || !kept[i])
            continue;
        p->layout.storage_of[i] = (int64_t)p->layout.n_storages;
        p->layout.storage[p->layout.n_storages++] =
            (wgi_storage){.kind = WGI_STORAGE_CONSTANT,
                          .bytes = wgi_round_up(wg_value_bytes(v)),
                          .offset = total};
        total += wgi_round_up(wg_value_bytes(v));
    }
    p->memory.constants = wgi_aligned_alloc(total);
    if (!p->memory.constants)
        return false;
    for (size_t i = 0; i < values; i++) {
        if (p->root[i] != i || p->layout.storage_of[i] == WGI_NONE)
            continue;
        wgi_storage *s = &p->layout.storage[p->layout.storage_of[i]];
        s->memory = p->memory.constants + s->offset;
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): what has a storage has data */
        memcpy(s->memory, data[i], wg_value_bytes(wg_graph_value(p->g, i)));
    }
    p->layout.leaf_bytes += total;
    return true;
}

bool wgi_pass_fold(wgi_planner *p)
{
    size_t values = wg_graph_value_count(p->g);
    fold f = {.p = p, .data = calloc(values + 1, sizeof(void *))};
    p->folded = wgi_foldable_nodes(p->g, !p->options.no_fold);
    bool ok = f.data && p->folded && compute_all(&f);
    bool *kept = ok ? kept_roots(p) : NULL;
    ok = kept && keep(p, f.data, kept);
    for (size_t i = 0; f.data && i < values; i++)
        if (p->root[i] == i)
            free(f.data[i]);
    free(f.data);
    free(f.in);
    free(f.out);
    free(kept);
    return ok || wgi_planner_fail_as(p, p->g);
}
