/* Small ONNX models, made in memory. */
#ifndef WG_TESTS_ONNX_MODELS_H
#define WG_TESTS_ONNX_MODELS_H

#include "onnx/emit.h"

/* A model in the making; free what it holds by made_free. */
typedef struct made {
    ox_export e;
    ox_list inputs, outputs;
    int opset; /* 17, unless it is set to another */
} made;

void made_begin(made *m);
void made_free(made *m);
/* An input and an output of f32. */
void made_input(made *m, const char *name, wg_shape shape);
void made_output(made *m, const char *name, wg_shape shape);
/* y = OP(a, b); b may be NULL. */
ox_node_proto *made_node(made *m, const char *op, const char *a, const char *b, const char *y);
/* Writes it as a model. */
void made_write(made *m, const char *path);
/* Its bytes, which the caller frees. */
uint8_t *made_bytes(made *m, size_t *size);
/* Those of a model of that graph for an opset of ONNX's own domain. */
uint8_t *made_pack(const ox_graph_proto *g, int opset, size_t *size);
/* Writes bytes to a file and frees them. */
void made_file(uint8_t *bytes, size_t size, const char *path);

#endif
