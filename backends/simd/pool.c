/* Maxima and means over windows, and their gradients. */
#include "backends/simd/internal.h"
#include "wengert/ops/pool.h"

static const char *refuses_pool(const wg_node *n)
{
    const int64_t *d = n->in[0]->shape.dim;
    const char *why = wgi_simd_refuses_empty_floats(n);
    return why ? why : d[2] * d[3] > INT32_MAX ? "planes too large" : NULL;
}

static void run_pool(wg_call *c)
{
    const wg_node *n = c->node;
    wg_sliding h, w;
    wg_pool_windows(n->attrs, &n->in[0]->shape, &n->out[0]->shape, &h, &w);
    simd_pool a = {.x = c->in[0],
                   .y = c->out[0],
                   .index = c->out[1],
                   .planes = n->in[0]->shape.dim[0] * n->in[0]->shape.dim[1],
                   .h = simd_window_of(&h),
                   .w = simd_window_of(&w),
                   .threads = c->threads};
    simd_floats(c)->max_pool(&a);
}

static const char *refuses_scatter(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty_floats(n);
    return why ? why : wg_value_count(n->out[0]) ? NULL : "an empty result";
}

/* y index -> x */
static void run_scatter(wg_call *c)
{
    const int64_t *from = c->node->in[0]->shape.dim, *to = c->node->out[0]->shape.dim;
    bool failed = false;
    simd_pool_scatter a = {.y = c->in[0],
                           .index = c->in[1],
                           .x = c->out[0],
                           .planes = from[0] * from[1],
                           .size = to[2] * to[3],
                           .windows = from[2] * from[3],
                           .threads = c->threads,
                           .failed = &failed};
    simd_floats(c)->pool_scatter(&a);
    for (int64_t o = 0; failed && o < a.planes * a.windows; o++)
        if ((uint64_t)a.index[o] >= (uint64_t)a.size) {
            wg_call_fail(c, "index %lld is outside [0,%lld)", (long long)a.index[o],
                         (long long)a.size);
            return;
        }
}

static const char *refuses_means(const wg_node *n)
{
    const wg_pool_attrs *a = n->attrs;
    const wg_value *x = n->op == &wg_op_avg_pool2d ? n->in[0] : n->out[0];
    if (wgi_simd_refuses_empty_floats(n))
        return wgi_simd_refuses_empty_floats(n);
    if (!wg_value_count(n->out[0]))
        return "an empty result";
    return a->kernel_h > 1 && x->shape.dim[3] > SIMD_MEAN_POOL_COLUMNS ? "rows too long" : NULL;
}

/* `of` is x or dx, and `means` is y or dy. */
static simd_mean_pool means_of(const wg_call *c, const wg_value *of, const wg_value *means)
{
    const wg_pool_attrs *attrs = c->node->attrs;
    wg_sliding h, w;
    wg_pool_windows(attrs, &of->shape, &means->shape, &h, &w);
    return (simd_mean_pool){.from = c->in[0],
                            .to = c->out[0],
                            .planes = of->shape.dim[0] * of->shape.dim[1],
                            .h = simd_window_of(&h),
                            .w = simd_window_of(&w),
                            .exclude_padding = attrs->exclude_padding,
                            .threads = c->threads};
}

static void run_means(wg_call *c)
{
    simd_mean_pool a = means_of(c, c->node->in[0], c->node->out[0]);
    simd_floats(c)->mean_pool(&a);
}

static void run_means_grad(wg_call *c)
{
    simd_mean_pool a = means_of(c, c->node->out[0], c->node->in[0]);
    simd_floats(c)->mean_pool_grad(&a);
}

const simd_kernel wgi_simd_pool[] = {
    {&wg_op_max_pool2d, "windows", refuses_pool, NULL, run_pool},
    {&wg_op_pool_scatter, "planes", refuses_scatter, NULL, run_scatter},
    {&wg_op_avg_pool2d, "windows", refuses_means, NULL, run_means},
    {&wg_op_avg_pool2d_grad, "planes", refuses_means, NULL, run_means_grad},
    {.op = NULL},
};
