/* Files of protobuf messages, which may be hostile. */
#ifndef WG_ONNX_FILE_H
#define WG_ONNX_FILE_H

#include "graph/error.h"
#include "onnx/limits.h"
#include "onnx/proto.h"

/* Reads a file that is one message of that kind.  Before it is unpacked, its fields are walked:
 * lengths lie within the file, and messages are nested at most WGI_OX_DEPTH deep.  Unpacking takes
 * a small multiple of the file's size, or fails.  The caller frees *out by wgi_ox_file_free.
 * WG_EDATA with the place of the byte that is wrong; WG_EIO; WG_ENOMEM. */
wg_status wgi_ox_file_read(ProtobufCMessage **out, const char *path,
                           const ProtobufCMessageDescriptor *kind, wg_error *error);
void wgi_ox_file_free(ProtobufCMessage *message); /* NULL is allowed */

#endif
