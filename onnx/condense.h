/* The fields of a file of protobuf messages, without the numbers of its tensors. */
#ifndef WG_ONNX_CONDENSE_H
#define WG_ONNX_CONDENSE_H

#include "graph/error.h"
#include "onnx/proto.h"

/* The field of FunctionProto with defaults of attributes, which the schema may not know: kept. */
enum { OX_DEFAULTS = 11 };

/* Bytes of a file. */
typedef struct ox_place {
    uint64_t offset, length;
} ox_place;

/* An open file of `size` bytes. */
typedef struct ox_source {
    int fd;
    size_t size;
    const char *path; /* for messages */
} ox_source;

/* Reads the file as one message of that kind, checking that lengths lie within it and that messages
 * are nested at most WGI_OX_DEPTH deep.  What protobuf-c is to unpack is *bytes, of at most the
 * file's size: without unknown fields but OX_DEFAULTS, and with a place instead of each long
 * TensorProto.raw_data, which stays where it is: a model of gigabytes is a few kilobytes without
 * its weights.  The caller frees *bytes, which is NULL on failure.  WG_EDATA with the place of the
 * byte that is wrong; WG_EIO; WG_ENOMEM. */
wg_status wgi_ox_condense(uint8_t **bytes, size_t *n, const ox_source *f,
                          const ProtobufCMessageDescriptor *kind, wg_error *error);

/* Whether the raw_data of t stayed in its file, and where. */
bool wgi_ox_place_of(ox_place *out, const ox_tensor_proto *t);

#endif
