#include "translate/step.h"
#include "wengert/models/optimizer.h"
#include "wengert/models/transformer.h"
#include "wengert/ops/ops.h"

const wg_field wgi_translation_fields[WGI_TRANSLATION_FIELDS] = {
    [WGI_SOURCE] = {.name = "source", .dtype = WG_I32},
    [WGI_SOURCE_LENGTHS] = {.name = "source_lengths", .dtype = WG_I32},
    [WGI_TARGET_IN] = {.name = "target_in", .dtype = WG_I32},
    [WGI_TARGET_OUT] = {.name = "target_out", .dtype = WG_I32},
};

void wgi_translation_shapes(wg_shape shapes[WGI_TRANSLATION_FIELDS], int64_t rows,
                            int64_t source_length, int64_t target_length)
{
    shapes[WGI_SOURCE] = WG_SHAPE(rows, source_length);
    shapes[WGI_SOURCE_LENGTHS] = WG_SHAPE(rows);
    shapes[WGI_TARGET_IN] = shapes[WGI_TARGET_OUT] = WG_SHAPE(rows, target_length);
}

/* Divided by the weight of all, as WG_LOSS_OF_UPDATE wants it. */
static wg_value *part_of(const wg_model_step *step, wg_value *sum)
{
    return wg_div(sum, sum ? wg_cast(step->total, sum->dtype) : NULL);
}

/* Sums over the targets that count: the label-smoothed cost, -log p, and the targets that have the
 * greatest logit. */
typedef struct sums {
    wg_value *cost, *nll, *hits;
} sums;

/* states [N, d], targets [N] */
static sums sums_of(wg_transformer *m, wg_value *states, wg_value *targets)
{
    const wg_transformer_config *c = &m->config;
    wg_value *logits = wg_transformer_logits(m, states); /* [N, V] */
    wg_cross_entropy_attrs plain = {.use_ignore = true,
                                    .ignore = WG_NO_TARGET,
                                    .reduction = WG_LOSS_SUM},
                           smooth = plain;
    smooth.smoothing = c->label_smoothing;
    smooth.spread = c->smoothing_spread;
    wg_value *best = wg_argmax(logits, -1, WG_DROP);
    wg_value *hit =
        wg_equal(best, targets ? wg_cast(targets, WG_I64) : NULL); /* padding never counts */
    return (sums){.cost = wg_cross_entropy(logits, targets, NULL, &smooth),
                  .nll = wg_cross_entropy(logits, targets, NULL, &plain),
                  .hits = wg_sum(wg_cast(hit, c->dtype), WG_ALL_AXES, WG_DROP)};
}

/* Without dropout, and in pieces of so many logits that a validation needs no more memory than an
 * update, whose logits never exist all at once.  The label-smoothed cost is returned. */
static wg_value *evaluate(const wg_model_step *step, wg_transformer *m,
                          const wg_transformer_inputs *in)
{
    const int64_t logits = 1 << 23, rows = logits / m->config.target_vocabulary + 1;
    wg_value *states = wg_reshape(wg_transformer_states(m, in), WG_SHAPE(-1, m->config.d_model));
    wg_value *targets = wg_reshape(in->target_out, WG_SHAPE(-1));
    const int64_t n = targets ? wg_value_count(targets) : 0;
    sums all = {NULL, NULL, NULL};
    for (int64_t i = 0; i < n; i += rows) {
        sums s =
            sums_of(m, wg_slice(states, 0, i, i + rows, 1), wg_slice(targets, 0, i, i + rows, 1));
        all =
            !i ? s
               : (sums){wg_add(all.cost, s.cost), wg_add(all.nll, s.nll), wg_add(all.hits, s.hits)};
    }
    wg_step_metric(step, "cross-entropy", part_of(step, all.nll), WG_LESS_IS_BETTER);
    wg_step_metric(step, "accuracy", part_of(step, all.hits), WG_MORE_IS_BETTER);
    return part_of(step, all.cost);
}

static wg_value *model(void *context, const wg_model_step *step)
{
    const wg_settings *s = context;
    wg_transformer m = wg_transformer_begin(step->graph, &s->net, step->mode);
    const size_t first = wgi_first_field(s);
    wg_value *input[WGI_TRANSLATION_FIELDS] = {NULL};
    for (size_t i = first; i < WGI_TRANSLATION_FIELDS; i++)
        input[i] = step->inputs[i - first];
    const wg_transformer_inputs in = {input[WGI_SOURCE], input[WGI_SOURCE_LENGTHS],
                                      input[WGI_TARGET_IN], input[WGI_TARGET_OUT]};
    return step->mode == WG_MODE_TRAINING ? wg_transformer_loss(&m, &in, step->total)
                                          : evaluate(step, &m, &in);
}

static double beta(double x)
{
    return x == 0 ? WG_BETA_ZERO : x;
}

/* With the numbers that the optimizer has; the settings have all of them. */
static wg_optimizer optimizer(const wg_settings *s)
{
    wg_optimizer o = {
        .kind = s->optimizer, .weight_decay = s->weight_decay, .clip_norm = s->clip_norm};
    if (s->optimizer == WG_OPTIMIZER_SGD) {
        o.momentum = s->momentum;
    } else {
        o.beta1 = beta(s->beta1);
        o.beta2 = beta(s->beta2);
        o.eps = s->eps;
    }
    return o;
}

wg_trainer_options wgi_translation_options(const wg_settings *s)
{
    return (wg_trainer_options){
        .model = model,
        .context = (void *)s, /* which the model only reads */
        .scale = WG_LOSS_OF_UPDATE,
        .dtype = s->net.dtype,
        .accumulate = s->delay,
        .optimizer = optimizer(s),
        .average = s->smoothing,
    };
}
