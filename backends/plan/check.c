/* Proves that the memory of a plan is sound, from the graph and the layout alone: liveness is
 * derived again.
 *
 * A run is simulated.  Each root (facts.h) claims its bytes when it is computed and releases them
 * after its last reader.  An operand that dies releases them before the result claims them if the
 * op may work in place and both are the same bytes.  It is an error to claim bytes that are claimed
 * already.  A segment tree over the intervals between all borders answers each claim in time
 * O(log n). */
#include "backends/memory.h"
#include "backends/plan/facts.h"
#include "backends/plan/plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct range {
    size_t begin, end; /* in the buffer            */
    int64_t last;      /* step of the last reader  */
    bool held;
} range;

typedef struct check {
    wg_plan *p;
    wgi_marks marks;
    uint32_t *root;
    size_t *border; /* ascending, no repeats     */
    size_t n_borders;
    size_t leaves; /* of the tree: a power of 2 */
    int32_t *max;  /* [2 leaves] claims below a node, without `all`      */
    int32_t *all;  /* [2 leaves] claims that cover the whole of the node */
    range *of;     /* [values] of each root in the buffer             */
    wgi_uses uses;
} check;

/* ---- the tree -------------------------------------------------------------------------------- */

static size_t border_index(const check *c, size_t x)
{
    size_t lo = 0, hi = c->n_borders;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c->border[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int32_t largest(const check *c, size_t node)
{
    return c->max[node] + c->all[node];
}

/* Adds `by` over cells [lo, hi) of node, which has cells [from, to). */
static void add(check *c, size_t node, size_t from, size_t to, size_t lo, size_t hi, int32_t by)
{
    if (hi <= from || to <= lo)
        return;
    if (lo <= from && to <= hi) {
        c->all[node] += by;
        return;
    }
    size_t mid = (from + to) / 2;
    add(c, 2 * node, from, mid, lo, hi, by);
    add(c, 2 * node + 1, mid, to, lo, hi, by);
    int32_t a = largest(c, 2 * node), b = largest(c, 2 * node + 1);
    c->max[node] = a > b ? a : b;
}

static int32_t max_in(const check *c, size_t node, size_t from, size_t to, size_t lo, size_t hi)
{
    if (hi <= from || to <= lo)
        return 0;
    if (lo <= from && to <= hi)
        return largest(c, node);
    size_t mid = (from + to) / 2;
    int32_t a = max_in(c, 2 * node, from, mid, lo, hi),
            b = max_in(c, 2 * node + 1, mid, to, lo, hi);
    return (a > b ? a : b) + c->all[node];
}

static bool is_claimed(const check *c, size_t begin, size_t end)
{
    return begin < end &&
           max_in(c, 1, 0, c->leaves, border_index(c, begin), border_index(c, end)) > 0;
}

static void claim(check *c, range *r, int32_t by)
{
    r->held = by > 0;
    if (r->begin < r->end)
        add(c, 1, 0, c->leaves, border_index(c, r->begin), border_index(c, r->end), by);
}

/* ---- preparation ----------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static bool prepare(check *c)
{
    const wg_plan *p = c->p;
    size_t values = wg_graph_value_count(p->g), n = 0, unique = 0;
    c->of = calloc(values + 1, sizeof *c->of);
    c->border = malloc((2 * p->layout.n_storages + 2) * sizeof *c->border);
    if (!c->of || !c->border)
        return false;
    for (size_t i = 0; i < p->layout.n_storages; i++)
        if (p->layout.storage[i].kind == WGI_STORAGE_BUFFER) {
            c->border[n++] = p->layout.storage[i].offset;
            c->border[n++] = p->layout.storage[i].offset + p->layout.storage[i].bytes;
        }
    qsort(c->border, n, sizeof *c->border, ascending);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || c->border[i] != c->border[unique - 1])
            c->border[unique++] = c->border[i];
    c->n_borders = unique;
    for (c->leaves = 1; c->leaves < unique + 1;)
        c->leaves *= 2;
    c->max = calloc(2 * c->leaves, sizeof *c->max);
    c->all = calloc(2 * c->leaves, sizeof *c->all);
    return c->max && c->all;
}

/* The last reader of each root, and its bytes if it is in the buffer. */
static void find_ranges(check *c)
{
    const wg_plan *p = c->p;
    int64_t end = (int64_t)p->program.n_work;
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++) {
        int64_t s = p->layout.storage_of[i];
        c->of[i].last = WGI_NONE;
        if (s != WGI_NONE && p->layout.storage[s].kind == WGI_STORAGE_BUFFER) {
            c->of[i].begin = p->layout.storage[s].offset;
            c->of[i].end =
                p->layout.storage[s].offset + wgi_round_up(wg_value_bytes(wg_graph_value(p->g, i)));
        }
    }
    for (int64_t i = 0; i < end; i++) {
        const wg_node *n = p->program.work[i].node;
        for (int k = 0; k < n->n_out; k++)
            c->of[n->out[k]->id].last = p->options.keep_all ? end : i;
        for (int k = 0; k < n->n_in; k++) {
            range *r = &c->of[c->root[n->in[k]->id]];
            r->last = r->last < i ? i : r->last;
        }
    }
    for (size_t i = 0; i < c->marks.n_outputs; i++)
        c->of[c->root[c->marks.outputs[i].value->id]].last = end;
    for (size_t i = 0; i < c->marks.n_assigns; i++)
        c->of[c->root[c->marks.assigns[i].value->id]].last = end;
}

/* ---- the simulated run ----------------------------------------------------------------------- */

static bool fail(check *c, int64_t i, const char *what, const wg_value *a, const wg_value *b)
{
    char x[200], y[200];
    snprintf(c->p->message, sizeof c->p->message, "step %lld, %s: %s %s%s%s", (long long)i,
             c->p->program.work[i].node->op->name, wg_value_text(a, x, sizeof x), what,
             b ? " " : "", b ? wg_value_text(b, y, sizeof y) : "");
    return false;
}

/* Names the value that holds bytes claimed by v, or by the scratch of step i (v is result 0). */
static bool fail_overlap(check *c, int64_t i, const wg_value *v, size_t begin, size_t end)
{
    for (size_t k = 0; k < wg_graph_value_count(c->p->g); k++) {
        const range *r = &c->of[k];
        if (r->held && c->root[k] == k && r->begin < end && begin < r->end)
            return fail(c, i, "overlaps", v, wg_graph_value(c->p->g, k));
    }
    return fail(c, i, "overlaps scratch", v, NULL);
}

/* A result that lies in the memory of a leaf must be that leaf's new value, and nothing may read
 * the old one later. */
static bool check_leaf(check *c, int64_t i, const wg_node *n, int j)
{
    const wg_plan *p = c->p;
    int64_t s = p->layout.storage_of[n->out[j]->id];
    for (size_t k = 0; k < c->marks.n_assigns; k++) {
        const wgi_assignment *a = &c->marks.assigns[k];
        if (p->layout.storage_of[a->leaf->id] != s || c->root[a->value->id] != n->out[j]->id)
            continue;
        int64_t last = c->of[a->leaf->id].last;
        if (last > i || (last == i && !wgi_may_overwrite(&c->uses, n, j, a->leaf->id)))
            return fail(c, i, "overwrites, still read,", n->out[j], a->leaf);
        return true;
    }
    return fail(c, i, "lies in the memory of a leaf", n->out[j], NULL);
}

/* Operands that die here and whose very bytes a result takes. */
static void release_overwritten(check *c, int64_t i, const wg_node *n)
{
    for (int j = 0; j < n->n_out; j++)
        for (int k = 0; k < n->n_in; k++) {
            uint32_t id = c->root[n->in[k]->id];
            const range *y = &c->of[n->out[j]->id];
            range *x = &c->of[id];
            if (x->held && x->last == i && x->begin == y->begin && x->end == y->end &&
                wgi_may_overwrite(&c->uses, n, j, id))
                claim(c, x, -1);
        }
}

static bool check_operands(check *c, int64_t i, const wgi_work *w)
{
    const wg_plan *p = c->p;
    const wg_node *n = w->node;
    for (int k = 0; k < n->n_in; k++) {
        const wg_value *from = wg_graph_value(p->g, c->root[n->in[k]->id]);
        if (w->call.in[k] != wgi_memory_of(p, from))
            return fail(c, i, "is read at another address than it is written to", n->in[k], NULL);
        if (wgi_begins_sum(from->node) && !wgi_awaits_sum(n))
            return fail(c, i, "is read before it is whole", n->in[k], NULL);
    }
    return true;
}

/* Result j of step i claims its bytes. */
static bool claim_result(check *c, int64_t i, const wgi_work *w, int j)
{
    const wg_plan *p = c->p;
    const wg_value *v = w->node->out[j];
    range *r = &c->of[v->id];
    if (w->call.out[j] != wgi_memory_of(p, v))
        return fail(c, i, "is written to another address than its own", v, NULL);
    if (p->layout.storage[p->layout.storage_of[v->id]].kind != WGI_STORAGE_BUFFER)
        return check_leaf(c, i, w->node, j);
    if (r->end > p->layout.buffer_bytes || r->begin % WGI_ALIGN)
        return fail(c, i, "lies beyond the buffer or is not aligned", v, NULL);
    if (is_claimed(c, r->begin, r->end))
        return fail_overlap(c, i, v, r->begin, r->end);
    claim(c, r, 1);
    return true;
}

static bool check_scratch(check *c, int64_t i, const wgi_work *w)
{
    const wg_plan *p = c->p;
    if (w->scratch == WGI_NONE)
        return true;
    const wgi_storage *s = &p->layout.storage[w->scratch];
    if (s->offset + s->bytes > p->layout.buffer_bytes || w->call.scratch != s->memory)
        return fail(c, i, "has scratch beyond the buffer", w->node->out[0], NULL);
    if (is_claimed(c, s->offset, s->offset + s->bytes))
        return fail_overlap(c, i, w->node->out[0], s->offset, s->offset + s->bytes);
    return true;
}

static void release_if_last(check *c, int64_t i, range *r)
{
    if (r->held && r->last == i)
        claim(c, r, -1);
}

static bool check_step(check *c, int64_t i)
{
    const wgi_work *w = &c->p->program.work[i];
    const wg_node *n = w->node;
    if (!check_operands(c, i, w))
        return false;
    release_overwritten(c, i, n);
    for (int j = 0; j < n->n_out; j++)
        if (!claim_result(c, i, w, j))
            return false;
    if (!check_scratch(c, i, w))
        return false;
    for (int k = 0; k < n->n_in; k++)
        release_if_last(c, i, &c->of[c->root[n->in[k]->id]]);
    for (int j = 0; j < n->n_out; j++)
        release_if_last(c, i, &c->of[n->out[j]->id]);
    return true;
}

wg_status wg_plan_check(wg_plan *p)
{
    if (!p)
        return WG_EINVAL;
    check c = {.p = p, .marks = wgi_graph_marks(p->g), .root = wgi_roots(p->g)};
    bool ready = c.root && wgi_uses_init(&c.uses, p->g, c.root) && prepare(&c), ok = ready;
    p->message[0] = '\0';
    if (ready)
        find_ranges(&c);
    for (int64_t i = 0; ok && i < (int64_t)p->program.n_work; i++)
        ok = check_step(&c, i);
    wgi_uses_free(&c.uses);
    free(c.root);
    free(c.border);
    free(c.max);
    free(c.all);
    free(c.of);
    if (!ready)
        snprintf(p->message, sizeof p->message, "out of memory");
    return ok ? WG_OK : ready ? WG_EINVAL : WG_ENOMEM;
}
