/* For kernels that add to one of their operands. */
#ifndef WG_BACKENDS_BEGIN_WITH_H
#define WG_BACKENDS_BEGIN_WITH_H

#include "wengert/graph/op.h"

/* Makes result 0 a copy of operand k, if it is not in its place already. */
void wgi_begin_with(wg_call *c, int k);

#endif
