/* Outputs and assignments. */
#ifndef WG_PRIVATE_GRAPH_MARKS_H
#define WG_PRIVATE_GRAPH_MARKS_H

#include "wengert/graph/graph.h"

typedef struct wgi_named_value {
    const char *name;
    wg_value *value;
} wgi_named_value;

typedef struct wgi_assignment {
    wg_value *leaf, *value;
    const char *at; /* "file:line" of the caller */
} wgi_assignment;

/* The marks of a graph: what a run computes, and which leaves change at its end. */
typedef struct wgi_marks {
    wgi_named_value *outputs;
    wgi_assignment *assigns;
    size_t n_outputs, n_assigns;
} wgi_marks;

/* The assignment of a leaf of g; NULL if there is none. */
const wgi_assignment *wgi_graph_assignment(const wg_graph *g, const wg_value *leaf);

/* Where the current scope of g was opened, as a part of a message: "; it was opened before ...", or
 * "" where nothing has been built in it since. */
const char *wgi_scope_opened_before(const wg_graph *g, char *text, size_t size);

#endif
