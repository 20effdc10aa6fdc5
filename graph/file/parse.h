/* A graph from its text, where the ops are those of a list. */
#ifndef WG_PRIVATE_GRAPH_FILE_PARSE_H
#define WG_PRIVATE_GRAPH_FILE_PARSE_H

#include "wengert/graph/error.h"
#include "wengert/graph/op.h"

/* Where ops are looked for: first in `ops`, then by op_at(0), op_at(1), ... up to NULL. */
typedef struct wgi_op_list {
    const wg_op *const *ops;
    size_t n_ops;
    const wg_op *(*op_at)(size_t i);
} wgi_op_list;

/* As wg_graph_parse.  Nodes without a line get that of the text, unless `name` is NULL. */
wg_status wgi_graph_parse(wg_graph **out, const char *text, size_t length, const char *name,
                          const wgi_op_list *ops, wg_error *error);

#endif
