/* The kernels of a Transformer step at its shapes, each beside what it competes with, timed in turn
 * in one run:
 *
 *   linear     forward, dX and dW through a plan on all backends and through one on the simd
 *              backend alone, against the best that oneDNN itself reaches on that shape: its matmul
 *              with plain weights, with packed ones (packing included), and its sgemm
 *   int8       a linear layer in integers of 8 bits, its input quantised anew, against the same in
 *              f32
 *   attention  fused against the same mathematics from plain ops, forward, and forward with
 *              backward; of operands as the models have them (the heads of a token side by side)
 *              and with heads first
 *   windows    attention of one sentence in a window of 64 keys on each side against all keys
 *   loss       the fused linear + cross-entropy step against the unfused plan
 *   rows       layernorm, dropout + residual + layernorm, Adam, against the memory bandwidth
 *   planes     the normalisations and pooling of image models, and what works along an axis,
 *              likewise
 *   chains     losses and activations of elementwise ops, computed together and one by one
 *
 * Shares are of medians.  On one thread, seconds are CPU time, but for the triad.
 * Usage: bench_kernels [linear|int8|attention|windows|loss|rows|planes|chains]... */
#include "graph/threads.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/load.h"
#include "wengert/backends/onednn.h"
#include "wengert/backends/plan.h"
#include "wengert/backends/simd.h"
#include "wengert/models/optimizer.h"
#include "bench/direct.h"
#include "bench/subjects.h"
#include "measure/limits.h"
#include "wengert/ops/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- linear ---------------------------------------------------------------------------------- */

/* What a linear layer needs: the forward pass y = x w', or one of its derivatives. */
static wg_plan *linear_plan(wg_graph *g, const char *what, int64_t rows, int64_t out, int64_t in,
                            bench_product *p)
{
    wg_value *a, *b, *y;
    if (what[0] == 'f') { /* y [rows, out] = x [rows, in] w' */
        a = bench_input(g, "x", WG_SHAPE(rows, in));
        b = bench_input(g, "w", WG_SHAPE(out, in));
        y = wg_linear(a, b, NULL, WG_ACTIVATION_NONE);
        *p = (bench_product){.m = rows, .n = out, .k = in, .transpose_w = true};
    } else if (what[1] == 'X') { /* dx [rows, in] = dy w */
        a = bench_input(g, "dy", WG_SHAPE(rows, out));
        b = bench_input(g, "w", WG_SHAPE(out, in));
        y = wg_matmul(a, b);
        *p = (bench_product){.m = rows, .n = in, .k = out};
    } else { /* dw [out, in] = dy' x */
        a = bench_input(g, "dy", WG_SHAPE(rows, out));
        b = bench_input(g, "x", WG_SHAPE(rows, in));
        y = wg_matmul_t(a, b, WG_TN);
        *p = (bench_product){.m = out, .n = in, .k = rows, .transpose_x = true};
    }
    wg_output(y, "y");
    wg_plan *plan = bench_plan_of(g, true);
    if (plan) {
        p->x = wg_plan_data(plan, a);
        p->w = wg_plan_data(plan, b);
        p->y = wg_plan_data(plan, y);
    }
    return plan;
}

/* The same graph on the simd backend alone, which must take every product. */
static wg_plan *simd_plan(wg_graph *g)
{
    const wg_backend *simd = wg_simd_backend();
    wg_plan *p = bench_plan_on(g, &simd, 1, true);
    for (size_t i = 0; p && i < wg_plan_step_count(p); i++) {
        wg_plan_step step = wg_plan_step_at(p, i);
        if (strcmp(step.backend, simd->name) != 0) {
            fprintf(stderr, "%s is not done by simd but by %s\n", step.node->op->name,
                    step.backend);
            wg_plan_free(p);
            return NULL;
        }
    }
    return p;
}

/* What is timed of a linear layer: the plans and oneDNN's ways. */
enum { IN_PLAN, SIMD_ALONE, PLAIN, PACKED, SGEMM, WAYS };

static void print_linear(const char *what, int64_t rows, int64_t out, int64_t in,
                         const bench_times t[WAYS])
{
    double flops = 2e-9 * (double)rows * (double)out * (double)in, best = t[PLAIN].median,
           range = 0;
    for (int i = PLAIN; i < WAYS; i++)
        best = t[i].median < best ? t[i].median : best;
    for (int i = 0; i < WAYS; i++) {
        double own = (t[i].max - t[i].min) / t[i].median;
        range = own > range ? own : range;
    }
    printf("%-8s %5lld %6lld %5lld", what, (long long)rows, (long long)out, (long long)in);
    for (int i = 0; i < WAYS; i++)
        printf(" %9.0f", flops / t[i].median);
    printf(" %8.2f %8.2f %10.2f %9.2f %7.0f %%\n", best / t[IN_PLAN].median,
           best / t[SIMD_ALONE].median, t[SGEMM].median / t[SIMD_ALONE].median,
           t[SGEMM].min / t[SIMD_ALONE].min, 100 * range);
}

static bool bench_linear_shape(const char *what, int64_t rows, int64_t out, int64_t in)
{
    wg_graph *g = wg_graph_new();
    bench_product p;
    wg_plan *plan = linear_plan(g, what, rows, out, in, &p), *simd = plan ? simd_plan(g) : NULL;
    bench_direct *plain = simd ? bench_direct_open(&p, false) : NULL,
                 *packed = simd ? bench_direct_open(&p, true) : NULL;
    const bench_subject subject[WAYS] = {[IN_PLAN] = {bench_run_plan, plan},
                                         [SIMD_ALONE] = {bench_run_plan, simd},
                                         [PLAIN] = {bench_direct_run, plain},
                                         [PACKED] = {bench_direct_run, packed},
                                         [SGEMM] = {bench_sgemm_run, &p}};
    bench_schedule o = bench_plan_schedule;
    o.cpu_time = wgi_threads(0) == 1;
    bench_times t[WAYS];
    bool ok = plain && packed && bench_interleaved(subject, WAYS, &o, t) == WG_OK;
    if (ok)
        print_linear(what, rows, out, in, t);
    bench_direct_close(plain);
    bench_direct_close(packed);
    wg_plan_free(simd);
    wg_plan_free(plan);
    wg_graph_free(g);
    return ok;
}

static bool bench_linear(void)
{
    static const int64_t rows[] = {1024, 4096},
                         shapes[][2] = {
                             {512, 512}, {2048, 512}, {512, 2048}, {10000, 512}, {37000, 512}};
    static const char *const what[] = {"forward", "dX", "dW"};
    printf("\n%29s %9s %9s %29s  %-17s %-20s\n%-8s %5s %6s %5s %9s %9s %9s %9s %9s %8s %8s %10s "
           "%9s %9s\n",
           "", "all", "simd", "oneDNN", "of oneDNN's best", "simd / sgemm", "GFLOP/s", "rows",
           "out", "in", "backends", "alone", "plain", "packed", "sgemm", "all", "simd", "medians",
           "minima", "range");
    bool ok = true;
    for (int r = 0; r < WG_COUNT(rows); r++)
        for (int s = 0; s < WG_COUNT(shapes); s++)
            for (int w = 0; w < WG_COUNT(what) && ok; w++)
                ok = bench_linear_shape(what[w], rows[r], shapes[s][0], shapes[s][1]);
    return ok;
}

/* ---- int8 ------------------------------------------------------------------------------------ */

/* y = x w' of the x and w of a layer that decodes or encodes. */
static wg_plan *product_plan(wg_graph *g, int64_t rows, int64_t out, int64_t in, bool int8)
{
    wg_value *x = bench_input(g, "x", WG_SHAPE(rows, in));
    if (int8) {
        wg_value *q = wg_quantize(x), *w = wg_input(g, "w", WG_I8, WG_SHAPE(out, in));
        wg_value *scale = bench_input(g, "scale", WG_SHAPE(out));
        wg_output(wg_quantized_linear(q, wg_result_of(q, 1), w, scale, NULL, WG_ACTIVATION_NONE),
                  "y");
    } else {
        wg_output(wg_linear(x, bench_input(g, "w", WG_SHAPE(out, in)), NULL, WG_ACTIVATION_NONE),
                  "y");
    }
    return bench_plan_of(g, true);
}

static bool bench_int8(void)
{
    static const int64_t shapes[][3] = {{256, 128, 128},  {256, 384, 128},   {256, 256, 128},
                                        {256, 128, 256},  {256, 9712, 128},  {256, 512, 512},
                                        {256, 2048, 512}, {256, 10000, 512}, {4096, 2048, 512}};
    printf(
        "\nint8    rows    out    in     f32 ms    int8 ms   f32 GOP/s  int8 GOP/s   speed-up\n");
    bool ok = true;
    for (int s = 0; s < WG_COUNT(shapes) && ok; s++) {
        int64_t rows = shapes[s][0], out = shapes[s][1], in = shapes[s][2];
        wg_graph *g[] = {wg_graph_new(), wg_graph_new()};
        wg_plan *plan[] = {product_plan(g[0], rows, out, in, false),
                           product_plan(g[1], rows, out, in, true)};
        bench_times t[2];
        ok = plan[0] && plan[1] && bench_time_plans(plan, 2, t);
        double work = 2e-9 * (double)rows * (double)out * (double)in;
        if (ok)
            printf("%12lld %6lld %5lld %10.3f %10.3f %11.0f %11.0f %10.2f\n", (long long)rows,
                   (long long)out, (long long)in, 1e3 * t[0].median, 1e3 * t[1].median,
                   work / t[0].median, work / t[1].median, t[0].median / t[1].median);
        for (int i = 0; i < 2; i++) {
            wg_plan_free(plan[i]);
            wg_graph_free(g[i]);
        }
    }
    return ok;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Scores, mask, softmax and average as plain ops; the softmax sees -inf where a key is in the
 * future. */
static wg_value *plain_attention(wg_value *q, wg_value *k, wg_value *v, bool causal)
{
    int64_t T = q->shape.dim[2];
    wg_graph *g = wg_graph_of(q);
    wg_value *scores = wg_scale(wg_matmul_t(q, k, WG_NT), 0.125);
    if (causal) {
        wg_value *s = wg_iota(g, WG_I64, WG_SHAPE(1, T), 1, 0, 1),
                 *t = wg_iota(g, WG_I64, WG_SHAPE(T, 1), 0, 0, 1);
        scores = wg_where(wg_less_equal(s, t), scores, wg_scalar_like(scores, -1e30));
    }
    return wg_matmul(wg_softmax(scores, -1), v);
}

enum { HEADS = 8, HEAD_WIDTH = 64, TOKENS = 4096 }; /* of a batch */

typedef struct attention_case {
    int64_t T;
    bool causal, backward;
    bool by_token; /* operands [B, T, heads d], as in models/attention.c; else [B, heads, T, d] */
    bool fused;
} attention_case;

/* y [like the operands] */
static wg_value *attend(wg_value *const in[3], const attention_case *c)
{
    wg_value *x[3], *y;
    int64_t B = TOKENS / c->T;
    for (int i = 0; i < 3; i++)
        x[i] = c->by_token ? wg_permute(wg_reshape(in[i], WG_SHAPE(B, c->T, HEADS, HEAD_WIDTH)),
                                        WG_AXES(0, 2, 1, 3))
                           : in[i];
    if (c->fused)
        y = wg_attention(x[0], x[1], x[2], NULL, &(wg_attention_attrs){.causal = c->causal});
    else
        y = plain_attention(x[0], x[1], x[2], c->causal);
    return c->by_token ? wg_reshape(wg_permute(y, WG_AXES(0, 2, 1, 3)), in[0]->shape) : y;
}

static wg_plan *attention_plan(wg_graph *g, const attention_case *c)
{
    int64_t B = TOKENS / c->T;
    wg_shape shape =
        c->by_token ? WG_SHAPE(B, c->T, HEADS * HEAD_WIDTH) : WG_SHAPE(B, HEADS, c->T, HEAD_WIDTH);
    wg_value *in[] = {bench_input(g, "q", shape), bench_input(g, "k", shape),
                      bench_input(g, "v", shape)},
             *dx[3];
    wg_value *dy = bench_input(g, "dy", shape), *y = attend(in, c);
    wg_output(y, "y");
    if (c->backward && wg_vjp(&y, &dy, 1, in, 3, NULL, dx) == WG_OK)
        bench_output_gradients(dx, 3);
    return bench_plan_of(g, true);
}

/* Plans [0] and [1]: fused and plain. */
static void print_attention(const attention_case *c, wg_plan *const plan[2], const bench_times t[2])
{
    printf("%11lld  %-6s  %-9s  %-11s %9.3f %9.3f %9.2f %9.2f %10.1f %10.1f\n", (long long)c->T,
           c->causal ? "yes" : "no", c->backward ? "with grad" : "forward",
           c->by_token ? "the models'" : "heads first", 1e3 * t[0].median, 1e3 * t[1].median,
           t[1].median / t[0].median, t[1].min / t[0].min,
           (double)wg_plan_statistics(plan[0]).buffer_bytes / 0x1p20,
           (double)wg_plan_statistics(plan[1]).buffer_bytes / 0x1p20);
}

/* Both layouts, fused and plain, in turn. */
static bool bench_attention_case(int64_t T, bool causal, bool backward)
{
    enum { PLANS = 4 };
    attention_case c[PLANS];
    wg_graph *g[PLANS];
    wg_plan *plan[PLANS];
    bench_times t[PLANS];
    bool ok = true;
    for (int i = 0; i < PLANS; i++) {
        c[i] = (attention_case){T, causal, backward, .by_token = i < 2, .fused = i % 2 == 0};
        g[i] = wg_graph_new();
        plan[i] = attention_plan(g[i], &c[i]);
        ok = ok && plan[i];
    }
    ok = ok && bench_time_plans(plan, PLANS, t);
    for (int i = 0; i < PLANS && ok; i += 2)
        print_attention(&c[i], plan + i, t + i);
    for (int i = 0; i < PLANS; i++) {
        wg_plan_free(plan[i]);
        wg_graph_free(g[i]);
    }
    return ok;
}

static bool bench_attention(void)
{
    printf("\n%11s  %-6s  %-9s  %-11s %9s %9s %9s %9s %10s %10s\n", "attention T", "causal", "pass",
           "layout", "fused ms", "plain ms", "speed-up", "of least", "fused MiB", "plain MiB");
    bool ok = true;
    for (int64_t T = 16; T <= 1024; T *= 2)
        for (int variant = 0; variant < 4 && ok; variant++)
            ok = bench_attention_case(T, variant & 1, variant & 2);
    return ok;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* One sentence of T tokens, forward and backward, in a window of `radius` keys on each side. */
static wg_plan *window_plan(wg_graph *g, int64_t T, int64_t radius, bool all)
{
    const wg_attention_attrs a = {
        .window = !all, .left = all ? 0 : radius, .right = all ? 0 : radius};
    wg_shape shape = WG_SHAPE(1, HEADS, T, HEAD_WIDTH);
    wg_value *in[] = {bench_input(g, "q", shape), bench_input(g, "k", shape),
                      bench_input(g, "v", shape)},
             *dx[3];
    wg_value *dy = bench_input(g, "dy", shape), *y = wg_attention(in[0], in[1], in[2], NULL, &a);
    if (wg_vjp(&y, &dy, 1, in, 3, NULL, dx) == WG_OK)
        bench_output_gradients(dx, 3);
    wg_output(y, "y");
    return bench_plan_of(g, true);
}

static bool bench_window(int64_t T)
{
    enum { PLANS = 2, RADIUS = 64 };
    wg_graph *g[PLANS];
    wg_plan *plan[PLANS];
    bench_times t[PLANS];
    for (int i = 0; i < PLANS; i++) {
        g[i] = wg_graph_new();
        plan[i] = window_plan(g[i], T, RADIUS, i);
    }
    bool ok = plan[0] && plan[1] && bench_time_plans(plan, PLANS, t);
    if (ok)
        printf("%11lld %9.3f %9.3f %9.2f\n", (long long)T, 1e3 * t[0].median, 1e3 * t[1].median,
               t[1].median / t[0].median);
    for (int i = 0; i < PLANS; i++) {
        wg_plan_free(plan[i]);
        wg_graph_free(g[i]);
    }
    return ok;
}

static bool bench_windows(void)
{
    bool ok = true;
    printf("\n%11s %9s %9s %9s\n", "windows T", "window ms", "all ms", "speed-up");
    for (int64_t T = 512; T <= 4096 && ok; T *= 2)
        ok = bench_window(T);
    return ok;
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* The mean loss of a linear layer's logits with its gradients. */
static wg_graph *loss_graph(int64_t rows, int64_t classes, int64_t d)
{
    wg_graph *g = wg_graph_new();
    wg_value *wrt[] = {bench_input(g, "x", WG_SHAPE(rows, d)),
                       bench_input(g, "w", WG_SHAPE(classes, d))},
             *dx[2];
    wg_value *targets = wg_iota(g, WG_I32, WG_SHAPE(rows), 0, 0, 1);
    wg_value *loss = wg_cross_entropy(wg_linear(wrt[0], wrt[1], NULL, WG_ACTIVATION_NONE), targets,
                                      NULL, &(wg_cross_entropy_attrs){.smoothing = 0.1});
    wg_output(loss, "loss");
    if (wg_grad(loss, wrt, 2, dx) == WG_OK)
        bench_output_gradients(dx, 2);
    return g;
}

/* The fused step; unfused, with the loss by simd; and that by the reference, with the products by
 * oneDNN in all three. */
static bool bench_loss(void)
{
    enum { FUSED, UNFUSED, REFERENCE, PLANS };
    static const int64_t shapes[][3] = {{4096, 10000, 128}, {4096, 10000, 512}, {1024, 37000, 512}};
    const wg_backend *const without_simd[] = {wg_onednn_backend()};
    printf("\n%22s %9s %9s %9s %11s %9s %9s %9s %9s\n%22s %9s %9s %9s %11s %9s %9s %9s %9s\n",
           "loss", "fused", "unfused", "reference", "unfused /", "reference", "fused", "fused",
           "unfused", "rows  classes     d", "ms", "ms", "ms", "fused", "/ fused", "GFLOP/s", "MiB",
           "MiB");
    for (int s = 0; s < WG_COUNT(shapes); s++) {
        int64_t rows = shapes[s][0], classes = shapes[s][1], d = shapes[s][2];
        wg_graph *g = loss_graph(rows, classes, d);
        wg_plan *plan[PLANS] = {bench_plan_of(g, true), bench_plan_of(g, false),
                                bench_plan_on(g, without_simd, 1, false)};
        bench_times t[PLANS];
        if (!plan[FUSED] || !plan[UNFUSED] || !plan[REFERENCE] || !bench_time_plans(plan, PLANS, t))
            return false;
        double flops = 6e-9 * (double)rows * (double)classes * (double)d;
        printf("%9lld %6lld %5lld %9.1f %9.1f %9.1f %11.2f %9.2f %9.0f %9.1f %9.1f\n",
               (long long)rows, (long long)classes, (long long)d, 1e3 * t[FUSED].median,
               1e3 * t[UNFUSED].median, 1e3 * t[REFERENCE].median,
               t[UNFUSED].median / t[FUSED].median, t[REFERENCE].median / t[FUSED].median,
               flops / t[FUSED].median,
               (double)wg_plan_statistics(plan[FUSED]).buffer_bytes / 1048576,
               (double)wg_plan_statistics(plan[UNFUSED]).buffer_bytes / 1048576);
        for (int i = 0; i < PLANS; i++)
            wg_plan_free(plan[i]);
        wg_graph_free(g);
    }
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool (*run)(void);
    } parts[] = {{"linear", bench_linear},       {"int8", bench_int8},
                 {"attention", bench_attention}, {"windows", bench_windows},
                 {"loss", bench_loss},           {"rows", bench_rows},
                 {"planes", bench_planes},       {"chains", bench_chains}};
    bool wanted[WG_COUNT(parts)] = {false};
    if (!wg_onednn_backend()) {
        fprintf(stderr, "built without oneDNN: nothing to compare\n");
        return 1;
    }
    for (int k = 1; k < argc; k++) {
        int i = 0;
        while (i < WG_COUNT(parts) && strcmp(argv[k], parts[i].name) != 0)
            i++;
        if (i == WG_COUNT(parts)) {
            fprintf(stderr,
                    "Usage: bench_kernels [linear|int8|attention|windows|loss|rows|planes|chains]"
                    "...\n");
            return 2;
        }
        wanted[i] = true;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* rows appear as they are measured, in files too */
    for (int i = 0; i < WG_COUNT(parts); i++)
        if ((argc == 1 || wanted[i]) && !parts[i].run()) {
            fprintf(stderr, "%s could not be measured\n", parts[i].name);
            return 1;
        }
    return 0;
}
