#include "backends/plan/workspace.h"
#include "backends/memory.h"

#include <stdlib.h>

struct wg_workspace {
    char *memory;
    size_t bytes;
    size_t holders; /* the caller and the plans */
};

wg_workspace *wg_workspace_new(void)
{
    wg_workspace *w = calloc(1, sizeof *w);
    return w ? wgi_workspace_hold(w) : NULL;
}

wg_workspace *wgi_workspace_hold(wg_workspace *w)
{
    w->holders++;
    return w;
}

void wg_workspace_free(wg_workspace *w)
{
    if (!w || --w->holders)
        return;
    free(w->memory);
    free(w);
}

size_t wg_workspace_bytes(const wg_workspace *w)
{
    return w ? w->bytes : 0;
}

/* The old memory is freed only when there is new: after a failure plans still have it. */
bool wgi_workspace_reserve(wg_workspace *w, size_t bytes)
{
    if (w->memory && bytes <= w->bytes)
        return true;
    char *memory = wgi_aligned_alloc(bytes);
    if (!memory)
        return false;
    free(w->memory);
    w->memory = memory;
    w->bytes = bytes;
    return true;
}

wg_status wg_workspace_shrink(wg_workspace *w, size_t bytes)
{
    if (!w)
        return WG_EINVAL;
    if (bytes >= w->bytes)
        return WG_OK;
    char *memory = wgi_aligned_alloc(bytes);
    if (!memory)
        return WG_ENOMEM;
    free(w->memory);
    w->memory = memory;
    w->bytes = bytes;
    return WG_OK;
}

char *wgi_workspace_memory(const wg_workspace *w)
{
    return w->memory;
}
