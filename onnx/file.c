#include "onnx/file.h"
#include "files/read.h"
#include "graph/large_pages.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* A message of two bytes takes hundreds in memory, so a hostile file could ask for far more than
 * its size: unpacking may allocate f->room. */
enum { FEW = 16 << 20, TIMES = 16 };

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
    void *bytes = wgi_in_large_pages(malloc(size), size); /* weights that are not raw_data */
    b->no_memory |= !bytes;
    return bytes;
}

static void give(void *data, void *bytes)
{
    (void)data;
    free(bytes);
}

static wg_status unpack(ProtobufCMessage **out, ox_file *f, const uint8_t *bytes, size_t n,
                        const ProtobufCMessageDescriptor *kind, wg_error *error)
{
    const char *path = f->source.path;
    budget b = {.left = f->room};
    ProtobufCAllocator allocator = {take, give, &b};
    *out = protobuf_c_message_unpack(kind, &allocator, n, bytes);
    f->room = b.left;
    if (*out)
        return WG_OK;
    if (b.no_memory)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to read it");
    if (b.spent)
        return wgi_error_file(error, WG_EDATA, path,
                              "its fields would take more than %d times its size in memory", TIMES);
    return wgi_error_file(error, WG_EDATA, path, "no valid %s: a field has the wrong type",
                          kind->short_name);
}

/* ---- files ----------------------------------------------------------------------------------- */

static wg_status read_message(ox_file *f, const ProtobufCMessageDescriptor *kind, wg_error *error)
{
    uint8_t *bytes;
    size_t n;
    if (f->source.size > WGI_OX_FILE_BYTES)
        return wgi_error_file(error, WG_EDATA, f->source.path, "expected at most %d bytes, got %zu",
                              WGI_OX_FILE_BYTES, f->source.size);
    wg_status status = wgi_ox_condense(&bytes, &n, &f->source, kind, error);
    if (status == WG_OK)
        status = unpack(&f->message, f, bytes, n, kind, error);
    free(bytes);
    return status;
}

wg_status wgi_ox_file_open(ox_file *out, const char *path, const ProtobufCMessageDescriptor *kind,
                           wg_error *error)
{
    *out = (ox_file){.source = {.fd = -1, .path = path}};
    wg_status status = wgi_file_open(&out->source.fd, &out->source.size, path, error);
    out->room = FEW + TIMES * out->source.size;
    if (status == WG_OK)
        status = read_message(out, kind, error);
    if (status != WG_OK)
        wgi_ox_file_close(out);
    return status;
}

/* Such a field is its length, then that many bytes: wgi_ox_condense has read it. */
wg_status wgi_ox_file_inner(const ProtobufCMessage **out, ox_file *f,
                            const ProtobufCMessageUnknownField *field,
                            const ProtobufCMessageDescriptor *kind, wg_error *error)
{
    ox_inner *inner = f->inner;
    while (inner && inner->field != field)
        inner = inner->next;
    *out = inner ? inner->message : NULL;
    if (inner)
        return WG_OK;
    size_t start = 0;
    while (field->data[start++] & 128)
        ;
    if (!(inner = calloc(1, sizeof *inner)))
        return wgi_error_file(error, WG_ENOMEM, f->source.path, "no memory to read it");
    wg_status status =
        unpack(&inner->message, f, field->data + start, field->len - start, kind, error);
    if (status != WG_OK) {
        free(inner);
        return status;
    }
    inner->field = field;
    inner->next = f->inner;
    f->inner = inner;
    *out = inner->message;
    return WG_OK;
}

wg_status wgi_ox_file_bytes(void *bytes, const ox_file *f, ox_place place, wg_error *error)
{
    return wgi_file_read_at(f->source.fd, bytes, (size_t)place.length, place.offset, f->source.path,
                            error);
}

void wgi_ox_file_close(ox_file *f)
{
    while (f->inner) {
        ox_inner *next = f->inner->next;
        protobuf_c_message_free_unpacked(f->inner->message, NULL);
        free(f->inner);
        f->inner = next;
    }
    if (f->message)
        protobuf_c_message_free_unpacked(f->message, NULL);
    if (f->source.fd >= 0)
        close(f->source.fd);
    f->message = NULL;
    f->source.fd = -1;
}
