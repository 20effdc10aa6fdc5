#include "files/internal.h"
#include "backends/store.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "text/unicode/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensors are copied as they are, little-endian");

struct wg_safetensors {
    char *map; /* the file, private and writable: header strings are terminated in place */
    size_t size;
    uint64_t digest; /* of the checksums; 0: it has none */
    wgi_header header;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Maps a regular file of at least 8 bytes. */
static wg_status map(wg_safetensors *f, const char *path, wg_error *error)
{
    int fd;
    wg_status status = wgi_file_open(&fd, &f->size, path, error);
    if (status != WG_OK)
        return status;
    if (f->size < 8) {
        status =
            wgi_error_file(error, WG_EDATA, path, "expected at least 8 bytes, got %zu", f->size);
    } else {
        void *bytes = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            status = wgi_error_errno(error, path, "map");
        else
            f->map = bytes;
    }
    close(fd);
    return status;
}

/* Checks dtype, shape and offsets of one tensor against each other and the file. */
static wg_status check_tensor(wgi_header_entry *e, const char *data, uint64_t size,
                              const char *path, wg_error *error)
{
    wg_file_tensor *t = &e->tensor;
    char text[200];
    const wgi_file_dtype *dtype = wgi_file_dtype_named(t->dtype_name);
    if (!dtype)
        return wgi_error_file(error, WG_EDATA, path, "tensor %s: expected a dtype, got \"%s\"",
                              t->name, t->dtype_name);
    t->dtype = dtype->dtype;
    /* a dtype that wengert lacks is checked with elements of 8 bytes, which is at least as
     * strict */
    if (!wg_shape_valid(&t->shape, t->dtype ? t->dtype : WG_I64))
        return wgi_error_file(error, WG_EDATA, path,
                              "tensor %s: expected a size below 2^63, got shape %s", t->name,
                              wg_shape_text(&t->shape, text, sizeof text));
    uint64_t bytes = (uint64_t)wg_shape_count(&t->shape) * dtype->size;
    if (e->begin > e->end || e->end > size)
        return wgi_error_file(error, WG_EDATA, path,
                              "tensor %s: expected offsets within %" PRIu64 " bytes, got [%" PRIu64
                              ", %" PRIu64 "]%s",
                              t->name, size, e->begin, e->end,
                              e->begin > e->end ? "" : ": the file ends too early");
    if (e->end - e->begin != bytes)
        return wgi_error_file(error, WG_EDATA, path,
                              "tensor %s: expected %" PRIu64 " bytes for %s %s, got %" PRIu64,
                              t->name, bytes, t->dtype_name,
                              wg_shape_text(&t->shape, text, sizeof text), e->end - e->begin);
    t->data = data + e->begin;
    t->size = (size_t)bytes;
    for (size_t i = 0; t->dtype == WG_BOOL && i < t->size; i++)
        if (((const unsigned char *)t->data)[i] > 1)
            return wgi_error_file(error, WG_EDATA, path, "tensor %s: expected 0 or 1, got %d",
                                  t->name, ((const unsigned char *)t->data)[i]);
    return WG_OK;
}

static int by_offset(const void *a, const void *b)
{
    const wgi_header_entry *x = *(const wgi_header_entry *const *)a,
                           *y = *(const wgi_header_entry *const *)b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Checks that the tensors follow one another from the first byte to the last. */
static wg_status check_layout(const wgi_header *h, uint64_t size, const char *path, wg_error *error)
{
    const wgi_header_entry **order = malloc((h->n_entries + 1) * sizeof *order);
    if (!order)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to check it");
    for (size_t i = 0; i < h->n_entries; i++)
        order[i] = &h->entries[i];
    qsort(order, h->n_entries, sizeof *order, by_offset);
    uint64_t at = 0;
    wg_status status = WG_OK;
    for (size_t i = 0; i < h->n_entries && status == WG_OK; at = order[i++]->end)
        if (order[i]->begin != at)
            status = wgi_error_file(error, WG_EDATA, path,
                                    "tensor %s: expected to begin at %" PRIu64 ", got %" PRIu64,
                                    order[i]->tensor.name, at, order[i]->begin);
    if (status == WG_OK && at != size)
        status = wgi_error_file(error, WG_EDATA, path,
                                "expected %" PRIu64 " bytes of data, got %" PRIu64, at, size);
    free(order);
    return status;
}

static wg_status read_header(wg_safetensors *f, const char *path, wg_error *error)
{
    uint64_t n;
    memcpy(&n, f->map, 8);
    if (n > WGI_MAX_FILE_HEADER)
        return wgi_error_file(error, WG_EDATA, path,
                              "expected a header of at most %d bytes, got %" PRIu64
                              "; is it a safetensors file?",
                              WGI_MAX_FILE_HEADER, n);
    if (n > f->size - 8)
        return wgi_error_file(error, WG_EDATA, path,
                              "expected a header of at most %zu bytes, got %" PRIu64
                              "; the file is truncated or not a safetensors file",
                              f->size - 8, n);
    wg_status status = wgi_header_parse(&f->header, path, f->map + 8, (size_t)n, error);
    uint64_t size = f->size - 8 - n;
    for (size_t i = 0; i < f->header.n_entries && status == WG_OK; i++)
        status = check_tensor(&f->header.entries[i], f->map + 8 + n, size, path, error);
    if (status == WG_OK)
        status = check_layout(&f->header, size, path, error);
    return status == WG_OK ? wgi_sums_check(&f->header, path, &f->digest, error) : status;
}

wg_status wg_safetensors_open(wg_safetensors **out, const char *path, wg_error *error)
{
    wgi_error_clear(error);
    *out = NULL;
    if (!path)
        return wgi_error_set(error, WG_EINVAL, "the path is NULL");
    wg_safetensors *f = calloc(1, sizeof *f);
    if (!f)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to open it");
    wg_status status = map(f, path, error);
    if (status == WG_OK)
        status = read_header(f, path, error);
    if (status == WG_OK)
        *out = f;
    else
        wg_safetensors_close(f);
    return status;
}

void wg_safetensors_close(wg_safetensors *f)
{
    if (!f)
        return;
    if (f->map)
        munmap(f->map, f->size);
    wgi_header_free(&f->header);
    free(f);
}

uint64_t wgi_safetensors_digest(const wg_safetensors *f)
{
    return f->digest;
}

size_t wg_safetensors_count(const wg_safetensors *f)
{
    return f->header.n_entries;
}

const wg_file_tensor *wg_safetensors_at(const wg_safetensors *f, size_t i)
{
    return i < f->header.n_entries ? &f->header.entries[i].tensor : NULL;
}

static int name_order(const void *name, const void *entry)
{
    return strcmp(name, ((const wgi_header_entry *)entry)->tensor.name);
}

const wg_file_tensor *wg_safetensors_find(const wg_safetensors *f, const char *name)
{
    const wgi_header *h = &f->header;
    const wgi_header_entry *e =
        h->n_entries ? bsearch(name, h->entries, h->n_entries, sizeof *h->entries, name_order)
                     : NULL;
    return e ? &e->tensor : NULL;
}

static int key_order(const void *key, const void *note)
{
    return strcmp(key, ((const wg_file_note *)note)->key);
}

const char *wg_safetensors_note(const wg_safetensors *f, const char *key)
{
    const wgi_header *h = &f->header;
    const wg_file_note *n =
        h->n_notes ? bsearch(key, h->notes, h->n_notes, sizeof *h->notes, key_order) : NULL;
    return n ? n->text : NULL;
}

size_t wg_safetensors_note_count(const wg_safetensors *f)
{
    return f->header.n_notes;
}

const wg_file_note *wg_safetensors_note_at(const wg_safetensors *f, size_t i)
{
    return i < f->header.n_notes ? &f->header.notes[i] : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct content {
    const wg_tensor *tensors;
    const wg_file_note *notes;
    size_t n_tensors, n_notes;
    wgi_sums sums;       /* the entry of checksums */
    wgi_file_writer *to; /* NULL: only count the header's bytes */
    uint64_t counted;    /* bytes of the file up to here */
    uint64_t length;     /* of the header, with its padding */
    uint64_t sums_at;    /* where its text begins */
} content;

static void put(content *c, const char *text, size_t size)
{
    c->counted += size;
    if (c->to)
        wgi_file_put(c->to, text, size);
}

static void put_format(content *c, const char *format, uint64_t number)
{
    char text[64];
    int n = snprintf(text, sizeof text, format, number);
    put(c, text, (size_t)n);
}

static void put_string(content *c, const char *s)
{
    put(c, "\"", 1);
    for (; *s; s++) {
        if ((unsigned char)*s < ' ') {
            put_format(c, "\\u%04" PRIx64, (uint64_t)*s);
            continue;
        }
        if (*s == '"' || *s == '\\')
            put(c, "\\", 1);
        put(c, s, 1);
    }
    put(c, "\"", 1);
}

static void put_note(content *c, const char *key, const char *text)
{
    put_string(c, key);
    put(c, ":", 1);
    put_string(c, text);
}

enum { LENGTH = 8 }; /* bytes before the header, which tell its length */

static void put_header(content *c)
{
    uint64_t at = 0;
    c->counted = LENGTH;
    put(c, "{", 1);
    put_string(c, "__metadata__");
    put(c, ":{", 2);
    for (size_t i = 0; i < c->n_notes; i++) {
        put_note(c, c->notes[i].key, c->notes[i].text);
        put(c, ",", 1);
    }
    c->sums_at = c->counted + strlen("\"" WGI_SUMS_KEY "\":\"");
    put_note(c, WGI_SUMS_KEY, c->sums.text);
    put(c, "}", 1);
    for (size_t i = 0; i < c->n_tensors; i++) {
        const wg_tensor *t = &c->tensors[i];
        const wgi_file_dtype *dtype = wgi_file_dtype_of(t->dtype);
        put(c, ",", 1);
        put_string(c, t->name);
        put(c, ":{\"dtype\":", 10);
        put_string(c, dtype->name);
        put(c, ",\"shape\":[", 10);
        for (int k = 0; k < t->shape.rank; k++)
            put_format(c, k ? ",%" PRIu64 : "%" PRIu64, (uint64_t)t->shape.dim[k]);
        put_format(c, "],\"data_offsets\":[%" PRIu64, at);
        at += (uint64_t)wg_shape_count(&t->shape) * dtype->size;
        put_format(c, ",%" PRIu64 "]}", at);
    }
    put(c, "}", 1);
}

/* The checksums come last, in the place that the header keeps for them: they are computed while the
 * data are written. */
static void write_content(wgi_file_writer *w, void *context)
{
    content *c = context;
    wgi_file_put(w, &c->length, LENGTH);
    c->to = w;
    put_header(c);
    wgi_file_put(w, "       ", (size_t)(LENGTH + c->length - c->counted));
    wgi_sums_begin(&c->sums);
    for (size_t i = 0; i < c->n_tensors; i++)
        wgi_file_put(w, c->tensors[i].data, wgi_tensor_bytes(&c->tensors[i]));
    wgi_sums_end(&c->sums);
    wgi_file_put_over(w, c->sums_at, c->sums.text, strlen(c->sums.text));
}

static int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Checks that names (of tensors or notes) are UTF-8 and unique; sorts them. */
static wg_status check_names(const char **names, size_t n, const char *path, wg_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (!names[i] || !wgi_utf8_valid(names[i], strlen(names[i])))
            return wgi_error_file(error, WG_EINVAL, path, "name %zu: expected UTF-8, got %s", i,
                                  names[i] ? "other bytes" : "none");
    qsort(names, n, sizeof *names, text_order);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return wgi_error_file(error, WG_EINVAL, path, "name %s: expected once, got twice",
                                  names[i]);
    return WG_OK;
}

/* The limits of a reader (header.c). */
static wg_status check_counts(const content *c, const char *path, wg_error *error)
{
    const size_t n_notes = c->n_notes + 1; /* and the checksums */
    if (c->n_tensors <= WGI_MAX_FILE_TENSORS && n_notes <= WGI_MAX_FILE_TENSORS)
        return WG_OK;
    return wgi_error_file(error, WG_EUNSUPPORTED, path,
                          "expected at most %d tensors and as many notes, got %zu and %zu",
                          WGI_MAX_FILE_TENSORS, c->n_tensors, n_notes);
}

static wg_status check_content(const content *c, const char *path, wg_error *error)
{
    for (size_t i = 0; i < c->n_notes; i++)
        if (!c->notes[i].text || !wgi_utf8_valid(c->notes[i].text, strlen(c->notes[i].text)))
            return wgi_error_file(error, WG_EINVAL, path, "text of note %zu: expected UTF-8", i);
    for (size_t i = 0; i < c->n_notes; i++)
        if (c->notes[i].key && strcmp(c->notes[i].key, WGI_SUMS_KEY) == 0)
            return wgi_error_file(error, WG_EINVAL, path,
                                  "note %zu: the key " WGI_SUMS_KEY " is reserved", i);
    for (size_t i = 0; i < c->n_tensors; i++) {
        const wg_tensor *t = &c->tensors[i];
        if (!wgi_file_dtype_of(t->dtype) || !wg_shape_valid(&t->shape, t->dtype))
            return wgi_error_file(error, WG_ESHAPE, path,
                                  "tensor %zu: expected a valid dtype and shape", i);
        if (!t->data && wg_shape_count(&t->shape))
            return wgi_error_file(error, WG_EINVAL, path, "tensor %zu: expected data, got NULL", i);
        if (t->name && strcmp(t->name, "__metadata__") == 0)
            return wgi_error_file(error, WG_EINVAL, path,
                                  "tensor %zu: the name __metadata__ is reserved", i);
    }
    const char **names = malloc((c->n_tensors + c->n_notes + 1) * sizeof *names);
    if (!names)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    for (size_t i = 0; i < c->n_tensors; i++)
        names[i] = c->tensors[i].name;
    for (size_t i = 0; i < c->n_notes; i++)
        names[c->n_tensors + i] = c->notes[i].key;
    wg_status status = check_names(names, c->n_tensors, path, error);
    if (status == WG_OK)
        status = check_names(names + c->n_tensors, c->n_notes, path, error);
    free(names);
    return status;
}

/* Counts the header, which is padded with spaces, so that the data begin at a multiple of 8. */
static wg_status measure_header(content *c, const char *path, wg_error *error)
{
    put_header(c);
    c->length = (c->counted + 7) / 8 * 8 - LENGTH;
    return c->length <= WGI_MAX_FILE_HEADER
               ? WG_OK
               : wgi_error_file(error, WG_EUNSUPPORTED, path,
                                "expected a header of at most %d bytes, got %" PRIu64,
                                WGI_MAX_FILE_HEADER, c->length);
}

/* Everything but the file; the caller frees c->sums if the status is WG_OK. */
static wg_status prepare(content *c, const char *path, wg_error *error)
{
    wg_status status = check_counts(c, path, error);
    if (status == WG_OK)
        status = check_content(c, path, error);
    if (status != WG_OK)
        return status;
    if (!wgi_sums_make(&c->sums, c->tensors, c->n_tensors, c->notes, c->n_notes))
        return wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    status = measure_header(c, path, error);
    if (status != WG_OK)
        wgi_sums_free(&c->sums);
    return status;
}

wg_status wgi_safetensors_check(const char *path, const wg_tensor *tensors, size_t n_tensors,
                                const wg_file_note *notes, size_t n_notes, wg_error *error)
{
    wgi_error_clear(error);
    content c = {.tensors = tensors, .notes = notes, .n_tensors = n_tensors, .n_notes = n_notes};
    wg_status status = prepare(&c, path, error);
    if (status == WG_OK)
        wgi_sums_free(&c.sums);
    return status;
}

wg_status wgi_safetensors_write(const char *path, const wg_tensor *tensors, size_t n_tensors,
                                const wg_file_note *notes, size_t n_notes, uint64_t *digest,
                                wg_error *error)
{
    wgi_error_clear(error);
    content c = {.tensors = tensors, .notes = notes, .n_tensors = n_tensors, .n_notes = n_notes};
    wg_status status = prepare(&c, path, error);
    if (status != WG_OK)
        return status;
    status = wgi_file_replace(path, write_content, &c, error);
    *digest = wgi_sums_digest(c.sums.text);
    wgi_sums_free(&c.sums);
    return status;
}

wg_status wg_safetensors_write(const char *path, const wg_tensor *tensors, size_t n_tensors,
                               const wg_file_note *notes, size_t n_notes, wg_error *error)
{
    uint64_t digest;
    wgi_error_clear(error);
    if (!path || (n_tensors && !tensors) || (n_notes && !notes))
        return wgi_error_set(error, WG_EINVAL, "the %s NULL",
                             !path                   ? "path is"
                             : n_tensors && !tensors ? "list of tensors is"
                                                     : "list of notes is");
    return wgi_safetensors_write(path, tensors, n_tensors, notes, n_notes, &digest, error);
}
