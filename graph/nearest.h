/* For messages: which of several names was perhaps meant. */
#ifndef WG_GRAPH_NEAREST_H
#define WG_GRAPH_NEAREST_H

#include "wengert/graph/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Levenshtein's distance (fewest insertions, deletions and substitutions) of the name that was
 * written from one that
 *  exists; SIZE_MAX if it is so large that the one can hardly have been meant by the other.  Of
 *  long names 64 bytes are looked at. */
WG_API size_t wg_name_distance(const char *written, const char *name);

#ifdef __cplusplus
}
#endif
#endif
