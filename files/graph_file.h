/* What a file of a graph begins with. */
#ifndef WG_FILES_GRAPH_FILE_H
#define WG_FILES_GRAPH_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the first n bytes of a file, behind which there is a NUL, are those of a picture (SVG,
 * PNG, the DOT of Graphviz) or of the text of a graph. */
bool wgi_begins_as_graph(const char *bytes, size_t n);

#endif
