/* What is larger is refused: docs/limits.md. */
#ifndef WG_ONNX_LIMITS_H
#define WG_ONNX_LIMITS_H

#include <limits.h>

enum {
    WGI_OX_FILE_BYTES = INT_MAX,     /* of a file; protobuf-c has no larger ones */
    WGI_OX_DEPTH = 64,               /* messages within each other */
    WGI_OX_NESTING = 32,             /* subgraphs and functions within each other */
    WGI_OX_STEPS = 1000000,          /* nodes, those of unrolled loops included */
    WGI_OX_ROUNDS = 10000,           /* of a loop */
    OX_MAX_RESULTS = 256,            /* of a node */
    WGI_OX_WORDS = 250,              /* characters of the words that an attribute may be */
    OX_MAX_EQUATION = 255,           /* characters of one of Einsum, without spaces */
    WGI_OX_COMPUTED_BYTES = 1 << 28, /* of a tensor that is computed while a file is read */
    WGI_OX_TABLE_BYTES = 1 << 30,    /* of numbers that an op is built of: weights, indices */
    WGI_OX_RESIZE = 1 << 24,         /* of an axis: positions, or weights of elements */
};

#endif
