#include "backends/plan/planner.h"

#include <stdarg.h>
#include <stdlib.h>

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
