/* What plans need of a workspace beyond its public interface. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_WORKSPACE_H
#define WG_PRIVATE_BACKENDS_PLAN_WORKSPACE_H

#include "wengert/backends/workspace.h"

#include <stdbool.h>

/* Adds a holder and returns w; each holder calls wg_workspace_free. */
wg_workspace *wgi_workspace_hold(wg_workspace *w);
/* Makes it at least that large; false without memory, and then nothing has changed. */
bool wgi_workspace_reserve(wg_workspace *w, size_t bytes);
/* Its memory, which moves when the workspace grows. */
char *wgi_workspace_memory(const wg_workspace *w);

#endif
