/* Numbers of a tensor that are in another file (external_data). */
#ifndef WG_ONNX_EXTERNAL_H
#define WG_ONNX_EXTERNAL_H

#include "graph/error.h"
#include "onnx/proto.h"

/* Reads the `size` bytes of t, a tensor of the model at `model`; with bytes == NULL, only checks
 * that they are there.  The file must be in the folder of the model, or in one within it, also if
 * links are followed: a model from a stranger must not read other files. */
wg_status wgi_ox_external_read(void *bytes, const ox_tensor_proto *t, uint64_t size,
                               const char *model, wg_error *error);

#endif
