/* Convolution and its adjoints.  oneDNN is fastest in layouts of its own, blocks of 16 channels,
 * even with the reorders from and to ours: 1.1 to 18 times as fast as directly on ours, where it
 * makes a matrix product of the convolution.  The exceptions are below in is_better_plain;
 * docs/notes/performance.md has the figures. */
#include "backends/onednn/internal.h"
#include "wengert/ops/conv.h"

enum { X, W, Y, BIAS, TENSORS };

/* Where x, w, y and the bias are among operands and results, and what oneDNN calls them. */
typedef struct role {
    int where, index, arg;
} role;

static const struct {
    const wg_op *op;
    role role[TENSORS]; /* arg 0: has none */
} forms[] = {
    {&wg_op_conv2d,
     {{OD_IN, 0, DNNL_ARG_SRC},
      {OD_IN, 1, DNNL_ARG_WEIGHTS},
      {OD_OUT, 0, DNNL_ARG_DST},
      {OD_IN, 2, DNNL_ARG_BIAS}}},
    {&wg_op_conv2d_grad_x,
     {{OD_OUT, 0, DNNL_ARG_DIFF_SRC},
      {OD_IN, 1, DNNL_ARG_WEIGHTS},
      {OD_IN, 0, DNNL_ARG_DIFF_DST},
      {0}}},
    {&wg_op_conv2d_grad_w,
     {{OD_IN, 0, DNNL_ARG_SRC},
      {OD_OUT, 0, DNNL_ARG_DIFF_WEIGHTS},
      {OD_IN, 1, DNNL_ARG_DIFF_DST},
      {0}}},
};

static bool is_better_plain(const wg_op *op, const wg_conv_geometry *g)
{
    bool point = g->h.kernel * g->w.kernel == 1 && g->h.stride * g->w.stride == 1;
    return g->groups == 1 && (point || (op == &wg_op_conv2d_grad_x && g->in < 4));
}

/* Dimensions of tensor t for oneDNN, which wants the groups of the weights as an axis; returns the
 * rank. */
static int dims_of(const wg_conv_geometry *g, int t, dnnl_dims_t dims)
{
    int64_t sizes[TENSORS][5] = {
        {g->batch, g->groups * g->in, g->h.size, g->w.size},
        {g->groups, g->out, g->in, g->h.kernel, g->w.kernel},
        {g->batch, g->groups * g->out, g->h.count, g->w.count},
        {g->groups * g->out},
    };
    const int rank[TENSORS] = {4, 5, 4, 1};
    int skip = t == W && g->groups == 1;
    for (int i = skip; i < rank[t]; i++)
        dims[i - skip] = sizes[t][i];
    return rank[t] - skip;
}

static dnnl_status_t make_pd(od_pd *pd, const od_backend *b, const wg_op *op,
                             const wg_conv_geometry *g, const od_md md[TENSORS])
{
    od_geometry at = {.stride = {g->h.stride, g->w.stride},
                      .dilation = {g->h.dilation - 1, g->w.dilation - 1},
                      .pad_before = {g->h.padding, g->w.padding},
                      .pad_after = {g->h.padding, g->w.padding}};
    od_pd forward;
    dnnl_status_t made =
        wgi_od_convolution(&forward, b->engine, md[X], md[W], md[BIAS], md[Y], &at, b->attr);
    if (made != dnnl_success)
        return made;
    if (op == &wg_op_conv2d) {
        *pd = forward;
        return made;
    }
    made = op == &wg_op_conv2d_grad_x
               ? wgi_od_convolution_backward_data(pd, b->engine, md[X], md[W], md[Y], &at, forward,
                                                  b->attr)
               : wgi_od_convolution_backward_weights(pd, b->engine, md[X], md[W], NULL, md[Y], &at,
                                                     forward, b->attr);
    dnnl_primitive_desc_destroy(forward);
    return made;
}

/* The values of the node by tensor, NULL where it has none. */
static const char *find_tensors(const wg_node *n, const role *roles, const wg_value *v[TENSORS])
{
    for (int t = 0; t < TENSORS; t++) {
        const role *r = &roles[t];
        v[t] = NULL;
        if (!r->arg || (r->where == OD_IN && r->index >= n->n_in))
            continue;
        v[t] = r->where == OD_OUT ? n->out[r->index] : n->in[r->index];
        if (!wg_value_count(v[t]))
            return "an empty tensor";
    }
    return v[X]->dtype == WG_F32 ? NULL : "not f32";
}

/* The descriptor that the primitive is asked for; the plan gets that of our layout.  NULL on
 * failure. */
static od_md bind_tensor(const wg_conv_geometry *g, int t, const role *r, bool ours, od_plan *plan)
{
    dnnl_dims_t dims;
    od_md md = NULL, plain = NULL;
    int rank = dims_of(g, t, dims);
    if (wgi_od_md_strided(&plain, rank, dims, dnnl_f32, NULL) != dnnl_success)
        return NULL;
    wgi_od_bind_plain(plan, r->arg, r->where, r->index, plain);
    dnnl_status_t made = ours ? wgi_od_md_strided(&md, rank, dims, dnnl_f32, NULL)
                              : wgi_od_md_any(&md, rank, dims, dnnl_f32);
    return made == dnnl_success ? md : NULL;
}

/* In our layout or in one of oneDNN's choice; false if it has none, with the plan cleared. */
static bool make_layout(const od_backend *b, const wg_node *n, const role *roles,
                        const wg_value *const v[TENSORS], bool ours, od_plan *plan)
{
    wg_conv_geometry g = wg_conv_geometry_of(n->attrs, &v[X]->shape, &v[W]->shape, &v[Y]->shape);
    od_md md[TENSORS] = {NULL};
    bool ok = true;
    for (int t = 0; t < TENSORS; t++)
        if (v[t]) {
            md[t] = bind_tensor(&g, t, &roles[t], ours || t == BIAS, plan);
            ok = ok && md[t];
        }
    ok = ok && make_pd(&plan->pd, b, n->op, &g, md) == dnnl_success;
    for (int t = 0; t < TENSORS; t++)
        wgi_od_md_free(md[t]);
    if (!ok)
        wgi_od_plan_clear(plan);
    return ok;
}

const char *wgi_od_make_conv(const od_backend *b, const wg_node *n, od_plan *plan)
{
    int f = 0;
    while (forms[f].op != n->op)
        f++;
    const wg_value *v[TENSORS];
    const char *why = find_tensors(n, forms[f].role, v);
    if (why)
        return why;
    wg_conv_geometry g = wg_conv_geometry_of(n->attrs, &v[X]->shape, &v[W]->shape, &v[Y]->shape);
    bool ours = is_better_plain(n->op, &g);
    if (make_layout(b, n, forms[f].role, v, ours, plan) && !wgi_od_is_reference(plan->pd))
        return NULL;
    wgi_od_plan_clear(plan); /* versions differ in which layout has more than a reference */
    return make_layout(b, n, forms[f].role, v, !ours, plan) ? NULL
                                                            : "oneDNN has no such convolution";
}
