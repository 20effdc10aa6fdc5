/* Chains of elementwise ops, losses and activations as users write them, with their gradients:
 * computed together against one by one. */
#include "bench/subjects.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/ops.h"

#include <stdio.h>

enum { ROWS = 1024, WIDTH = 1024 };

/* sqrt((x - t)^2 + 1e-6) */
static wg_value *charbonnier(wg_value *x, wg_value *t)
{
    return wg_sqrt(wg_shift(wg_square(wg_sub(x, t)), 1e-6));
}

/* x tanh(softplus(x)) */
static wg_value *mish(wg_value *x, wg_value *t)
{
    (void)t;
    return wg_mul(x, wg_tanh(wg_softplus(x)));
}

/* (t - p)^2 softplus(-x t), p = sigmoid(x) */
static wg_value *focal(wg_value *x, wg_value *t)
{
    return wg_mul(wg_square(wg_sub(t, wg_sigmoid(x))), wg_softplus(wg_neg(wg_mul(x, t))));
}

/* (x - m)^2 exp(-s) + s with the first row of t as m and s */
static wg_value *gaussian(wg_value *x, wg_value *t)
{
    wg_value *s = wg_slice(t, 0, 0, 1, 1);
    return wg_add(wg_mul(wg_square(wg_sub(x, s)), wg_exp(wg_neg(s))), s);
}

/* d max(d, 0) clamp(d), d = x - t: what the gradient needs is a step away */
static wg_value *ramps(wg_value *x, wg_value *t)
{
    wg_value *d = wg_sub(x, t);
    return wg_mul(wg_mul(d, wg_relu(d)), wg_clamp(d, -3, 5));
}

static wg_value *huber(wg_value *x, wg_value *t)
{
    return wg_huber(x, t, 1, WG_LOSS_NONE);
}

/* sum |a_i - b_j| of 256 vectors each, of 16 numbers: short rows, each of them broadcast */
static wg_value *distances(wg_value *x, wg_value *t)
{
    wg_value *a = wg_reshape(wg_slice(x, 0, 0, 4, 1), WG_SHAPE(256, 1, 16));
    wg_value *b = wg_reshape(wg_slice(t, 0, 0, 4, 1), WG_SHAPE(1, 256, 16));
    return wg_sum(wg_abs(wg_sub(a, b)), WG_AXES(2), WG_DROP);
}

static wg_graph *chain_graph(wg_value *(*build)(wg_value *x, wg_value *t))
{
    wg_graph *g = wg_graph_new();
    const wg_shape shape = WG_SHAPE(ROWS, WIDTH);
    wg_value *x = bench_input(g, "x", shape), *t = bench_input(g, "t", shape), *dx;
    wg_value *loss = wg_mean(build(x, t), WG_ALL_AXES, WG_DROP);
    wg_output(loss, "loss");
    if (wg_grad(loss, &x, 1, &dx) == WG_OK)
        bench_output_gradients(&dx, 1);
    return g;
}

bool bench_chains(void)
{
    static const struct {
        const char *name;
        wg_value *(*build)(wg_value *x, wg_value *t);
    } chains[] = {{"Charbonnier", charbonnier}, {"mish", mish},   {"focal", focal},
                  {"Gaussian", gaussian},       {"ramps", ramps}, {"huber", huber},
                  {"distances", distances}};
    printf("\n%-24s %9s %11s %12s %9s %11s\n%-24s %9s %11s %12s %9s %11s\n", "chains [1024,1024]",
           "together", "one by one", "one by one", "together", "one by one", "loss and gradient",
           "ms", "ms", "/ together", "MiB", "MiB");
    for (int i = 0; i < WG_COUNT(chains); i++) {
        wg_graph *g = chain_graph(chains[i].build);
        wg_plan *plan[2] = {bench_plan_of(g, true), bench_plan_of(g, false)};
        bench_times t[2];
        bool ok = plan[0] && plan[1] && bench_time_plans(plan, 2, t);
        if (ok)
            printf("%-24s %9.3f %11.3f %12.2f %9.1f %11.1f\n", chains[i].name, 1e3 * t[0].median,
                   1e3 * t[1].median, t[1].median / t[0].median,
                   (double)wg_plan_statistics(plan[0]).buffer_bytes / 0x1p20,
                   (double)wg_plan_statistics(plan[1]).buffer_bytes / 0x1p20);
        wg_plan_free(plan[0]);
        wg_plan_free(plan[1]);
        wg_graph_free(g);
        if (!ok)
            return false;
    }
    return true;
}
