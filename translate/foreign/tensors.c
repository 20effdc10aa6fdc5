/* What all steps of an import share: messages, and the tensors of the file. */
#include "graph/element.h"
#include "graph/error.h"
#include "translate/foreign/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- messages -------------------------------------------------------------------------------- */

static void format_text(char *text, size_t room, const char *format, va_list list)
{
    vsnprintf(text, room, format, list);
}

/* A lack of memory stays one, whatever follows from it. */
static void refuse(wgi_import *im, wg_status status, const char *format, va_list list)
{
    char text[900];
    bool no_memory = status == WG_ENOMEM || im->refused.status == WG_ENOMEM;
    format_text(text, sizeof text, format, list);
    wgi_error_line(&im->refused, no_memory ? WG_ENOMEM : WG_EDATA, "%s: %s", im->path, text);
}

void wgi_import_refuse(wgi_import *im, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    refuse(im, WG_EDATA, format, list);
    va_end(list);
}

void wgi_import_refuse_for(wgi_import *im, const wg_error *why, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    refuse(im, why->status, format, list);
    va_end(list);
}

void wgi_import_tell(wgi_import *im, const char *format, ...)
{
    char *text = im->report->text;
    size_t used = strlen(text), room = sizeof im->report->text - used;
    va_list list;
    if (used && room > 1) {
        text[used++] = '\n';
        text[used] = '\0';
        room--;
    }
    va_start(list, format);
    format_text(text + used, room, format, list);
    va_end(list);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static size_t index_of(const wg_safetensors *f, const char *name)
{
    size_t low = 0, high = wg_safetensors_count(f);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(wg_safetensors_at(f, middle)->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* "a.b." without its last component: "a." */
static size_t shorter(const char *prefix, size_t n)
{
    do
        n--;
    while (n > 0 && prefix[n - 1] != '.');
    return n;
}

/* The tensor of that name of the layout, also under a shorter prefix. */
static const wg_file_tensor *find(wgi_import *im, const char *theirs)
{
    char name[2 * WGI_FOREIGN_NAME];
    theirs += *theirs == '/';
    for (size_t n = strlen(im->prefix);; n = shorter(im->prefix, n)) {
        snprintf(name, sizeof name, "%.*s%s", (int)n, im->prefix, theirs);
        const wg_file_tensor *t = wg_safetensors_find(im->file, name);
        if (t)
            im->used[index_of(im->file, name)] = true;
        if (t || n == 0)
            return t;
    }
}

bool wgi_import_equal(const wg_file_tensor *a, const wg_file_tensor *b)
{
    return a == b ||
           (strcmp(a->dtype_name, b->dtype_name) == 0 && wg_shape_equal(&a->shape, &b->shape) &&
            (a->size == 0 || memcmp(a->data, b->data, a->size) == 0));
}

const wg_file_tensor *wgi_import_get(wgi_import *im, const char *ours, const wgi_layout_row **row)
{
    const wg_file_tensor *first = NULL, *t;
    char name[WGI_FOREIGN_NAME];
    for (const wgi_layout_row *r = im->layout->rows; r->ours; r++) {
        if (!wgi_layout_name(name, r, ours) || !(t = find(im, name)))
            continue;
        if (!first && row)
            *row = r;
        first = first ? first : t;
        if (!wgi_import_equal(first, t))
            wgi_import_refuse(im, "tensors %s and %s: expected the same numbers, got others",
                              first->name, t->name);
    }
    return first;
}

wg_shape wgi_import_shape(const wg_file_tensor *t, int rank)
{
    wg_shape s = t->shape;
    while (s.rank > rank && s.dim[s.rank - 1] == 1)
        s.rank--;
    while (s.rank > rank && s.dim[0] == 1)
        memmove(s.dim, s.dim + 1, (size_t)--s.rank * sizeof *s.dim);
    if (s.rank == rank + 1 && rank == 2 && s.dim[1] == 1) { /* [rows, 1, d] */
        s.dim[1] = s.dim[2];
        s.rank = 2;
    }
    return s;
}

double wgi_import_number(const wg_file_tensor *t, int64_t i)
{
    size_t size = wg_dtype_size(t->dtype);
    uint64_t aligned = 0;
    memcpy(&aligned, (const char *)t->data + (size_t)i * size, size);
    return wgi_get_element(&aligned, t->dtype, 0);
}
