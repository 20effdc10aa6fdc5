/* What the C blocks of the documents take for granted: tests/docs/blocks.awk makes functions of
 * them. */
#ifndef WG_TESTS_DOCS_PAGE_H
#define WG_TESTS_DOCS_PAGE_H

#include "wengert.h"
#if PAGE_TRAINING
#include "wengert-train.h"
#endif

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_B = 4, PAGE_T = 10, PAGE_D = 32 };

/* x is f32 [B, T, d], image f32 [B, 3, 12, 12], series f32 [B, 3, 20], ids i64 [B, T], lengths
 * i64 [B], lr an f32 scalar: inputs of g. */
#define PAGE_VALUES                                                                                \
    wg_graph *g, wg_value *x, wg_value *image, wg_value *series, wg_value *ids, wg_value *lengths, \
        wg_value *lr

/* One block: builds in g, or does something of its own and returns 0 if that went well. */
typedef struct page_block {
    const char *page;
    int line; /* of the page */
    bool run; /* false: it is only compiled */
    int (*function)(PAGE_VALUES);
} page_block;

/* What programs do with a message. */
static inline int fail(const char *message)
{
    fprintf(stderr, "%s\n", message);
    return 1;
}

/* For the hidden parts of blocks: ends the block if the condition does not hold. */
#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return fail("not true: " #condition);                                                  \
    } while (0)

#endif
