/* A plan in use, but for its runs (run.c) and reports (report.c). */
#include "backends/plan/plan.h"
#include "backends/align.h"
#include "wengert/ops/leaf.h"
#include "wengert/ops/table.h"

#include <stdio.h>
#include <stdlib.h>

static void close_backends(wg_plan *p)
{
    for (size_t i = 0; i < p->program.n_work; i++) {
        wgi_work *w = &p->program.work[i];
        if (w->by->backend->finish)
            w->by->backend->finish(w->by->state, &w->kernel);
    }
    for (size_t i = 0; i < p->backends.count; i++)
        if (p->backends.open[i].backend->close)
            p->backends.open[i].backend->close(p->backends.open[i].state);
    free(p->backends.open);
}

void wg_plan_free(wg_plan *p)
{
    if (!p)
        return;
    close_backends(p);
    void *const owned[] = {
        p->readable.of,      p->program.work,      p->program.slots, p->program.next_slot,
        p->layout.storage,   p->layout.storage_of, p->layout.dying,  p->memory.outputs,
        p->memory.constants, p->memory.inputs,
    };
    for (int i = 0; i < WG_COUNT(owned); i++)
        free(owned[i]);
    wg_graph_free(p->g);
    if (!p->options.store)
        wg_store_free(p->store);
    wg_workspace_free(p->workspace);
    free(p);
}

/* The private value that stands for v, a value of the user's graph, or NULL. */
static const wg_value *readable(const wg_plan *p, const wg_value *v)
{
    const wgi_readable *r = &p->readable;
    return v && v->id < r->count && v->node->graph == r->source ? r->of[v->id] : NULL;
}

void *wg_plan_data(wg_plan *p, const wg_value *v)
{
    const wg_value *own = p ? readable(p, v) : NULL;
    return own ? wgi_memory_of(p, own) : NULL;
}

wg_status wg_plan_bind(wg_plan *p, const wg_value *input, void *data)
{
    if (!p)
        return WG_EINVAL;
    const wg_value *own = readable(p, input);
    bool is_input = own && own->node->op == &wg_op_input;
    if (!is_input || (uintptr_t)data % WG_ALIGN) {
        snprintf(p->message, sizeof p->message, "wg_plan_bind: %s",
                 is_input ? "the memory is not 64-byte aligned"
                          : "not an input of this plan's graph");
        return WG_EINVAL;
    }
    wgi_storage *s = &p->layout.storage[p->layout.storage_of[own->id]];
    s->memory = data ? data : p->memory.inputs + s->offset;
    for (uint32_t i = s->first_slot; i; i = p->program.next_slot[i - 1])
        p->program.slots[i - 1] = s->memory;
    return WG_OK;
}

const char *wg_plan_message(const wg_plan *p)
{
    return p ? p->message : "the plan is NULL";
}

wg_store *wg_plan_store(wg_plan *p)
{
    return p ? p->store : NULL;
}
