/* The phase of updates, in which pictures show nodes apart from the model. */
#include "models/update.h"

#include <string.h>

wg_origin wgi_update_enter(wg_graph *g, const char *name)
{
    wg_origin before = wg_graph_origin(g);
    while (*name) {
        int length = (int)strcspn(name, "/");
        wg_scope_push(g, "%.*s", length, name);
        name += length;
        name += *name == '/';
    }
    wg_origin update = wg_graph_origin(g);
    update.phase = WG_UPDATE;
    wg_graph_set_origin(g, update);
    return before;
}
