#include "train/progress.h"
#include "files/checksum.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/text_buffer.h"
#include "train/json.h"

#include <errno.h>
#include <inttypes.h>
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
        return wgi_json_is(value, JSON_INTEGER) && *(int64_t *)at >= 0;
    case REAL: *(double *)at = json_number_value(value); return wgi_json_is_number(value);
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

/* NULL without memory. */
static json_t *get_settings(const wg_settings *s)
{
    json_t *all = json_object();
    const wg_option *o;
    for (size_t i = 0; all && (o = wg_option_at(i)); i++) {
        if (!must_stay(o))
            continue;
        char *text = NULL;
        wg_status status = wg_settings_get(s, o, &text);
        wgi_json_add(&all, o->name, status == WG_OK ? json_string(text) : NULL);
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

/* NULL without memory. */
static json_t *get_best(const wg_progress *p)
{
    json_t *all = json_object();
    for (size_t i = 0; i < p->n_best; i++)
        wgi_json_add(&all, p->best[i].metric,
                     json_pack("{s:f, s:I}", "value", p->best[i].value, "update",
                               (json_int_t)p->best[i].update));
    return all;
}

static bool set_best(wg_progress *p, json_t *all)
{
    for (void *i = json_object_iter(all); i; i = json_object_iter_next(all, i)) {
        const char *metric = json_object_iter_key(i);
        const json_t *entry = json_object_iter_value(i);
        wg_best *b = &p->best[p->n_best];
        const json_t *value = json_object_get(entry, "value"),
                     *update = json_object_get(entry, "update");
        if (p->n_best == WG_MAX_METRICS || strlen(metric) >= sizeof b->metric ||
            !wgi_json_is_number(value) || !wgi_json_is(update, JSON_INTEGER))
            return false;
        snprintf(b->metric, sizeof b->metric, "%s", metric);
        b->value = json_number_value(value);
        b->update = json_integer_value(update);
        p->n_best++;
    }
    return wgi_json_is(all, JSON_OBJECT);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Files of format 1 have no "format", no checksum and other hashes of the tensors. */
enum { FORMAT = 2, MAX_BYTES = 1 << 24 };
static const wgi_checksum_head head = {"{\n  \"xxh64\": \"", "\",\n"};

/* The beginning takes the place of the first brace. */
static char *text_of(const wg_progress *p, const wg_settings *s, size_t *size)
{
    json_t *root = json_object();
    wgi_json_add(&root, "format", json_integer(FORMAT));
    for (int i = 0; i < N_FIELDS; i++)
        wgi_json_add(&root, fields[i].name, get_field(p, &fields[i]));
    wgi_json_add(&root, "best", get_best(p));
    wgi_json_add(&root, "settings", get_settings(s));
    static const char brace[] = "{\n";
    const size_t room = wgi_checksum_head_size(&head) - strlen(brace);
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b); /* json_dumps may leave out a key without memory */
    bool whole = false;
    if (f) { /* json_dumpf fails without a root */
        fprintf(f, "%*s", (int)room, "");
        whole = json_dumpf(root, f, JSON_INDENT(2)) == 0;
        fputc('\n', f);
    }
    char *text = wgi_text_close(&b);
    json_decref(root);
    *size = b.size;
    if (text && whole) {
        wgi_checksum_head_put(&head, text, *size);
        return text;
    }
    free(text);
    return NULL;
}

wg_status wgi_progress_write(const wg_progress *p, const wg_settings *s, const char *path,
                             wg_error *error)
{
    size_t size;
    char *text = text_of(p, s, &size);
    wg_status status = text ? wgi_file_replace_bytes(path, text, size, error)
                            : wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    free(text);
    return status;
}

static wg_status read_format(wg_progress *p, const json_t *root, bool sealed, const char *path,
                             wg_error *error)
{
    const json_t *format = json_object_get(root, "format");
    p->format = format ? json_integer_value(format) : 1;
    if (p->format > FORMAT)
        return wgi_error_file(error, WG_EUNSUPPORTED, path,
                              "a later version of wengert wrote it, in format %" PRId64
                              ": use that version",
                              p->format);
    if (p->format < 1 || (p->format > 1 && !sealed))
        return wgi_error_file(error, WG_EDATA, path, "expected a checksum in line 2, got none");
    return WG_OK;
}

static wg_status read_root(wg_progress *p, const wg_settings *s, json_t *root, bool sealed,
                           const char *path, wg_error *error)
{
    wg_status status = read_format(p, root, sealed, path, error);
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
    return status;
}

/* Parses JSON.  Where it has no memory, jansson seldom says so, and may leave out characters of a
 * text and report success; so an answer during which malloc failed is worth nothing.  It is asked
 * for once more, since glibc sets errno too where it finds the memory in another place. */
static json_t *load(const char *bytes, size_t size, json_error_t *malformed, bool *no_memory)
{
    json_t *root = NULL;
    *no_memory = true;
    for (int i = 0; i < 2 && *no_memory; i++) {
        json_decref(root);
        errno = 0;
        root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, malformed);
        *no_memory = errno == ENOMEM;
    }
    return root;
}

/* What has the right checksum is JSON: only memory can then be the reason to fail. */
static wg_status parse(json_t **root, const char *bytes, size_t size, bool *sealed,
                       const char *path, wg_error *error)
{
    json_error_t malformed;
    wgi_checksum_verdict verdict = wgi_checksum_head_check(&head, bytes, size);
    *sealed = verdict == WGI_CHECKSUM_RIGHT;
    if (verdict == WGI_CHECKSUM_WRONG)
        return wgi_error_file(error, WG_EDATA, path, "it is damaged: its checksum is another one");
    bool no_memory;
    *root = load(bytes, size, &malformed, &no_memory);
    if (no_memory || (!*root && *sealed))
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    return *root
               ? WG_OK
               : wgi_error_set(error, WG_EDATA, "%s:%d: %s", path, malformed.line, malformed.text);
}

wg_status wgi_progress_read(wg_progress *p, const wg_settings *s, const char *path, wg_error *error)
{
    char *bytes;
    size_t size;
    bool sealed;
    json_t *root = NULL;
    *p = (wg_progress){.update = 0};
    wg_status status = wgi_file_read(&bytes, &size, path, MAX_BYTES, error);
    if (status == WG_OK)
        status = parse(&root, bytes, size, &sealed, path, error);
    if (status == WG_OK)
        status = read_root(p, s, root, sealed, path, error);
    json_decref(root);
    free(bytes);
    return status;
}
