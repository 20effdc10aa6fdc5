#include "onnx/condense.h"
#include "files/read.h"
#include "graph/grow.h"
#include "onnx/limits.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { VARINT = 0, FIXED_64 = 1, LENGTH = 2, FIXED_32 = 5 };

/* raw_data of so many bytes stays in the file.  The field in its place has a number that no schema
 * has: the highest. */
enum { LONG = 1024, PLACE_FIELD = (1 << 29) - 1 };

/* A pass over a file: what it reads is copied to `out`, from which an unwanted field is cut off
 * again. */
typedef struct pass {
    const ox_source *file;
    uint64_t at;        /* the byte of the file that comes next */
    uint64_t window_at; /* the file from there, */
    size_t n_window;    /* so many bytes, is in `window` */
    uint8_t window[1 << 16];
    uint8_t *out;
    size_t n_out, cap_out;
    wg_error *error;
    wg_status status;
} pass;

/* Keeps the first error; false. */
static bool wrong(pass *p, uint64_t at, const char *kind, const char *field, const char *what)
{
    if (p->status == WG_OK)
        p->status = wgi_error_file(
            p->error, WG_EDATA, p->file->path, "byte %" PRIu64 ": %s%s%s: %s%s", at, kind,
            field ? "." : "", field ? field : "", what, at == 0 ? "; is it an ONNX model?" : "");
    return false;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool append(pass *p, const void *bytes, size_t n)
{
    if (!WGI_RESERVE(p->out, p->cap_out, p->n_out + n + 1)) {
        p->status = wgi_error_file(p->error, WG_ENOMEM, p->file->path, "no memory to read it");
        return false;
    }
    memcpy(p->out + p->n_out, bytes, n);
    p->n_out += n;
    return true;
}

/* What of the file is in the window from p->at on: at least one byte; NULL after an error. */
static const uint8_t *look(pass *p, size_t *n)
{
    if (p->at >= p->window_at + p->n_window) { /* p->at never goes back */
        uint64_t left = p->file->size - p->at;
        p->window_at = p->at;
        p->n_window = left < sizeof p->window ? (size_t)left : sizeof p->window;
        p->status =
            wgi_file_read_at(p->file->fd, p->window, p->n_window, p->at, p->file->path, p->error);
        if (p->status != WG_OK)
            return NULL;
    }
    size_t skip = (size_t)(p->at - p->window_at);
    *n = p->n_window - skip;
    return p->window + skip;
}

/* The next n bytes, which the file has. */
static bool copy(pass *p, uint64_t n)
{
    while (n) {
        size_t got;
        const uint8_t *bytes = look(p, &got);
        if (!bytes)
            return false;
        got = got < n ? got : (size_t)n;
        if (!append(p, bytes, got))
            return false;
        p->at += got;
        n -= got;
    }
    return true;
}

/* Seven bits of the number in each byte, the lowest first; all but the last have bit 7 set. */
static bool take_varint(pass *p, uint64_t end, uint64_t *x)
{
    *x = 0;
    for (int shift = 0; shift < 70 && p->at < end; shift += 7) {
        if (!copy(p, 1))
            return false;
        uint8_t byte = p->out[p->n_out - 1];
        *x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* ---- what becomes of a field ----------------------------------------------------------------- */

static bool is_numbers(const ProtobufCMessageDescriptor *kind,
                       const ProtobufCFieldDescriptor *field)
{
    return kind == &wgi_onnx__tensor_proto__descriptor && strcmp(field->name, "raw_data") == 0;
}

/* The kind of message that a field is, NULL if it is none.  FunctionProto.attribute_proto, which
 * the schema of onnx 1.12 does not know, is kept: see node.c.  Its tag is one byte. */
static const ProtobufCMessageDescriptor *message_of(const ProtobufCMessageDescriptor *kind,
                                                    const ProtobufCFieldDescriptor *field,
                                                    uint8_t tag)
{
    if (field)
        return field->type == PROTOBUF_C_TYPE_MESSAGE ? field->descriptor : NULL;
    bool is_default =
        kind == &wgi_onnx__function_proto__descriptor && tag == (OX_DEFAULTS << 3 | LENGTH);
    return is_default ? &wgi_onnx__attribute_proto__descriptor : NULL;
}

/* The field that says where bytes of the file are. */
static bool put_place(pass *p, uint64_t length)
{
    enum { TAG = 5 };
    uint8_t field[TAG + 1 + sizeof(ox_place)];
    uint32_t tag = (uint32_t)PLACE_FIELD << 3 | LENGTH;
    ox_place place = {p->at, length};
    for (int i = 0; i < TAG; i++)
        field[i] = (uint8_t)(tag >> 7 * i & 127) | (i + 1 < TAG ? 128 : 0);
    field[TAG] = sizeof place;
    memcpy(field + TAG + 1, &place, sizeof place);
    return append(p, field, sizeof field);
}

/* Writes x, whose bytes may be fewer, over the number of n bytes at `to`. */
static void put_varint(uint8_t *to, size_t n, uint64_t x)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(x >> 7 * i & 127) | (i + 1 < n ? 128 : 0);
}

static bool walk(pass *p, uint64_t end, const ProtobufCMessageDescriptor *kind, int depth);

/* The message that follows its length, which is `size` bytes of p->out: as nothing in it gets
 * longer, its new length has room there. */
static bool walk_message(pass *p, uint64_t length, size_t size,
                         const ProtobufCMessageDescriptor *kind, int depth)
{
    size_t start = p->n_out;
    if (!walk(p, p->at + length, kind, depth + 1))
        return false;
    put_varint(p->out + start - size, size, p->n_out - start);
    return true;
}

/* What has a length: text, bytes, packed numbers, or a message.  Its tag is at p->out + tag. */
static bool walk_length(pass *p, uint64_t end, const ProtobufCMessageDescriptor *kind,
                        const ProtobufCFieldDescriptor *field, size_t tag, int depth)
{
    uint64_t at = p->at, length;
    size_t before = p->n_out;
    const char *name = field ? field->name : "unknown field";
    char text[96];
    if (!take_varint(p, end, &length))
        return wrong(p, at, kind->short_name, name, "the length is cut off");
    if (length > end - p->at) {
        snprintf(text, sizeof text, "a length of %" PRIu64 " bytes, where %" PRIu64 " are left",
                 length, end - p->at);
        return wrong(p, at, kind->short_name, name, text);
    }
    const ProtobufCMessageDescriptor *message = message_of(kind, field, p->out[tag]);
    if (message)
        return walk_message(p, length, p->n_out - before, message, depth);
    bool stays = field && length >= LONG && is_numbers(kind, field);
    if (field && !stays)
        return copy(p, length);
    p->n_out = tag;
    if (stays && !put_place(p, length))
        return false;
    p->at += length;
    return true;
}

static bool walk_field(pass *p, uint64_t end, const ProtobufCMessageDescriptor *kind, int depth)
{
    uint64_t at = p->at, tag, ignored;
    size_t before = p->n_out;
    if (!take_varint(p, end, &tag) || tag >> 3 == 0 || tag >> 3 > INT_MAX)
        return wrong(p, at, kind->short_name, NULL, "the number of a field is malformed");
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(kind, (unsigned)(tag >> 3));
    const char *name = field ? field->name : NULL;
    uint64_t size = (tag & 7) == FIXED_64 ? 8 : 4;
    bool done = false;
    switch (tag & 7) {
    case LENGTH: return walk_length(p, end, kind, field, before, depth);
    case VARINT: done = take_varint(p, end, &ignored); break;
    case FIXED_64:
    case FIXED_32: done = end - p->at >= size && copy(p, size); break;
    default:
        return wrong(p, at, kind->short_name, name,
                     "expected a number or a length, got another kind of field");
    }
    if (!field)
        p->n_out = before;
    if (!done)
        return wrong(p, at, kind->short_name, name, "a number is cut off");
    return true;
}

static bool walk(pass *p, uint64_t end, const ProtobufCMessageDescriptor *kind, int depth)
{
    if (depth > WGI_OX_DEPTH)
        return wrong(p, p->at, kind->short_name, NULL,
                     "messages are nested more than 64 deep, such as subgraphs of subgraphs");
    while (p->at < end)
        if (!walk_field(p, end, kind, depth))
            return false;
    return true;
}

wg_status wgi_ox_condense(uint8_t **bytes, size_t *n, const ox_source *f,
                          const ProtobufCMessageDescriptor *kind, wg_error *error)
{
    pass p = {.file = f, .error = error};
    *n = 0;
    if (append(&p, "", 0) && walk(&p, f->size, kind, 0))
        *n = p.n_out;
    else {
        free(p.out);
        p.out = NULL;
    }
    *bytes = p.out;
    return p.status;
}

bool wgi_ox_place_of(ox_place *out, const ox_tensor_proto *t)
{
    for (unsigned i = t->base.n_unknown_fields; i-- > 0;) {
        const ProtobufCMessageUnknownField *f = &t->base.unknown_fields[i];
        if (f->tag == PLACE_FIELD && f->len == 1 + sizeof *out) {
            memcpy(out, f->data + 1, sizeof *out); /* behind the length */
            return true;
        }
    }
    return false;
}
