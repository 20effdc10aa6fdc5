/* Which value has which bytes of the buffer, and when. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_OCCUPANCY_H
#define WG_PRIVATE_BACKENDS_PLAN_OCCUPANCY_H

#include "backends/plan/plan.h"

/* A storage of the buffer from the step at which a value or scratch is put there to the last step
 * before it is free or the next value is written over it. */
typedef struct wgi_occupant {
    const wg_node *node;   /* that made it       */
    const wg_value *value; /* NULL: its scratch  */
    size_t bytes;          /* of the storage     */
    int64_t first, last;   /* steps              */
} wgi_occupant;

/* All of them, in order of their first step; at any step the bytes of those that are there add up
 * to what is live.  The caller frees them; NULL without memory. */
wgi_occupant *wgi_occupants(const wgi_program *r, const wgi_layout *l, size_t *n);

/* Those that are there at the peak, the largest first; otherwise the same. */
wgi_occupant *wgi_occupants_at_peak(const wgi_program *r, const wgi_layout *l, size_t *n);

#endif
