/* Convolutions and their gradients by kernels/float/conv.c: in f64, and in f32 those that oneDNN
 * does not take. */
#include "backends/simd/internal.h"
#include "wengert/ops/conv.h"

/* Which of a node's tensors is x, the weights and y: operands, or -1 for the result. */
typedef struct roles {
    const wg_op *op[2];
    int x, weight, y;
    simd_conv_kind kind;
} roles;

static const roles table[] = {
    {{&wg_op_conv2d, &wg_op_conv3d}, 0, 1, -1, SIMD_CONV_Y},
    {{&wg_op_conv2d_grad_x, &wg_op_conv3d_grad_x}, -1, 1, 0, SIMD_CONV_X},
    {{&wg_op_conv2d_grad_w, &wg_op_conv3d_grad_w}, 0, -1, 1, SIMD_CONV_W},
};

static const roles *roles_of(const wg_node *n)
{
    int i = 0;
    while (table[i].op[0] != n->op && table[i].op[1] != n->op)
        i++;
    return &table[i];
}

static const wg_shape *shape_of(const wg_node *n, int role)
{
    return role < 0 ? &n->out[0]->shape : &n->in[role]->shape;
}

static simd_conv conv_of(const wg_node *n, int threads)
{
    const roles *r = roles_of(n);
    wg_conv_geometry g =
        wg_conv_geometry_of(n->attrs, shape_of(n, r->x), shape_of(n, r->weight), shape_of(n, r->y));
    return (simd_conv){.batch = g.batch,
                       .groups = g.groups,
                       .in = g.in,
                       .out = g.out,
                       .d = simd_window_of(&g.d),
                       .h = simd_window_of(&g.h),
                       .w = simd_window_of(&g.w),
                       .threads = threads};
}

/* What has few terms, or few of them in a product, the reference does as fast. */
static const char *refuses(const wg_node *n)
{
    static const double SMALL = 1 << 17; /* operations */
    const char *why = wgi_simd_refuses_empty_floats(n);
    if (why || wg_value_count(n->out[0]) == 0)
        return why ? why : "an empty result";
    simd_conv a = conv_of(n, 1);
    if (a.in <= 2 && a.out <= 2)
        return "few channels a group";
    return n->op->flops(n) < SMALL ? "a small convolution" : NULL;
}

/* Of depthwise convolutions, the gradient of the weights. */
static const char *refuses_depthwise(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty_floats(n);
    if (why || wg_value_count(n->out[0]) == 0)
        return why ? why : "an empty result";
    simd_conv a = conv_of(n, 1);
    if (a.in > 1 || a.out > 1)
        return "several channels a group";
    if (a.w.stride > 1)
        return "windows that leave out columns";
    bool small = a.h.kernel * a.w.kernel <= SIMD_DEPTHWISE_TAPS &&
                 (a.w.kernel - 1) * a.w.dilation <= SIMD_DEPTHWISE_REACH;
    return small ? NULL : "a large kernel";
}

static size_t scratch(const wg_node *n, int threads)
{
    simd_conv a = conv_of(n, threads);
    return (size_t)simd_conv_scratch(&a, roles_of(n)->kind) * wg_dtype_size(n->in[0]->dtype);
}

static void run(wg_call *c, void (*kernel)(const simd_conv *))
{
    const wg_node *n = c->node;
    const roles *r = roles_of(n);
    simd_conv a = conv_of(n, c->threads);
    a.x = r->x < 0 ? NULL : c->in[r->x];
    a.weight = r->weight < 0 ? NULL : c->in[r->weight];
    a.y = r->y < 0 ? NULL : c->in[r->y];
    a.bias = n->n_in > 2 ? c->in[2] : NULL;
    a.to = c->out[0];
    a.scratch = c->scratch;
    kernel(&a);
}

static void run_forward(wg_call *c)
{
    run(c, simd_floats(c)->conv_forward);
}

static void run_grad_x(wg_call *c)
{
    run(c, simd_floats(c)->conv_grad_x);
}

static void run_grad_w(wg_call *c)
{
    run(c, simd_floats(c)->conv_grad_w);
}

static void run_depthwise(wg_call *c)
{
    run(c, simd_floats(c)->depthwise_grad_w);
}

const simd_kernel wgi_simd_conv[] = {
    {&wg_op_conv2d_grad_w, "depthwise", refuses_depthwise, NULL, run_depthwise},
    {&wg_op_conv2d, "unfolded", refuses, scratch, run_forward},
    {&wg_op_conv3d, "unfolded", refuses, scratch, run_forward},
    {&wg_op_conv2d_grad_x, "unfolded", refuses, scratch, run_grad_x},
    {&wg_op_conv3d_grad_x, "unfolded", refuses, scratch, run_grad_x},
    {&wg_op_conv2d_grad_w, "unfolded", refuses, scratch, run_grad_w},
    {&wg_op_conv3d_grad_w, "unfolded", refuses, scratch, run_grad_w},
    {.op = NULL},
};
