/* Names of values, their tensors, and the first error of an import. */
#include "graph/error.h"
#include "onnx/import.h"

#include <stdarg.h>
#include <stdlib.h>

wg_status wgi_ox_status(wg_status of_builder)
{
    switch (of_builder) {
    case WG_EINVAL:
    case WG_ESHAPE:
    case WG_EDTYPE:
    case WG_ENONFINITE: return WG_EDATA;
    default: return of_builder;
    }
}

bool wgi_ox_stop(ox_import *m, wg_status status, const char *format, ...)
{
    if (m->status != WG_OK)
        return false;
    va_list list;
    va_start(list, format);
    m->status = status;
    wgi_error_file(m->error, status, m->file.source.path, "%s", "");
    wgi_error_add_list(m->error, format, list);
    va_end(list);
    return false;
}

ox_item *wgi_ox_lookup(ox_import *m, const char *name)
{
    for (const ox_scope *s = m->scope; s; s = s->parent) {
        ox_item *item = wgi_ox_names_get(&s->names, name);
        if (item && item->missing)
            wgi_ox_stop(m, WG_EUNSUPPORTED, "%s", item->missing);
        if (item)
            return item->missing ? NULL : item;
    }
    return NULL;
}

ox_item *wgi_ox_declare(ox_import *m, const char *name)
{
    if (wgi_ox_names_get(&m->scope->names, name)) {
        wgi_ox_stop(m, WG_EDATA, "%stwo values are called '%s'", m->scope->inside, name);
        return NULL;
    }
    ox_item *item = wg_graph_alloc(m->graph, sizeof *item);
    if (!item || !wgi_ox_names_put(&m->scope->names, name, item)) {
        wgi_ox_stop(m, WG_ENOMEM, "out of memory");
        return NULL;
    }
    item->name = name;
    return item;
}

wg_onnx_tensor *wgi_ox_own(ox_import *m)
{
    struct ox_owned *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->next = m->owned;
    m->owned = o;
    return &o->tensor;
}

bool wgi_ox_bad_initializer(ox_import *m, const ox_item *item, wg_status status)
{
    m->status = wgi_error_prefix(m->error, status, "%s: %sinitializer '%s': ", m->file.source.path,
                                 m->scope->inside, item->name);
    return false;
}

const wg_onnx_tensor *wgi_ox_load(ox_import *m, ox_item *item)
{
    if (item->tensor->data)
        return item->tensor;
    wg_status status = wgi_ox_tensor_fill(item->tensor, item->proto, &m->file, m->error);
    if (status != WG_OK)
        wgi_ox_bad_initializer(m, item, status);
    return status == WG_OK ? item->tensor : NULL;
}

void wgi_ox_unload(ox_item *item)
{
    free(item->tensor->data);
    item->tensor->data = NULL;
}
