/* A plan in use, but for its runs (run.c) and reports (report.c). */
#include "backends/plan/plan.h"
#include "backends/memory.h"
#include "backends/plan/facts.h"
#include "graph/element.h"
#include "wengert/ops/leaf.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void wgi_program_free(wgi_program *r)
{
    for (size_t i = 0; i < r->n_work; i++) {
        wgi_work *w = &r->work[i];
        if (w->by->backend->finish)
            w->by->backend->finish(w->by->state, &w->kernel);
    }
    free(r->work);
    free(r->slots);
    free(r->next_slot);
    *r = (wgi_program){.n_work = 0};
}

static void close_backends(wg_plan *p)
{
    wgi_program_free(&p->program);
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
        p->readable.of,      p->layout.storage, p->layout.storage_of, p->layout.dying,
        p->memory.constants, p->memory.outputs, p->memory.inputs,
    };
    for (int i = 0; i < WG_COUNT(owned); i++)
        free(owned[i]);
    wg_graph_free(p->g);
    wg_graph_free(p->blamed);
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

/* Why `who`, wg_plan_data or another reader, gives nothing. */
static void explain_unreadable(wg_plan *p, const char *who, const wg_value *v)
{
    char name[200], text[400];
    const char *why = "not an output of this plan: mark it with wg_output, or set keep_all";
    if (!v || v->node->graph != p->readable.source)
        why = "of another graph than the plan";
    else if (v->id >= p->readable.count)
        why = "newer than the plan: create the plan after the graph is complete";
    else if (v->node->op->flags & WG_OP_LEAF)
        why = "not needed by what the plan computes";
    if (v && !v->name) /* its number says less than its op and line */
        wg_node_message(v->node, why, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s is %s",
                 v ? wg_value_text(v, name, sizeof name) : "the value",
                 v ? why
                   : "NULL: wg_graph_find gives NULL for a name that the graph lacks, builders for "
                     "a graph in error (wg_graph_message)");
    snprintf(p->message, sizeof p->message, "%s: %s", who, text);
}

/* What v is called where the graph marks it as an output, or else its own name. */
static const char *name_of(const wg_plan *p, const wg_value *v, char *text, size_t size)
{
    const wg_value *own = readable(p, v);
    for (size_t i = 0; own && !v->name && i < wg_graph_output_count(p->g); i++)
        if (wg_graph_output(p->g, i) == own && *wg_graph_output_name(p->g, i)) {
            snprintf(text, size, "%s", wg_graph_output_name(p->g, i));
            return text;
        }
    return wg_value_text(v, text, size);
}

/* The storage of v, or NULL and a message of `who`. */
static wgi_storage *storage_of(wg_plan *p, const char *who, const wg_value *v)
{
    const wg_value *own = p ? readable(p, v) : NULL;
    int64_t at = own ? p->layout.storage_of[own->id] : WGI_NONE;
    if (p && at == WGI_NONE)
        explain_unreadable(p, who, v);
    else if (p)
        p->message[0] = '\0';
    return at == WGI_NONE ? NULL : &p->layout.storage[at];
}

static void *data_of(wg_plan *p, const char *who, const wg_value *v)
{
    wgi_storage *s = storage_of(p, who, v);
    if (!s)
        return NULL;
    s->given = true;
    return s->memory;
}

void *wg_plan_data(wg_plan *p, const wg_value *v)
{
    return data_of(p, "wg_plan_data", v);
}

static void *data_as(wg_plan *p, const char *who, const wg_value *v, wg_dtype dtype)
{
    char name[200];
    if (!p || !v || v->dtype == dtype)
        return data_of(p, who, v);
    snprintf(p->message, sizeof p->message, "%s: %s is %s, read as %s", who,
             name_of(p, v, name, sizeof name), wg_dtype_name(v->dtype), wg_dtype_name(dtype));
    return NULL;
}

float *wg_plan_f32(wg_plan *p, const wg_value *v)
{
    return data_as(p, "wg_plan_f32", v, WG_F32);
}

double *wg_plan_f64(wg_plan *p, const wg_value *v)
{
    return data_as(p, "wg_plan_f64", v, WG_F64);
}

int32_t *wg_plan_i32(wg_plan *p, const wg_value *v)
{
    return data_as(p, "wg_plan_i32", v, WG_I32);
}

int64_t *wg_plan_i64(wg_plan *p, const wg_value *v)
{
    return data_as(p, "wg_plan_i64", v, WG_I64);
}

double wg_plan_scalar(wg_plan *p, const wg_value *v)
{
    char name[200], shape[160];
    const wgi_storage *s = storage_of(p, "wg_plan_scalar", v);
    bool is_scalar = wg_value_count(v) == 1, computed = s && s->kind == WGI_STORAGE_BUFFER;
    if (s && is_scalar && (p->has_run || !computed))
        return wgi_get_element(s->memory, v->dtype, 0);
    if (s && is_scalar)
        snprintf(p->message, sizeof p->message,
                 "wg_plan_scalar: %s was not computed yet: no run has finished",
                 name_of(p, v, name, sizeof name));
    else if (s)
        snprintf(p->message, sizeof p->message, "wg_plan_scalar: %s is %s, read as a scalar",
                 name_of(p, v, name, sizeof name), wg_shape_text(&v->shape, shape, sizeof shape));
    return NAN;
}

wg_status wg_plan_bind(wg_plan *p, const wg_value *input, void *data)
{
    if (!p)
        return WG_EINVAL;
    const wg_value *own = readable(p, input);
    bool is_input = own && own->node->op == &wg_op_input;
    if (!is_input || (uintptr_t)data % WGI_ALIGN) {
        snprintf(p->message, sizeof p->message, "wg_plan_bind: %s",
                 is_input ? "the memory is not 64-byte aligned"
                          : "not an input of this plan's graph");
        return WG_EINVAL;
    }
    wgi_storage *s = &p->layout.storage[p->layout.storage_of[own->id]];
    p->message[0] = '\0';
    s->given = data != NULL;
    s->memory = data ? data : p->memory.inputs + s->offset;
    for (uint32_t i = s->first_slot; i; i = p->program.next_slot[i - 1])
        p->program.slots[i - 1] = s->memory;
    return WG_OK;
}

const char *wg_plan_message(const wg_plan *p)
{
    return !p ? "the plan is NULL"
           : atomic_load_explicit(&p->refused, memory_order_relaxed)
               ? "the plan was running in another thread: one at a time, or a plan for each"
               : p->message;
}

wg_store *wg_plan_store(wg_plan *p)
{
    return p ? p->store : NULL;
}
