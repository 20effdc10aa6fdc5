/* The training step of very small models, in microseconds, on one thread: what a step costs beside
 * its arithmetic.
 *
 *     bench_small [SAMPLES [THREADS]]   51 samples of each, in turn; 0 threads: as plans choose
 *     bench_small check                 no times: each model learns its batch
 *
 * A step is the forward pass, the gradient of all parameters, and plain gradient descent, in f32 on
 * one batch that stays the same: the same work as a loop of the kind in other libraries. */
#include "measure/timing.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/plan.h"
#include "wengert/models/layers.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 10, SAMPLES = 51, MOST_SAMPLES = 10000 };

/* ---- the models ------------------------------------------------------------------------------ */

/* x [B, 784] -> 128 -> 10 */
static wg_value *mlp(wg_graph *g, int64_t B)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(B, 784));
    x = wg_dense("hidden", x, 128, WG_ACTIVATION_RELU);
    return wg_dense("classes", x, CLASSES, WG_ACTIVATION_NONE);
}

/* One step of a cell of 128 units over 128 features, from a state of zeros; then 10 classes. */
static wg_value *lstm_cell(wg_graph *g, int64_t B)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(B, 1, 128));
    x = wg_reshape(wg_lstm_layer("lstm", x, 128), WG_SHAPE(B, 128));
    return wg_dense("classes", x, CLASSES, WG_ACTIVATION_NONE);
}

static const struct model {
    const char *name;
    wg_value *(*logits)(wg_graph *g, int64_t B);
    int64_t batch;
} models[] = {{"MLP 784-128-10", mlp, 1},
              {"MLP 784-128-10", mlp, 32},
              {"LSTM cell 128", lstm_cell, 1},
              {"LSTM cell 128", lstm_cell, 32}};
enum { MODELS = WG_COUNT(models) };

typedef struct subject {
    wg_graph *graph;
    wg_plan *plan;
    wg_value *loss;
    uint64_t step;
} subject;

static wg_status run_step(void *context)
{
    subject *s = context;
    return wg_plan_run(s->plan, ++s->step);
}

/* Numbers from -0.5 to 0.5, and as many labels of each class. */
static void fill_inputs(const subject *s)
{
    wg_value *x = wg_graph_find(s->graph, "x"), *labels = wg_graph_find(s->graph, "labels");
    uint32_t bits = 7;
    for (int64_t i = 0; i < wg_value_count(x); i++) {
        bits = bits * 1664525 + 1013904223;
        wg_plan_f32(s->plan, x)[i] = (float)(bits >> 8) / (1 << 24) - 0.5F;
    }
    for (int64_t i = 0; i < wg_value_count(labels); i++)
        wg_plan_i32(s->plan, labels)[i] = (int32_t)(i % CLASSES);
}

static wg_status make(subject *s, const struct model *m, int threads)
{
    wg_graph *g = s->graph = wg_graph_new();
    wg_value *logits = m->logits(g, m->batch);
    wg_value *labels = wg_input(g, "labels", WG_I32, WG_SHAPE(m->batch));
    s->loss = wg_output(wg_cross_entropy(logits, labels, NULL, NULL), "loss");
    wg_gradients d = wg_grad_all(s->loss);
    wg_sgd_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 0.05), NULL);
    wg_status status = wg_plan_create(&s->plan, g, &(wg_plan_options){.threads = threads});
    if (status == WG_OK)
        fill_inputs(s);
    else
        fprintf(stderr, "bench_small: %s: %s\n", m->name, wg_graph_message(g));
    return status;
}

/* ---- the two uses ---------------------------------------------------------------------------- */

/* After 200 steps the batch is learned better than at first. */
static wg_status check(subject *s)
{
    for (int i = 0; i < MODELS; i++) {
        double first = 0;
        for (int step = 0; step < 200; step++) {
            wg_status status = run_step(&s[i]);
            if (status != WG_OK)
                return status;
            first = step ? first : wg_plan_scalar(s[i].plan, s[i].loss);
        }
        double last = wg_plan_scalar(s[i].plan, s[i].loss);
        printf("%-16s %4d  loss %.4f, then %.4f\n", models[i].name, (int)models[i].batch, first,
               last);
        if (!(first > 1 && last < 0.95 * first))
            return WG_EDATA;
    }
    return WG_OK;
}

static wg_status time_all(subject *s, int samples)
{
    bench_subject each[MODELS];
    bench_times t[MODELS];
    for (int i = 0; i < MODELS; i++)
        each[i] = (bench_subject){run_step, &s[i]};
    const bench_schedule schedule = {.runs = samples, .seconds = 600};
    wg_status status = bench_interleaved(each, MODELS, &schedule, t);
    if (status != WG_OK)
        return status;
    printf("microseconds of a step\n%-16s %5s %7s %9s %9s %9s %6s\n", "", "batch", "threads",
           "median", "min", "max", "nodes");
    for (int i = 0; i < MODELS; i++)
        printf("%-16s %5d %7d %9.2f %9.2f %9.2f %6zu\n", models[i].name, (int)models[i].batch,
               wg_plan_statistics(s[i].plan).threads, 1e6 * t[i].median, 1e6 * t[i].min,
               1e6 * t[i].max, wg_plan_statistics(s[i].plan).nodes);
    return WG_OK;
}

int main(int argc, char **argv)
{
    subject s[MODELS] = {{0}};
    bool checks = argc > 1 && strcmp(argv[1], "check") == 0;
    int samples = argc > 1 && !checks ? atoi(argv[1]) : SAMPLES;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    if (argc > (checks ? 2 : 3) || samples < 1 || samples > MOST_SAMPLES)
        return fprintf(stderr, "Usage: bench_small [SAMPLES [THREADS]] | check\n"), 2;
    wg_status status = WG_OK;
    for (int i = 0; i < MODELS && status == WG_OK; i++)
        status = make(&s[i], &models[i], threads);
    if (status == WG_OK)
        status = checks ? check(s) : time_all(s, samples);
    for (int i = 0; i < MODELS; i++) {
        wg_plan_free(s[i].plan);
        wg_graph_free(s[i].graph);
    }
    return status != WG_OK;
}
