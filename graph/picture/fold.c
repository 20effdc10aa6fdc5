/* Folding: of a run of scopes with equal structure, side by side, the first is drawn for all, with
 * how many there are. */
#include "graph/picture/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- equal structure ------------------------------------------------------------------------- */

/* Numbers that the nodes and values of one place get while it is hashed; `of` says which place. */
typedef struct numbering {
    const wgi_pic_place **of;
    uint32_t *number;
} numbering;

typedef struct hasher {
    numbering node, outsider; /* by node id, by value id */
    uint32_t outsiders;
} hasher;

/* Two draws of a random op differ in their keys only. */
static uint64_t hash_attrs(uint64_t h, const wg_node *n)
{
    for (int i = 0; n->attrs && i < n->op->n_attrs; i++)
        if (n->op->attrs[i].kind != WG_ATTR_KEY)
            h = wgi_hash_attr(h, n->attrs, &n->op->attrs[i]);
    return h;
}

static uint64_t hash_type(uint64_t h, const wg_value *v)
{
    return wgi_hash_shape(wgi_hash_u64(h, (uint64_t)v->dtype), &v->shape);
}

/* An operand from inside counts by its place there, one from outside by its type and order of
 * appearance. */
static uint64_t hash_operand(hasher *s, const wgi_pic_place *q, uint64_t h, const wg_value *v)
{
    if (s->node.of[v->node->id] == q) {
        h = wgi_hash_u64(h, s->node.number[v->node->id]);
        return wgi_hash_u64(h, (uint64_t)v->index);
    }
    if (s->outsider.of[v->id] != q) {
        s->outsider.of[v->id] = q;
        s->outsider.number[v->id] = s->outsiders++;
    }
    return hash_type(wgi_hash_u64(h, UINT64_C(1) << 32 | s->outsider.number[v->id]), v);
}

static uint64_t hash_place(const wg_picture *p, hasher *s, const wgi_pic_place *q)
{
    uint64_t h = wgi_hash_u64(WGI_HASH_START, q->n_nodes);
    s->outsiders = 0;
    for (size_t i = 0; i < q->n_nodes; i++) {
        s->node.of[q->nodes[i]->id] = q;
        s->node.number[q->nodes[i]->id] = (uint32_t)i;
    }
    for (size_t i = 0; i < q->n_nodes; i++) {
        const wg_node *n = q->nodes[i];
        h = wgi_hash_bytes(h, n->op->name, strlen(n->op->name) + 1);
        h = hash_attrs(h, n);
        h = wgi_hash_u64(h,
                         s->node.number[p->place_of[n->id]->nodes[0]->id]); /* which inner scope */
        for (int k = 0; k < n->n_in; k++)
            h = hash_operand(s, q, h, n->in[k]);
        for (int k = 0; k < n->n_out; k++)
            h = hash_type(h, n->out[k]);
    }
    return h;
}

static void hash_places(const wg_picture *p, hasher *s, wgi_pic_place *q)
{
    q->hash = hash_place(p, s, q);
    for (wgi_pic_place *child = q->first_child; child; child = child->next)
        hash_places(p, s, child);
}

/* ---- a run that may be folded ---------------------------------------------------------------- */

/* What folding knows of the graph.  A class is what one drawn node stands for; its nodes form a
 * circular list. */
typedef struct folding {
    wg_picture *p;
    uint32_t *first_reader, *reader; /* of node i: reader[first_reader[i]] up to that of i + 1 */
    uint32_t *next_of_class;         /* by node id */
    uint32_t *queue;                 /* of classes, by their drawn nodes */
    uint32_t *seen, *in_run;         /* by drawn node: the last run for which it was so */
    uint32_t run;
} folding;

static bool open_folding(folding *f, wg_picture *p)
{
    const wg_graph *g = p->g;
    size_t n = g->n_nodes + 2, operands = 1;
    for (size_t i = 0; i < g->n_nodes; i++)
        operands += (size_t)g->nodes[i]->n_in;
    *f = (folding){.p = p};
    uint32_t **const arrays[] = {&f->first_reader, &f->next_of_class, &f->queue, &f->seen,
                                 &f->in_run};
    for (int i = 0; i < WG_COUNT(arrays); i++)
        *arrays[i] = wgi_picture_alloc(p, n, sizeof(uint32_t));
    f->reader = wgi_picture_alloc(p, operands, sizeof(uint32_t));
    if (p->no_memory)
        return false;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->nodes[i]->n_in; k++)
            f->first_reader[g->nodes[i]->in[k]->node->id + 2]++;
    for (size_t i = 2; i < n; i++)
        f->first_reader[i] += f->first_reader[i - 1];
    for (size_t i = 0; i < g->n_nodes; i++) { /* each count becomes a place, then the next one's */
        f->next_of_class[i] = (uint32_t)i;
        for (int k = 0; k < g->nodes[i]->n_in; k++)
            f->reader[f->first_reader[g->nodes[i]->in[k]->node->id + 1]++] = (uint32_t)i;
    }
    return true;
}

/* The readers of one node that are drawn: their classes join the queue.  true if one of them is in
 * the run, and the node is not. */
static bool follow(folding *f, const wg_node *n, size_t *n_queue)
{
    const wg_picture *p = f->p;
    bool from_run = f->in_run[wgi_pic_drawn_node(p, n)->id] == f->run;
    for (uint32_t i = f->first_reader[n->id]; i < f->first_reader[n->id + 1]; i++) {
        const wg_node *reader = p->g->nodes[f->reader[i]];
        if (!p->place_of[reader->id] || wgi_pic_between_twins(p, n, reader))
            continue;
        uint32_t drawn = wgi_pic_drawn_node(p, reader)->id;
        if (f->in_run[drawn] == f->run) {
            if (!from_run)
                return true;
        } else if (f->seen[drawn] != f->run) {
            f->seen[drawn] = f->run;
            f->queue[(*n_queue)++] = drawn;
        }
    }
    return false;
}

/* As one box, the scopes from a to b would be on a cycle: something outside reads them, and they
 * read it or what comes of it. */
static bool closes_cycle(folding *f, const wgi_pic_place *a, const wgi_pic_place *b)
{
    size_t n_queue = 0;
    f->run++;
    for (const wgi_pic_place *q = a; q != b->next; q = q->next)
        for (size_t i = 0; i < q->n_nodes; i++)
            f->in_run[wgi_pic_drawn_node(f->p, q->nodes[i])->id] = f->run;
    for (const wgi_pic_place *q = a; q != b->next; q = q->next)
        for (size_t i = 0; i < q->n_nodes; i++)
            follow(f, q->nodes[i], &n_queue);
    for (size_t i = 0; i < n_queue; i++) {
        uint32_t member = f->queue[i];
        do {
            if (follow(f, f->p->g->nodes[member], &n_queue))
                return true;
            member = f->next_of_class[member];
        } while (member != f->queue[i]);
    }
    return false;
}

/* "layer3" and "layer12" differ in digits only. */
static bool same_stem(const char *a, const char *b)
{
    for (;;) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b || !*a)
            return *a == *b;
        a++;
        b++;
    }
}

/* b is folded into a. */
static void join(folding *f, wgi_pic_place *a, wgi_pic_place *b)
{
    b->twin = a;
    a->last = b;
    a->copies++;
    for (size_t i = 0; i < b->n_nodes; i++) {
        uint32_t x = a->nodes[i]->id, y = b->nodes[i]->id, next = f->next_of_class[x];
        f->p->stand_in[y] = a->nodes[i];
        f->next_of_class[x] = f->next_of_class[y];
        f->next_of_class[y] = next;
    }
}

/* Runs of equal siblings. */
static void fold(folding *f, wgi_pic_place *q)
{
    for (wgi_pic_place *a = q->first_child; a; a = a->next) {
        if (a->twin)
            continue;
        for (wgi_pic_place *b = a->next;
             b && b->hash == a->hash && b->n_nodes == a->n_nodes &&
             same_stem(a->scope->name, b->scope->name) && !closes_cycle(f, a, b);
             b = b->next)
            join(f, a, b);
        fold(f, a);
    }
}

bool wgi_pic_fold(wg_picture *p)
{
    if (p->options.full)
        return true;
    size_t nodes = p->g->n_nodes + 1, values = p->g->n_values + 1;
    folding f;
    hasher s = {{calloc(nodes, sizeof(wgi_pic_place *)), calloc(nodes, sizeof(uint32_t))},
                {calloc(values, sizeof(wgi_pic_place *)), calloc(values, sizeof(uint32_t))},
                0};
    p->no_memory |= !s.node.of || !s.node.number || !s.outsider.of || !s.outsider.number;
    bool ok = !p->no_memory && open_folding(&f, p);
    for (int phase = 0; phase < WGI_PHASES && ok; phase++)
        if (p->root[phase]) {
            hash_places(p, &s, p->root[phase]);
            fold(&f, p->root[phase]);
        }
    free(s.node.of);
    free(s.node.number);
    free(s.outsider.of);
    free(s.outsider.number);
    return ok;
}
