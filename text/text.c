/* Lines of texts, and what is not UTF-8. */
#include "text/internal.h"
#include "text/unicode/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- lines ----------------------------------------------------------------------------------- */

bool wgi_next_line(wgi_slice *rest, wgi_slice *line)
{
    if (!rest->size)
        return false;
    const char *newline = memchr(rest->text, '\n', rest->size);
    size_t n = newline ? (size_t)(newline - rest->text) : rest->size;
    *line = (wgi_slice){rest->text, n};
    if (newline && n && rest->text[n - 1] == '\r')
        line->size--;
    n += newline != NULL;
    rest->text += n;
    rest->size -= n;
    return true;
}

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

bool wgi_text_clean(const char *text, size_t size)
{
    return !size || (!memchr(text, '\0', size) && wgi_utf8_valid(text, size));
}

size_t wgi_text_clean_into(char *to, const char *text, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    const char *end = text + size;
    char *start = to;
    while (text < end) {
        const char *from = text;
        bool good = wgi_utf8_read(&text, end) > 0;
        size_t n = good ? (size_t)(text - from) : 3;
        memcpy(to, good ? from : replacement, n);
        to += n;
    }
    return (size_t)(to - start);
}

bool wgi_text_cleaned(wgi_text *out, const char *text, size_t size)
{
    char *bytes = calloc(size + 1, 3); /* which fails if the product is too large */
    *out = (wgi_text){bytes, bytes ? wgi_text_clean_into(bytes, text, size) : 0};
    return bytes != NULL;
}
