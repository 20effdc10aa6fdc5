/* What a run without a task tells its checkpoints: the settings that may not change when it is
 * resumed, and the metrics whose best models it keeps. */
#include "train/trainer.h"
#include "files/checksum.h"
#include "train/groups.h"
#include "train/optimizer.h"
#include "train/owner.h"
#include "train/scaling.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- settings -------------------------------------------------------------------------------- */

static void add(wg_trainer *t, const char *key, const char *format, ...) WG_PRINTF(3, 4);
static void add(wg_trainer *t, const char *key, const char *format, ...)
{
    size_t i = t->task.files.n_settings++;
    va_list list;
    va_start(list, format);
    vsnprintf(t->fact_text[i], sizeof t->fact_text[i], format, list);
    va_end(list);
    t->fact[i] = (wg_file_note){key, t->fact_text[i]};
}

/* Names, dtypes and shapes of what the model has. */
static void add_model(wg_trainer *t)
{
    uint64_t hash = 0;
    int64_t numbers = 0;
    size_t tensors = 0;
    const wg_tensor *x;
    for (size_t i = 0; (x = wg_store_at(t->store, i)); i++) {
        if (wgi_owner_of(x->name) != WGI_OWNER_MODEL)
            continue;
        tensors++;
        numbers += wg_shape_count(&x->shape);
        hash = wgi_xxh64(x->name, strlen(x->name), hash + (uint64_t)x->dtype);
        hash = wgi_xxh64(x->shape.dim, (size_t)x->shape.rank * sizeof x->shape.dim[0], hash);
    }
    add(t, "model", "%zu tensors of %" PRId64 " numbers (%016" PRIx64 ")", tensors, numbers, hash);
}

/* One by one as long as there is room for their text, then the rest as a hash. */
static void add_groups(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    char text[WGI_FACT_TEXT] = "none", each[WGI_FACT_TEXT];
    size_t used = 0, i = 0;
    for (; i < o->n_groups; i++) {
        const wg_parameter_group *g = &o->groups[i];
        int n = snprintf(each, sizeof each, "%s\"%s\" rate %.9g decay %.9g%s", used ? "; " : "",
                         g->names, wgi_group_rate(g), g->weight_decay, g->frozen ? " frozen" : "");
        if (n > 0 && (size_t)n < sizeof each && g->loss)
            n += snprintf(each + n, sizeof each - (size_t)n, " loss %s", g->loss);
        if (n > 0 && (size_t)n < sizeof each && g->every > 1)
            n += snprintf(each + n, sizeof each - (size_t)n, " every %" PRId64, g->every);
        if (n < 0 || used + (size_t)n + sizeof "; 0123456789 more (0123456789abcdef)" > sizeof text)
            break;
        memcpy(text + used, each, (size_t)n + 1);
        used += (size_t)n;
    }
    uint64_t hash = 0;
    for (size_t k = i; k < o->n_groups; k++) {
        const wg_parameter_group *g = &o->groups[k];
        const double numbers[] = {wgi_group_rate(g), g->weight_decay, g->frozen};
        hash = wgi_xxh64(g->names, strlen(g->names), hash);
        hash = wgi_xxh64(numbers, sizeof numbers, hash);
        if (g->loss)
            hash = wgi_xxh64(g->loss, strlen(g->loss), hash);
        if (g->every > 1)
            hash = wgi_xxh64(&g->every, sizeof g->every, hash);
    }
    if (i < o->n_groups)
        snprintf(text + used, sizeof text - used, "%s%zu more (%016" PRIx64 ")", used ? "; " : "",
                 o->n_groups - i, hash);
    add(t, "parameter groups", "%s", text);
}

/* Of what the best model depends on, too; data that come from a function have no hash. */
static void add_examples(wg_trainer *t)
{
    char text[WGI_FACT_TEXT];
    wgi_source_describe(&t->train, text, sizeof text);
    add(t, "examples", "%s", text);
    if (t->valid.s.hash)
        add(t, "validation data", "hash %016" PRIx64, t->valid.s.hash);
}

static void add_optimizer(wg_trainer *t)
{
    char text[WGI_FACT_TEXT];
    wgi_describe_optimizer(&t->options.optimizer, text, sizeof text);
    add(t, "optimizer", "%s", text);
}

static const char *const schedules[] = {
    [WG_SCHEDULE_NOAM] = "noam",         [WG_SCHEDULE_INVERSE_SQRT] = "inverse-sqrt",
    [WG_SCHEDULE_COSINE] = "cosine",     [WG_SCHEDULE_LINEAR] = "linear",
    [WG_SCHEDULE_CONSTANT] = "constant", [WG_SCHEDULE_STEP] = "step",
    [WG_SCHEDULE_RESTARTS] = "restarts"};

static void add_schedule(wg_trainer *t)
{
    const wg_schedule *s = &t->options.schedule;
    if (s->rate_at)
        add(t, "schedule", "a function of the program's");
    else if (s->every)
        add(t, "schedule",
            "%s, rate %.9g, warmup %" PRId64 ", start %.9g, floor %.9g, factor %.9g, "
            "every %" PRId64,
            schedules[s->kind], s->rate, s->warmup, s->start, s->floor, s->factor, s->every);
    else
        add(t, "schedule", "%s, rate %.9g, warmup %" PRId64 ", start %.9g, floor %.9g",
            schedules[s->kind], s->rate, s->warmup, s->start, s->floor);
    if (s->updates)
        add(t, "updates of the schedule", "%" PRId64, s->updates);
    else
        add(t, "updates of the schedule", "those of the run");
}

void wgi_trainer_facts(wg_trainer *t)
{
    const wg_trainer_options *o = &t->options;
    wg_checkpoint_options *files = &t->task.files;
    char text[WGI_FACT_TEXT];
    files->keep = o->keep;
    if (t->task.open) /* which has set its own */
        return;
    files->settings = t->fact;
    files->n_settings = 0;
    add_model(t);
    add(t, "seed", "%" PRIu64, o->seed);
    add(t, "batches", "%" PRId64 " in an epoch", t->train.s.batches);
    add_examples(t);
    add(t, "accumulate", "%" PRId64, o->accumulate);
    add_optimizer(t);
    add_schedule(t);
    add_groups(t);
    add(t, "average", "%.9g", o->average);
    add(t, "scale", "%d", (int)o->scale);
    wgi_describe_scaling(o, text, sizeof text);
    add(t, "loss scaling", "%s", text);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void add_name(wg_trainer *t, const char *name)
{
    wg_checkpoint_options *files = &t->task.files;
    for (size_t i = 0; i < files->n_metrics; i++)
        if (strcmp(t->name[i], name) == 0)
            return;
    if (files->n_metrics == WGI_MAX_NAMES)
        return;
    char *text = t->name_text[files->n_metrics];
    snprintf(text, sizeof t->name_text[0], "%s", name);
    t->name[files->n_metrics++] = text;
}

void wgi_trainer_names(wg_trainer *t)
{
    char name[sizeof t->name_text[0]];
    if (t->task.open)
        return;
    t->task.files.metrics = t->name;
    add_name(t, t->task.words.loss);
    for (size_t i = 0; wgi_trainer_metric(t, i, name); i++)
        add_name(t, name);
}
