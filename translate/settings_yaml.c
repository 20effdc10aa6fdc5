/* Settings as YAML.  They are read from the events of libyaml, which have line numbers for
 * messages; only a flat mapping of known keys is accepted.  They are written without libyaml, which
 * cannot write comments. */
#include "wengert/translate/settings.h"
#include "backends/load.h"
#include "graph/error.h"
#include "translate/settings_yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

/* ---- writing --------------------------------------------------------------------------------- */

wg_status wg_settings_write_yaml(const wg_settings *s, FILE *f)
{
    const wg_option *o;
    wg_settings shown = *s;
    wg_status status = WG_OK;
    int group = -1;
    if (wgi_backends_have_object(s->backend))
        shown.backend = NULL; /* which reading would refuse */
    fputs("# Settings of wengert: flags without their dashes.\n", f);
    for (size_t i = 0; status == WG_OK && (o = wg_option_at(i)); i++) {
        char *text;
        if (o->group != group)
            fprintf(f, "\n# %s\n", wg_option_group_title(group = o->group));
        status = wg_settings_get(&shown, o, &text);
        if (status == WG_OK)
            fprintf(f, "%s: %-*s  # %s\n", o->name, 32 - (int)strlen(o->name), text, o->doc);
        free(text);
    }
    return status == WG_OK && ferror(f) ? WG_EIO : status;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event; /* the current event */
    wg_settings *settings;
    size_t lines[WG_MAX_OPTIONS]; /* the line of each option; 0: not seen yet */
    wg_error *error;
} reader;

static wg_status fail(reader *r, wg_status status, size_t line, const char *format, ...)
    WG_PRINTF(4, 5);
static wg_status fail(reader *r, wg_status status, size_t line, const char *format, ...)
{
    va_list list;
    wgi_error_set(r->error, status, "%s:%zu: ", r->path, line);
    va_start(list, format);
    wgi_error_add_list(r->error, format, list);
    va_end(list);
    return status;
}

static size_t line_of(const reader *r)
{
    return r->event.start_mark.line + 1;
}

/* Moves to the next event. */
static wg_status next(reader *r)
{
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event))
        return WG_OK;
    const yaml_parser_t *p = &r->parser;
    if (!p->problem) /* any but a lack of memory has a name */
        return fail(r, WG_ENOMEM, p->mark.line + 1, "out of memory");
    return fail(r, WG_EDATA, (p->problem_mark.line ? p->problem_mark.line : p->mark.line) + 1, "%s",
                p->problem);
}

static wg_status expect(reader *r, yaml_event_type_t type, const char *what)
{
    wg_status status = next(r);
    if (status == WG_OK && r->event.type != type)
        return fail(r, WG_EDATA, line_of(r), "expected %s", what);
    return status;
}

/* The current scalar as an allocated text. */
static wg_status scalar(reader *r, char **text)
{
    const char *bytes = (const char *)r->event.data.scalar.value;
    size_t size = r->event.data.scalar.length;
    if (memchr(bytes, '\0', size))
        return fail(r, WG_EDATA, line_of(r), "a text with a zero byte");
    *text = strndup(bytes, size);
    return *text ? WG_OK : fail(r, WG_ENOMEM, line_of(r), "out of memory");
}

enum { MAX_VALUES = 8 };

/* A scalar, or a list of scalars. */
static wg_status read_values(reader *r, const char *key, char *values[MAX_VALUES], size_t *n)
{
    wg_status status = next(r);
    if (status == WG_OK && r->event.type == YAML_SCALAR_EVENT)
        return scalar(r, &values[(*n)++]);
    if (status == WG_OK && r->event.type != YAML_SEQUENCE_START_EVENT)
        return fail(r, WG_EDATA, line_of(r), "%s: expected a value or a list of values", key);
    while (status == WG_OK && (status = next(r)) == WG_OK &&
           r->event.type != YAML_SEQUENCE_END_EVENT) {
        if (r->event.type != YAML_SCALAR_EVENT)
            return fail(r, WG_EDATA, line_of(r), "%s: expected a list of plain values", key);
        if (*n == MAX_VALUES)
            return fail(r, WG_EDATA, line_of(r), "%s: expected at most %d values, got more", key,
                        MAX_VALUES);
        status = scalar(r, &values[(*n)++]);
    }
    return status;
}

/* A file must not choose code to run: it may come from anywhere. */
static wg_status check_backend(reader *r, const wg_option *o, char *const *values, size_t n,
                               size_t line)
{
    for (size_t i = 0; o->offset == offsetof(wg_settings, backend) && i < n; i++)
        if (wgi_backends_have_object(values[i]))
            return fail(r, WG_EDATA, line,
                        "backend: expected built-in backends, got the shared object '%s': only the "
                        "command line may name one, by --backend",
                        values[i]);
    return WG_OK;
}

static wg_status read_option(reader *r, const wg_option *o, const char *key, size_t line)
{
    char *values[MAX_VALUES] = {0};
    size_t n = 0, *seen = &r->lines[o - wg_option_at(0)];
    if (*seen)
        return fail(r, WG_EDATA, line, "%s: given already in line %zu", key, *seen);
    *seen = line;
    wg_status status = read_values(r, key, values, &n);
    if (status == WG_OK)
        status = check_backend(r, o, values, n, line);
    if (status == WG_OK) {
        status = wg_settings_assign(r->settings, o, (const char *const *)values, n, r->error);
        if (status != WG_OK)
            status = wgi_error_prefix(r->error, status == WG_EINVAL ? WG_EDATA : status,
                                      "%s:%zu: ", r->path, line);
    }
    for (size_t i = 0; i < n; i++)
        free(values[i]);
    return status;
}

static wg_status read_key(reader *r)
{
    size_t line = line_of(r);
    char *key = NULL;
    if (r->event.type != YAML_SCALAR_EVENT)
        return fail(r, WG_EDATA, line, "expected the name of an option");
    wg_status status = scalar(r, &key);
    const wg_option *o = status == WG_OK ? wg_option_find(key) : NULL;
    if (o)
        status = read_option(r, o, key, line);
    else if (status == WG_OK) {
        const char *nearest = wg_option_nearest(key);
        status = fail(r, WG_EDATA, line,
                      nearest ? "no option '%.80s'; did you mean '%s'?" : "no option '%.80s'", key,
                      nearest);
    }
    free(key);
    return status;
}

static wg_status read_stream(reader *r)
{
    wg_status status = expect(r, YAML_STREAM_START_EVENT, "YAML");
    if (status == WG_OK)
        status = next(r);
    if (status != WG_OK || r->event.type == YAML_STREAM_END_EVENT) /* an empty file sets nothing */
        return status;
    status = expect(r, YAML_MAPPING_START_EVENT, "lines of the form 'option: value'");
    while (status == WG_OK && (status = next(r)) == WG_OK &&
           r->event.type != YAML_MAPPING_END_EVENT)
        status = read_key(r);
    if (status == WG_OK)
        status = expect(r, YAML_DOCUMENT_END_EVENT, "the end of the settings");
    return status == WG_OK ? expect(r, YAML_STREAM_END_EVENT, "one document, not several") : status;
}

/* Reads the whole file, which may be a pipe; the caller frees the bytes. */
static wg_status read_file(const char *path, char **bytes, size_t *size, wg_error *error)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return wgi_error_errno(error, path, "open");
    *bytes = malloc(WG_MAX_SETTINGS_BYTES + 1);
    wg_status status = *bytes ? WG_OK : wgi_error_file(error, WG_ENOMEM, path, "out of memory");
    if (status == WG_OK) {
        *size = fread(*bytes, 1, WG_MAX_SETTINGS_BYTES + 1, f);
        if (ferror(f))
            status = wgi_error_errno(error, path, "read");
        else if (*size > WG_MAX_SETTINGS_BYTES)
            status = wgi_error_file(error, WG_EDATA, path,
                                    "expected settings of at most %d bytes, got more",
                                    WG_MAX_SETTINGS_BYTES);
    }
    fclose(f);
    return status;
}

wg_status wgi_settings_parse_yaml(wg_settings *s, const char *path, const char *bytes, size_t size,
                                  wg_error *error)
{
    wg_settings copy = {0};
    reader r = {.path = path, .settings = &copy, .error = error};
    if (wg_settings_copy(&copy, s) != WG_OK || !yaml_parser_initialize(&r.parser)) {
        wg_settings_free(&copy);
        return wgi_error_file(error, WG_ENOMEM, path, "out of memory");
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    static const char mark[] = "\xef\xbb\xbf"; /* libyaml takes it for the start of a document */
    const size_t skipped = size >= 3 && memcmp(bytes, mark, 3) == 0 ? 3 : 0;
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes + skipped, size - skipped);
    wg_status status = read_stream(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    wg_settings *loser = status == WG_OK ? s : &copy;
    wg_settings_free(loser);
    if (status == WG_OK)
        *s = copy;
    return status;
}

wg_status wg_settings_read_yaml(wg_settings *s, const char *path, wg_error *error)
{
    wgi_error_clear(error);
    char *bytes = NULL;
    size_t size = 0;
    if (!s || !path)
        return wgi_error_set(error, WG_EINVAL, "settings and path must not be NULL");
    wg_status status = read_file(path, &bytes, &size, error);
    if (status == WG_OK)
        status = wgi_settings_parse_yaml(s, path, bytes, size, error);
    free(bytes);
    return status;
}
