/* Files whose headers are malformed, and what their readers say. */
#ifndef WG_TESTS_FILES_BAD_HEADERS_H
#define WG_TESTS_FILES_BAD_HEADERS_H

#include "tests/test.h"
#include "wengert/graph/error.h"

#include <string.h>

typedef struct bad_header {
    const char *header;
    size_t data; /* bytes behind it */
    const char *reason;
} bad_header;

/* The reader of the file with that header has returned the status and filled the error. */
static inline void check_refusal(const bad_header *bad, const char *path, wg_status status,
                                 const wg_error *error)
{
    check_that(status == WG_EDATA || status == WG_EUNSUPPORTED, "taken: %s", bad->header);
    check_that(strncmp(error->text, path, strlen(path)) == 0 && strstr(error->text, bad->reason),
               "%s\n  expected: %s\n  got:      %s", bad->header, bad->reason, error->text);
}

#endif
