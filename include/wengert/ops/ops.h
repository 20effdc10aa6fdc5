/* All builders.  Each takes the caller's file:line as a hidden first argument (see WG_HERE in
 * wengert/graph/graph.h), appends one node (or a few) to the graph of its operands and returns the
 * result, or NULL once the graph is in error.  Shapes are written [B, T, d]; "float" is f32, f64 or
 * bf16, f16.  Broadcasting follows NumPy's rules.
 *
 * Operands come first, then sizes and options, then an array that the builder fills.  The length of
 * an array is a size_t and follows it; an axis is an int, and a negative one counts from the last.
 * Options are enums, or a struct of which {0} and NULL mean the defaults. */
#ifndef WG_OPS_OPS_H
#define WG_OPS_OPS_H

#include "wengert/ops/leaf.h"
#include "wengert/ops/elementwise.h"
#include "wengert/ops/compare.h"
#include "wengert/ops/bits.h"
#include "wengert/ops/activation.h"
#include "wengert/ops/reduce.h"
#include "wengert/ops/cumulative.h"
#include "wengert/ops/random.h"
#include "wengert/ops/select.h"
#include "wengert/ops/linalg.h"
#include "wengert/ops/einsum.h"
#include "wengert/ops/fft.h"
#include "wengert/ops/solve.h"
#include "wengert/ops/spectrum.h"
#include "wengert/ops/quantize.h"
#include "wengert/ops/movement.h"
#include "wengert/ops/slice.h"
#include "wengert/ops/concat.h"
#include "wengert/ops/index.h"
#include "wengert/ops/segment.h"
#include "wengert/ops/barrier.h"
#include "wengert/ops/guard.h"
#include "wengert/ops/all_reduce.h"
#include "wengert/ops/softmax.h"
#include "wengert/ops/norm.h"
#include "wengert/ops/loss.h"
#include "wengert/ops/attention.h"
#include "wengert/ops/optimizer.h"
#include "wengert/ops/conv.h"
#include "wengert/ops/pool.h"
#include "wengert/ops/upsample.h"
#include "wengert/ops/recurrent.h"
#include "wengert/ops/scan.h"

#endif
