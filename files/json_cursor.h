/* The tokens of JSON from an untrusted file, one after the other.  A message names the byte at
 * which the text deviates: "path: header byte 12: expected ':', got 'x'". */
#ifndef WG_FILES_JSON_CURSOR_H
#define WG_FILES_JSON_CURSOR_H

#include "graph/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct wgi_json_cursor {
    const char *path, *where; /* for messages: the file; "header ", or "" */
    char *start, *at, *end;   /* of the text, which is written to */
    wg_error *error;
    wg_status status; /* of what was refused */
} wgi_json_cursor;

/* Sets error and status; false. */
#define WGI_JSON_REFUSE(p, status_, ...)                                                           \
    ((p)->status = wgi_error_file((p)->error, (status_), (p)->path, __VA_ARGS__), false)

/* Refuses what is at the cursor: "expected WHAT, got ..."; false. */
bool wgi_json_expected(wgi_json_cursor *p, const char *what);
/* Skips blanks, and then the next character if it is this one; false if it is not. */
bool wgi_json_next(wgi_json_cursor *p, char c);
/* The same; anything else is refused. */
bool wgi_json_need(wgi_json_cursor *p, char c);
/* "text": unescaped and ended in place. */
bool wgi_json_string(wgi_json_cursor *p, const char **out);
/* A natural number below 2^63. */
bool wgi_json_natural(wgi_json_cursor *p, uint64_t *out);
/* Skips blanks; anything after them is refused, as not being `what`. */
bool wgi_json_at_end(wgi_json_cursor *p, const char *what);

#endif
