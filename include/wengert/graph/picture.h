/* Pictures of a graph: DOT, and SVG or PNG laid out by Graphviz.
 *
 * Pictures of large graphs stay readable: scopes deeper than `depth` are closed boxes, one for each
 * phase, labelled with their contents; numbered siblings of equal structure (layer0 ... layer5) are
 * drawn once and marked x6; constant scalars appear in the label of the op that reads them.
 * Options show more.
 *
 *     wg_error error;
 *     if (wg_picture_save(g, "model.svg", NULL, &error) != WG_OK) // wengert/files/picture.h
 *         fprintf(stderr, "%s\n", error.text);
 *
 * Graphviz is an optional part of the build: without it wg_picture_write returns WG_EUNSUPPORTED.
 * Its libraries keep global state: only one thread at a time may write pictures. */
#ifndef WG_GRAPH_PICTURE_H
#define WG_GRAPH_PICTURE_H

#include "wengert/graph/error.h"
#include "wengert/graph/node.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A graph's picture; opaque. */
typedef struct wg_picture wg_picture;

/** File formats. */
typedef enum wg_picture_format {
    WG_PICTURE_DOT, /* text for Graphviz */
    WG_PICTURE_SVG, /* laid out, with tooltips */
    WG_PICTURE_PNG  /* laid out, 132 dpi */
} wg_picture_format;

/** What is known about a node beyond the graph, for example from a plan.  Zero means unknown in
 *  every field. */
typedef struct wg_picture_note {
    const char *backend; /* that runs the node */
    const char *kernel;  /* of that backend */
    double seconds;      /* of one run */
    double share;        /* of the time of a run, 0 to 1; colours the node */
    /** Colours the node instead, from white (near 0) to red (1); a closed box has the heat and the
     *  text of the hottest of its nodes. */
    double heat;
    const char *text; /* a line below the label */
} wg_picture_note;

/** What a picture shows.  Zero means the default in every field. */
typedef struct wg_picture_options {
    const char *title; /* NULL: "graph" */
    int depth;         /* scopes below this depth are closed; 0: as deep as about 30 boxes allow */
    const char *const *expanded; /* full paths of scopes to open whatever the depth */
    size_t n_expanded;           /* number of these paths */
    unsigned phases;             /* set of 1 << WG_FORWARD, ...; 0: all */
    bool full;                   /* every node: nothing closed, folded or left out */
    bool memory;                 /* bytes on edges, boxes and leaves */
    bool no_legend;              /* without the explanation of colours and lines */
    /** Fills *note, which arrives zeroed, for node n. */
    void (*note)(void *context, const wg_node *n, wg_picture_note *note);
    void *context;  /* first argument of `note` */
    double seconds; /* time limit of the layout of one SVG or PNG; 0: 30 */
} wg_picture_options;

/** Decides what is drawn.  The graph must outlive the picture; the options need not.  WG_EINVAL
 * names an unknown scope.  On failure *out is NULL. */
WG_API WG_MUST_USE wg_status wg_picture_create(wg_picture **out, const wg_graph *g,
                                               const wg_picture_options *options, wg_error *error);

/** Appends the picture to `file`; equal graphs and options give equal DOT.  Graphviz runs in a
 * child process, whose standard error is captured: a picture too large for PNG is scaled down, and
 * error->warning says so.  WG_ETIMEOUT: it exceeded the time limit; WG_EIO: the layout or writing
 * failed, or Graphviz crashed.  After a failure the file may contain part of the picture. */
WG_API WG_MUST_USE wg_status wg_picture_write(wg_picture *p, wg_picture_format format, FILE *file,
                                              wg_error *error);

/** The number of boxes drawn. */
WG_API size_t wg_picture_box_count(const wg_picture *p);

/** Frees the picture, not the graph; NULL is allowed. */
WG_API void wg_picture_free(wg_picture *p);

/** Copies what the outputs and assignments of g need, and opens composite ops: each of their nodes
 * is replaced by its expansion, in a scope named after the op (softmax_2 for the second one in its
 * scope), so that a picture or a page shows what is inside.  Values keep their names.
 * @param out the copy, which the caller frees with wg_graph_free; NULL after a failure
 * @param g the graph
 * @param ops [n] names of the ops; those that an expansion brings in are opened too
 * @param n 0: every composite, until only primitive ops are left
 * @param error says what was wrong; may be NULL
 * @return WG_EINVAL if there is no composite op of such a name, WG_ENOMEM, or the graph's error */
WG_API WG_MUST_USE wg_status wg_graph_open(wg_graph **out, const wg_graph *g,
                                           const char *const *ops, size_t n, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
