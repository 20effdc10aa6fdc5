/* Lines of standard input as they come. */
#ifndef WG_CLI_LINES_H
#define WG_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lines {
    int fd;
    char *bytes; /* [at, size) is still to be handed out */
    size_t at, size, capacity;
    bool begun, ended;
    const char **line;
    size_t max_lines;
} lines;

/* Waits for a line, then takes those that have come as well, at most `most`; an exit code.
 * *line[0..n) live until the next call; n = 0: there are no more.  Line ends and a byte-order mark
 * are taken off; a zero byte becomes a blank. */
int lines_next(lines *l, size_t max, const char *const **line, size_t *n);
void lines_free(lines *l);

#endif
