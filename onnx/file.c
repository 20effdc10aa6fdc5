#include "onnx/file.h"
#include "files/read.h"
#include "graph/large_pages.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* ---- walking the fields ---------------------------------------------------------------------- */

enum { VARINT = 0, FIXED_64 = 1, LENGTH = 2, FIXED_32 = 5 };

typedef struct cursor {
    const uint8_t *start, *at; /* of the file */
    const char *path;
    wg_error *error;
} cursor;

static bool wrong(const cursor *c, const uint8_t *at, const char *kind, const char *field,
                  const char *what)
{
    wgi_error_file(c->error, WG_EDATA, c->path, "byte %td: %s%s%s: %s", at - c->start, kind,
                   field ? "." : "", field ? field : "", what);
    return false;
}

/* Seven bits of the number in each byte, the lowest first; all but the last have bit 7 set. */
static bool take_varint(cursor *c, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 70 && c->at < end; shift += 7) {
        uint8_t byte = *c->at++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool walk(cursor *c, const uint8_t *end, const ProtobufCMessageDescriptor *kind, int depth);

/* What has a length: text, bytes, packed numbers, or a message. */
static bool walk_length(cursor *c, const uint8_t *end, const ProtobufCMessageDescriptor *kind,
                        const ProtobufCFieldDescriptor *field, int depth)
{
    const uint8_t *at = c->at;
    const char *name = field ? field->name : "unknown field";
    uint64_t length;
    char text[96];
    if (!take_varint(c, end, &length))
        return wrong(c, at, kind->short_name, name, "the length is cut off");
    if (length > (uint64_t)(end - c->at)) {
        snprintf(text, sizeof text, "a length of %" PRIu64 " bytes, where %td are left", length,
                 end - c->at);
        return wrong(c, at, kind->short_name, name, text);
    }
    if (field && field->type == PROTOBUF_C_TYPE_MESSAGE)
        return walk(c, c->at + length, field->descriptor, depth + 1);
    c->at += length;
    return true;
}

static bool walk_field(cursor *c, const uint8_t *end, const ProtobufCMessageDescriptor *kind,
                       int depth)
{
    const uint8_t *at = c->at;
    uint64_t tag, ignored;
    if (!take_varint(c, end, &tag) || tag >> 3 == 0 || tag >> 3 > INT_MAX)
        return wrong(c, at, kind->short_name, NULL, "the number of a field is malformed");
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(kind, (unsigned)(tag >> 3));
    size_t size = (tag & 7) == FIXED_64 ? 8 : 4;
    switch (tag & 7) {
    case VARINT:
        if (!take_varint(c, end, &ignored))
            return wrong(c, at, kind->short_name, field ? field->name : NULL,
                         "a number is cut off");
        return true;
    case LENGTH: return walk_length(c, end, kind, field, depth);
    case FIXED_64:
    case FIXED_32:
        if ((size_t)(end - c->at) < size)
            return wrong(c, at, kind->short_name, field ? field->name : NULL,
                         "a number is cut off");
        c->at += size;
        return true;
    default:
        return wrong(c, at, kind->short_name, field ? field->name : NULL,
                     "expected a number or a length, got another kind of field");
    }
}

static bool walk(cursor *c, const uint8_t *end, const ProtobufCMessageDescriptor *kind, int depth)
{
    if (depth > WGI_OX_DEPTH)
        return wrong(c, c->at, kind->short_name, NULL,
                     "messages are nested more than 64 deep, such as subgraphs of subgraphs");
    while (c->at < end)
        if (!walk_field(c, end, kind, depth))
            return false;
    return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* What unpacking may still allocate.  A message of two bytes takes hundreds in memory, so a hostile
 * file could ask for far more than its size. */
typedef struct budget {
    size_t left;
    bool spent, no_memory;
} budget;

static void *take(void *data, size_t size)
{
    budget *b = data;
    if (size > b->left) {
        b->spent = true;
        return NULL;
    }
    b->left -= size;
    void *bytes = wgi_in_large_pages(malloc(size), size); /* weights of hundreds of megabytes */
    b->no_memory |= !bytes;
    return bytes;
}

static void give(void *data, void *bytes)
{
    (void)data;
    free(bytes);
}

static wg_status unpack(ProtobufCMessage **out, const char *bytes, size_t size, const char *path,
                        const ProtobufCMessageDescriptor *kind, wg_error *error)
{
    enum { FEW = 16 << 20, TIMES = 16 };
    budget b = {.left = FEW + TIMES * size};
    ProtobufCAllocator allocator = {take, give, &b};
    *out = protobuf_c_message_unpack(kind, &allocator, size, (const uint8_t *)bytes);
    if (*out)
        return WG_OK;
    if (b.no_memory)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    if (b.spent)
        return wgi_error_file(error, WG_EDATA, path,
                              "its fields would take more than %d times its size in memory", TIMES);
    return wgi_error_file(error, WG_EDATA, path, "not a %s: a field has the wrong type",
                          kind->short_name);
}

/* ---- files ----------------------------------------------------------------------------------- */

wg_status wgi_ox_file_read(ProtobufCMessage **out, const char *path,
                           const ProtobufCMessageDescriptor *kind, wg_error *error)
{
    char *bytes;
    size_t size;
    *out = NULL;
    wg_status status = wgi_file_read(&bytes, &size, path, WGI_OX_FILE_BYTES, error);
    if (status != WG_OK)
        return status;
    cursor c = {(const uint8_t *)bytes, (const uint8_t *)bytes, path, error};
    status =
        walk(&c, c.start + size, kind, 0) ? unpack(out, bytes, size, path, kind, error) : WG_EDATA;
    free(bytes);
    return status;
}

void wgi_ox_file_free(ProtobufCMessage *message)
{
    protobuf_c_message_free_unpacked(message, NULL);
}
