/* Files of protobuf messages, which may be hostile. */
#ifndef WG_ONNX_FILE_H
#define WG_ONNX_FILE_H

#include "onnx/condense.h"
#include "onnx/limits.h"

/* A message within an unknown field of another. */
typedef struct ox_inner {
    const ProtobufCMessageUnknownField *field;
    ProtobufCMessage *message;
    struct ox_inner *next;
} ox_inner;

/* A file while it is read: its message, and the numbers of tensors that stay in it. */
typedef struct ox_file {
    ox_source source;
    ProtobufCMessage *message;
    ox_inner *inner; /* those asked for */
    size_t room;     /* bytes that unpacking may still allocate */
} ox_file;

/* Opens a file that is one message of that kind; `path` must stay until it is closed.  Unpacking
 * takes a small multiple of the file's size, or fails.  The caller closes it; *out is closed on
 * failure.  WG_EDATA with the place of the byte that is wrong; WG_EIO; WG_ENOMEM. */
wg_status wgi_ox_file_open(ox_file *out, const char *path, const ProtobufCMessageDescriptor *kind,
                           wg_error *error);
/* The message of that kind within a field that the schema does not know: unpacked once, and the
 * file's.  WG_EDATA: it is none; WG_ENOMEM. */
wg_status wgi_ox_file_inner(const ProtobufCMessage **out, ox_file *f,
                            const ProtobufCMessageUnknownField *field,
                            const ProtobufCMessageDescriptor *kind, wg_error *error);
/* Reads the bytes at that place. */
wg_status wgi_ox_file_bytes(void *bytes, const ox_file *f, ox_place place, wg_error *error);
void wgi_ox_file_close(ox_file *f); /* one that is closed is allowed */

#endif
