/* The scene as a Graphviz graph.  libcgraph does the quoting. */
#include "graph/grow.h"
#include "graph/picture/internal.h"

#ifdef WG_HAVE_GRAPHVIZ
#include <graphviz/cgraph.h>

#include <stdlib.h>
#include <string.h>

/* ---- identifiers --------------------------------------------------------------------------------
 *
 * libcgraph's own identifiers are addresses, by which it orders subgraphs; with these, numbered in
 * order of creation, the same picture is the same text. */

typedef struct numbers {
    Agdisc_t discipline; /* first: libcgraph hands back its address */
    Agraph_t *g;
    wgi_names by_name;
    char **name; /* [n], NULL for the unnamed; libcgraph's own strings, which it looks behind */
    size_t n, capacity;
    bool failed; /* without memory for an id: libcgraph would go on without */
} numbers;

static void *open_numbers(Agraph_t *g, Agdisc_t *discipline)
{
    ((numbers *)(void *)discipline)->g = g;
    return discipline;
}

static size_t new_number(numbers *s, const char *text)
{
    if (!WGI_RESERVE(s->name, s->capacity, s->n + 1))
        return 0;
    s->name[s->n] = NULL;
    if (text && !(s->name[s->n] = agstrdup(s->g, (char *)text)))
        return 0;
    return ++s->n; /* 1, 2, ... */
}

static int map_number(void *state, int kind, char *text, IDTYPE *id, int create)
{
    (void)kind;
    numbers *s = state;
    size_t number = text ? (size_t)(uintptr_t)wgi_names_get(&s->by_name, text) : 0;
    if (!number && create && (number = new_number(s, text)) && text &&
        !wgi_names_put(&s->by_name, s->name[number - 1], (void *)(uintptr_t)number))
        number = 0;
    s->failed |= create && !number;
    *id = number;
    return number != 0;
}

static long map_number_long(void *state, int kind, char *text, IDTYPE *id, int create)
{
    return map_number(state, kind, text, id, create);
}

static char *print_number(void *state, int kind, IDTYPE id)
{
    (void)kind;
    numbers *s = state;
    return id > 0 && id <= s->n ? s->name[id - 1] : NULL;
}

static void keep_number(void *state, int kind, IDTYPE id)
{
    (void)state;
    (void)kind;
    (void)id;
}

static void close_numbers(void *state)
{
    (void)state;
}

/* `map` returns a long before Graphviz 8, an int since. */
static Agiddisc_t number_functions(void)
{
    Agiddisc_t f = AgIdDisc;
    f.open = open_numbers;
    f.map = _Generic(f.map, long (*)(void *, int, char *, IDTYPE *, int)
                     : map_number_long, default
                     : map_number);
    f.free = keep_number;
    f.print = print_number;
    f.close = close_numbers;
    return f;
}

/* ---- attributes ------------------------------------------------------------------------------ */

typedef struct drawing {
    wg_picture *p;
    Agraph_t *g;
    Agnode_t **node; /* by number of the box */
    bool failed;
} drawing;

/* Graphviz takes char * for texts that it does not change. */
static void set(drawing *d, void *object, const char *name, const char *value)
{
    d->failed |= !value || agsafeset(object, (char *)name, (char *)value, (char *)"") != 0;
}

/* Takes over `text`. */
static void set_text(drawing *d, void *object, const char *name, char *text)
{
    set(d, object, name, text);
    free(text);
}

/* The same for an HTML-like label. */
static void set_html(drawing *d, void *object, const char *name, char *text)
{
    char *html = text ? agstrdup_html(d->g, text) : NULL;
    set(d, object, name, html);
    if (html)
        agstrfree(d->g, html);
    free(text);
}

/* clang-format off */
static const struct { int kind; const char *name, *value; } defaults[] = {
    {AGRAPH, "rankdir", "TB"},
    {AGRAPH, "fontname", "Helvetica"},
    {AGRAPH, "fontsize", "11"},
    {AGRAPH, "fontcolor", "#1f2d3a"},
    {AGRAPH, "bgcolor", "white"},
    {AGRAPH, "labelloc", "t"},
    {AGRAPH, "labeljust", "l"},
    {AGRAPH, "nodesep", "0.28"},
    {AGRAPH, "ranksep", "0.38"},
    {AGRAPH, "pad", "0.2"},
    {AGRAPH, "newrank", "true"},
    {AGNODE, "fontname", "Helvetica"},
    {AGNODE, "fontsize", "11"},
    {AGNODE, "shape", "box"},
    {AGNODE, "style", "rounded,filled"},
    {AGNODE, "penwidth", "1.1"},
    {AGNODE, "height", "0.3"},
    {AGNODE, "margin", "0.13,0.06"},
    {AGEDGE, "fontname", "Helvetica"},
    {AGEDGE, "fontsize", "8.5"},
    {AGEDGE, "fontcolor", "#5a6672"},
    {AGEDGE, "color", "#55626f"},
    {AGEDGE, "arrowsize", "0.6"},
    {AGEDGE, "penwidth", "1.0"},
};
/* clang-format on */

/* ---- frames ---------------------------------------------------------------------------------- */

static bool framed(const wg_picture *p, const wgi_pic_place *q)
{
    int roots = 0;
    for (int phase = 0; phase < WGI_PHASES; phase++)
        roots += p->root[phase] && wgi_pic_phase_shown(p, (wg_phase)phase);
    return q->parent || roots > 1;
}

static Agraph_t *frame(drawing *d, const wgi_pic_place *q)
{
    Agraph_t *around = q->parent ? frame(d, q->parent) : d->g;
    if (!framed(d->p, q))
        return around;
    char *id = wgi_pic_place_id(q);
    Agraph_t *f = id ? agsubg(around, id, 0) : NULL;
    if (!f && id && (f = agsubg(around, id, 1))) {
        static const char *const shade[] = {"#fbfcfd", "#f4f7fa"};
        set_html(d, f, "label", wgi_pic_place_label(d->p, q));
        set(d, f, "style", q->phase == WG_FORWARD ? "rounded,filled" : "rounded,filled,dashed");
        set(d, f, "fillcolor", shade[q->scope->depth % 2]);
        set(d, f, "color", "#a9b5c0");
        set(d, f, "fontsize", "11");
        set(d, f, "margin", "10");
        if (q->copies > 1)
            set(d, f, "penwidth", "2.2");
        set(d, f, "tooltip", "");
    }
    free(id);
    d->failed |= !f;
    return f ? f : around;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static const char *shape_of(const wgi_pic_box *b)
{
    if (b->kind == WGI_BOX_LEAVES)
        return b->nodes[0]->op->flags & WG_OP_INPUT ? "ellipse" : "cylinder";
    return b->kind == WGI_BOX_OUTPUTS ? "note" : "box";
}

static const char *style_of(const wgi_pic_box *b)
{
    if (b->kind == WGI_BOX_GHOST)
        return "rounded,dotted";
    if (b->kind == WGI_BOX_LEAVES || b->kind == WGI_BOX_OUTPUTS)
        return "filled";
    wg_phase phase = b->inside ? b->inside->phase : b->nodes[0]->phase;
    return phase == WG_BACKWARD ? "rounded,filled,dashed" : "rounded,filled";
}

static void draw_box(drawing *d, const wgi_pic_box *b)
{
    const wgi_pic_colours *c = wgi_pic_box_colours(b);
    double heat_of_box = wgi_pic_box_heat(d->p, b).heat;
    double share = heat_of_box > 0 ? heat_of_box : wgi_pic_box_share(d->p, b);
    char heat[8], *id = wgi_pic_box_id(d->p, b);
    Agnode_t *n = id ? agnode(frame(d, b->where ? b->where : b->inside), id, 1) : NULL;
    free(id);
    if (!(d->node[b->number] = n)) {
        d->failed = true;
        return;
    }
    set_html(d, n, "label", wgi_pic_box_label(d->p, b));
    set_text(d, n, "tooltip", wgi_pic_box_tooltip(d->p, b));
    set(d, n, "shape", shape_of(b));
    set(d, n, "style", style_of(b));
    set(d, n, "fillcolor", share > 0 ? wgi_pic_heat_colour(share, heat) : c->fill);
    set(d, n, "color", c->line);
    set(d, n, "fontcolor", c->text);
    if (strcmp(shape_of(b), "ellipse") == 0)
        set(d, n, "margin", "0.02,0.01");
    if (b->kind == WGI_BOX_SCOPE)
        set(d, n, "penwidth", "1.5");
    if (b->inside && b->inside->copies > 1)
        set(d, n, "peripheries", "2");
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* clang-format off */
static const struct { const char *colour, *style, *width, *weight; } edge_looks[] = {
    [WGI_EDGE_DATA]     = {"#55626f", "solid",  "1.1", "8"},
    [WGI_EDGE_SAVED]    = {"#a3adb7", "dotted", "1.1", "2"},
    [WGI_EDGE_GRADIENT] = {"#c0532b", "dashed", "1.1", "8"},
    [WGI_EDGE_ASSIGN]   = {"#8b5e3c", "bold",   "1.3", "1"},
};
/* clang-format on */

/* Beside its forward pass the backward pass runs upwards, so that each of its boxes stands next to
 * the one whose derivative it takes: Graphviz gets the edge turned round, and an arrow at its tail.
 */
static bool turned(const wg_picture *p, const wgi_pic_edge *e)
{
    return e->kind == WGI_EDGE_GRADIENT && p->root[WG_FORWARD] &&
           wgi_pic_phase_shown(p, WG_FORWARD) && e->to->kind != WGI_BOX_OUTPUTS;
}

/* Parameters stand beside the op that reads them: above it they would push the frames apart. */
static bool beside_reader(const wgi_pic_box *b)
{
    return b->kind == WGI_BOX_LEAVES && !(b->nodes[0]->op->flags & WG_OP_INPUT);
}

static const wgi_pic_place *place_drawn(const wgi_pic_box *b)
{
    return b->inside ? b->inside : b->where;
}

static bool stands_for_others(const wgi_pic_place *q)
{
    return q && (q->copies > 1 || stands_for_others(q->parent));
}

/* Does what is kept put a box next to its reader?  Where one scope is drawn for many, what a layer
 * keeps for the next one seems to go from its end to its start: there only what it keeps for itself
 * does. */
static bool neighbours(const wg_picture *p, const wgi_pic_edge *e)
{
    const wgi_pic_place *from = place_drawn(e->from), *to = place_drawn(e->to);
    return !(stands_for_others(from) || stands_for_others(to)) ||
           wgi_pic_takes_derivative_of(p, to, from);
}

static void draw_edge(drawing *d, const wgi_pic_edge *e)
{
    bool turn = turned(d->p, e);
    Agnode_t *from = d->node[(turn ? e->to : e->from)->number];
    Agnode_t *to = d->node[(turn ? e->from : e->to)->number];
    char kind[2] = {(char)('0' + e->kind),
                    '\0'}; /* two kinds between the same boxes are two edges */
    Agedge_t *edge = from && to ? agedge(d->g, from, to, kind, 1) : NULL;
    if (!edge) {
        d->failed = true;
        return;
    }
    char *label = wgi_pic_edge_label(d->p, e);
    d->failed |= !label;
    if (label && *label)
        set_html(d, edge, "label", label);
    else
        free(label);
    set_text(d, edge, "tooltip", wgi_pic_edge_tooltip(d->p, e));
    set(d, edge, "color", edge_looks[e->kind].colour);
    set(d, edge, "style", edge_looks[e->kind].style);
    set(d, edge, "penwidth", edge_looks[e->kind].width);
    set(d, edge, "weight", e->from->kind == WGI_BOX_LEAVES ? "1" : edge_looks[e->kind].weight);
    if (turn)
        set(d, edge, "dir", "back");
    if (e->kind == WGI_EDGE_SAVED || beside_reader(e->from))
        set(d, edge, "minlen", "0");
    if (e->kind == WGI_EDGE_ASSIGN || (e->kind == WGI_EDGE_SAVED && !neighbours(d->p, e)))
        set(d, edge, "constraint", "false");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void draw(drawing *d)
{
    for (size_t i = 0; i < WG_COUNT(defaults); i++)
        d->failed |=
            !agattr(d->g, defaults[i].kind, (char *)defaults[i].name, (char *)defaults[i].value);
    set_html(d, d->g, "label", wgi_picture_heading(d->p));
    for (const wgi_pic_box *b = d->p->boxes; b; b = b->next)
        if (!b->merged)
            draw_box(d, b);
    for (size_t i = 0; i < d->p->n_edges; i++)
        draw_edge(d, &d->p->edges[i]);
}

wg_status wgi_picture_draw(wg_picture *p, wg_picture_format format, FILE *file)
{
    Agiddisc_t functions = number_functions();
    numbers ids = {.discipline = {.id = &functions, .io = &AgIoDisc}};
    drawing d = {.p = p,
                 .g = agopen((char *)"wengert", Agdirected, &ids.discipline),
                 .node = calloc(p->n_boxes + 1, sizeof *d.node)};
    if (d.g && d.node)
        draw(&d);
    if (!d.g || !d.node || d.failed || ids.failed)
        return WG_ENOMEM; /* NOLINT(clang-analyzer-unix.Malloc): the child that this is exits */
    if (format == WG_PICTURE_DOT)
        return agwrite(d.g, file) == 0 && !ferror(file) ? WG_OK : WG_EIO;
    return wgi_picture_lay_out(d.g, format == WG_PICTURE_SVG ? "svg" : "png", file);
}
#else
typedef int wgi_picture_draw_is_empty; /* an empty translation unit is not ISO C */
#endif
