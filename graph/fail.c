/* The error that a graph is in: the first one sticks.  And memory, whose lack is such an error. */
#include "graph/call.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "graph/internal.h"
#include "graph/refusal.h"

#include <stdlib.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

wg_status wg_graph_status(const wg_graph *g)
{
    return g ? g->status : WG_ENOMEM;
}

const char *wg_graph_message(const wg_graph *g)
{
    if (!g)
        return "the graph is NULL: out of memory";
    if (g->status == WG_OK && g->refused == WG_OK)
        return "";
    return g->message ? g->message : wg_status_text(g->status != WG_OK ? g->status : g->refused);
}

void wgi_graph_stick(wg_graph *g, wg_status status, const char *format, ...)
{
    if (g->status != WG_OK)
        return;
    wgi_graph_forget_refusal(g);
    g->status = status;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && (g->message = malloc((size_t)length + 1))) {
        vsnprintf(g->message, (size_t)length + 1, format, again);
        wgi_text_disarm(g->message, false);
    }
    va_end(again);
    va_end(args);
}

void *wgi_graph_no_memory(wg_graph *g)
{
    wgi_graph_stick(g, WG_ENOMEM, "out of memory after %zu nodes", g->n_nodes);
    return NULL;
}

wg_value *wg_graph_fail(wg_graph *g, wg_status status, const char *at, const char *builder,
                        const char *format, ...)
{
    if (!g || g->status != WG_OK)
        return NULL;
    char few[512], *what = few, *more = NULL;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(few, sizeof few, format, args);
    if (length >= (int)sizeof few && (more = malloc((size_t)length + 1))) {
        vsnprintf(more, (size_t)length + 1, format, again);
        what = more;
    }
    va_end(again);
    va_end(args);
    const char *path = g->origin.scope->path;
    bool is_function = strncmp(builder, "wg_", 3) == 0; /* else an op, which stays named */
    at = g->origin.at ? g->origin.at : at;
    wgi_graph_stick(g, status, "%s%s%s: %s%s%s%s", path, *path ? ": " : "",
                    g->caller && is_function ? g->caller : builder, what, at ? " (" : "",
                    at ? wgi_short_at(at) : "", at ? ")" : "");
    free(more);
    return NULL;
}

wg_status wgi_graph_refuse(wg_graph *g)
{
    g->refused = g->status;
    g->status = WG_OK;
    return g->refused;
}

void wgi_graph_forget_refusal(wg_graph *g)
{
    if (g->refused == WG_OK)
        return;
    free(g->message);
    g->message = NULL;
    g->refused = WG_OK;
}

const char *wgi_graph_enter(wg_graph *g, const char *who)
{
    const char *before = g->caller;
    if (!before)
        g->caller = who;
    return before;
}

void wgi_graph_leave(wg_graph *g, const char *entered)
{
    g->caller = entered;
}

/* ---- memory ---------------------------------------------------------------------------------- */

bool wgi_graph_reserve(wg_graph *g, void *array, size_t *capacity, size_t used, size_t item_size)
{
    return wgi_reserve(array, capacity, used + 1, item_size) || wgi_graph_no_memory(g);
}

void *wg_graph_alloc(wg_graph *g, size_t size)
{
    if (!g)
        return NULL;
    void *p = wgi_arena_alloc(&g->arena, size);
    return p ? p : wgi_graph_no_memory(g);
}

const char *wgi_graph_own_line(wg_graph *g, const char *at)
{
    char *own = at ? wgi_names_get(&g->lines, at) : NULL;
    if (!at || own)
        return own;
    own = wgi_arena_text(&g->arena, at);
    return own && wgi_names_put(&g->lines, own, own) ? own : wgi_graph_no_memory(g);
}
