/* Everything of the library that a program needs: include this one. */
#ifndef WENGERT_H
#define WENGERT_H

#include "graph/bf16.h"
#include "graph/graph.h"
#include "graph/nearest.h"
#include "graph/picture.h"
#include "ops/ops.h"
#include "autograd/grad.h"
#include "autograd/gradcheck.h"
#include "backends/load.h"
#include "backends/plan.h"
#include "backends/evaluate.h"
#include "backends/store.h"
#include "backends/workspace.h"
#include "models/layers.h"
#include "models/models.h"
#include "models/search.h"
#include "models/positions.h"
#include "models/quantize.h"
#include "models/transformer.h"
#include "train/safetensors.h"
#include "train/weights.h"

#endif
