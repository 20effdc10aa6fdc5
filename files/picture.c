/* A graph's picture as a file. */
#include "wengert/files/picture.h"
#include "files/replace.h"
#include "graph/error.h"
#include "graph/text_buffer.h"

#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {
    [WG_PICTURE_DOT] = ".dot", [WG_PICTURE_SVG] = ".svg", [WG_PICTURE_PNG] = ".png"};

static wg_status format_of(wg_picture_format *format, const char *path, wg_error *error)
{
    size_t length = strlen(path);
    for (int i = 0; i < WG_COUNT(endings); i++) {
        size_t n = strlen(endings[i]);
        if (length >= n && strcmp(path + length - n, endings[i]) == 0) {
            *format = (wg_picture_format)i;
            return WG_OK;
        }
    }
    return wgi_error_file(error, WG_EINVAL, path,
                          "expected a file name that ends in .dot, .svg or .png");
}

/* The picture's bytes, which the caller frees; NULL on failure. */
static char *bytes_of(wg_picture *p, wg_picture_format format, size_t *size, wg_error *error)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    wg_status status = f ? wg_picture_write(p, format, f, error) : WG_ENOMEM;
    char *bytes = wgi_text_close(&b);
    *size = b.size;
    if (bytes && status == WG_OK)
        return bytes;
    if (!bytes)
        wgi_error_set(error, WG_ENOMEM, "no memory for the picture");
    free(bytes);
    return NULL;
}

wg_status wg_picture_save(const wg_graph *g, const char *path, const wg_picture_options *options,
                          wg_error *error)
{
    wg_error own, *e = error ? error : &own;
    wg_picture_format format = WG_PICTURE_SVG;
    wg_picture *p;
    size_t size;
    wgi_error_clear(e);
    if (!g || !path)
        return wgi_error_set(e, WG_EINVAL, "wg_picture_save: an argument is NULL");
    if (format_of(&format, path, e) != WG_OK || wg_picture_create(&p, g, options, e) != WG_OK)
        return e->status;
    char *bytes = bytes_of(p, format, &size, e);
    if (bytes)
        wgi_file_replace_bytes(path, bytes, size, e); /* keeps the warning of the layout */
    free(bytes);
    wg_picture_free(p);
    return e->status;
}
