/* Which rule is wrong.
 *
 * Let t_v be the derivative of each value v along the line on which the gradient failed.  A right
 * rule keeps <cotangents of results, t of results> = <cotangents of operands, t of operands>.  The
 * difference of the two sides is the node's defect, and the defects of all nodes add up to the
 * error of the gradient along the line: the terms between nodes cancel.  So the rule at fault is
 * the one whose defect is the error, in size, and no other rule can be taken for it.
 *
 * The t_v come from central differences at the step at which the error was found. */
#include "autograd/check.h"
#include "graph/grow.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- records --------------------------------------------------------------------------------- */

void wgi_record_rule(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wgi_records *r = context;
    if (r->hook)
        r->hook->after_rule(r->hook->context, n, dy, dx);
    size_t n_out = (size_t)n->n_out, n_in = (size_t)n->n_in;
    wgi_record *more = wgi_grow(r->record, &r->capacity, r->count + 1, sizeof *more);
    wg_value **values = malloc(sizeof(wg_value *) * (n_out + n_in + 1));
    r->record = more ? more : r->record;
    if (!more || !values) {
        free(values);
        r->no_memory = true;
        return;
    }
    memcpy(values, dy, sizeof(wg_value *) * n_out);
    memcpy(values + n_out, dx, sizeof(wg_value *) * n_in);
    more[r->count++] = (wgi_record){n, values, values + n_out};
}

void wgi_records_free(wgi_records *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->record[i].dy);
    free(r->record);
    *r = (wgi_records){.hook = NULL};
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The values that defects need: a set, and the numbers of each by the value's id. */
typedef struct values {
    wg_value **list;
    size_t count, capacity;
    double **at, **tangent; /* NULL: not in the set */
    size_t n;               /* of at and of tangent */
    bool no_memory;
} values;

static double *numbers_of(values *v, const wg_value *value)
{
    double *numbers = calloc((size_t)wg_value_count(value) + 1, sizeof *numbers);
    v->no_memory |= !numbers;
    return numbers;
}

static void want(values *v, wg_value *value)
{
    if (!value || value->dtype != WG_F64 || v->no_memory || v->at[value->id])
        return;
    wg_value **more = wgi_grow(v->list, &v->capacity, v->count + 1, sizeof(wg_value *));
    if (!more) {
        v->no_memory = true;
        return;
    }
    v->list = more;
    v->list[v->count++] = value;
    v->at[value->id] = numbers_of(v, value);
    v->tangent[value->id] = numbers_of(v, value);
}

static void want_all(values *v, const wgi_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        const wgi_record *r = &records->record[i];
        for (int k = 0; k < r->node->n_out; k++) {
            want(v, r->dy[k]);
            want(v, r->node->out[k]);
        }
        for (int k = 0; k < r->node->n_in; k++) {
            want(v, r->dx[k]);
            want(v, r->node->in[k]);
        }
    }
}

static void free_values(values *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->at ? v->at[i] : NULL);
        free(v->tangent ? v->tangent[i] : NULL);
    }
    free(v->at);
    free(v->tangent);
    free(v->list);
}

/* Rules may leave cotangents in the broadcast shape; the walker sums them down, and so do the
 * records. */
static void sum_down(wgi_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        const wgi_record *r = &records->record[i];
        for (int k = 0; k < r->node->n_in; k++)
            if (r->dx[k])
                r->dx[k] = wg_sum_to(r->dx[k], r->node->in[k]->shape);
    }
}

/* ---- tangents -------------------------------------------------------------------------------- */

/* Moves the numbers of the line's leaf by h; returns the step that was really taken. */
static wg_status move(const wgi_evaluation *e, const wgi_line *line, double h, double *step)
{
    double *x = wgi_evaluation_data(e, line->leaf);
    const double *at = wgi_trial_point(e->t, line->leaf)->data;
    int64_t count = wg_value_count(line->leaf);
    *step = h;
    if (line->index >= 0) {
        x[line->index] = at[line->index] + h;
        *step = x[line->index] - at[line->index];
        return WG_OK;
    }
    double *weight = malloc(sizeof *weight * (size_t)count);
    if (!weight)
        return WG_ENOMEM;
    wgi_draw_weights(weight, count, line->weights);
    for (int64_t i = 0; i < count; i++)
        x[i] = at[i] + h * weight[i];
    free(weight);
    return WG_OK;
}

/* to = sign * values + to, for all values */
static void gather(const values *v, const wgi_evaluation *e, double **to, double sign)
{
    for (size_t i = 0; i < v->count; i++) {
        const double *from = wgi_evaluation_data(e, v->list[i]);
        int64_t count = wg_value_count(v->list[i]);
        for (int64_t k = 0; k < count; k++)
            to[v->list[i]->id][k] += sign * from[k];
    }
}

/* at: the values at the points; tangent: their derivatives along the line. */
static wg_status differentiate(values *v, const wgi_evaluation *e, const wgi_line *line)
{
    static const double side[] = {0, 1, -1};
    double step[WG_COUNT(side)];
    wg_status status = WG_OK;
    for (int i = 0; i < WG_COUNT(side) && status == WG_OK; i++) {
        status = move(e, line, side[i] * line->step, &step[i]);
        if (status == WG_OK)
            status = wgi_evaluation_run(e);
        if (status == WG_OK)
            gather(v, e, i ? v->tangent : v->at, i ? side[i] : 1);
    }
    for (size_t i = 0; i < v->count && status == WG_OK; i++) {
        int64_t count = wg_value_count(v->list[i]);
        for (int64_t k = 0; k < count; k++)
            v->tangent[v->list[i]->id][k] /= step[1] - step[2];
    }
    return status;
}

/* ---- defects --------------------------------------------------------------------------------- */

/* <cotangent, tangent of v>; 0 without a cotangent.  Where the cotangent is 0, the tangent may be
 * that of an infinity. */
static double product(const values *v, const wg_value *cotangent, const wg_value *of)
{
    if (!cotangent || !v->at[cotangent->id] || !v->tangent[of->id])
        return 0;
    long double sum = 0;
    int64_t count = wg_value_count(of);
    for (int64_t i = 0; i < count; i++)
        if (v->at[cotangent->id][i] != 0)
            sum += (long double)v->at[cotangent->id][i] * v->tangent[of->id][i];
    return (double)sum;
}

/* What a node takes: <cotangents of results, t of results>. */
static double taken(const values *v, const wgi_record *r)
{
    double sum = 0;
    for (int k = 0; k < r->node->n_out; k++)
        sum += product(v, r->dy[k], r->node->out[k]);
    return sum;
}

/* The defect of each node, by id.  What flows into an op without a derivative is lost: that is its
 * defect, if it does vary.  A node that takes NaN is not at fault. */
static void find_defects(const values *v, const wgi_records *records, double *defect)
{
    for (size_t i = 0; i < records->count; i++) {
        const wgi_record *r = &records->record[i];
        double takes = taken(v, r);
        if (!isfinite(takes))
            continue;
        defect[r->node->id] -= takes;
        for (int k = 0; k < r->node->n_in; k++) {
            const wg_node *from = r->node->in[k]->node;
            double part = product(v, r->dx[k], r->node->in[k]);
            defect[r->node->id] += part;
            if (from->op->flags & WG_OP_DISCRETE)
                defect[from->id] -= part;
        }
    }
}

/* The defects of all nodes of one op together: a wrong rule is wrong wherever it is used. */
static double defect_of_op(const wgi_trial *t, const double *defect, const wg_op *op, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (wg_graph_node(t->g, i)->op == op)
            sum += defect[i];
    return sum;
}

/* The node with the largest defect, if those of its op explain most of the error. */
static void accuse(wgi_trial *t, const double *defect, size_t n)
{
    size_t worst = 0;
    for (size_t i = 1; i < n; i++)
        if (!(fabs(defect[i]) <= fabs(defect[worst])) && !isnan(defect[worst]))
            worst = i;
    const wg_node *node = wg_graph_node(t->g, worst);
    double explained = defect_of_op(t, defect, node->op, n) / t->error;
    if (!(explained < 0.5) && !(explained > 2) && defect[worst] != 0)
        wgi_place_text(node, t->report->guilty, sizeof t->report->guilty);
}

wg_status wgi_blame(wgi_trial *t, wgi_records *records)
{
    wgi_evaluation e = {.t = NULL};
    size_t nodes = wg_graph_node_count(t->g);
    sum_down(records);
    values v = {.n = wg_graph_value_count(t->g)};
    v.at = calloc(v.n + 1, sizeof *v.at);
    v.tangent = calloc(v.n + 1, sizeof *v.tangent);
    double *defect = calloc(nodes + 1, sizeof *defect);
    v.no_memory = records->no_memory || !v.at || !v.tangent || !defect;
    if (!v.no_memory)
        want_all(&v, records);
    wg_status status = v.no_memory ? WG_ENOMEM : WG_OK;
    if (status == WG_OK)
        status = wgi_evaluation_open(&e, t, v.list, v.count, true);
    if (status == WG_OK)
        status = differentiate(&v, &e, &t->worst);
    if (status == WG_OK) {
        find_defects(&v, records, defect);
        accuse(t, defect, nodes);
    }
    wgi_evaluation_close(&e);
    free_values(&v);
    free(defect);
    return status;
}
