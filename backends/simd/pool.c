/* Maxima over windows, and their gradient. */
#include "backends/simd/internal.h"
#include "wengert/ops/pool.h"

static simd_window window_of(const wg_sliding *w)
{
    return (simd_window){w->size, w->kernel, w->stride, w->padding, w->dilation, w->count};
}

static const char *refuses_pool(const wg_node *n)
{
    const int64_t *d = n->in[0]->shape.dim;
    const char *why = wgi_simd_refuses_empty(n);
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
                   .h = window_of(&h),
                   .w = window_of(&w),
                   .threads = c->threads};
    simd_kernels(c)->max_pool(&a);
}

static const char *refuses_scatter(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty(n);
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
    simd_kernels(c)->pool_scatter(&a);
    for (int64_t o = 0; failed && o < a.planes * a.windows; o++)
        if ((uint64_t)a.index[o] >= (uint64_t)a.size) {
            wg_call_fail(c, "index %lld is outside [0,%lld)", (long long)a.index[o],
                         (long long)a.size);
            return;
        }
}

const simd_kernel wgi_simd_pool[] = {
    {&wg_op_max_pool2d, "windows", refuses_pool, NULL, run_pool},
    {&wg_op_pool_scatter, "planes", refuses_scatter, NULL, run_scatter},
    {.op = NULL},
};
