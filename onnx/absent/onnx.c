/* In place of onnx/ where its libraries were not found. */
#include "wengert/onnx/onnx.h"
#include "graph/error.h"

static wg_status absent(wg_error *error)
{
    return wgi_error_set(error, WG_EUNSUPPORTED,
                         "not built with ONNX: it needs libprotobuf-c-dev, protobuf-c-compiler and "
                         "libonnx-dev");
}

wg_status wg_onnx_import(wg_graph **out, const char *path, const wg_onnx_import_options *options,
                         wg_error *error)
{
    (void)path;
    (void)options;
    if (out)
        *out = NULL;
    return absent(error);
}

wg_status wg_onnx_describe(const char *path, FILE *out, wg_error *error)
{
    (void)path;
    (void)out;
    return absent(error);
}

wg_status wg_onnx_print_ops(FILE *out, wg_error *error)
{
    (void)out;
    return absent(error);
}

wg_status wg_onnx_tensor_read(wg_onnx_tensor *out, const char *path, wg_error *error)
{
    (void)path;
    if (out)
        *out = (wg_onnx_tensor){0};
    return absent(error);
}

void wg_onnx_tensor_free(wg_onnx_tensor *t)
{
    (void)t;
}

wg_status wg_onnx_export(const wg_graph *g, const char *path, const wg_onnx_export_options *options,
                         wg_error *error)
{
    (void)g;
    (void)path;
    (void)options;
    return absent(error);
}
