/* The training step of small models other than the Transformer, against PyTorch: each in a process
 * of its own, all in turn, as bench_steps does it.
 *
 *     bench_models [ROUNDS [PYTHON [MODEL...]]]     9 rounds, python3, all models
 *
 * Adam, no clipping; the PyTorch side is pytorch_models.py.  Models whose names end in ".onnx" are
 * trained as somebody else's would be: exported without loss, imported from the file, and then
 * given loss, gradient and optimizer; PyTorch trains the model that it has.  On a shared machine
 * look at the ratio: it is that of the two steps of one round. */
#include "graph/threads.h"
#include "measure/child.h"
#include "wengert.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char role[] = "--model";

/* ---- the models ------------------------------------------------------------------------------ */

/* ids [B, T] below `vocabulary`, as vectors of `d` */
static wg_value *embedded(wg_graph *g, int64_t B, int64_t T, int64_t vocabulary, int64_t d)
{
    wg_value *ids = wg_input(g, "ids", WG_I32, WG_SHAPE(B, T));
    return wg_embedding_layer("embedding", ids, vocabulary, d, WG_F32);
}

static wg_value *classes_of(wg_value *x, int64_t classes)
{
    return wg_dense("classes", x, classes, WG_ACTIVATION_NONE);
}

static wg_value *loss_of(wg_value *logits)
{
    wg_shape rows = logits ? logits->shape : WG_SHAPE(1);
    rows.rank -= logits ? 1 : 0;
    wg_value *labels = wg_input(wg_graph_of(logits), "labels", WG_I32, rows);
    return wg_cross_entropy(logits, labels, NULL, NULL);
}

static wg_value *lstm(wg_graph *g, bool training)
{
    (void)training;
    return classes_of(wg_lstm_layer("lstm", embedded(g, 32, 64, 1000, 256), 256), 10);
}

static wg_value *gru(wg_graph *g, bool training)
{
    (void)training;
    wg_value *x = embedded(g, 32, 64, 1000, 256);
    return classes_of(wg_recurrent_layer("gru", WG_GRU, x, 256, NULL).y, 10);
}

static wg_value *bilstm(wg_graph *g, bool training)
{
    (void)training;
    wg_recurrent_layer_options o = {.direction = WG_READ_BOTH};
    wg_value *x = embedded(g, 32, 32, 1000, 100);
    return classes_of(wg_recurrent_layer("bilstm", WG_LSTM, x, 100, &o).y, 10);
}

/* relu(batchnorm(conv 3x3)) */
static wg_value *conv(const char *name, wg_value *x, int64_t features, bool training)
{
    char norm[32];
    wg_conv2d_layer_options o = {.conv = {.padding = {1, 1}}, .no_bias = true};
    snprintf(norm, sizeof norm, "%s_norm", name);
    wg_value *y = wg_conv2d_layer(name, x, features, 3, &o);
    return wg_relu(wg_batchnorm_layer(norm, y, training, NULL));
}

static wg_value *cnn(wg_graph *g, bool training)
{
    wg_pool2d_options half = {.kernel = {2, 2}};
    wg_value *x = wg_input(g, "images", WG_F32, WG_SHAPE(64, 3, 32, 32));
    x = conv("conv2", conv("conv1", x, 32, training), 32, training);
    x = wg_max_pool2d(x, &half);
    x = conv("conv4", conv("conv3", x, 64, training), 64, training);
    x = wg_max_pool2d(x, &half);
    x = conv("conv5", x, 128, training);
    return classes_of(wg_mean(x, WG_AXES(2, 3), WG_DROP), 10);
}

/* Blocks that normalise before each layer (Xiong et al. 2020), with gelu. */
static wg_value *blocks(wg_value *x, int count, int64_t heads, bool causal)
{
    wg_multi_head_options attention = {.heads = heads, .causal = causal, .fused = true};
    wg_feed_forward_options inner = {.activation = WG_ACTIVATION_GELU};
    int64_t d = x ? x->shape.dim[2] : 1;
    for (int i = 0; i < count; i++) {
        char name[4][24];
        static const char *const part[] = {"norm1", "attention", "norm2", "ffn"};
        for (int k = 0; k < 4; k++)
            snprintf(name[k], sizeof name[k], "%s_%d", part[k], i);
        wg_value *y = wg_layernorm_layer(name[0], x);
        x = wg_add(x, wg_multi_head_attention(name[1], y, y, &attention));
        x = wg_add(x, wg_feed_forward(name[3], wg_layernorm_layer(name[2], x), 4 * d, &inner));
    }
    return wg_layernorm_layer("norm", x);
}

static wg_value *gpt(wg_graph *g, bool training)
{
    (void)training;
    wg_value *x = embedded(g, 16, 128, 256, 128);
    x = wg_add(x, wg_learned_positions("positions", g, WG_F32, 0, 128, 128, 0, 128));
    return classes_of(blocks(x, 4, 4, true), 256);
}

/* Patches of 4 x 4 of 32 x 32 images. */
static wg_value *vit(wg_graph *g, bool training)
{
    (void)training;
    wg_value *x = wg_input(g, "images", WG_F32, WG_SHAPE(32, 3, 8, 4, 8, 4));
    x = wg_reshape(wg_permute(x, WG_AXES(0, 2, 4, 1, 3, 5)), WG_SHAPE(32, 64, 48));
    x = wg_dense("patches", x, 128, WG_ACTIVATION_NONE);
    x = wg_add(x, wg_learned_positions("positions", g, WG_F32, 0, 64, 128, 0, 64));
    return classes_of(wg_mean(blocks(x, 4, 4, false), WG_AXES(1), WG_DROP), 10);
}

static const struct model {
    const char *name, *sizes;
    wg_value *(*build)(wg_graph *g, bool training); /* its logits */
} models[] = {
    {"lstm", "32 x 64 tokens, 256 units", lstm},
    {"gru", "32 x 64 tokens, 256 units", gru},
    {"bilstm", "32 x 32 tokens, 2 x 100 units", bilstm},
    {"cnn", "64 images of 32 x 32, 5 convolutions with batch norm", cnn},
    {"gpt", "16 x 128 tokens, 4 layers of 128", gpt},
    {"vit", "32 images of 32 x 32, 4 layers of 128", vit},
    {"cnn.onnx", "the same, imported", cnn},
    {"gpt.onnx", "the same, imported", gpt},
    {"vit.onnx", "the same, imported", vit},
};

static bool is_imported(const struct model *m)
{
    return strchr(m->name, '.') != NULL;
}

/* The model without a loss, through a file; false with a message. */
static bool import(const struct model *m, wg_graph **g)
{
    wg_error error;
    char path[] = "/tmp/bench-models-XXXXXX";
    wg_graph *from = wg_graph_new();
    wg_output(m->build(from, false), "logits");
    int file = mkstemp(path);
    bool made = file >= 0 && wg_onnx_export(from, path, NULL, &error) == WG_OK &&
                wg_onnx_import(g, path, &(wg_onnx_import_options){.train = true}, &error) == WG_OK;
    if (!made)
        printf("%s\n", file < 0 ? "no temporary file" : error.text);
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    wg_graph_free(from);
    return made;
}

/* ---- a child --------------------------------------------------------------------------------- */

typedef struct subject {
    wg_plan *plan;
    uint64_t step;
} subject;

static wg_status run_step(void *context)
{
    subject *s = context;
    return wg_plan_run(s->plan, ++s->step);
}

static void fill_inputs(wg_graph *g, wg_plan *p)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        wg_value *v = wg_graph_value(g, i);
        void *data = v->node->op == &wg_op_input ? wg_plan_data(p, v) : NULL;
        for (int64_t k = 0; data && k < wg_value_count(v); k++)
            if (v->dtype == WG_F32)
                ((float *)data)[k] = (float)(k % 17) / 17 - 0.4f;
            else
                ((int32_t *)data)[k] = (int32_t)(k % 10);
    }
}

static int serve(const char *name, int threads)
{
    const struct model *m = models;
    wg_graph *g = NULL;
    subject s = {NULL, 0};
    while (m < models + WG_COUNT(models) - 1 && strcmp(m->name, name) != 0)
        m++;
    if (is_imported(m) && !import(m, &g))
        return 1;
    g = g ? g : wg_graph_new();
    wg_value *logits = is_imported(m) ? wg_graph_find_output(g, "logits") : m->build(g, true);
    wg_gradients d = wg_grad_all(wg_output(loss_of(logits), "loss"));
    wg_adam_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 1e-4), NULL);
    wg_status status = wg_plan_create(&s.plan, g, &(wg_plan_options){.threads = threads});
    if (status == WG_OK) {
        fill_inputs(g, s.plan);
        status = bench_child_answer(wg_plan_statistics(s.plan).buffer_bytes, run_step, &s);
    } else {
        printf("%s\n", wg_graph_message(g));
    }
    wg_plan_free(s.plan);
    wg_graph_free(g);
    return status != WG_OK;
}

/* ---- the parent ------------------------------------------------------------------------------ */

enum { MODELS = WG_COUNT(models), WARM_UP = 2 };

typedef struct pair {
    const struct model *model;
    bench_child ours, theirs;
} pair;

static bool start(pair *p, const char *python, int threads)
{
    char self[] = "/proc/self/exe", first[16], number[16], name[32], original[32];
    snprintf(first, sizeof first, "%s", role);
    snprintf(number, sizeof number, "%d", threads);
    snprintf(name, sizeof name, "%s", p->model->name);
    snprintf(original, sizeof original, "%.*s", (int)strcspn(name, "."), name);
    char *own[] = {self, first, name, number, NULL};
    char *other[] = {(char *)python, (char *)WG_PYTORCH_MODELS, original, number, NULL};
    if (!bench_child_spawn(&p->ours, own)) {
        fprintf(stderr, "bench_models: %s\n", p->ours.name);
        return false;
    }
    if (!bench_child_spawn(&p->theirs, other))
        printf("%s without PyTorch: %s\n", p->model->name, p->theirs.name);
    return true;
}

static bool run_round(pair *p, int n, bool counts)
{
    for (int i = 0; i < n; i++)
        if (!bench_child_run(&p[i].ours, counts) ||
            (p[i].theirs.pid && !bench_child_run(&p[i].theirs, counts)))
            return false;
    return true;
}

static void print(const pair *p)
{
    bench_times t = bench_child_times(&p->ours), u = bench_child_times(&p->theirs),
                r = bench_child_ratio(&p->ours, &p->theirs);
    printf("%-8s %9.2f %9.2f %9.2f %9.1f", p->model->name, 1e3 * t.median, 1e3 * t.min, 1e3 * t.max,
           p->ours.peak / 0x1p20);
    if (p->theirs.runs)
        printf(" %9.2f %9.2f %9.1f %7.2f %6.2f %6.2f", 1e3 * u.median, 1e3 * u.min,
               p->theirs.peak / 0x1p20, r.median, r.min, r.max);
    printf("   %s\n", p->model->sizes);
}

/* The models of those names, or all; their number. */
static int choose(pair *p, char **names, int n)
{
    int count = 0;
    for (int i = 0; i < MODELS; i++) {
        bool wanted = n == 0;
        for (int k = 0; k < n; k++)
            wanted = wanted || strcmp(names[k], models[i].name) == 0;
        if (wanted)
            p[count++].model = &models[i];
    }
    return count;
}

int main(int argc, char **argv)
{
    static pair pairs[MODELS];
    if (argc == 4 && strcmp(argv[1], role) == 0)
        return serve(argv[2], atoi(argv[3]));
    int rounds = argc > 1 ? atoi(argv[1]) : 9, threads = wgi_threads(0);
    int n = choose(pairs, argv + 3, argc > 3 ? argc - 3 : 0);
    if (rounds < 1 || rounds > BENCH_MAX_RUNS || n == 0)
        return fprintf(stderr, "Usage: bench_models [ROUNDS [PYTHON [MODEL...]]]\n"), 2;
    bool good = true;
    for (int i = 0; i < n && good; i++)
        good = start(&pairs[i], argc > 2 ? argv[2] : "python3", threads);
    for (int k = -WARM_UP; k < rounds && good; k++)
        good = run_round(pairs, n, k >= 0);
    if (good)
        printf(
            "%d thread%s, milliseconds of a step\n%-8s %9s %9s %9s %9s %9s %9s %9s %7s %6s %6s\n",
            threads, threads == 1 ? "" : "s", "", "median", "min", "max", "MiB", "PyTorch", "min",
            "MiB", "ratio", "min", "max");
    for (int i = 0; i < n; i++) {
        if (good)
            print(&pairs[i]);
        bench_child_end(&pairs[i].ours);
        bench_child_end(&pairs[i].theirs);
    }
    return good ? 0 : 1;
}
