/* For kernels that add to one of their operands. */
#ifndef WG_BACKENDS_BEGIN_WITH_H
#define WG_BACKENDS_BEGIN_WITH_H

#include "wengert/graph/op.h"

/* Copies operand k to result 0, unless both are the same memory. */
void wgi_begin_with(wg_call *c, int k);

#endif
