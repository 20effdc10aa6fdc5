/* A graph as a page for a browser: one HTML file that needs neither a network nor anything besides
 * it.  Scopes open and close on a click; a panel tells all about a node; nodes are found by op,
 * name, scope and shape.
 *
 *     wg_error error;
 *     FILE *file = fopen("model.html", "wb");
 *     if (file && wg_graph_write_page(g, "my model", file, &error) != WG_OK)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * wg_plan_write_page (wengert/backends/plan.h) writes the page of a plan, which also shows kernels,
 * memory and, if the plan was profiled, times.  Unlike pictures, pages need no Graphviz. */
#ifndef WG_GRAPH_PAGE_H
#define WG_GRAPH_PAGE_H

#include "wengert/graph/error.h"
#include "wengert/graph/node.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Appends the page of g to `file`, in UTF-8; equal graphs give equal bytes.  `title` may be NULL:
 * "graph".  Names in the graph may hold anything: they are shown as text, never read as markup.
 * WG_EINVAL: an argument is NULL; the status of the graph, if it is in error; WG_EIO: writing
 * failed; WG_ENOMEM.  After a failure the file may hold a part of the page. */
WG_API WG_MUST_USE wg_status wg_graph_write_page(const wg_graph *g, const char *title, FILE *file,
                                                 wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
