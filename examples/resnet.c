/* A residual network (He et al. 2016) tells noisy shapes apart; then its file is loaded into a
 * graph for inference, which must be as good.
 *
 *     resnet               trains for some seconds
 *     resnet MODEL.svg     draws the model
 *
 * In each epoch the training images are shifted by other random numbers of pixels.  Exits with 0 if
 * 97 % of new images are told right, in both graphs. */
#include "wengert.h"

#include "shapes.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

enum {
    S = SHAPE_PIXELS,
    TRAINING = 1600,
    OTHERS = 400,
    BATCH = 32,
    FEW = 4,
    EPOCHS = 12,
    SHIFT = 2
};

/* ---- the images ------------------------------------------------------------------------------ */

/* y[i, j] = x[i - down, j - right], 0 where this is outside */
static void shift(float *y, const float *x, int down, int right)
{
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S; j++) {
            int a = i - down, b = j - right;
            y[i * S + j] = a >= 0 && a < S && b >= 0 && b < S ? x[a * S + b] : 0;
        }
}

/* Example i of training, shifted in another way in each epoch; or, with a context, of the
 * others. */
static wg_status draw_example(void *others, int64_t epoch, int64_t i, void *const *to,
                              wg_error *error)
{
    float image[S * S];
    uint64_t state = (uint64_t)(epoch * TRAINING + i);
    int down = 0, right = 0;
    (void)error;
    *(int32_t *)to[1] = shape_draw(image, others ? 1 : 0, (int)i);
    if (!others) {
        down = (int)((2 * SHIFT + 1) * shape_random(&state)) - SHIFT;
        right = (int)((2 * SHIFT + 1) * shape_random(&state)) - SHIFT;
    }
    shift(to[0], image, down, right);
    return WG_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* BatchNorm(conv(x)), by a kernel of k x k: [B, features, H / stride, W / stride] */
static wg_value *conv_norm(const char *name, wg_value *x, int64_t features, int64_t k,
                           int64_t stride, bool training)
{
    const wg_conv2d_layer_options o = {
        .conv = {.stride = {stride, stride}, .padding = {k / 2, k / 2}},
        .no_bias = true,
        .init = wg_he(1)};
    wg_graph *g = wg_graph_of(x);
    wg_scope_push(g, "%s", name);
    x = wg_batchnorm_layer("norm", wg_conv2d_layer("conv", x, features, k, &o), training, NULL);
    wg_scope_pop(g);
    return x;
}

/* relu(f(x) + shortcut(x)), where f is two convolutions and the shortcut is x itself, or a
 * convolution of 1 x 1 if the shape changes. */
static wg_value *block(const char *name, wg_value *x, int64_t features, int64_t stride,
                       bool training)
{
    wg_graph *g = wg_graph_of(x);
    wg_scope_push(g, "%s", name);
    wg_value *y = wg_relu(conv_norm("first", x, features, 3, stride, training));
    y = conv_norm("second", y, features, 3, 1, training);
    if (stride != 1)
        x = conv_norm("shortcut", x, features, 1, stride, training);
    x = wg_relu(wg_add(y, x));
    wg_scope_pop(g);
    return x;
}

/* images [B, 1, S, S]: logits [B, SHAPE_KINDS] */
static wg_value *resnet(wg_value *images, bool training)
{
    wg_value *x = wg_relu(conv_norm("stem", images, 8, 3, 1, training));
    x = block("block1", x, 8, 1, training);
    x = block("block2", x, 16, 2, training);
    x = block("block3", x, 32, 2, training);
    x = wg_mean(x, WG_AXES(2, 3), WG_DROP);
    return wg_dense("kinds", x, SHAPE_KINDS, WG_ACTIVATION_NONE);
}

static wg_value *model(void *context, const wg_model_step *step)
{
    wg_value *kind = wg_step_input(step, "kind");
    wg_value *logits = resnet(wg_step_input(step, "image"), step->mode == WG_MODE_TRAINING);
    (void)context;
    wg_step_metric(step, "accuracy", wg_accuracy(logits, kind, NULL), WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, kind, NULL, NULL);
}

/* ---- the uses -------------------------------------------------------------------------------- */

/* Writes the weights to `path`; returns the accuracy on the other images. */
static double train(const char *path)
{
    const wg_field fields[] = {{.name = "image", .dtype = WG_F32, .shape = WG_SHAPE(1, S, S)},
                               {.name = "kind", .dtype = WG_I32, .shape = WG_SCALAR}};
    wg_examples training = {fields, 2, TRAINING, .read = draw_example, .batch = BATCH},
                others = training;
    others.count = OTHERS;
    others.context = &others;
    const wg_trainer_options options = {
        .model = model,
        .train = &training,
        .valid = &others,
        .optimizer = {.kind = WG_OPTIMIZER_SGD, .momentum = 0.9, .weight_decay = 1e-4},
        .schedule = {WG_SCHEDULE_COSINE, .rate = 0.05, .warmup = 20},
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
    if (wg_trainer_run(t, NULL) != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    double accuracy = wg_trainer_metric(t, "accuracy");
    if (wg_store_save_weights(wg_trainer_store(t), path, NULL, &error) != WG_OK)
        errx(1, "%s", error.text);
    wg_trainer_free(t);
    return accuracy;
}

/* The accuracy of the weights in `path`, in a graph without loss, gradient and batch statistics. */
static double test(const char *path)
{
    int32_t kind[OTHERS];
    int right = 0;
    wg_error error;
    wg_graph *g = wg_graph_new();
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(OTHERS, 1, S, S));
    wg_value *answer = wg_output(wg_argmax(resnet(image, false), -1, WG_DROP), "answer");
    wg_store *store = wg_store_new(0);
    wg_plan *plan;
    if (wg_plan_create(&plan, g, &(wg_plan_options){.store = store}) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
    if (wg_store_load_weights(store, path, NULL, NULL, &error) != WG_OK)
        errx(1, "%s", error.text);
    for (int i = 0; i < OTHERS; i++)
        kind[i] = shape_draw(wg_plan_f32(plan, image) + i * S * S, 1, i);
    if (wg_plan_run(plan, 0) != WG_OK)
        errx(1, "%s", wg_plan_message(plan));
    for (int i = 0; i < OTHERS; i++)
        right += wg_plan_i64(plan, answer)[i] == kind[i];
    wg_plan_free(plan);
    wg_store_free(store);
    wg_graph_free(g);
    return (double)right / OTHERS;
}

static void draw(const char *path)
{
    wg_error error;
    wg_graph *g = wg_graph_new();
    wg_output(resnet(wg_input(g, "image", WG_F32, WG_SHAPE(FEW, 1, S, S)), false), "logits");
    if (wg_picture_save(g, path, &(wg_picture_options){.title = "resnet"}, &error) != WG_OK)
        errx(1, "%s", error.text);
    wg_graph_free(g);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        draw(argv[1]);
        return 0;
    }
    double trained = train("resnet.safetensors"), loaded = test("resnet.safetensors");
    printf("%.2f %% of %d other images; loaded from the file, %.2f %%\n", 100 * trained, OTHERS,
           100 * loaded);
    return !(trained >= 0.97 && fabs(loaded - trained) <= 1.0 / OTHERS); /* one on the border */
}
