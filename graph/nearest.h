/* The existing name that was probably meant by one that does not exist. */
#ifndef WG_GRAPH_NEAREST_H
#define WG_GRAPH_NEAREST_H

#include <stddef.h>
#include <stdint.h>

/* Levenshtein's distance (fewest insertions, deletions and substitutions) between a name as written
 * and one that exists; SIZE_MAX if they are too far apart for one to be meant by the other.  Of
 * long names the first 64 bytes count. */
size_t wgi_name_distance(const char *written, const char *name);

#endif
