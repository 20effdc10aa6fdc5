/* The inside of a picture, in three steps: places (which scopes exist, which are equal), the scene
 * (what boxes and edges are drawn), the drawing (a Graphviz graph of the scene). */
#ifndef WG_PRIVATE_GRAPH_PICTURE_INTERNAL_H
#define WG_PRIVATE_GRAPH_PICTURE_INTERNAL_H

#include "graph/error.h"
#include "graph/internal.h"
#include "graph/text_buffer.h"
#include "wengert/graph/picture.h"

enum { WGI_PHASES = WG_UPDATE + 1 };

/* A scope in one phase: what may become a closed box or a frame around boxes. */
typedef struct wgi_pic_place {
    const wg_scope *scope;
    wg_phase phase;
    struct wgi_pic_place *parent, *first_child, *last_child,
        *next;             /* children in order of first appearance */
    const wg_node **nodes; /* all nodes at or below it, in order of creation */
    size_t n_nodes;
    uint64_t hash; /* of the structure of these nodes */
    bool open;
    struct wgi_pic_place
        *twin; /* the earlier sibling of equal structure that stands for this one */
    struct wgi_pic_place *last; /* of those that this one stands for; itself if none */
    int copies;                 /* how many it stands for, itself included */
    struct wgi_pic_box *box;    /* if it is drawn closed */
} wgi_pic_place;

typedef enum wgi_pic_box_kind {
    WGI_BOX_OP,     /* one node                                             */
    WGI_BOX_SCOPE,  /* a closed place                                       */
    WGI_BOX_GHOST,  /* a closed place of a phase that is not shown          */
    WGI_BOX_LEAVES, /* parameters, inputs or states with the same readers   */
    WGI_BOX_OUTPUTS /* outputs of the graph that come from the same box     */
} wgi_pic_box_kind;

typedef struct wgi_pic_line {
    const char *text;
    struct wgi_pic_line *next;
} wgi_pic_line;

typedef struct wgi_pic_box {
    wgi_pic_box_kind kind;
    const wgi_pic_place *where;  /* the open place that it is drawn in        */
    const wgi_pic_place *inside; /* of a scope or ghost                       */
    const wg_node **nodes;       /* of an op or of leaves                     */
    size_t n_nodes;
    const size_t *outputs; /* of outputs: their places in the graph     */
    size_t n_outputs;
    wgi_pic_line *lines;        /* operands written in the label: "b = 0.5"         */
    wgi_pic_line *results;      /* outputs of the graph written in the label: "d weight" */
    struct wgi_pic_box *merged; /* leaves only: the box that took these over */
    struct wgi_pic_box *next;
    uint32_t number;
} wgi_pic_box;

typedef enum wgi_pic_edge_kind {
    WGI_EDGE_DATA,
    WGI_EDGE_SAVED,
    WGI_EDGE_GRADIENT,
    WGI_EDGE_ASSIGN
} wgi_pic_edge_kind;

/* All values that go from one box to another. */
typedef struct wgi_pic_edge {
    wgi_pic_box *from, *to;
    wgi_pic_edge_kind kind;
    const wg_value **values;
    size_t n_values;
} wgi_pic_edge;

struct wg_picture {
    const wg_graph *g;
    wg_picture_options options;
    wgi_arena arena;
    bool no_memory;
    wg_error *error; /* of the call that runs; may be NULL */

    wgi_names places[WGI_PHASES];    /* path -> wgi_pic_place                          */
    wgi_pic_place *root[WGI_PHASES]; /* NULL if the phase has no nodes            */
    wgi_pic_place **place_of;        /* [nodes] the innermost, NULL for a node that is left out */
    const wg_node **stand_in;        /* [nodes] the node of a twin, or itself     */

    wgi_pic_box *boxes, *last_box; /* in order of appearance                    */
    size_t n_boxes;
    wgi_pic_box **box_of;   /* [nodes] of those drawn one by one         */
    bool *is_output;        /* [nodes]                                   */
    bool *read_at_once;     /* [nodes] in its own phase                  */
    bool *read_where_shown; /* [nodes] in a phase that is drawn          */
    wgi_pic_edge *edges;
    size_t n_edges;
};

/* Zeroed memory of the picture; NULL, and p->no_memory, without. */
void *wgi_picture_alloc(wg_picture *p, size_t count, size_t size);

/* ---- fold.c ---------------------------------------------------------------------------------- */
/* Siblings of equal structure are drawn as one where that closes no cycle, unless all is drawn. */
bool wgi_pic_fold(wg_picture *p);

/* ---- places.c -------------------------------------------------------------------------------- */
bool wgi_pic_places_build(wg_picture *p);
wg_status wgi_pic_places_open(wg_picture *p);
/* The node drawn for n; itself unless a sibling stands for its scope. */
const wg_node *wgi_pic_drawn_node(const wg_picture *p, const wg_node *n);
/* The outermost closed place that holds n, or NULL. */
wgi_pic_place *wgi_pic_closed_place(const wg_picture *p, const wg_node *n);
/* Do a and b lie in different siblings that are drawn as one? */
bool wgi_pic_between_twins(const wg_picture *p, const wg_node *a, const wg_node *b);

/* Is `forward` what is drawn of the scope of `backward` in the forward pass? */
bool wgi_pic_takes_derivative_of(const wg_picture *p, const wgi_pic_place *backward,
                                 const wgi_pic_place *forward);

/* ---- facts.c --------------------------------------------------------------------------------- */
bool wgi_pic_phase_shown(const wg_picture *p, wg_phase phase);
bool wgi_pic_is_leaf(const wg_node *n);
/* The value that fills every element, if n is a node without operands that has one. */
bool wgi_pic_fill_value(const wg_node *n, double *value);

/* ---- scene.c --------------------------------------------------------------------------------- */
bool wgi_pic_scene_build(wg_picture *p);

/* ---- text.c ---------------------------------------------------------------------------------- */
#define WGI_SMALL "<FONT POINT-SIZE=\"9\" COLOR=\"#5a6672\">"
#define WGI_NAME "<FONT POINT-SIZE=\"10\" COLOR=\"#8a3b12\">"
#define WGI_END "</FONT>"

typedef struct wgi_pic_totals {
    size_t ops;
    double parameters, flops, bytes, share;
} wgi_pic_totals;
wgi_pic_totals wgi_pic_totals_of(const wg_picture *p, const wg_node *const *nodes, size_t n);

void wgi_pic_put_escaped(FILE *f, const char *text); /* for a label */
void wgi_pic_put_plain(FILE *f, const char *text);   /* for a tooltip */
void wgi_pic_put_amount(FILE *f, double x, const char *unit);
void wgi_pic_put_bytes(FILE *f, double x);
void wgi_pic_put_type(FILE *f, const wg_picture *p, const wg_value *v);
wg_dtype wgi_pic_default_dtype(const wg_picture *p); /* f32 or f64, the more frequent */

/* Texts on the heap, NULL without memory; labels are Graphviz's HTML-like labels. */
char *wgi_pic_box_id(const wg_picture *p, const wgi_pic_box *b);
char *wgi_pic_place_id(const wgi_pic_place *q);
char *wgi_pic_box_label(const wg_picture *p, const wgi_pic_box *b);
char *wgi_pic_box_tooltip(const wg_picture *p, const wgi_pic_box *b);
char *wgi_pic_place_label(const wg_picture *p, const wgi_pic_place *q);
char *wgi_pic_edge_label(const wg_picture *p, const wgi_pic_edge *e);
char *wgi_pic_edge_tooltip(const wg_picture *p, const wgi_pic_edge *e);
char *wgi_picture_heading(const wg_picture *p); /* with the legend */
wg_picture_note wgi_pic_node_note(const wg_picture *p, const wg_node *n);
/* Heat and text of the hottest node that b stands for. */
wg_picture_note wgi_pic_box_heat(const wg_picture *p, const wgi_pic_box *b);
double wgi_pic_box_share(const wg_picture *p, const wgi_pic_box *b); /* of the time; 0 if unknown */

/* ---- colour.c -------------------------------------------------------------------------------- */
typedef struct wgi_pic_colours {
    const char *kind, *fill, *line, *text; /* kind: as the legend says it */
} wgi_pic_colours;
const wgi_pic_colours *wgi_pic_box_colours(const wgi_pic_box *b);
const wgi_pic_colours *wgi_pic_op_colours(const wg_op *op); /* of a node drawn alone */
/* The i-th kind of box, NULL past the end: for the legend. */
const wgi_pic_colours *wgi_pic_colours_at(size_t i);
/* White for nothing to a warm red for all of the time, as "#rrggbb". */
const char *wgi_pic_heat_colour(double share, char text[8]);

/* ---- draw.c, render.c (with Graphviz) -------------------------------------------------------- */
typedef wg_status wgi_picture_work(wg_picture *p, wg_picture_format format, FILE *file);
/* Draws, lays out and writes it.  To be called in a child process, since it neither cleans up nor
 * survives a lack of memory within Graphviz. */
wgi_picture_work wgi_picture_draw;
/* Lays out `drawing`, an Agraph_t, and writes it as "svg" or "png". */
wg_status wgi_picture_lay_out(void *drawing, const char *format, FILE *file);
/* Appends to `file` what `work` writes in a child process, whose crashes and messages on standard
 * error become ours.  A layout has a time limit. */
wg_status wgi_picture_in_child(wg_picture *p, wgi_picture_work *work, wg_picture_format format,
                               FILE *file);

#endif
