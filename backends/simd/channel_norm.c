/* batchnorm, groupnorm and their gradients. */
#include "backends/simd/internal.h"
#include "wengert/ops/norm.h"

static bool by_group(const wg_node *n)
{
    return n->op == &wg_op_groupnorm || n->op == &wg_op_groupnorm_grad;
}

/* Of an op on x [N, C, ...], or on a dy like it, whatever the operands hold. */
static simd_channel_norm sizes_of(const wg_node *n)
{
    const wg_shape *s = &n->in[0]->shape;
    simd_channel_norm a = {.examples = s->dim[0], .channels = s->dim[1], .size = 1};
    for (int i = 2; i < s->rank; i++)
        a.size *= s->dim[i];
    if (by_group(n)) {
        const wg_groupnorm_attrs *attrs = n->attrs;
        a.groups = attrs->groups;
        a.eps = attrs->eps;
    } else {
        const wg_batchnorm_attrs *attrs = n->attrs;
        a.eps = attrs->eps;
    }
    return a;
}

/* How planes are met: as they are, or, if they are short, as columns or as runs of a group. */
typedef enum shape { PLANES, COLUMNS, RUNS } shape;

/* With few examples, the sums of columns cost more than their rows, and so do a run's gains. */
static shape shape_of(const simd_channel_norm *a)
{
    enum { SHORT = 128, ROWS = 4, NUMBERS = 16 };
    bool columns = a->size <= SIMD_COLUMN_NORM_COLUMNS && a->size <= ROWS * a->examples;
    if (a->groups)
        return a->size <= SHORT && a->size <= NUMBERS * a->examples ? RUNS : PLANES;
    return a->size == 1 || columns ? COLUMNS : PLANES;
}

static size_t scratch(const wg_node *n, int threads)
{
    simd_channel_norm a = sizes_of(n);
    shape how = shape_of(&a);
    int64_t doubles = how == COLUMNS ? 0
                      : how == RUNS
                          ? simd_group_runs_scratch(&a, threads, wg_dtype_size(n->in[0]->dtype))
                          : simd_channel_norm_scratch(&a);
    return (size_t)doubles * sizeof(double);
}

static const void *optional(const wg_call *c, int i)
{
    return i < c->node->n_in ? c->in[i] : NULL;
}

static simd_channel_norm norm_of(const wg_call *c)
{
    simd_channel_norm a = sizes_of(c->node);
    a.threads = c->threads;
    a.scratch = c->scratch;
    return a;
}

/* x gain? bias? -> y mean var, or y mean rstd */
static void run(wg_call *c)
{
    simd_channel_norm a = norm_of(c);
    a.x = c->in[0];
    a.gain = optional(c, 1);
    a.bias = optional(c, 2);
    a.y = c->out[0];
    a.mean = c->out[1];
    a.spread = c->out[2];
    switch (shape_of(&a)) {
    case PLANES: simd_floats(c)->channel_norm_forward(&a); break;
    case COLUMNS: simd_floats(c)->column_norm_forward(&a); break;
    case RUNS: simd_floats(c)->group_runs_forward(&a); break;
    }
}

/* dy x mean var gain?, or dy x mean rstd gain? -> dx dgain dbias */
static void run_grad(wg_call *c)
{
    simd_channel_norm a = norm_of(c);
    a.dy = c->in[0];
    a.x = c->in[1];
    a.mean = (void *)(uintptr_t)c->in[2]; /* read only in this direction */
    a.spread = (void *)(uintptr_t)c->in[3];
    a.gain = optional(c, 4);
    a.dx = c->out[0];
    a.dgain = c->out[1];
    a.dbias = c->out[2];
    switch (shape_of(&a)) {
    case PLANES: simd_floats(c)->channel_norm_backward(&a); break;
    case COLUMNS: simd_floats(c)->column_norm_backward(&a); break;
    case RUNS: simd_floats(c)->group_runs_backward(&a); break;
    }
}

const simd_kernel wgi_simd_channel_norm[] = {
    {&wg_op_batchnorm, "channels", wgi_simd_refuses_empty_floats, scratch, run},
    {&wg_op_batchnorm_grad, "channels", wgi_simd_refuses_empty_floats, scratch, run_grad},
    {&wg_op_groupnorm, "groups", wgi_simd_refuses_empty_floats, scratch, run},
    {&wg_op_groupnorm_grad, "groups", wgi_simd_refuses_empty_floats, scratch, run_grad},
    {.op = NULL},
};
