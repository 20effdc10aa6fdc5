/* Facts about code points, and UTF-8. */
#include "text/unicode/unicode.h"
#include "wengert/graph/status.h"

bool wgi_is_blank(int32_t code)
{
    static const struct {
        int32_t from, to;
    } ranges[] = {
        {0x09, 0x0d},     {0x1c, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
        {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
    };
    for (size_t i = 0; i < WG_COUNT(ranges); i++)
        if (code >= ranges[i].from && code <= ranges[i].to)
            return true;
    return false;
}

size_t wgi_utf8_write(char *bytes, int32_t code)
{
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)((0xf0 << (4 - n) & 0xff) | code);
    return n;
}

int32_t wgi_utf8_read(const char **at, const char *end)
{
    /* by first byte: how many follow, and the bounds of the first of these */
    static const struct {
        unsigned char from, to, more, min, max;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
        {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
        {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
    };
    unsigned char first = (unsigned char)*(*at)++;
    size_t f = 0, n = WG_COUNT(forms);
    while (f < n && !(first >= forms[f].from && first <= forms[f].to))
        f++;
    if (f == n)
        return -1;
    int32_t code = forms[f].more ? first & (0x3f >> forms[f].more) : first;
    for (int i = 0; i < forms[f].more; i++) {
        unsigned char byte = *at < end ? (unsigned char)**at : 0;
        if (i == 0 ? byte < forms[f].min || byte > forms[f].max : (byte & 0xc0) != 0x80)
            return -1;
        code = code << 6 | (byte & 0x3f);
        (*at)++;
    }
    return code;
}

bool wgi_utf8_valid(const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end)
        if (wgi_utf8_read(&text, end) < 0)
            return false;
    return true;
}
