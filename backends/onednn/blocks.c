/* [N, C, H, W] to blocks of channels [N, C / b, H, W, b] and back: reorders. */
#include "backends/onednn/internal.h"

const char *wgi_od_make_blocks(const od_backend *b, const wg_node *n, od_plan *plan)
{
    bool to_blocks = n->op == &wg_op_block_channels;
    const wg_value *image = to_blocks ? n->in[0] : n->out[0],
                   *blocks = to_blocks ? n->out[0] : n->in[0];
    if (image->dtype != WG_F32)
        return "not f32";
    if (!wg_value_count(image))
        return "an empty tensor";
    dnnl_dims_t dims;
    for (int i = 0; i < 4; i++)
        dims[i] = image->shape.dim[i];
    od_md ours = NULL, blocked = NULL;
    dnnl_status_t made = wgi_od_md_strided(&ours, 4, dims, dnnl_f32, NULL);
    if (made == dnnl_success)
        made = wgi_od_md_blocked(&blocked, dims, blocks->shape.dim[4]);
    if (made == dnnl_success)
        made = wgi_od_reorder(&plan->pd, b->engine, to_blocks ? ours : blocked,
                              to_blocks ? blocked : ours, b->attr);
    wgi_od_md_free(ours);
    wgi_od_md_free(blocked);
    wgi_od_bind(plan, DNNL_ARG_FROM, OD_IN, 0);
    wgi_od_bind(plan, DNNL_ARG_TO, OD_OUT, 0);
    return made == dnnl_success ? NULL : "oneDNN has no such blocks";
}
