/* Convolutions and their gradients: of 3x3 taps in f32 by kernels/winograd.c; in f64, and in f32
 * those that oneDNN does not take, of few channels a group by kernels/float/direct.c, others by
 * kernels/float/conv.c. */
#include "backends/fixed.h"
#include "backends/simd/internal.h"
#include "backends/simd/kernels/direct.h"
#include "backends/simd/kernels/winograd.h"
#include "backends/winograd.h"

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

static wg_conv_geometry geometry_of(const wg_node *n)
{
    const roles *r = roles_of(n);
    return wg_conv_geometry_of(n->attrs, shape_of(n, r->x), shape_of(n, r->weight),
                               shape_of(n, r->y));
}

static simd_conv conv_of(const wg_node *n, int threads)
{
    wg_conv_geometry g = geometry_of(n);
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

/* Without a product: what would have few rows or columns, of kernels with several taps. */
static const char *refuses_direct(const wg_node *n)
{
    enum { FEW = 4, SOME = 8, MANY = 64 };
    static const double SMALL = 1 << 14; /* operations */
    static const size_t LARGE = 1 << 26; /* bytes of scratch */
    const char *why = wgi_simd_refuses_empty_floats(n);
    if (why || wg_value_count(n->out[0]) == 0)
        return why ? why : "an empty result";
    simd_conv a = conv_of(n, 1);
    if (simd_direct_size(&a, roles_of(n)->kind) > 0x1p40)
        return "too much padding";
    simd_direct p = simd_direct_of(&a, roles_of(n)->kind);
    if (p.taps == 1)
        return "a product";
    bool back = p.kind == SIMD_CONV_X; /* then a product is slow at folding */
    bool few = p.outputs <= FEW ? p.inputs <= (back ? SOME : MANY)
                                : back && p.inputs <= FEW && p.outputs <= MANY;
    if (!few)
        return "many channels a group";
    if (n->op->flops(n) < SMALL)
        return "a small convolution";
    return simd_direct_room(&p, sizeof(double)) > LARGE ? "large rows" : NULL;
}

/* By minimal filtering (backends/winograd.h) */
static const char *refuses_winograd(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty(n);
    if (why || wg_value_count(n->out[0]) == 0)
        return why ? why : "an empty result";
    wg_conv_geometry g = geometry_of(n);
    return wgi_winograd_pays(&g) ? NULL : "minimal filtering would not pay";
}

static size_t scratch_winograd(const wg_node *n, int threads)
{
    simd_conv a = conv_of(n, threads);
    return (size_t)simd_winograd_scratch(&a, roles_of(n)->kind) * sizeof(float);
}

/* Of fixed weights, the points. */
size_t wgi_simd_conv_keeps(const wg_node *n)
{
    if (n->op != &wg_op_conv2d || refuses_winograd(n) || !wgi_is_parameter(n->in[1]))
        return 0;
    simd_conv a = conv_of(n, 1);
    simd_winograd g = simd_winograd_of(&a, SIMD_CONV_Y);
    return (size_t)simd_winograd_weights(&g) * sizeof(float);
}

static size_t scratch_direct(const wg_node *n, int threads)
{
    simd_conv a = conv_of(n, threads);
    simd_direct p = simd_direct_of(&a, roles_of(n)->kind);
    return (size_t)threads * simd_direct_room(&p, wg_dtype_size(n->in[0]->dtype));
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
    simd_kept *kept = simd_kept_of(c);
    if (kept) {
        a.points = kept->data;
        a.has_points = kept->made;
        kept->made = true;
    }
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

static void run_winograd_forward(wg_call *c)
{
    run(c, simd_kernels(c)->winograd_forward);
}

static void run_winograd_grad_x(wg_call *c)
{
    run(c, simd_kernels(c)->winograd_grad_x);
}

static void run_winograd_grad_w(wg_call *c)
{
    run(c, simd_kernels(c)->winograd_grad_w);
}

static void run_direct_forward(wg_call *c)
{
    run(c, simd_floats(c)->direct_forward);
}

static void run_direct_grad_x(wg_call *c)
{
    run(c, simd_floats(c)->direct_grad_x);
}

static void run_direct_grad_w(wg_call *c)
{
    run(c, simd_floats(c)->direct_grad_w);
}

const simd_kernel wgi_simd_conv[] = {
    {&wg_op_conv2d, "winograd", refuses_winograd, scratch_winograd, run_winograd_forward},
    {&wg_op_conv2d_grad_x, "winograd", refuses_winograd, scratch_winograd, run_winograd_grad_x},
    {&wg_op_conv2d_grad_w, "winograd", refuses_winograd, scratch_winograd, run_winograd_grad_w},
    {&wg_op_conv2d, "direct", refuses_direct, scratch_direct, run_direct_forward},
    {&wg_op_conv3d, "direct", refuses_direct, scratch_direct, run_direct_forward},
    {&wg_op_conv2d_grad_x, "direct", refuses_direct, scratch_direct, run_direct_grad_x},
    {&wg_op_conv3d_grad_x, "direct", refuses_direct, scratch_direct, run_direct_grad_x},
    {&wg_op_conv2d_grad_w, "direct", refuses_direct, scratch_direct, run_direct_grad_w},
    {&wg_op_conv3d_grad_w, "direct", refuses_direct, scratch_direct, run_direct_grad_w},
    {&wg_op_conv2d, "unfolded", refuses, scratch, run_forward},
    {&wg_op_conv3d, "unfolded", refuses, scratch, run_forward},
    {&wg_op_conv2d_grad_x, "unfolded", refuses, scratch, run_grad_x},
    {&wg_op_conv3d_grad_x, "unfolded", refuses, scratch, run_grad_x},
    {&wg_op_conv2d_grad_w, "unfolded", refuses, scratch, run_grad_w},
    {&wg_op_conv3d_grad_w, "unfolded", refuses, scratch, run_grad_w},
    {.op = NULL},
};
