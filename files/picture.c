/* A graph's picture, or the graph itself, as a file. */
#include "wengert/files/picture.h"
#include "files/graph_file.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "graph/text_buffer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRAPH = WG_PICTURE_PNG + 1 };
static const char *const endings[] = {[WG_PICTURE_DOT] = ".dot",
                                      [WG_PICTURE_SVG] = ".svg",
                                      [WG_PICTURE_PNG] = ".png",
                                      [GRAPH] = ".wg"};

static wg_status format_of(int *format, const char *path, wg_error *error)
{
    size_t length = strlen(path);
    for (int i = 0; i < WG_COUNT(endings); i++) {
        size_t n = strlen(endings[i]);
        if (length >= n && strcmp(path + length - n, endings[i]) == 0) {
            *format = i;
            return WG_OK;
        }
    }
    return wgi_error_file(error, WG_EINVAL, path,
                          "expected a file name that ends in .dot, .svg, .png or .wg");
}

/* What is there may be replaced if it is empty or a picture, too. */
static wg_status check_place(const char *path, wg_error *error)
{
    enum { ENOUGH = 1024 };
    char bytes[ENOUGH + 1];
    size_t size;
    int fd;
    bool exists;
    wg_status status = wgi_file_exists(path, &exists, error);
    if (status != WG_OK || !exists)
        return status;
    status = wgi_file_open(&fd, &size, path, error);
    if (status != WG_OK)
        return status;
    ssize_t n = wgi_file_read_on(fd, bytes, ENOUGH);
    if (n < 0)
        status = wgi_error_errno(error, path, "read");
    close(fd);
    if (n <= 0)
        return status;
    bytes[n] = '\0';
    return wgi_begins_as_graph(bytes, (size_t)n)
               ? WG_OK
               : wgi_error_file(error, WG_EINVAL, path,
                                "there is a file already, which is no picture and no graph; give "
                                "the picture another name, or remove that file");
}

static wg_status write_picture(const wg_graph *g, wg_picture_format format,
                               const wg_picture_options *options, FILE *f, wg_error *error)
{
    wg_picture *p;
    wg_status status = wg_picture_create(&p, g, options, error);
    if (status != WG_OK)
        return status;
    status = wg_picture_write(p, format, f, error);
    wg_picture_free(p);
    return status;
}

static wg_status write_graph(const wg_graph *g, FILE *f, wg_error *error)
{
    wg_status status = wg_graph_print(g, f);
    return status == WG_OK ? WG_OK : wgi_error_set(error, status, "%s", wg_graph_message(g));
}

/* The file's bytes, which the caller frees; NULL on failure. */
static char *bytes_of(const wg_graph *g, int format, const wg_picture_options *options,
                      size_t *size, wg_error *error)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    wg_status status = WG_ENOMEM;
    if (f)
        status = format == GRAPH ? write_graph(g, f, error)
                                 : write_picture(g, (wg_picture_format)format, options, f, error);
    char *bytes = wgi_text_close(&b);
    *size = b.size;
    if (bytes && status == WG_OK)
        return bytes;
    if (!bytes)
        wgi_error_set(error, WG_ENOMEM, "no memory for the file");
    free(bytes);
    return NULL;
}

wg_status wg_picture_save(const wg_graph *g, const char *path, const wg_picture_options *options,
                          wg_error *error)
{
    wg_error own, *e = error ? error : &own;
    int format = WG_PICTURE_SVG;
    size_t size;
    wgi_error_clear(e);
    if (!g || !path)
        return wgi_error_set(e, WG_EINVAL, "wg_picture_save: an argument is NULL");
    if (format_of(&format, path, e) != WG_OK || check_place(path, e) != WG_OK)
        return e->status;
    char *bytes = bytes_of(g, format, options, &size, e);
    if (bytes)
        wgi_file_replace_bytes(path, bytes, size, e); /* keeps the warning of the layout */
    free(bytes);
    return e->status;
}
