/* Places: the scopes of each phase, and which of them are open. */
#include "graph/clone.h"
#include "graph/picture/internal.h"

#include <string.h>

enum { MAX_READABLE_BOXES = 30 };

void *wgi_picture_alloc(wg_picture *p, size_t count, size_t size)
{
    void *memory = count > SIZE_MAX / 2 / size ? NULL : wgi_arena_alloc(&p->arena, count * size);
    p->no_memory |= !memory;
    return memory;
}

/* ---- the tree of places ---------------------------------------------------------------------- */

static wgi_pic_place *find_place(const wg_picture *p, const char *path, int phase)
{
    return wgi_names_get(&p->places[phase], path);
}

static wgi_pic_place *make_place(wg_picture *p, const wg_scope *scope, wg_phase phase)
{
    wgi_pic_place *q = find_place(p, scope->path, phase);
    if (q)
        return q;
    wgi_pic_place *parent = scope->parent ? make_place(p, scope->parent, phase) : NULL;
    if ((scope->parent && !parent) || !(q = wgi_picture_alloc(p, 1, sizeof *q)))
        return NULL;
    *q = (wgi_pic_place){.scope = scope, .phase = phase, .parent = parent, .copies = 1, .last = q};
    if (!wgi_names_put(&p->places[phase], scope->path, q)) {
        p->no_memory = true;
        return NULL;
    }
    if (!parent)
        p->root[phase] = q;
    else if (parent->last_child)
        parent->last_child->next = q;
    else
        parent->first_child = q;
    if (parent)
        parent->last_child = q;
    return q;
}

/* What a plan would leave out, the picture leaves out: nodes that no output or assignment needs. */
static bool *find_needed(wg_picture *p)
{
    const wg_graph *g = p->g;
    bool *needed = wgi_picture_alloc(p, g->n_nodes, sizeof *needed);
    if (needed && (p->options.full || g->n_outputs + g->n_assigns == 0))
        memset(needed, true, g->n_nodes * sizeof *needed);
    else if (needed)
        wgi_graph_needed(g, wgi_graph_marks(g), needed);
    return needed;
}

static bool list_nodes(wg_picture *p)
{
    const wg_graph *g = p->g;
    const bool *needed = find_needed(p);
    p->place_of = wgi_picture_alloc(p, g->n_nodes, sizeof(wgi_pic_place *));
    p->stand_in = wgi_picture_alloc(p, g->n_nodes, sizeof(wg_node *));
    for (size_t i = 0; i < g->n_nodes && !p->no_memory; i++) {
        p->stand_in[i] = g->nodes[i];
        if (needed[i])
            p->place_of[i] = make_place(p, g->nodes[i]->scope, g->nodes[i]->phase);
        for (wgi_pic_place *q = p->place_of[i]; q; q = q->parent)
            q->n_nodes++;
    }
    for (size_t i = 0; i < g->n_nodes && !p->no_memory; i++)
        for (wgi_pic_place *q = p->place_of[i]; q && !p->no_memory; q = q->parent) {
            if (!q->nodes) {
                q->nodes = wgi_picture_alloc(p, q->n_nodes, sizeof(wg_node *));
                q->n_nodes = 0;
            }
            if (q->nodes)
                q->nodes[q->n_nodes++] = g->nodes[i];
        }
    return !p->no_memory;
}

bool wgi_pic_places_build(wg_picture *p)
{
    return list_nodes(p);
}

/* ---- questions ------------------------------------------------------------------------------- */

const wg_node *wgi_pic_drawn_node(const wg_picture *p, const wg_node *n)
{
    while (p->stand_in[n->id] != n)
        n = p->stand_in[n->id];
    return n;
}

wgi_pic_place *wgi_pic_closed_place(const wg_picture *p, const wg_node *n)
{
    wgi_pic_place *closed = NULL;
    for (wgi_pic_place *q = p->place_of[n->id]; q; q = q->parent)
        if (!q->open)
            closed = q;
    return closed;
}

static const wgi_pic_place *first_twin(const wgi_pic_place *q)
{
    return q->twin ? q->twin : q;
}

bool wgi_pic_between_twins(const wg_picture *p, const wg_node *a, const wg_node *b)
{
    const wgi_pic_place *x = p->place_of[a->id], *y = p->place_of[b->id];
    while (x->scope->depth > y->scope->depth)
        x = x->parent;
    while (y->scope->depth > x->scope->depth)
        y = y->parent;
    for (; x && x != y; x = x->parent, y = y->parent)
        if (x->phase == y->phase && first_twin(x) == first_twin(y))
            return true;
    return false;
}

/* ---- open and closed ------------------------------------------------------------------------- */

static void open_to(wgi_pic_place *q, int depth)
{
    q->open = q->scope->depth < depth;
    for (wgi_pic_place *child = q->first_child; child; child = child->next)
        open_to(child, depth);
}

static int deepest(const wgi_pic_place *q)
{
    int depth = q->scope->depth;
    for (const wgi_pic_place *child = q->first_child; child; child = child->next) {
        int d = deepest(child);
        depth = d > depth ? d : depth;
    }
    return depth;
}

static size_t count_boxes(const wg_picture *p, const wgi_pic_place *q)
{
    size_t count = 0;
    for (size_t i = 0; i < q->n_nodes;
         i++) { /* nodes directly here, without those written in the label */
        double value;
        count += p->place_of[q->nodes[i]->id] == q && !wgi_pic_fill_value(q->nodes[i], &value);
    }
    for (const wgi_pic_place *child = q->first_child; child; child = child->next)
        if (!child->twin)
            count += child->open ? count_boxes(p, child) : 1;
    return count;
}

static size_t count_at_depth(wg_picture *p, int depth)
{
    size_t count = 0;
    for (int phase = 0; phase < WGI_PHASES; phase++)
        if (p->root[phase]) {
            open_to(p->root[phase], depth);
            count += wgi_pic_phase_shown(p, (wg_phase)phase) ? count_boxes(p, p->root[phase]) : 0;
        }
    return count;
}

static int readable_depth(wg_picture *p)
{
    int max = 0, depth = 1;
    for (int phase = 0; phase < WGI_PHASES; phase++)
        if (p->root[phase]) {
            int d = deepest(p->root[phase]);
            max = d > max ? d : max;
        }
    while (depth <= max && count_at_depth(p, depth + 1) <= MAX_READABLE_BOXES)
        depth++;
    return depth;
}

/* The place that is drawn for q: inside a folded sibling, the same place of the first. */
static wgi_pic_place *drawn_place(const wg_picture *p, const wgi_pic_place *q)
{
    wgi_pic_place *r = p->place_of[wgi_pic_drawn_node(p, q->nodes[0])->id];
    while (r->scope->depth > q->scope->depth)
        r = r->parent;
    return r;
}

bool wgi_pic_takes_derivative_of(const wg_picture *p, const wgi_pic_place *backward,
                                 const wgi_pic_place *forward)
{
    const wgi_pic_place *q = find_place(p, backward->scope->path, WG_FORWARD);
    return q && drawn_place(p, q) == forward;
}

static bool open_path(wg_picture *p, const char *path)
{
    bool found = false;
    for (int phase = 0; phase < WGI_PHASES; phase++) {
        wgi_pic_place *q = find_place(p, path, phase);
        found |= q != NULL;
        for (q = q ? drawn_place(p, q) : NULL; q; q = q->parent)
            q->open = true;
    }
    return found;
}

wg_status wgi_pic_places_open(wg_picture *p)
{
    const wg_picture_options *o = &p->options;
    int depth = o->full ? INT32_MAX : o->depth ? o->depth : readable_depth(p);
    count_at_depth(p, depth);
    for (size_t i = 0; i < o->n_expanded; i++)
        if (!open_path(p, o->expanded[i]))
            return wgi_error_set(p->error, WG_EINVAL, "no scope '%s' in this graph",
                                 o->expanded[i]);
    return WG_OK;
}
