/* What a training run reports: lines for people, and records in metrics.jsonl. */
#include "train/trainer.h"
#include "files/replace.h"
#include "graph/error.h"
#include "graph/text_buffer.h"
#include "train/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LINE = WG_ERROR_TEXT + 256 }; /* bytes of an event's text; the rest is cut off */

/* ---- events ---------------------------------------------------------------------------------- */

/* The epoch of the last update, and how many of its groups are done. */
static wg_cursor position(const wg_trainer *t)
{
    wg_cursor next = t->progress.cursor;
    if (next.group || t->progress.update == 0)
        return (wg_cursor){next.epoch + 1, next.group};
    return (wg_cursor){next.epoch, wg_batches_groups(t->batches)};
}

/* Seconds left at the speed of this run; NaN if unknown. */
static double seconds_left(const wg_trainer *t)
{
    double done = wgi_trainer_done(t), share = done - t->done_until;
    return share > 0 ? (1 - done) / share * (wgi_seconds() - t->run) : NAN;
}

/* Sends an event with the facts that every event has. */
static void tell(wg_trainer *t, int kind, const char *text)
{
    double elapsed = wgi_seconds() - t->span.start, tokens = (double)t->span.tokens;
    wg_cursor at = position(t);
    wg_event e = {
        .kind = kind,
        .text = text,
        .epoch = at.epoch,
        .update = t->progress.update,
        .updates_in_epoch = at.group,
        .of_updates_in_epoch = wg_batches_groups(t->batches),
        .cost = t->span.tokens ? t->span.cost / tokens : NAN,
        .rate = t->span.rate,
        .gradient_norm = t->span.norm,
        .words_per_second = elapsed > 0 ? tokens / elapsed : 0,
        .done = wgi_trainer_done(t),
        .seconds_left = seconds_left(t),
    };
    if (t->listener.tell)
        t->listener.tell(t->listener.context, &e);
}

void wgi_report_note(wg_trainer *t, const char *format, ...)
{
    char text[MAX_LINE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tell(t, WG_EVENT_NOTE, text);
}

void wgi_report_update(wg_trainer *t)
{
    tell(t, WG_EVENT_UPDATE, "");
}

/* "2 h 05 min", "3 min 20 s", "12 s" */
static const char *duration(double seconds, char *text, size_t size)
{
    if (!(seconds < 1e9))
        snprintf(text, size, "?");
    else if (seconds >= 3600)
        snprintf(text, size, "%d h %02d min", (int)(seconds / 3600), (int)fmod(seconds / 60, 60));
    else if (seconds >= 60)
        snprintf(text, size, "%d min %02d s", (int)(seconds / 60), (int)fmod(seconds, 60));
    else
        snprintf(text, size, "%d s", (int)seconds);
    return text;
}

/* ---- metrics.jsonl --------------------------------------------------------------------------- */

static wg_status fail(wg_trainer *t, const char *what)
{
    char *path = wg_folder_path(t->settings.model, WG_FILE_METRICS);
    wg_status status = wgi_error_errno(&t->error, path ? path : WG_FILE_METRICS, what);
    free(path);
    return status;
}

wg_status wgi_report_open(wg_trainer *t)
{
    char *path = wg_folder_path(t->settings.model, WG_FILE_METRICS);
    if (!path)
        return wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    wg_status status =
        wgi_file_append(&t->metrics, path, (size_t)t->progress.metrics_bytes, &t->error);
    free(path);
    return status;
}

wg_status wgi_report_close(wg_trainer *t)
{
    FILE *f = t->metrics;
    t->metrics = NULL;
    return !f || fclose(f) == 0 ? WG_OK : fail(t, "write");
}

/* Appends the record as a line.  The caller leaves out numbers that JSON lacks (NaN).  Not by
 * json_dumps, which may leave out a key without memory and report success. */
static wg_status record(wg_trainer *t, json_t *root)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    bool whole = f && root && json_dumpf(root, f, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
    char *text = wgi_text_close(&b);
    json_decref(root);
    if (!whole || !text) {
        free(text);
        return wgi_error_file(&t->error, WG_ENOMEM, t->settings.model,
                              "no memory for a record of " WG_FILE_METRICS);
    }
    errno = 0;
    bool ok = t->metrics && fprintf(t->metrics, "%s\n", text) > 0 && fflush(t->metrics) == 0;
    free(text);
    return ok ? WG_OK : fail(t, "write");
}

/* {"kind": ..., and the position in the run} */
static json_t *begin(const wg_trainer *t, const char *kind)
{
    const wg_progress *p = &t->progress;
    return json_pack(
        "{s:s, s:I, s:f, s:I, s:f}", "kind", kind, "update", (json_int_t)p->update, "epoch",
        (double)p->cursor.epoch + (double)p->cursor.group / (double)wg_batches_groups(t->batches),
        "target-tokens", (json_int_t)p->tokens, "seconds", p->seconds);
}

static void add_real(json_t **root, const char *key, double x)
{
    if (isfinite(x))
        wgi_json_add(root, key, json_real(x));
}

/* ---- reports --------------------------------------------------------------------------------- */

wg_status wgi_report_span(wg_trainer *t)
{
    const wgi_span *s = &t->span;
    double tokens = (double)s->tokens, elapsed = wgi_seconds() - s->start, cost = s->cost / tokens;
    char text[400], time[40];
    wg_cursor at = position(t);
    snprintf(text, sizeof text,
             "epoch %" PRId64 " (%" PRId64 " of %" PRId64 "), update %" PRId64
             ": cost %.4f nats per token, ppl %.2f, "
             "%.0f words/s, gradient norm %.4f, rate %.4e, %s left",
             at.epoch, at.group, wg_batches_groups(t->batches), t->progress.update, cost, exp(cost),
             tokens / elapsed, s->norm, s->rate, duration(seconds_left(t), time, sizeof time));
    tell(t, WG_EVENT_DISPLAY, text);
    json_t *root = begin(t, "train");
    add_real(&root, "cost", cost);
    add_real(&root, "perplexity", exp(cost));
    add_real(&root, "words-per-second", tokens / elapsed);
    add_real(&root, "gradient-norm", s->norm);
    add_real(&root, "learn-rate", s->rate);
    t->span = (wgi_span){.start = wgi_seconds()};
    return record(t, root);
}

/* Appends to a line, as far as it fits. */
static void append(char line[MAX_LINE], const char *format, ...) WG_PRINTF(2, 3);
static void append(char line[MAX_LINE], const char *format, ...)
{
    size_t used = strlen(line);
    va_list list;
    va_start(list, format);
    vsnprintf(line + used, MAX_LINE - used, format, list);
    va_end(list);
}

/* "; new best bleu", or how long the deciding metric has not improved */
static void append_best(char line[MAX_LINE], wg_trainer *t, const wgi_validation *v)
{
    int metric;
    for (size_t i = 0; (metric = wgi_metric_named(t->settings.valid_metrics, i)) >= 0; i++) {
        const char *name = wgi_metric_kinds[metric].name;
        const wg_best *best = wgi_best_of(&t->progress, name);
        if (v->is_best[metric])
            append(line, "; new best %s", name);
        else if (i == 0 && best)
            append(line, "; %s stalled %" PRId64 " times (best %.4f at update %" PRId64 ")", name,
                   t->progress.stalled, best->value, best->update);
    }
}

wg_status wgi_report_validation(wg_trainer *t, const wgi_validation *v)
{
    char line[MAX_LINE] = "";
    json_t *root = begin(t, "valid");
    append(line, "epoch %" PRId64 ", update %" PRId64 ", validation: cost %.4f nats per token",
           position(t).epoch, t->progress.update, v->cost);
    add_real(&root, "cost", v->cost);
    for (int i = 0; i < WG_METRICS; i++) {
        if (!isfinite(v->value[i]))
            continue;
        append(line, i == WG_METRIC_BLEU || i == WG_METRIC_CHRF ? ", %s %.2f" : ", %s %.4f",
               wgi_metric_kinds[i].name, v->value[i]);
        add_real(&root, wgi_metric_kinds[i].name, v->value[i]);
    }
    append_best(line, t, v);
    tell(t, WG_EVENT_VALID, line);
    wgi_json_add(&root, "stalled", json_integer(t->progress.stalled));
    return record(t, root);
}

wg_status wgi_report_saving(wg_trainer *t)
{
    wg_status status = record(t, begin(t, "save"));
    if (status == WG_OK && (t->progress.metrics_bytes = ftell(t->metrics)) < 0)
        return fail(t, "tell its length");
    return status;
}

void wgi_report_saved(wg_trainer *t)
{
    char text[200];
    snprintf(text, sizeof text, "update %" PRId64 ": saved", t->progress.update);
    tell(t, WG_EVENT_SAVED, text);
}
