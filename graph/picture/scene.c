/* The scene: boxes and edges. */
#include "graph/grow.h"
#include "graph/picture/internal.h"

#include <stdlib.h>
#include <string.h>

/* A number that stands in its reader's label instead of having a box of its own. */
static bool inlined(const wg_picture *p, const wg_node *n)
{
    double value;
    return !p->options.full && !p->is_output[n->id] && wgi_pic_fill_value(n, &value);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static wgi_pic_box *new_box(wg_picture *p, wgi_pic_box_kind kind, const wgi_pic_place *where)
{
    wgi_pic_box *b = wgi_picture_alloc(p, 1, sizeof *b);
    if (!b)
        return NULL;
    *b = (wgi_pic_box){.kind = kind, .where = where, .number = (uint32_t)p->n_boxes++};
    if (p->last_box)
        p->last_box->next = b;
    else
        p->boxes = b;
    return p->last_box = b;
}

static wgi_pic_box *place_box(wg_picture *p, wgi_pic_place *q, wgi_pic_box_kind kind)
{
    if (!q->box && (q->box = new_box(p, kind, q->parent)))
        q->box->inside = q;
    return q->box;
}

static wgi_pic_box *node_box(wg_picture *p, const wg_node *n)
{
    wgi_pic_box *b = p->box_of[n->id];
    if (b ||
        !(b = new_box(p, wgi_pic_is_leaf(n) ? WGI_BOX_LEAVES : WGI_BOX_OP, p->place_of[n->id])))
        return b;
    b->nodes = wgi_picture_alloc(p, 1, sizeof *b->nodes);
    if (!b->nodes)
        return NULL;
    b->nodes[b->n_nodes++] = n;
    return p->box_of[n->id] = b;
}

/* Of a phase that is not shown, what is read: leaves of the top by themselves, all else by its
 * outermost scope. */
static wgi_pic_box *ghost_box(wg_picture *p, const wg_node *n)
{
    wgi_pic_place *q = p->place_of[n->id];
    while (q->scope->depth > 1)
        q = q->parent;
    if (!q->parent && wgi_pic_is_leaf(n))
        return node_box(p, n);
    return place_box(p, q, WGI_BOX_GHOST);
}

/* The box in which n, which stands for itself, is drawn; NULL if it is left out. */
static wgi_pic_box *box_for(wg_picture *p, const wg_node *n)
{
    if (!wgi_pic_phase_shown(p, n->phase))
        return ghost_box(p, n);
    wgi_pic_place *closed = wgi_pic_closed_place(p, n);
    if (closed)
        return place_box(p, closed, WGI_BOX_SCOPE);
    return inlined(p, n) ? NULL : node_box(p, n);
}

/* A leaf that only phases that are not drawn read, such as the learning rate of an update. */
static bool read_elsewhere_only(const wg_picture *p, const wg_node *n)
{
    return p->options.phases && wgi_pic_is_leaf(n) && !p->is_output[n->id] &&
           !p->read_where_shown[n->id];
}

static bool build_boxes(wg_picture *p)
{
    const wg_graph *g = p->g;
    for (size_t i = 0; i < g->n_nodes && !p->no_memory; i++)
        if (p->place_of[i] && wgi_pic_phase_shown(p, g->nodes[i]->phase) &&
            wgi_pic_drawn_node(p, g->nodes[i]) == g->nodes[i] &&
            !read_elsewhere_only(p, g->nodes[i]))
            box_for(p, g->nodes[i]);
    return !p->no_memory;
}

/* ---- links: one operand each, later gathered into edges -------------------------------------- */

typedef struct link {
    wgi_pic_box *from, *to;
    wgi_pic_edge_kind kind;
    const wg_value *value;
} link;

typedef struct links {
    link *link;
    size_t n, capacity;
} links;

static void add_link(wg_picture *p, links *l, wgi_pic_box *from, wgi_pic_box *to,
                     wgi_pic_edge_kind kind, const wg_value *value)
{
    if (!WGI_RESERVE(l->link, l->capacity, l->n + 1)) {
        p->no_memory = true;
        return;
    }
    l->link[l->n++] = (link){from, to, kind, value};
}

static void say(wg_picture *p, wgi_pic_line **end, const char *text)
{
    for (; *end; end = &(*end)->next)
        if (strcmp((*end)->text, text) == 0)
            return;
    wgi_pic_line *line = wgi_picture_alloc(p, 1, sizeof *line);
    if (!line || !(line->text = wgi_arena_text(&p->arena, text)))
        p->no_memory = true;
    else
        *end = line;
}

/* "b = 0.5" or "a = weight" */
static void label_operand(wg_picture *p, wgi_pic_box *b, const wg_node *reader, int i)
{
    char text[200], name[64];
    double value;
    const wg_node *n = reader->in[i]->node;
    wg_op_operand_name(reader->op, i, name, sizeof name);
    if (wgi_pic_fill_value(n, &value))
        snprintf(text, sizeof text, "%s = %.6g", name, value);
    else
        snprintf(text, sizeof text, "%s = %s", name, n->out[0]->name);
    say(p, &b->lines, text);
}

/* A leaf that its own phase reads is drawn there; readers in a later phase tell it in words. */
static bool read_again(const wg_picture *p, const wg_node *reader, const wg_node *n)
{
    return !p->options.full && wgi_pic_is_leaf(n) && p->read_at_once[n->id] &&
           reader->phase > n->phase && wgi_pic_phase_shown(p, n->phase);
}

static wgi_pic_edge_kind kind_of(const wg_node *from, const wg_node *to)
{
    if (from->phase == WG_FORWARD && to->phase != WG_FORWARD)
        return WGI_EDGE_SAVED;
    return from->phase == WG_BACKWARD ? WGI_EDGE_GRADIENT : WGI_EDGE_DATA;
}

static void link_operand(wg_picture *p, links *l, const wg_node *reader, int i)
{
    const wg_value *v = reader->in[i];
    const wg_node *from = wgi_pic_drawn_node(p, v->node), *to = wgi_pic_drawn_node(p, reader);
    wgi_pic_box *a, *b = box_for(p, to);
    if (!b || wgi_pic_between_twins(p, v->node, reader))
        return;
    bool words = read_again(p, reader, v->node);
    if (inlined(p, from) && !wgi_pic_closed_place(p, from))
        words = true;
    if (words) {
        if (b->kind == WGI_BOX_OP && to == reader)
            label_operand(p, b, reader, i);
        return;
    }
    a = box_for(p, from);
    if (a && a != b)
        add_link(p, l, a, b, kind_of(from, to), from->out[v->index]);
}

static void link_operands(wg_picture *p, links *l)
{
    const wg_graph *g = p->g;
    for (size_t i = 0; i < g->n_nodes && !p->no_memory; i++)
        for (int k = 0; p->place_of[i] && k < g->nodes[i]->n_in; k++)
            if (wgi_pic_phase_shown(p, g->nodes[i]->phase))
                link_operand(p, l, g->nodes[i], k);
}

/* A derivative is written in the label in the box that it comes from, without the path of that
 * box. */
static void label_output(wg_picture *p, wgi_pic_box *from, const char *name)
{
    char text[200];
    const char *path = from->inside ? from->inside->scope->path : from->where->scope->path;
    size_t n = strlen(path);
    const char *at = n ? strstr(name, path) : NULL;
    if (at && at[n] == '/')
        snprintf(text, sizeof text, "%.*s%s", (int)(at - name), name, at + n + 1);
    else
        snprintf(text, sizeof text, "%s", name);
    say(p, &from->results, text);
}

/* The outputs that come from one box are one box. */
static void link_outputs(wg_picture *p, links *l)
{
    const wg_graph *g = p->g;
    wgi_pic_box **outputs_of = calloc(p->n_boxes + 1, sizeof(wgi_pic_box *));
    size_t n_boxes = p->n_boxes;
    p->no_memory |= !outputs_of;
    for (size_t i = 0; i < g->n_outputs && !p->no_memory; i++) {
        const wg_value *v = g->outputs[i].value;
        const wg_node *n = v->node;
        if (!wgi_pic_phase_shown(p, n->phase) || wgi_pic_drawn_node(p, n) != n)
            continue;
        wgi_pic_box *from = box_for(p, n);
        if (!from || from->number >= n_boxes)
            continue;
        if (n->phase == WG_BACKWARD && !p->options.full) {
            label_output(p, from, g->outputs[i].name);
            continue;
        }
        wgi_pic_box **to = &outputs_of[from->number];
        if (!*to && (*to = new_box(p, WGI_BOX_OUTPUTS, from->where)))
            (*to)->outputs = wgi_picture_alloc(p, g->n_outputs, sizeof(size_t));
        if (!*to || !(*to)->outputs)
            break;
        ((size_t *)(*to)->outputs)[(*to)->n_outputs++] = i;
        add_link(p, l, from, *to, n->phase == WG_BACKWARD ? WGI_EDGE_GRADIENT : WGI_EDGE_DATA, v);
    }
    free(outputs_of);
}

static void link_assignments(wg_picture *p, links *l)
{
    const wg_graph *g = p->g;
    for (size_t i = 0; i < g->n_assigns && !p->no_memory; i++) {
        const wg_node *from = wgi_pic_drawn_node(p, g->assigns[i].value->node);
        const wg_node *to = wgi_pic_drawn_node(p, g->assigns[i].leaf->node);
        if (!wgi_pic_phase_shown(p, from->phase) || !wgi_pic_phase_shown(p, to->phase))
            continue;
        wgi_pic_box *a = box_for(p, from), *b = box_for(p, to);
        if (a && b && a != b)
            add_link(p, l, a, b, WGI_EDGE_ASSIGN, from->out[g->assigns[i].value->index]);
    }
}

/* ---- leaves with the same readers become one box --------------------------------------------- */

static bool can_merge(const wgi_pic_box *a, const wgi_pic_box *b)
{
    return a->kind == WGI_BOX_LEAVES && b->kind == WGI_BOX_LEAVES && a->where == b->where &&
           a->nodes[0]->op == b->nodes[0]->op;
}

static bool take_over(wg_picture *p, wgi_pic_box *a, wgi_pic_box *b)
{
    const wg_node **both = wgi_picture_alloc(p, a->n_nodes + b->n_nodes, sizeof *both);
    if (!both)
        return false;
    memcpy(both, a->nodes, a->n_nodes * sizeof *both);
    memcpy(both + a->n_nodes, b->nodes, b->n_nodes * sizeof *both);
    a->nodes = both;
    a->n_nodes += b->n_nodes;
    b->merged = a;
    return true;
}

static void merge_leaves(wg_picture *p, links *l)
{
    uint64_t *hash = calloc(p->n_boxes + 1, sizeof *hash);
    p->no_memory |= !hash;
    if (!hash)
        return;
    for (size_t i = 0; i < l->n; i++)
        hash[l->link[i].from->number] +=
            wgi_hash_u64(WGI_HASH_START, l->link[i].to->number + UINT64_C(1)); /* in any order */
    for (wgi_pic_box *a = p->boxes; a; a = a->next)
        for (wgi_pic_box *b = a->next; a->kind == WGI_BOX_LEAVES && !a->merged && b; b = b->next)
            if (!b->merged && can_merge(a, b) && hash[a->number] == hash[b->number] &&
                !take_over(p, a, b))
                break;
    for (size_t i = 0; i < l->n; i++) {
        link *k = &l->link[i];
        k->from = k->from->merged ? k->from->merged : k->from;
        k->to = k->to->merged ? k->to->merged : k->to;
    }
    free(hash);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_links(const void *left, const void *right)
{
    const link *a = left, *b = right;
    int c = compare(a->from->number, b->from->number);
    c = c ? c : compare(a->to->number, b->to->number);
    c = c ? c : compare(a->kind, b->kind);
    return c ? c : compare(a->value->id, b->value->id);
}

static bool same_edge(const link *a, const wgi_pic_edge *e)
{
    return a->from == e->from && a->to == e->to && a->kind == e->kind;
}

static void gather(wg_picture *p, links *l)
{
    if (l->n)
        qsort(l->link, l->n, sizeof *l->link, compare_links);
    p->edges = wgi_picture_alloc(p, l->n + 1, sizeof *p->edges);
    const wg_value **values = wgi_picture_alloc(p, l->n + 1, sizeof *values);
    wgi_pic_edge *e = NULL;
    for (size_t i = 0; i < l->n && !p->no_memory; i++) {
        const link *k = &l->link[i];
        if (!e || !same_edge(k, e)) {
            e = &p->edges[p->n_edges++];
            *e = (wgi_pic_edge){.from = k->from, .to = k->to, .kind = k->kind, .values = values};
        }
        if (!e->n_values || e->values[e->n_values - 1] != k->value) {
            e->values[e->n_values++] = k->value;
            values++;
        }
    }
}

static void look_ahead(wg_picture *p)
{
    const wg_graph *g = p->g;
    for (size_t i = 0; i < g->n_outputs; i++)
        p->is_output[g->outputs[i].value->node->id] = true;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i]->n_in; k++) {
            const wg_node *reader = g->nodes[i], *n = reader->in[k]->node;
            p->read_at_once[n->id] |= reader->phase == n->phase;
            p->read_where_shown[n->id] |= p->place_of[i] && wgi_pic_phase_shown(p, reader->phase);
        }
}

bool wgi_pic_scene_build(wg_picture *p)
{
    links l = {0};
    p->box_of = wgi_picture_alloc(p, p->g->n_nodes, sizeof(wgi_pic_box *));
    p->is_output = wgi_picture_alloc(p, p->g->n_nodes, sizeof(bool));
    p->read_at_once = wgi_picture_alloc(p, p->g->n_nodes, sizeof(bool));
    p->read_where_shown = wgi_picture_alloc(p, p->g->n_nodes, sizeof(bool));
    if (p->no_memory)
        return false;
    look_ahead(p);
    if (build_boxes(p)) {
        link_operands(p, &l);
        link_outputs(p, &l);
        link_assignments(p, &l);
    }
    if (!p->no_memory && !p->options.full)
        merge_leaves(p, &l);
    if (!p->no_memory)
        gather(p, &l);
    free(l.link);
    return !p->no_memory;
}
