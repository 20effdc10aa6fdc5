/* The attributes of a node, read by the description in its op. */
#include "graph/file/internal.h"
#include "graph/grow.h"
#include "graph/nearest.h"

#include <stdlib.h>

/* ---- values ---------------------------------------------------------------------------------- */

static bool read_real(wgi_reader *r, double *out)
{
    char text[WGI_NUMBER_TEXT];
    const wgi_token *t = &r->token;
    if (t->kind != WGI_TOKEN_WORD || t->length >= sizeof text)
        return wgi_reader_expected(r, "a number");
    memcpy(text, t->start, t->length);
    text[t->length] = '\0';
    return wgi_number_read(text, WG_F64, out) ? wgi_reader_next(r)
                                              : wgi_reader_expected(r, "a number");
}

static bool read_bool(wgi_reader *r, bool *out)
{
    *out = wgi_token_is(&r->token, "true");
    return *out || wgi_token_is(&r->token, "false") ? wgi_reader_next(r)
                                                    : wgi_reader_expected(r, "true or false");
}

/* One of the names, or its number. */
static bool read_enum(wgi_reader *r, const wg_attr *a, int *out)
{
    char what[200];
    int64_t number;
    size_t used = (size_t)snprintf(what, sizeof what, "one of");
    for (int i = 0; a->names[i]; i++) {
        if (wgi_token_is(&r->token, a->names[i])) {
            *out = i;
            return wgi_reader_next(r);
        }
        if (used < sizeof what)
            used += (size_t)snprintf(what + used, sizeof what - used, "%s %s", i ? "," : "",
                                     a->names[i]);
    }
    if (!wgi_reader_int(r, what, 0, INT32_MAX, &number))
        return false;
    *out = (int)number;
    return true;
}

static bool read_axes(wgi_reader *r, wg_axes *out)
{
    wg_axes a = {0};
    int64_t axis;
    if (!wgi_reader_need(r, "(", "before a list of axes"))
        return false;
    for (size_t count = 0; wgi_reader_item(r, ")", &count);) {
        if (a.count == WG_MAX_RANK)
            return wgi_reader_fail(r, &r->token, "more than %d axes", WG_MAX_RANK);
        if (!wgi_reader_int(r, "an axis", INT32_MIN, INT32_MAX, &axis))
            return false;
        a.axis[a.count++] = (int)axis;
    }
    *out = a;
    return r->status == WG_OK;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* hex "00c0": the bytes themselves */
static bool read_hex(wgi_reader *r, wg_data *out)
{
    const wgi_token t = r->token;
    if (t.kind != WGI_TOKEN_QUOTED)
        return wgi_reader_expected(r, "hexadecimal digits in quotes");
    const char *digits = t.start + 1;
    size_t n = t.length - 2;
    unsigned char *bytes = wgi_arena_alloc(&r->arena, n / 2);
    if (!bytes)
        return wgi_reader_no_memory(r);
    if (n % 2)
        return wgi_reader_fail(r, &t, "%zu hexadecimal digits, bytes have two each", n);
    for (size_t i = 0; i < n; i += 2) {
        int high = wgi_hex_digit(digits[i]), low = wgi_hex_digit(digits[i + 1]);
        if (high < 0 || low < 0)
            return wgi_reader_fail(r, &t, "digits %zu and %zu are not hexadecimal", i, i + 1);
        bytes[i / 2] = (unsigned char)(16 * high + low);
    }
    *out = (wg_data){n ? bytes : NULL, n / 2};
    return wgi_reader_next(r);
}

/* The numbers read so far. */
typedef struct elements {
    char *bytes;
    size_t count, capacity;
} elements;

static bool read_element(wgi_reader *r, elements *e, wg_dtype dtype)
{
    char text[WGI_NUMBER_TEXT], what[40];
    const wgi_token *t = &r->token;
    size_t size = wg_dtype_size(dtype);
    if (!wgi_reserve(&e->bytes, &e->capacity, e->count + 1, size))
        return wgi_reader_no_memory(r);
    snprintf(what, sizeof what, "a number of %s", wg_dtype_name(dtype));
    if (t->kind != WGI_TOKEN_WORD || t->length >= sizeof text)
        return wgi_reader_expected(r, what);
    memcpy(text, t->start, t->length);
    text[t->length] = '\0';
    if (!wgi_number_read(text, dtype, e->bytes + e->count * size))
        return wgi_reader_expected(r, what);
    e->count++;
    return wgi_reader_next(r);
}

/* f32[1, -2.5], i64[3], ... */
static bool read_data(wgi_reader *r, wg_data *out)
{
    wg_dtype dtype;
    elements e = {0};
    const wgi_token at = r->token;
    if (wgi_reader_skip(r, "hex"))
        return read_hex(r, out);
    if (!wgi_reader_dtype(r, &dtype))
        return false;
    if (!wg_dtype_size(dtype))
        return wgi_reader_fail(r, &at, "expected the dtype of the numbers, or hex");
    if (!wgi_reader_need(r, "[", "before the numbers"))
        return false;
    for (size_t count = 0; wgi_reader_item(r, "]", &count);)
        if (!read_element(r, &e, dtype))
            break;
    size_t size = e.count * wg_dtype_size(dtype);
    *out = (wg_data){size ? wgi_arena_copy(&r->arena, e.bytes, size) : NULL, size};
    free(e.bytes);
    if (r->status == WG_OK && size && !out->bytes)
        wgi_reader_no_memory(r);
    return r->status == WG_OK;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool read_value(wgi_reader *r, const wg_attr *a, void *field)
{
    switch (a->kind) {
    case WG_ATTR_INT:
    case WG_ATTR_AXIS:
    case WG_ATTR_KEY: return wgi_reader_int(r, "an integer", INT64_MIN, INT64_MAX, field);
    case WG_ATTR_REAL: return read_real(r, field);
    case WG_ATTR_BOOL: return read_bool(r, field);
    case WG_ATTR_ENUM: return read_enum(r, a, field);
    case WG_ATTR_DTYPE: return wgi_reader_dtype(r, field);
    case WG_ATTR_AXES: return read_axes(r, field);
    case WG_ATTR_SHAPE: return wgi_reader_shape(r, field);
    case WG_ATTR_TEXT: return (*(const char **)field = wgi_reader_text(r, "a text in quotes"));
    case WG_ATTR_DATA: return read_data(r, field);
    }
    return wgi_reader_fail(r, &r->token, "attribute %s is of an unknown kind", a->name);
}

static bool unknown_attribute(wgi_reader *r, const wgi_token *at, const wg_op *op, const char *name)
{
    const char *nearest = NULL;
    size_t min = SIZE_MAX;
    for (int i = 0; i < op->n_attrs; i++) {
        size_t distance = wgi_name_distance(name, op->attrs[i].name);
        if (distance < min) {
            min = distance;
            nearest = op->attrs[i].name;
        }
    }
    return nearest ? wgi_reader_fail(r, at, "%s has no attribute '%.60s'; did you mean '%s'?",
                                     op->name, name, nearest)
                   : wgi_reader_fail(r, at, "%s has no attribute '%.60s'", op->name, name);
}

static bool read_attribute(wgi_reader *r, wgi_attributes *a)
{
    const wgi_token at = r->token;
    const char *name = wgi_reader_text(r, "the name of an attribute");
    if (!name || !wgi_reader_need(r, "=", "after the name of an attribute"))
        return false;
    for (int i = 0; i < a->op->n_attrs; i++) {
        if (strcmp(a->op->attrs[i].name, name) != 0)
            continue;
        if (a->given[i])
            return wgi_reader_fail(r, &at, "attribute %s is given twice", name);
        a->given[i] = true;
        return read_value(r, &a->op->attrs[i], a->values + a->op->attrs[i].offset);
    }
    return unknown_attribute(r, &at, a->op, name);
}

bool wgi_attributes_read(wgi_reader *r, const wg_op *op, wgi_attributes *out)
{
    *out = (wgi_attributes){.op = op,
                            .values = wgi_arena_alloc(&r->arena, op->attrs_size),
                            .given = wgi_arena_alloc(&r->arena, (size_t)op->n_attrs)};
    if (!out->values || !out->given)
        return wgi_reader_no_memory(r);
    if (!wgi_reader_skip(r, "{"))
        return r->status == WG_OK;
    for (size_t count = 0; wgi_reader_item(r, "}", &count);)
        if (!read_attribute(r, out))
            return false;
    return r->status == WG_OK;
}

void wgi_attributes_complete(wgi_attributes *a, wg_dtype dtype, const wg_shape *shape)
{
    for (int i = 0; i < a->op->n_attrs; i++) {
        const wg_attr *f = &a->op->attrs[i];
        void *field = a->values + f->offset;
        if (a->given[i])
            continue;
        if (f->kind == WG_ATTR_DTYPE && strcmp(f->name, "dtype") == 0)
            *(wg_dtype *)field = dtype;
        else if (f->kind == WG_ATTR_SHAPE && strcmp(f->name, "shape") == 0)
            *(wg_shape *)field = *shape;
    }
}
