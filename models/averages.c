/* Moving averages of parameters: a part of the update phase. */
#include "graph/clone.h"
#include "graph/marks.h"
#include "models/internal.h"
#include "models/update.h"
#include "wengert/ops/table.h"

#include <string.h>

/* What p will be after the run. */
static wg_value *latest(const wg_graph *g, wg_value *p)
{
    const wgi_assignment *a = wgi_graph_assignment(g, p);
    return a ? a->value : p;
}

/* The state PATH/REST beside the parameter UP/REST, where PATH is UP/NAME; or NULL. */
static wg_value *average_beside(const wg_graph *g, const wg_value *p, const char *path)
{
    char name[1536];
    const char *slash = strrchr(path, '/');
    size_t up = slash ? (size_t)(slash - path) + 1 : 0; /* with its slash */
    if (!p->name || strncmp(p->name, path, up) != 0)
        return NULL;
    snprintf(name, sizeof name, "%s/%s", path, p->name + up);
    return wg_graph_find(g, name);
}

/* Whether wg_average_update has moved the state `leaf` after parameter p, in whatever scope. */
static bool follows(const wg_graph *g, const wg_value *leaf, const wg_value *p)
{
    char path[1024], updates[1100];
    for (size_t i = 0; leaf->name && leaf->name[i] && i < sizeof path; i++) {
        if (leaf->name[i] != '/')
            continue;
        snprintf(path, sizeof path, "%.*s", (int)i, leaf->name);
        snprintf(updates, sizeof updates, "%s/updates", path);
        if (average_beside(g, p, path) == leaf &&
            wgi_graph_assignment(g, wg_graph_find(g, updates)))
            return true;
    }
    return false;
}

void wgi_averages_follow(wg_value *p, wg_value *next, size_t n)
{
    wg_graph *g = wg_graph_of(p);
    const wgi_marks marks = wgi_graph_marks(g);
    const wg_origin before = wg_graph_origin(g);
    for (size_t i = 0; next && i < n && i < marks.n_assigns; i++) {
        wgi_assignment *a = &marks.assigns[i];
        const wg_node *node = a->value->node;
        if (node->op != &wg_op_moving_average || node->in[1] != p || !follows(g, a->leaf, p))
            continue;
        const wg_moving_average_attrs *attrs = node->attrs;
        wg_graph_set_origin(g, (wg_origin){node->scope, node->at, node->phase});
        wg_value *average = wg_moving_average(node->in[0], next, attrs->decay);
        a->value = average ? average : a->value;
    }
    wg_graph_set_origin(g, before);
}

wg_status(wg_average_update)(const char *at, wg_graph *g, const char *path, double decay)
{
    static const char who[] = "wg_average_update";
    char name[1024];
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    path = path ? path : "";
    snprintf(name, sizeof name, "%s/updates", path);
    wg_value *updates = wg_graph_find(g, name);
    if (!updates)
        wg_graph_fail(g, WG_EINVAL, at, who, "the scope '%s' has no averages: see wg_scope_average",
                      path);
    else if (!(decay >= 0 && decay < 1))
        wg_graph_fail(g, WG_EINVAL, at, who, "decay is %g, must be in [0, 1)", decay);
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    wg_origin before = wgi_update_enter(g, "average");
    wg_value *moved = (wg_greater)(at, updates, (wg_scalar_like)(at, updates, 0));
    for (size_t i = 0, n = wg_graph_node_count(g); i < n; i++) {
        wg_node *node = wg_graph_node(g, i);
        bool trained = node->op->flags & WG_OP_PARAMETER;
        wg_value *average = trained ? average_beside(g, node->out[0], path) : NULL;
        if (!average)
            continue;
        wg_value *now = (wg_where)(at, moved, average, node->out[0]);
        (wg_assign)(at, average, (wg_moving_average)(at, now, latest(g, node->out[0]), decay));
    }
    (wg_assign)(at, updates, (wg_shift)(at, updates, 1));
    wg_graph_set_origin(g, before);
    return wg_graph_status(g);
}
