#include "graph/json.h"
#include "graph/utf8.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <string.h>

static void put_string(const wgi_json *j, const char *text)
{
    fputc('"', j->file);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int n = wgi_utf8_length(c);
        if (n == 0)
            fputs(WGI_UTF8_REPLACEMENT, j->file);
        else if (*c == '"' || *c == '\\')
            fprintf(j->file, "\\%c", *c);
        else if (*c < 0x20 || (j->for_page && strchr("<>&", *c)))
            fprintf(j->file, "\\u%04x", *c);
        else
            fwrite(c, 1, (size_t)n, j->file);
        c += n ? n : 1;
    }
    fputc('"', j->file);
}

static void break_line(const wgi_json *j)
{
    if (!j->compact)
        fprintf(j->file, "\n%*s", 2 * j->depth, "");
}

static void put_key(wgi_json *j, const char *key)
{
    if (j->more)
        fputc(',', j->file);
    if (j->depth)
        break_line(j);
    if (key) {
        put_string(j, key);
        fputs(j->compact ? ":" : ": ", j->file);
    }
    j->more = true;
}

void wgi_json_begin(wgi_json *j, const char *key, char bracket)
{
    put_key(j, key);
    fputc(bracket, j->file);
    j->depth++;
    j->more = false;
}

void wgi_json_end(wgi_json *j, char bracket)
{
    j->depth--;
    if (j->more)
        break_line(j);
    fputc(bracket, j->file);
    if (!j->depth)
        fputc('\n', j->file);
    j->more = true;
}

void wgi_json_text(wgi_json *j, const char *key, const char *text)
{
    put_key(j, key);
    if (text)
        put_string(j, text);
    else
        fputs("null", j->file);
}

void wgi_json_real(wgi_json *j, const char *key, double x)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the locale */
    const char *point = localeconv()->decimal_point;
    char text[64];
    put_key(j, key);
    snprintf(text, sizeof text, "%.*g", j->digits ? j->digits : 9, x);
    char *at = strstr(text, point);
    if (!isfinite(x))
        fputs("null", j->file);
    else if (at)
        fprintf(j->file, "%.*s.%s", (int)(at - text), text, at + strlen(point));
    else
        fputs(text, j->file);
}

void wgi_json_whole(wgi_json *j, const char *key, int64_t n)
{
    put_key(j, key);
    fprintf(j->file, "%" PRId64, n);
}

void wgi_json_plain(wgi_json *j, const char *key, const char *value)
{
    put_key(j, key);
    fputs(value, j->file);
}
