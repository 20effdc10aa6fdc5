/* Linear regression: w and b of y = w x + b, fitted to noisy points by gradient descent. */
#include "wengert.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    enum { N = 200 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(N));
    wg_value *y = wg_input(g, "y", WG_F32, WG_SHAPE(N));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SCALAR, wg_zeros());
    wg_value *b = wg_parameter(g, "b", WG_F32, WG_SCALAR, wg_zeros());
    wg_value *error = wg_sub(wg_add(wg_mul(w, x), b), y);
    wg_value *loss = wg_output(wg_mean(wg_square(error), WG_ALL_AXES, WG_DROP), "loss");

    wg_gradients d = wg_grad_all(loss);
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 0.5)));

    wg_plan *plan;
    if (wg_plan_create(&plan, g, NULL) != WG_OK) {
        fprintf(stderr, "%s\n", wg_graph_message(g));
        return 1;
    }
    float *xs = wg_plan_f32(plan, x), *ys = wg_plan_f32(plan, y);
    for (int i = 0; i < N; i++) {
        xs[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
        ys[i] = 3 * xs[i] - 2 + 0.1f * ((float)rand() / (float)RAND_MAX - 0.5f);
    }
    for (unsigned step = 0; step <= 40; step++) {
        if (wg_plan_run(plan, step) != WG_OK) {
            fprintf(stderr, "%s\n", wg_plan_message(plan));
            return 1;
        }
        if (step % 10 == 0)
            printf("step %2u  loss %.6f\n", step, wg_plan_scalar(plan, loss));
    }
    printf("y = %.3f x + %.3f\n", wg_plan_scalar(plan, w), wg_plan_scalar(plan, b));
    wg_plan_free(plan);
    wg_graph_free(g);
    return 0;
}
