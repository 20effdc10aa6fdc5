/* An image classifier that somebody made elsewhere, as an ONNX file, is trained further for
 * another task, and written as ONNX again.
 *
 *     onnx_classifier
 *
 * The file tells bright shapes on dark ground apart.  The new task is dark shapes on bright
 * ground, of which there are 320 images: a new layer behind the output "features" learns them
 * together with all that was imported.  Exits with 0 if of other dark shapes fewer than half were
 * told right before and 90 % are afterwards, and the file that is written says the same.
 *
 * So that the example needs no file, it makes the first one itself: make_file has nothing that the
 * rest knows of. */
#include "wengert.h"

#include "shapes.h"

#include <stdio.h>
#include <string.h>

enum { S = SHAPE_PIXELS, PIXELS = S * S, BATCH = 32, FEATURES = 32 };

static int fail(const char *message)
{
    fprintf(stderr, "%s\n", message);
    return 1;
}

/* ---- somebody else's model ------------------------------------------------------------------- */

/* BatchNorm(conv(x)), relu, and the maximum of 2 x 2. */
static wg_value *stage(const char *name, wg_value *x, int64_t features, bool training)
{
    const wg_conv2d_layer_options o = {
        .conv = {.padding = {1, 1}}, .no_bias = true, .init = wg_he(1)};
    wg_graph *g = wg_graph_of(x);
    wg_scope_push(g, "%s", name);
    x = wg_conv2d_layer("conv", x, features, 3, &o);
    x = wg_relu(wg_batchnorm_layer("norm", x, training, NULL));
    wg_scope_pop(g);
    return wg_max_pool2d(x, &(wg_pool2d_options){.kernel = {2, 2}});
}

static wg_value *features_of(wg_value *images, bool training)
{
    wg_value *x = stage("stage1", images, 8, training);
    x = stage("stage2", x, 16, training);
    return wg_mean(stage("stage3", x, FEATURES, training), WG_AXES(2, 3), WG_DROP);
}

static wg_value *classifier(void *context, const wg_model_step *step)
{
    bool training = step->mode == WG_MODE_TRAINING;
    wg_value *x = features_of(wg_step_input(step, "image"), training);
    wg_value *logits = wg_dense("kinds", x, SHAPE_KINDS, WG_ACTIVATION_NONE);
    (void)context;
    return wg_cross_entropy(logits, wg_step_input(step, "kind"), NULL, NULL);
}

static wg_status draw_bright(void *context, int64_t epoch, int64_t i, void *const *to,
                             wg_error *error)
{
    (void)context;
    (void)epoch;
    (void)error;
    *(int32_t *)to[1] = shape_draw(to[0], 0, (int)i);
    return WG_OK;
}

/* The trained model for batches of BATCH images, with the outputs "features" and "logits". */
static wg_status export_model(const wg_store *store, const char *path, wg_error *error)
{
    wg_graph *g = wg_graph_new();
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(BATCH, 1, S, S));
    wg_value *x = wg_output(features_of(image, false), "features");
    wg_output(wg_dense("kinds", x, SHAPE_KINDS, WG_ACTIVATION_NONE), "logits");
    wg_status status = wg_onnx_export(g, path, &(wg_onnx_export_options){.store = store}, error);
    wg_graph_free(g);
    return status;
}

static int make_file(const char *path)
{
    const wg_field fields[] = {{.name = "image", .dtype = WG_F32, .shape = WG_SHAPE(1, S, S)},
                               {.name = "kind", .dtype = WG_I32, .shape = WG_SCALAR}};
    const wg_examples bright = {fields, 2, 960, .read = draw_bright, .batch = BATCH};
    const wg_trainer_options options = {.model = classifier,
                                        .train = &bright,
                                        .schedule = {WG_SCHEDULE_COSINE, .rate = 5e-3},
                                        .after = {4, 'e'},
                                        .seed = 1};
    wg_error error;
    wg_trainer *t;
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        return fail(error.text);
    if (wg_trainer_run(t, NULL) != WG_OK)
        return fail(wg_trainer_message(t));
    wg_status status = export_model(wg_trainer_store(t), path, &error);
    wg_trainer_free(t);
    return status == WG_OK ? 0 : fail(error.text);
}

/* ---- the images of the new task -------------------------------------------------------------- */

/* Images i, ..., i + BATCH - 1 of a sequence, dark on bright ground. */
static void draw_dark(float *images, int32_t *kinds, uint64_t sequence, int i)
{
    for (int k = 0; k < BATCH; k++)
        kinds[k] = shape_draw(images + k * PIXELS, sequence, i + k);
    for (int k = 0; k < BATCH * PIXELS; k++)
        images[k] = 1 - images[k];
}

/* ---- the file, trained further --------------------------------------------------------------- */

/* The imported model with a new layer behind "features"; NULL after a failure.  In training its
 * batch normalisation goes by the batch, and moves its running statistics. */
static wg_graph *with_new_layer(const char *path, bool training, wg_value **logits)
{
    wg_graph *g;
    wg_error error;
    if (wg_onnx_import(&g, path, &(wg_onnx_import_options){.train = training}, &error) != WG_OK) {
        fail(error.text);
        return NULL;
    }
    *logits =
        wg_dense("dark", wg_graph_find_output(g, "features"), SHAPE_KINDS, WG_ACTIVATION_NONE);
    return g;
}

/* 100 updates on ten batches in turn; the parameters are then in the store. */
static int tune(const char *path, wg_store *store)
{
    enum { UPDATES = 100 };
    wg_value *logits;
    wg_graph *g = with_new_layer(path, true, &logits);
    if (!g)
        return 1;
    wg_value *kind = wg_input(g, "kind", WG_I32, WG_SHAPE(BATCH));
    wg_value *loss = wg_output(wg_cross_entropy(logits, kind, NULL, NULL), "loss");
    wg_gradients d = wg_grad_all(loss);
    wg_adam_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 5e-3), NULL);
    wg_plan *plan;
    if (wg_plan_create(&plan, g, &(wg_plan_options){.store = store}) != WG_OK)
        return fail(wg_graph_message(g));
    for (int i = 0; i < UPDATES; i++) {
        draw_dark(wg_plan_f32(plan, wg_graph_find(g, "image")), wg_plan_i32(plan, kind), 1,
                  i % 10 * BATCH);
        if (wg_plan_run(plan, (uint64_t)i) != WG_OK)
            return fail(wg_plan_message(plan));
        if (i % 25 == 0 || i == UPDATES - 1)
            printf("update %3d  loss %.4f\n", i + 1, wg_plan_scalar(plan, loss));
    }
    wg_plan_free(plan);
    wg_graph_free(g);
    return 0;
}

/* The tuned model as a file: running statistics in the place of the batch's. */
static int write_tuned(const char *from, const wg_store *store, const char *path)
{
    wg_value *logits;
    wg_graph *g = with_new_layer(from, false, &logits);
    wg_error error;
    if (!g)
        return 1;
    wg_output(logits, "dark_logits");
    wg_status status = wg_onnx_export(g, path, &(wg_onnx_export_options){.store = store}, &error);
    wg_graph_free(g);
    return status == WG_OK ? 0 : fail(error.text);
}

/* The share of other dark shapes that the output `name` of a file tells right; -1 on failure. */
static double share_right(const char *path, const char *name)
{
    enum { OTHERS = 320 };
    int32_t kinds[BATCH];
    int right = 0;
    wg_graph *g;
    wg_plan *plan;
    wg_error error;
    if (wg_onnx_import(&g, path, NULL, &error) != WG_OK)
        return -fail(error.text);
    wg_value *answer = wg_output(wg_argmax(wg_graph_find_output(g, name), -1, WG_DROP), "answer");
    if (wg_plan_create(&plan, g, NULL) != WG_OK)
        return -fail(wg_graph_message(g));
    for (int i = 0; i < OTHERS; i += BATCH) {
        draw_dark(wg_plan_f32(plan, wg_graph_find(g, "image")), kinds, 2, i);
        if (wg_plan_run(plan, 0) != WG_OK)
            return -fail(wg_plan_message(plan));
        for (int k = 0; k < BATCH; k++)
            right += wg_plan_i64(plan, answer)[k] == kinds[k];
    }
    wg_plan_free(plan);
    wg_graph_free(g);
    return (double)right / OTHERS;
}

int main(void)
{
    static const char bright[] = "bright.onnx", dark[] = "dark.onnx";
    if (make_file(bright))
        return 1;
    double before = share_right(bright, "logits");
    wg_store *store = wg_store_new(1);
    if (before < 0 || tune(bright, store) || write_tuned(bright, store, dark))
        return 1;
    wg_store_free(store);
    double after = share_right(dark, "dark_logits");
    printf("dark shapes: %.1f %% with the file as it was, %.1f %% with the one that was written\n",
           100 * before, 100 * after);
    return !(before < 0.5 && after >= 0.9);
}
