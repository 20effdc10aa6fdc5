/* What the examples of docs/layers.md and docs/recipes.md take for granted. */
#ifndef WG_TESTS_PAGE_H
#define WG_TESTS_PAGE_H

#include "wengert.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PAGE_B = 4, PAGE_T = 10, PAGE_D = 32 };

#define PAGE_VALUES                                                                                \
    wg_graph *g, wg_value *x, wg_value *image, wg_value *series, wg_value *ids, wg_value *lengths, \
        wg_value *lr

typedef void (*page_block)(PAGE_VALUES);

extern const page_block page_blocks[]; /* ended by NULL */

#endif
