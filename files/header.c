/* The header of a safetensors file: JSON of one fixed form, from an untrusted file.  It has a
 * parser of its own, because the tree of a JSON library takes many times the size of a hostile
 * header, and because a message can then name the byte of every deviation. */
#include "files/internal.h"
#include "files/json_cursor.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "text/unicode/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const wgi_file_dtype dtypes[] = {
    {"F32", 4, WG_F32}, {"F64", 8, WG_F64},   {"BF16", 2, WG_BF16}, {"I32", 4, WG_I32},
    {"I64", 8, WG_I64}, {"BOOL", 1, WG_BOOL}, {"F16", 2, WG_F16},   {"U8", 1, WG_U8},
    {"I8", 1, WG_I8},   {"U16", 2, 0},        {"I16", 2, 0},        {"U32", 4, 0},
    {"U64", 8, 0},      {"F8_E4M3", 1, 0},    {"F8_E5M2", 1, 0},
};
enum { DTYPES = WG_COUNT(dtypes) };

const wgi_file_dtype *wgi_file_dtype_named(const char *name)
{
    for (int i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

const wgi_file_dtype *wgi_file_dtype_of(wg_dtype dtype)
{
    for (int i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype && dtype != WG_DTYPE_DEFAULT)
            return &dtypes[i];
    return NULL;
}

/* ---- the header's form ----------------------------------------------------------------------- */

static bool shape(wgi_json_cursor *p, wg_shape *out)
{
    if (!wgi_json_need(p, '['))
        return false;
    for (out->rank = 0; !wgi_json_next(p, ']'); out->rank++) {
        uint64_t n = 0;
        if (out->rank && !wgi_json_need(p, ','))
            return false;
        if (!wgi_json_natural(p, &n))
            return false;
        if (out->rank == WG_MAX_RANK)
            return WGI_JSON_REFUSE(p, WG_EUNSUPPORTED,
                                   "header byte %ld: expected at most %d dimensions, got more",
                                   (long)(p->at - p->start), WG_MAX_RANK);
        out->dim[out->rank] = (int64_t)n;
    }
    return true;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, in any order, each once */
static bool entry(wgi_json_cursor *p, wgi_header_entry *e)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };
    int seen = 0;
    if (!wgi_json_need(p, '{'))
        return false;
    do {
        const char *key;
        if (!wgi_json_string(p, &key) || !wgi_json_need(p, ':'))
            return false;
        int field = strcmp(key, "dtype") == 0          ? DTYPE
                    : strcmp(key, "shape") == 0        ? SHAPE
                    : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                       : 0;
        if (!field || (seen & field))
            return WGI_JSON_REFUSE(
                p, WG_EDATA,
                "tensor %s: expected dtype, shape and data_offsets once each, got \"%s\"",
                e->tensor.name, key);
        seen |= field;
        if (field == DTYPE   ? !wgi_json_string(p, &e->tensor.dtype_name)
            : field == SHAPE ? !shape(p, &e->tensor.shape)
                             : !wgi_json_need(p, '[') || !wgi_json_natural(p, &e->begin) ||
                                   !wgi_json_need(p, ',') || !wgi_json_natural(p, &e->end) ||
                                   !wgi_json_need(p, ']'))
            return false;
    } while (wgi_json_next(p, ','));
    if (!wgi_json_need(p, '}'))
        return false;
    return seen == (DTYPE | SHAPE | OFFSETS) ||
           WGI_JSON_REFUSE(p, WG_EDATA,
                           "tensor %s: expected dtype, shape and data_offsets, got fewer",
                           e->tensor.name);
}

/* wgi_reserve for one more item; false is refused. */
static bool reserve(wgi_json_cursor *p, void *array, size_t *capacity, size_t count, size_t size)
{
    if (count == WGI_MAX_FILE_TENSORS)
        return WGI_JSON_REFUSE(p, WG_EUNSUPPORTED,
                               "expected at most %d tensors and as many notes, got more",
                               WGI_MAX_FILE_TENSORS);
    return wgi_reserve(array, capacity, count + 1, size) ||
           WGI_JSON_REFUSE(p, WG_ENOMEM, "no memory for its header");
}

static bool notes(wgi_json_cursor *p, wgi_header *h)
{
    if (!wgi_json_need(p, '{'))
        return false;
    if (wgi_json_next(p, '}'))
        return true;
    do {
        if (!reserve(p, &h->notes, &h->note_room, h->n_notes, sizeof *h->notes))
            return false;
        wg_file_note *note = &h->notes[h->n_notes++];
        if (!wgi_json_string(p, &note->key) || !wgi_json_need(p, ':') ||
            !wgi_json_string(p, &note->text))
            return false;
    } while (wgi_json_next(p, ','));
    return wgi_json_need(p, '}');
}

static bool header(wgi_json_cursor *p, wgi_header *h)
{
    bool noted = false;
    if (p->at == p->end || *p->at != '{')
        return wgi_json_expected(p, "'{'");
    p->at++;
    if (wgi_json_next(p, '}'))
        return true;
    do {
        const char *name;
        if (!wgi_json_string(p, &name) || !wgi_json_need(p, ':'))
            return false;
        if (strcmp(name, "__metadata__") == 0) {
            if (noted)
                return WGI_JSON_REFUSE(p, WG_EDATA, "expected one __metadata__, got two");
            noted = true;
            if (!notes(p, h))
                return false;
            continue;
        }
        if (!reserve(p, &h->entries, &h->entry_room, h->n_entries, sizeof *h->entries))
            return false;
        wgi_header_entry *e = &h->entries[h->n_entries++];
        *e = (wgi_header_entry){.tensor.name = name};
        if (!entry(p, e))
            return false;
    } while (wgi_json_next(p, ','));
    return wgi_json_need(p, '}');
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const wgi_header_entry *)a)->tensor.name,
                  ((const wgi_header_entry *)b)->tensor.name);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const wg_file_note *)a)->key, ((const wg_file_note *)b)->key);
}

static bool unique(wgi_json_cursor *p, wgi_header *h)
{
    if (h->n_entries)
        qsort(h->entries, h->n_entries, sizeof *h->entries, by_name);
    if (h->n_notes)
        qsort(h->notes, h->n_notes, sizeof *h->notes, by_key);
    for (size_t i = 1; i < h->n_entries; i++)
        if (by_name(&h->entries[i - 1], &h->entries[i]) == 0)
            return WGI_JSON_REFUSE(p, WG_EDATA, "tensor %s: expected once, got twice",
                                   h->entries[i].tensor.name);
    for (size_t i = 1; i < h->n_notes; i++)
        if (by_key(&h->notes[i - 1], &h->notes[i]) == 0)
            return WGI_JSON_REFUSE(p, WG_EDATA, "note %s: expected once, got twice",
                                   h->notes[i].key);
    return true;
}

wg_status wgi_header_parse(wgi_header *out, const char *path, char *text, size_t size,
                           wg_error *error)
{
    wgi_json_cursor p = {path, "header ", text, text, text + size, error, WG_OK};
    *out = (wgi_header){0};
    if (!wgi_utf8_valid(text, size))
        return wgi_error_file(error, WG_EDATA, path, "header: expected UTF-8, got other bytes");
    if (header(&p, out) && wgi_json_at_end(&p, "the end of the header"))
        unique(&p, out);
    if (p.status != WG_OK)
        wgi_header_free(out);
    return p.status;
}

void wgi_header_free(wgi_header *h)
{
    free(h->entries);
    free(h->notes);
    *h = (wgi_header){0};
}
