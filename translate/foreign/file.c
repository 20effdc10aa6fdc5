#include "files/replace.h"
#include "graph/error.h"
#include "graph/text_buffer.h"
#include "translate/foreign/export.h"
#include "wengert/train/folder.h"

#include <stdlib.h>

wg_status wgi_export_file(const wgi_export *x, const char *name,
                          wg_status (*put)(FILE *f, const wgi_export *x, int side), int side)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    char *path = wg_folder_path(x->folder, "%s", name), *text;
    bool written = f && put(f, x, side) == WG_OK;
    text = wgi_text_close(&b);
    wg_status status =
        text && path && written
            ? wgi_file_replace_bytes(path, text, b.size, x->error)
            : wgi_error_file(x->error, WG_ENOMEM, x->folder, "no memory to write %s", name);
    free(text);
    free(path);
    return status;
}
