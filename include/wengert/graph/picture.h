/* Pictures of a graph: DOT, and SVG or PNG laid out by Graphviz.
 *
 * A graph of any size gives a picture that can be read: scopes deeper than `depth` are closed
 * boxes, one for each phase, labelled with what they hold; numbered siblings of equal structure
 * (layer0 ... layer5) are drawn once and marked x6; scalars that fill an operand stand in the label
 * of the op that reads them.  The options open it up.
 *
 *     wg_picture *p;
 *     wg_error error;
 *     if (wg_picture_create(&p, g, NULL, &error) != WG_OK ||
 *         wg_picture_write(p, WG_PICTURE_SVG, file, &error) != WG_OK)
 *         fprintf(stderr, "%s\n", error.text);
 *     wg_picture_free(p);
 *
 * Graphviz is an optional part of the build: without it writing is WG_EUNSUPPORTED.  Its libraries
 * keep global state, so one thread at a time may write pictures. */
#ifndef WG_GRAPH_PICTURE_H
#define WG_GRAPH_PICTURE_H

#include "wengert/graph/error.h"
#include "wengert/graph/node.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A graph's picture; opaque. */
typedef struct wg_picture wg_picture;

/** The form in which it is written. */
typedef enum wg_picture_format {
    WG_PICTURE_DOT, /* text for Graphviz */
    WG_PICTURE_SVG, /* laid out, with tooltips */
    WG_PICTURE_PNG  /* laid out, 132 dpi */
} wg_picture_format;

/** What is known of a node beyond the graph, such as a plan's report.  Zero means unknown in every
 *  field. */
typedef struct wg_picture_note {
    const char *backend; /* that runs the node */
    const char *kernel;  /* of that backend */
    double seconds;      /* of one run */
    double share;        /* of the time of a run, 0 to 1; colours the node */
} wg_picture_note;

/** Zero means the default in every field. */
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

/** Appends the picture to `file`; the same graph and options give the same DOT.  The layout runs in
 * a child process: WG_ETIMEOUT if it takes longer than the limit, WG_EIO if it or writing fails;
 * then nothing, or a part, of the picture is in the file. */
WG_API WG_MUST_USE wg_status wg_picture_write(wg_picture *p, wg_picture_format format, FILE *file,
                                              wg_error *error);

/** How many boxes it draws. */
WG_API size_t wg_picture_box_count(const wg_picture *p);

/** Frees it, not the graph; NULL is allowed. */
WG_API void wg_picture_free(wg_picture *p);

#ifdef __cplusplus
}
#endif
#endif
