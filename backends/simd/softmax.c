/* softmax and log_softmax along the last axis. */
#include "backends/simd/internal.h"
#include "wengert/ops/softmax.h"

static const char *refuses_softmax(const wg_node *n)
{
    const wg_softmax_attrs *a = n->attrs;
    const wg_shape *s = &n->in[0]->shape;
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    return wg_normalize_axis(a->axis, s->rank) == s->rank - 1 ? NULL : "not along the last axis";
}

static simd_rows rows_of(const wg_call *c)
{
    const wg_shape *s = &c->node->in[0]->shape;
    int64_t width = s->dim[s->rank - 1];
    return (simd_rows){c->in[0], c->out[0], width ? wg_shape_count(s) / width : 0, width,
                       c->threads};
}

static void run_softmax(wg_call *c)
{
    simd_rows a = rows_of(c);
    simd_kernels(c)->softmax(&a);
}

static void run_log_softmax(wg_call *c)
{
    simd_rows a = rows_of(c);
    simd_kernels(c)->log_softmax(&a);
}

const simd_kernel wgi_simd_softmax[] = {
    {&wg_op_softmax, "rows", refuses_softmax, NULL, run_softmax},
    {&wg_op_log_softmax, "rows", refuses_softmax, NULL, run_log_softmax},
    {.op = NULL},
};
