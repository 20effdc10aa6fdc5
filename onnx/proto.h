/* The messages of onnx.proto, as protoc-c makes them of the schema of libonnx-dev; docs/onnx.md. */
#ifndef WG_ONNX_PROTO_H
#define WG_ONNX_PROTO_H

#include <wgi_onnx.pb-c.h>

typedef WgiOnnx__ModelProto ox_model_proto;
typedef WgiOnnx__GraphProto ox_graph_proto;
typedef WgiOnnx__NodeProto ox_node_proto;
typedef WgiOnnx__AttributeProto ox_attribute_proto;
typedef WgiOnnx__TensorProto ox_tensor_proto;
typedef WgiOnnx__ValueInfoProto ox_value_proto;
typedef WgiOnnx__FunctionProto ox_function_proto;
typedef WgiOnnx__TensorShapeProto__Dimension ox_dim_proto;

/* A text of the file, "" where the file has none. */
static inline const char *ox_text(const char *text)
{
    return text ? text : "";
}

#endif
