/* Models of ONNX from text, in the syntax of the standard (onnx/docs/Syntax.md), as far as tests
 * need it:
 *
 *     (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}>
 *     {
 *         shape = Constant <value = int64[2] {0, -1}> ()
 *         r = Reshape (x, shape)
 *         y = Gemm <alpha = 0.5, transB = 0> (r, w)
 *     }
 *
 * An operand that is left out is absent: Clip (x, , high).  A graph as an attribute is written like
 * the whole: then_branch = () => (float[2] z) { z = Neg (x) }.  In the body of a function,
 * alpha = @slope is the attribute slope of the call. */
#ifndef WG_TESTS_ONNX_TEXT_H
#define WG_TESTS_ONNX_TEXT_H

#include "tests/onnx/models.h"

/* The graph of that text, in the memory of m; a mistake ends the test. */
ox_graph_proto *onnx_text(made *m, const char *text);
/* Writes a model of that graph for an opset of ONNX's own domain. */
void onnx_write(const ox_graph_proto *g, int opset, const char *path);
/* What is said of the model at the path, up to 4 kB; valid until the next call.  The file is
 * removed. */
const char *onnx_described(const char *path);

#endif
