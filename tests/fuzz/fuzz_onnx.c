/* Any bytes as an ONNX model: refused with a message that names the file, or a graph that passes
 * the builders' checks, and that can be exported or says why not. */
#include "wengert/onnx/onnx.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

static wg_error error;

static void check_description(const char *path)
{
    FILE *f = fopen("/dev/null", "w");
    if (!f)
        return;
    wg_status status = wg_onnx_describe(path, f, &error);
    NEED_OK(status == WG_OK || strncmp(error.text, path, strlen(path)) == 0, error.text);
    fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], other[64];
    wg_graph *g;
    wg_onnx_tensor t;
    const wg_onnx_import_options options = {.other_dims = 2, .train = size % 2};
    fuzz_file(path, "x.onnx", data, size);
    wg_status status = wg_onnx_import(&g, path, &options, &error);
    fuzz_accepted(status == WG_OK);
    NEED((status == WG_OK) == (g != NULL));
    if (status != WG_OK)
        NEED_OK(strncmp(error.text, path, strlen(path)) == 0, error.text);
    check_description(path);
    if (g) {
        NEED_OK(wg_graph_verify(g) == WG_OK, wg_graph_message(g));
        NEED(wg_onnx_export(g, fuzz_path(other, "y.onnx"), NULL, &error) == WG_OK || error.text[0]);
    }
    wg_graph_free(g);
    NEED(wg_onnx_tensor_read(&t, path, &error) == WG_OK || !t.data);
    wg_onnx_tensor_free(&t);
    return 0;
}
