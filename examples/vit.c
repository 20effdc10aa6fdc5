/* A vision Transformer (Dosovitskiy et al. 2021) tells noisy shapes apart: an image is a sentence
 * of patches, with one learned token before them whose last state is classified.
 *
 *     vit               trains for some seconds
 *     vit MODEL.svg     draws the model
 *
 * Exits with 0 if 95 % of new images are told right. */
#include "wengert.h"

#include "shapes.h"

#include <err.h>
#include <stdio.h>

enum { S = SHAPE_PIXELS, PATCH = 4, SIDE = S / PATCH, PATCHES = SIDE * SIDE, D = 64, HEADS = 4 };
enum { BLOCKS = 2, TRAINING = 12800, OTHERS = 400, BATCH = 32, FEW = 4, EPOCHS = 4 };

/* images [B, 1, S, S]: the pixels of each patch side by side, [B, PATCHES, PATCH PATCH] */
static wg_value *patches(wg_value *images)
{
    wg_graph *g = wg_graph_of(images);
    int64_t B = wg_value_dim(images, 0);
    wg_scope_push(g, "patches");
    wg_value *x = wg_reshape(images, WG_SHAPE(B, SIDE, PATCH, SIDE, PATCH));
    x = wg_reshape(wg_permute(x, WG_AXES(0, 1, 3, 2, 4)), WG_SHAPE(B, PATCHES, PATCH * PATCH));
    wg_scope_pop(g);
    return x;
}

/* x + Attention(norm(x)), then x + FeedForward(norm(x)).  x: [B, 1 + PATCHES, D] */
static wg_value *block(wg_value *x)
{
    const wg_multi_head_options attention = {.heads = HEADS, .fused = true};
    const wg_feed_forward_options mlp = {.activation = WG_ACTIVATION_GELU};
    wg_value *n = wg_layernorm_layer("norm1", x);
    x = wg_add(x, wg_multi_head_attention("attention", n, n, &attention));
    n = wg_layernorm_layer("norm2", x);
    return wg_add(x, wg_feed_forward("mlp", n, 2 * D, &mlp));
}

/* images [B, 1, S, S]: logits [B, SHAPE_KINDS] */
static wg_value *vit(wg_value *images)
{
    wg_graph *g = wg_graph_of(images);
    int64_t B = wg_value_dim(images, 0);
    wg_value *class = wg_parameter(g, "class", WG_F32, WG_SHAPE(1, 1, D), wg_normal_init(0.02));
    wg_value *positions =
        wg_parameter(g, "positions", WG_F32, WG_SHAPE(1 + PATCHES, D), wg_normal_init(0.02));
    wg_value *x = wg_dense("embedding", patches(images), D, WG_ACTIVATION_NONE);
    wg_value *tokens[] = {wg_expand(class, WG_SHAPE(B, 1, D)), x};
    x = wg_add(wg_concat(tokens, 2, 1), positions);
    for (int i = 0; i < BLOCKS; i++) {
        wg_scope_push(g, "block%d", i);
        x = block(x);
        wg_scope_pop(g);
    }
    x = wg_squeeze(wg_slice(x, 1, 0, 1, 1), 1); /* the first token, [B, D] */
    return wg_dense("kinds", wg_layernorm_layer("norm", x), SHAPE_KINDS, WG_ACTIVATION_NONE);
}

static wg_value *model(void *context, const wg_model_step *step)
{
    wg_value *kind = wg_step_input(step, "kind");
    wg_value *logits = vit(wg_step_input(step, "image"));
    (void)context;
    wg_step_metric(step, "accuracy", wg_accuracy(logits, kind, NULL), WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, kind, NULL, NULL);
}

/* What the trained model can do; 0 if that is enough. */
static int judge(wg_trainer *t)
{
    double accuracy = wg_trainer_metric(t, "accuracy");
    printf("%.2f %% of %d other images\n", 100 * accuracy, OTHERS);
    return !(accuracy >= 0.95);
}

int main(int argc, char **argv)
{
    static float images[TRAINING + OTHERS][S * S];
    static int32_t kinds[TRAINING + OTHERS];
    for (int i = 0; i < TRAINING + OTHERS; i++)
        kinds[i] = shape_draw(images[i], 0, i);
    const wg_field fields[] = {{"image", WG_F32, WG_SHAPE(1, S, S), images},
                               {"kind", WG_I32, WG_SCALAR, kinds}},
                   other_fields[] = {{"image", WG_F32, WG_SHAPE(1, S, S), images[TRAINING]},
                                     {"kind", WG_I32, WG_SCALAR, kinds + TRAINING}};
    const wg_examples training = {fields, 2, TRAINING, .batch = BATCH},
                      others = {other_fields, 2, OTHERS, .batch = FEW};
    const wg_parameter_group without_decay[] = {
        {.names = "*norm*"}, {.names = "*bias"}, {.names = "class"}, {.names = "positions"}};
    const wg_trainer_options options = {
        .model = model,
        .train = &training,
        .valid = &others,
        .optimizer = {.kind = WG_OPTIMIZER_ADAMW, .weight_decay = 0.05, .clip_norm = 1},
        .groups = without_decay,
        .n_groups = 4,
        .schedule = {WG_SCHEDULE_COSINE, .rate = 3e-3, .warmup = 40},
        .after = {EPOCHS, 'e'},
        .validate = {1, 'e'},
        .metrics = "accuracy",
        .seed = 1,
        .listener = {wg_print_event, stdout},
    };
    wg_error error;
    wg_trainer *t;
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options picture = {.title = "vit"};
    wg_status status = argc > 1 ? wg_trainer_draw(t, argv[1], &picture) : wg_trainer_run(t, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    int code = argc > 1 ? 0 : judge(t);
    wg_trainer_free(t);
    return code;
}
