#include "onnx/tensor.h"
#include "graph/large_pages.h"
#include "onnx/external.h"

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

/* ---- what is said of a tensor ---------------------------------------------------------------- */

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

static bool is_external(const ox_tensor_proto *t)
{
    return t->has_data_location &&
           t->data_location == WGI_ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static wg_status check_count(const wg_onnx_tensor *x, const ox_type *type, const ox_tensor_proto *t,
                             const ox_file *f, wg_error *error)
{
    int64_t count = wg_shape_count(&x->shape);
    uint64_t size = (uint64_t)count * type->size;
    ox_place place;
    bool placed = wgi_ox_place_of(&place, t);
    uint64_t raw = placed ? place.length : t->raw_data.len;
    if (is_external(t))
        return wgi_ox_external_read(NULL, t, size, f->source.path, error);
    if (placed && t->has_raw_data)
        return wgi_error_set(error, WG_EDATA, "raw_data: is there twice");
    if ((placed || t->has_raw_data) && raw != size)
        return wrong_count("raw_data", (int64_t)size, raw, error);
    if (!placed && !t->has_raw_data && field_count(type, t) != (size_t)count)
        return wrong_count("data", count, field_count(type, t), error);
    return WG_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The elements as raw_data has them. */
static wg_status read_bytes(void *bytes, uint64_t size, const ox_tensor_proto *t, const ox_file *f,
                            wg_error *error)
{
    ox_place place;
    if (is_external(t))
        return wgi_ox_external_read(bytes, t, size, f->source.path, error);
    if (wgi_ox_place_of(&place, t))
        return wgi_ox_file_bytes(bytes, f, place, error);
    if (size)
        memcpy(bytes, t->raw_data.data, (size_t)size);
    return WG_OK;
}

/* Elements whose dtype in memory is another. */
static wg_status read_others(void *data, const ox_type *type, const ox_tensor_proto *t,
                             int64_t count, const ox_file *f, wg_error *error)
{
    uint64_t size = (uint64_t)count * type->size;
    uint8_t *bytes = malloc((size_t)size + 1);
    if (!bytes)
        return wgi_error_set(error, WG_ENOMEM, "no memory for %" PRIu64 " bytes", size);
    wg_status status = read_bytes(bytes, size, t, f, error);
    for (int64_t i = 0; status == WG_OK && i < count; i++)
        put_integer(data, type->held, i, raw_integer(type, bytes, i));
    free(bytes);
    return status;
}

static bool has_too_large(const void *data, const ox_type *type, int64_t count)
{
    for (int64_t i = 0; type->number == 13 && i < count; i++)
        if (((const int64_t *)data)[i] < 0)
            return true;
    return false;
}

wg_status wgi_ox_tensor_read(void *data, const ox_tensor_proto *t, const wg_shape *shape,
                             const ox_file *f, wg_error *error)
{
    const ox_type *type = wgi_ox_type(t->data_type);
    int64_t count = wg_shape_count(shape);
    ox_place place;
    bool raw = t->has_raw_data || is_external(t) || wgi_ox_place_of(&place, t);
    bool same = type->size == wg_dtype_size(type->held) && type->held != WG_BOOL;
    wg_status status = WG_OK;
    if (!raw)
        read_field(data, type, t, count);
    else
        status = same ? read_bytes(data, (uint64_t)count * type->size, t, f, error)
                      : read_others(data, type, t, count, f, error);
    if (status == WG_OK && has_too_large(data, type, count))
        status = wgi_error_set(error, WG_EUNSUPPORTED,
                               "uint64: numbers of 2^63 and more are not supported");
    return status;
}

/* ---- a whole tensor -------------------------------------------------------------------------- */

wg_status wgi_ox_tensor_describe(wg_onnx_tensor *out, const ox_tensor_proto *t, const ox_file *f,
                                 wg_error *error)
{
    char text[32];
    *out = (wg_onnx_tensor){0};
    const ox_type *type = wgi_ox_type(t->data_type);
    if (!type)
        return wgi_error_set(error, wgi_ox_type_status(t->data_type),
                             "elements of type %s are not supported",
                             wgi_ox_type_text(t->data_type, text));
    out->dtype = type->held;
    wg_status status = read_shape(out, t, error);
    if (status == WG_OK)
        status = check_count(out, type, t, f, error);
    if (status != WG_OK)
        *out = (wg_onnx_tensor){0};
    return status;
}

wg_status wgi_ox_tensor_fill(wg_onnx_tensor *x, const ox_tensor_proto *t, const ox_file *f,
                             wg_error *error)
{
    size_t size = wg_shape_bytes(&x->shape, x->dtype);
    void *data = wgi_in_large_pages(malloc(size + 1), size + 1);
    if (!data)
        return wgi_error_set(error, WG_ENOMEM, "no memory for %zu bytes", size);
    wg_status status = wgi_ox_tensor_read(data, t, &x->shape, f, error);
    if (status == WG_OK)
        x->data = data;
    else
        free(data);
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
    ox_file f;
    wgi_error_clear(error);
    if (!out || !path)
        return wgi_error_set(error, WG_EINVAL, "no path of a tensor, or no place for it");
    *out = (wg_onnx_tensor){0};
    wg_status status = wgi_ox_file_open(&f, path, &wgi_onnx__tensor_proto__descriptor, error);
    if (status != WG_OK)
        return status;
    const ox_tensor_proto *t = (const ox_tensor_proto *)(const void *)f.message;
    status = wgi_ox_tensor_describe(out, t, &f, error);
    if (status == WG_OK)
        status = wgi_ox_tensor_fill(out, t, &f, error);
    if (status == WG_OK && t->name && !(out->name = strdup(t->name)))
        status = wgi_error_set(error, WG_ENOMEM, "out of memory");
    if (status != WG_OK) {
        wg_onnx_tensor_free(out);
        wgi_error_prefix(error, status, "%s: ", path);
    }
    wgi_ox_file_close(&f);
    return status;
}
