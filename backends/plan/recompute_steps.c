/* The program of a planner as arrays (recompute.h). */
#include "backends/plan/recompute.h"
#include "backends/memory.h"
#include "backends/plan/planner.h"

#include <stdlib.h>

typedef struct extract {
    const wgi_planner *p;
    wgi_steps *s;
    uint32_t *stamp; /* [values] the last step + 1 that was seen to read it             */
    int64_t *writer; /* [storages] the step that writes a leaf's new value in its place */
    wgi_uses uses;
} extract;

static bool in_buffer(const wgi_planner *p, uint32_t root)
{
    return p->layout.storage[p->layout.storage_of[root]].kind == WGI_STORAGE_BUFFER;
}

void wgi_steps_free(wgi_steps *s)
{
    void *const owned[] = {s->step, s->value, s->work, s->in,
                           s->out,  s->use,   s->over, s->first_over};
    for (int i = 0; i < WG_COUNT(owned); i++)
        free(owned[i]);
    *s = (wgi_steps){.n_steps = 0};
}

static const wgi_work *work_of(const extract *e, size_t step)
{
    return &e->p->program.work[e->s->work[step]];
}

/* ---- operands and results -------------------------------------------------------------------- */

static void list_operands(extract *e, uint32_t i, size_t *n)
{
    const wg_node *node = work_of(e, i)->node;
    e->s->step[i].first_in = *n;
    for (int k = 0; k < node->n_in; k++) {
        uint32_t r = e->p->root[node->in[k]->id];
        if (!in_buffer(e->p, r) || e->stamp[r] == i + 1)
            continue;
        e->stamp[r] = i + 1;
        e->s->in[(*n)++] = r;
        e->s->value[r].end_use++;
    }
    e->s->step[i].end_in = *n;
}

static void list_results(extract *e, uint32_t i, size_t *n)
{
    const wg_node *node = work_of(e, i)->node;
    e->s->step[i].first_out = *n;
    for (int k = 0; k < node->n_out; k++) {
        const wg_value *v = node->out[k];
        const wgi_storage *at = &e->p->layout.storage[e->p->layout.storage_of[v->id]];
        if (at->kind == WGI_STORAGE_TENSOR)
            e->writer[e->p->layout.storage_of[v->id]] = i;
        if (at->kind != WGI_STORAGE_BUFFER)
            continue;
        e->s->value[v->id].bytes = wgi_round_up(wg_value_bytes(v));
        e->s->value[v->id].step = i;
        e->s->bytes += e->s->value[v->id].bytes;
        e->s->out[(*n)++] = v->id;
    }
    e->s->step[i].end_out = *n;
}

static void list_steps(extract *e)
{
    size_t n_in = 0, n_out = 0;
    for (uint32_t i = 0; i < e->s->n_steps; i++) {
        const wgi_work *w = work_of(e, i);
        list_operands(e, i, &n_in);
        list_results(e, i, &n_out);
        e->s->step[i].scratch = wgi_round_up(w->kernel.scratch);
        e->s->step[i].cost =
            wg_node_flops(w->node) + WGI_OPERATIONS_PER_BYTE * wg_node_bytes(w->node);
        e->s->bytes += e->s->step[i].scratch;
    }
}

/* value.end_use has the number of uses of each; a counting sort makes the lists. */
static void list_uses(extract *e)
{
    wgi_steps *s = e->s;
    uint32_t at = 0;
    for (size_t v = 0; v < s->n_values; v++) {
        uint32_t count = s->value[v].end_use;
        s->value[v].first_use = s->value[v].end_use = at;
        at += count;
    }
    for (uint32_t i = 0; i < s->n_steps; i++)
        for (size_t k = s->step[i].first_in; k < s->step[i].end_in; k++)
            s->use[s->value[s->in[k]].end_use++] = i;
}

/* ---- over which operands results may be written ---------------------------------------------- */

/* Over which operands of node result v may be written, at most `room` of them. */
static size_t list_over(extract *e, const wg_node *node, const wg_value *v, uint32_t *over)
{
    const wgi_layout *l = &e->p->layout;
    size_t n = 0;
    if (e->p->options.no_inplace || l->storage[l->storage_of[v->id]].exclusive)
        return 0;
    for (int k = 0; k < node->n_in; k++) {
        uint32_t r = e->p->root[node->in[k]->id];
        if (in_buffer(e->p, r) && wgi_may_overwrite(&e->uses, node, v->index, r) && over)
            over[n] = r;
        n += in_buffer(e->p, r) && wgi_may_overwrite(&e->uses, node, v->index, r);
    }
    return n;
}

static bool list_overs(extract *e)
{
    wgi_steps *s = e->s;
    for (int filling = 0; filling < 2; filling++) {
        size_t n = 0;
        for (size_t i = 0; i < s->n_steps; i++)
            for (size_t o = s->step[i].first_out; o < s->step[i].end_out; o++) {
                s->first_over[o] = n;
                n += list_over(e, work_of(e, i)->node, wg_graph_value(e->p->g, s->out[o]),
                               s->over ? s->over + n : NULL);
                s->first_over[o + 1] = n;
            }
        if (!filling && !(s->over = malloc((n + 1) * sizeof *s->over)))
            return false;
    }
    return true;
}

/* ---- what can be computed again -------------------------------------------------------------- */

/* Not opaque ops, and not what writes into the place of a leaf. */
static bool can_run_again(const extract *e, uint32_t i)
{
    const wg_node *node = work_of(e, i)->node;
    bool can = !(node->op->flags & WG_OP_OPAQUE);
    for (int k = 0; k < node->n_out; k++)
        can &= in_buffer(e->p, node->out[k]->id);
    return can;
}

/* The last step before which root r can be read: a leaf, until its new value takes its place. */
static int64_t limit_of(const extract *e, uint32_t r)
{
    if (in_buffer(e->p, r))
        return e->s->value[r].limit;
    int64_t writer = e->writer[e->p->layout.storage_of[r]];
    bool leaf = wgi_is_outer(wg_graph_value(e->p->g, r)->node);
    return leaf && writer != WGI_NONE ? writer : INT64_MAX;
}

/* What cannot be computed again can be read until its last use; what can be, as long as its
 * operands. */
static void find_limits(extract *e)
{
    for (uint32_t i = 0; i < e->s->n_steps; i++) {
        const wg_node *node = work_of(e, i)->node;
        bool again = can_run_again(e, i);
        int64_t limit = INT64_MAX;
        for (int k = 0; k < node->n_in; k++) {
            uint32_t r = e->p->root[node->in[k]->id];
            int64_t of = limit_of(e, r);
            limit = of < limit ? of : limit;
        }
        for (size_t o = e->s->step[i].first_out; o < e->s->step[i].end_out; o++) {
            wgi_step_value *y = &e->s->value[e->s->out[o]];
            y->again = again;
            y->limit = again                       ? limit
                       : y->end_use > y->first_use ? (int64_t)e->s->use[y->end_use - 1]
                                                   : WGI_NONE;
            y->limit = y->kept ? INT64_MAX : y->limit;
        }
    }
}

static void find_kept(extract *e)
{
    const wgi_planner *p = e->p;
    for (size_t i = 0; i < p->marks.n_outputs; i++)
        e->s->value[p->root[p->marks.outputs[i].value->id]].kept = true;
    for (size_t i = 0; i < p->marks.n_assigns; i++)
        e->s->value[p->root[p->marks.assigns[i].value->id]].kept = true;
    for (size_t v = 0; p->options.keep_all && v < e->s->n_values; v++)
        e->s->value[v].kept = true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool allocate(extract *e)
{
    const wgi_planner *p = e->p;
    wgi_steps *s = e->s;
    size_t n_in = 0, n_out = 0;
    for (size_t i = 0; i < s->n_steps; i++) {
        n_in += (size_t)p->program.work[i].node->n_in;
        n_out += (size_t)p->program.work[i].node->n_out;
    }
    s->step = calloc(s->n_steps + 1, sizeof *s->step);
    s->work = calloc(s->n_steps + 1, sizeof *s->work);
    s->value = calloc(s->n_values + 1, sizeof *s->value);
    s->in = calloc(n_in + 1, sizeof *s->in);
    s->use = calloc(n_in + 1, sizeof *s->use);
    s->out = calloc(n_out + 1, sizeof *s->out);
    s->first_over = calloc(n_out + 2, sizeof *s->first_over);
    e->stamp = calloc(s->n_values + 1, sizeof *e->stamp);
    e->writer = malloc((p->layout.n_storages + 1) * sizeof *e->writer);
    for (size_t i = 0; e->writer && i < p->layout.n_storages; i++)
        e->writer[i] = WGI_NONE;
    return s->step && s->work && s->value && s->in && s->use && s->out && s->first_over &&
           e->stamp && e->writer;
}

bool wgi_steps_of(const wgi_planner *p, wgi_steps *s)
{
    *s = (wgi_steps){.n_steps = p->program.n_work, .n_values = wg_graph_value_count(p->g)};
    extract e = {.p = p, .s = s};
    bool ok = allocate(&e) && wgi_uses_init(&e.uses, p->g, p->root);
    ok = ok && wgi_recompute_order(p, s->work);
    if (ok) {
        list_steps(&e);
        list_uses(&e);
        find_kept(&e);
        find_limits(&e);
        ok = list_overs(&e);
    }
    free(e.stamp);
    free(e.writer);
    wgi_uses_free(&e.uses);
    return ok;
}
