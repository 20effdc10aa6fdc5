#include "files/npy.h"
#include "backends/store.h"
#include "files/json_cursor.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are copied as they are, little-endian");

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, VERSION = 8 /* bytes up to its end */ };

static const struct numpy_dtype {
    const char *name;
    wg_dtype dtype;
} dtypes[] = {
    {"f2", WG_F16}, {"f4", WG_F32}, {"f8", WG_F64}, {"i1", WG_I8},
    {"u1", WG_U8},  {"i4", WG_I32}, {"i8", WG_I64}, {"b1", WG_BOOL},
};

/* ---- the header ------------------------------------------------------------------------------ */

typedef struct header {
    const char *descr;
    wg_dtype dtype;
    bool fortran;
    wg_shape shape;
} header;

/* 'text' or "text"; NumPy writes no escapes, and none are read. */
static bool string(wgi_json_cursor *p, const char **out)
{
    *out = "";
    char quote = wgi_json_next(p, '\'') ? '\'' : '"';
    if (quote == '"' && !wgi_json_next(p, '"'))
        return wgi_json_expected(p, "a string");
    *out = p->at;
    while (p->at < p->end && *p->at != quote && *p->at != '\\' && (unsigned char)*p->at >= ' ')
        p->at++;
    if (p->at == p->end || *p->at != quote)
        return wgi_json_expected(p, "the end of a string");
    *p->at++ = '\0';
    return true;
}

/* '<f4'; of single bytes, whatever order is given. */
static bool descr(wgi_json_cursor *p, header *h)
{
    if (wgi_json_next(p, '['))
        return WGI_JSON_REFUSE(p, WG_EUNSUPPORTED,
                               "descr: expected one dtype, got a list: an array with fields");
    if (!string(p, &h->descr))
        return false;
    bool ordered = *h->descr && strchr("<>=|", *h->descr);
    for (size_t i = 0; i < WG_COUNT(dtypes); i++) {
        if (strcmp(h->descr + ordered, dtypes[i].name) != 0)
            continue;
        h->dtype = dtypes[i].dtype;
        return wg_dtype_size(h->dtype) == 1 || *h->descr == '<' ||
               WGI_JSON_REFUSE(p, WG_EUNSUPPORTED,
                               "descr: expected little-endian numbers, '<%s', got '%s'",
                               dtypes[i].name, h->descr);
    }
    return WGI_JSON_REFUSE(p, WG_EUNSUPPORTED,
                           "descr: expected f2, f4, f8, i1, u1, i4, i8 or b1, got '%s'", h->descr);
}

static bool boolean(wgi_json_cursor *p, bool *out)
{
    static const char *const words[] = {"False", "True"};
    while (wgi_json_next(p, ' '))
        continue;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(p->end - p->at) >= n && memcmp(p->at, words[i], n) == 0) {
            p->at += n;
            *out = i;
            return true;
        }
    }
    return wgi_json_expected(p, "True or False");
}

/* (), (3,) or (2, 3); a size may end in L, as Python 2 wrote it. */
static bool shape(wgi_json_cursor *p, wg_shape *out)
{
    if (!wgi_json_need(p, '('))
        return false;
    for (out->rank = 0; !wgi_json_next(p, ')'); out->rank++) {
        uint64_t n;
        bool negative = wgi_json_next(p, '-');
        if (!wgi_json_natural(p, &n))
            return false;
        if (negative)
            return WGI_JSON_REFUSE(p, WG_EDATA, "shape: expected sizes of 0 or more, got -%" PRIu64,
                                   n);
        if (out->rank == WG_MAX_RANK)
            return WGI_JSON_REFUSE(p, WG_EUNSUPPORTED, "shape: expected at most %d axes, got more",
                                   WG_MAX_RANK);
        out->dim[out->rank] = (int64_t)n;
        if (p->at < p->end && *p->at == 'L')
            p->at++;
        if (wgi_json_next(p, ','))
            continue;
        if (out->rank == 0) /* (3) is a number */
            return wgi_json_expected(p, "','");
        if (!wgi_json_need(p, ')'))
            return false;
        out->rank++;
        return true;
    }
    return true;
}

/* The dict: its keys in any order, each once. */
static bool dict(wgi_json_cursor *p, header *h)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
    int seen = 0;
    if (!wgi_json_need(p, '{'))
        return false;
    while (!wgi_json_next(p, '}')) {
        const char *key;
        if (!string(p, &key) || !wgi_json_need(p, ':'))
            return false;
        int field = strcmp(key, "descr") == 0           ? DESCR
                    : strcmp(key, "fortran_order") == 0 ? ORDER
                    : strcmp(key, "shape") == 0         ? SHAPE
                                                        : 0;
        if (!field || (seen & field))
            return WGI_JSON_REFUSE(
                p, WG_EDATA, "header: expected descr, fortran_order and shape once each, got '%s'",
                key);
        seen |= field;
        if (field == DESCR   ? !descr(p, h)
            : field == ORDER ? !boolean(p, &h->fortran)
                             : !shape(p, &h->shape))
            return false;
        if (wgi_json_next(p, ','))
            continue;
        if (!wgi_json_need(p, '}'))
            return false;
        break;
    }
    return seen == ALL ||
           WGI_JSON_REFUSE(p, WG_EDATA,
                           "header: expected descr, fortran_order and shape, got fewer");
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct npy_file {
    int fd;
    size_t size;
    const char *path;
    wg_error *error;
} npy_file;

/* Where the header begins, and its length. */
static wg_status read_beginning(const npy_file *f, size_t *at, size_t *length)
{
    unsigned char b[VERSION + 4] = {0};
    if (f->size < VERSION + 2)
        return wgi_error_file(f->error, WG_EDATA, f->path, "expected at least %d bytes, got %zu",
                              VERSION + 2, f->size);
    size_t n = f->size < sizeof b ? f->size : sizeof b;
    wg_status status = wgi_file_read_at(f->fd, b, n, 0, f->path, f->error);
    if (status != WG_OK)
        return status;
    if (memcmp(b, magic, MAGIC) != 0)
        return wgi_error_file(
            f->error, WG_EDATA, f->path, "expected an array of NumPy (.npy), got %s",
            memcmp(b, "PK", 2) == 0 ? "a ZIP file, such as several arrays (.npz)" : "other bytes");
    if (b[MAGIC] < 1 || b[MAGIC] > 3 || b[MAGIC + 1] != 0)
        return wgi_error_file(f->error, WG_EUNSUPPORTED, f->path,
                              "expected the version 1.0, 2.0 or 3.0 of the format, got %d.%d",
                              b[MAGIC], b[MAGIC + 1]);
    *at = VERSION + (b[MAGIC] == 1 ? 2 : 4);
    *length = 0;
    for (size_t i = *at; i-- > VERSION;)
        *length = *length << 8 | b[i];
    size_t room = f->size < *at ? 0 : f->size - *at;
    if (*length > WGI_MAX_NPY_HEADER)
        return wgi_error_file(f->error, WG_EDATA, f->path,
                              "expected a header of at most %d bytes, got %zu", WGI_MAX_NPY_HEADER,
                              *length);
    if (*length > room)
        return wgi_error_file(f->error, WG_EDATA, f->path,
                              "expected a header of at most %zu bytes, got %zu: the file ends too "
                              "early",
                              room, *length);
    return WG_OK;
}

/* Whether the numbers fill the file behind its header. */
static wg_status check_size(const npy_file *f, const header *h, uint64_t bytes)
{
    char text[200];
    if (!wg_shape_valid(&h->shape, h->dtype))
        return wgi_error_file(f->error, WG_EDATA, f->path,
                              "shape: expected a size below 2^63, got %s",
                              wg_shape_text(&h->shape, text, sizeof text));
    uint64_t expected = wg_shape_bytes(&h->shape, h->dtype);
    if (bytes == expected)
        return WG_OK;
    return wgi_error_file(f->error, WG_EDATA, f->path,
                          "expected %" PRIu64 " bytes of data for '%s' %s, got %" PRIu64 "%s",
                          expected, h->descr, wg_shape_text(&h->shape, text, sizeof text), bytes,
                          bytes < expected ? ": the file ends too early" : "");
}

/* The numbers in row-major order, of an array whose first axis varies fastest. */
static void to_rows(char *to, const char *from, const wg_shape *shape, size_t size)
{
    int64_t at[WG_MAX_RANK] = {0}, stride[WG_MAX_RANK] = {0}, offset = 0;
    int64_t count = wg_shape_count(shape);
    for (int k = 0; k < shape->rank; k++)
        stride[k] = k ? stride[k - 1] * shape->dim[k - 1] : 1;
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * size, from + (size_t)offset * size, size);
        for (int k = shape->rank - 1; k >= 0; k--) {
            offset += stride[k];
            if (++at[k] < shape->dim[k])
                break;
            offset -= stride[k] * shape->dim[k];
            at[k] = 0;
        }
    }
}

static wg_status reorder(const npy_file *f, wgi_npy *a)
{
    void *rows = malloc(a->size + 1);
    if (!rows)
        return wgi_error_file(f->error, WG_ENOMEM, f->path, "no memory to read it");
    to_rows(rows, a->data, &a->shape, wg_dtype_size(a->dtype));
    free(a->data);
    a->data = rows;
    return WG_OK;
}

static wg_status check_bools(const npy_file *f, const wgi_npy *a)
{
    const unsigned char *b = a->data;
    for (size_t i = 0; i < a->size; i++)
        if (b[i] > 1)
            return wgi_error_file(f->error, WG_EDATA, f->path, "expected bools, 0 or 1, got %d",
                                  b[i]);
    return WG_OK;
}

static wg_status read_numbers(const npy_file *f, wgi_npy *out, const header *h, uint64_t at)
{
    wg_status status = check_size(f, h, f->size - at);
    if (status != WG_OK)
        return status;
    out->dtype = h->dtype;
    out->shape = h->shape;
    out->size = f->size - (size_t)at;
    if (!(out->data = malloc(out->size + 1)))
        return wgi_error_file(f->error, WG_ENOMEM, f->path, "no memory to read it");
    status = wgi_file_read_at(f->fd, out->data, out->size, at, f->path, f->error);
    if (status == WG_OK && h->dtype == WG_BOOL)
        status = check_bools(f, out);
    if (status == WG_OK && h->fortran && h->shape.rank > 1)
        status = reorder(f, out);
    return status;
}

static wg_status read_array(const npy_file *f, wgi_npy *out)
{
    size_t at = 0, length = 0;
    wg_status status = read_beginning(f, &at, &length);
    if (status != WG_OK)
        return status;
    char *text = malloc(length + 1);
    if (!text)
        return wgi_error_file(f->error, WG_ENOMEM, f->path, "no memory to read it");
    header h = {0};
    wgi_json_cursor p = {f->path, "header ", text, text, text + length, f->error, WG_OK};
    status = wgi_file_read_at(f->fd, text, length, at, f->path, f->error);
    if (status == WG_OK && !(dict(&p, &h) && wgi_json_at_end(&p, "the end of the header")))
        status = p.status;
    if (status == WG_OK)
        status = read_numbers(f, out, &h, at + length);
    free(text);
    return status;
}

wg_status wgi_npy_read(wgi_npy *out, const char *path, wg_error *error)
{
    npy_file f = {.path = path, .error = error};
    wgi_error_clear(error);
    *out = (wgi_npy){0};
    wg_status status = wgi_file_open(&f.fd, &f.size, path, error);
    if (status != WG_OK)
        return status;
    status = read_array(&f, out);
    close(f.fd);
    if (status != WG_OK)
        wgi_npy_free(out);
    return status;
}

void wgi_npy_free(wgi_npy *a)
{
    free(a->data);
    *a = (wgi_npy){0};
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { ALIGNED = 64, ROOM = 6 * ALIGNED };

typedef struct content {
    char beginning[ROOM]; /* up to the numbers, which begin at a multiple of ALIGNED */
    size_t length;
    const wg_tensor *tensor;
} content;

static void make_beginning(content *c, const char *name)
{
    const wg_shape *shape = &c->tensor->shape;
    char *text = c->beginning + VERSION + 2;
    size_t room = ROOM - VERSION - 2;
    int n = snprintf(text, room, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                     wg_dtype_size(c->tensor->dtype) == 1 ? '|' : '<', name);
    for (int k = 0; k < shape->rank; k++)
        n += snprintf(text + n, room - (size_t)n, k ? ", %" PRId64 : "%" PRId64, shape->dim[k]);
    n += snprintf(text + n, room - (size_t)n, shape->rank == 1 ? ",), }" : "), }");
    size_t used = VERSION + 2 + (size_t)n + 1; /* with the line break at its end */
    c->length = (used + ALIGNED - 1) / ALIGNED * ALIGNED;
    memset(text + n, ' ', c->length - used);
    c->beginning[c->length - 1] = '\n';
    const size_t after = c->length - VERSION - 2; /* bytes of the header */
    memcpy(c->beginning, magic, MAGIC);
    c->beginning[MAGIC] = 1;
    c->beginning[MAGIC + 1] = 0;
    c->beginning[VERSION] = (char)(after & 0xff);
    c->beginning[VERSION + 1] = (char)(after >> 8);
}

static void write_content(wgi_file_writer *w, void *context)
{
    const content *c = context;
    wgi_file_put(w, c->beginning, c->length);
    wgi_file_put(w, c->tensor->data, wgi_tensor_bytes(c->tensor));
}

wg_status wgi_npy_write(const char *path, const wg_tensor *t, wg_error *error)
{
    content c = {.tensor = t};
    wgi_error_clear(error);
    for (size_t i = 0; i < WG_COUNT(dtypes); i++)
        if (dtypes[i].dtype == t->dtype) {
            make_beginning(&c, dtypes[i].name);
            return wgi_file_replace(path, write_content, &c, error);
        }
    return wgi_error_file(error, WG_EUNSUPPORTED, path, "expected a dtype that NumPy has, got %s",
                          wg_dtype_name(t->dtype));
}
