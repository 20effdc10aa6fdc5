/* The signatures of docs/ops.md: tests/docs/signatures.awk. */
#ifndef WG_TESTS_DOCS_SIGNATURES_H
#define WG_TESTS_DOCS_SIGNATURES_H

#include "wengert.h"

/* The names of the functions that the page shows; returns their number. */
int page_signatures(const char *const **shown);

#endif
