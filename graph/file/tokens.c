/* Tokens of the text, and the errors that name their place. */
#include "graph/file/internal.h"

#include <stdlib.h>

/* ---- errors ---------------------------------------------------------------------------------- */

bool wgi_reader_fail(wgi_reader *r, const wgi_token *at, const char *format, ...)
{
    if (r->status != WG_OK)
        return false;
    r->status = WG_EDATA;
    wgi_error_set(r->error, WG_EDATA, "%s:%zu:%zu: ", r->name, at->line, at->column);
    va_list args;
    va_start(args, format);
    wgi_error_add_list(r->error, format, args);
    va_end(args);
    return false;
}

bool wgi_reader_no_memory(wgi_reader *r)
{
    r->status =
        wgi_error_set(r->error, WG_ENOMEM, "%s: out of memory in line %zu", r->name, r->token.line);
    return false;
}

/* The token as a message shows it: printable, and not long. */
static void describe(const wgi_token *t, char text[64])
{
    enum { SHOWN = 40 };
    size_t used = 0;
    if (t->kind == WGI_TOKEN_END || t->kind == WGI_TOKEN_NEWLINE) {
        snprintf(text, 64, "the end of the %s", t->kind == WGI_TOKEN_END ? "text" : "line");
        return;
    }
    text[used++] = '\'';
    for (size_t i = 0; i < t->length && i < SHOWN; i++) {
        unsigned char c = (unsigned char)t->start[i];
        text[used++] = (char)(c < ' ' || c == 0x7f ? '?' : c);
    }
    snprintf(text + used, 64 - used, "%s'", t->length > SHOWN ? "..." : "");
}

bool wgi_reader_expected(wgi_reader *r, const char *what)
{
    char found[64];
    describe(&r->token, found);
    return wgi_reader_fail(r, &r->token, "expected %s, found %s", what, found);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool is_value_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

bool wgi_is_word_character(char c)
{
    return is_value_character(c) || c == '+' || c == '-' || c == '/' || c == '@' || c == '~';
}

void wgi_reader_open(wgi_reader *r, const char *name, const char *text, size_t length,
                     wg_error *error)
{
    *r = (wgi_reader){.name = name,
                      .next = text,
                      .end = text + length,
                      .line_start = text,
                      .line = 1,
                      .error = error};
}

/* Blanks and comments; inside of brackets newlines too. */
static void skip_blanks(wgi_reader *r)
{
    for (; r->next < r->end; r->next++) {
        if (*r->next == '#')
            while (r->next + 1 < r->end && r->next[1] != '\n')
                r->next++;
        else if (*r->next == '\n' && r->depth > 0) {
            r->line++;
            r->line_start = r->next + 1;
        } else if (*r->next != ' ' && *r->next != '\t' && *r->next != '\r')
            return;
    }
}

static bool take_quoted(wgi_reader *r, wgi_token *t)
{
    char quote = *r->next++;
    while (r->next < r->end && *r->next != quote && *r->next != '\n')
        r->next += *r->next == '\\' && r->end - r->next > 1 && r->next[1] != '\n' ? 2 : 1;
    if (r->next >= r->end || *r->next != quote)
        return wgi_reader_fail(r, t, "this %c is not closed in its line", quote);
    r->next++;
    t->kind = WGI_TOKEN_QUOTED;
    return true;
}

/* Characters of a word; a ':' counts if another one follows. */
static void take_word(wgi_reader *r)
{
    while (r->next < r->end &&
           (wgi_is_word_character(*r->next) ||
            (*r->next == ':' && r->end - r->next > 1 && wgi_is_word_character(r->next[1]))))
        r->next++;
}

static void take_sign(wgi_reader *r)
{
    char c = *r->next++;
    r->depth += c == '(' || c == '[' || c == '{';
    r->depth -= r->depth > 0 && (c == ')' || c == ']' || c == '}');
}

bool wgi_reader_next(wgi_reader *r)
{
    wgi_token *t = &r->token;
    skip_blanks(r);
    *t = (wgi_token){.kind = WGI_TOKEN_END,
                     .start = r->next,
                     .line = r->line,
                     .column = (size_t)(r->next - r->line_start) + 1};
    if (r->next >= r->end)
        return true;
    if (*r->next == '\n') {
        t->kind = WGI_TOKEN_NEWLINE;
        r->line++;
        r->line_start = ++r->next;
    } else if (*r->next == '\'' || *r->next == '"') {
        if (!take_quoted(r, t))
            return false;
    } else if (*r->next == '%') {
        t->kind = WGI_TOKEN_VALUE;
        do
            r->next++;
        while (r->next < r->end && is_value_character(*r->next));
    } else if (wgi_is_word_character(*r->next)) {
        t->kind = WGI_TOKEN_WORD;
        take_word(r);
    } else {
        t->kind = WGI_TOKEN_SIGN;
        take_sign(r);
    }
    t->length = (size_t)(r->next - t->start);
    return true;
}

/* ---- what stands there ----------------------------------------------------------------------- */

bool wgi_token_is(const wgi_token *t, const char *text)
{
    return (t->kind == WGI_TOKEN_WORD || t->kind == WGI_TOKEN_SIGN) && t->length == strlen(text) &&
           memcmp(t->start, text, t->length) == 0;
}

bool wgi_reader_skip(wgi_reader *r, const char *text)
{
    return r->status == WG_OK && wgi_token_is(&r->token, text) && wgi_reader_next(r);
}

bool wgi_reader_need(wgi_reader *r, const char *text, const char *where)
{
    char what[80];
    snprintf(what, sizeof what, "'%s' %s", text, where);
    return wgi_token_is(&r->token, text) ? wgi_reader_next(r) : wgi_reader_expected(r, what);
}

bool wgi_reader_item(wgi_reader *r, const char *close, size_t *count)
{
    char what[40];
    if (wgi_reader_skip(r, close))
        return false;
    if ((*count)++ == 0)
        return true;
    snprintf(what, sizeof what, "',' or '%s'", close);
    return wgi_token_is(&r->token, ",") ? wgi_reader_next(r) : wgi_reader_expected(r, what);
}

/* ---- texts ----------------------------------------------------------------------------------- */

int wgi_hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* What follows a backslash, of `left` > 0 bytes, as one character; the bytes it takes, 0: wrong. */
static size_t unescape(const char *from, size_t left, char *to)
{
    if (*from == '\\' || *from == '\'' || *from == '"') {
        *to = *from;
        return 1;
    }
    int high = left >= 3 && *from == 'x' ? wgi_hex_digit(from[1]) : -1;
    int low = high >= 0 ? wgi_hex_digit(from[2]) : -1;
    *to = (char)(unsigned char)(16 * (high > 0 ? high : 0) + low);
    return low >= 0 && *to ? 3 : 0;
}

/* The text between the quotes; NULL after an error. */
static const char *unquoted(wgi_reader *r, const wgi_token *t)
{
    const char *from = t->start + 1, *end = t->start + t->length - 1;
    char *text = wgi_arena_alloc(&r->arena, t->length), *to = text;
    if (!text)
        wgi_reader_no_memory(r);
    while (text && from < end) {
        if (*from == '\0') {
            wgi_reader_fail(r, t, "a text with a zero byte");
            return NULL;
        }
        /* a backslash is not the last: it would have quoted the quote */
        size_t used = *from == '\\' ? unescape(from + 1, (size_t)(end - from) - 1, to) : 0;
        if (*from == '\\' && !used) {
            wgi_reader_fail(r, t, "after a backslash expected \\, ', \" or xHH, not x00");
            return NULL;
        }
        if (!used)
            *to = *from;
        from += used + 1;
        to++;
    }
    return text; /* zeroed memory ends it */
}

const char *wgi_reader_text(wgi_reader *r, const char *what)
{
    const char *text = NULL;
    const wgi_token t = r->token;
    if (r->status != WG_OK)
        return NULL;
    if (t.kind == WGI_TOKEN_QUOTED)
        text = unquoted(r, &t);
    else if (t.kind == WGI_TOKEN_WORD) {
        char *own = wgi_arena_alloc(&r->arena, t.length + 1);
        if (own)
            memcpy(own, t.start, t.length);
        else
            wgi_reader_no_memory(r);
        text = own;
    } else
        wgi_reader_expected(r, what);
    return text && wgi_reader_next(r) ? text : NULL;
}

/* ---- numbers, dtypes, shapes ----------------------------------------------------------------- */

bool wgi_reader_int(wgi_reader *r, const char *what, int64_t min, int64_t max, int64_t *out)
{
    char text[WGI_NUMBER_TEXT];
    const wgi_token *t = &r->token;
    if (t->kind != WGI_TOKEN_WORD || t->length >= sizeof text)
        return wgi_reader_expected(r, what);
    memcpy(text, t->start, t->length);
    text[t->length] = '\0';
    if (!wgi_number_read(text, WG_I64, out))
        return wgi_reader_expected(r, what);
    if (*out < min || *out > max)
        return wgi_reader_fail(r, t, "%s is %lld, outside %lld to %lld", what, (long long)*out,
                               (long long)min, (long long)max);
    return wgi_reader_next(r);
}

bool wgi_reader_dtype(wgi_reader *r, wg_dtype *out)
{
    int64_t number;
    if (r->status != WG_OK)
        return false;
    for (int d = 0; d < WG_DTYPE_COUNT; d++)
        if (wgi_token_is(&r->token, wg_dtype_name((wg_dtype)d))) {
            *out = (wg_dtype)d;
            return wgi_reader_next(r);
        }
    char expected[100];
    int n = snprintf(expected, sizeof expected, "a dtype (");
    for (int d = WG_F32; d < WG_DTYPE_COUNT; d++)
        n += snprintf(expected + n, sizeof expected - (size_t)n, "%s%s", wg_dtype_name((wg_dtype)d),
                      d + 1 < WG_DTYPE_COUNT ? ", " : ")");
    if (!wgi_reader_int(r, expected, 0, INT32_MAX, &number))
        return false;
    *out = (wg_dtype)number;
    return true;
}

bool wgi_reader_shape(wgi_reader *r, wg_shape *out)
{
    wg_shape s = {0};
    if (!wgi_reader_need(r, "[", "before the sizes of a shape"))
        return false;
    for (size_t count = 0; wgi_reader_item(r, "]", &count);) {
        if (s.rank == WG_MAX_RANK)
            return wgi_reader_fail(r, &r->token, "a shape of more than %d axes", WG_MAX_RANK);
        if (!wgi_reader_int(r, "a size", INT64_MIN, INT64_MAX, &s.dim[s.rank++]))
            return false;
    }
    *out = s;
    return r->status == WG_OK;
}
