/* The options of a run: values that cannot be, and options that have no effect. */
#include "graph/error.h"
#include "train/optimizer.h"
#include "train/scaling.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct rule {
    bool broken;
    const char *text;
} rule;

/* What the first broken one says; NULL if none is. */
static const char *first_broken(const rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i].broken)
            return rules[i].text;
    return NULL;
}

static bool is_share(double x)
{
    return x >= 0 && x < 1;
}

static bool is_rate(double x)
{
    return x >= 0 && x < INFINITY;
}

static const char *wrong_option(const wg_trainer_options *o)
{
    const rule rules[] = {
        {!o->model == !o->loss, "expected `model` or `loss`, and not both"},
        {o->n_groups && !o->groups, "groups is NULL"},
        {o->n_backends && !o->backends, "backends is NULL"},
        {o->dtype && !wg_dtype_is_float(o->dtype), "dtype: expected a float"},
        {o->reduce.wire && o->reduce.wire != WG_BF16, "reduce.wire: expected 0 or WG_BF16"},
    };
    return first_broken(rules, WG_COUNT(rules));
}

/* Each of them, by the name that it has in the options. */
static wg_status check_numbers(const wg_trainer_options *o, wg_error *error)
{
    static const char share[] = "a number in [0, 1)", positive[] = "0 or more",
                      rate[] = "a finite number of 0 or more";
    const wg_schedule *s = &o->schedule;
    const struct {
        const char *name;
        double is;
        bool right;
        const char *must_be;
    } numbers[] = {
        {"accumulate", (double)o->accumulate, o->accumulate >= 0, "1 or more"},
        {"accumulate", (double)o->accumulate, o->accumulate <= 1 << WGI_MOST_LEVELS,
         "at most 16777216"},
        {"average", o->average, is_share(o->average), share},
        {"threads", o->threads, o->threads >= 0, positive},
        {"patience", (double)o->patience, o->patience >= 0, positive},
        {"keep", (double)o->keep, o->keep >= 0, positive},
        {"scale", o->scale, (unsigned)o->scale <= WG_LOSS_OF_UPDATE, "one of wg_loss_scale"},
        {"schedule: kind", s->kind, s->kind >= WG_SCHEDULE_NOAM && s->kind <= WG_SCHEDULE_RESTARTS,
         "one of wg_schedule_kind"},
        {"schedule: rate", s->rate, is_rate(s->rate), rate},
        {"schedule: start", s->start, is_rate(s->start), rate},
        {"schedule: floor", s->floor, is_rate(s->floor), rate},
        {"schedule: warmup", (double)s->warmup, s->warmup >= 0, positive},
        {"schedule: updates", (double)s->updates, s->updates >= 0, positive},
        {"schedule: factor", s->factor, is_rate(s->factor), rate},
        {"schedule: every", (double)s->every, s->every >= 0, positive},
    };
    for (int i = 0; i < WG_COUNT(numbers); i++)
        if (!numbers[i].right)
            return wgi_error_set(error, WG_EINVAL, "%s: expected %s, got %.10g", numbers[i].name,
                                 numbers[i].must_be, numbers[i].is);
    return WG_OK;
}

static wg_status check_optimizer(const wg_trainer_options *o, wg_error *error)
{
    char text[200];
    if (!wgi_check_optimizer(&o->optimizer, text, sizeof text))
        return wgi_error_set(error, WG_EINVAL, "optimizer: %s", text);
    if (o->shard_optimizer && wgi_rule_of(&o->optimizer)->mixes)
        return wgi_error_set(error, WG_EINVAL,
                             "shard_optimizer: the rule %s needs whole parameters, which a rank "
                             "that updates a part of them does not have",
                             wgi_rule_of(&o->optimizer)->name);
    return WG_OK;
}

static wg_status check_scaling(const wg_trainer_options *o, wg_error *error)
{
    char text[200];
    return wgi_check_scaling(&o->loss_scaling, text, sizeof text)
               ? WG_OK
               : wgi_error_set(error, WG_EINVAL, "loss_scaling: %s", text);
}

static const char *wrong_schedule(const wg_trainer_options *o)
{
    const wg_schedule *s = &o->schedule;
    const bool has_end = s->kind == WG_SCHEDULE_COSINE || s->kind == WG_SCHEDULE_LINEAR,
               steps = s->kind == WG_SCHEDULE_STEP, repeats = s->kind == WG_SCHEDULE_RESTARTS;
    if (s->rate_at)
        return s->kind != 0 || s->rate != 0 || s->warmup != 0
                   ? "schedule: kind, rate and warmup have no effect beside rate_at"
                   : NULL;
    const rule rules[] = {
        {s->kind == WG_SCHEDULE_NOAM && s->d_model < 1,
         "schedule: expected d_model, since WG_SCHEDULE_NOAM divides by its root"},
        {(has_end || steps || repeats) && s->floor > s->rate,
         "schedule: expected a floor of at most the rate"},
        {(steps || repeats) && s->every < 1,
         "schedule: expected `every`, the updates of a step or of a cosine"},
        {steps && s->factor == 0, "schedule: expected a factor above 0, such as 0.5"},
        {!steps && s->factor != 0, "schedule: factor is of WG_SCHEDULE_STEP"},
        {!steps && !repeats && s->every != 0,
         "schedule: every is of WG_SCHEDULE_STEP and WG_SCHEDULE_RESTARTS"},
        {has_end && s->updates && s->warmup >= s->updates,
         "schedule: expected more updates than those of the warm-up, after which the rate falls"},
        {has_end && s->updates == 0 && o->after.n == 0,
         "schedule: expected its updates, since `after` does not end the run"},
    };
    return first_broken(rules, WG_COUNT(rules));
}

/* What has no effect, or never the one that it should have; a task gives all that it knows. */
static const char *idle_option(const wg_trainer_options *o)
{
    const bool has_valid = o->valid || o->valid_source;
    const rule rules[] = {
        {o->schedule.rate == 0 && !o->schedule.rate_at,
         "schedule: expected a kind and a rate above 0, such as {WG_SCHEDULE_CONSTANT, "
         ".rate = 1e-3}, got a rate of 0"},
        {o->validate.n && !has_valid, "validate: there is no validation data"},
        {o->patience > 0 && !o->validate.n,
         "patience: expected an interval of validations, `validate`"},
        {o->metrics && !o->validate.n,
         "metrics: expected an interval of validations, `validate`, which find the best models"},
    };
    return first_broken(rules, WG_COUNT(rules));
}

static wg_status check_amounts(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    const struct {
        const char *name;
        wg_amount amount;
    } each[] = {
        {"after", o->after}, {"report", o->report}, {"validate", o->validate}, {"save", o->save}};
    for (int i = 0; i < WG_COUNT(each); i++)
        if (!wgi_is_amount(each[i].amount))
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "%s: expected an amount of 0 or more in 'u', 'e' or 't', got "
                                 "%" PRId64 " in '%c'",
                                 each[i].name, each[i].amount.n,
                                 each[i].amount.unit ? each[i].amount.unit : 'u');
    return WG_OK;
}

static wg_status check_groups(wg_trainer *t)
{
    for (size_t i = 0; i < t->options.n_groups; i++) {
        const wg_parameter_group *g = &t->options.groups[i];
        if (!g->names || !is_rate(g->rate) || !is_rate(g->weight_decay))
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "group %zu: expected names, and a rate and a decay of 0 or more, "
                                 "got '%s', %g and %g",
                                 i, g->names ? g->names : "NULL", g->rate, g->weight_decay);
        if (g->every < 0)
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "group %zu: every: expected 0 or more, got %" PRId64, i, g->every);
        if (g->every > 1 && i >= WGI_MOST_RESTING)
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "group %zu: expected groups that rest among the first %d", i,
                                 WGI_MOST_RESTING);
        if (g->frozen && (g->loss || g->every > 1 || g->rate != 0 || g->weight_decay != 0))
            return wgi_error_set(&t->error, WG_EINVAL,
                                 "group %zu: frozen parameters have no loss, rate, decay or turn "
                                 "of their own",
                                 i);
        if (g->every > 1 && t->options.shard_optimizer)
            return wgi_error_set(
                &t->error, WG_EUNSUPPORTED,
                "group %zu: with shard_optimizer no group may rest, expected every "
                "= 1, got %" PRId64,
                i, g->every);
    }
    return WG_OK;
}

static wg_status check_metrics(wg_trainer *t)
{
    char name[WG_METRIC_NAME], other[WG_METRIC_NAME];
    for (size_t i = 0; wgi_trainer_metric(t, i, name); i++)
        for (size_t k = 0; k < i && wgi_trainer_metric(t, k, other); k++)
            if (strcmp(name, other) == 0)
                return wgi_error_set(&t->error, WG_EINVAL,
                                     "metrics: expected different ones, got '%s' twice", name);
    return WG_OK;
}

wg_status wgi_options_check(wg_trainer *t)
{
    const char *wrong = wrong_option(&t->options);
    wg_status status = wrong ? wgi_error_set(&t->error, WG_EINVAL, "%s", wrong) : check_amounts(t);
    if (status == WG_OK)
        status = check_numbers(&t->options, &t->error);
    if (status == WG_OK)
        status = check_optimizer(&t->options, &t->error);
    if (status == WG_OK)
        status = check_scaling(&t->options, &t->error);
    if (status == WG_OK)
        status = check_groups(t);
    if (status == WG_OK)
        status = check_metrics(t);
    if (status != WG_OK)
        return status;
    wrong = t->task.open ? NULL : idle_option(&t->options);
    wrong = wrong ? wrong : wrong_schedule(&t->options);
    return wrong ? wgi_error_set(&t->error, WG_EINVAL, "%s", wrong) : WG_OK;
}
