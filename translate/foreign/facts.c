#include "translate/foreign/facts.h"
#include "files/json_cursor.h"
#include "files/read.h"
#include "graph/grow.h"
#include "text/unicode/unicode.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, MAX_FACTS = 4096, MAX_DEPTH = 32 };

typedef struct reader {
    wgi_json_cursor cursor;
    wgi_facts *facts;
} reader;

static const char wengert[] = "wengert";

static void skip_blanks(wgi_json_cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at))
        c->at++;
}

/* true, false, null or a number, as it is written. */
static bool word(wgi_json_cursor *c, const char **at, size_t *size)
{
    skip_blanks(c);
    *at = c->at;
    while (c->at < c->end && (isalnum((unsigned char)*c->at) || memchr("+-.", *c->at, 3)))
        c->at++;
    *size = (size_t)(c->at - *at);
    if (*size == 0)
        return wgi_json_expected(c, "a value");
    return true;
}

static bool keep(reader *r, const char *key, const char *text, size_t size, bool ours)
{
    wgi_facts *f = r->facts;
    bool is_null = size == 4 && memcmp(text, "null", 4) == 0;
    if (is_null || size >= WGI_FACT_TEXT || strlen(key) >= WGI_FACT_TEXT)
        return true;
    if (f->n == MAX_FACTS)
        return WGI_JSON_REFUSE(&r->cursor, WG_EDATA, "expected at most %d members, got more",
                               MAX_FACTS);
    if (!WGI_RESERVE(f->fact, f->room, f->n + 1))
        return WGI_JSON_REFUSE(&r->cursor, WG_ENOMEM, "no memory to read it");
    wgi_fact *fact = &f->fact[f->n++];
    *fact = (wgi_fact){.ours = ours};
    memcpy(fact->key, key, strlen(key));
    memcpy(fact->text, text, size);
    return true;
}

/* Skips a value, or what is left of a list or an object whose closing bracket is `end`. */
static bool skip_value(wgi_json_cursor *c, int depth)
{
    const char *text;
    size_t size;
    skip_blanks(c);
    char first = c->at < c->end ? *c->at : '\0', end = first == '{' ? '}' : ']';
    if (first == '"')
        return wgi_json_string(c, &text);
    if (first != '{' && first != '[')
        return word(c, &text, &size);
    if (depth == MAX_DEPTH)
        return WGI_JSON_REFUSE(c, WG_EDATA, "expected at most %d values in each other, got more",
                               MAX_DEPTH);
    c->at++;
    if (wgi_json_next(c, end))
        return true;
    do {
        if (first == '{' && (!wgi_json_string(c, &text) || !wgi_json_need(c, ':')))
            return false;
        if (!skip_value(c, depth + 1))
            return false;
    } while (wgi_json_next(c, ','));
    return wgi_json_need(c, end);
}

static bool members(reader *r, bool ours);

static bool member_value(reader *r, const char *key, bool ours)
{
    wgi_json_cursor *c = &r->cursor;
    const char *text;
    size_t size;
    skip_blanks(c);
    char first = c->at < c->end ? *c->at : '\0';
    if (first == '{' && !ours && strcmp(key, wengert) == 0)
        return members(r, true);
    if (first == '{' || first == '[')
        return skip_value(c, 0);
    if (first == '"')
        return wgi_json_string(c, &text) && keep(r, key, text, strlen(text), ours);
    return word(c, &text, &size) && keep(r, key, text, size, ours);
}

static bool members(reader *r, bool ours)
{
    wgi_json_cursor *c = &r->cursor;
    const char *key;
    if (!wgi_json_need(c, '{'))
        return false;
    if (wgi_json_next(c, '}'))
        return true;
    do {
        if (!wgi_json_string(c, &key) || !wgi_json_need(c, ':') || !member_value(r, key, ours))
            return false;
    } while (wgi_json_next(c, ','));
    return wgi_json_need(c, '}');
}

wg_status wgi_facts_read(wgi_facts *out, const char *path, wg_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    *out = (wgi_facts){0};
    wg_status status = wgi_file_read(&bytes, &size, path, MAX_BYTES, error);
    if (status == WG_OK && !wgi_utf8_valid(bytes, size))
        status = wgi_error_file(error, WG_EDATA, path, "expected UTF-8, got other bytes");
    if (status == WG_OK) {
        reader r = {{path, "", bytes, bytes, bytes + size, error, WG_OK}, out};
        if (members(&r, false))
            wgi_json_at_end(&r.cursor, "the end of the file");
        status = r.cursor.status;
    }
    free(bytes);
    if (status != WG_OK)
        wgi_facts_free(out);
    return status;
}

void wgi_facts_free(wgi_facts *f)
{
    free(f->fact);
    *f = (wgi_facts){0};
}

const char *wgi_facts_find(const wgi_facts *f, const char *key)
{
    for (size_t i = 0; i < f->n; i++)
        if (!f->fact[i].ours && strcmp(f->fact[i].key, key) == 0)
            return f->fact[i].text;
    return NULL;
}
