/* A workspace: the memory in which plans compute.  Every plan has one.  Plans that never run at the
 * same time, such as those of one model for batches of different length, may share one, which is
 * then as large as the largest of them needs.
 *
 *     wg_workspace *w = wg_workspace_new();
 *     wg_plan_options options = {.store = store, .workspace = w};
 *     for (int i = 0; i < n; i++)
 *         if (wg_plan_create(&plan[i], graph[i], &options) != WG_OK)
 *             ...
 *     wg_workspace_free(w);
 *
 * Only intermediate values are shared.  Each plan has its own inputs and outputs: addresses from
 * wg_plan_data stay valid, and an output keeps its numbers while other plans run.
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

/** Memory that plans share. */
typedef struct wg_workspace wg_workspace;

/** An empty workspace; it grows as plans are created.  NULL if out of memory. */
WG_API wg_workspace *wg_workspace_new(void);
/** Ends the caller's use; the memory is freed with the last plan that uses it.  NULL is allowed. */
WG_API void wg_workspace_free(wg_workspace *w);
/** Its size in bytes: the maximum that one of its plans has needed; 0 for NULL. */
WG_API size_t wg_workspace_bytes(const wg_workspace *w);
/** Shrinks it to `bytes`.  Plans that need more (wg_plan_stats.shared_bytes) must be gone;
 * the others go on as before.  WG_ENOMEM: it stays as it is; WG_EINVAL: w is NULL. */
WG_API WG_MUST_USE wg_status wg_workspace_shrink(wg_workspace *w, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
