/* The public interface of the library: the one header that a program includes.  (Text and
 * translation are in wengert-train.h.)
 *
 * Order of arguments, in all headers: the object comes first, whether a function makes it (`out`)
 * or works on it; then inputs and options; then what the function fills (an array is followed by
 * its capacity); a wg_error last.  Builders of ops have a hidden first argument, the caller's file
 * and line.
 *
 * Lengths of arrays that a caller passes are size_t; axes, ranks, and the counts in the fields of
 * wg_node and wg_op (operands, results, samples) are int.  An argument that chooses is an enum,
 * never a bool: WG_KEEP says what `true` does not. */
#ifndef WENGERT_H
#define WENGERT_H

#include "wengert/graph/half.h"
#include "wengert/graph/error.h"
#include "wengert/graph/graph.h"
#include "wengert/graph/page.h"
#include "wengert/graph/picture.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/parse.h"
#include "wengert/autograd/derivatives.h"
#include "wengert/autograd/grad.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/autograd/vmap.h"
#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "wengert/backends/timeline.h"
#include "wengert/backends/evaluate.h"
#include "wengert/backends/store.h"
#include "wengert/backends/workspace.h"
#include "wengert/distributed/ranks.h"
#include "wengert/models/accuracy.h"
#include "wengert/models/layers.h"
#include "wengert/models/models.h"
#include "wengert/models/load.h"
#include "wengert/models/optimizer.h"
#include "wengert/decode/generate.h"
#include "wengert/decode/sample.h"
#include "wengert/decode/search.h"
#include "wengert/models/positions.h"
#include "wengert/models/quantize.h"
#include "wengert/models/transformer.h"
#include "wengert/files/picture.h"
#include "wengert/files/safetensors.h"
#include "wengert/files/weights.h"
#include "wengert/onnx/onnx.h"
#include "wengert/train/average.h"
#include "wengert/train/checkpoint.h"
#include "wengert/train/folder.h"
#include "wengert/train/minimise.h"
#include "wengert/train/schedule.h"
#include "wengert/train/source.h"
#include "wengert/train/trainer.h"

#endif
