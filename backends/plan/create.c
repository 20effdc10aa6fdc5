/* The order of planning. */
#include "backends/plan/planner.h"
#include "backends/plan/workspace.h"
#include "graph/refusal.h"
#include "graph/threads.h"

#include <stdlib.h>
#include <string.h>

const wgi_pass *wgi_passes(size_t *count)
{
    /* clang-format off */
    static const wgi_pass passes[] = {
        {"marks", wgi_pass_marks},
        {"threads", wgi_pass_threads},
        {"backends", wgi_pass_backends},
        {"transposes", wgi_pass_transposes},
        {"blocks", wgi_pass_blocks},
        {"fuse", wgi_pass_fuse},
        {"rewrite", wgi_pass_rewrite},
        {"order", wgi_pass_order},
        {"elementwise", wgi_pass_elementwise},
        {"norms", wgi_pass_norms},
        {"values", wgi_pass_values},
        {"fold", wgi_pass_fold},
        {"kernels", wgi_pass_kernels},
        {"leaves", wgi_pass_leaves},
        {"memory", wgi_pass_memory},
        {"budget", wgi_pass_budget},
        {"allocate", wgi_pass_allocate},
    };
    /* clang-format on */
    *count = WG_COUNT(passes);
    return passes;
}

bool wgi_planner_open(wgi_planner *p, wg_graph *g, const wg_plan_options *options)
{
    wg_plan_options o = options ? *options : (wg_plan_options){0};
    if (o.keep_all)
        o.workspace = NULL;
    *p = (wgi_planner){
        .options = o,
        .source = g,
        .g = g,
        .n_source = wg_graph_value_count(g),
        .store = o.store ? o.store : wg_store_new(o.seed),
        .workspace = o.workspace ? wgi_workspace_hold(o.workspace) : wg_workspace_new(),
    };
    if (!wgi_threads_valid(o.threads))
        return wgi_planner_fail(p, WG_EINVAL, WGI_THREADS_WRONG, o.threads, WG_MAX_THREADS);
    return (p->store && p->workspace) || wgi_planner_fail(p, WG_ENOMEM, "out of memory");
}

void wgi_planner_close(wgi_planner *p, wg_plan *plan)
{
    *plan = (wg_plan){
        .options = p->options,
        .readable = {p->source, p->of, p->n_source},
        .g = p->g == p->source ? NULL : p->g,
        .backends = p->backends,
        .store = p->store,
        .workspace = p->workspace,
        .program = p->program,
        .layout = p->layout,
        .memory = p->memory,
    };
    free(p->marks.outputs);
    free(p->marks.assigns);
    free(p->root);
    free(p->folded);
    free(p->again);
    *p = (wgi_planner){0};
}

/* What is computed but not yet: defined numbers, all the same. */
static void clear_results(const wg_plan *p)
{
    for (size_t i = 0; i < p->readable.count; i++) {
        const wg_value *v = p->readable.of[i];
        int64_t at = v ? p->layout.storage_of[v->id] : WGI_NONE;
        if (at != WGI_NONE && p->layout.storage[at].kind == WGI_STORAGE_BUFFER)
            memset(p->layout.storage[at].memory, p->options.poison ? 0xff : 0, wg_value_bytes(v));
    }
}

static wg_status refuse_nowhere(wg_graph *g)
{
    if (g && wg_graph_status(g) == WG_OK) {
        wg_graph_fail(g, WG_EINVAL, NULL, "wg_plan_create", "`out` is NULL");
        wgi_graph_refuse(g);
    }
    return WG_EINVAL;
}

wg_status wg_plan_create(wg_plan **out, wg_graph *g, const wg_plan_options *options)
{
    if (!out)
        return refuse_nowhere(g);
    *out = NULL;
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    wgi_graph_forget_refusal(g);
    wg_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        wg_graph_fail(g, WG_ENOMEM, NULL, "wg_plan_create", "out of memory");
        return wgi_graph_refuse(g);
    }
    wgi_planner p;
    size_t count;
    const wgi_pass *pass = wgi_passes(&count);
    bool ok = wgi_planner_open(&p, g, options);
    for (size_t i = 0; ok && i < count; i++)
        ok = pass[i].run(&p);
    wgi_planner_close(&p, plan);
    if (!ok) {
        wg_plan_free(plan);
        return wgi_graph_refuse(g);
    }
    wgi_plan_wire(plan);
    clear_results(plan);
    *out = plan;
    return WG_OK;
}
