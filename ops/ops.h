/* Every builder.  Each takes the caller's file:line as a hidden first argument (see WG_HERE in graph/op.h),
 * appends one node (or a few) to the graph of its operands and returns the result, or NULL once the graph is in
 * error.  Shapes are written [B, T, d]; "float" is f32, f64 or bf16.  Broadcasting follows NumPy's rules. */
#ifndef WG_OPS_OPS_H
#define WG_OPS_OPS_H

#include "ops/leaf.h"
#include "ops/elementwise.h"
#include "ops/compare.h"
#include "ops/activation.h"
#include "ops/reduce.h"
#include "ops/random.h"
#include "ops/select.h"
#include "ops/linalg.h"
#include "ops/einsum.h"
#include "ops/quantize.h"
#include "ops/movement.h"
#include "ops/slice.h"
#include "ops/concat.h"
#include "ops/index.h"
#include "ops/barrier.h"
#include "ops/guard.h"
#include "ops/softmax.h"
#include "ops/norm.h"
#include "ops/loss.h"
#include "ops/attention.h"
#include "ops/optimizer.h"
#include "ops/conv.h"
#include "ops/pool.h"
#include "ops/upsample.h"
#include "ops/recurrent.h"

#endif
