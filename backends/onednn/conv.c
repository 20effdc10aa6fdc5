/* Convolution and its adjoints.  oneDNN is fastest in layouts of its own, blocks of 16 channels,
 * even with the reorders from and to ours: 1.1 to 18 times as fast as directly on ours, where it
 * makes a matrix product of the convolution.  The exceptions are below in is_better_plain;
 * docs/notes/performance.md has the figures. */
#include "backends/onednn/internal.h"
#include "backends/winograd.h"
#include "wengert/ops/conv.h"
#include "wengert/ops/fused.h"

#include <string.h>

enum { X, W, Y, BIAS, TENSORS };

/* Where x, w, y and the bias are among operands and results, and what oneDNN calls them. */
typedef struct role {
    int where, index, arg;
} role;

typedef enum direction { FORWARD, GRAD_X, GRAD_W, DIRECTIONS } direction;

static const role roles[DIRECTIONS][TENSORS] = {
    /* arg 0: has none */
    [FORWARD] = {{OD_IN, 0, DNNL_ARG_SRC},
                 {OD_IN, 1, DNNL_ARG_WEIGHTS},
                 {OD_OUT, 0, DNNL_ARG_DST},
                 {OD_IN, 2, DNNL_ARG_BIAS}},
    [GRAD_X] = {{OD_OUT, 0, DNNL_ARG_DIFF_SRC},
                {OD_IN, 1, DNNL_ARG_WEIGHTS},
                {OD_IN, 0, DNNL_ARG_DIFF_DST},
                {0}},
    [GRAD_W] = {{OD_IN, 0, DNNL_ARG_SRC},
                {OD_OUT, 0, DNNL_ARG_DIFF_WEIGHTS},
                {OD_IN, 1, DNNL_ARG_DIFF_DST},
                {0}},
};

static const struct {
    const wg_op *op;
    direction direction;
} forms[] = {
    {&wg_op_conv2d, FORWARD},         {&wg_op_conv2d_grad_x, GRAD_X},
    {&wg_op_conv2d_grad_w, GRAD_W},   {&wg_op_conv3d, FORWARD},
    {&wg_op_conv3d_grad_x, GRAD_X},   {&wg_op_conv3d_grad_w, GRAD_W},
    {&wg_op_blocked_conv2d, FORWARD},
};

/* A node: what it computes, along H and W or along D, H and W. */
enum { MAX_AXES = 3 };
typedef struct conv {
    direction direction;
    const wg_value *v[TENSORS]; /* NULL where it has none */
    int64_t block[TENSORS];     /* channels side by side in x and y; 0: our layout */
    bool adds;                  /* operand 3 */
    wg_conv_geometry g;
    int axes;
    wg_sliding along[MAX_AXES];
} conv;

static bool is_better_plain(const conv *c)
{
    const wg_conv_geometry *g = &c->g;
    bool point = g->d.kernel * g->h.kernel * g->w.kernel == 1 &&
                 g->d.stride * g->h.stride * g->w.stride == 1;
    return g->groups == 1 && (point || (c->direction == GRAD_X && g->in < 4));
}

/* x and y are where the plan wants them; only the layout of the weights is oneDNN's choice. */
static bool in_blocks(const conv *c)
{
    return c->block[Y] > 0;
}

/* Dimensions of tensor t for oneDNN, which wants the groups of the weights as an axis; returns the
 * rank. */
static int dims_of(const conv *c, int t, dnnl_dims_t dims)
{
    const wg_conv_geometry *g = &c->g;
    int rank = 0;
    if (t == W && g->groups > 1)
        dims[rank++] = g->groups;
    if (t != BIAS)
        dims[rank++] = t == W ? g->out : g->batch;
    dims[rank++] = t == W ? g->in : g->groups * (t == X ? g->in : g->out);
    for (int k = 0; t != BIAS && k < c->axes; k++) {
        const wg_sliding *s = &c->along[k];
        dims[rank++] = t == X ? s->size : t == W ? s->kernel : s->count;
    }
    return rank;
}

/* The convolution, to which the sum is appended. */
static dnnl_status_t make_sum(od_pd *pd, const od_backend *b, const od_md md[TENSORS],
                              const od_geometry *at)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t made = wgi_dnnl.primitive_attr_clone(&attr, b->attr);
    if (made == dnnl_success)
        made = wgi_od_set_post_op(attr, dnnl_alg_kind_undef, 0);
    if (made == dnnl_success)
        made = wgi_od_convolution(pd, b->engine, md[X], md[W], md[BIAS], md[Y], at, attr);
    if (attr)
        wgi_dnnl.primitive_attr_destroy(attr);
    return made;
}

static dnnl_status_t make_pd(od_pd *pd, const od_backend *b, const conv *c, const od_md md[TENSORS])
{
    od_geometry at = {{0}, {0}, {0}, {0}, {0}};
    for (int k = 0; k < c->axes; k++) {
        at.stride[k] = c->along[k].stride;
        at.dilation[k] = c->along[k].dilation - 1;
        at.pad_before[k] = at.pad_after[k] = c->along[k].padding;
    }
    if (c->adds)
        return make_sum(pd, b, md, &at);
    od_pd forward;
    dnnl_status_t made =
        wgi_od_convolution(&forward, b->engine, md[X], md[W], md[BIAS], md[Y], &at, b->attr);
    if (made != dnnl_success)
        return made;
    if (c->direction == FORWARD) {
        *pd = forward;
        return made;
    }
    made = c->direction == GRAD_X
               ? wgi_od_convolution_backward_data(pd, b->engine, md[X], md[W], md[Y], &at, forward,
                                                  b->attr)
               : wgi_od_convolution_backward_weights(pd, b->engine, md[X], md[W], NULL, md[Y], &at,
                                                     forward, b->attr);
    wgi_dnnl.primitive_desc_destroy(forward);
    return made;
}

/* Some positions of x along an axis are in no window. */
static bool leaves_gaps(const conv *c)
{
    for (int i = 0; i < c->axes; i++)
        if (c->along[i].stride > (c->along[i].kernel - 1) * c->along[i].dilation + 1)
            return true;
    return false;
}

/* Products of these overflow the 32 bits that oneDNN counts in. */
static bool is_wide(const conv *c)
{
    enum { LIMIT = 1 << 15 };
    for (int i = 0; i < c->axes; i++)
        if (c->along[i].stride >= LIMIT || c->along[i].dilation >= LIMIT ||
            c->along[i].padding >= LIMIT)
            return true;
    return false;
}

/* Makes the shape of a tensor in blocks of channels the one without; returns their size or 0. */
static int64_t without_blocks(wg_shape *s)
{
    if (s->rank == 4)
        return 0;
    s->rank = 4;
    s->dim[1] *= s->dim[4];
    return s->dim[4];
}

/* Fills *c; or why oneDNN is not asked. */
static const char *open_conv(const wg_node *n, conv *c)
{
    int f = 0;
    while (forms[f].op != n->op)
        f++;
    *c = (conv){.direction = forms[f].direction};
    for (int t = 0; t < TENSORS; t++) {
        const role *r = &roles[c->direction][t];
        if (!r->arg || (r->where == OD_IN && r->index >= n->n_in))
            continue;
        c->v[t] = r->where == OD_OUT ? n->out[r->index] : n->in[r->index];
        if (!wg_value_count(c->v[t]))
            return "an empty tensor";
    }
    if (c->v[X]->dtype != WG_F32)
        return "not f32";
    wg_shape x = c->v[X]->shape, y = c->v[Y]->shape;
    if (n->op == &wg_op_blocked_conv2d) {
        c->block[X] = without_blocks(&x);
        c->block[Y] = without_blocks(&y);
        c->adds = n->n_in > 3;
    }
    c->axes = x.rank - 2;
    c->g = wg_conv_geometry_of(n->attrs, &x, &c->v[W]->shape, &y);
    const wg_sliding all[MAX_AXES] = {c->g.d, c->g.h, c->g.w};
    memcpy(c->along, all + MAX_AXES - c->axes, (size_t)c->axes * sizeof *all);
    if (is_wide(c))
        return "a stride, dilation or padding beyond what oneDNN counts with";
    if (c->axes == 3 && leaves_gaps(c))
        return "gaps between windows in three dimensions, on which oneDNN 3.6 crashes";
    return NULL;
}

/* The layout in which the plan has tensor t. */
static dnnl_status_t given_layout(const conv *c, int t, int rank, const dnnl_dims_t dims, od_md *md)
{
    return c->block[t] ? wgi_od_md_blocked(md, dims, c->block[t])
                       : wgi_od_md_strided(md, rank, dims, dnnl_f32, NULL);
}

/* The descriptor that the primitive is asked for; the plan gets that of our layout.  NULL on
 * failure. */
static od_md bind_tensor(const conv *c, int t, bool ours, od_plan *plan)
{
    const role *r = &roles[c->direction][t];
    dnnl_dims_t dims;
    od_md md = NULL, given = NULL;
    int rank = dims_of(c, t, dims);
    if (given_layout(c, t, rank, dims, &given) != dnnl_success)
        return NULL;
    wgi_od_bind_plain(plan, r->arg, r->where, r->index, given);
    dnnl_status_t made =
        ours ? given_layout(c, t, rank, dims, &md) : wgi_od_md_any(&md, rank, dims, dnnl_f32);
    return made == dnnl_success ? md : NULL;
}

/* In our layout or in one of oneDNN's choice; false if it has none, with the plan cleared. */
static bool make_layout(const od_backend *b, const conv *c, bool ours, od_plan *plan)
{
    od_md md[TENSORS] = {NULL};
    bool ok = true;
    for (int t = 0; t < TENSORS; t++)
        if (c->v[t]) {
            md[t] = bind_tensor(c, t, ours || t == BIAS || (in_blocks(c) && t != W), plan);
            ok = ok && md[t];
        }
    ok = ok && make_pd(&plan->pd, b, c, md) == dnnl_success;
    for (int t = 0; t < TENSORS; t++)
        wgi_od_md_free(md[t]);
    if (!ok)
        wgi_od_plan_clear(plan);
    return ok;
}

/* Few channels a group, or in all, leave most of a vector of channels empty: own kernels go along
 * rows.  They compute a few channels from any number, and gradients of x also from a few. */
static bool has_few_channels(const conv *c)
{
    enum { FEW = 4, SOME = 8, MANY = 64 };
    int64_t in = c->g.in, out = c->g.out;
    if (in == 1 && out == 1)
        return c->g.groups < SOME;
    if (c->direction == GRAD_X)
        return (in <= FEW && out <= SOME) || (out <= FEW && in <= MANY);
    return out <= FEW && in <= MANY;
}

/* The gradient of a depthwise convolution's weights, of windows that move by one in rows of some
 * vectors, and of more numbers than are near a core: putting both operands into blocks takes longer
 * than the own kernel does. */
static bool is_large_depthwise_grad(const conv *c)
{
    enum { ROW = 32, MANY = 1 << 20 };
    const wg_conv_geometry *g = &c->g;
    return c->direction == GRAD_W && g->in == 1 && g->out == 1 && g->h.stride == 1 &&
           g->w.stride == 1 && g->w.count >= ROW &&
           g->batch * g->groups * g->d.size * g->h.size * g->w.size >= MANY;
}

/* Why an own kernel is faster; NULL: it is not (docs/notes/performance.md).  Where oneDNN unfolds
 * as we do, it is slow at folding gradients back, and unfolds groups of channels one by one: from
 * the dilation, stride, padding or number of taps on that its own loops do not take, a depthwise
 * convolution takes 3 to 30 times as long. */
static const char *better_by_own_kernels(const conv *c, const od_plan *plan)
{
    bool point = c->g.d.kernel * c->g.h.kernel * c->g.w.kernel == 1;
    if (point)
        return NULL;
    if (wgi_od_is_made_of(plan->pd, "gemm")) {
        if (c->direction == GRAD_X)
            return "its gradients are folded slowly";
        if (c->g.groups > 1)
            return "groups are unfolded one by one";
    }
    if (c->axes == 2 && wgi_winograd_pays(&c->g))
        return "minimal filtering";
    if (is_large_depthwise_grad(c))
        return "large planes, each by itself";
    return has_few_channels(c) ? "few channels" : NULL;
}

/* In either layout; versions differ in which has more than a reference. */
static bool make_either_layout(const od_backend *b, const conv *c, od_plan *plan)
{
    bool ours = is_better_plain(c);
    if (make_layout(b, c, ours, plan) && !wgi_od_is_reference(plan->pd))
        return true;
    wgi_od_plan_clear(plan);
    return make_layout(b, c, !ours, plan);
}

/* ---- one tap --------------------------------------------------------------------------------- */

/* A convolution of one tap is a product of matrices for each example: with S
 * positions,
 *
 *     y  [N, O, S] = w  [O, C] x  [N, C, S] (+ bias [O])
 *     dx [N, C, S] = w' [C, O] dy [N, O, S]
 *     dw [O, C]    = sum over N of dy [N, O, S] x' [N, S, C]
 *
 * oneDNN's convolution in our layout leaves these to its gemm, which does not pack; its product of
 * a batch does.  Where rows of S floats are a multiple of 2 KiB apart, they fall into few sets of
 * the nearest cache, and packing pays. */
static int64_t positions(const conv *c)
{
    return c->g.d.count * c->g.h.count * c->g.w.count;
}

static bool is_point(const conv *c)
{
    for (int i = 0; i < c->axes; i++)
        if (c->along[i].kernel > 1 || c->along[i].stride > 1 || c->along[i].padding)
            return false;
    return c->g.groups == 1;
}

/* With AVX2 there is no such product of a batch, and the partial dw of many examples take longer to
 * write and read than the packing saves. */
static bool product_pays(const od_backend *b, const conv *c)
{
    enum { COLLIDE = 512, FEW = 16 };
    const wg_conv_geometry *g = &c->g;
    int64_t s = positions(c);
    return !b->avx2 && is_point(c) && s % COLLIDE == 0 && g->in >= FEW && g->out >= FEW &&
           (c->direction != GRAD_W || g->in * g->out <= s * (g->in + g->out) / 4);
}

/* [n, rows, columns] of a batch of n, or of one matrix for all examples (n = 1) */
static od_md matrix(int64_t n, int64_t rows, int64_t columns, bool transposed)
{
    const dnnl_dims_t dims = {n, rows, columns};
    const dnnl_dims_t strides = {rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
    od_md md;
    return wgi_od_md_strided(&md, 3, dims, dnnl_f32, strides) == dnnl_success ? md : NULL;
}

/* y[n][o] += bias[o] */
static void add_bias(wg_call *c)
{
    if (c->node->n_in < 3)
        return;
    const wg_shape *shape = &c->node->out[0]->shape;
    const float *bias = c->in[2];
    float *y = c->out[0];
    int64_t channels = shape->dim[1], rows = shape->dim[0] * channels;
    int64_t s = wg_shape_count(shape) / rows;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t r = 0; r < rows; r++)
#pragma omp simd
        for (int64_t i = 0; i < s; i++)
            y[r * s + i] += bias[r % channels];
}

/* dw = the sum of one dw for each example, which lie in the scratch */
static void add_up(wg_call *c)
{
    const float *each = c->scratch;
    float *dw = c->out[0];
    int64_t n = c->node->in[0]->shape.dim[0], count = wg_value_count(c->node->out[0]);
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t from = 0; from < count; from += 256) {
        int64_t to = from + 256 < count ? from + 256 : count;
        memcpy(dw + from, each + from, (size_t)(to - from) * sizeof *dw);
        for (int64_t k = 1; k < n; k++)
#pragma omp simd
            for (int64_t i = from; i < to; i++)
                dw[i] += each[k * count + i];
    }
}

/* false, and the plan is cleared, if oneDNN has only plain loops for it */
static bool make_products(const od_backend *b, const conv *c, od_plan *plan)
{
    const wg_conv_geometry *g = &c->g;
    int64_t s = positions(c);
    od_md a, m, y;
    if (c->direction == GRAD_W) {
        a = matrix(g->batch, g->out, s, false);
        m = matrix(g->batch, s, g->in, true);
        y = matrix(g->batch, g->out, g->in, false);
    } else {
        bool forward = c->direction == FORWARD;
        int64_t rows = forward ? g->out : g->in, terms = forward ? g->in : g->out;
        a = matrix(1, rows, terms, !forward);
        m = matrix(g->batch, terms, s, false);
        y = matrix(g->batch, rows, s, false);
    }
    bool made =
        a && m && y && wgi_od_matmul(&plan->pd, b->engine, a, m, NULL, y, b->attr) == dnnl_success;
    wgi_od_md_free(a);
    wgi_od_md_free(m);
    wgi_od_md_free(y);
    const role *r = roles[c->direction];
    bool to_scratch = c->direction == GRAD_W;
    wgi_od_bind(plan, DNNL_ARG_DST, to_scratch ? OD_SCRATCH : OD_OUT, 0);
    wgi_od_bind(plan, DNNL_ARG_SRC, OD_IN, r[to_scratch ? Y : W].index);
    wgi_od_bind(plan, DNNL_ARG_WEIGHTS, OD_IN, r[c->direction == GRAD_X ? Y : X].index);
    plan->after = to_scratch ? add_up : c->direction == FORWARD ? add_bias : NULL;
    if (!made || wgi_od_is_reference(plan->pd))
        wgi_od_plan_clear(plan);
    return plan->pd != NULL;
}

/* ---- making them ----------------------------------------------------------------------------- */

/* Of a product that has unfolded taps for rows, terms or columns; 0 for other kernels. */
static size_t packed_bytes(const od_backend *b, const conv *c, const od_plan *plan)
{
    const wg_conv_geometry *g = &c->g;
    int64_t taps = g->in * g->d.kernel * g->h.kernel * g->w.kernel;
    bool gemm = wgi_od_is_made_of(plan->pd, "gemm");
    return gemm ? wgi_od_packed_bytes(b, positions(c), taps > g->out ? taps : g->out, taps) : 0;
}

const char *wgi_od_make_conv(const od_backend *b, const wg_node *n, od_plan *plan)
{
    conv c;
    const char *why = open_conv(n, &c);
    if (why)
        return why;
    if (in_blocks(&c)) {
        plan->adds_to = c.adds ? 3 : 0;
        plan->relu = ((const wg_blocked_conv_attrs *)n->attrs)->relu;
        return make_layout(b, &c, false, plan) ? NULL : "oneDNN has no convolution in such blocks";
    }
    if (product_pays(b, &c) && make_products(b, &c, plan))
        return NULL;
    if (!make_either_layout(b, &c, plan))
        return "oneDNN has no such convolution";
    plan->yields = better_by_own_kernels(&c, plan);
    plan->packed = packed_bytes(b, &c, plan);
    return NULL;
}
