/* Branches whose condition, and loops whose count, is known while the file is read: the branch is
 * chosen, the loop unrolled. */
#include "onnx/ops.h"

static const ox_graph_proto *graph_of(ox_node *n, const char *name)
{
    const ox_attribute_proto *a = wgi_ox_attribute(n, name);
    if (!a || !a->g)
        wgi_ox_fail(n, WG_EDATA, "no subgraph '%s'", name);
    return a ? a->g : NULL;
}

static bool keep(ox_node *n, size_t i, ox_item *item)
{
    if (i >= OX_MAX_RESULTS || !item)
        return wgi_ox_refuse(n, "more than %d results", OX_MAX_RESULTS);
    n->result[i] = wgi_ox_value(n->import, item);
    n->type[i] = item->type;
    return n->result[i];
}

wg_value *wgi_ox_if(ox_node *n)
{
    bool chosen = wgi_ox_real_in(n, 0, 0) != 0;
    const ox_graph_proto *g =
        wgi_ox_failed(n) ? NULL : graph_of(n, chosen ? "then_branch" : "else_branch");
    ox_item *out[OX_MAX_RESULTS];
    size_t count = n->proto->n_output;
    if (!g || count > OX_MAX_RESULTS || !n->import->subgraph(n, g, NULL, 0, out, count))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!keep(n, i, out[i]))
            return NULL;
    return n->result[0];
}

/* ---- unrolling ------------------------------------------------------------------------------- */

/* What a loop carries from round to round, and what it collects. */
typedef struct rounds {
    ox_node *n;
    const ox_graph_proto *body;
    size_t carried, collected;
    ox_item *state[OX_MAX_RESULTS];
    wg_value **item; /* [WGI_OX_ROUNDS] of each collected value */
    const ox_type *type[OX_MAX_RESULTS];
    int64_t count; /* rounds so far */
} rounds;

static bool begin(rounds *r, ox_node *n, size_t first, size_t carried)
{
    const ox_graph_proto *body = graph_of(n, "body");
    *r = (rounds){.n = n, .body = body, .carried = carried};
    if (!body)
        return false;
    size_t wanted = n->proto->n_output;
    if (carried > OX_MAX_RESULTS / 2 || wanted > OX_MAX_RESULTS / 2 ||
        body->n_output > OX_MAX_RESULTS / 2)
        return wgi_ox_refuse(n, "more than %d values", OX_MAX_RESULTS / 2);
    if (wanted < carried)
        return wgi_ox_refuse(n, "fewer results than carried values");
    r->collected = wanted - carried;
    for (size_t i = 0; i < carried; i++)
        r->state[i] = n->operand[first + i];
    r->item = wgi_ox_alloc(n, (r->collected + 1) * WGI_OX_ROUNDS * sizeof(wg_value *));
    return r->item;
}

static ox_item *item_of(ox_node *n, wg_value *v, const ox_type *type)
{
    ox_item *item = wgi_ox_alloc(n, sizeof *item);
    if (item)
        *item = (ox_item){.value = v, .type = type};
    return item;
}

/* The results of a round, from out[skip] on: the next states, then what is collected. */
static bool collect(rounds *r, ox_item **out)
{
    if (r->count == WGI_OX_ROUNDS)
        return wgi_ox_refuse(r->n, "more than %d rounds of a loop", WGI_OX_ROUNDS);
    for (size_t i = 0; i < r->carried; i++)
        r->state[i] = out[i];
    for (size_t i = 0; i < r->collected; i++) {
        wg_value *v = wgi_ox_value(r->n->import, out[r->carried + i]);
        if (!v)
            return false;
        r->item[i * WGI_OX_ROUNDS + (size_t)r->count] = v;
        r->type[i] = out[r->carried + i]->type;
    }
    r->count++;
    return true;
}

/* Result carried + i is stacked along `axis`. */
static wg_value *finish(rounds *r, const ox_ints *axes, const ox_ints *directions)
{
    ox_node *n = r->n;
    for (size_t i = 0; i < r->carried; i++)
        if (!r->state[i] || !keep(n, i, r->state[i]))
            return NULL;
    for (size_t i = 0; i < r->collected; i++) {
        if (!r->count)
            return wgi_ox_refuse(n, "a loop of no rounds that collects values");
        wg_value **list = r->item + i * WGI_OX_ROUNDS;
        int rank = list[0]->shape.rank + 1;
        int axis = wgi_ox_axis(n, i < axes->n ? axes->at[i] : 0, rank);
        if (axis < 0)
            return NULL;
        wg_value *all = wg_stack(list, (size_t)r->count, axis);
        bool back = i < directions->n && directions->at[i];
        n->type[r->carried + i] = r->type[i];
        wgi_ox_set(n, (int)(r->carried + i), back ? wg_flip(all, WG_AXES(axis)) : all);
    }
    return n->result[0];
}

/* Whether another round follows, from a condition that must be known; an absent one is true. */
static bool goes_on(rounds *r, ox_item *condition)
{
    ox_node *n = r->n;
    if (!condition)
        return true;
    ox_item *before = n->operand[1];
    n->operand[1] = condition; /* so that messages and helpers apply to it */
    bool on = wgi_ox_real_in(n, 1, 1) != 0;
    n->operand[1] = before;
    return on && !wgi_ox_failed(n);
}

/* Operands: the count or nothing, the condition or nothing, what is carried.  The body takes the
 * number of the round, the condition, the states; it gives the condition, states, and values to
 * collect. */
wg_value *wgi_ox_loop(ox_node *n)
{
    rounds r;
    size_t carried = n->n_operands > 2 ? n->n_operands - 2 : 0;
    double count = wgi_ox_real_in(n, 0, WGI_OX_ROUNDS + 1);
    ox_item *in[OX_MAX_RESULTS], *out[OX_MAX_RESULTS];
    if (n->n_operands < 2)
        return wgi_ox_fail(n, WG_EDATA, "expected a count and a condition, which may be left out");
    if (wgi_ox_failed(n) || !begin(&r, n, 2, carried))
        return NULL;
    ox_item *condition = n->operand[1];
    ox_item *yes = item_of(n, wg_fill(n->graph, WG_BOOL, WG_SCALAR, 1), wgi_ox_type_of(WG_BOOL));
    while ((double)r.count < count && goes_on(&r, condition)) {
        wg_value *number = wg_constant(n->graph, WG_I64, WG_SCALAR, &r.count);
        in[0] = item_of(n, number, wgi_ox_type_of(WG_I64));
        in[1] = condition ? condition : yes;
        for (size_t i = 0; i < carried; i++)
            in[2 + i] = r.state[i];
        if (!n->import->subgraph(n, r.body, in, 2 + carried, out, 1 + carried + r.collected) ||
            !collect(&r, out + 1))
            return NULL;
        condition = out[0];
    }
    return wgi_ox_failed(n) ? NULL : finish(&r, &(ox_ints){0}, &(ox_ints){0});
}

/* Slice t of a sequence, along its axis. */
static ox_item *slice(ox_node *n, size_t operand, const ox_ints *axes, const ox_ints *directions,
                      size_t i, int64_t t)
{
    wg_value *v = wgi_ox_in(n, (int)operand);
    int axis = v ? wgi_ox_axis(n, i < axes->n ? axes->at[i] : 0, v->shape.rank) : -1;
    if (axis < 0)
        return NULL;
    if (i < directions->n && directions->at[i])
        t = v->shape.dim[axis] - 1 - t;
    return item_of(n, wg_squeeze(wg_slice(v, axis, t, t + 1, 1), axis),
                   wgi_ox_type_in(n, (int)operand));
}

/* Operands: what is carried, then `sequences` tensors that are cut into their slices. */
wg_value *wgi_ox_scan(ox_node *n)
{
    rounds r;
    size_t sequences = (size_t)wgi_ox_int(n, "num_scan_inputs", 0);
    ox_ints axes, directions, out_axes, out_directions;
    ox_item *in[OX_MAX_RESULTS], *out[OX_MAX_RESULTS];
    if (n->opset < 9)
        return wgi_ox_refuse(n, "before opset 9");
    if (!sequences || sequences > n->n_operands)
        return wgi_ox_fail(n, WG_EDATA, "num_scan_inputs is %zu", sequences);
    size_t carried = n->n_operands - sequences;
    wgi_ox_ints(n, "scan_input_axes", &axes);
    wgi_ox_ints(n, "scan_input_directions", &directions);
    wgi_ox_ints(n, "scan_output_axes", &out_axes);
    wgi_ox_ints(n, "scan_output_directions", &out_directions);
    wg_value *first = wgi_ox_in(n, (int)carried);
    int axis = first ? wgi_ox_axis(n, axes.n ? axes.at[0] : 0, first->shape.rank) : -1;
    if (axis < 0 || !begin(&r, n, 0, carried) || carried + sequences > OX_MAX_RESULTS)
        return NULL;
    while (r.count < first->shape.dim[axis]) {
        for (size_t i = 0; i < carried; i++)
            in[i] = r.state[i];
        for (size_t i = 0; i < sequences; i++)
            if (!(in[carried + i] = slice(n, carried + i, &axes, &directions, i, r.count)))
                return NULL;
        if (!n->import->subgraph(n, r.body, in, carried + sequences, out, carried + r.collected) ||
            !collect(&r, out))
            return NULL;
    }
    return finish(&r, &out_axes, &out_directions);
}
