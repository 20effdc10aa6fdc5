/* Attributes by their description: copy, compare, hash, text. */
#include "graph/internal.h"

#include <string.h>

uint64_t wgi_hash_shape(uint64_t h, const wg_shape *s)
{
    h = wgi_hash_u64(h, (uint64_t)s->rank);
    for (int i = 0; i < s->rank && i < WG_MAX_RANK; i++)
        h = wgi_hash_u64(h, (uint64_t)s->dim[i]);
    return h;
}

static uint64_t hash_axes(uint64_t h, const wg_axes *a)
{
    h = wgi_hash_u64(h, (uint64_t)a->count);
    for (int i = 0; i < a->count && i < WG_MAX_RANK; i++)
        h = wgi_hash_u64(h, (uint64_t)a->axis[i]);
    return h;
}

uint64_t wgi_hash_attr(uint64_t h, const void *attrs, const wg_attr *f)
{
    uint64_t bits;
    const char *text;
    switch (f->kind) {
    case WG_ATTR_INT:
    case WG_ATTR_AXIS:
    case WG_ATTR_KEY: return wgi_hash_u64(h, (uint64_t)*WGI_FIELD(int64_t, attrs, f));
    case WG_ATTR_REAL:
        memcpy(&bits, WGI_FIELD(double, attrs, f), sizeof bits);
        return wgi_hash_u64(h, bits);
    case WG_ATTR_BOOL: return wgi_hash_u64(h, *WGI_FIELD(bool, attrs, f));
    case WG_ATTR_ENUM: return wgi_hash_u64(h, (uint64_t)*WGI_FIELD(int, attrs, f));
    case WG_ATTR_DTYPE: return wgi_hash_u64(h, (uint64_t)*WGI_FIELD(wg_dtype, attrs, f));
    case WG_ATTR_AXES: return hash_axes(h, WGI_FIELD(wg_axes, attrs, f));
    case WG_ATTR_SHAPE: return wgi_hash_shape(h, WGI_FIELD(wg_shape, attrs, f));
    case WG_ATTR_TEXT:
        text = *WGI_FIELD(const char *, attrs, f);
        return text ? wgi_hash_bytes(h, text, strlen(text) + 1) : wgi_hash_u64(h, 0);
    case WG_ATTR_DATA:
        h = wgi_hash_u64(h, WGI_FIELD(wg_data, attrs, f)->size);
        return wgi_hash_bytes(h, WGI_FIELD(wg_data, attrs, f)->bytes,
                              WGI_FIELD(wg_data, attrs, f)->size);
    }
    return h;
}

uint64_t wg_node_attrs_hash(const wg_op *op, const void *attrs)
{
    uint64_t h = WGI_HASH_START;
    for (int i = 0; attrs && i < op->n_attrs; i++)
        h = wgi_hash_attr(h, attrs, &op->attrs[i]);
    return h;
}

static bool equal_axes(const wg_axes *a, const wg_axes *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count && i < WG_MAX_RANK; i++)
        if (a->axis[i] != b->axis[i])
            return false;
    return true;
}

static bool equal_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool equal_field(const void *a, const void *b, const wg_attr *f)
{
    const wg_data *x, *y;
    switch (f->kind) {
    case WG_ATTR_INT:
    case WG_ATTR_AXIS:
    case WG_ATTR_KEY: return *WGI_FIELD(int64_t, a, f) == *WGI_FIELD(int64_t, b, f);
    case WG_ATTR_REAL:
        /* NOLINTNEXTLINE(*-memory-comparison,cert-*): NaN is itself, and 0 is not -0 */
        return memcmp(WGI_FIELD(double, a, f), WGI_FIELD(double, b, f), sizeof(double)) == 0;
    case WG_ATTR_BOOL: return *WGI_FIELD(bool, a, f) == *WGI_FIELD(bool, b, f);
    case WG_ATTR_ENUM: return *WGI_FIELD(int, a, f) == *WGI_FIELD(int, b, f);
    case WG_ATTR_DTYPE: return *WGI_FIELD(wg_dtype, a, f) == *WGI_FIELD(wg_dtype, b, f);
    case WG_ATTR_AXES: return equal_axes(WGI_FIELD(wg_axes, a, f), WGI_FIELD(wg_axes, b, f));
    case WG_ATTR_SHAPE: return wg_shape_equal(WGI_FIELD(wg_shape, a, f), WGI_FIELD(wg_shape, b, f));
    case WG_ATTR_TEXT:
        return equal_text(*WGI_FIELD(const char *, a, f), *WGI_FIELD(const char *, b, f));
    case WG_ATTR_DATA:
        x = WGI_FIELD(wg_data, a, f);
        y = WGI_FIELD(wg_data, b, f);
        return x->size == y->size && (x->size == 0 || memcmp(x->bytes, y->bytes, x->size) == 0);
    }
    return false;
}

bool wg_node_attrs_equal(const wg_op *op, const void *a, const void *b)
{
    for (int i = 0; i < op->n_attrs; i++)
        if (!equal_field(a, b, &op->attrs[i]))
            return false;
    return true;
}

/* Text grows into a buffer of fixed size; what does not fit is cut. */
typedef struct writer {
    char *text;
    size_t size, used;
} writer;

static void put(writer *w, const char *format, ...) WG_PRINTF(2, 3);
static void put(writer *w, const char *format, ...)
{
    if (w->used >= w->size)
        return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->text + w->used, w->size - w->used, format, args);
    va_end(args);
    w->used += n > 0 ? (size_t)n : 0;
}

static void put_axes(writer *w, const wg_axes *a)
{
    put(w, "(");
    for (int i = 0; i < a->count && i < WG_MAX_RANK; i++)
        put(w, i ? ",%d" : "%d", a->axis[i]);
    put(w, ")");
}

static const char *enum_name(const wg_attr *f, int value)
{
    for (int i = 0; f->names && f->names[i]; i++)
        if (i == value)
            return f->names[i];
    return "?";
}

static void put_field(writer *w, const void *attrs, const wg_attr *f)
{
    char text[160];
    const char *t;
    const wg_data *d;
    put(w, "%s=", f->name);
    switch (f->kind) {
    case WG_ATTR_INT:
    case WG_ATTR_AXIS:
    case WG_ATTR_KEY: put(w, "%lld", (long long)*WGI_FIELD(int64_t, attrs, f)); break;
    case WG_ATTR_REAL: put(w, "%.9g", *WGI_FIELD(double, attrs, f)); break;
    case WG_ATTR_BOOL: put(w, "%s", *WGI_FIELD(bool, attrs, f) ? "true" : "false"); break;
    case WG_ATTR_ENUM: put(w, "%s", enum_name(f, *WGI_FIELD(int, attrs, f))); break;
    case WG_ATTR_DTYPE: put(w, "%s", wg_dtype_name(*WGI_FIELD(wg_dtype, attrs, f))); break;
    case WG_ATTR_AXES: put_axes(w, WGI_FIELD(wg_axes, attrs, f)); break;
    case WG_ATTR_SHAPE:
        put(w, "%s", wg_shape_text(WGI_FIELD(wg_shape, attrs, f), text, sizeof text));
        break;
    case WG_ATTR_TEXT:
        t = *WGI_FIELD(const char *, attrs, f);
        put(w, "\"%s\"", t ? t : "");
        break;
    case WG_ATTR_DATA:
        d = WGI_FIELD(wg_data, attrs, f);
        put(w, "%zu bytes #%08llx", d->size,
            (unsigned long long)wgi_hash_bytes(WGI_HASH_START, d->bytes, d->size) & 0xffffffffULL);
        break;
    }
}

const char *wgi_attr_text(const void *attrs, const wg_attr *f, char *text, size_t size)
{
    writer w = {text, size, 0};
    if (size)
        text[0] = '\0';
    put_field(&w, attrs, f);
    return text;
}

const char *wg_node_attrs_text(const wg_node *n, char *text, size_t size)
{
    writer w = {text, size, 0};
    if (size)
        text[0] = '\0';
    for (int i = 0; n->attrs && i < n->op->n_attrs; i++) {
        const wg_attr *f = &n->op->attrs[i];
        if (f->kind == WG_ATTR_DATA && !WGI_FIELD(wg_data, n->attrs, f)->size)
            continue;
        if (w.used)
            put(&w, ", ");
        put_field(&w, n->attrs, f);
    }
    return text;
}
