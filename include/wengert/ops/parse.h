/* A graph from the text that wg_graph_print writes, or that a person wrote: docs/graph-file.md.
 *
 *     wg_graph *g;
 *     wg_error error;
 *     if (wg_graph_read(&g, "model.wg", NULL, &error) != WG_OK)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * What was printed is read as the same graph: the same nodes, attributes and constants bit for bit,
 * names, scopes with their marks, lines, phases, outputs, assignments and keys of random ops.  So
 * the hashes are equal, plans of both compute the same bits, and the graph prints as the same text.
 * Of a line "folder/model.c:41" the file is kept without its folder; a scope without nodes is not
 * kept.
 *
 * Texts are untrusted: every sequence of bytes gives a graph that the builders' checks have passed,
 * or an error that says where, what was expected and what was found.  Memory is proportional to the
 * length of the text. */
#ifndef WG_OPS_PARSE_H
#define WG_OPS_PARSE_H

#include "wengert/graph/error.h"
#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a text is read.  Zero means the default in every field. */
typedef struct wg_parse_options {
    /** The name of the text in messages ("NAME:3:17: expected ..."), and in the lines of nodes that
     *  the text gives none; wg_graph_read takes the path.  NULL: "graph", and no lines. */
    const char *name;
    /** Ops of the program, which are looked up by name before the built-in ones.  They must outlive
     *  the graph. */
    const wg_op *const *ops;
    size_t n_ops; /**< length of `ops`, at least 1 if that is not NULL */
} wg_parse_options;

/** Makes a graph of `length` bytes of text, which need no NUL at the end.  `options` may be NULL.
 *  The caller frees *out; on failure it is NULL.  WG_EDATA: the text is not a graph, or a builder
 *  refuses it; WG_EINVAL: NULL; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_graph_parse(wg_graph **out, const char *text, size_t length,
                                            const wg_parse_options *options, wg_error *error);

/** The same for a file.  WG_EIO: it cannot be read. */
WG_API WG_MUST_USE wg_status wg_graph_read(wg_graph **out, const char *path,
                                           const wg_parse_options *options, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
