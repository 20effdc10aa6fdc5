/* Lines of standard input as they arrive. */
#ifndef WG_CLI_LINES_H
#define WG_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lines {
    int fd;
    char *bytes; /* [at, size) has not been returned yet */
    size_t at, size, capacity;
    bool begun, ended;
    const char **line;
    size_t max_lines;
    size_t n_lines;                    /* returned so far */
    size_t n_repaired, first_repaired; /* those not UTF-8 or with a zero byte; the first, from 1 */
} lines;

/* Waits for a line, then takes those that have already arrived, at most `max`; an exit code.
 * *line[0..n) live until the next call; n = 0 is the end of input.  Line ends and a byte-order mark
 * are removed; a zero byte becomes a blank. */
int lines_next(lines *l, size_t max, const char *const **line, size_t *n);
void lines_free(lines *l);

#endif
