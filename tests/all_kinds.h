/* An op of the program, with every kind of attribute. */
#ifndef WG_TESTS_ALL_KINDS_H
#define WG_TESTS_ALL_KINDS_H

#include "wengert/graph/op.h"

typedef struct all_kinds {
    int64_t i, key;
    double r;
    bool b;
    int e;
    wg_dtype dtype;
    wg_axes axes;
    wg_shape shape;
    const char *text;
    wg_data data;
    int64_t axis;
} all_kinds;

static inline bool infer_kinds(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static const char *const colours[] = {"red", "-1", "red", "pale blue", NULL};
static const wg_attr kinds[] = {
    WG_ATTR(INT, all_kinds, i),       WG_ATTR(KEY, all_kinds, key),
    WG_ATTR(REAL, all_kinds, r),      WG_ATTR(BOOL, all_kinds, b),
    WG_ATTR(DTYPE, all_kinds, dtype), WG_ATTR_NAMED(all_kinds, e, colours),
    WG_ATTR(AXES, all_kinds, axes),   WG_ATTR(SHAPE, all_kinds, shape),
    WG_ATTR(TEXT, all_kinds, text),   WG_ATTR(DATA, all_kinds, data),
    WG_ATTR(AXIS, all_kinds, axis),
};
static const wg_op op_of_all_kinds = {
    .name = "all kinds", .operands = "x", .infer = infer_kinds, WG_ATTRS(all_kinds, kinds)};

#endif
