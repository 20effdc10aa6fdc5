/* How building, differentiating and planning grow with the graph, and how much memory plans save.
 *
 *   bench_graph_scale [most nodes]      100000 by default */
#include "wengert/autograd/grad.h"
#include "wengert/backends/plan.h"
#include "measure/limits.h"
#include "wengert/ops/ops.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- graphs by number of nodes --------------------------------------------------------------- */

/* y = tanh(tanh(... w)) */
static wg_value *chain(wg_graph *g, size_t n)
{
    wg_value *y = wg_parameter(g, "w", WG_F32, WG_SHAPE(16), wg_ones());
    while (y && wg_graph_node_count(g) < n)
        y = wg_tanh(y);
    return y;
}

/* Each node reads the one before, and most another of all earlier ones, drawn at random. */
static wg_value *random_dag(wg_graph *g, size_t n)
{
    wg_value **v = malloc((n + 2) * sizeof(wg_value *));
    size_t count = 0;
    uint64_t bits = 88172645463325252u;
    if (!v)
        return NULL;
    v[count++] = wg_parameter(g, "w", WG_F32, WG_SHAPE(16), wg_ones());
    while (wg_graph_status(g) == WG_OK && wg_graph_node_count(g) < n) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        wg_value *a = v[count - 1], *b = v[(bits >> 20) % count];
        v[count++] = bits & 2 ? wg_tanh(a) : bits & 1 ? wg_add(a, b) : wg_mul(a, b);
    }
    wg_value *y = v[count - 1];
    free(v);
    return y;
}

static int measure_scale(const char *name, wg_value *(*make)(wg_graph *, size_t), size_t n)
{
    wg_value *dw;
    wg_plan *p = NULL;
    double t0 = wgi_seconds();
    wg_graph *g = wg_graph_new();
    wg_value *loss = wg_sum(make(g, n), WG_ALL_AXES, WG_DROP);
    double t1 = wgi_seconds();
    wg_value *w = wg_graph_find(g, "w");
    wg_grad(loss, &w, 1, &dw);
    double t2 = wgi_seconds();
    wg_output(loss, "loss");
    wg_assign(w, wg_sub(w, dw));
    wg_status status = wg_plan_create(&p, g, NULL);
    double t3 = wgi_seconds();
    if (status != WG_OK)
        fprintf(stderr, "%s\n", wg_graph_message(g));
    printf("%-8s %8zu %8zu %8zu  %8.4f %8.4f %8.4f %8.4f  %8.1f\n", name, n, wg_graph_node_count(g),
           wg_plan_step_count(p), t1 - t0, t2 - t1, t3 - t2, t3 - t0,
           bench_resident_peak() / 0x1p20);
    wg_plan_free(p);
    wg_graph_free(g);
    return status != WG_OK;
}

/* ---- memory of training steps ---------------------------------------------------------------- */

enum { BATCH = 64, WIDTH = 512, LAYERS = 8, LENGTH = 64 };

/* x -> relu(x w) ..., squared error */
static wg_value *mlp(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(BATCH, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        wg_scope_push(g, "layer%d", i);
        wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(WIDTH, WIDTH), wg_xavier(1));
        wg_value *b = wg_parameter(g, "b", WG_F32, WG_SHAPE(WIDTH), wg_zeros());
        x = wg_relu(wg_add(wg_matmul(x, w), b));
        wg_scope_pop(g);
    }
    return wg_sum(wg_mul(x, x), WG_ALL_AXES, WG_DROP);
}

/* softmax(q k' / sqrt(d)) v with exp and sum, for several layers with a residual */
static wg_value *attention(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(BATCH / 8, LENGTH, WIDTH / 8));
    for (int i = 0; i < LAYERS; i++) {
        wg_value *m[3];
        wg_scope_push(g, "layer%d", i);
        for (int k = 0; k < 3; k++) {
            const char *const name[] = {"q", "k", "v"};
            m[k] = wg_matmul(
                x, wg_parameter(g, name[k], WG_F32, WG_SHAPE(WIDTH / 8, WIDTH / 8), wg_xavier(1)));
        }
        wg_value *e = wg_exp(wg_scale(wg_matmul_t(m[0], m[1], WG_NT), 0.125));
        wg_value *p = wg_div(e, wg_sum(e, WG_AXES(-1), WG_KEEP));
        x = wg_add(x, wg_tanh(wg_matmul(p, m[2])));
        wg_scope_pop(g);
    }
    return wg_sum(wg_mul(x, x), WG_ALL_AXES, WG_DROP);
}

static int measure_memory(const char *name, wg_value *(*make)(wg_graph *))
{
    wg_graph *g = wg_graph_new();
    wg_value *loss = make(g), *w[64], *dw[64];
    size_t n = wg_graph_parameters(g, w, 64);
    wg_grad(loss, w, n, dw);
    for (size_t i = 0; i < n && wg_graph_status(g) == WG_OK; i++)
        wg_assign(w[i], wg_sub(w[i], wg_scale(dw[i], 0.01)));
    wg_output(loss, "loss");
    wg_plan *p = NULL;
    wg_status status = wg_plan_create(&p, g, NULL);
    if (status == WG_OK && wg_plan_check(p) != WG_OK)
        fprintf(stderr, "%s\n", wg_plan_message(p));
    if (status != WG_OK)
        fprintf(stderr, "%s\n", wg_graph_message(g));
    wg_plan_stats s = wg_plan_statistics(p);
    printf("%-10s %6zu %12zu %12zu %12zu %8.3f %8.3f\n", name, s.nodes, s.value_bytes,
           s.buffer_bytes, s.live_bytes, (double)s.buffer_bytes / (double)s.value_bytes,
           (double)s.buffer_bytes / (double)s.live_bytes);
    wg_plan_free(p);
    wg_graph_free(g);
    return status != WG_OK;
}

int main(int argc, char **argv)
{
    size_t max = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 100000;
    int failed = 0;
    printf("%-8s %8s %8s %8s  %8s %8s %8s %8s  %8s\n", "graph", "forward", "nodes", "steps",
           "build s", "grad s", "plan s", "all s", "peak MiB");
    for (size_t n = 1000; n <= max; n *= 10)
        failed |= measure_scale("chain", chain, n) | measure_scale("random", random_dag, n);
    printf("\n%-10s %6s %12s %12s %12s %8s %8s\n", "training", "steps", "values", "buffer",
           "lower bound", "/values", "/bound");
    failed |= measure_memory("mlp", mlp) | measure_memory("attention", attention);
    return failed;
}
