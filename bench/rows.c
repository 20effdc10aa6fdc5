/* Kernels that are bound by memory, against its bandwidth: those of a Transformer step (rows), and
 * those of image models and along axes (planes). */
#include "bench/subjects.h"
#include "measure/limits.h"
#include "wengert/autograd/grad.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"

#include <stdio.h>
#include <string.h>

/* One memory-bound plan: its name, and the bytes that it must move at least. */
typedef struct row_plan {
    const char *name;
    double bytes;
    wg_graph *g;
    wg_plan *plan;
} row_plan;

enum { ROWS = 16384, WIDTH = 512 };

static void build_norm(wg_graph *g, row_plan *r, bool residual, bool backward)
{
    wg_shape shape = WG_SHAPE(ROWS, WIDTH);
    wg_value *x = bench_input(g, "x", shape), *gain = bench_input(g, "gain", WG_SHAPE(WIDTH)),
             *bias = bench_input(g, "bias", WG_SHAPE(WIDTH));
    wg_value *branch = residual ? bench_input(g, "branch", shape) : NULL,
             *dy = bench_input(g, "dy", shape);
    wg_value *sum = residual ? wg_add(x, wg_dropout(branch, 0.1)) : x;
    wg_value *y = wg_layernorm(sum, gain, bias, WG_LAST_AXIS, 1e-5);
    wg_value *wrt[] = {x, gain, bias, branch}, *dx[4];
    int n = residual ? 4 : 3;
    double tensor = (double)ROWS * WIDTH * sizeof(float);
    if (!backward) {
        wg_output(y, "y");
        if (residual)
            wg_output(sum, "sum");
        r->bytes = tensor * (residual ? 4 : 2);
        return;
    }
    if (wg_vjp(&y, &dy, 1, wrt, (size_t)n, NULL, dx) == WG_OK)
        bench_output_gradients(dx, n);
    r->bytes = tensor * (residual ? 4 + 4 : 2 + 3); /* the forward pass runs as well */
}

static void build_adam(wg_graph *g, row_plan *r)
{
    wg_shape shape = WG_SHAPE(ROWS, WIDTH);
    wg_value *p = wg_parameter(g, "p", WG_F32, shape, wg_ones()), *dp = bench_input(g, "dp", shape);
    wg_adam_update(&p, &dp, 1, bench_input(g, "lr", WG_SCALAR), NULL);
    r->bytes = 7.0 * ROWS * WIDTH * sizeof(float);
}

/* The same numbers in many tensors, clipped by their norm: gradients are read twice. */
static void build_clipped_adam(wg_graph *g, row_plan *r)
{
    enum { TENSORS = 64 };
    wg_value *p[TENSORS], *dp[TENSORS];
    wg_shape shape = WG_SHAPE(ROWS / TENSORS, WIDTH);
    for (int i = 0; i < TENSORS; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        p[i] = wg_parameter(g, name, WG_F32, shape, wg_ones());
        snprintf(name, sizeof name, "dp%d", i);
        dp[i] = bench_input(g, name, shape);
    }
    wg_clip_by_global_norm(dp, TENSORS, 1, dp);
    wg_adam_update(p, dp, TENSORS, bench_input(g, "lr", WG_SCALAR), NULL);
    r->bytes = 8.0 * ROWS * WIDTH * sizeof(float);
}

/* y [B, T, D] along T, with D adjacent or T adjacent. */
static void build_scan(wg_graph *g, row_plan *r, bool along_last, bool backward)
{
    enum { STEPS = 4096 };
    wg_shape shape = along_last ? WG_SHAPE(ROWS * WIDTH / STEPS, STEPS)
                                : WG_SHAPE(ROWS * WIDTH / STEPS / 256, STEPS, 256);
    wg_value *wrt[] = {bench_input(g, "a", shape), bench_input(g, "x", shape)}, *dx[2];
    wg_value *dy = bench_input(g, "dy", shape);
    wg_value *y = wg_linear_scan(wrt[0], wrt[1], NULL, &(wg_linear_scan_attrs){.axis = 1});
    double tensor = (double)ROWS * WIDTH * sizeof(float);
    if (!backward)
        wg_output(y, "y");
    else if (wg_vjp(&y, &dy, 1, wrt, 2, NULL, dx) == WG_OK)
        bench_output_gradients(dx, 2);
    r->bytes = tensor * (backward ? 3 + 5 : 3); /* the forward pass runs as well */
}

/* Times one plan after the other, each beside what memory allows. */
static bool run_table(const char *title, row_plan *rows, int n,
                      void (*build)(int i, wg_graph *g, row_plan *r))
{
    bench_limits limits;
    if (bench_limits_measure(&limits, NULL) != WG_OK)
        return false;
    double bandwidth = limits.triad_traffic / limits.triad.median;
    printf("\n%-38s %9s %8s  of the triad's %.1f GB/s\n", title, "ms", "GB/s", bandwidth * 1e-9);
    for (int i = 0; i < n; i++) {
        row_plan *r = &rows[i];
        bench_times t;
        r->g = wg_graph_new();
        build(i, r->g, r);
        r->plan = bench_plan_of(r->g, true);
        if (!r->plan || !bench_time_plans(&r->plan, 1, &t))
            return false;
        printf("%-38s %9.2f %8.1f %8.2f\n", r->name, 1e3 * t.median, 1e-9 * r->bytes / t.median,
               r->bytes / t.median / bandwidth);
        wg_plan_free(r->plan);
        wg_graph_free(r->g);
    }
    return true;
}

static void build_row(int i, wg_graph *g, row_plan *r)
{
    if (i < 4)
        build_norm(g, r, i >= 2, i % 2);
    else if (i == 4)
        build_adam(g, r);
    else if (i == 5)
        build_clipped_adam(g, r);
    else
        build_scan(g, r, i >= 8, i % 2);
}

bool bench_rows(void)
{
    row_plan rows[] = {{.name = "layernorm"},
                       {.name = "layernorm, with gradient"},
                       {.name = "dropout+residual+layernorm"},
                       {.name = "the same, with gradient"},
                       {.name = "adam"},
                       {.name = "clip + adam, 64 tensors"},
                       {.name = "linear_scan [8,4096,256]"},
                       {.name = "the same, with gradient"},
                       {.name = "linear_scan [2048,4096]"},
                       {.name = "the same, with gradient"}};
    return run_table("rows [16384, 512]", rows, WG_COUNT(rows), build_row);
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* y = op(x), some with a gain and a bias for each channel. */
typedef wg_value *plane_fn(wg_value *x, wg_value *gain, wg_value *bias);

#define PLANE_OP(name, formula)                                                                    \
    static wg_value *name(wg_value *x, wg_value *gain, wg_value *bias)                             \
    {                                                                                              \
        (void)gain, (void)bias;                                                                    \
        return formula;                                                                            \
    }
PLANE_OP(batchnorm, wg_batchnorm(x, gain, bias, 1e-5))
PLANE_OP(groupnorm, wg_groupnorm(x, gain, bias, 8, 1e-5))
PLANE_OP(instancenorm, wg_groupnorm(x, gain, bias, x->shape.dim[1], 1e-5))
PLANE_OP(pool_2, wg_max_pool2d(x, &(wg_pool2d_options){.kernel = {2, 2}}))
PLANE_OP(pool_3, wg_max_pool2d(x, &(wg_pool2d_options){.kernel = {3, 3}, .stride = {2, 2}}))
PLANE_OP(sum_over_all_but_c, wg_sum(x, WG_AXES(0, 2, 3), WG_DROP))
PLANE_OP(max_over_c, wg_max(x, WG_AXES(1), WG_DROP))
PLANE_OP(cumsum_of_lines, wg_cumsum(x, -1, 0))
PLANE_OP(argmax_of_lines, wg_argmax(x, -1, WG_DROP))
PLANE_OP(topk_of_lines, wg_topk(x, 5, -1))

/* The tensors of x's size that a pass over each operand and result moves; backward 0: not
 * differentiated. */
static const struct {
    const char *name;
    plane_fn *build;
    int64_t dim[4]; /* 0: no such axis */
    int wrt;        /* how many of x, gain and bias have a gradient */
    double forward, backward;
} plane_ops[] = {
    {"batchnorm [64,64,56,56]", batchnorm, {64, 64, 56, 56}, 3, 2, 0},
    {"the same, with gradient", batchnorm, {64, 64, 56, 56}, 3, 2, 3},
    {"batchnorm [128,256,14,14]", batchnorm, {128, 256, 14, 14}, 3, 2, 0},
    {"the same, with gradient", batchnorm, {128, 256, 14, 14}, 3, 2, 3},
    {"batchnorm [4096,2048]", batchnorm, {4096, 2048}, 3, 2, 0},
    {"the same, with gradient", batchnorm, {4096, 2048}, 3, 2, 3},
    {"groupnorm, 8 groups [64,64,56,56]", groupnorm, {64, 64, 56, 56}, 3, 2, 0},
    {"the same, with gradient", groupnorm, {64, 64, 56, 56}, 3, 2, 3},
    {"instance norm [64,64,56,56]", instancenorm, {64, 64, 56, 56}, 3, 2, 0},
    {"the same, with gradient", instancenorm, {64, 64, 56, 56}, 3, 2, 3},
    {"max_pool2d 2x2 [64,64,56,56]", pool_2, {64, 64, 56, 56}, 1, 1.75, 0},
    {"the same, with gradient", pool_2, {64, 64, 56, 56}, 1, 1.75, 1.75},
    {"max_pool2d 3x3/2 [64,64,56,56]", pool_3, {64, 64, 56, 56}, 1, 1.75, 0},
    {"the same, with gradient", pool_3, {64, 64, 56, 56}, 1, 1.75, 1.75},
    {"sum over N,H,W [64,64,56,56]", sum_over_all_but_c, {64, 64, 56, 56}, 0, 1, 0},
    {"max over C [64,64,56,56]", max_over_c, {64, 64, 56, 56}, 0, 1, 0},
    {"cumsum [4096,2048]", cumsum_of_lines, {4096, 2048}, 0, 2, 0},
    {"argmax [4096,2048]", argmax_of_lines, {4096, 2048}, 0, 1, 0},
    {"top 5 [4096,2048]", topk_of_lines, {4096, 2048}, 0, 1, 0},
};

static void build_plane(int i, wg_graph *g, row_plan *r)
{
    const int64_t *dim = plane_ops[i].dim;
    wg_shape shape = wg_shape_make(dim[2] ? 4 : 2, dim), channels = WG_SHAPE(dim[1]);
    wg_value *x = bench_input(g, "x", shape), *gain = bench_input(g, "gain", channels),
             *bias = bench_input(g, "bias", channels), *dx[3];
    wg_value *y = plane_ops[i].build(x, gain, bias), *wrt[] = {x, gain, bias};
    double tensor = (double)wg_value_count(x) * sizeof(float);
    r->bytes = tensor * (plane_ops[i].forward + plane_ops[i].backward);
    if (plane_ops[i].backward == 0) {
        wg_output(y, "y");
        return;
    }
    wg_value *dy = bench_input(g, "dy", y->shape);
    size_t n = (size_t)plane_ops[i].wrt;
    if (wg_vjp(&y, &dy, 1, wrt, n, NULL, dx) == WG_OK) /* the forward pass runs as well */
        bench_output_gradients(dx, (int)n);
}

bool bench_planes(void)
{
    row_plan rows[WG_COUNT(plane_ops)] = {{NULL}};
    for (int i = 0; i < WG_COUNT(plane_ops); i++)
        rows[i].name = plane_ops[i].name;
    return run_table("planes and lines", rows, WG_COUNT(rows), build_plane);
}
