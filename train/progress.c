#include "train/progress.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- fields ---------------------------------------------------------------------------------- */

enum {
    WHOLE,
    MAYBE, /* a whole number, 0 if it is missing */
    REAL,
    BITS
};

/* A field of wg_progress and its name in the file.  64-bit hashes are written in hexadecimal, since
 * JSON integers have 63 bits. */
static const struct field {
    const char *name;
    int kind;
    size_t offset;
} fields[] = {
    {"update", WHOLE, offsetof(wg_progress, update)},
    {"epoch", WHOLE, offsetof(wg_progress, cursor.epoch)},
    {"group", WHOLE, offsetof(wg_progress, cursor.group)},
    {"target-tokens", WHOLE, offsetof(wg_progress, tokens)},
    {"sentences", WHOLE, offsetof(wg_progress, sentences)},
    {"seconds", REAL, offsetof(wg_progress, seconds)},
    {"stalled", WHOLE, offsetof(wg_progress, stalled)},
    {"validation-due", MAYBE, offsetof(wg_progress, validation_due)},
    {"metrics-bytes", WHOLE, offsetof(wg_progress, metrics_bytes)},
    {"data", BITS, offsetof(wg_progress, data)},
    {"vocabularies", BITS, offsetof(wg_progress, vocabularies)},
    {"model-file", BITS, offsetof(wg_progress, files[0])},
    {"average-file", BITS, offsetof(wg_progress, files[1])},
    {"optimizer-file", BITS, offsetof(wg_progress, files[2])},
};
enum { N_FIELDS = WG_COUNT(fields) };

static json_t *get_field(const wg_progress *p, const struct field *f)
{
    const char *at = (const char *)p + f->offset;
    char text[24];
    switch (f->kind) {
    case WHOLE:
    case MAYBE: return json_integer(*(const int64_t *)at);
    case REAL: return json_real(*(const double *)at);
    default:
        snprintf(text, sizeof text, "%016" PRIx64, *(const uint64_t *)at);
        return json_string(text);
    }
}

static bool set_field(wg_progress *p, const struct field *f, const json_t *value)
{
    char *at = (char *)p + f->offset, *end = NULL;
    const char *text = json_string_value(value);
    switch (f->kind) {
    case WHOLE:
    case MAYBE:
        *(int64_t *)at = json_integer_value(value);
        return json_is_integer(value) && *(int64_t *)at >= 0;
    case REAL: *(double *)at = json_number_value(value); return json_is_number(value);
    default:
        *(uint64_t *)at = text ? strtoull(text, &end, 16) : 0;
        return text && strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
    }
}

/* ---- settings that must stay ----------------------------------------------------------------- */

/* Paths may change, since fingerprints show whether the contents of the files did.  So may the
 * preset, since the values that it sets are compared one by one. */
static bool must_stay(const wg_option *o)
{
    return (o->use & WG_FOR_TRAINING) && !(o->use & WG_MAY_CHANGE) && o->group != WG_GROUP_FILES &&
           o->offset != offsetof(wg_settings, preset);
}

static json_t *get_settings(const wg_settings *s)
{
    json_t *all = json_object();
    const wg_option *o;
    for (size_t i = 0; (o = wg_option_at(i)); i++) {
        char *text = NULL;
        if (must_stay(o) && wg_settings_get(s, o, &text) == WG_OK && text)
            json_object_set_new(all, o->name, json_string(text));
        free(text);
    }
    return all;
}

static wg_status compare_settings(const wg_settings *s, const json_t *all, const char *path,
                                  wg_error *error)
{
    wg_status status = WG_OK;
    const wg_option *o;
    for (size_t i = 0; (o = wg_option_at(i)); i++) {
        char *now = NULL;
        const char *then = json_string_value(json_object_get(all, o->name));
        if (!must_stay(o) || !then)
            continue;
        if (wg_settings_get(s, o, &now) != WG_OK)
            return wgi_error_file(error, WG_ENOMEM, path, "no memory to compare the settings");
        if (strcmp(now, then) != 0)
            status = wgi_error_line(error, WG_EINVAL,
                                    "%s: %s: expected %s, as at the start of this run, got %s",
                                    path, o->name, then, now);
        free(now);
    }
    return status;
}

/* ---- best values ----------------------------------------------------------------------------- */

static json_t *get_best(const wg_progress *p)
{
    json_t *all = json_object();
    for (size_t i = 0; i < p->n_best; i++)
        json_object_set_new(all, p->best[i].metric,
                            json_pack("{s:f, s:I}", "value", p->best[i].value, "update",
                                      (json_int_t)p->best[i].update));
    return all;
}

static bool set_best(wg_progress *p, json_t *all)
{
    const char *metric;
    json_t *entry;
    json_object_foreach(all, metric, entry)
    {
        wg_best *b = &p->best[p->n_best];
        json_int_t update;
        if (p->n_best == WG_MAX_METRICS || strlen(metric) >= sizeof b->metric ||
            json_unpack(entry, "{s:F, s:I}", "value", &b->value, "update", &update) != 0)
            return false;
        strcpy(b->metric, metric);
        b->update = update;
        p->n_best++;
    }
    return json_is_object(all);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_text(wgi_file_writer *w, void *text)
{
    wgi_file_put(w, text, strlen(text));
    wgi_file_put(w, "\n", 1);
}

wg_status wgi_progress_write(const wg_progress *p, const wg_settings *s, const char *path,
                             wg_error *error)
{
    json_t *root = json_object();
    for (int i = 0; i < N_FIELDS; i++)
        json_object_set_new(root, fields[i].name, get_field(p, &fields[i]));
    json_object_set_new(root, "best", get_best(p));
    json_object_set_new(root, "settings", get_settings(s));
    bool whole = json_object_size(root) == N_FIELDS + 2;
    char *text = whole ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    wg_status status = wgi_file_replace(path, put_text, text, error);
    free(text);
    return status;
}

wg_status wgi_progress_read(wg_progress *p, const wg_settings *s, const char *path, wg_error *error)
{
    json_error_t malformed;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &malformed);
    *p = (wg_progress){.update = 0};
    if (!root && json_error_code(&malformed) == json_error_cannot_open_file)
        return wgi_error_file(error, WG_EIO, path, "%s", malformed.text);
    if (!root)
        return wgi_error_set(error, WG_EDATA, "%s:%d: %s", path, malformed.line, malformed.text);
    wg_status status = WG_OK;
    for (int i = 0; i < N_FIELDS && status == WG_OK; i++) {
        const json_t *value = json_object_get(root, fields[i].name);
        bool left_out = fields[i].kind == MAYBE && !value;
        if (!left_out && !set_field(p, &fields[i], value))
            status = wgi_error_file(error, WG_EDATA, path, "expected %s \"%s\"",
                                    fields[i].kind == BITS ? "16 hexadecimal digits" : "a number",
                                    fields[i].name);
    }
    if (status == WG_OK && !set_best(p, json_object_get(root, "best")))
        status =
            wgi_error_file(error, WG_EDATA, path, "expected metrics and their values as \"best\"");
    if (status == WG_OK && s)
        status = compare_settings(s, json_object_get(root, "settings"), path, error);
    json_decref(root);
    return status;
}
