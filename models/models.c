#include "wengert/models/models.h"
#include "models/internal.h"

#include <string.h>

/* The mean cross entropy of logits [..., classes] against labels [...]. */
static wg_value *classify(wg_value *logits, wg_value *labels)
{
    return wg_output(wg_cross_entropy(logits, labels, NULL, NULL), "loss");
}

/* x [16, 64] -> relu -> relu -> 10 classes */
static wg_value *mlp(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(16, 64));
    wg_value *labels = wg_input(g, "labels", WG_I64, WG_SHAPE(16));

    wg_value *h = wg_dense("hidden1", x, 64, WG_ACTIVATION_RELU);
    h = wg_dense("hidden2", h, 32, WG_ACTIVATION_RELU);
    return classify(wg_dense("logits", h, 10, WG_ACTIVATION_NONE), labels);
}

/* y = LayerNorm(x + Attention(x, x, x)), against a target */
static wg_value *attention(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 8, 32));
    wg_value *target = wg_input(g, "target", WG_F32, WG_SHAPE(2, 8, 32));

    wg_value *a = wg_multi_head_attention("self_attn", x, x, &(wg_multi_head_options){.heads = 4});
    wg_value *y = wg_layernorm_layer("norm", wg_add(x, a));
    return wg_output(wg_mse(y, target, WG_LOSS_MEAN), "loss");
}

/* Two convolutions, each with relu and the maximum of 2 x 2, then the mean of each plane. */
static wg_value *convnet(wg_graph *g)
{
    const wg_conv2d_options same = {.padding = {1, 1}};
    const wg_pool2d_options half = {.kernel = {2, 2}};
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(4, 1, 12, 12));
    wg_value *labels = wg_input(g, "labels", WG_I64, WG_SHAPE(4));

    wg_value *h = wg_max_pool2d(wg_relu(wg_conv_layer("conv1", image, 4, 3, &same)), &half);
    h = wg_max_pool2d(wg_relu(wg_conv_layer("conv2", h, 8, 3, &same)), &half);
    h = wg_reshape(wg_global_avg_pool2d(h), WG_SHAPE(4, 8));
    return classify(wg_dense("logits", h, 10, WG_ACTIVATION_NONE), labels);
}

/* Which token follows?  Embedding, LSTM over time, logits. */
static wg_value *lstm(wg_graph *g)
{
    enum { VOCABULARY = 20 };
    wg_value *tokens = wg_input(g, "tokens", WG_I64, WG_SHAPE(3, 5));
    wg_value *next = wg_input(g, "next", WG_I64, WG_SHAPE(3, 5));

    wg_value *x = wg_embedding_layer("embedding", tokens, VOCABULARY, 8, WG_F32);
    wg_value *h = wg_lstm_layer("lstm", x, 12);
    return classify(wg_dense("logits", h, VOCABULARY, WG_ACTIVATION_NONE), next);
}

/* The Transformer: 2 sentences of 7 and 6 tokens; without an encoder, of 6. */
static wg_value *build_transformer(wg_graph *g, const wg_transformer_config *c)
{
    wg_transformer m = wg_transformer_begin(g, c, WG_MODE_TRAINING);
    wg_transformer_inputs in = wg_transformer_inputs_new(g, 2, c->encoder_layers ? 7 : 0, 6);
    return wg_output(wg_transformer_loss(&m, &in, NULL), "loss");
}

/* "base" with small layers: six and six. */
static wg_transformer_config small_base(int64_t vocabulary)
{
    wg_transformer_config c = *wg_transformer_find("base");
    c.source_vocabulary = c.target_vocabulary = vocabulary;
    c.d_model = 32;
    c.d_ff = 64;
    c.heads = 4;
    return c;
}

static wg_value *transformer(wg_graph *g)
{
    const wg_transformer_config c = small_base(11);
    return build_transformer(g, &c);
}

/* Its encoder alone: tokens are told from each other. */
static wg_value *encoder(wg_graph *g)
{
    const wg_transformer_config c = small_base(50);
    wg_value *tokens = wg_input(g, "tokens", WG_I64, WG_SHAPE(2, 8));
    wg_value *lengths = wg_input(g, "lengths", WG_I64, WG_SHAPE(2));

    wg_transformer m = wg_transformer_begin(g, &c, WG_MODE_INFERENCE);
    wg_value *states = wg_transformer_encode(&m, tokens, lengths);
    return classify(wg_transformer_logits(&m, states), tokens);
}

static const char *transformer_variant(wg_graph *g, size_t i)
{
    wg_transformer_config c;
    if (!wgi_transformer_variant(i, &c))
        return NULL;
    if (g)
        build_transformer(g, &c);
    return c.name;
}

/* clang-format off */
static const wg_model models[] = {
    {"mlp", "multi-layer perceptron: two hidden layers, cross entropy over 10 classes", mlp, NULL,
     {{"labels", 10}}, NULL},
    {"attention", "multi-head self-attention with residual and layer normalisation", attention,
     NULL, {{0}}, NULL},
    {"encoder", "Transformer encoder of six layers over embedded tokens", encoder, NULL,
     {{"tokens", 50}, {"lengths", 9}}, NULL},
    {"convnet", "two convolutions with pooling, cross entropy over 10 classes", convnet, NULL,
     {{"labels", 10}}, NULL},
    {"lstm", "language model: embedding, LSTM over time, cross entropy of the next token", lstm,
     NULL, {{"tokens", 20}, {"next", 20}}, NULL},
    {"transformer",
     "Transformer of six encoder and six decoder layers, from source and target to the loss",
     transformer, transformer_variant,
     {{"source", 7}, {"source_lengths", 8}, {"target_in", 11}, {"target_out", 11}}, NULL},
};
/* clang-format on */

const wg_model *wg_model_at(size_t i)
{
    return i < WG_COUNT(models) ? &models[i] : NULL;
}

const wg_model *wg_model_find(const char *name)
{
    for (size_t i = 0; name && i < WG_COUNT(models); i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

int64_t wg_model_range(const wg_model *model, const char *input)
{
    for (int i = 0; i < WG_MODEL_INPUTS && model->ranges[i].input; i++)
        if (strcmp(model->ranges[i].input, input) == 0)
            return model->ranges[i].below;
    return 2;
}
