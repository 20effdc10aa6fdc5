/* Means over windows and their gradient.  Not maxima: oneDNN's index is one into the window, ours
 * into the plane. */
#include "backends/onednn/internal.h"
#include "wengert/ops/pool.h"

static od_md planes(const wg_value *v)
{
    const int64_t *d = v->shape.dim;
    dnnl_dims_t dims = {d[0], d[1], d[2], d[3]};
    od_md md;
    return wgi_od_md_strided(&md, 4, dims, dnnl_f32, NULL) == dnnl_success ? md : NULL;
}

/* How far the last window reaches behind the padding. */
static int64_t beyond(const wg_sliding *w)
{
    int64_t end = (w->count - 1) * w->stride + w->kernel, padded = w->size + 2 * w->padding;
    return end > padded ? end - padded : 0;
}

const char *wgi_od_make_pool(const od_backend *b, const wg_node *n, od_plan *plan)
{
    const wg_pool_attrs *a = n->attrs;
    bool backward = n->op == &wg_op_avg_pool2d_grad;
    const wg_value *from = backward ? n->out[0] : n->in[0], *to = backward ? n->in[0] : n->out[0];
    if (from->dtype != WG_F32)
        return "not f32";
    if (!wg_value_count(from) || !wg_value_count(to))
        return "an empty tensor";
    wg_sliding h, w;
    wg_pool_windows(a, &from->shape, &to->shape, &h, &w);
    int64_t below = beyond(&h), right = beyond(&w);
    if ((below || right) && !a->exclude_padding) /* there, it divides by whole windows */
        return "windows that end behind the padding";
    od_geometry g = {.stride = {h.stride, w.stride},
                     .kernel = {h.kernel, w.kernel},
                     .pad_before = {h.padding, w.padding},
                     .pad_after = {h.padding + below, w.padding + right}};
    dnnl_alg_kind_t alg =
        a->exclude_padding ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_avg_include_padding;
    od_md x = planes(from), y = planes(to);
    od_pd forward = NULL;
    dnnl_status_t made =
        x && y ? wgi_od_pooling(&forward, b->engine, alg, x, y, &g, b->attr) : dnnl_out_of_memory;
    if (made == dnnl_success && backward) {
        made = wgi_od_pooling_backward(&plan->pd, b->engine, alg, x, y, &g, forward, b->attr);
        wgi_dnnl.primitive_desc_destroy(forward);
    } else
        plan->pd = forward;
    wgi_od_md_free(x);
    wgi_od_md_free(y);
    wgi_od_bind(plan, backward ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, backward ? OD_OUT : OD_IN, 0);
    wgi_od_bind(plan, backward ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, backward ? OD_IN : OD_OUT, 0);
    return made == dnnl_success ? NULL : "oneDNN has no such pooling";
}
