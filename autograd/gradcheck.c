/* The gradient check of a whole graph. */
#include "autograd/check.h"
#include "autograd/internal.h"
#include "graph/mix.h"
#include "graph/element.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

static bool holds_data(const wg_node *n)
{
    return n->op->flags & WG_OP_LEAF && n->op->flags & WG_OP_OPAQUE; /* not a constant */
}

/* The user's numbers, floats widened as the graph was. */
static void take_data(wgi_point *p, const wg_value *from, const void *data)
{
    int64_t count = wg_value_count(from);
    if (!wg_dtype_is_float(from->dtype))
        memcpy(p->data, data, wg_value_bytes(from));
    else
        for (int64_t i = 0; i < count; i++)
            ((double *)p->data)[i] = wgi_get_element(data, from->dtype, i);
}

/* Fills the point of a leaf of the user's graph by chance: parameters and states as a store would,
 * inputs from their range. */
static wg_status draw_leaf(wgi_trial *t, wgi_point *p, const wg_value *from, bool ranged)
{
    t->drawn |= wg_value_count(from) > 0;
    if (!ranged && from->node->op->flags & (WG_OP_PARAMETER | WG_OP_STATE))
        return wgi_draw_initial(p, &t->random);
    wgi_draw_point(p, &t->random);
    return WG_OK;
}

static const wg_gradcheck_leaf *find_given(const wg_gradcheck_options *o, const wg_value *leaf)
{
    for (size_t i = 0; i < o->n_leaves; i++)
        if (o->leaves[i].leaf == leaf)
            return &o->leaves[i];
    return NULL;
}

/* Why there are no numbers for a leaf; WG_OK if there are. */
static wg_status check_leaf(wgi_trial *t, const wg_value *from, const wg_value *leaf, bool has_data,
                            bool ranged)
{
    char name[128];
    wg_value_text(from, name, sizeof name);
    bool initial = from->node->op->flags & (WG_OP_PARAMETER | WG_OP_STATE);
    if (wg_dtype_is_int(leaf->dtype) && !has_data && !ranged && !initial)
        return wgi_trial_error(t, WG_EINVAL,
                               "%s holds integers: give its data or a range in .leaves", name);
    return WG_OK;
}

static wg_status fill_leaf(wgi_trial *t, const wg_value *from, wg_value *leaf)
{
    const wg_gradcheck_options *o = t->options;
    const wg_gradcheck_leaf *given = find_given(o, from);
    bool ranged = given && given->lo < given->hi;
    const void *data = given && given->data ? given->data
                       : o->live && !given && wg_value_bytes(from)
                           ? o->evaluator->data(o->live, from)
                           : NULL;
    wg_status status = check_leaf(t, from, leaf, data != NULL, ranged);
    if (status != WG_OK)
        return status;
    wgi_point *p = wgi_trial_add_point(t, leaf, ranged ? given->lo : -1, ranged ? given->hi : 1);
    if (!p)
        return WG_ENOMEM;
    p->matrices = given ? given->matrices : WG_MATRICES_ANY;
    if (!data)
        return draw_leaf(t, p, from, ranged);
    take_data(p, from, data);
    return WG_OK;
}

/* A value that is none of the graph's floats: says what it is. */
static wg_status refuse(wgi_trial *t, const char *what, size_t i, const char *wanted,
                        const wg_value *v, const wg_graph *from)
{
    char name[128];
    if (!v)
        return wgi_trial_error(t, WG_EINVAL, "%s[%zu] is NULL, expected %s", what, i, wanted);
    wg_value_text(v, name, sizeof name);
    return wgi_trial_error(t, WG_EINVAL, "%s[%zu], %s, is %s%s%s, expected %s", what, i, name,
                           wg_graph_of(v) == from ? "" : "of another graph, ",
                           wg_dtype_name(v->dtype), holds_data(v->node) ? "" : " and computed",
                           wanted);
}

/* Entries of options->leaves that would not be used would leave the check on other points. */
static wg_status check_given(wgi_trial *t, const wg_graph *from)
{
    const wg_gradcheck_options *o = t->options;
    for (size_t i = 0; i < o->n_leaves; i++) {
        const wg_gradcheck_leaf *l = &o->leaves[i];
        char name[128];
        if (!l->leaf || wg_graph_of(l->leaf) != from || !holds_data(l->leaf->node))
            return refuse(t, "leaves", i, "a leaf of the graph", l->leaf, from);
        if (!l->data && (l->lo != 0 || l->hi != 0) && !(l->lo < l->hi))
            return wgi_trial_error(t, WG_EINVAL,
                                   "leaves[%zu], %s: expected lo below hi, got %g, %g", i,
                                   wg_value_text(l->leaf, name, sizeof name), l->lo, l->hi);
    }
    return WG_OK;
}

/* y and wrt, in the copy: those of the options, or all. */
static wg_status choose_values(wgi_trial *t, const wg_graph *from, wg_value **map)
{
    const wg_gradcheck_options *o = t->options;
    size_t values = wg_graph_value_count(from), outputs = wg_graph_output_count(from);
    t->y = calloc(o->n_y + outputs + 1, sizeof *t->y);
    t->wrt = calloc(o->n_wrt + values + 1, sizeof *t->wrt);
    if (!t->y || !t->wrt)
        return WG_ENOMEM;
    for (size_t i = 0; i < o->n_y; i++) {
        if (!o->y[i] || wg_graph_of(o->y[i]) != from || map[o->y[i]->id]->dtype != WG_F64)
            return refuse(t, "y", i, "an f32 or f64 value of the graph", o->y[i], from);
        t->y[t->n_y++] = map[o->y[i]->id];
    }
    for (size_t i = 0; !o->n_y && i < outputs; i++)
        if (map[wg_graph_output(from, i)->id]->dtype == WG_F64)
            t->y[t->n_y++] = map[wg_graph_output(from, i)->id];
    for (size_t i = 0; i < o->n_wrt; i++) {
        wg_value *v = o->wrt[i];
        if (!v || wg_graph_of(v) != from || map[v->id]->dtype != WG_F64 || !holds_data(v->node))
            return refuse(t, "wrt", i, "an f32 or f64 leaf of the graph", v, from);
        t->wrt[t->n_wrt++] = map[v->id];
    }
    for (size_t i = 0; !o->n_wrt && i < values; i++) {
        const wg_value *v = wg_graph_value(from, i);
        if (holds_data(v->node) && map[i]->dtype == WG_F64)
            t->wrt[t->n_wrt++] = map[i];
    }
    if (!t->n_y || !t->n_wrt)
        return wgi_trial_error(t, WG_EINVAL, "no float %s",
                               t->n_y ? "leaf to differentiate in" : "output");
    return WG_OK;
}

/* Elements compared in each of n leaves, if the options do not say.  In large leaves a line through
 * all elements is compared as well, so that few are enough where many leaves would take long. */
static size_t elements_of_each(size_t n)
{
    enum { MOST = 64, LEAST = 4, IN_ALL = 512 };
    size_t share = IN_ALL / n;
    return share > MOST ? MOST : share < LEAST ? LEAST : share;
}

static wg_status open_graph(wgi_trial *t, wg_graph *g)
{
    const wg_clone_options clone = {.floats_as = WG_F64, .keep_all = true};
    size_t values = wg_graph_value_count(g);
    wg_value **map = calloc(values + 1, sizeof *map);
    wg_status status = WG_ENOMEM;
    if (!map || !(t->g = wg_graph_clone(g, &clone, map)))
        goto done;
    if ((status = wg_graph_status(t->g)) == WG_OK)
        status = check_given(t, g);
    if (status == WG_OK)
        status = choose_values(t, g, map);
    if (status == WG_OK && !t->max)
        t->max = elements_of_each(t->n_wrt);
    for (size_t i = 0; i < values && status == WG_OK; i++)
        if (holds_data(wg_graph_value(g, i)->node))
            status = fill_leaf(t, wg_graph_value(g, i), map[i]);
done:
    free(map);
    return t->g ? wgi_graph_error(t, status) : status;
}

/* One check at points drawn from `seed`; *drawn: some were. */
static wg_status check_once(wg_graph *g, const wg_gradcheck_options *options, uint64_t seed,
                            wg_gradcheck_report *r, bool *drawn)
{
    wgi_trial t = {.random = seed, .options = options, .report = r, .max = options->max};
    wgi_set_differences(&t,
                        options->differences == WG_DIFFERENCES_FOUR_POINT ? WG_SMOOTH : WG_KINKED);
    wg_status status = open_graph(&t, g);
    if (status == WG_OK)
        status = wgi_check_orders(&t);
    if (status == WG_OK)
        status = wgi_verdict(&t);
    *drawn = t.drawn;
    wgi_trial_close(&t);
    wg_graph_free(t.g);
    return status;
}

wg_status wg_gradcheck(wg_graph *g, const wg_gradcheck_options *options,
                       wg_gradcheck_report *report)
{
    enum { TRIES = 4 };
    wg_gradcheck_report own, *r = report ? report : &own;
    *r = (wg_gradcheck_report){0};
    wg_status status = wgi_gradcheck_options_check(options, r);
    if (status == WG_OK && (status = wg_graph_status(g)) != WG_OK)
        snprintf(r->message, sizeof r->message, "%s", wg_graph_message(g));
    bool again = status == WG_OK;
    for (uint64_t i = 0; i < TRIES && again; i++) {
        bool drawn = false;
        *r = (wg_gradcheck_report){0};
        status = check_once(g, options, options->seed + i * WGI_GOLDEN, r, &drawn);
        /* a point that cannot be decided may have been unlucky: too near to a kink */
        again = drawn && status == WG_EDATA && r->verdict == WG_GRADCHECK_UNDECIDED && !*r->kernel;
    }
    return status;
}
