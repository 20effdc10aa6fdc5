/* The header of a safetensors file: JSON of one fixed form, from an untrusted file.  It has a
 * parser of its own, because the tree of a JSON library takes many times the size of a hostile
 * header, and because a message can then name the byte of every deviation. */
#include "files/internal.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "text/unicode/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const wgi_file_dtype dtypes[] = {
    {"F32", 4, WG_F32}, {"F64", 8, WG_F64},   {"BF16", 2, WG_BF16}, {"I32", 4, WG_I32},
    {"I64", 8, WG_I64}, {"BOOL", 1, WG_BOOL}, {"F16", 2, WG_F16},   {"U8", 1, WG_U8},
    {"I8", 1, WG_I8},   {"U16", 2, 0},        {"I16", 2, 0},        {"U32", 4, 0},
    {"U64", 8, 0},      {"F8_E4M3", 1, 0},    {"F8_E5M2", 1, 0},
};
enum { DTYPES = WG_COUNT(dtypes) };

const wgi_file_dtype *wgi_file_dtype_named(const char *name)
{
    for (int i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

const wgi_file_dtype *wgi_file_dtype_of(wg_dtype dtype)
{
    for (int i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype && dtype != WG_DTYPE_DEFAULT)
            return &dtypes[i];
    return NULL;
}

/* ---- the parser's cursor --------------------------------------------------------------------- */

typedef struct parser {
    const char *path;
    char *start, *at, *end;
    wg_error *error;
    wg_status status;
} parser;

#define REFUSE(p, status_, ...)                                                                    \
    ((p)->status = wgi_error_file((p)->error, (status_), (p)->path, __VA_ARGS__), false)

/* "path: header byte 12: expected ':', got 'x'" */
static bool expected(parser *p, const char *what)
{
    long byte = (long)(p->at - p->start);
    if (p->at == p->end)
        return REFUSE(p, WG_EDATA, "header byte %ld: expected %s, got its end", byte, what);
    unsigned char c = (unsigned char)*p->at;
    if (c > ' ' && c < 0x7f)
        return REFUSE(p, WG_EDATA, "header byte %ld: expected %s, got '%c'", byte, what, c);
    return REFUSE(p, WG_EDATA, "header byte %ld: expected %s, got 0x%02x", byte, what, c);
}

static void space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

/* Skips the next token if it is this character; false if it is not. */
static bool next(parser *p, char c)
{
    space(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool need(parser *p, char c)
{
    char what[4] = {'\'', c, '\'', '\0'};
    if (next(p, c))
        return true;
    return expected(p, what);
}

/* Four hexadecimal digits. */
static bool hex4(parser *p, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        static const char digits[] = "0123456789abcdef";
        char c = p->at == p->end ? '\0' : *p->at;
        const char *d = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!d)
            return expected(p, "a hexadecimal digit");
        *code = *code * 16 + (uint32_t)(d - digits);
    }
    return true;
}

/* \uXXXX, or two of them for a code point above U+FFFF, as UTF-8.  Never longer than what it
 * replaces. */
static bool unicode(parser *p, char **to)
{
    uint32_t code, low;
    if (!hex4(p, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
            return expected(p, "the second half of a surrogate pair");
        p->at += 2;
        if (!hex4(p, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return expected(p, "a low surrogate before this");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code == 0 || (code >= 0xdc00 && code < 0xe000)) {
        return expected(p, "no NUL and no lone surrogate before this");
    }
    char *w = *to;
    if (code < 0x80) {
        *w++ = (char)code;
    } else if (code < 0x800) {
        *w++ = (char)(0xc0 | code >> 6);
        *w++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *w++ = (char)(0xe0 | code >> 12);
        *w++ = (char)(0x80 | (code >> 6 & 0x3f));
        *w++ = (char)(0x80 | (code & 0x3f));
    } else {
        *w++ = (char)(0xf0 | code >> 18);
        *w++ = (char)(0x80 | (code >> 12 & 0x3f));
        *w++ = (char)(0x80 | (code >> 6 & 0x3f));
        *w++ = (char)(0x80 | (code & 0x3f));
    }
    *to = w;
    return true;
}

static bool escape(parser *p, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = p->at == p->end ? '\0' : *p->at;
    const char *f = c ? strchr(from, c) : NULL;
    if (!f && c != 'u')
        return expected(p, "an escape");
    p->at++;
    if (!f)
        return unicode(p, to);
    *(*to)++ = into[f - from];
    return true;
}

/* "text": unescaped and ended in place. */
static bool string(parser *p, const char **out)
{
    if (!next(p, '"'))
        return expected(p, "a string");
    char *to = p->at;
    *out = to;
    for (;;) {
        if (p->at == p->end || (unsigned char)*p->at < ' ')
            return expected(p, "the end of a string");
        char c = *p->at++;
        if (c == '"')
            break;
        if (c != '\\')
            *to++ = c;
        else if (!escape(p, &to))
            return false;
    }
    *to = '\0'; /* at most, this overwrites the closing quote */
    return true;
}

/* A natural number below 2^63. */
static bool natural(parser *p, uint64_t *out)
{
    space(p);
    char *first = p->at;
    uint64_t n = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        uint64_t digit = (uint64_t)(*p->at - '0');
        if (n > (INT64_MAX - digit) / 10)
            return expected(p, "a number below 2^63");
        n = n * 10 + digit;
    }
    if (p->at == first || (*first == '0' && p->at - first > 1))
        return expected(p, "a natural number");
    *out = n;
    return true;
}

/* ---- the header's form ----------------------------------------------------------------------- */

static bool shape(parser *p, wg_shape *out)
{
    if (!need(p, '['))
        return false;
    for (out->rank = 0; !next(p, ']'); out->rank++) {
        uint64_t n = 0;
        if (out->rank && !need(p, ','))
            return false;
        if (!natural(p, &n))
            return false;
        if (out->rank == WG_MAX_RANK)
            return REFUSE(p, WG_EUNSUPPORTED,
                          "header byte %ld: expected at most %d dimensions, got more",
                          (long)(p->at - p->start), WG_MAX_RANK);
        out->dim[out->rank] = (int64_t)n;
    }
    return true;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, in any order, each once */
static bool entry(parser *p, wgi_header_entry *e)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };
    int seen = 0;
    if (!need(p, '{'))
        return false;
    do {
        const char *key;
        if (!string(p, &key) || !need(p, ':'))
            return false;
        int field = strcmp(key, "dtype") == 0          ? DTYPE
                    : strcmp(key, "shape") == 0        ? SHAPE
                    : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                       : 0;
        if (!field || (seen & field))
            return REFUSE(p, WG_EDATA,
                          "tensor %s: expected dtype, shape and data_offsets once each, got \"%s\"",
                          e->tensor.name, key);
        seen |= field;
        if (field == DTYPE   ? !string(p, &e->tensor.dtype_name)
            : field == SHAPE ? !shape(p, &e->tensor.shape)
                             : !need(p, '[') || !natural(p, &e->begin) || !need(p, ',') ||
                                   !natural(p, &e->end) || !need(p, ']'))
            return false;
    } while (next(p, ','));
    if (!need(p, '}'))
        return false;
    return seen == (DTYPE | SHAPE | OFFSETS) ||
           REFUSE(p, WG_EDATA, "tensor %s: expected dtype, shape and data_offsets, got fewer",
                  e->tensor.name);
}

/* wgi_reserve for one more item; false is refused. */
static bool reserve(parser *p, void *array, size_t *capacity, size_t count, size_t size)
{
    if (count == WG_MAX_FILE_TENSORS)
        return REFUSE(p, WG_EUNSUPPORTED, "expected at most %d tensors and as many notes, got more",
                      WG_MAX_FILE_TENSORS);
    return wgi_reserve(array, capacity, count + 1, size) ||
           REFUSE(p, WG_ENOMEM, "no memory for its header");
}

static bool notes(parser *p, wgi_header *h)
{
    if (!need(p, '{'))
        return false;
    if (next(p, '}'))
        return true;
    do {
        if (!reserve(p, &h->notes, &h->note_room, h->n_notes, sizeof *h->notes))
            return false;
        wg_file_note *note = &h->notes[h->n_notes++];
        if (!string(p, &note->key) || !need(p, ':') || !string(p, &note->text))
            return false;
    } while (next(p, ','));
    return need(p, '}');
}

static bool header(parser *p, wgi_header *h)
{
    bool noted = false;
    if (p->at == p->end || *p->at != '{')
        return expected(p, "'{'");
    p->at++;
    if (next(p, '}'))
        return true;
    do {
        const char *name;
        if (!string(p, &name) || !need(p, ':'))
            return false;
        if (strcmp(name, "__metadata__") == 0) {
            if (noted)
                return REFUSE(p, WG_EDATA, "expected one __metadata__, got two");
            noted = true;
            if (!notes(p, h))
                return false;
            continue;
        }
        if (!reserve(p, &h->entries, &h->entry_room, h->n_entries, sizeof *h->entries))
            return false;
        wgi_header_entry *e = &h->entries[h->n_entries++];
        *e = (wgi_header_entry){.tensor.name = name};
        if (!entry(p, e))
            return false;
    } while (next(p, ','));
    return need(p, '}');
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const wgi_header_entry *)a)->tensor.name,
                  ((const wgi_header_entry *)b)->tensor.name);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const wg_file_note *)a)->key, ((const wg_file_note *)b)->key);
}

static bool unique(parser *p, wgi_header *h)
{
    if (h->n_entries)
        qsort(h->entries, h->n_entries, sizeof *h->entries, by_name);
    if (h->n_notes)
        qsort(h->notes, h->n_notes, sizeof *h->notes, by_key);
    for (size_t i = 1; i < h->n_entries; i++)
        if (by_name(&h->entries[i - 1], &h->entries[i]) == 0)
            return REFUSE(p, WG_EDATA, "tensor %s: expected once, got twice",
                          h->entries[i].tensor.name);
    for (size_t i = 1; i < h->n_notes; i++)
        if (by_key(&h->notes[i - 1], &h->notes[i]) == 0)
            return REFUSE(p, WG_EDATA, "note %s: expected once, got twice", h->notes[i].key);
    return true;
}

wg_status wgi_header_parse(wgi_header *out, const char *path, char *text, size_t size,
                           wg_error *error)
{
    parser p = {path, text, text, text + size, error, WG_OK};
    *out = (wgi_header){0};
    if (!wgi_utf8_valid(text, size))
        return wgi_error_file(error, WG_EDATA, path, "header: expected UTF-8, got other bytes");
    if (header(&p, out)) {
        space(&p);
        if (p.at != p.end)
            expected(&p, "the end of the header");
        else
            unique(&p, out);
    }
    if (p.status != WG_OK)
        wgi_header_free(out);
    return p.status;
}

void wgi_header_free(wgi_header *h)
{
    free(h->entries);
    free(h->notes);
    *h = (wgi_header){0};
}
