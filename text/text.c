/* Reading texts: files, lines, and what is not UTF-8. */
#include "files/read.h"
#include "graph/grow.h"
#include "text/internal.h"
#include "text/unicode/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- files ----------------------------------------------------------------------------------- */

/* Why reading gzip stopped; Z_BUF_ERROR means that the file is truncated. */
static wg_status gzip_error(gzFile gz, const char *path, wg_error *error)
{
    int code;
    const char *text = gzerror(gz, &code);
    if (code == Z_ERRNO)
        return wgi_error_errno(error, path, "read");
    if (code == Z_MEM_ERROR)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    if (code == Z_OK)
        return WG_OK;
    text += strcspn(text, ">"); /* zlib knows the file as "<fd:4>: " */
    return wgi_error_file(error, WG_EDATA, path, "gzip: %s", text + strspn(text, ">: "));
}

static wg_status read_all(wgi_text *out, gzFile gz, const char *path, wg_error *error)
{
    enum { PIECE = 1 << 16 };
    for (size_t room = 0;;) {
        if (!WGI_RESERVE(out->bytes, room, out->size + PIECE))
            return wgi_error_file(error, WG_ENOMEM, path, "no memory for more than %zu bytes",
                                  room);
        int n = gzread(gz, out->bytes + out->size, PIECE);
        if (n <= 0)
            return gzip_error(gz, path, error);
        out->size += (size_t)n;
    }
}

wg_status wgi_text_read(wgi_text *out, const char *path, wg_error *error)
{
    static const char mark[] = "\xef\xbb\xbf"; /* U+FEFF */
    int fd;
    size_t size;
    *out = (wgi_text){0};
    wg_status status = wgi_file_open(&fd, &size, path, error);
    if (status != WG_OK)
        return status;
    gzFile gz = gzdopen(fd, "rb");
    if (!gz) {
        close(fd);
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    }
    status = read_all(out, gz, path, error);
    gzclose(gz);
    if (status != WG_OK) {
        free(out->bytes);
        *out = (wgi_text){0};
    } else if (out->size >= 3 && memcmp(out->bytes, mark, 3) == 0) {
        memmove(out->bytes, out->bytes + 3, out->size -= 3);
    }
    return status;
}

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
