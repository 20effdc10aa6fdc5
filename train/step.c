#include "train/step.h"
#include "wengert/autograd/grad.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdio.h>

/* Sums over the targets that count, without dropout. */
static void evaluate(wgi_step_graph *s, wg_transformer *m)
{
    const wg_transformer_config *c = &m->config;
    wg_value *memory = wg_transformer_encode(m, s->in.source, s->in.source_lengths);
    wg_value *states = wg_transformer_decode(m, s->in.target_in, memory, s->in.source_lengths);
    wg_value *logits = wg_transformer_logits(m, states),
             *targets = s->in.target_out; /* [B, T, V], [B, T] */
    wg_cross_entropy_attrs plain = {.use_ignore = true,
                                    .ignore = WG_NO_TARGET,
                                    .reduction = WG_LOSS_SUM},
                           smooth = plain;
    smooth.smoothing = c->label_smoothing;
    smooth.spread = c->smoothing_spread;
    s->cost = wg_output(wg_cross_entropy(logits, targets, NULL, &smooth), "cost");
    s->nll = wg_output(wg_cross_entropy(logits, targets, NULL, &plain), "nll");
    wg_value *best = wg_argmax(logits, -1, WG_DROP);
    wg_value *hit =
        wg_equal(best, targets ? wg_cast(targets, WG_I64) : NULL); /* padding never counts */
    s->correct = wg_output(wg_sum(wg_cast(hit, c->dtype), WG_ALL_AXES, WG_DROP), "hits");
}

static wg_value *state_of(wg_graph *g, const char *prefix, const wg_value *parameter)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", prefix, parameter->name);
    return wg_state(g, name, parameter->dtype, parameter->shape, wg_zeros());
}

/* average' = (1 - s) average + s p', for each parameter p that the graph assigns */
static void smooth(wg_graph *g, double s)
{
    for (size_t i = 0, n = wg_graph_assign_count(g); i < n; i++) {
        wg_value *leaf, *new_value;
        wg_graph_assign_at(g, i, &leaf, &new_value);
        if (leaf->node->op != &wg_op_parameter)
            continue;
        wg_value *average = state_of(g, WG_STATES_OF_AVERAGE, leaf);
        wg_assign(average, wg_moving_average(average, new_value, 1 - s));
    }
}

/* Clips the gradients and updates the parameters, unless the cost or the norm is not finite, or a
 * new parameter or moment could be none. */
static void update(wgi_step_graph *s, const wg_settings *o, const wg_gradients *d)
{
    bool clips = o->clip_norm > 0;
    s->rate = wg_input(s->graph, "rate", o->net.dtype, WG_SCALAR);
    s->norm = clips ? wg_clip_by_global_norm(d->grads, d->n, o->clip_norm, d->grads)
                    : wg_global_norm(d->grads, d->n);
    wg_output(s->norm, "gradient norm");
    wg_value *rate = wg_guard(s->rate, (wg_value *[]){s->cost, s->norm}, 2);
    wg_value *norm = clips ? wg_minimum(s->norm, wg_scalar_like(s->norm, o->clip_norm)) : s->norm;
    static const char states[] = "optimizer"; /* WG_STATES_OF_OPTIMIZER without its slash */
    if (o->optimizer == WG_OPTIMIZER_SGD)
        wg_sgd_update(d->params, d->grads, d->n, rate,
                      &(wg_sgd_options){.momentum = o->momentum,
                                        .weight_decay = o->weight_decay,
                                        .norm = norm,
                                        .name = states});
    else
        wg_adam_update(d->params, d->grads, d->n, rate,
                       &(wg_adam_options){.beta1 = o->beta1,
                                          .beta2 = o->beta2,
                                          .eps = o->eps,
                                          .weight_decay = o->weight_decay,
                                          .decoupled = o->optimizer == WG_OPTIMIZER_ADAMW,
                                          .norm = norm,
                                          .name = states});
    if (o->smoothing > 0)
        smooth(s->graph, o->smoothing);
}

/* Adds the gradients of earlier batches of the same update; then updates the parameters, or keeps
 * the sums for the next batch. */
static void train(wgi_step_graph *s, const wg_settings *o, int kind)
{
    wg_gradients d = wg_grad_all(s->cost);
    for (size_t i = 0; i < d.n && kind != WG_STEP_UPDATES; i++) {
        wg_value *left = state_of(s->graph, WG_STATES_OF_GRADIENT, d.params[i]);
        if (kind & WG_STEP_ADDS)
            d.grads[i] = wg_add(left, d.grads[i]);
        if (!(kind & WG_STEP_UPDATES))
            wg_assign(left, d.grads[i]);
    }
    if (kind & WG_STEP_UPDATES)
        update(s, o, &d);
}

void wgi_step_build(wgi_step_graph *out, const wg_settings *settings, const wgi_step_shape *shape)
{
    wg_graph *g = wg_graph_new();
    *out = (wgi_step_graph){.graph = g};
    if (!g)
        return;
    bool evaluates = shape->kind & WG_STEP_EVALUATES;
    wg_transformer m =
        wg_transformer_begin(g, &settings->net, evaluates ? WG_MODE_INFERENCE : WG_MODE_TRAINING);
    out->in = wg_transformer_inputs_new(g, shape->rows, shape->source_length, shape->target_length);
    if (evaluates) {
        evaluate(out, &m);
        return;
    }
    out->normaliser = wg_input(g, "normaliser", settings->net.dtype, WG_SCALAR);
    out->cost = wg_output(wg_transformer_loss(&m, &out->in, out->normaliser), "cost");
    train(out, settings, shape->kind);
}
