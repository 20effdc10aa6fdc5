#include "cli/lines.h"
#include "cli/cli.h"
#include "graph/grow.h"
#include "text/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16, MANY_BYTES = 1 << 20 };

static size_t count_newlines(const char *bytes, size_t size)
{
    size_t n = 0; /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there are bytes */
    for (const char *end = bytes + size; (bytes = memchr(bytes, '\n', (size_t)(end - bytes)));
         bytes++)
        n++;
    return n;
}

/* True if a read would return without blocking. */
static bool is_ready(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

static int fill(lines *l)
{
    if (!WGI_RESERVE(l->bytes, l->capacity, l->size + PIECE)) {
        complain("out of memory for a line of more than %zu bytes", l->size);
        return EXIT_RUN;
    }
    ssize_t got;
    do
        got = read(l->fd, l->bytes + l->size, PIECE);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        complain("standard input: %s", strerror(errno));
        return EXIT_IO;
    }
    l->ended = got == 0;
    l->size += (size_t)got;
    return EXIT_OK;
}

/* Ends the line bytes[0..n) with a NUL, and replaces NULs within it. */
static void end_line(char *bytes, size_t n)
{
    for (char *zero = bytes; (zero = memchr(zero, '\0', n - (size_t)(zero - bytes)));)
        *zero = ' ';
    if (n > 0 && bytes[n - 1] == '\r')
        n--;
    bytes[n] = '\0';
}

/* Returns the lines that have arrived, at most `max`. */
static int split(lines *l, size_t max, size_t *n)
{
    size_t count = count_newlines(l->bytes + l->at, l->size - l->at) + 1;
    count = count < max ? count : max;
    if (!WGI_RESERVE(l->bytes, l->capacity, l->size + 1) || /* a NUL after the last line */
        !WGI_RESERVE(l->line, l->max_lines, count))
        return EXIT_RUN;
    if (!l->begun)
        l->at += wgi_mark_size(l->bytes + l->at, l->size - l->at);
    l->begun = true;
    for (*n = 0; *n < count && l->at < l->size;) {
        char *start = l->bytes + l->at, *newline = memchr(start, '\n', l->size - l->at);
        if (!newline && !l->ended)
            break;
        size_t length = newline ? (size_t)(newline - start) : l->size - l->at;
        l->n_lines++;
        if (!wgi_text_clean(start, length) && l->n_repaired++ == 0)
            l->first_repaired = l->n_lines;
        end_line(start, length);
        l->line[(*n)++] = start;
        l->at += length + (newline != NULL);
    }
    return EXIT_OK;
}

int lines_next(lines *l, size_t max, const char *const **line, size_t *n)
{
    int code = EXIT_OK;
    *n = 0;
    if (l->at) {
        memmove(l->bytes, l->bytes + l->at, l->size - l->at);
        l->size -= l->at;
        l->at = 0;
    }
    for (size_t seen = 0, newlines = 0; !l->ended;) {
        newlines += count_newlines(l->bytes ? l->bytes + seen : "", l->size - seen);
        if (newlines && (newlines >= max || l->size >= MANY_BYTES || !is_ready(l->fd)))
            break;
        seen = l->size;
        if ((code = fill(l)) != EXIT_OK)
            return code;
    }
    const char *wide = l->begun || !l->size ? NULL : wgi_text_wide(l->bytes, l->size);
    if (wide) {
        complain("standard input: " WGI_TEXT_IS_WIDE, wide, wide);
        return EXIT_DATA;
    }
    code = split(l, max, n);
    if (code != EXIT_OK)
        complain("out of memory for %zu bytes of lines", l->size);
    *line = l->line;
    return code;
}

void lines_free(lines *l)
{
    free(l->bytes);
    free(l->line);
    *l = (lines){0};
}
