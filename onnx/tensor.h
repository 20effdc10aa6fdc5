/* Element types of ONNX, and tensors as arrays. */
#ifndef WG_ONNX_TENSOR_H
#define WG_ONNX_TENSOR_H

#include "onnx/file.h"
#include "wengert/onnx/onnx.h"

/* Where a TensorProto has its numbers if not in raw_data. */
typedef enum ox_field { OX_FLOATS, OX_INTS, OX_LONGS, OX_DOUBLES, OX_ULONGS } ox_field;

/* An element type.  Integers of fewer than 32 bits, and unsigned ones, are computed in a wider type
 * and wrapped to their range. */
typedef struct ox_type {
    int number;       /* of TensorProto.DataType */
    const char *name; /* "uint8" */
    wg_dtype held;    /* as an input, an output or an array */
    wg_dtype computed;
    int bits;       /* of integers that are wrapped; 0: none */
    bool is_signed; /* of these */
    size_t size;    /* in raw_data */
    ox_field field;
} ox_type;

/* The type of that number; NULL for strings, complex numbers and what is not in the table. */
const ox_type *wgi_ox_type(int64_t number);
/* That which a dtype of ours has in a file. */
const ox_type *wgi_ox_type_of(wg_dtype dtype);
/* "string (8)", for messages about types that are not in the table. */
const char *wgi_ox_type_text(int64_t number, char text[32]);
/* Their status: WG_EDATA if the standard does not have the type either. */
wg_status wgi_ox_type_status(int64_t number);

/* What t, a tensor of the file f, is: its held dtype and its shape; out->data is NULL.  Its numbers
 * are there, as many as the shape says: a file cannot ask for more memory than it brings.  The
 * message says what is wrong with the tensor, but not where it is; *out is zero then. */
wg_status wgi_ox_tensor_describe(wg_onnx_tensor *out, const ox_tensor_proto *t, const ox_file *f,
                                 wg_error *error);
/* The numbers of a tensor that has been described with that shape; x->data is for the caller to
 * free. */
wg_status wgi_ox_tensor_read(void *data, const ox_tensor_proto *t, const wg_shape *shape,
                             const ox_file *f, wg_error *error);
wg_status wgi_ox_tensor_fill(wg_onnx_tensor *x, const ox_tensor_proto *t, const ox_file *f,
                             wg_error *error);

#endif
