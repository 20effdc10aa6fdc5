/* Models of the size of well-known ones, with random weights, as ONNX files, to be timed beside
 * another engine: scripts/bench-onnxruntime.
 *
 *     bench_onnx_models FOLDER
 *
 * writes resnet50.onnx (25.6 million parameters; one image of 224 x 224) and gpt2.onnx (124 million
 * parameters, 500 MB; one text of 128 tokens). */
#include "wengert.h"

#include <stdio.h>

/* ---- ResNet-50: He et al. 2016, table 1 ------------------------------------------------------ */

/* Convolution with a bias: batch normalisation of a trained model is a part of it. */
static wg_value *conv(const char *name, wg_value *x, int64_t features, int64_t kernel,
                      int64_t stride)
{
    const wg_conv2d_options o = {.stride = {stride, stride}, .padding = {kernel / 2, kernel / 2}};
    return wg_conv_layer(name, x, features, kernel, &o);
}

/* 1 x 1, 3 x 3, 1 x 1, beside the identity, or a convolution where the shape changes. */
static wg_value *bottleneck(wg_value *x, int64_t width, int64_t stride)
{
    wg_value *y = wg_relu(conv("reduce", x, width, 1, 1));
    y = wg_relu(conv("middle", y, width, 3, stride));
    y = conv("widen", y, 4 * width, 1, 1);
    if (x && (stride != 1 || x->shape.dim[1] != 4 * width))
        x = conv("shortcut", x, 4 * width, 1, stride);
    return wg_relu(wg_add(x, y));
}

static void resnet50(wg_graph *g)
{
    static const int blocks[] = {3, 4, 6, 3};
    wg_value *x = wg_input(g, "image", WG_F32, WG_SHAPE(1, 3, 224, 224));
    x = wg_relu(conv("stem", x, 64, 7, 2));
    x = wg_max_pool2d(x, &(wg_pool2d_options){{3, 3}, {2, 2}, {1, 1}, {0}, false, false});
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++) {
            wg_scope_push(g, "stage%d_%d", stage, i);
            x = bottleneck(x, 64 << stage, stage > 0 && i == 0 ? 2 : 1);
            wg_scope_pop(g);
        }
    x = wg_mean(x, WG_AXES(2, 3), WG_DROP);
    wg_output(wg_dense("classes", x, 1000, WG_ACTIVATION_NONE), "logits");
}

/* ---- GPT-2 small: Radford et al. 2019 -------------------------------------------------------- */

static void gpt2(wg_graph *g)
{
    enum { T = 128, D = 768, LAYERS = 12, TOKENS = 50257, POSITIONS = 1024 };
    const wg_multi_head_options past = {.heads = 12, .causal = true, .fused = true};
    const wg_feed_forward_options gelu = {.activation = WG_ACTIVATION_GELU_TANH};
    const wg_init small = wg_normal_init(0.02);
    wg_value *tokens = wg_input(g, "tokens", WG_I32, WG_SHAPE(1, T));
    wg_value *words = wg_parameter(g, "words", WG_F32, WG_SHAPE(TOKENS, D), small);
    wg_value *positions = wg_parameter(g, "positions", WG_F32, WG_SHAPE(POSITIONS, D), small);
    wg_value *x = wg_add(wg_embedding(words, tokens), wg_slice(positions, 0, 0, T, 1));
    for (int i = 0; i < LAYERS; i++) {
        wg_scope_push(g, "layer%d", i);
        wg_value *n = wg_layernorm_layer("norm1", x);
        x = wg_add(x, wg_multi_head_attention("attention", n, n, &past));
        x = wg_add(x, wg_feed_forward("mlp", wg_layernorm_layer("norm2", x), 4 * D, &gelu));
        wg_scope_pop(g);
    }
    wg_output(wg_matmul_t(wg_layernorm_layer("norm", x), words, WG_NT), "logits");
}

/* ---- files ----------------------------------------------------------------------------------- */

static int write_model(const char *folder, const char *name, void (*build)(wg_graph *g))
{
    char path[4096];
    wg_error error;
    wg_graph *g = wg_graph_new();
    build(g);
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    wg_status status = wg_onnx_export(g, path, &(wg_onnx_export_options){.name = name}, &error);
    double parameters = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        parameters += n->op->flags & WG_OP_PARAMETER ? (double)wg_value_count(n->out[0]) : 0;
    }
    wg_graph_free(g);
    if (status != WG_OK)
        return fprintf(stderr, "%s\n", error.text), 1;
    printf("%s: %.1f million parameters\n", path, 1e-6 * parameters);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fprintf(stderr, "Usage: bench_onnx_models FOLDER\n"), 2;
    return write_model(argv[1], "resnet50", resnet50) || write_model(argv[1], "gpt2", gpt2);
}
