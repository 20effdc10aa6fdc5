/* Values that attributes may be given by mistake or on purpose: extremes, and what is out of range,
 * beside usual ones. */
#ifndef WG_TESTS_ODD_VALUES_H
#define WG_TESTS_ODD_VALUES_H

#include "wengert/graph/op.h"

typedef struct odd_value_list {
    const void *first; /* [count] of `size` bytes each, as in an attribute struct */
    size_t size;
    int count;
} odd_value_list;

/* By wg_attr_kind. */
extern const odd_value_list odd_values[];

#endif
