#include "text/lists.h"
#include "files/json_cursor.h"
#include "graph/grow.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* The names of each special token in the lists of others, ended by NULL. */
enum { MAX_NAMES = 6 + 1 };
static const char *const names[WGI_SPECIALS][MAX_NAMES] = {
    [WGI_PAD] = {"<pad>", "[PAD]", "<PAD>", "<blank>"},
    [WGI_BOS] = {"<s>", "<bos>", "<BOS>", "<sos>", "<SOS>", "[CLS]"},
    [WGI_EOS] = {"</s>", "<eos>", "<EOS>", "[SEP]"},
    [WGI_UNK] = {"<unk>", "<UNK>", "[UNK]"},
};
static const char *const what_is_special[WGI_SPECIALS] = {
    [WGI_PAD] = "padding",
    [WGI_BOS] = "the begin of a sentence",
    [WGI_EOS] = "the end of a sentence",
    [WGI_UNK] = "unknown words",
};

/* ---- what it is ------------------------------------------------------------------------------ */

static bool is_digits(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return n > 0;
}

/* The bytes of a line before its last blank, or all of them. */
static size_t before_last_blank(wgi_slice line)
{
    size_t n = line.size;
    while (n > 0 && line.text[n - 1] != ' ' && line.text[n - 1] != '\t')
        n--;
    return n ? n - 1 : line.size;
}

static bool has_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r'))
            return true;
    return false;
}

/* "TOKEN 12" */
static bool is_counted(wgi_slice line)
{
    size_t n = before_last_blank(line);
    return n > 0 && n < line.size && !has_blank(line.text, n) &&
           is_digits(line.text + n + 1, line.size - n - 1);
}

/* "TOKEN: 12" */
static bool is_mapped(wgi_slice line)
{
    size_t n = before_last_blank(line);
    return n > 1 && n < line.size && line.text[n - 1] == ':' &&
           is_digits(line.text + n + 1, line.size - n - 1);
}

static bool is_eos(wgi_slice line)
{
    for (size_t i = 0; names[WGI_EOS][i]; i++)
        if (strlen(names[WGI_EOS][i]) == line.size &&
            memcmp(names[WGI_EOS][i], line.text, line.size) == 0)
            return true;
    return false;
}

wgi_list_kind wgi_list_kind_of(const char *bytes, size_t size)
{
    wgi_slice rest = {bytes, size}, line = {"", 0};
    if (!wgi_text_clean(bytes, size))
        return WGI_LIST_NONE;
    size_t blanks = 0;
    while (blanks < size && isspace((unsigned char)bytes[blanks]))
        blanks++;
    if (blanks < size && bytes[blanks] == '{')
        return WGI_LIST_JSON;
    wgi_next_line(&rest, &line);
    if (is_mapped(line) || (line.size == 3 && memcmp(line.text, "---", 3) == 0))
        return WGI_LIST_YAML;
    if (is_counted(line))
        return WGI_LIST_DICT;
    for (bool more = true; more; more = wgi_next_line(&rest, &line))
        if (is_eos(line))
            return WGI_LIST_PLAIN;
    return WGI_LIST_NONE;
}

/* ---- tokens as they come --------------------------------------------------------------------- */

/* Tokens in the order of the file, with their ids and lines. */
typedef struct reader {
    const char *path;
    wgi_token_table tokens;
    int64_t *ids;
    size_t *lines;
    size_t id_room, line_room, line; /* the present line, from 1; 0: not of the file */
    wg_error *error;
} reader;

#define REFUSE(r, ...) wgi_error_file((r)->error, WG_EDATA, (r)->path, "line %zu: " __VA_ARGS__)

static wg_status no_memory(const reader *r)
{
    return wgi_error_file(r->error, WG_ENOMEM, r->path, "no memory for %zu tokens",
                          r->tokens.n + 1);
}

static wg_status add(reader *r, wgi_slice token, int64_t id)
{
    size_t n = r->tokens.n;
    enum { LONGEST = 1000 }; /* bytes */
    if (token.size == 0 || token.size > LONGEST)
        return REFUSE(r, "expected a token of 1 to %d bytes, got %zu", r->line, LONGEST,
                      token.size);
    if (!WGI_RESERVE(r->ids, r->id_room, n + 1) || !WGI_RESERVE(r->lines, r->line_room, n + 1))
        return no_memory(r);
    int64_t at = wgi_tokens_add(&r->tokens, token);
    if (at < 0)
        return no_memory(r);
    if ((size_t)at < n && r->lines[at])
        return REFUSE(r, "expected a new token, got that of line %zu", r->line, r->lines[at]);
    if ((size_t)at < n)
        return REFUSE(r, "expected a new token, got %s, which every dict.txt has", r->line,
                      wgi_token_text(&r->tokens, (size_t)at));
    r->ids[n] = id;
    r->lines[n] = r->line;
    return WG_OK;
}

/* ---- a token a line -------------------------------------------------------------------------- */

/* Takes " #fairseq:overwrite" from the end of a line. */
static void drop_overwrite(wgi_slice *line)
{
    static const char mark[] = " #fairseq:overwrite";
    size_t n = sizeof mark - 1;
    if (line->size > n && memcmp(line->text + line->size - n, mark, n) == 0)
        line->size -= n;
}

static wg_status add_line(reader *r, wgi_list_kind kind, wgi_slice line)
{
    if (kind == WGI_LIST_PLAIN && has_blank(line.text, line.size))
        return REFUSE(r, "expected one token, got more", r->line);
    drop_overwrite(&line);
    if (kind == WGI_LIST_DICT && !is_counted(line))
        return REFUSE(r, "expected \"TOKEN COUNT\"", r->line);
    size_t n = kind == WGI_LIST_DICT ? before_last_blank(line) : line.size;
    return add(r, (wgi_slice){line.text, n}, (int64_t)r->tokens.n);
}

static wg_status read_lines(reader *r, wgi_list_kind kind, const char *bytes, size_t size)
{
    static const int fairseq[] = {WGI_BOS, WGI_PAD, WGI_EOS, WGI_UNK};
    wgi_slice rest = {bytes, size}, line;
    wg_status status = WG_OK;
    for (int i = 0; kind == WGI_LIST_DICT && i < WGI_SPECIALS && status == WG_OK; i++) {
        const char *name = names[fairseq[i]][0];
        status = add(r, (wgi_slice){name, strlen(name)}, i);
    }
    while (status == WG_OK && wgi_next_line(&rest, &line)) {
        r->line++;
        status = add_line(r, kind, line);
    }
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Skips blanks and counts lines: a text of JSON has no newline. */
static void skip_blanks(reader *r, wgi_json_cursor *c)
{
    for (; c->at < c->end && memchr(" \t\r\n", *c->at, 4); c->at++)
        r->line += *c->at == '\n';
}

/* "TOKEN": ID */
static wg_status read_member(reader *r, wgi_json_cursor *c)
{
    const char *token;
    uint64_t id;
    bool ok = wgi_json_string(c, &token);
    size_t line = r->line;
    if (ok)
        skip_blanks(r, c);
    ok = ok && wgi_json_need(c, ':');
    if (ok)
        skip_blanks(r, c);
    if (!ok || !wgi_json_natural(c, &id))
        return c->status;
    size_t now = r->line;
    r->line = line;
    wg_status status = add(r, (wgi_slice){token, strlen(token)}, (int64_t)id);
    r->line = now;
    return status;
}

static wg_status read_json(reader *r, char *bytes, size_t size)
{
    char where[48];
    wgi_json_cursor c = {r->path, where, bytes, bytes, bytes + size, r->error, WG_OK};
    wg_status status = WG_OK;
    bool more = true;
    r->line = 1;
    skip_blanks(r, &c);
    snprintf(where, sizeof where, "line %zu, ", r->line);
    wgi_json_need(&c, '{');
    for (bool first = true; status == WG_OK && more; first = false) {
        skip_blanks(r, &c);
        snprintf(where, sizeof where, "line %zu, ", r->line);
        if (first && wgi_json_next(&c, '}'))
            break;
        status = read_member(r, &c);
        skip_blanks(r, &c);
        more = wgi_json_next(&c, ',');
        if (status == WG_OK && !more && !wgi_json_need(&c, '}'))
            status = c.status;
    }
    if (status == WG_OK && !wgi_json_at_end(&c, "the end of the file"))
        status = c.status;
    return status;
}

/* ---- YAML ------------------------------------------------------------------------------------ */

/* The next event, which is `type`; the caller deletes it. */
static wg_status next_event(reader *r, yaml_parser_t *p, yaml_event_t *e)
{
    if (yaml_parser_parse(p, e)) {
        r->line = e->start_mark.line + 1;
        return WG_OK;
    }
    r->line = (p->problem_mark.line ? p->problem_mark.line : p->mark.line) + 1;
    return p->problem ? REFUSE(r, "%s", r->line, p->problem) : no_memory(r);
}

/* A key of the mapping, or its end, *done. */
static wg_status read_pair(reader *r, yaml_parser_t *p, bool *done)
{
    yaml_event_t key, value;
    wg_status status = next_event(r, p, &key);
    if (status != WG_OK)
        return status;
    *done = key.type == YAML_MAPPING_END_EVENT;
    if (!*done && (key.type != YAML_SCALAR_EVENT ||
                   memchr(key.data.scalar.value, '\0', key.data.scalar.length)))
        status = REFUSE(r, "expected \"TOKEN: ID\"", r->line);
    if (!*done && status == WG_OK && (status = next_event(r, p, &value)) == WG_OK) {
        const char *text = (const char *)value.data.scalar.value;
        bool whole = value.type == YAML_SCALAR_EVENT && value.data.scalar.length < 18 &&
                     is_digits(text, value.data.scalar.length);
        status =
            !whole
                ? REFUSE(r, "expected an id, a whole number", r->line)
                : add(r, (wgi_slice){(const char *)key.data.scalar.value, key.data.scalar.length},
                      strtoll(text, NULL, 10));
        yaml_event_delete(&value);
    }
    yaml_event_delete(&key);
    return status;
}

static wg_status read_yaml(reader *r, const char *bytes, size_t size)
{
    yaml_parser_t p;
    yaml_event_t e;
    bool done = false, began = false;
    wg_status status = WG_OK;
    if (!yaml_parser_initialize(&p))
        return no_memory(r);
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p, (const unsigned char *)bytes, size);
    while (status == WG_OK && !began && (status = next_event(r, &p, &e)) == WG_OK) {
        began = e.type == YAML_MAPPING_START_EVENT;
        if (!began && e.type != YAML_STREAM_START_EVENT && e.type != YAML_DOCUMENT_START_EVENT)
            status = REFUSE(r, "expected lines of the form \"TOKEN: ID\"", r->line);
        yaml_event_delete(&e);
    }
    while (status == WG_OK && !done)
        status = read_pair(r, &p, &done);
    yaml_parser_delete(&p);
    return status;
}

/* ---- tokens by id ---------------------------------------------------------------------------- */

/* A token for an id that has none, named as fairseq names them, unlike those in `others` (NULL:
 * none). */
static bool add_filler(wgi_token_table *t, const wgi_token_table *others)
{
    char name[64];
    size_t n = t->n;
    for (size_t tries = 0; t->n == n; tries++) {
        int size = snprintf(name, sizeof name, "madeupword%04zu%s", n + tries, tries ? "_" : "");
        const wgi_slice token = {name, (size_t)size};
        bool taken = others && wgi_tokens_find(others, token) >= 0;
        if (!taken && wgi_tokens_add(t, token) < 0)
            return false;
    }
    return true;
}

bool wgi_list_fill(wgi_token_table *t, size_t size)
{
    while (t->n < size)
        if (!add_filler(t, NULL))
            return false;
    return true;
}

/* holder[id] is the number of the token with that id, -1 without one. */
static wg_status find_holders(reader *r, int64_t *holder, size_t n)
{
    for (size_t i = 0; i < n; i++)
        holder[i] = -1;
    for (size_t k = 0; k < r->tokens.n; k++) {
        int64_t *at = &holder[r->ids[k]];
        if (*at >= 0)
            return wgi_error_file(r->error, WG_EDATA, r->path,
                                  "line %zu: expected a new id, got %" PRId64 ", that of line %zu",
                                  r->lines[k], r->ids[k], r->lines[*at]);
        *at = (int64_t)k;
    }
    return WG_OK;
}

static bool add_in_order(const reader *r, wgi_token_table *out, const int64_t *holder, size_t n)
{
    for (size_t id = 0; id < n; id++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without memory the status says so */
        int64_t k = holder[id];
        bool ok = k < 0 ? add_filler(out, &r->tokens)
                        : wgi_tokens_add(out, (wgi_slice){wgi_token_text(&r->tokens, (size_t)k),
                                                          r->tokens.token[k].size}) >= 0;
        if (!ok)
            return false;
    }
    return true;
}

static wg_status sort_by_id(reader *r, wgi_token_table *out)
{
    enum { HOLES = 1024 }; /* and one for each token */
    int64_t most = -1;
    size_t last = 0;
    for (size_t k = 0; k < r->tokens.n; k++)
        if (r->ids[k] > most) {
            most = r->ids[k];
            last = r->lines[k];
        }
    if (most >= (int64_t)(2 * r->tokens.n + HOLES))
        return wgi_error_file(r->error, WG_EDATA, r->path,
                              "line %zu: expected an id of %zu tokens, got %" PRId64, last,
                              r->tokens.n, most);
    size_t n = (size_t)(most + 1);
    int64_t *holder = malloc((n + 1) * sizeof *holder);
    wg_status status = holder ? find_holders(r, holder, n) : no_memory(r);
    if (status == WG_OK && !add_in_order(r, out, holder, n))
        status = no_memory(r);
    free(holder);
    return status;
}

static wg_status find_special(const wgi_token_table *t, int32_t special[WGI_SPECIALS],
                              const char *path, wg_error *error)
{
    for (int i = 0; i < WGI_SPECIALS; i++) {
        special[i] = -1;
        for (int k = 0; names[i][k] && special[i] < 0; k++)
            special[i] = (int32_t)wgi_tokens_find(t, (wgi_slice){names[i][k], strlen(names[i][k])});
        if (special[i] < 0 && (i == WGI_EOS || i == WGI_UNK))
            return wgi_error_file(error, WG_EDATA, path, "expected a token for %s, such as %s",
                                  what_is_special[i], names[i][0]);
    }
    return WG_OK;
}

wg_status wgi_list_read(wgi_token_table *out, int32_t special[WGI_SPECIALS], wgi_list_kind kind,
                        const char *path, char *bytes, size_t size, wg_error *error)
{
    reader r = {.path = path, .error = error};
    *out = (wgi_token_table){0};
    wg_status status = kind == WGI_LIST_JSON   ? read_json(&r, bytes, size)
                       : kind == WGI_LIST_YAML ? read_yaml(&r, bytes, size)
                                               : read_lines(&r, kind, bytes, size);
    if (status == WG_OK)
        status = sort_by_id(&r, out);
    if (status == WG_OK)
        status = find_special(out, special, path, error);
    wgi_tokens_free(&r.tokens);
    free(r.ids);
    free(r.lines);
    if (status != WG_OK)
        wgi_tokens_free(out);
    return status;
}
