#include "onnx/tensor.h"
#include "graph/element.h"
#include "onnx/external.h"
#include "onnx/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- raw_data: little endian, as the machine has it ------------------------------------------ */

/* Element i of integers whose dtype in memory is another. */
static int64_t raw_integer(const ox_type *type, const uint8_t *bytes, int64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes + (size_t)i * type->size, type->size);
    int unused = 64 - 8 * (int)type->size;
    return type->is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static void put_integer(void *data, wg_dtype dtype, int64_t i, int64_t x)
{
    switch (dtype) {
    case WG_I64: ((int64_t *)data)[i] = x; break;
    case WG_I32: ((int32_t *)data)[i] = (int32_t)x; break;
    case WG_F16:
    case WG_BF16: ((uint16_t *)data)[i] = (uint16_t)x; break;
    case WG_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    default: ((uint8_t *)data)[i] = (uint8_t)x; break;
    }
}

static void read_raw(void *data, const ox_type *type, const uint8_t *bytes, int64_t count)
{
    bool same = type->size == wg_dtype_size(type->held) && type->held != WG_BOOL;
    if (same && count)
        memcpy(data, bytes, (size_t)count * type->size);
    for (int64_t i = 0; !same && i < count; i++)
        put_integer(data, type->held, i, raw_integer(type, bytes, i));
}

/* ---- the fields of numbers ------------------------------------------------------------------- */

static size_t field_count(const ox_type *type, const ox_tensor_proto *t)
{
    switch (type->field) {
    case OX_FLOATS: return t->n_float_data;
    case OX_INTS: return t->n_int32_data;
    case OX_LONGS: return t->n_int64_data;
    case OX_DOUBLES: return t->n_double_data;
    default: return t->n_uint64_data;
    }
}

static void read_field(void *data, const ox_type *type, const ox_tensor_proto *t, int64_t count)
{
    size_t n = (size_t)count;
    if (!n)
        return;
    if (type->field == OX_FLOATS)
        memcpy(data, t->float_data, n * sizeof(float));
    else if (type->field == OX_DOUBLES)
        memcpy(data, t->double_data, n * sizeof(double));
    else
        for (int64_t i = 0; i < count; i++)
            put_integer(data, type->held, i,
                        type->field == OX_INTS    ? t->int32_data[i]
                        : type->field == OX_LONGS ? t->int64_data[i]
                                                  : (int64_t)t->uint64_data[i]);
}

/* ---- a whole tensor -------------------------------------------------------------------------- */

static wg_status read_shape(wg_onnx_tensor *out, const ox_tensor_proto *t, wg_error *error)
{
    char text[200];
    if (t->n_dims > WG_MAX_RANK)
        return wgi_error_set(error, WG_EDATA, "dims: expected at most %d axes, got %zu",
                             WG_MAX_RANK, t->n_dims);
    out->shape = wg_shape_make((int)t->n_dims, t->dims);
    if (!wg_shape_valid(&out->shape, WG_I64))
        return wgi_error_set(error, WG_EDATA,
                             "dims: expected sizes of 0 or more and fewer than "
                             "2^63 bytes, got %s",
                             wg_shape_text(&out->shape, text, sizeof text));
    return WG_OK;
}

static wg_status wrong_count(const char *field, int64_t expected, size_t got, wg_error *error)
{
    return wgi_error_set(error, WG_EDATA, "%s: expected %" PRId64 " %s as dims says, got %zu",
                         field, expected, strcmp(field, "raw_data") == 0 ? "bytes" : "numbers",
                         got);
}

static wg_status need_room(wg_onnx_tensor *out, wg_error *error)
{
    size_t size = (size_t)wg_shape_count(&out->shape) * wg_dtype_size(out->dtype);
    out->data = calloc(size + 1, 1);
    return out->data ? WG_OK : wgi_error_set(error, WG_ENOMEM, "no memory for %zu bytes", size);
}

static bool is_external(const ox_tensor_proto *t)
{
    return t->has_data_location &&
           t->data_location == WGI_ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static wg_status read_external(wg_onnx_tensor *out, const ox_type *type, const ox_tensor_proto *t,
                               const char *path, wg_error *error)
{
    uint8_t *bytes;
    int64_t count = wg_shape_count(&out->shape);
    wg_status status = wgi_ox_external_read(&bytes, t, (uint64_t)count * type->size, path, error);
    if (status == WG_OK && (status = need_room(out, error)) == WG_OK)
        read_raw(out->data, type, bytes, count);
    free(bytes);
    return status;
}

/* The length is checked before memory is taken, so a file cannot ask for more than it brings. */
static wg_status read_numbers(wg_onnx_tensor *out, const ox_type *type, const ox_tensor_proto *t,
                              const char *path, wg_error *error)
{
    int64_t count = wg_shape_count(&out->shape);
    bool raw = t->has_raw_data;
    if (is_external(t))
        return read_external(out, type, t, path, error);
    if (raw && t->raw_data.len != (size_t)count * type->size)
        return wrong_count("raw_data", count * (int64_t)type->size, t->raw_data.len, error);
    if (!raw && field_count(type, t) != (size_t)count)
        return wrong_count("data", count, field_count(type, t), error);
    wg_status status = need_room(out, error);
    if (status == WG_OK && raw)
        read_raw(out->data, type, t->raw_data.data, count);
    else if (status == WG_OK)
        read_field(out->data, type, t, count);
    return status;
}

static bool has_too_large(const wg_onnx_tensor *out, const ox_type *type)
{
    int64_t count = type->number == 13 ? wg_shape_count(&out->shape) : 0;
    for (int64_t i = 0; i < count; i++)
        if (((const int64_t *)out->data)[i] < 0)
            return true;
    return false;
}

wg_status wgi_ox_tensor_make(wg_onnx_tensor *out, const ox_tensor_proto *t, const char *path,
                             wg_error *error)
{
    char text[32];
    *out = (wg_onnx_tensor){0};
    const ox_type *type = wgi_ox_type(t->data_type);
    if (!type)
        return wgi_error_set(error, WG_EUNSUPPORTED, "elements of type %s are not supported",
                             wgi_ox_type_text(t->data_type, text));
    out->dtype = type->held;
    wg_status status = read_shape(out, t, error);
    if (status == WG_OK)
        status = read_numbers(out, type, t, path, error);
    if (status == WG_OK && has_too_large(out, type))
        status = wgi_error_set(error, WG_EUNSUPPORTED,
                               "uint64: numbers of 2^63 and more are not supported");
    if (status != WG_OK)
        wg_onnx_tensor_free(out);
    return status;
}

void wg_onnx_tensor_free(wg_onnx_tensor *t)
{
    if (!t)
        return;
    free(t->data);
    free(t->name);
    *t = (wg_onnx_tensor){0};
}

wg_status wg_onnx_tensor_read(wg_onnx_tensor *out, const char *path, wg_error *error)
{
    ProtobufCMessage *message = NULL;
    wgi_error_clear(error);
    if (!out || !path)
        return wgi_error_set(error, WG_EINVAL, "no path of a tensor, or no place for it");
    *out = (wg_onnx_tensor){0};
    wg_status status = wgi_ox_file_read(&message, path, &wgi_onnx__tensor_proto__descriptor, error);
    if (status != WG_OK)
        return status;
    const ox_tensor_proto *t = (const ox_tensor_proto *)(const void *)message;
    status = wgi_ox_tensor_make(out, t, path, error);
    if (status == WG_OK && t->name && !(out->name = strdup(t->name)))
        status = wgi_error_set(error, WG_ENOMEM, "out of memory");
    if (status != WG_OK) {
        wg_onnx_tensor_free(out);
        wgi_error_prefix(error, status, "%s: ", path);
    }
    wgi_ox_file_free(message);
    return status;
}
