#include "train/step.h"
#include "graph/clone.h"
#include "graph/marks.h"
#include "models/update.h"
#include "train/optimizer.h"
#include "train/owner.h"
#include "train/rows.h"
#include "train/scaling.h"
#include "wengert/autograd/grad.h"
#include "wengert/distributed/ranks.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char who[] = "wg_trainer";

/* ---- what a model is given ------------------------------------------------------------------- */

/* "x, label" */
static const char *list_inputs(const wg_model_step *step, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < step->n_inputs && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                 step->inputs[i] ? step->inputs[i]->name : "?");
    return text;
}

wg_value *(wg_step_input)(const char *at, const wg_model_step *step, const char *name)
{
    char all[300];
    if (!step || !name)
        return step ? wg_graph_fail(step->graph, WG_EINVAL, at, "wg_step_input", "`name` is NULL")
                    : NULL;
    for (size_t i = 0; i < step->n_inputs; i++)
        if (step->inputs[i] && strcmp(step->inputs[i]->name, name) == 0)
            return step->inputs[i];
    return wg_graph_fail(step->graph, WG_EINVAL, at, "wg_step_input",
                         "the batches have no input '%s', but %s", name,
                         list_inputs(step, all, sizeof all));
}

/* An output, by that name unless the model has an output of it. */
static wg_value *output_as(wg_value *v, const char *name)
{
    wg_graph *g = wg_graph_of(v);
    size_t i = 0, n = wg_graph_output_count(g);
    while (i < n && strcmp(wg_graph_output_name(g, i), name) != 0)
        i++;
    return wg_output(v, i < n ? NULL : name);
}

static bool check_metric(const wg_model_step *step, const char *name, const wg_value *v)
{
    const wgi_step_graph *own = step->own;
    bool known = strcmp(name, "loss") == 0;
    for (size_t i = 0; i < own->n_metrics; i++)
        known = known || strcmp(own->metric[i].name, name) == 0;
    size_t n = strlen(name), right = strspn(name, "abcdefghijklmnopqrstuvwxyz"
                                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    const char *what = known                 ? "expected another name than those before"
                       : !n || n != right    ? "expected letters, digits, '-' and '_'"
                       : n >= WG_METRIC_NAME ? "expected fewer than 24 characters"
                       : own->n_metrics == WGI_MAX_STEP_METRICS ? "expected at most 7 metrics"
                       : wg_value_count(v) != 1 || !wg_dtype_is_float(v->dtype)
                           ? "expected a float scalar"
                           : NULL;
    char shape[200];
    if (what)
        wg_graph_fail(step->graph, WG_EINVAL, v->node->at, "wg_step_metric",
                      "metric '%s': %s; its value is %s%s", name, what, wg_dtype_name(v->dtype),
                      wg_shape_text(&v->shape, shape, sizeof shape));
    return !what;
}

void wg_step_metric(const wg_model_step *step, const char *name, wg_value *value, wg_better better)
{
    wgi_step_graph *own = step->own;
    if (!value || !check_metric(step, name, value))
        return;
    wgi_step_metric *m = &own->metric[own->n_metrics++];
    snprintf(m->name, sizeof m->name, "%s", name);
    m->better = better;
    m->value = output_as(value, name);
}

/* ---- the model ------------------------------------------------------------------------------- */

static wg_value *input_of(wgi_step_graph *s, const char *name, wg_dtype dtype)
{
    return (wg_input)(NULL, s->graph, name, dtype, WG_SCALAR);
}

static wg_value *scalar_input(wgi_step_graph *s, const wg_trainer_options *o, const char *name)
{
    return input_of(s, name, o->dtype ? o->dtype : WG_F32);
}

static wg_value *build_model(wgi_step_graph *s, const wg_trainer_options *o, const wg_field *fields,
                             size_t n, const wg_shape *shapes, wg_mode mode)
{
    for (size_t i = 0; i < n && s->inputs; i++)
        s->inputs[i] = (wg_input)(NULL, s->graph, fields[i].name, fields[i].dtype, shapes[i]);
    s->total = scalar_input(s, o, "total weight");
    const wg_model_step step = {s->graph, s->inputs, s->inputs ? n : 0, mode, s->total, s};
    return o->model(o->context, &step);
}

/* Of a graph that was given, the input for that field. */
static wg_value *find_input(wg_graph *g, const wg_field *f, const wg_shape *shape)
{
    char want[200], have[200];
    wg_value *v = wg_graph_find(g, f->name);
    if (!v || v->node->op != &wg_op_input)
        return wg_graph_fail(g, WG_EINVAL, NULL, who, "the graph has no input '%s'", f->name);
    if (v->dtype != f->dtype || !wg_shape_equal(&v->shape, shape))
        return wg_graph_fail(g, WG_ESHAPE, NULL, who,
                             "the batches have %s as %s%s, the graph as %s%s", f->name,
                             wg_dtype_name(f->dtype), wg_shape_text(shape, want, sizeof want),
                             wg_dtype_name(v->dtype), wg_shape_text(&v->shape, have, sizeof have));
    return v;
}

/* Its named outputs become metrics: float scalars other than the loss. */
static void take_outputs(wgi_step_graph *s, const wg_value *loss)
{
    const wg_model_step step = {.graph = s->graph, .own = s};
    size_t n = wg_graph_output_count(s->graph);
    for (size_t i = 0; i < n; i++) {
        wg_value *v = wg_graph_output(s->graph, i);
        const char *name = wg_graph_output_name(s->graph, i);
        if (v != loss && *name && wg_value_count(v) == 1 && wg_dtype_is_float(v->dtype))
            wg_step_metric(&step, name, v, WG_MORE_IS_BETTER);
    }
}

/* A copy of the graph of o->loss; returns the copy of the loss. */
static wg_value *copy_model(wgi_step_graph *s, const wg_trainer_options *o, const wg_field *fields,
                            size_t n, const wg_shape *shapes)
{
    const wg_graph *from = wg_graph_of(o->loss);
    wg_value **map = calloc(wg_graph_value_count(from) + 1, sizeof(wg_value *));
    wg_graph *g = map ? wg_graph_clone(from, &(wg_clone_options){.keep_all = true}, map) : NULL;
    wg_value *loss = g ? map[o->loss->id] : NULL;
    free(map);
    wg_graph_free(s->graph);
    s->graph = g;
    s->inputs = wg_graph_alloc(g, (n + 1) * sizeof(wg_value *));
    for (size_t i = 0; i < n && s->inputs; i++)
        s->inputs[i] = find_input(g, &fields[i], &shapes[i]);
    s->total = g ? scalar_input(s, o, "total weight") : NULL;
    if (loss)
        take_outputs(s, loss);
    return loss;
}

/* What the loss or a metric reads must be filled by the trainer. */
static void refuse_other_inputs(const wgi_step_graph *s, size_t n)
{
    wg_graph *g = s->graph;
    bool *needed = calloc(wg_graph_node_count(g) + 1, sizeof *needed);
    if (!needed) {
        wg_graph_fail(g, WG_ENOMEM, NULL, who, "out of memory");
        return;
    }
    wgi_graph_needed(g, wgi_graph_marks(g), needed);
    for (size_t i = 0; i < wg_graph_node_count(g) && wg_graph_status(g) == WG_OK; i++) {
        const wg_node *node = wg_graph_node(g, i);
        bool filled = node->op != &wg_op_input || node->out[0] == s->total;
        for (size_t k = 0; k < n && !filled; k++)
            filled = node->out[0] == s->inputs[k];
        if (!needed[i] || filled)
            continue;
        char text[512];
        const wg_model_step step = {.inputs = s->inputs, .n_inputs = n};
        wg_graph_fail(g, WG_EINVAL, node->at, who,
                      "the model reads an input of its own, '%s', which no batch fills: they have "
                      "%s (wg_step_input)",
                      node->out[0]->name ? node->out[0]->name : "",
                      list_inputs(&step, text, sizeof text));
    }
    free(needed);
}

/* With WG_LOSS_OF_UPDATE losses are divided by step->total, but metrics need not be. */
static void need_total(wgi_step_graph *s, const wg_trainer_options *o, const wg_value *loss)
{
    if (o->scale == WG_LOSS_OF_UPDATE && wg_graph_status(s->graph) == WG_OK &&
        !wg_depends_on(loss, s->total))
        wg_graph_fail(s->graph, WG_EINVAL, loss->node->at, who,
                      "expected a loss that is divided by step->total, as .scale = "
                      "WG_LOSS_OF_UPDATE says, got one that does not depend on it");
}

static void find_sums(wgi_step_graph *s, const wg_trainer_options *o)
{
    s->adds_up = o->scale == WG_LOSS_OF_UPDATE;
    for (size_t i = 0; i < s->n_metrics && s->adds_up; i++)
        s->metric[i].adds_up = wg_depends_on(s->metric[i].value, s->total);
}

/* The loss as the model returns it, an output. */
static void build_loss(wgi_step_graph *s, const wg_trainer_options *o, const wg_field *fields,
                       size_t n, const wg_shape *shapes, wg_mode mode)
{
    wg_value *loss =
        o->model ? build_model(s, o, fields, n, shapes, mode) : copy_model(s, o, fields, n, shapes);
    if (!s->graph || wg_graph_status(s->graph) != WG_OK)
        return;
    char shape[200];
    if (!loss || wg_graph_of(loss) != s->graph)
        wg_graph_fail(s->graph, WG_EINVAL, NULL, who,
                      loss ? "the loss that the model returned is of another graph"
                           : "the model returned NULL as its loss");
    else if (!wg_dtype_is_float(loss->dtype))
        wg_graph_fail(s->graph, WG_EDTYPE, loss->node->at, who,
                      "the loss is %s, must be a float: wg_cast it", wg_dtype_name(loss->dtype));
    else if (wg_value_count(loss) != 1)
        wg_graph_fail(s->graph, WG_ESHAPE, loss->node->at, who,
                      "the loss is %s, must be a scalar: take its mean or its sum",
                      wg_shape_text(&loss->shape, shape, sizeof shape));
    else
        s->loss = output_as(loss, "loss");
    if (!s->loss)
        return;
    refuse_other_inputs(s, n);
    need_total(s, o, s->loss);
    find_sums(s, o);
}

/* ---- states ---------------------------------------------------------------------------------- */

/* "average/w"; for what waits to be added, "gradient/w", "gradient/sum of 4 batches/w" */
static wg_value *state_of(wg_graph *g, wgi_owner owner, int level, const wg_value *parameter)
{
    char name[WGI_OWNED_NAME], part[40] = "";
    if (level > 0)
        snprintf(part, sizeof part, "sum of %d batches/", 1 << level);
    wgi_owned_name(name, owner, part, parameter->name);
    return wg_state(g, name, parameter->dtype, parameter->shape, wg_zeros());
}

/* average' = (1 - s) average + s p */
static void smooth_one(wg_value *parameter, wg_value *p, double s)
{
    wg_value *average = state_of(wg_graph_of(parameter), WGI_OWNER_AVERAGE, 0, parameter);
    wg_assign(average, wg_moving_average(average, p, 1 - s));
}

/* For each parameter that the graph assigns, with its new value, and for those that rest, once the
 * rate has passed its checks. */
static void smooth(wg_graph *g, wg_value *const *resting, size_t n_resting, wg_value *rate,
                   double s)
{
    for (size_t i = 0, n = wg_graph_assign_count(g); i < n; i++) {
        wg_value *leaf, *new_value;
        wg_graph_assign_at(g, i, &leaf, &new_value);
        if (leaf->node->op->flags & WG_OP_PARAMETER)
            smooth_one(leaf, new_value, s);
    }
    for (size_t i = 0; i < n_resting; i++)
        smooth_one(resting[i], wg_barrier(resting[i], &rate, 1), s);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Times the scale, which f16 may not have room for. */
static wg_value *scaled(wgi_step_graph *s, const wg_trainer_options *o, wg_value *loss)
{
    if (!wgi_is_scaled(o))
        return loss;
    if (!s->scale)
        s->scale = input_of(s, "loss scale", o->dtype == WG_F64 ? WG_F64 : WG_F32);
    const wg_dtype wide = loss->dtype == WG_F64 ? WG_F64 : WG_F32;
    return wg_mul(wg_cast(loss, wide), wg_cast(s->scale, wide));
}

/* What is differentiated: the batch's part in the loss of the update, or in a metric that is a loss
 * of its own. */
static wg_value *part_of_update(wgi_step_graph *s, const wg_trainer_options *o, wg_value *loss)
{
    if (o->scale == WG_LOSS_OF_UPDATE || o->accumulate <= 1)
        return scaled(s, o, loss);
    if (!s->share)
        s->share = scalar_input(s, o, "share");
    return scaled(s, o, wg_mul(loss, wg_cast(s->share, loss->dtype)));
}

/* The metric that is a group's loss; without one of that name, an error that lists those that there
 * are. */
static wg_value *find_metric(wgi_step_graph *s, size_t group, const char *name)
{
    char all[WGI_MAX_STEP_METRICS * (WG_METRIC_NAME + 2)] = "none";
    size_t used = 0;
    for (size_t i = 0; i < s->n_metrics; i++) {
        if (strcmp(s->metric[i].name, name) == 0)
            return s->metric[i].value;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "",
                                 s->metric[i].name);
    }
    return wg_graph_fail(s->graph, WG_EINVAL, NULL, who,
                         "group %zu: expected a metric of the model as its loss, got '%s', of: %s",
                         group, name, all);
}

/* d of the parameters of group k becomes the gradient of the metric that is their loss. */
static void differentiate_for(wgi_step_graph *s, const wg_trainer_options *o, size_t k,
                              wg_gradients *d)
{
    const wg_parameter_group *group = &o->groups[k];
    wg_value *loss = find_metric(s, k, group->loss);
    wg_value **own = wg_graph_alloc(s->graph, (2 * d->n + 1) * sizeof(wg_value *));
    size_t n = 0;
    bool depends = false;
    if (!loss || !own)
        return;
    need_total(s, o, loss);
    wg_value **gradient = own + d->n;
    for (size_t i = 0; i < d->n; i++)
        if (wgi_group_of_parameter(o, d->params[i]) == group) {
            own[n++] = d->params[i];
            depends = depends || wg_depends_on(loss, d->params[i]);
        }
    if (n > 0 && !depends) {
        wg_graph_fail(s->graph, WG_EINVAL, loss->node->at, who,
                      "group %zu: its loss, '%s', depends on none of its parameters, '%s'", k,
                      group->loss, group->names);
        return;
    }
    if (wg_grad(part_of_update(s, o, loss), own, n, gradient) != WG_OK)
        return;
    loss = wg_cast(loss, s->loss->dtype);
    s->others = s->others ? wg_add(s->others, loss) : loss;
    n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (wgi_group_of_parameter(o, d->params[i]) == group)
            d->grads[i] = gradient[n++];
}

/* Of the loss, or the metric that is the loss of their group, with respect to all parameters; those
 * that rest may have any. */
static wg_gradients differentiate(wgi_step_graph *s, const wg_trainer_options *o,
                                  wgi_group_set resting)
{
    wg_gradients d = {.n = 0};
    if (wg_graph_parameters(s->graph, NULL, 0) == 0)
        return d;
    d = (wg_grad_all)(s->loss ? s->loss->node->at : WG_HERE, part_of_update(s, o, s->loss));
    for (size_t k = 0; k < o->n_groups; k++)
        if (o->groups[k].loss && !wgi_group_rests(o, &o->groups[k], resting))
            differentiate_for(s, o, k, &d);
    return d;
}

/* ---- the update ------------------------------------------------------------------------------ */

/* Updates n of the parameters from number `first` on, with states of that name. */
static void update_some(const wg_optimizer *opt, const wg_gradients *d, size_t first, size_t n,
                        wg_value *rate, wg_value *norm, const char *name,
                        const wgi_group_settings *f, const wg_update_part *part)
{
    wg_value *const *params = d->params + first, *const *grads = d->grads + first;
    const wg_optimizer_numbers numbers = wgi_numbers_of(opt);
    const wg_update_options o = {.weight_decay = opt->weight_decay,
                                 .norm = norm,
                                 .name = name,
                                 .rates = f->rates ? f->rates + first : NULL,
                                 .decays = f->decays ? f->decays + first : NULL,
                                 .part = part,
                                 .context = opt->rule_context};
    if (opt->rule)
        wg_update_by_rule(params, grads, n, rate, opt->rule, &o);
    else
        wg_optimizer_update(params, grads, n, rate, opt->kind, &numbers, &o);
}

/* They have one norm. */
static void need_one_dtype(const wg_gradients *d)
{
    for (size_t i = 1; i < d->n; i++) {
        const wg_value *a = d->params[0], *b = d->params[i];
        if (b->dtype != a->dtype)
            wg_graph_fail(wg_graph_of(b), WG_EDTYPE, b->node->at, who,
                          "expected parameters of one dtype, got %s, which is %s, and %s, which is "
                          "%s (wg_scope_parameter_dtype sets that of layers)",
                          a->name, wg_dtype_name(a->dtype), b->name, wg_dtype_name(b->dtype));
    }
}

/* By an optimizer in the model. */
static void need_no_assignment(const wg_gradients *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const wgi_assignment *own = wgi_graph_assignment(wg_graph_of(d->params[i]), d->params[i]);
        if (own)
            wg_graph_fail(wg_graph_of(d->params[i]), WG_EINVAL, own->at, who,
                          "the model assigns to %s, which the trainer updates: its optimizer is an "
                          "option, or the parameter in a group that is frozen",
                          d->params[i]->name);
    }
}

/* Divides the gradients by the scale of the loss. */
static void unscale(const wgi_step_graph *s, const wg_gradients *d)
{
    if (!s->scale)
        return;
    wg_origin before = wgi_update_enter(s->graph, "unscale");
    wg_value *inverse = wg_div(wg_scalar_like(s->scale, 1), s->scale);
    for (size_t i = 0; inverse && i < d->n; i++)
        d->grads[i] =
            d->grads[i] ? wg_mul(d->grads[i], wg_cast(inverse, d->grads[i]->dtype)) : NULL;
    wg_graph_set_origin(s->graph, before);
}

/* The learning rate, unless the loss or the norm is not finite.  Where that skips the update, its
 * metrics count all the same: they come first. */
static wg_value *guarded_rate(const wgi_step_graph *s, const wg_trainer_options *o)
{
    wg_value *metrics[WGI_MAX_STEP_METRICS];
    for (size_t i = 0; i < s->n_metrics; i++)
        metrics[i] = s->metric[i].value;
    wg_value *rate = s->scale ? wg_barrier(s->rate, metrics, s->n_metrics) : s->rate;
    return o->ranks
               ? wg_guard(rate, (wg_value *[]){s->losses, s->norm, s->votes}, 3)
               : wg_guard(rate, (wg_value *[]){s->loss, s->norm, s->others}, s->others ? 3 : 2);
}

/* Clips the gradients and updates the parameters, unless the loss or the norm is not finite, or a
 * new parameter or moment could be none. */
static void update(wgi_step_graph *s, const wg_trainer_options *o, const wg_gradients *d,
                   const wgi_group_settings *f, const wg_update_part *part)
{
    const wg_optimizer *opt = &o->optimizer;
    bool clips = opt->clip_norm > 0;
    need_one_dtype(d);
    need_no_assignment(d);
    unscale(s, d);
    s->rate = scalar_input(s, o, "learning rate");
    s->norm = clips ? wg_clip_by_global_norm(d->grads, d->n, opt->clip_norm, d->grads)
                    : wg_global_norm(d->grads, d->n);
    output_as(s->norm, "gradient norm");
    wg_value *rate = guarded_rate(s, o);
    wg_value *norm = clips ? wg_minimum(s->norm, wg_scalar_like(s->norm, opt->clip_norm)) : s->norm;
    for (size_t first = 0, n; first < d->n; first += n) {
        char name[60] = "optimizer"; /* whose states it begins the names of: WGI_OWNER_OPTIMIZER */
        int64_t every = f->every ? f->every[first] : 1;
        n = 1;
        while (first + n < d->n && (!f->every || f->every[first + n] == every))
            n++;
        if (every > 1)
            snprintf(name, sizeof name, "optimizer/every %" PRId64, every);
        update_some(opt, d, first, n, rate, norm, name, f, part);
    }
    if (o->average > 0)
        smooth(s->graph, f->resting, f->n_resting, rate, o->average);
}

int wgi_step_kind(int64_t i, int64_t n)
{
    bool last = i + 1 == n;
    int64_t adds = last ? i : i & ~(i + 1); /* all levels that wait, or those that are full now */
    return (last ? WGI_STEP_UPDATES : 0) | (int)(adds << WGI_FIRST_LEVEL);
}

/* Adds the sums that this batch completes, to the gradient of p; then keeps the sum for a later
 * batch, unless the parameters are updated.  The barrier keeps the sum out of the product that
 * makes the gradient, where it might be rounded otherwise than the same sum over ranks. */
static wg_value *add_batches(wg_graph *g, const wg_value *p, wg_value *grad, int kind)
{
    int level = 0;
    if (kind >> WGI_FIRST_LEVEL)
        grad = wg_barrier(grad, NULL, 0);
    for (int l = 0; l < WGI_MOST_LEVELS; l++)
        if (kind >> (WGI_FIRST_LEVEL + l) & 1) {
            grad = wg_add(state_of(g, WGI_OWNER_GRADIENT, l, p), grad);
            level = l + 1;
        }
    if (!(kind & WGI_STEP_UPDATES))
        wg_assign(state_of(g, WGI_OWNER_GRADIENT, level, p), grad);
    return grad;
}

/* The gradient and the loss of no batch: -0, since x + -0 is x for every x, and -0 + -0 is -0. */
static void count_nothing(wgi_step_graph *s, wg_gradients *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->grads[i] = wg_fill(s->graph, d->params[i]->dtype, d->params[i]->shape, -0.0);
    s->counted = wg_scalar_like(s->loss, -0.0);
}

/* The sums over all ranks, of gradients and of what says whether the update is done.  Returns a
 * bucket that is free after them. */
static int64_t sum_over_ranks(wgi_step_graph *s, const wg_trainer_options *o, wg_gradients *d)
{
    wg_value *vote = scalar_input(s, o, "vote"), *sums[2];
    s->vote = vote;
    int64_t bucket = wg_all_reduce_gradients(d->grads, d->n, &o->reduce);
    sums[0] = s->counted;
    sums[1] = s->loss ? wg_cast(vote, s->loss->dtype) : NULL;
    wg_all_reduce(sums, 2, 0, sums);
    s->losses = output_as(sums[0], "loss of all ranks");
    s->votes = output_as(sums[1], "votes");
    return bucket;
}

/* A state that each batch changes would become another one on each rank. */
static void refuse_states(wg_graph *g)
{
    wg_value *leaf, *value;
    if (wg_graph_assign_count(g) == 0)
        return;
    wg_graph_assign_at(g, 0, &leaf, &value);
    wg_graph_fail(g, WG_EUNSUPPORTED, value->node->at, who,
                  "the model assigns to %s in each batch; on several ranks each would have "
                  "another one: train on one, or without that state",
                  leaf->name);
}

/* Adds the gradients of earlier batches of the same update; then updates the parameters, or keeps
 * the sums for the next batch. */
static void train(wgi_step_graph *s, const wg_trainer_options *o, int kind, wgi_group_set resting)
{
    if (o->ranks)
        refuse_states(s->graph);
    wg_gradients d = differentiate(s, o, resting);
    wgi_group_settings f = wgi_apply_groups(s->graph, o, resting, &d);
    if (d.n == 0)
        wg_graph_fail(s->graph, WG_EINVAL, NULL, who,
                      resting ? "all parameters rest in some updates, as their groups say (every)"
                              : "the model has no parameters to train");
    if (wg_graph_status(s->graph) != WG_OK)
        return;
    s->counted = s->others ? wg_add(s->loss, s->others) : s->loss;
    if (kind & WGI_STEP_EMPTY)
        count_nothing(s, &d);
    for (size_t i = 0; i < d.n; i++)
        d.grads[i] = add_batches(s->graph, d.params[i], d.grads[i], kind);
    if (!(kind & WGI_STEP_UPDATES))
        return;
    s->trained = d.params;
    s->n_trained = d.n;
    wg_update_part part = {.rows = NULL};
    if (o->ranks)
        part.bucket = sum_over_ranks(s, o, &d);
    if (o->shard_optimizer)
        part.rows = wgi_shard_rows(o->ranks, d.params, d.n);
    update(s, o, &d, &f, part.rows ? &part : NULL);
}

void wgi_step_build(wgi_step_graph *out, const wg_trainer_options *o, const wg_field *fields,
                    size_t n_fields, const wg_shape *shapes, int kind, wgi_group_set resting)
{
    wg_graph *g = wg_graph_new();
    *out = (wgi_step_graph){.graph = g};
    if (!g)
        return;
    bool evaluates = kind & WGI_STEP_EVALUATES;
    out->inputs = wg_graph_alloc(g, (n_fields + 1) * sizeof(wg_value *));
    build_loss(out, o, fields, n_fields, shapes, evaluates ? WG_MODE_INFERENCE : WG_MODE_TRAINING);
    if (out->loss && !evaluates)
        train(out, o, kind, resting);
}
