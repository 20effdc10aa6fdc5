#include "train/json.h"
#include "files/json_cursor.h"
#include "graph/grow.h"
#include "text/unicode/unicode.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts the point of the program's locale, which strtod expects, in the place of the first '.'. */
static void put_point(char *text, size_t size)
{
    char *at = strchr(text, '.'), rest[64];
    if (!at)
        return;
    snprintf(rest, sizeof rest, "%s", at + 1);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the locale */
    snprintf(at, size - (size_t)(at - text), "%s%s", localeconv()->decimal_point, rest);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { MAX_VALUES = 4096, MAX_DEPTH = 8 };

static bool add(wgi_json_tree *j, wgi_json_cursor *c, const char *key, size_t *index)
{
    if (j->count == MAX_VALUES)
        return WGI_JSON_REFUSE(c, WG_EDATA, "expected at most %d values, got more", MAX_VALUES);
    if (!WGI_RESERVE(j->value, j->capacity, j->count + 1))
        return WGI_JSON_REFUSE(c, WG_ENOMEM, "no memory to read it");
    *index = j->count++;
    j->value[*index] = (wgi_json_value){.key = key, .end = j->count};
    return true;
}

static bool number(wgi_json_cursor *c, wgi_json_value *v)
{
    char text[64], *end;
    size_t n = strspn(c->at, "+-.0123456789eE");
    if (n == 0 || n > 40)
        return wgi_json_expected(c, "a text, a number or an object");
    snprintf(text, sizeof text, "%.*s", (int)n, c->at);
    errno = 0;
    v->whole = strtoll(text, &end, 10);
    v->kind = *end || errno ? WGI_JSON_REAL : WGI_JSON_WHOLE;
    put_point(text, sizeof text);
    v->real = strtod(text, &end);
    if (*end || !isfinite(v->real))
        return wgi_json_expected(c, "a number");
    c->at += n;
    return true;
}

static bool object(wgi_json_tree *j, wgi_json_cursor *c, size_t index, int depth);

static bool value(wgi_json_tree *j, wgi_json_cursor *c, const char *key, int depth)
{
    size_t index;
    if (!add(j, c, key, &index))
        return false;
    if (wgi_json_next(c, '{'))
        return object(j, c, index, depth);
    if (c->at == c->end || *c->at != '"')
        return number(c, &j->value[index]);
    j->value[index].kind = WGI_JSON_TEXT;
    return wgi_json_string(c, &j->value[index].text);
}

/* What follows the opening brace. */
static bool object(wgi_json_tree *j, wgi_json_cursor *c, size_t index, int depth)
{
    const char *key;
    j->value[index].kind = WGI_JSON_OBJECT;
    if (depth == MAX_DEPTH)
        return WGI_JSON_REFUSE(c, WG_EDATA, "expected at most %d objects in each other, got more",
                               MAX_DEPTH);
    if (wgi_json_next(c, '}'))
        return true;
    do {
        if (!wgi_json_string(c, &key) || !wgi_json_need(c, ':'))
            return false;
        if (wgi_json_find(j, &j->value[index], key))
            return WGI_JSON_REFUSE(c, WG_EDATA, "expected \"%s\" once, got twice", key);
        if (!value(j, c, key, depth + 1))
            return false;
        j->value[index].end = j->count;
    } while (wgi_json_next(c, ','));
    return wgi_json_need(c, '}');
}

wg_status wgi_json_read(wgi_json_tree *out, const char *path, char *bytes, size_t size,
                        wg_error *error)
{
    size_t index;
    wgi_json_cursor c = {path, "", bytes, bytes, bytes + size, error, WG_OK};
    *out = (wgi_json_tree){NULL, 0, 0};
    if (!wgi_utf8_valid(bytes, size))
        return wgi_error_file(error, WG_EDATA, path, "expected UTF-8, got other bytes");
    if (add(out, &c, "", &index) && wgi_json_need(&c, '{') && object(out, &c, index, 0))
        wgi_json_at_end(&c, "the end of the file");
    if (c.status != WG_OK)
        wgi_json_free(out);
    return c.status;
}

void wgi_json_free(wgi_json_tree *j)
{
    free(j->value);
    *j = (wgi_json_tree){NULL, 0, 0};
}

const wgi_json_value *wgi_json_after(const wgi_json_tree *j, const wgi_json_value *o,
                                     const wgi_json_value *member)
{
    return member->end < o->end ? &j->value[member->end] : NULL;
}

const wgi_json_value *wgi_json_first(const wgi_json_tree *j, const wgi_json_value *o)
{
    size_t first = (size_t)(o - j->value) + 1;
    return o->kind == WGI_JSON_OBJECT && first < o->end ? &j->value[first] : NULL;
}

const wgi_json_value *wgi_json_find(const wgi_json_tree *j, const wgi_json_value *o,
                                    const char *key)
{
    const wgi_json_value *v = o ? wgi_json_first(j, o) : NULL;
    while (v && strcmp(v->key, key) != 0)
        v = wgi_json_after(j, o, v);
    return v;
}
