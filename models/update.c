/* One step of all parameters by a rule: the states, the part of a process, and the check that
 * nothing overflows.  The update is a scope of its own, which is part of the states' names and one
 * box of a picture. */
#include "models/update.h"
#include "graph/names.h"
#include "models/internal.h"

#include <math.h>
#include <string.h>

/* An update while it is built.  Where this process has no rows of a parameter, there is NULL. */
typedef struct job {
    const char *at, *name;
    wg_graph *g;
    wg_value *const *params, *const *grads;
    size_t n;
    const wg_update_rule *rule;
    wg_update_options o;
    size_t n_states;
    wg_value **state;     /* [n][n_states] */
    wg_value **next;      /* [n]: new values of the parameters; right after them */
    wg_value **new_state; /* [n][n_states]: those of the states */
} job;

/* ---- what is asked for ----------------------------------------------------------------------- */

enum { STATE_NAME = WGI_FULL_NAME_BYTES + 1 };

/* Whether the update can have the state WHAT, or WHAT/PARAMETER: where a value has its name,
 * another optimizer was there first. */
static bool check_state(const job *j, const char *what, const wg_value *p)
{
    char full[STATE_NAME];
    if (p && !p->name)
        return p->node->op->flags & WG_OP_PARAMETER
                   ? wg_graph_fail(j->g, WG_EINVAL, p->node->at, j->name,
                                   "a parameter has no name, which its states need")
                   : wg_graph_fail(j->g, WG_EINVAL, j->at, j->name,
                                   "expected parameters, got a value without a name, of %s; are "
                                   "the arrays of parameters and gradients swapped?",
                                   p->node->op->name);
    const char *path = wg_scope_path(j->g);
    int length = snprintf(full, sizeof full, "%s%s%s/%s%s%s", path, *path ? "/" : "", j->name, what,
                          p ? "/" : "", p ? p->name : "");
    if (length >= (int)sizeof full)
        return wg_graph_fail(j->g, WG_EINVAL, j->at, j->name, "the parameter's name is too long");
    const wg_value *other = wg_graph_find(j->g, full);
    const char *there = other ? other->node->at : NULL;
    return !other || wg_graph_fail(j->g, WG_EINVAL, j->at, j->name,
                                   "the name '%s' is taken by a value built at %s: a second "
                                   "optimizer in one graph needs a `name` in its options",
                                   full, there ? there : "an unknown line");
}

static bool check_states(const job *j)
{
    bool ok = !j->rule->counts || check_state(j, "step", NULL);
    for (size_t s = 0; s < j->n_states; s++)
        for (size_t i = 0; i < j->n && ok; i++)
            ok = check_state(j, j->rule->states[s], j->params[i]);
    return ok;
}

static bool check_factors(const job *j, const double *x, const char *what)
{
    for (size_t i = 0; x && i < j->n; i++)
        if (!(x[i] >= 0 && x[i] < INFINITY))
            return wg_graph_fail(j->g, WG_EINVAL, j->at, j->name,
                                 "%s[%zu] is %g, must be 0 or more, and finite", what, i, x[i]);
    return true;
}

/* A scalar has one. */
static int64_t rows_in(const wg_value *p)
{
    return p->shape.rank ? p->shape.dim[0] : 1;
}

static bool check_part(const job *j)
{
    if (j->o.part && j->rule->mixes)
        return wg_graph_fail(j->g, WG_EUNSUPPORTED, j->at, j->name,
                             "the rule needs whole parameters (mixes), so no process can update a "
                             "part of them");
    for (size_t i = 0; j->o.part && i < j->n; i++) {
        const int64_t all = rows_in(j->params[i]);
        const wg_rows r = j->o.part->rows[i];
        if (r.first < 0 || r.count < 0 || r.first > all - r.count)
            return wg_graph_fail(j->g, WG_EINVAL, j->at, j->name,
                                 "rows[%zu] are %lld from row %lld on: the parameter has %lld", i,
                                 (long long)r.count, (long long)r.first, (long long)all);
    }
    return true;
}

/* Gradients are like their parameters, of which a part may be cut. */
static bool check_gradients(const job *j)
{
    const wg_value *norm = j->o.norm;
    char a[160], b[160];
    for (size_t i = 0; i < j->n; i++)
        if (j->grads[i] && !wg_shape_equal(&j->params[i]->shape, &j->grads[i]->shape))
            return wg_graph_fail(
                j->g, WG_ESHAPE, j->at, j->name, "gradient %zu is %s, its parameter '%s' is %s", i,
                wg_shape_text(&j->grads[i]->shape, a, sizeof a), j->params[i]->name,
                wg_shape_text(&j->params[i]->shape, b, sizeof b));
    if (norm && wg_value_count(norm) != 1)
        return wg_graph_fail(j->g, WG_ESHAPE, j->at, j->name, "norm is %s, must be a scalar",
                             wg_shape_text(&norm->shape, a, sizeof a));
    if (norm && !wg_dtype_is_float(norm->dtype))
        return wg_graph_fail(j->g, WG_EDTYPE, j->at, j->name, "norm is %s, must be a float",
                             wg_dtype_name(norm->dtype));
    return true;
}

static bool check(const job *j)
{
    return check_states(j) && check_factors(j, j->o.rates, "rates") &&
           check_factors(j, j->o.decays, "decays") && check_part(j) && check_gradients(j);
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
                                 wg_value *const *grads, size_t n, const wg_value *lr,
                                 const wg_update_rule *rule)
{
    const wg_value *some = first_of(params, n);
    some = some ? some : first_of(grads, n);
    wg_graph *g = wg_graph_of(some ? some : lr);
    const char *missing = !rule         ? "the rule is NULL"
                          : !rule->step ? "the rule has no `step`"
                          : !name       ? "the rule has no name"
                          : n == 0      ? "there is no parameter to update: n is 0"
                          : !params     ? "the array of parameters is NULL"
                          : !grads      ? "the array of gradients is NULL"
                          : !lr         ? "the learning rate is NULL"
                                        : NULL;
    if (missing)
        wg_graph_fail(g, WG_EINVAL, at, name ? name : "wg_update_by_rule", "%s", missing);
    for (size_t i = 0; !missing && i < n; i++)
        if (!params[i] || !grads[i])
            wg_graph_fail(g, WG_EINVAL, at, name, "%s %zu is NULL",
                          params[i] ? "gradient" : "parameter", i);
    return g;
}

/* ---- states, and parts of them --------------------------------------------------------------- */

/* Rows of a parameter that this process updates: all of them without a part. */
static wg_rows rows_of(const job *j, size_t i)
{
    return j->o.part ? j->o.part->rows[i] : (wg_rows){0, rows_in(j->params[i])};
}

/* A parameter without elements has a (whole) part, too. */
static bool has_rows(const job *j, size_t i)
{
    return !j->o.part || rows_of(j, i).count > 0;
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

/* The state WHAT/PARAMETER in the update's scope: zeros like those rows of the parameter. */
static wg_value *state_of(const job *j, size_t i, const char *what)
{
    char text[STATE_NAME]; /* a part of what check_state had room for */
    const wg_value *p = j->params[i];
    const wg_rows rows = rows_of(j, i);
    if (rows.count == 0 && !is_whole(rows, p))
        return NULL;
    wg_shape shape = p->shape;
    if (shape.rank)
        shape.dim[0] = rows.count;
    snprintf(text, sizeof text, "%s/%s", what, p->name);
    return (wg_state)(j->at, j->g, text, p->dtype, shape, wg_zeros());
}

/* Parameter by parameter. */
static void make_states(job *j)
{
    for (size_t i = 0; i < j->n; i++)
        for (size_t s = 0; s < j->n_states; s++)
            j->state[i * j->n_states + s] = state_of(j, i, j->rule->states[s]);
}

static bool allocate(job *j)
{
    const size_t n = j->n * (j->n_states + 1) + 1;
    j->state = wg_graph_alloc(j->g, n * sizeof *j->state);
    j->next = wg_graph_alloc(j->g, n * sizeof *j->next);
    j->new_state = j->next ? j->next + j->n : NULL;
    for (size_t i = 0; j->state && j->next && i < n; i++)
        j->state[i] = j->next[i] = NULL;
    return j->state && j->next;
}

/* ---- the check of an update ------------------------------------------------------------------ */

static wg_value *wide(const char *at, wg_value *x)
{
    return x && wg_dtype_size(x->dtype) < wg_dtype_size(WG_F32) ? (wg_cast)(at, x, WG_F32) : x;
}

/* The norm of the n tensors that are there, 0 for none.  With a part, at least that of all
 * processes: a norm is at most the sum of the norms of its pieces. */
static wg_value *norm_over_processes(const job *j, wg_value *const *x, size_t n, wg_dtype dtype)
{
    if (!j->o.part)
        return (wg_global_norm)(j->at, x, n);
    wg_value **list = wg_graph_alloc(j->g, (n + 1) * sizeof *list), *norm;
    size_t own = 0;
    for (size_t i = 0; list && i < n; i++)
        if (x[i])
            list[own++] = x[i];
    norm =
        own ? wide(j->at, (wg_global_norm)(j->at, list, own)) : wg_fill(j->g, dtype, WG_SCALAR, 0);
    (wg_all_reduce)(j->at, &norm, 1, j->o.part->bucket, &norm);
    return norm;
}

/* The largest of n numbers, `all` if there are none. */
static double largest(const double *x, size_t n, double all)
{
    for (size_t i = 0; x && i < n; i++)
        all = i == 0 || x[i] > all ? x[i] : all;
    return all;
}

/* The global norm of the parameters, which checks are computed with; NULL for f16. */
static wg_value *norm_of_parameters(const job *j)
{
    wg_value *p = (wg_global_norm)(j->at, j->params, j->n);
    if (p && p->dtype == WG_F16)
        return wg_graph_fail(j->g, WG_EDTYPE, j->at, "norm",
                             "the check of an update needs the range of f32, but parameters are "
                             "f16");
    return wide(j->at, p);
}

static wg_value *rate_for(const char *at, wg_value *lr, const wg_value *p)
{
    return lr && p ? (wg_cast)(at, lr, p->dtype) : NULL;
}

/* Kernels write new parameters and states in the place of the old ones, so an update must be
 * refused before it begins.  The rule bounds what is new by the norms of what is old; lr passes
 * only if twice the bound is finite: the other half is for rounding.  With a part lr is an output,
 * so that a process without rows makes the check too, with its sum over all processes. */
static wg_value *guarded_rate(const job *j, wg_value *lr)
{
    wg_value *state[WG_MOST_UPDATE_STATES] = {NULL}, **first;
    wg_update u = {.p = norm_of_parameters(j),
                   .context = j->o.context,
                   .weight_decay = largest(j->o.decays, j->n, j->o.weight_decay)};
    first = wg_graph_alloc(j->g, j->n * sizeof *first);
    for (size_t i = 0; first && i < j->n && j->n_states; i++)
        first[i] = j->state[i * j->n_states];
    if (j->n_states && first && u.p)
        state[0] = wide(j->at, norm_over_processes(j, first, j->n, u.p->dtype));
    u.g = u.p ? (wg_cast)(j->at, j->o.norm, u.p->dtype) : NULL;
    u.lr = rate_for(j->at, lr, u.p);
    if (j->o.rates)
        u.lr = (wg_scale)(j->at, u.lr, largest(j->o.rates, j->n, 1));
    wg_value *twice =
        u.p ? wg_name((wg_scale)(j->at, j->rule->bound(&u, state), 2), "bound") : NULL;
    wg_value *rate = twice ? (wg_guard)(j->at, lr, &twice, 1) : NULL;
    return j->o.part && rate ? wg_output(rate, NULL) : rate;
}

/* Without a bound what is new passes only if all of it is finite, which takes room for old and new
 * values. */
static void guard_results(job *j)
{
    const size_t n = j->n * (j->n_states + 1);
    wg_value *p = norm_of_parameters(j);
    wg_value *norm = p ? wide(j->at, norm_over_processes(j, j->next, n, p->dtype)) : NULL;
    norm = wg_name(norm, "norm of what is new");
    if (j->o.part && norm)
        wg_output(norm, NULL);
    for (size_t i = 0; norm && i < n; i++)
        if (j->next[i])
            j->next[i] = (wg_guard)(j->at, j->next[i], &norm, 1);
}

/* x, after the checks that lr has passed: what a step makes of it cannot run before them, in the
 * place of the old values, and stay where the update is refused.  Nothing is copied. */
static wg_value *checked(const job *j, wg_value *x, wg_value *lr)
{
    return j->o.norm && x ? (wg_barrier)(j->at, x, &lr, 1) : x;
}

/* ---- the update ------------------------------------------------------------------------------ */

/* What a rule made must be like the parameter. */
static bool check_result(const job *j, const wg_value *p, const wg_value *x, const char *what)
{
    char a[160], b[160];
    if (wg_graph_status(j->g) != WG_OK)
        return false;
    if (!x)
        return wg_graph_fail(j->g, WG_EINVAL, j->at, j->name, "the rule made no new %s for '%s'",
                             what, p->name);
    if (x->dtype != p->dtype || !wg_shape_equal(&x->shape, &p->shape))
        return wg_graph_fail(j->g, x->dtype != p->dtype ? WG_EDTYPE : WG_ESHAPE, x->node->at,
                             j->name, "the rule's new %s is %s %s, but '%s' is %s %s", what,
                             wg_dtype_name(x->dtype), wg_shape_text(&x->shape, a, sizeof a),
                             p->name, wg_dtype_name(p->dtype),
                             wg_shape_text(&p->shape, b, sizeof b));
    return true;
}

/* The new value of parameter i, and those of its states. */
static void step(job *j, size_t i, wg_value *lr, wg_value *count)
{
    wg_value *state[WG_MOST_UPDATE_STATES] = {NULL}, **new_state = j->new_state + i * j->n_states;
    const wg_rows rows = rows_of(j, i);
    wg_update u = {.p = take_rows(j->at, j->params[i], rows),
                   .g = take_rows(j->at, j->grads[i], rows),
                   .lr = rate_for(j->at, lr, j->params[i]),
                   .count = count,
                   .weight_decay = j->o.decays ? j->o.decays[i] : j->o.weight_decay,
                   .context = j->o.context};
    if (j->o.rates && j->o.rates[i] != 1)
        u.lr = (wg_scale)(j->at, u.lr, j->o.rates[i]);
    for (size_t s = 0; s < j->n_states; s++)
        state[s] = wgi_rule_is_op(j->rule) ? j->state[i * j->n_states + s]
                                           : checked(j, j->state[i * j->n_states + s], lr);
    wg_value *before[WG_MOST_UPDATE_STATES];
    memcpy(before, state, sizeof before);
    wg_value *p = j->rule->step(&u, state);
    bool ok = check_result(j, u.p, p, "value");
    for (size_t s = 0; s < j->n_states && ok; s++) {
        ok = check_result(j, u.p, state[s], j->rule->states[s]);
        new_state[s] = state[s] == before[s] ? j->state[i * j->n_states + s] : state[s];
    }
    j->next[i] = p;
}

static void assign_results(const job *j)
{
    const size_t earlier = wg_graph_assign_count(j->g);
    for (size_t i = 0; i < j->n; i++) {
        wg_value *p = j->params[i], *next = put_rows_back(j->at, p, j->next[i], rows_of(j, i));
        if (next) {
            (wg_assign)(j->at, p, next);
            wgi_averages_follow(p, next, earlier);
        }
        for (size_t s = i * j->n_states; s < (i + 1) * j->n_states; s++)
            if (j->new_state[s] && j->new_state[s] != j->state[s])
                (wg_assign)(j->at, j->state[s], j->new_state[s]);
    }
}

static void build(job *j, wg_value *lr)
{
    wg_value *done = NULL, *count = NULL;
    const bool bounded = j->rule->bound != NULL;
    if (j->rule->counts) {
        done = (wg_state)(j->at, j->g, "step", WG_I64, WG_SCALAR, wg_zeros());
    }
    make_states(j);
    if (j->o.norm && bounded)
        lr = guarded_rate(j, lr);
    if (done)
        count = (wg_shift)(j->at, checked(j, done, lr), 1);
    for (size_t i = 0; i < j->n; i++)
        if (has_rows(j, i))
            step(j, i, lr, count);
    if (j->o.norm && !bounded)
        guard_results(j);
    assign_results(j);
    if (done)
        (wg_assign)(j->at, done, count);
}

wg_status wgi_update(const char *at, wg_value *const *params, wg_value *const *grads, size_t n,
                     wg_value *lr, const wg_update_rule *rule, const wg_update_options *options,
                     bool is_ours)
{
    job j = {.at = at, .params = params, .grads = grads, .n = n, .rule = rule};
    j.o = options ? *options : (wg_update_options){0};
    j.name = j.o.name ? j.o.name : rule ? rule->name : NULL;
    j.g = graph_of_update(at, j.name, params, grads, n, lr, rule);
    if (!j.g || wg_graph_status(j.g) != WG_OK)
        return j.g ? wg_graph_status(j.g) : WG_EINVAL;
    while (j.n_states < WG_MOST_UPDATE_STATES && rule->states[j.n_states])
        j.n_states++;
    if (!check(&j) || !allocate(&j))
        return wg_graph_status(j.g);
    wg_origin before = wgi_update_enter(j.g, j.name), inside = wg_graph_origin(j.g);
    inside.at = is_ours && !inside.at ? at : inside.at;
    wg_graph_set_origin(j.g, inside);
    build(&j, lr);
    wg_graph_set_origin(j.g, before);
    return wg_graph_status(j.g);
}

wg_status(wg_update_by_rule)(const char *at, wg_value *const *params, wg_value *const *grads,
                             size_t n, wg_value *lr, const wg_update_rule *rule,
                             const wg_update_options *options)
{
    return wgi_update(at, params, grads, n, lr, rule, options, false);
}
