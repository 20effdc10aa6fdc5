#include "files/json_cursor.h"
#include "text/unicode/unicode.h"

#include <string.h>

bool wgi_json_expected(wgi_json_cursor *p, const char *what)
{
    long byte = (long)(p->at - p->start);
    if (p->at == p->end)
        return WGI_JSON_REFUSE(p, WG_EDATA, "%sbyte %ld: expected %s, got its end", p->where, byte,
                               what);
    unsigned char c = (unsigned char)*p->at;
    if (c > ' ' && c < 0x7f)
        return WGI_JSON_REFUSE(p, WG_EDATA, "%sbyte %ld: expected %s, got '%c'", p->where, byte,
                               what, c);
    return WGI_JSON_REFUSE(p, WG_EDATA, "%sbyte %ld: expected %s, got 0x%02x", p->where, byte, what,
                           c);
}

static void space(wgi_json_cursor *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

bool wgi_json_next(wgi_json_cursor *p, char c)
{
    space(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

bool wgi_json_need(wgi_json_cursor *p, char c)
{
    char what[4] = {'\'', c, '\'', '\0'};
    if (wgi_json_next(p, c))
        return true;
    return wgi_json_expected(p, what);
}

/* Four hexadecimal digits. */
static bool hex4(wgi_json_cursor *p, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        static const char digits[] = "0123456789abcdef";
        char c = p->at == p->end ? '\0' : *p->at;
        const char *d = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!d)
            return wgi_json_expected(p, "a hexadecimal digit");
        *code = *code * 16 + (uint32_t)(d - digits);
    }
    return true;
}

/* \uXXXX, or two of them for a code point above U+FFFF, as UTF-8.  Never longer than what it
 * replaces. */
static bool unicode(wgi_json_cursor *p, char **to)
{
    uint32_t code, low;
    if (!hex4(p, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
            return wgi_json_expected(p, "the second half of a surrogate pair");
        p->at += 2;
        if (!hex4(p, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return wgi_json_expected(p, "a low surrogate before this");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code == 0 || (code >= 0xdc00 && code < 0xe000)) {
        return wgi_json_expected(p, "no NUL and no lone surrogate before this");
    }
    *to += wgi_utf8_write(*to, (int32_t)code);
    return true;
}

static bool escape(wgi_json_cursor *p, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = p->at == p->end ? '\0' : *p->at;
    const char *f = c ? strchr(from, c) : NULL;
    if (!f && c != 'u')
        return wgi_json_expected(p, "an escape");
    p->at++;
    if (!f)
        return unicode(p, to);
    *(*to)++ = into[f - from];
    return true;
}

bool wgi_json_string(wgi_json_cursor *p, const char **out)
{
    if (!wgi_json_next(p, '"'))
        return wgi_json_expected(p, "a string");
    char *to = p->at;
    *out = to;
    for (;;) {
        if (p->at == p->end || (unsigned char)*p->at < ' ')
            return wgi_json_expected(p, "the end of a string");
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

bool wgi_json_natural(wgi_json_cursor *p, uint64_t *out)
{
    space(p);
    char *first = p->at;
    uint64_t n = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        uint64_t digit = (uint64_t)(*p->at - '0');
        if (n > (INT64_MAX - digit) / 10)
            return wgi_json_expected(p, "a number below 2^63");
        n = n * 10 + digit;
    }
    if (p->at == first || (*first == '0' && p->at - first > 1))
        return wgi_json_expected(p, "a natural number");
    *out = n;
    return true;
}

bool wgi_json_at_end(wgi_json_cursor *p, const char *what)
{
    space(p);
    bool end = p->at == p->end;
    if (!end)
        wgi_json_expected(p, what);
    return end;
}
