/* Everything of the library that a program needs: include this one.
 *
 * Order of arguments, in all headers: the object comes first, whether a function makes it (`out`) or
 * works on it; then inputs and options; then what the function fills (an array is followed by its
 * capacity); a wg_error last.  Builders of ops hide the caller's file and line before the first.
 *
 * Counts of arrays that a caller passes are size_t; numbers of axes, and what a wg_node or a wg_op
 * counts in its own fields (operands, results, samples), are int. */
#ifndef WENGERT_H
#define WENGERT_H

#include "wengert/graph/bf16.h"
#include "wengert/graph/error.h"
#include "wengert/graph/graph.h"
#include "wengert/graph/picture.h"
#include "wengert/ops/ops.h"
#include "wengert/autograd/grad.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "wengert/backends/evaluate.h"
#include "wengert/backends/store.h"
#include "wengert/backends/workspace.h"
#include "wengert/models/layers.h"
#include "wengert/models/models.h"
#include "wengert/models/optimizer.h"
#include "wengert/decode/search.h"
#include "wengert/models/positions.h"
#include "wengert/models/quantize.h"
#include "wengert/models/transformer.h"
#include "wengert/files/safetensors.h"
#include "wengert/files/weights.h"

#endif
