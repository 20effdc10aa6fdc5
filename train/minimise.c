#include "train/minimise.h"
#include "graph/element.h"
#include "graph/error.h"
#include "train/vector.h"
#include "wengert/autograd/derivatives.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/leaf.h"
#include "wengert/ops/table.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* After so many steps without a better point, rounding is all that is left. */
enum { MOST_IDLE = 10, DEFAULT_STEPS = 1000, DEFAULT_HISTORY = 20 };

/* What both plans are made of while a minimiser is created. */
typedef struct values {
    wg_graph *graph;
    wg_value *loss;
    wg_value **x, **g, **v, **product; /* [n]; v and product for Newton's method */
    size_t n;
} values;

/* ---- values of the graph --------------------------------------------------------------------- */

/* Room for n pointers four times, which the caller frees by s->x. */
static wg_status make_room(values *s, size_t n)
{
    s->x = calloc(4 * (n ? n : 1), sizeof *s->x);
    if (!s->x)
        return WG_ENOMEM;
    s->g = s->x + n;
    s->v = s->g + n;
    s->product = s->v + n;
    return WG_OK;
}

static bool can_change(const wg_value *v)
{
    return v->node->op->flags & (WG_OP_PARAMETER | WG_OP_STATE) || v->node->op == &wg_op_input;
}

/* What the options say, or all float parameters on which the loss depends. */
static wg_status choose(values *s, const wg_minimiser_options *o, wg_error *error)
{
    const size_t all = o->params ? o->n_params : wg_graph_value_count(s->graph);
    if (make_room(s, all) != WG_OK)
        return wgi_error_set(error, WG_ENOMEM, "wg_minimiser_create: no memory");
    for (size_t i = 0; i < all; i++) {
        wg_value *v = o->params ? o->params[i] : wg_graph_value(s->graph, (uint32_t)i);
        bool chosen = o->params || (v->node->op->flags & WG_OP_PARAMETER &&
                                    wg_dtype_is_float(v->dtype) && wg_depends_on(s->loss, v));
        if (chosen)
            s->x[s->n++] = v;
    }
    return s->n ? WG_OK
                : wgi_error_set(error, WG_EINVAL,
                                "wg_minimiser_create: expected parameters to change, got none");
}

static wg_status check(const values *s, wg_error *error)
{
    static const char who[] = "wg_minimiser_create";
    if (s->loss->shape.rank > 0 || (s->loss->dtype != WG_F32 && s->loss->dtype != WG_F64))
        return wgi_error_set(error, s->loss->shape.rank > 0 ? WG_ESHAPE : WG_EDTYPE,
                             "%s: expected a scalar loss of f32 or f64, got %s of rank %d", who,
                             wg_dtype_name(s->loss->dtype), s->loss->shape.rank);
    for (size_t i = 0; i < s->n; i++) {
        const wg_value *v = s->x[i];
        if (!v || wg_graph_of(v) != s->graph || !can_change(v))
            return wgi_error_set(error, WG_EINVAL,
                                 "%s: expected parameters, states or inputs of the loss's graph, "
                                 "got params[%zu], which is %s",
                                 who, i, v ? v->name ? v->name : v->node->op->name : "NULL");
        if (v->dtype != WG_F32 && v->dtype != WG_F64)
            return wgi_error_set(error, WG_EDTYPE, "%s: expected f32 or f64, got %s, which is %s",
                                 who, v->name, wg_dtype_name(v->dtype));
        for (size_t k = 0; k < i; k++)
            if (s->x[k] == v)
                return wgi_error_set(error, WG_EINVAL, "%s: params[%zu] and [%zu] are both %s", who,
                                     k, i, v->name);
    }
    return WG_OK;
}

/* An input like x, under the first free name from "minimiser/v<number>" on. */
static wg_value *vector_like(const wg_value *x, size_t *number)
{
    char name[40];
    do
        snprintf(name, sizeof name, "minimiser/v%zu", (*number)++);
    while (wg_graph_find(wg_graph_of(x), name));
    return wg_input(wg_graph_of(x), name, x->dtype, x->shape);
}

/* The gradients and, for Newton's method, inputs v and H v. */
static wg_status differentiate(values *s, wg_minimise_method method, wg_error *error)
{
    size_t number = 0;
    wg_status status = wg_grad(s->loss, s->x, s->n, s->g);
    for (size_t i = 0; i < s->n && status == WG_OK && method == WG_MINIMISE_NEWTON; i++) {
        s->v[i] = vector_like(s->x[i], &number);
        status = wg_graph_status(s->graph);
    }
    if (status == WG_OK && method == WG_MINIMISE_NEWTON)
        status = wg_hvp(s->loss, s->x, s->v, s->n, s->product);
    return status == WG_OK ? WG_OK : wgi_error_set(error, status, "%s", wg_graph_message(s->graph));
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* A plan of n values and, if asked for, of the outputs of the options or of the graph. */
static wg_status make_plan(wg_plan **plan, const values *s, const wg_plan_options *options,
                           wg_value *const *first, size_t n, bool with_outputs, wg_error *error)
{
    wg_plan_options o = *options;
    const size_t more = !with_outputs ? 0
                        : o.outputs   ? o.n_outputs
                                      : wg_graph_output_count(s->graph);
    wg_value **outputs = calloc(n + more, sizeof *outputs);
    if (!outputs)
        return wgi_error_set(error, WG_ENOMEM, "wg_minimiser_create: no memory");
    memcpy(outputs, first, n * sizeof *outputs);
    for (size_t i = 0; i < more; i++)
        outputs[n + i] = o.outputs ? o.outputs[i] : wg_graph_output(s->graph, i);
    o.outputs = outputs;
    o.n_outputs = n + more;
    o.fixed_parameters = false;
    wg_status status = wg_plan_create(plan, s->graph, &o);
    free(outputs);
    return status == WG_OK ? WG_OK : wgi_error_set(error, status, "%s", wg_graph_message(s->graph));
}

/* The second plan reads the inputs of the first one. */
static wg_status share_inputs(wgi_objective *o, const values *s, wg_error *error)
{
    for (uint32_t i = 0; i < wg_graph_value_count(s->graph); i++) {
        const wg_value *v = wg_graph_value(s->graph, i);
        void *data = v->node->op == &wg_op_input ? wg_plan_data(o->plan, v) : NULL;
        if (data && wg_plan_data(o->products, v) && wg_plan_bind(o->products, v, data) != WG_OK)
            return wgi_error_set(error, WG_EINVAL, "%s", wg_plan_message(o->products));
    }
    return WG_OK;
}

static wg_status make_plans(wgi_objective *o, const values *s, const wg_minimiser_options *options,
                            wg_error *error)
{
    wg_plan_options plain = {0}, p = options->plan ? *options->plan : plain;
    wg_value **computed = malloc((1 + s->n) * sizeof(wg_value *));
    if (!computed)
        return wgi_error_set(error, WG_ENOMEM, "wg_minimiser_create: no memory");
    computed[0] = s->loss;
    memcpy(computed + 1, s->g, s->n * sizeof *computed);
    wg_status status = make_plan(&o->plan, s, &p, computed, 1 + s->n, true, error);
    free(computed);
    if (status != WG_OK || options->method != WG_MINIMISE_NEWTON)
        return status;
    p.store = wg_plan_store(o->plan);
    status = make_plan(&o->products, s, &p, s->product, s->n, false, error);
    return status == WG_OK ? share_inputs(o, s, error) : status;
}

static wg_status find_parts(wgi_objective *o, const values *s, wg_error *error)
{
    o->loss = wg_plan_data(o->plan, s->loss);
    o->loss_dtype = s->loss->dtype;
    o->noise = 8 * (s->loss->dtype == WG_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
    o->parts = calloc(s->n, sizeof *o->parts);
    if (!o->parts)
        return wgi_error_set(error, WG_ENOMEM, "wg_minimiser_create: no memory");
    o->n_parts = s->n;
    for (size_t i = 0; i < s->n; i++) {
        wgi_part *t = &o->parts[i];
        *t = (wgi_part){.p = wg_plan_data(o->plan, s->x[i]),
                        .g = wg_plan_data(o->plan, s->g[i]),
                        .n = (size_t)wg_shape_count(&s->x[i]->shape),
                        .dtype = s->x[i]->dtype};
        if (o->products) {
            t->v = wg_plan_data(o->products, s->v[i]);
            t->product = wg_plan_data(o->products, s->product[i]);
        }
        o->n += t->n;
    }
    return WG_OK;
}

/* ---- the minimiser --------------------------------------------------------------------------- */

/* All vectors are pieces of one block. */
static wg_status find_room(wg_minimiser *m, wg_error *error)
{
    const size_t n = m->objective.n, most = m->history.most;
    const size_t works = m->options.method == WG_MINIMISE_NEWTON ? 4 : 1;
    double *at = NULL;
    if (most < 1000000 && n < SIZE_MAX / 8 / (2 * most + 16))
        at = m->memory = calloc((5 + works + 2 * most) * n + 2 * most + 1, sizeof *at);
    if (!at)
        return wgi_error_set(error, WG_ENOMEM,
                             "wg_minimiser_create: no memory for vectors of %zu numbers, "
                             "%zu steps with two of them",
                             n, most);
    m->at.x = at, at += n;
    m->at.g = at, at += n;
    m->tried.x = at, at += n;
    m->tried.g = at, at += n;
    m->best = at, at += n;
    for (size_t i = 0; i < works; i++, at += n)
        m->work[i] = at;
    m->history.s = at, at += most * n;
    m->history.y = at, at += most * n;
    m->history.sy = at, at += most;
    m->history.alpha = at;
    return WG_OK;
}

static wg_status check_options(const wg_minimiser_options *o, wg_error *error)
{
    static const char who[] = "wg_minimiser_create";
    if ((unsigned)o->method > WG_MINIMISE_NEWTON)
        return wgi_error_set(error, WG_EINVAL, "%s: unknown method %d", who, (int)o->method);
    if (!(o->gradient >= 0) || !(o->change >= 0))
        return wgi_error_set(error, WG_EINVAL,
                             "%s: expected gradient and change of 0 or more, got %g and %g", who,
                             o->gradient, o->change);
    if (o->n_params && !o->params)
        return wgi_error_set(error, WG_EINVAL, "%s: n_params is %zu, but params is NULL", who,
                             o->n_params);
    return WG_OK;
}

static wg_status make(wg_minimiser *m, values *s, wg_error *error)
{
    const wg_minimiser_options *o = &m->options;
    wg_status status = check_options(o, error);
    if (status == WG_OK)
        status = choose(s, o, error);
    if (status == WG_OK)
        status = check(s, error);
    if (status == WG_OK)
        status = differentiate(s, o->method, error);
    if (status == WG_OK)
        status = make_plans(&m->objective, s, o, error);
    if (status == WG_OK)
        status = find_parts(&m->objective, s, error);
    return status == WG_OK ? find_room(m, error) : status;
}

wg_status wg_minimiser_create(wg_minimiser **out, wg_value *loss,
                              const wg_minimiser_options *options, wg_error *error)
{
    wgi_error_clear(error);
    if (!out)
        return wgi_error_set(error, WG_EINVAL, "wg_minimiser_create: `out` is NULL");
    *out = NULL;
    if (!loss)
        return wgi_error_set(error, WG_EINVAL,
                             "wg_minimiser_create: the loss is NULL; its graph's message says why");
    wg_minimiser *m = calloc(1, sizeof *m);
    if (!m)
        return wgi_error_set(error, WG_ENOMEM, "wg_minimiser_create: no memory");
    if (options)
        m->options = *options;
    if (m->options.method == WG_MINIMISE_LBFGS)
        m->history.most = m->options.history ? m->options.history : DEFAULT_HISTORY;
    values s = {.graph = wg_graph_of(loss), .loss = loss};
    wg_status status = make(m, &s, error);
    free(s.x);
    m->options.params = NULL;
    m->options.plan = NULL;
    if (status == WG_OK)
        *out = m;
    else
        wg_minimiser_free(m);
    return status;
}

void wg_minimiser_free(wg_minimiser *m)
{
    if (!m)
        return;
    wg_plan_free(m->objective.products);
    wg_plan_free(m->objective.plan);
    free(m->objective.parts);
    free(m->memory);
    free(m);
}

wg_plan *wg_minimiser_plan(wg_minimiser *m)
{
    return m ? m->objective.plan : NULL;
}

const char *wg_minimiser_message(const wg_minimiser *m)
{
    return m ? m->error.text : "the minimiser is NULL";
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* Forgets earlier steps. */
static void forget(wg_minimiser *m)
{
    m->history.count = m->history.next = 0;
    m->radius = 0;
}

/* What a run has seen. */
typedef struct progress {
    wg_minimised now;
    double best_f, best_g; /* of m->best: the loss, and the length of the gradient */
    size_t idle;           /* steps since then */
} progress;

/* m->at is the best so far. */
static void keep(wg_minimiser *m, progress *p)
{
    memcpy(m->best, m->at.x, m->objective.n * sizeof *m->best);
    p->best_f = m->at.f;
    p->best_g = wgi_length(m->at.g, m->objective.n);
    p->idle = 0;
}

/* Keeps m->at if it is better than the best: of losses that may be equal, the gradient decides. */
static void keep_better(wg_minimiser *m, progress *p)
{
    const wgi_objective *o = &m->objective;
    const double noise = wgi_noise(o, p->best_f), g = wgi_length(m->at.g, o->n);
    p->idle++;
    if (m->at.f < p->best_f - noise || (m->at.f <= p->best_f + noise && g < p->best_g))
        keep(m, p);
}

static wg_status begin(wg_minimiser *m, progress *p)
{
    wgi_objective *o = &m->objective;
    o->runs = 0;
    o->most_runs = m->options.runs;
    wgi_objective_get(o, m->at.x);
    if (memcmp(m->at.x, m->best, o->n * sizeof *m->best) != 0)
        forget(m);
    wg_status status = wgi_objective_at(o, &m->at);
    if (status == WG_OK && o->status == WG_EDATA)
        status = WG_EDATA;
    if (status != WG_OK)
        return wgi_error_set(&m->error, status, "%s", o->message);
    if (!isfinite(m->at.f))
        return wgi_error_set(&m->error, WG_ENONFINITE,
                             "wg_minimiser_run: the loss or its gradient is not finite where the "
                             "run begins: loss %g%s%s",
                             wgi_get_element(o->loss, o->loss_dtype, 0), o->message[0] ? "; " : "",
                             o->message);
    keep(m, p);
    return WG_OK;
}

/* Tells where it is; whether to end there, and why. */
static bool is_end(wg_minimiser *m, progress *p, double before)
{
    const wg_minimiser_options *o = &m->options;
    wg_minimised *now = &p->now;
    now->loss = m->at.f;
    now->gradient = wgi_largest(m->at.g, m->objective.n);
    now->runs = m->objective.runs;
    const double change = before - m->at.f;
    const struct {
        bool reached;
        wg_minimise_end end;
    } ends[] = {
        {o->tell && !o->tell(o->context, now), WG_MINIMISE_STOPPED},
        {now->gradient <= o->gradient, WG_MINIMISE_GRADIENT},
        {now->steps && o->change > 0 && change <= o->change * fabs(before), WG_MINIMISE_CHANGE},
        {now->steps >= (o->steps ? o->steps : DEFAULT_STEPS), WG_MINIMISE_STEPS},
        {wgi_objective_spent(&m->objective), WG_MINIMISE_RUNS},
        {p->idle >= MOST_IDLE, WG_MINIMISE_PRECISION},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends[i].reached) {
            now->end = ends[i].end;
            return true;
        }
    return false;
}

static wg_status take_steps(wg_minimiser *m, progress *p)
{
    wg_status (*const step)(wg_minimiser *, bool *) =
        m->options.method == WG_MINIMISE_NEWTON ? wgi_newton_step : wgi_lbfgs_step;
    double before = INFINITY;
    bool moved = true;
    while (!is_end(m, p, before)) {
        before = m->at.f;
        wg_status status = step(m, &moved);
        if (status != WG_OK)
            return status;
        if (!moved) {
            p->now.end =
                wgi_objective_spent(&m->objective) ? WG_MINIMISE_RUNS : WG_MINIMISE_PRECISION;
            return WG_OK;
        }
        const wgi_point last = m->at;
        m->at = m->tried;
        m->tried = last;
        p->now.steps++;
        keep_better(m, p);
    }
    return WG_OK;
}

/* The best point, where the plan has run. */
static wg_status finish(wg_minimiser *m, progress *p)
{
    wgi_objective *o = &m->objective;
    memcpy(m->at.x, m->best, o->n * sizeof *m->best);
    wg_status status = wgi_objective_at(o, &m->at);
    p->now.loss = m->at.f;
    p->now.gradient = wgi_largest(m->at.g, o->n);
    p->now.runs = o->runs;
    return status;
}

wg_status wg_minimiser_run(wg_minimiser *m, wg_minimised *found)
{
    progress p = {.now = {.loss = NAN, .gradient = NAN}};
    if (found)
        *found = p.now;
    if (!m)
        return WG_EINVAL;
    wgi_error_clear(&m->error);
    wg_status status = begin(m, &p);
    if (status != WG_OK)
        return status;
    status = take_steps(m, &p);
    if (status == WG_OK) {
        status = finish(m, &p);
    } else {
        memcpy(m->at.x, m->best, m->objective.n * sizeof *m->best);
        wgi_objective_put(&m->objective, m->at.x);
    }
    if (status != WG_OK)
        return wgi_error_set(&m->error, status, "%s", m->objective.message);
    if (found)
        *found = p.now;
    return WG_OK;
}
