/* The memory of a plan over the course of a run: which scopes and which lines of the program hold
 * the bytes of its buffer, at each step.
 *
 *     wg_timeline *t;
 *     if (wg_timeline_create(&t, plan, WG_TIMELINE_BY_LINE, 0, &error) != WG_OK)
 *         return fail(error.text);
 *     for (size_t i = 0; i < wg_timeline_group_count(t); i++)
 *         printf("%zu bytes at the peak: %s\n", wg_timeline_group_at(t, i).at_peak,
 *                wg_timeline_group_at(t, i).name);
 *     wg_timeline_free(t);
 *
 * Parameters, states, inputs and constants are always there: wg_plan_stats has their bytes. */
#ifndef WG_BACKENDS_TIMELINE_H
#define WG_BACKENDS_TIMELINE_H

#include "wengert/backends/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The memory of a plan over a run. */
typedef struct wg_timeline wg_timeline;

/** What the values of a plan are grouped by. */
typedef enum wg_timeline_by {
    WG_TIMELINE_BY_SCOPE = 0, /**< the scope of the node that makes them */
    WG_TIMELINE_BY_LINE       /**< the line of the program that built it, "model.c:41" */
} wg_timeline_by;

/** All values of one scope or one line. */
typedef struct wg_timeline_group {
    const char *name; /**< of the scope or line, "" for values without one; the timeline's */
    size_t at_peak;   /**< bytes in the buffer at the step that needs most */
    size_t again;     /**< bytes that are computed a second time (wg_plan_stats.again_bytes) */
} wg_timeline_group;

/** Computes the timeline of p, which may be freed afterwards.  At most `most` groups (0: as many as
 * there are): scopes are taken together by their first levels; of lines, the smallest ones at the
 * peak make up a last group, "other".  WG_EINVAL: an argument is wrong; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_timeline_create(wg_timeline **out, const wg_plan *p,
                                                wg_timeline_by by, size_t most, wg_error *error);
/** Frees the timeline; NULL is allowed. */
WG_API void wg_timeline_free(wg_timeline *t);
/** Number of steps of a run, as wg_plan_step_count has it, and one more: the end. */
WG_API size_t wg_timeline_step_count(const wg_timeline *t);
/** The step at which the sum of all groups is largest. */
WG_API size_t wg_timeline_peak(const wg_timeline *t);
/** Number of groups. */
WG_API size_t wg_timeline_group_count(const wg_timeline *t);
/** The i-th group, in order of their bytes at the peak, the largest first, "other" last; zeros past
 * the end. */
WG_API wg_timeline_group wg_timeline_group_at(const wg_timeline *t, size_t i);
/** The bytes of group i at each step, [wg_timeline_step_count]. */
WG_API void wg_timeline_row(const wg_timeline *t, size_t i, size_t *bytes);

/** Writes a table: bytes in use over the run, what holds them at the peak by scope and by line, the
 * largest first, and what is recomputed, by scope.  WG_EIO if writing fails, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_plan_write_timeline(const wg_plan *p, FILE *file, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
