/* Reading graphs: the text's ops are those of the caller and the built-in ones. */
#include "wengert/ops/parse.h"
#include "graph/error.h"
#include "graph/file/parse.h"
#include "graph/grow.h"
#include "wengert/ops/table.h"

#include <stdlib.h>

wg_status wg_graph_parse(wg_graph **out, const char *text, size_t length,
                         const wg_parse_options *options, wg_error *error)
{
    const wg_parse_options o = options ? *options : (wg_parse_options){0};
    const wgi_op_list ops = {o.ops, o.ops ? o.n_ops : 0, wg_op_at};
    if (out)
        *out = NULL;
    if (!out || (!text && length))
        return wgi_error_set(error, WG_EINVAL, "%s: %s is NULL", o.name ? o.name : "graph",
                             out ? "the text" : "the place of the graph");
    if (o.ops && !o.n_ops)
        return wgi_error_set(error, WG_EINVAL, "the options have ops, but n_ops is 0");
    for (size_t i = 0; i < ops.n_ops; i++)
        if (!o.ops[i] || !o.ops[i]->name)
            return wgi_error_set(error, WG_EINVAL, "op %zu of the options has no name", i);
    return wgi_graph_parse(out, text ? text : "", length, o.name, &ops, error);
}

/* Everything up to the end of the file; the caller frees *text. */
static wg_status read_all(FILE *f, const char *path, char **text, size_t *length, wg_error *error)
{
    enum { PIECE = 1 << 16 };
    size_t capacity = 0, got;
    do {
        if (!wgi_reserve(text, &capacity, *length + PIECE, 1))
            return wgi_error_file(error, WG_ENOMEM, path, "out of memory after %zu bytes", *length);
        got = fread(*text + *length, 1, PIECE, f);
        *length += got;
    } while (got == PIECE);
    return ferror(f) ? wgi_error_errno(error, path, "cannot be read") : WG_OK;
}

wg_status wg_graph_read(wg_graph **out, const char *path, const wg_parse_options *options,
                        wg_error *error)
{
    wg_parse_options o = options ? *options : (wg_parse_options){0};
    char *text = NULL;
    size_t length = 0;
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || !path)
        return wgi_error_set(error, WG_EINVAL, "no path of a graph, or no place for it");
    FILE *f = fopen(path, "rb");
    if (!f)
        return wgi_error_errno(error, path, "cannot be opened");
    o.name = o.name ? o.name : path;
    wg_status status = read_all(f, path, &text, &length, error);
    fclose(f);
    if (status == WG_OK)
        status = wg_graph_parse(out, text, length, &o, error);
    free(text);
    return status;
}
