#include "train/progress.h"
#include "files/checksum.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "graph/json.h"
#include "graph/text_buffer.h"
#include "train/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- fields ---------------------------------------------------------------------------------- */

enum {
    WHOLE = 1,
    REAL,
    BITS,
    KINDS = 3,
    MAYBE = 4 /* 0 if it is missing, which it is if it is 0 */
};

/* A field of wg_progress, its name in the file, and the name that earlier versions gave it.  64-bit
 * hashes are written in hexadecimal, since JSON integers have 63 bits. */
static const struct field {
    const char *name;
    int kind;
    size_t offset;
    const char *old;
} fields[] = {
    {"update", WHOLE, offsetof(wg_progress, update), NULL},
    {"epoch", WHOLE, offsetof(wg_progress, cursor.epoch), NULL},
    {"group", WHOLE, offsetof(wg_progress, cursor.group), NULL},
    {"weight", WHOLE, offsetof(wg_progress, weight), "target-tokens"},
    {"examples", WHOLE, offsetof(wg_progress, examples), "sentences"},
    {"seconds", REAL, offsetof(wg_progress, seconds), NULL},
    {"loss-scale", REAL | MAYBE, offsetof(wg_progress, loss_scale), NULL},
    {"updates-at-loss-scale", WHOLE | MAYBE, offsetof(wg_progress, scale_updates), NULL},
    {"skipped-updates", WHOLE | MAYBE, offsetof(wg_progress, skipped), NULL},
    {"stalled", WHOLE, offsetof(wg_progress, stalled), NULL},
    {"validation-due", WHOLE | MAYBE, offsetof(wg_progress, validation_due), NULL},
    {"metrics-bytes", WHOLE, offsetof(wg_progress, metrics_bytes), NULL},
    {"data", BITS, offsetof(wg_progress, data), NULL},
    {"validation", BITS | MAYBE, offsetof(wg_progress, validation), NULL},
    {"vocabularies", BITS | MAYBE, offsetof(wg_progress, vocabularies), NULL},
    {"model-file", BITS, offsetof(wg_progress, files[0]), NULL},
    {"average-file", BITS, offsetof(wg_progress, files[1]), NULL},
    {"optimizer-file", BITS, offsetof(wg_progress, files[2]), NULL},
};
enum { N_FIELDS = WG_COUNT(fields) };

static void put_field(wgi_json *w, const wg_progress *p, const struct field *f)
{
    const void *at = (const char *)p + f->offset;
    char text[24];
    if ((f->kind & MAYBE) && *(const uint64_t *)at == 0)
        return;
    switch (f->kind & KINDS) {
    case WHOLE: wgi_json_whole(w, f->name, *(const int64_t *)at); break;
    case REAL: wgi_json_real(w, f->name, *(const double *)at); break;
    default:
        snprintf(text, sizeof text, "%016" PRIx64, *(const uint64_t *)at);
        wgi_json_text(w, f->name, text);
    }
}

static bool set_field(wg_progress *p, const struct field *f, const wgi_json_value *v)
{
    void *at = (char *)p + f->offset;
    switch (f->kind & KINDS) {
    case WHOLE: *(int64_t *)at = v->whole; return v->kind == WGI_JSON_WHOLE && v->whole >= 0;
    case REAL:
        *(double *)at = v->real;
        return v->kind == WGI_JSON_WHOLE || v->kind == WGI_JSON_REAL;
    default:
        if (v->kind != WGI_JSON_TEXT || strlen(v->text) != 16)
            return false;
        *(uint64_t *)at = strtoull(v->text, NULL, 16);
        return strspn(v->text, "0123456789abcdef") == 16;
    }
}

static wg_status read_field(wg_progress *p, const struct field *f, const wgi_json_tree *j,
                            const char *path, wg_error *error)
{
    const wgi_json_value *v = wgi_json_find(j, j->value, f->name);
    if (!v && f->old)
        v = wgi_json_find(j, j->value, f->old);
    if (v ? set_field(p, f, v) : (f->kind & MAYBE) != 0)
        return WG_OK;
    return wgi_error_file(error, WG_EDATA, path, "expected %s \"%s\"",
                          (f->kind & KINDS) == BITS ? "16 hexadecimal digits" : "a number",
                          f->name);
}

/* ---- settings that must stay ----------------------------------------------------------------- */

static void put_settings(wgi_json *w, const wg_checkpoint_options *o)
{
    wgi_json_begin(w, "settings", '{');
    for (size_t i = 0; i < o->n_settings; i++)
        wgi_json_text(w, o->settings[i].key, o->settings[i].text);
    wgi_json_end(w, '}');
}

static wg_status compare_settings(const wg_checkpoint_options *o, const wgi_json_tree *j,
                                  const char *path, wg_error *error)
{
    wg_status status = WG_OK;
    const wgi_json_value *all = wgi_json_find(j, j->value, "settings");
    for (size_t i = 0; i < o->n_settings; i++) {
        const wg_file_note *now = &o->settings[i];
        const wgi_json_value *then = wgi_json_find(j, all, now->key);
        if (then && then->kind == WGI_JSON_TEXT && strcmp(now->text, then->text) != 0)
            status = wgi_error_line(error, WG_EINVAL,
                                    "%s: %s: expected %s, as at the start of this run, got %s",
                                    path, now->key, then->text, now->text);
    }
    return status;
}

/* ---- best values ----------------------------------------------------------------------------- */

static void put_best(wgi_json *w, const wg_progress *p)
{
    wgi_json_begin(w, "best", '{');
    for (size_t i = 0; i < p->n_best; i++) {
        wgi_json_begin(w, p->best[i].metric, '{');
        wgi_json_real(w, "value", p->best[i].value);
        wgi_json_whole(w, "update", p->best[i].update);
        wgi_json_end(w, '}');
    }
    wgi_json_end(w, '}');
}

static bool set_best(wg_progress *p, const wgi_json_tree *j)
{
    const wgi_json_value *all = wgi_json_find(j, j->value, "best");
    if (!all || all->kind != WGI_JSON_OBJECT)
        return false;
    for (const wgi_json_value *m = wgi_json_first(j, all); m; m = wgi_json_after(j, all, m)) {
        wg_best *b = &p->best[p->n_best];
        const wgi_json_value *value = wgi_json_find(j, m, "value"),
                             *update = wgi_json_find(j, m, "update");
        if (p->n_best == WG_MAX_METRICS || strlen(m->key) >= sizeof b->metric || !value ||
            value->kind < WGI_JSON_WHOLE || !update || update->kind != WGI_JSON_WHOLE)
            return false;
        snprintf(b->metric, sizeof b->metric, "%s", m->key);
        b->value = value->real;
        b->update = update->whole;
        p->n_best++;
    }
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Files of format 1 have no "format", no checksum and other hashes of the tensors. */
enum { FORMAT = 2, MAX_BYTES = 1 << 24 };
static const wgi_checksum_head head = {"{\n  \"xxh64\": \"", "\",\n"};

/* The beginning takes the place of the first brace. */
static char *text_of(const wg_progress *p, const wg_checkpoint_options *o, size_t *size)
{
    static const char brace[] = "{\n";
    const size_t room = wgi_checksum_head_size(&head) - strlen(brace);
    wgi_text_buffer b;
    wgi_json w = {.file = wgi_text_open(&b), .digits = 17};
    if (w.file) {
        fprintf(w.file, "%*s", (int)room, "");
        wgi_json_begin(&w, NULL, '{');
        wgi_json_whole(&w, "format", FORMAT);
        for (int i = 0; i < N_FIELDS; i++)
            put_field(&w, p, &fields[i]);
        put_best(&w, p);
        put_settings(&w, o);
        wgi_json_end(&w, '}');
    }
    char *text = wgi_text_close(&b);
    *size = b.size;
    if (text)
        wgi_checksum_head_put(&head, text, *size);
    return text;
}

wg_status wgi_progress_write(const wg_progress *p, const wg_checkpoint_options *o, const char *path,
                             wg_error *error)
{
    size_t size;
    char *text = text_of(p, o, &size);
    wg_status status = text ? wgi_file_replace_bytes(path, text, size, error)
                            : wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    free(text);
    return status;
}

static wg_status read_format(wg_progress *p, const wgi_json_tree *j, bool sealed, const char *path,
                             wg_error *error)
{
    const wgi_json_value *format = wgi_json_find(j, j->value, "format");
    p->format = format ? format->whole : 1;
    if (p->format > FORMAT)
        return wgi_error_file(error, WG_EUNSUPPORTED, path,
                              "a later version of wengert wrote it, in format %" PRId64
                              ": use that version",
                              p->format);
    if (p->format < 1 || (p->format > 1 && !sealed))
        return wgi_error_file(error, WG_EDATA, path, "expected a checksum in line 2, got none");
    return WG_OK;
}

static wg_status read_all(wg_progress *p, const wg_checkpoint_options *o, const wgi_json_tree *j,
                          bool sealed, const char *path, wg_error *error)
{
    wg_status status = read_format(p, j, sealed, path, error);
    for (int i = 0; i < N_FIELDS && status == WG_OK; i++)
        status = read_field(p, &fields[i], j, path, error);
    if (status == WG_OK && !set_best(p, j))
        status =
            wgi_error_file(error, WG_EDATA, path, "expected metrics and their values as \"best\"");
    return status == WG_OK && o ? compare_settings(o, j, path, error) : status;
}

wg_status wgi_progress_read(wg_progress *p, const wg_checkpoint_options *o, const char *path,
                            wg_error *error)
{
    char *bytes;
    size_t size;
    wgi_json_tree j = {NULL, 0, 0};
    *p = (wg_progress){.update = 0};
    wg_status status = wgi_file_read(&bytes, &size, path, MAX_BYTES, error);
    if (status != WG_OK)
        return status;
    wgi_checksum_verdict verdict = wgi_checksum_head_check(&head, bytes, size);
    status =
        verdict == WGI_CHECKSUM_WRONG
            ? wgi_error_file(error, WG_EDATA, path, "it is damaged: its checksum is another one")
            : wgi_json_read(&j, path, bytes, size, error);
    if (status == WG_OK)
        status = read_all(p, o, &j, verdict == WGI_CHECKSUM_RIGHT, path, error);
    wgi_json_free(&j);
    free(bytes);
    return status;
}
