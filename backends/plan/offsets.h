#ifndef WG_PRIVATE_BACKENDS_PLAN_OFFSETS_H
#define WG_PRIVATE_BACKENDS_PLAN_OFFSETS_H

#include "backends/plan/plan.h"

/* Sets the offsets of the n storages in the workspace, that is of kind BUFFER and not exclusive,
 * such that those of overlapping lifetimes do not overlap.  They are in order of their first step.
 * Returns the bytes needed, SIZE_MAX without memory. */
size_t wgi_place_storages(wgi_storage *storage, size_t n);

#endif
