#include "paper/stacks.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the layers ------------------------------------------------------------------------------ */

static wg_value *weight(wg_value *x, const char *name, int l, wg_shape shape)
{
    wg_scope_push(wg_graph_of(x), "layer%d", l);
    wg_value *w = wg_parameter(wg_graph_of(x), name, x->dtype, shape, wg_xavier(1));
    wg_scope_pop(wg_graph_of(x));
    return w;
}

/* softmax(x x' / sqrt(d)) x; x [B, 1, n, d].  The table leaves out the projections, as it does for
 * the other layers. */
static wg_value *self_attention(wg_value *x, int64_t d, int l, int64_t radius)
{
    (void)d, (void)l, (void)radius;
    return wg_attention(x, x, x, NULL, NULL);
}

/* h_t = tanh(wi x_t + wh h_(t-1)); x [B, n, d] */
static wg_value *recurrent(wg_value *x, int64_t d, int l, int64_t radius)
{
    (void)radius;
    wg_value *wi = weight(x, "wi", l, WG_SHAPE(d, d)), *wh = weight(x, "wh", l, WG_SHAPE(d, d));
    return wg_rnn(x, wi, wh, NULL, NULL, NULL);
}

/* y_t = sum over k of w_k x_(t - k dilation), dilation KERNEL^l, as in ByteNet's decoder; x [B, d,
 * n] */
static wg_value *convolution(wg_value *x, int64_t d, int l, int64_t radius)
{
    (void)radius;
    wg_conv1d_options o = {.dilation = 1};
    for (int i = 0; i < l; i++)
        o.dilation *= PAPER_KERNEL;
    wg_value *behind =
        wg_pad(x, WG_SHAPE(0, 0, o.dilation * (PAPER_KERNEL - 1)), WG_SHAPE(0, 0, 0), 0);
    return wg_conv1d(behind, weight(x, "w", l, WG_SHAPE(d, d, PAPER_KERNEL)), NULL, &o);
}

/* Each position attends to itself and `radius` positions on each side; x [B, 1, n, d] */
static wg_value *restricted(wg_value *x, int64_t d, int l, int64_t radius)
{
    (void)d, (void)l;
    const wg_attention_attrs near = {.window = true, .left = radius, .right = radius};
    return wg_attention(x, x, x, NULL, &near);
}

const paper_layer paper_layers[PAPER_LAYERS] = {
    {"self-attention", "O(n^2 d)", "O(1)", "O(1)", self_attention, "b1nd", 2, 1, 0, false, 1, 256,
     64, 128, 1024},
    {"recurrent", "O(n d^2)", "O(n)", "O(n)", recurrent, "bnd", 1, 2, 1, false, 16, 8, 256, 128, 8},
    {"convolution", "O(k n d^2)", "O(1)", "O(log_k n)", convolution, "bdn", 1, 2, 0, false, 1, 256,
     128, 64, 256},
    {"restricted attention", "O(r n d)", "O(1)", "O(n/r)", restricted, "b1nd", 1, 1, 0, true, 1,
     1024, 64, 64, 1024},
};

/* ---- a stack of layers, planned -------------------------------------------------------------- */

void paper_stack_free(paper_stack *s)
{
    wg_plan_free(s->plan);
    wg_graph_free(s->graph);
    *s = (paper_stack){0};
}

static wg_shape shape_of(const paper_layer *t, const paper_stack_size *z)
{
    wg_shape s = {.rank = (int)strlen(t->axes)};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = t->axes[i] == 'b'   ? z->batch
                   : t->axes[i] == 'n' ? z->n
                   : t->axes[i] == 'd' ? z->d
                                       : 1;
    return s;
}

wg_status paper_stack_make(paper_stack *s, const paper_layer *t, const paper_stack_size *size,
                           bool reference, int threads, wg_error *error)
{
    *s = (paper_stack){.graph = wg_graph_new()};
    s->x = s->y = wg_input(s->graph, "x", WG_F32, shape_of(t, size));
    for (int l = 0; l < size->depth && s->y; l++)
        s->y = t->build(s->y, size->d, l, size->radius);
    wg_output(s->y, "y");
    const wg_plan_options o = {.reference = reference, .threads = threads};
    wg_status status = paper_plan(&s->plan, s->graph, &o, error);
    if (status != WG_OK)
        return status;
    float *x = wg_plan_f32(s->plan, s->x);
    for (int64_t i = 0; i < wg_value_count(s->x); i++)
        x[i] = (float)(i * 7919 % 1001 - 500) / 500;
    return WG_OK;
}

wg_status paper_stack_run(void *stack)
{
    const paper_stack *s = stack;
    return wg_plan_run(s->plan, 0);
}

/* ---- what is counted ------------------------------------------------------------------------- */

double paper_stack_operations(const paper_layer *t, int64_t n, int64_t d, int64_t radius,
                              wg_error *error)
{
    const paper_stack_size one = {1, n, d, 1, radius};
    paper_stack s;
    double flops = paper_stack_make(&s, t, &one, !t->skips, 1, error) == WG_OK
                       ? wg_plan_statistics(s.plan).flops
                       : NAN;
    paper_stack_free(&s);
    return flops;
}

/* The longest chain of operations from x to y in the plan's graph, each of which reads what the one
 * before wrote; views are none.  -1 without memory. */
static int64_t longest_chain(const wg_plan *p)
{
    const wg_graph *g = wg_plan_graph(p);
    size_t count = wg_graph_value_count(g);
    const wg_value *x = wg_graph_find(g, "x"), *y = wg_graph_output(g, 0);
    int64_t *chain = malloc((count + 1) * sizeof *chain),
            longest; /* by value; -1: does not depend on x */
    if (!chain)
        return -1;
    for (size_t i = 0; i < count; i++)
        chain[i] = -1;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        longest = n->n_out && n->out[0] == x ? 0 : -1;
        for (int k = 0; k < n->n_in; k++)
            longest = chain[n->in[k]->id] > longest ? chain[n->in[k]->id] : longest;
        if (longest >= 0 && n->n_in && !(n->op->flags & WG_OP_VIEW))
            longest++;
        for (int k = 0; k < n->n_out; k++)
            chain[n->out[k]->id] = longest;
    }
    longest = chain[y->id];
    free(chain);
    return longest;
}

/* The element of x or y at a position, channel 0 of the first sentence. */
static int64_t element_of(const paper_layer *t, const wg_value *v, int64_t position)
{
    int64_t stride[WG_MAX_RANK];
    wg_shape_strides(&v->shape, stride);
    return position * stride[strchr(t->axes, 'n') - t->axes];
}

/* *connects: whether the last position of y depends on the first of x.  A NaN there spreads to all
 * that does. */
static wg_status probe(const paper_layer *t, const paper_stack *s, int64_t n, bool *connects,
                       wg_error *error)
{
    float *x = wg_plan_f32(s->plan, s->x);
    const float *y = wg_plan_f32(s->plan, s->y);
    x[element_of(t, s->x, 0)] = NAN;
    wg_status status = paper_plan_run(s->plan, error);
    *connects = status == WG_OK && isnan(y[element_of(t, s->y, n - 1)]);
    return status;
}

wg_status paper_stack_path(const paper_layer *t, int64_t n, paper_path *out, wg_error *error)
{
    enum { WIDTH = 4 };
    wg_status status = WG_OK;
    bool found = false;
    *out = (paper_path){0};
    for (int depth = 1; depth <= n && !found && status == WG_OK; depth++) {
        const paper_stack_size size = {1, n, WIDTH, depth, PAPER_RADIUS};
        paper_stack s;
        status = paper_stack_make(&s, t, &size, !t->skips, 1, error);
        if (status == WG_OK) {
            out->steps = longest_chain(s.plan);
            out->sequential = depth == 1 ? out->steps : out->sequential;
            status = probe(t, &s, n, &found, error);
            out->layers = found ? depth : 0;
        }
        paper_stack_free(&s);
    }
    return status;
}

int paper_path_layers(const paper_layer *t, int64_t n)
{
    int depth = 1;
    if (t->build == convolution)
        for (int64_t reached = PAPER_KERNEL; reached < n; reached *= PAPER_KERNEL)
            depth++;
    else if (t->build == restricted)
        for (int64_t reached = PAPER_RADIUS + 1; reached < n; reached += PAPER_RADIUS)
            depth++;
    return depth;
}
