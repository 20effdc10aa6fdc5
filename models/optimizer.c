/* The update phase: clipping, and optimizers with their states.  Each has a scope of its own, which
 * is part of the states' names and one box of a picture. */
#include "wengert/models/optimizer.h"
#include "graph/marks.h"
#include "graph/names.h"
#include "models/internal.h"

#include <math.h>
#include <string.h>

/* From here on nodes are of the update phase and in the scope `name`, which may have slashes;
 * returns what to go back to. */
static wg_origin begin_update(wg_graph *g, const char *name)
{
    wg_origin before = wg_graph_origin(g);
    while (*name) {
        int length = (int)strcspn(name, "/");
        wg_scope_push(g, "%.*s", length, name);
        name += length;
        name += *name == '/';
    }
    wg_origin update = wg_graph_origin(g);
    update.phase = WG_UPDATE;
    wg_graph_set_origin(g, update);
    return before;
}

wg_value *(wg_clip_by_global_norm)(const char *at, wg_value *const *grads, size_t n,
                                   double max_norm, wg_value **clipped)
{
    wg_graph *g = grads && n ? wg_graph_of(grads[0]) : NULL;
    if (!g)
        return NULL;
    if (!clipped)
        return wg_graph_fail(g, WG_EINVAL, at, "clip_by_global_norm",
                             "the array for the results is NULL");
    if (!(max_norm >= 0))
        return wg_graph_fail(g, WG_EINVAL, at, "clip_by_global_norm",
                             "max_norm is %g, must be 0 or more", max_norm);
    wg_origin before = begin_update(g, "clip");
    wg_value *norm = (wg_global_norm)(at, grads, n);
    wg_value *factor =
        (wg_div)(at, (wg_scalar_like)(at, norm, max_norm), (wg_shift)(at, norm, 1e-6));
    factor = (wg_minimum)(at, factor, (wg_scalar_like)(at, norm, 1));
    for (size_t i = 0; i < n; i++)
        clipped[i] = (wg_mul)(at, grads[i], factor);
    wg_graph_set_origin(g, before);
    return norm;
}

enum { STATE_NAME = WGI_FULL_NAME_BYTES + 1 };

/* Whether the optimizer can have the state WHAT, or WHAT/PARAMETER: where a value has its name,
 * another optimizer was there first. */
static bool check_state(const char *at, wg_graph *g, const char *name, const char *what,
                        const wg_value *p)
{
    char full[STATE_NAME];
    if (p && !p->name)
        return p->node->op->flags & WG_OP_PARAMETER
                   ? wg_graph_fail(g, WG_EINVAL, p->node->at, name,
                                   "a parameter has no name, which its states need")
                   : wg_graph_fail(g, WG_EINVAL, at, name,
                                   "expected parameters, got a value without a name, of %s; are "
                                   "the arrays of parameters and gradients swapped?",
                                   p->node->op->name);
    const char *path = wg_scope_path(g);
    int length = snprintf(full, sizeof full, "%s%s%s/%s%s%s", path, *path ? "/" : "", name, what,
                          p ? "/" : "", p ? p->name : "");
    if (length >= (int)sizeof full)
        return wg_graph_fail(g, WG_EINVAL, at, name, "the parameter's name is too long");
    const wg_value *other = wg_graph_find(g, full);
    const char *there = other ? other->node->at : NULL;
    return !other || wg_graph_fail(g, WG_EINVAL, at, name,
                                   "the name '%s' is taken by a value built at %s: a second "
                                   "optimizer in one graph needs a `name` in its options",
                                   full, there ? there : "an unknown line");
}

static bool check_moments(const char *at, wg_graph *g, const char *name, const char *what,
                          wg_value *const *params, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = !params[i] || check_state(at, g, name, what, params[i]);
    return ok;
}

/* ---- parts of an update ---------------------------------------------------------------------- */

/* A scalar has one. */
static int64_t rows_in(const wg_value *p)
{
    return p->shape.rank ? p->shape.dim[0] : 1;
}

/* Rows of a parameter that this process updates: all of them without a part. */
static wg_rows rows_of(const wg_update_part *part, size_t i, const wg_value *p)
{
    return part ? part->rows[i] : (wg_rows){0, rows_in(p)};
}

static bool is_whole(wg_rows rows, const wg_value *p)
{
    return rows.count == rows_in(p);
}

/* Those rows of x, which is a parameter or like one. */
static wg_value *take_rows(const char *at, wg_value *x, wg_rows rows)
{
    return !x || is_whole(rows, x) ? x
                                   : (wg_slice)(at, x, 0, rows.first, rows.first + rows.count, 1);
}

/* p with `rows` in the place of its own. */
static wg_value *put_rows_back(const char *at, wg_value *p, wg_value *values, wg_rows rows)
{
    if (!p || !values || is_whole(rows, p))
        return values;
    int64_t start[WG_MAX_RANK] = {rows.first};
    wg_value *first = (wg_constant)(at, wg_graph_of(p), WG_I64, WG_SHAPE(p->shape.rank), start);
    return (wg_dynamic_update_slice)(at, p, first, values);
}

static bool check_part(const char *at, wg_graph *g, const char *name, wg_value *const *params,
                       size_t n, const wg_update_part *part)
{
    for (size_t i = 0; part && i < n; i++) {
        const int64_t all = rows_in(params[i]);
        const wg_rows r = part->rows[i];
        if (r.first < 0 || r.count < 0 || r.first > all - r.count)
            return wg_graph_fail(g, WG_EINVAL, at, name,
                                 "rows[%zu] are %lld from row %lld on: the parameter has %lld", i,
                                 (long long)r.count, (long long)r.first, (long long)all);
    }
    return true;
}

/* The state WHAT/PARAMETER in the optimizer's scope: zeros like those rows of the parameter; NULL
 * for no rows. */
static wg_value *moment(const char *at, wg_value *p, const char *what, wg_rows rows)
{
    char text[STATE_NAME]; /* a part of what check_state had room for */
    if (!p || (rows.count == 0 && !is_whole(rows, p)))
        return NULL;
    wg_shape shape = p->shape;
    if (shape.rank)
        shape.dim[0] = rows.count;
    snprintf(text, sizeof text, "%s/%s", what, p->name);
    return (wg_state)(at, wg_graph_of(p), text, p->dtype, shape, wg_zeros());
}

/* The states FIRST/PARAMETER of all n parameters, then SECOND/PARAMETER unless that is NULL, made
 * parameter by parameter; NULL where this process has no part.  NULL without memory. */
static wg_value **moments(const char *at, wg_graph *g, wg_value *const *params, size_t n,
                          const wg_update_part *part, const char *first, const char *second)
{
    wg_value **list = wg_graph_alloc(g, (2 * n + 1) * sizeof(wg_value *));
    for (size_t i = 0; list && i < n; i++) {
        const wg_rows rows = rows_of(part, i, params[i]);
        list[i] = moment(at, params[i], first, rows);
        list[n + i] = second ? moment(at, params[i], second, rows) : NULL;
    }
    return list;
}

static wg_value *rate_for(const char *at, wg_value *lr, const wg_value *p)
{
    return lr && p ? (wg_cast)(at, lr, p->dtype) : NULL;
}

/* The same for parameter i, whose factor is rates[i]. */
static wg_value *own_rate(const char *at, wg_value *lr, const double *rates, size_t i,
                          const wg_value *p)
{
    wg_value *rate = rate_for(at, lr, p);
    return rates && rates[i] != 1 ? (wg_scale)(at, rate, rates[i]) : rate;
}

/* The largest of n numbers, `all` if there are none. */
static double largest(const double *x, size_t n, double all)
{
    for (size_t i = 0; x && i < n; i++)
        all = i == 0 || x[i] > all ? x[i] : all;
    return all;
}

static bool check_factors(const char *at, wg_graph *g, const char *name, const double *x, size_t n,
                          const char *what)
{
    for (size_t i = 0; x && i < n; i++)
        if (!(x[i] >= 0 && x[i] < INFINITY))
            return wg_graph_fail(g, WG_EINVAL, at, name,
                                 "%s[%zu] is %g, must be 0 or more, and finite", what, i, x[i]);
    return true;
}

/* ---- the bound of an update ------------------------------------------------------------------ */

/* Kernels write new parameters and moments in the place of the old ones, so an update must be
 * refused before it begins.  Scalars suffice to know that no element of it can overflow: with P, M
 * and G the global norms of parameters, first moments (or velocities) and gradients,
 *
 *     sgd    M' = momentum M + G + decay P,  P' = P + rate M' (1 + momentum, with Nesterov's)
 *     adam   g = G + decay P,  M' = M + g,  v' <= max(v, g^2),
 *            P' = P + rate M' / (1 - beta1) / eps
 *     adamw  the same with g = G and decay rate P added to P'
 *
 * bound all elements and what is computed on the way to them.  They are computed in f32 at least.
 */
typedef struct norms {
    wg_value *p, *m, *g, *rate; /* scalars; m is NULL without velocities */
} norms;

static wg_value *wide(const char *at, wg_value *x)
{
    return x && wg_dtype_size(x->dtype) < wg_dtype_size(WG_F32) ? (wg_cast)(at, x, WG_F32) : x;
}

/* The norm of the n first moments, which is 0 for none.  With a part, at least that of all
 * processes: a norm is at most the sum of the norms of its pieces. */
static wg_value *norm_of_moments(const char *at, wg_value *p, wg_value *const *first, size_t n,
                                 const wg_update_part *part)
{
    if (!part || !p)
        return (wg_global_norm)(at, first, n);
    wg_value **list = wg_graph_alloc(wg_graph_of(p), (n + 1) * sizeof *list), *norm;
    size_t own = 0;
    for (size_t i = 0; list && i < n; i++)
        if (first[i])
            list[own++] = first[i];
    norm = own ? wide(at, (wg_global_norm)(at, list, own))
               : wg_fill(wg_graph_of(p), wide(at, p)->dtype, WG_SCALAR, 0);
    (wg_all_reduce)(at, &norm, 1, part->bucket, &norm);
    return norm;
}

static norms norms_of(const char *at, wg_value *const *params, wg_value *const *first, size_t n,
                      wg_value *gradient, wg_value *lr, const double *rates,
                      const wg_update_part *part)
{
    wg_value *p = (wg_global_norm)(at, params, n);
    if (p && p->dtype == WG_F16)
        p = wg_graph_fail(wg_graph_of(p), WG_EDTYPE, at, "norm",
                          "the check of an update needs the range of f32, but parameters are f16");
    norms x = {.p = wide(at, p),
               .m = first ? wide(at, norm_of_moments(at, p, first, n, part)) : NULL};
    x.g = x.p && gradient ? (wg_cast)(at, gradient, x.p->dtype) : NULL;
    x.rate = rate_for(at, lr, x.p);
    if (rates)
        x.rate = (wg_scale)(at, x.rate, largest(rates, n, 1));
    return x;
}

static wg_value *sgd_bound(const char *at, norms x, const wg_sgd_attrs *a)
{
    wg_value *m = (wg_add)(at, x.g, (wg_scale)(at, x.p, a->weight_decay));
    if (x.m)
        m = (wg_add)(at, m, (wg_scale)(at, x.m, a->momentum));
    wg_name(m, "velocity bound");
    wg_value *step = (wg_scale)(at, (wg_mul)(at, x.rate, m), a->nesterov ? 1 + a->momentum : 1);
    return (wg_add)(at, m, (wg_add)(at, x.p, step));
}

static wg_value *adam_bound(const char *at, norms x, const wg_adam_attrs *a, bool decoupled)
{
    wg_value *decay = (wg_scale)(at, x.p, a->weight_decay);
    wg_value *g = decoupled ? x.g : (wg_add)(at, x.g, decay), *m = (wg_add)(at, x.m, g);
    wg_value *move = (wg_scale)(at, m, 1 / ((1 - a->beta1) * a->eps));
    if (decoupled)
        move = (wg_add)(at, move, decay);
    else
        wg_name(g, "gradient bound");
    wg_name(m, "moment bound");
    wg_name(move, "step bound");
    wg_value *p = (wg_add)(at, x.p, (wg_mul)(at, x.rate, move));
    return (wg_add)(at, (wg_add)(at, m, (wg_mul)(at, g, g)), p);
}

/* lr behind a guard of twice the bound: the other half is for rounding.  With a part it is an
 * output, so that a process without rows makes the check too, with its sum over all processes. */
static wg_value *guarded(const char *at, wg_value *lr, wg_value *bound, const wg_update_part *part)
{
    wg_value *twice = wg_name((wg_scale)(at, bound, 2), "bound");
    wg_value *rate = twice ? (wg_guard)(at, lr, &twice, 1) : NULL;
    return part && rate ? wg_output(rate, NULL) : rate;
}

static const wg_value *first_of(wg_value *const *v, size_t n)
{
    for (size_t i = 0; v && i < n; i++)
        if (v[i])
            return v[i];
    return NULL;
}

/* The graph of an update, to which what is missing is reported; NULL if nothing is there. */
static wg_graph *graph_of_update(const char *at, const char *name, wg_value *const *params,
                                 wg_value *const *grads, size_t n, const wg_value *lr)
{
    const wg_value *some = first_of(params, n);
    some = some ? some : first_of(grads, n);
    wg_graph *g = wg_graph_of(some ? some : lr);
    const char *missing = n == 0    ? "there is no parameter to update: n is 0"
                          : !params ? "the array of parameters is NULL"
                          : !grads  ? "the array of gradients is NULL"
                                    : NULL;
    if (missing)
        wg_graph_fail(g, WG_EINVAL, at, name, "%s", missing);
    for (size_t i = 0; !missing && i < n; i++)
        if (!params[i])
            wg_graph_fail(g, WG_EINVAL, at, name, "parameter %zu is NULL", i);
    return g;
}

/* Gradients are like their parameters, of which a part may be cut. */
static bool check_gradients(const char *at, wg_graph *g, const char *name, wg_value *const *params,
                            wg_value *const *grads, size_t n, const wg_value *norm)
{
    char a[160], b[160];
    for (size_t i = 0; i < n; i++)
        if (grads[i] && !wg_shape_equal(&params[i]->shape, &grads[i]->shape))
            return wg_graph_fail(g, WG_ESHAPE, at, name,
                                 "gradient %zu is %s, its parameter '%s' is %s", i,
                                 wg_shape_text(&grads[i]->shape, a, sizeof a), params[i]->name,
                                 wg_shape_text(&params[i]->shape, b, sizeof b));
    if (norm && wg_value_count(norm) != 1)
        return wg_graph_fail(g, WG_ESHAPE, at, name, "norm is %s, must be a scalar",
                             wg_shape_text(&norm->shape, a, sizeof a));
    if (norm && !wg_dtype_is_float(norm->dtype))
        return wg_graph_fail(g, WG_EDTYPE, at, name, "norm is %s, must be a float",
                             wg_dtype_name(norm->dtype));
    return true;
}

/* ---- the updates ----------------------------------------------------------------------------- */

/* SGD's new parameters and velocities, assigned. */
static void step_sgd(const char *at, wg_value *const *params, wg_value *const *grads, size_t n,
                     wg_value *lr, wg_value *const *velocity, wg_sgd_attrs a,
                     const wg_sgd_options *o)
{
    for (size_t i = 0; i < n; i++) {
        const wg_rows rows = rows_of(o->part, i, params[i]);
        if (o->part && rows.count == 0)
            continue;
        a.weight_decay = o->decays ? o->decays[i] : a.weight_decay;
        wg_value *p =
            (wg_sgd)(at, take_rows(at, params[i], rows), take_rows(at, grads[i], rows),
                     own_rate(at, lr, o->rates, i, params[i]), velocity ? velocity[i] : NULL, &a);
        (wg_assign)(at, params[i], put_rows_back(at, params[i], p, rows));
        if (velocity)
            (wg_assign)(at, velocity[i], wg_result_of(p, 1));
    }
}

wg_status(wg_sgd_update)(const char *at, wg_value *const *params, wg_value *const *grads, size_t n,
                         wg_value *lr, const wg_sgd_options *options)
{
    wg_sgd_options o = options ? *options : (wg_sgd_options){0};
    wg_sgd_attrs a = {o.momentum, o.weight_decay, o.nesterov};
    const char *name = o.name ? o.name : "sgd";
    wg_graph *g = graph_of_update(at, name, params, grads, n, lr);
    if (!g || wg_graph_status(g) != WG_OK)
        return g ? wg_graph_status(g) : WG_EINVAL;
    if ((a.momentum > 0 && !check_moments(at, g, name, "velocity", params, n)) ||
        !check_factors(at, g, name, o.rates, n, "rates") ||
        !check_factors(at, g, name, o.decays, n, "decays") ||
        !check_part(at, g, name, params, n, o.part) ||
        !check_gradients(at, g, name, params, grads, n, o.norm))
        return wg_graph_status(g);
    wg_origin before = begin_update(g, name);
    wg_value **velocity =
        a.momentum > 0 ? moments(at, g, params, n, o.part, "velocity", NULL) : NULL;
    a.weight_decay = largest(o.decays, n, a.weight_decay);
    if (o.norm)
        lr = guarded(
            at, lr,
            sgd_bound(at, norms_of(at, params, velocity, n, o.norm, lr, o.rates, o.part), &a),
            o.part);
    step_sgd(at, params, grads, n, lr, velocity, a, &o);
    wg_graph_set_origin(g, before);
    return wg_graph_status(g);
}

/* Adam's new parameters and moments, assigned.  m: the first moments, then the second ones. */
static void step_adam(const char *at, wg_value *const *params, wg_value *const *grads, size_t n,
                      wg_value *lr, wg_value *step, wg_value *const *m, wg_adam_attrs a,
                      const wg_adam_options *o)
{
    for (size_t i = 0; i < n; i++) {
        const wg_rows rows = rows_of(o->part, i, params[i]);
        if (o->part && rows.count == 0)
            continue;
        wg_value *v = m[n + i], *rate = own_rate(at, lr, o->rates, i, params[i]);
        a.weight_decay = o->decays ? o->decays[i] : a.weight_decay;
        wg_value *p = (o->decoupled ? (wg_adamw) : (wg_adam))(at, take_rows(at, params[i], rows),
                                                              take_rows(at, grads[i], rows), m[i],
                                                              v, rate, step, &a);
        (wg_assign)(at, params[i], put_rows_back(at, params[i], p, rows));
        (wg_assign)(at, m[i], wg_result_of(p, 1));
        (wg_assign)(at, v, wg_result_of(p, 2));
    }
}

static double beta_of(double x, double usual)
{
    return x == 0 ? usual : x == WG_BETA_ZERO ? 0 : x;
}

wg_adam_attrs wgi_adam_attrs(const wg_adam_options *o)
{
    return (wg_adam_attrs){.beta1 = beta_of(o->beta1, 0.9),
                           .beta2 = beta_of(o->beta2, 0.999),
                           .eps = o->eps == 0 ? 1e-8 : o->eps,
                           .weight_decay = o->weight_decay};
}

wg_status(wg_adam_update)(const char *at, wg_value *const *params, wg_value *const *grads, size_t n,
                          wg_value *lr, const wg_adam_options *options)
{
    wg_adam_options o = options ? *options : (wg_adam_options){0};
    wg_adam_attrs a = wgi_adam_attrs(&o);
    const char *name = o.name ? o.name : "adam";
    wg_graph *g = graph_of_update(at, name, params, grads, n, lr);
    if (!g || wg_graph_status(g) != WG_OK)
        return g ? wg_graph_status(g) : WG_EINVAL;
    if (!check_state(at, g, name, "step", NULL) || !check_moments(at, g, name, "m", params, n) ||
        !check_moments(at, g, name, "v", params, n) ||
        !check_factors(at, g, name, o.rates, n, "rates") ||
        !check_factors(at, g, name, o.decays, n, "decays") ||
        !check_part(at, g, name, params, n, o.part) ||
        !check_gradients(at, g, name, params, grads, n, o.norm))
        return wg_graph_status(g);
    wg_origin before = begin_update(g, name);
    wg_value *done = (wg_state)(at, g, "step", WG_I64, WG_SCALAR, wg_zeros());
    wg_value *step = (wg_shift)(at, done, 1), **m = moments(at, g, params, n, o.part, "m", "v");
    a.weight_decay = largest(o.decays, n, a.weight_decay);
    if (m && o.norm)
        lr = guarded(at, lr,
                     adam_bound(at, norms_of(at, params, m, n, o.norm, lr, o.rates, o.part), &a,
                                o.decoupled),
                     o.part);
    if (m)
        step_adam(at, params, grads, n, lr, step, m, a, &o);
    (wg_assign)(at, done, step);
    wg_graph_set_origin(g, before);
    return wg_graph_status(g);
}

/* ---- moving averages ------------------------------------------------------------------------- */

/* What p will be after the run. */
static wg_value *latest(const wg_graph *g, wg_value *p)
{
    const wgi_assignment *a = wgi_graph_assignment(g, p);
    return a ? a->value : p;
}

/* The state PATH/REST beside the parameter UP/REST, where PATH is UP/NAME; or NULL. */
static wg_value *average_beside(const wg_graph *g, const wg_value *p, const char *path)
{
    char name[1536];
    const char *slash = strrchr(path, '/');
    size_t up = slash ? (size_t)(slash - path) + 1 : 0; /* with its slash */
    if (!p->name || strncmp(p->name, path, up) != 0)
        return NULL;
    snprintf(name, sizeof name, "%s/%s", path, p->name + up);
    return wg_graph_find(g, name);
}

wg_status(wg_average_update)(const char *at, wg_graph *g, const char *path, double decay)
{
    static const char who[] = "wg_average_update";
    char name[1024];
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    path = path ? path : "";
    snprintf(name, sizeof name, "%s/updates", path);
    wg_value *updates = wg_graph_find(g, name);
    if (!updates)
        wg_graph_fail(g, WG_EINVAL, at, who, "the scope '%s' has no averages: see wg_scope_average",
                      path);
    else if (!(decay >= 0 && decay < 1))
        wg_graph_fail(g, WG_EINVAL, at, who, "decay is %g, must be in [0, 1)", decay);
    if (wg_graph_status(g) != WG_OK)
        return wg_graph_status(g);
    wg_origin before = begin_update(g, "average");
    wg_value *moved = (wg_greater)(at, updates, (wg_scalar_like)(at, updates, 0));
    for (size_t i = 0, n = wg_graph_node_count(g); i < n; i++) {
        wg_node *node = wg_graph_node(g, i);
        bool trained = node->op->flags & WG_OP_PARAMETER;
        wg_value *average = trained ? average_beside(g, node->out[0], path) : NULL;
        if (!average)
            continue;
        wg_value *now = (wg_where)(at, moved, average, node->out[0]);
        (wg_assign)(at, average, (wg_moving_average)(at, now, latest(g, node->out[0]), decay));
    }
    (wg_assign)(at, updates, (wg_shift)(at, updates, 1));
    wg_graph_set_origin(g, before);
    return wg_graph_status(g);
}
