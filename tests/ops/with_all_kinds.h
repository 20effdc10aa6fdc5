/* Texts of graphs with the op of all kinds of attributes. */
#ifndef WG_TESTS_OPS_WITH_ALL_KINDS_H
#define WG_TESTS_OPS_WITH_ALL_KINDS_H

#include "tests/all_kinds.h"
#include "tests/graph_text.h"

static const wg_op *const own_ops[] = {&op_of_all_kinds};
static const wg_parse_options with_own_ops = {.ops = own_ops, .n_ops = 1};

#endif
