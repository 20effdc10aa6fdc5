#include "backends/plan/planner.h"
#include "backends/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool wgi_planner_fail(wgi_planner *p, wg_status status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wg_graph_fail(p->source, status, NULL, "wg_plan_create", "%s", text);
    return false;
}

bool wgi_planner_fail_as(wgi_planner *p, const wg_graph *g)
{
    if (!g || wg_graph_status(g) == WG_OK)
        return wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    return wgi_planner_fail(p, wg_graph_status(g), "%s", wg_graph_message(g));
}

bool wgi_planner_fail_results(wgi_planner *p)
{
    return wgi_planner_fail(p, WG_ENOMEM, "memory of results: expected at most %zu bytes, got more",
                            WGI_MOST_BYTES);
}

void wgi_planner_adopt(wgi_planner *p, wg_graph *to, wg_value **map)
{
    for (size_t i = 0; i < p->marks.n_outputs; i++)
        p->marks.outputs[i].value = map[p->marks.outputs[i].value->id];
    for (size_t i = 0; i < p->marks.n_assigns; i++) {
        wgi_assignment *a = &p->marks.assigns[i];
        *a = (wgi_assignment){map[a->leaf->id], map[a->value->id], a->at};
    }
    for (size_t i = 0; p->of && i < p->n_source; i++)
        p->of[i] = p->of[i] ? map[p->of[i]->id] : NULL;
    if (p->of)
        free(map);
    else
        p->of = map;
    if (p->g != p->source)
        wg_graph_free(p->g);
    p->g = to;
}

bool wgi_planner_end(wgi_planner *p, bool ok, wg_graph *to, wg_value **map)
{
    if (ok && to) {
        wgi_planner_adopt(p, to, map);
        return true;
    }
    if (!ok)
        wgi_planner_fail_as(p, to);
    wg_graph_free(to);
    free(map);
    return ok;
}

static void *copy_of(const void *array, size_t count, size_t size)
{
    void *copy = malloc((count + 1) * size);
    if (copy && count)
        memcpy(copy, array, count * size);
    return copy;
}

bool wgi_planner_fork(wgi_planner *fork, const wgi_planner *p)
{
    *fork = *p;
    fork->g = p->source;
    fork->of = copy_of(p->of, p->n_source, sizeof *p->of);
    fork->marks.outputs = copy_of(p->marks.outputs, p->marks.n_outputs, sizeof *p->marks.outputs);
    fork->marks.assigns = copy_of(p->marks.assigns, p->marks.n_assigns, sizeof *p->marks.assigns);
    fork->root = NULL;
    fork->folded = fork->again = NULL;
    fork->program = (wgi_program){.n_work = 0};
    fork->layout = (wgi_layout){.n_storages = 0};
    fork->memory = (wgi_memory){NULL, NULL, NULL, NULL};
    return fork->of && fork->marks.outputs && fork->marks.assigns;
}

void wgi_planner_leave(wgi_planner *p)
{
    wgi_program_free(&p->program);
    void *const owned[] = {
        p->of,    p->marks.outputs,  p->marks.assigns,     p->root,         p->folded,
        p->again, p->layout.storage, p->layout.storage_of, p->layout.dying, p->memory.constants};
    for (int i = 0; i < WG_COUNT(owned); i++)
        free(owned[i]);
    if (p->g != p->source)
        wg_graph_free(p->g);
}
