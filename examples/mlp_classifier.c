/* A classifier on one page: model, gradient check, gradient, optimizer, plan, training loop, saved
 * file, picture.
 *
 * Three spirals in the plane, 100 points each; two hidden layers of 32. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLASSES = 3, EACH = 100, N = CLASSES * EACH, HIDDEN = 32, STEPS = 300 };

/* y = x W' + b.  x [N, in], W [out, in], b [out] */
static wg_value *dense(wg_value *x, const char *scope, int64_t out)
{
    wg_graph *g = wg_graph_of(x);
    wg_scope_push(g, "%s", scope);
    wg_value *w =
        wg_parameter(g, "weight", WG_F32, WG_SHAPE(out, wg_value_dim(x, 1)), wg_xavier(1));
    wg_value *b = wg_parameter(g, "bias", WG_F32, WG_SHAPE(out), wg_zeros());
    wg_value *y = wg_linear(x, w, b, WG_ACTIVATION_NONE);
    wg_scope_pop(g);
    return y;
}

static void spirals(float *points, int32_t *labels)
{
    for (int i = 0; i < N; i++) {
        double r = (double)(i / CLASSES) / EACH, turn = 4 * r + 2.0944 * (i % CLASSES);
        turn += 0.2 * (double)rand() / RAND_MAX;
        points[2 * i] = (float)(r * cos(turn));
        points[2 * i + 1] = (float)(r * sin(turn));
        labels[i] = i % CLASSES;
    }
}

int main(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(N, 2));
    wg_value *labels = wg_input(g, "labels", WG_I32, WG_SHAPE(N));
    wg_value *h = wg_gelu(dense(x, "hidden1", HIDDEN), WG_GELU_TANH);
    h = wg_gelu(dense(h, "hidden2", HIDDEN), WG_GELU_TANH);
    wg_value *logits = dense(h, "classes", CLASSES);
    wg_value *loss = wg_output(wg_cross_entropy(logits, labels, NULL, NULL), "loss");
    wg_value *answer = wg_output(wg_argmax(logits, -1, WG_DROP), "answer");

    wg_gradcheck_leaf range = {labels, .lo = 0, .hi = CLASSES};
    wg_gradcheck_report report = {0};
    wg_status checked = wg_gradcheck(
        g,
        &(wg_gradcheck_options){.evaluator = wg_plan_evaluator(), .leaves = &range, .n_leaves = 1},
        &report);
    printf("gradient check: %s\n", report.message);
    if (checked != WG_OK)
        errx(1, "the gradient is wrong");

    wg_gradients d = wg_grad_all(loss);
    wg_adam_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 0.01), NULL);

    wg_error error;
    wg_store *store = wg_store_new(1);
    wg_plan *plan;
    if (wg_plan_create(&plan, g, &(wg_plan_options){.store = store}) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
    spirals(wg_plan_f32(plan, x), wg_plan_i32(plan, labels));
    for (unsigned step = 1; step <= STEPS; step++) {
        if (wg_plan_run(plan, step) != WG_OK)
            errx(1, "%s", wg_plan_message(plan));
        const int64_t *answers = wg_plan_i64(plan, answer);
        int right = 0;
        for (int i = 0; i < N; i++)
            right += answers[i] == i % CLASSES;
        if (step % 50 == 0 || step == 1)
            printf("step %3u  loss %.4f  accuracy %.3f\n", step, wg_plan_scalar(plan, loss),
                   (double)right / N);
    }

    if (wg_store_save_weights(store, "mlp.safetensors", NULL, &error) != WG_OK)
        errx(1, "%s", error.text);
    if (wg_picture_save(g, "mlp.svg", NULL, &error) != WG_OK)
        printf("no picture: %s\n", error.text);
    wg_plan_free(plan);
    wg_store_free(store);
    wg_graph_free(g);
    return report.failed || !report.compared;
}
