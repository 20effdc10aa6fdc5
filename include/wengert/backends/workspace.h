/* A workspace: the memory in which plans compute.  Every plan has one; plans that never run at the
 * same time, such as those of one model for batches of different length, may share one, which is
 * then as large as the largest of them needs.
 *
 *     wg_workspace *w = wg_workspace_new();
 *     for (int i = 0; i < n; i++)
 *         if (wg_plan_create(&plan[i], graph[i], &(wg_plan_options){.store = store, .workspace =
 *         w}) != WG_OK)
 *             ...
 *     wg_workspace_free(w);
 *
 * Only what a run computes on its way is shared.  Inputs and outputs are each plan's own: what
 * wg_plan_data gives stays at its address, and an output keeps its numbers while other plans run.
 *
 * Two plans of one workspace must not run at the same time, nor may one be created while another
 * runs: its memory may move.  A workspace is not thread-safe. */
#ifndef WG_BACKENDS_WORKSPACE_H
#define WG_BACKENDS_WORKSPACE_H

#include "wengert/graph/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_workspace wg_workspace;

/** An empty workspace; it grows as plans are made.  NULL without memory. */
WG_API wg_workspace *wg_workspace_new(void);
/** Gives up the caller's hold; the memory goes with the last plan that uses it.  NULL is
 * allowed. */
WG_API void wg_workspace_free(wg_workspace *w);
/** What it has grown to: the most that one of its plans needed so far; 0 for NULL. */
WG_API size_t wg_workspace_bytes(const wg_workspace *w);

#ifdef __cplusplus
}
#endif
#endif
