/* Norms over rows that are computed a second time.
 *
 * The gradient of a norm needs the operand, say the sum of a residual stream, and the gradients of
 * the products that read the result need that.  But the result is only a pass over memory away from
 * the operand.  So a result that would be held across the peak of memory, without being used there,
 * is dropped after the uses before the peak; ahead of the first use after it, a plain norm of the
 * same operand makes the same bits again.  The operand must be held across the peak for the sake of
 * others; where it is held for longer than before, the result is held for as much less.
 *
 * A step of the base Transformer takes 353 instead of 411 MiB for one part in 300 of its time. */
#include "backends/plan/copies.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>

enum { LEAST_BYTES = 1 << 18 }; /* of a result that is worth one more kernel call */

/* When a root is needed; times are nodes, which are in order of execution. */
typedef struct span {
    int64_t made, end;     /* computed, and needed for the last time                    */
    int64_t before, after; /* last use up to the peak, and first one after it; WGI_NONE  */
    bool assigned;
} span;

typedef struct pass {
    const wgi_planner *p;
    const wg_graph *g;
    uint32_t *root;
    span *span; /* [values] by root */
    int64_t peak;
    wg_value **again; /* [nodes] the first result to be computed again before that node, or NULL */
    wg_value **next;  /* [values] the one after it */
    size_t n_again;
} pass;

/* ---- when values are needed ------------------------------------------------------------------ */

static void find_ends(pass *s)
{
    const wg_graph *g = s->g;
    int64_t count = (int64_t)wg_graph_node_count(g);
    for (size_t v = 0; v < wg_graph_value_count(g); v++) {
        int64_t made = wg_graph_value(g, v)->node->id;
        s->span[v] = (span){made, made, WGI_NONE, WGI_NONE, false};
    }
    for (int64_t i = 0; i < count; i++) {
        const wg_node *n = wg_graph_node(g, (size_t)i);
        for (int k = 0; k < n->n_in && !wgi_is_view(n); k++)
            s->span[s->root[n->in[k]->id]].end = i;
    }
    for (size_t i = 0; i < s->p->marks.n_outputs; i++)
        s->span[s->root[s->p->marks.outputs[i].value->id]].end = count;
    for (size_t i = 0; i < s->p->marks.n_assigns; i++) {
        span *a = &s->span[s->root[s->p->marks.assigns[i].value->id]];
        a->end = count;
        a->assigned = true;
    }
}

/* Assigned values do not count: most are written into their leaves. */
static void count_bytes(const pass *s, int64_t *change)
{
    for (size_t v = 0; v < wg_graph_value_count(s->g); v++) {
        const wg_value *x = wg_graph_value(s->g, v);
        const span *a = &s->span[v];
        if (s->root[v] != v || (x->node->op->flags & WG_OP_LEAF) || a->assigned)
            continue;
        change[a->made] += (int64_t)wg_value_bytes(x);
        change[a->end + 1] -= (int64_t)wg_value_bytes(x);
    }
}

/* The node during which most bytes are held; WGI_NONE without memory. */
static int64_t find_peak(const pass *s)
{
    size_t nodes = wg_graph_node_count(s->g);
    int64_t *change = calloc(nodes + 2, sizeof *change), held = 0, most = 0, peak = 0;
    if (!change)
        return WGI_NONE;
    count_bytes(s, change);
    for (size_t i = 0; i < nodes; i++) {
        held += change[i];
        if (held > most) {
            most = held;
            peak = (int64_t)i;
        }
    }
    free(change);
    return peak;
}

static void find_uses_around_peak(pass *s)
{
    int64_t count = (int64_t)wg_graph_node_count(s->g);
    for (int64_t i = 0; i < count; i++) {
        const wg_node *n = wg_graph_node(s->g, (size_t)i);
        for (int k = 0; k < n->n_in && !wgi_is_view(n); k++) {
            span *a = &s->span[s->root[n->in[k]->id]];
            if (i <= s->peak)
                a->before = i;
            else if (a->after == WGI_NONE)
                a->after = i;
        }
    }
}

/* ---- which norms ----------------------------------------------------------------------------- */

/* The operand of the norm whose result is n's first, NULL if n is none. */
static wg_value *normalized(const wg_node *n)
{
    if (n->op == &wg_op_residual_layernorm)
        return n->out[3];
    return n->op == &wg_op_layernorm || n->op == &wg_op_rmsnorm ? n->in[0] : NULL;
}

static void consider(pass *s, const wg_node *n)
{
    wg_value *x = normalized(n), *y = n->out[0];
    if (!x || (x->node->op->flags & WG_OP_LEAF) || wgi_has_half(n) ||
        wg_value_bytes(y) < LEAST_BYTES)
        return;
    const span *a = &s->span[y->id];
    if (a->before == s->peak || a->made >= s->peak || a->after == WGI_NONE ||
        a->end == (int64_t)wg_graph_node_count(s->g) || s->span[s->root[x->id]].end <= s->peak)
        return;
    s->next[y->id] = s->again[a->after];
    s->again[a->after] = y;
    s->n_again++;
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* Whether a backend other than the reference takes a node like this, asked of one whose operands
 * are inputs of their shapes.  *failed: there was no memory to ask. */
static bool is_taken(const pass *s, const wg_node *like, bool *failed)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[3];
    static const char *const name[] = {"x", "gain", "bias"};
    for (int k = 0; g && k < like->n_in; k++)
        in[k] = wg_input(g, name[k], like->in[k]->dtype, like->in[k]->shape);
    const wg_node *n = g ? wg_node_copy(g, like, in, WG_DTYPE_DEFAULT) : NULL;
    *failed = !n;
    bool taken = n && wgi_is_taken(&s->p->backends, s->p->backends.count - 1, n);
    wg_graph_free(g);
    return taken;
}

/* Appends the plain norm that computes y once more; true if it is left out since nobody has a
 * kernel for it. */
static bool compute_again(const pass *s, wgi_copies *c, const wg_value *y)
{
    const wg_node *n = y->node;
    wg_node like = *n; /* scope and line */
    wg_rownorm_attrs attrs = {.axes = 1};
    wg_value *in[3];
    bool failed;
    like.in = in;
    in[0] = normalized(n);
    if (n->op == &wg_op_residual_layernorm) {
        attrs.eps = ((const wg_residual_layernorm_attrs *)n->attrs)->eps;
        like.op = &wg_op_layernorm;
        like.attrs = &attrs;
        like.n_in--;
    }
    int beside = n->n_in - like.n_in; /* operands that only the residual form has */
    for (int k = 1; k < like.n_in; k++)
        in[k] = n->in[k + beside];
    if (!is_taken(s, &like, &failed))
        return !failed;
    for (int k = 0; k < like.n_in; k++)
        if (!wgi_copies_refresh(c, in[k]))
            return false;
    for (int k = 0; k < like.n_in; k++)
        in[k] = c->map[in[k]->id];
    wg_node *copy = wg_node_copy(c->to, &like, in, WG_DTYPE_DEFAULT);
    if (!wgi_copies_mark_again(c, copy) || !wg_name_copy(copy->out[0], y))
        return false;
    c->map[y->id] = copy->out[0];
    return true;
}

static bool copy_all(const pass *s, wgi_copies *c)
{
    bool ok = true;
    for (size_t i = 0; ok && i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = wg_graph_node(s->g, i);
        c->phase = n->phase;
        for (const wg_value *y = s->again[i]; ok && y; y = s->next[y->id])
            ok = compute_again(s, c, y);
        ok = ok && wgi_copies_add(c, n);
    }
    return ok;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool find_norms(pass *s)
{
    size_t values = wg_graph_value_count(s->g), nodes = wg_graph_node_count(s->g);
    s->root = wgi_roots(s->g);
    s->span = calloc(values + 1, sizeof *s->span);
    s->again = calloc(nodes + 1, sizeof *s->again);
    s->next = calloc(values + 1, sizeof *s->next);
    if (!s->root || !s->span || !s->again || !s->next)
        return false;
    find_ends(s);
    s->peak = find_peak(s);
    if (s->peak == WGI_NONE)
        return false;
    find_uses_around_peak(s);
    for (size_t i = 0; i < nodes; i++)
        consider(s, wg_graph_node(s->g, i));
    return true;
}

bool wgi_pass_norms(wgi_planner *p)
{
    if (p->options.no_fuse || p->options.keep_all)
        return true;
    pass s = {.p = p, .g = p->g};
    bool ok = find_norms(&s) || wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    if (ok && s.n_again) {
        wgi_copies c;
        ok = wgi_copies_begin(&c, s.g, s.root, NULL) && copy_all(&s, &c);
        ok = wgi_copies_end(&c, p, ok);
    }
    free(s.root);
    free(s.span);
    free(s.again);
    free(s.next);
    return ok;
}
