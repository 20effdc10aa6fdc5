/* What a training run reports: lines for people, and records in metrics.jsonl. */
#include "train/trainer.h"
#include "train/scaling.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "graph/json.h"
#include "graph/text_buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    return (wg_cursor){next.epoch, wgi_trainer_groups(t)};
}

/* Seconds left at the speed of this run; NaN if unknown. */
static double seconds_left(const wg_trainer *t)
{
    double done = wgi_trainer_done(t), share = done - t->done_until;
    return share > 0 ? (1 - done) / share * (wgi_seconds() - t->run) : NAN;
}

/* The mean since the last report; NaN if nothing was done since. */
static double mean_loss(const wgi_span *s)
{
    return s->means.n ? s->means.metric[0].value / (double)s->means.weight : NAN;
}

/* Sends an event with the facts that every event has, and with metrics. */
static void tell(wg_trainer *t, int kind, const char *text, const wgi_means *m)
{
    double elapsed = wgi_seconds() - t->span.start, weight = (double)t->span.weight;
    wg_cursor at = position(t);
    wg_event e = {
        .kind = kind,
        .text = text,
        .epoch = at.epoch,
        .update = t->progress.update,
        .updates_in_epoch = at.group,
        .of_updates_in_epoch = wgi_trainer_groups(t),
        .loss = mean_loss(&t->span),
        .rate = t->span.rate,
        .gradient_norm = t->span.norm,
        .loss_scale = t->progress.loss_scale,
        .skipped_updates = t->progress.skipped,
        .per_second = elapsed > 0 ? weight / elapsed : 0,
        .done = wgi_trainer_done(t),
        .seconds_left = seconds_left(t),
        .metrics = m ? m->metric : NULL,
        .n_metrics = m ? m->n : 0,
    };
    if (t->options.listener.tell)
        t->options.listener.tell(t->options.listener.context, &e);
}

void wg_print_event(void *file, const wg_event *event)
{
    if (!file || !*event->text)
        return;
    fprintf(file, "%s\n", event->text);
    fflush(file); /* a reader behind a pipe wants to see it now */
}

void wgi_report_note(wg_trainer *t, const char *format, ...)
{
    char text[MAX_LINE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tell(t, WG_EVENT_NOTE, text, NULL);
}

void wgi_report_update(wg_trainer *t)
{
    tell(t, WG_EVENT_UPDATE, "", NULL);
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
    char *path = wg_folder_path(t->options.folder, WG_FILE_METRICS);
    wg_status status = wgi_error_errno(&t->error, path ? path : WG_FILE_METRICS, what);
    free(path);
    return status;
}

/* A folder that was copied by hard links shares the log with its original, which must stay. */
static wg_status unshare(const char *path, wg_error *error)
{
    struct stat s;
    char *bytes = NULL;
    size_t size = 0;
    if (lstat(path, &s) != 0 || !S_ISREG(s.st_mode) || s.st_nlink < 2)
        return WG_OK;
    wg_status status = wgi_file_read(&bytes, &size, path, SIZE_MAX - 1, error);
    if (status == WG_OK)
        status = wgi_file_replace_bytes(path, bytes, size, error);
    free(bytes);
    return status;
}

wg_status wgi_report_open(wg_trainer *t)
{
    char *path = wg_folder_path(t->options.folder, WG_FILE_METRICS);
    if (!path)
        return wgi_error_set(&t->error, WG_ENOMEM, "out of memory");
    wg_status status = unshare(path, &t->error);
    if (status == WG_OK)
        status = wgi_file_append(&t->metrics, path, (size_t)t->progress.metrics_bytes, &t->error);
    free(path);
    return status;
}

/* A log that was removed is begun anew. */
static wg_status renew(wg_trainer *t)
{
    bool exists;
    wg_status status = wg_folder_has(t->options.folder, WG_FILE_METRICS, &exists, &t->error);
    if (status == WG_OK && !exists) {
        wgi_report_note(t,
                        "%s: " WG_FILE_METRICS " was removed during training, and is started again",
                        t->options.folder);
        status = wgi_report_close(t);
        status = status == WG_OK ? wgi_report_open(t) : status;
    }
    return status;
}

wg_status wgi_report_close(wg_trainer *t)
{
    FILE *f = t->metrics;
    t->metrics = NULL;
    return !f || fclose(f) == 0 ? WG_OK : fail(t, "write");
}

/* A line that is being written: {"kind": ..., and the position in the run}. */
typedef struct record {
    wgi_text_buffer buffer;
    wgi_json json; /* its file is NULL without memory */
} record;

static void begin(record *r, const wg_trainer *t, const char *kind)
{
    const wg_progress *p = &t->progress;
    double part = (double)p->cursor.group / (double)wgi_trainer_groups(t);
    r->json = (wgi_json){.file = wgi_text_open(&r->buffer), .compact = true};
    if (!r->json.file)
        return;
    wgi_json_begin(&r->json, NULL, '{');
    wgi_json_text(&r->json, "kind", kind);
    wgi_json_whole(&r->json, "update", p->update);
    wgi_json_real(&r->json, "epoch", (double)p->cursor.epoch + part);
    wgi_json_whole(&r->json, t->task.words.weight, p->weight);
    wgi_json_real(&r->json, "seconds", p->seconds);
}

static void add_real(record *r, const char *key, double x)
{
    if (r->json.file && isfinite(x)) /* others are left out */
        wgi_json_real(&r->json, key, x);
}

/* Ends the line and appends it to the file, if there is one. */
static wg_status append_record(record *r, wg_trainer *t)
{
    if (r->json.file)
        wgi_json_end(&r->json, '}');
    char *text = wgi_text_close(&r->buffer);
    const char *folder = t->options.folder;
    if (!text)
        return wgi_error_file(&t->error, WG_ENOMEM, folder ? folder : "training",
                              "no memory for a record of " WG_FILE_METRICS);
    errno = 0;
    bool ok = !folder || (t->metrics && fputs(text, t->metrics) >= 0 && fflush(t->metrics) == 0);
    free(text);
    return ok ? WG_OK : fail(t, "write");
}

/* ---- reports --------------------------------------------------------------------------------- */

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

/* The metrics but the loss, which is the first: ", accuracy 0.9120" */
static void append_metrics(char line[MAX_LINE], record *r, const wgi_means *m)
{
    for (size_t i = 1; i < m->n; i++) {
        const wg_metric *x = &m->metric[i];
        if (!isfinite(x->value))
            continue;
        append(line, ", %s %.*f", x->name, x->decimals ? x->decimals : 4, x->value);
        add_real(r, x->name, x->value);
    }
}

static void append_perplexity(char line[MAX_LINE], record *r, const wg_trainer *t, double loss)
{
    if (!t->task.words.perplexity)
        return;
    append(line, ", ppl %.2f", exp(loss));
    add_real(r, "perplexity", exp(loss));
}

/* ", loss scale 65536, 3 updates skipped", of the whole run */
static void append_scale(char line[MAX_LINE], record *r, const wg_trainer *t)
{
    const wg_progress *p = &t->progress;
    if (!wgi_is_scaled(&t->options))
        return;
    append(line, ", loss scale %g", p->loss_scale);
    if (p->skipped)
        append(line, ", %" PRId64 " update%s skipped", p->skipped, p->skipped == 1 ? "" : "s");
    add_real(r, "loss-scale", p->loss_scale);
    if (r->json.file)
        wgi_json_whole(&r->json, "skipped-updates", p->skipped);
}

wg_status wgi_report_span(wg_trainer *t)
{
    const struct wgi_words *words = &t->task.words;
    wgi_means m = t->span.means;
    double speed = (double)m.weight / (wgi_seconds() - t->span.start), loss = mean_loss(&t->span);
    char line[MAX_LINE] = "", key[60], time[40];
    record r;
    wg_cursor at = position(t);
    wgi_means_finish(&m, m.weight ? (double)m.weight : 1);
    begin(&r, t, "train");
    append(line, "epoch %" PRId64 " (%s %" PRId64 " of %" PRId64 "), update %" PRId64 ": %s %.4f%s",
           at.epoch, t->options.accumulate > 1 ? "update" : "batch", at.group,
           wgi_trainer_groups(t), t->progress.update, words->loss, loss, words->loss_unit);
    add_real(&r, words->loss, loss);
    append_perplexity(line, &r, t, loss);
    append_metrics(line, &r, &m);
    append(line, ", %.0f %s/s, gradient norm %.4f, rate %.4e", speed, words->speed, t->span.norm,
           t->span.rate);
    append_scale(line, &r, t);
    if (t->options.after.n)
        append(line, ", %s left", duration(seconds_left(t), time, sizeof time));
    snprintf(key, sizeof key, "%s-per-second", words->speed);
    add_real(&r, key, speed);
    add_real(&r, "gradient-norm", t->span.norm);
    add_real(&r, "learn-rate", t->span.rate);
    tell(t, WG_EVENT_DISPLAY, line, &m);
    t->span = (wgi_span){.start = wgi_seconds()};
    return append_record(&r, t);
}

/* "; new best bleu", or how long the deciding metric has not improved */
static void append_best(char line[MAX_LINE], wg_trainer *t)
{
    char name[WG_METRIC_NAME];
    for (size_t i = 0; wgi_trainer_metric(t, i, name); i++) {
        const wg_best *best = wgi_best_of(&t->progress, name);
        const wg_metric *m = wgi_means_find(&t->validation, name);
        if (m && m->is_best)
            append(line, "; new best %s", name);
        else if (i == 0 && best)
            append(line, "; %s stalled %" PRId64 " time%s (best %.4f at update %" PRId64 ")", name,
                   t->progress.stalled, t->progress.stalled == 1 ? "" : "s", best->value,
                   best->update);
    }
}

wg_status wgi_report_validation(wg_trainer *t)
{
    const struct wgi_words *words = &t->task.words;
    double loss = t->validation.metric[0].value;
    char line[MAX_LINE] = "";
    record r;
    begin(&r, t, "valid");
    append(line, "epoch %" PRId64 ", update %" PRId64 ", validation: %s %.4f%s", position(t).epoch,
           t->progress.update, words->loss, loss, words->loss_unit);
    add_real(&r, words->loss, loss);
    append_metrics(line, &r, &t->validation);
    append_best(line, t);
    tell(t, WG_EVENT_VALID, line, &t->validation);
    if (r.json.file)
        wgi_json_whole(&r.json, "stalled", t->progress.stalled);
    return append_record(&r, t);
}

wg_status wgi_report_saving(wg_trainer *t)
{
    record r;
    wg_status status = renew(t);
    if (status != WG_OK)
        return status;
    begin(&r, t, "save");
    status = append_record(&r, t);
    if (status == WG_OK && (t->progress.metrics_bytes = ftell(t->metrics)) < 0)
        return fail(t, "tell its length");
    return status;
}

void wgi_report_saved(wg_trainer *t)
{
    char text[200];
    snprintf(text, sizeof text, "update %" PRId64 ": saved", t->progress.update);
    tell(t, WG_EVENT_SAVED, text, NULL);
}
