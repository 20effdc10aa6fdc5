#include "backends/onednn/compat.h"

#include <stdlib.h>

/* ---- memory descriptors ---------------------------------------------------------------------- */

void wgi_od_md_free(od_md md)
{
#if OD_V3
    if (md)
        wgi_dnnl.memory_desc_destroy(md);
#else
    free(md);
#endif
}

static void dense_strides(int rank, const dnnl_dims_t dims, dnnl_dims_t strides)
{
    dnnl_dim_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= dims[i];
    }
}

dnnl_status_t wgi_od_md_strided(od_md *out, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                                const dnnl_dims_t strides)
{
    dnnl_dims_t dense;
    *out = NULL;
    if (!strides) {
        dense_strides(rank, dims, dense);
        strides = dense;
    }
#if OD_V3
    return wgi_dnnl.memory_desc_create_with_strides(out, rank, dims, type, strides);
#else
    od_md md = malloc(sizeof *md);
    if (!md)
        return dnnl_out_of_memory;
    dnnl_status_t status = wgi_dnnl.memory_desc_init_by_strides(md, rank, dims, type, strides);
    if (status == dnnl_success)
        *out = md;
    else
        free(md);
    return status;
#endif
}

static dnnl_status_t make_tagged(od_md *out, int rank, const dnnl_dims_t dims,
                                 dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    *out = NULL;
#if OD_V3
    return wgi_dnnl.memory_desc_create_with_tag(out, rank, dims, type, tag);
#else
    od_md md = malloc(sizeof *md);
    if (!md)
        return dnnl_out_of_memory;
    dnnl_status_t status = wgi_dnnl.memory_desc_init_by_tag(md, rank, dims, type, tag);
    if (status == dnnl_success)
        *out = md;
    else
        free(md);
    return status;
#endif
}

dnnl_status_t wgi_od_md_any(od_md *out, int rank, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    return make_tagged(out, rank, dims, type, dnnl_format_tag_any);
}

dnnl_status_t wgi_od_md_blocked(od_md *out, const dnnl_dims_t dims, int64_t block)
{
    *out = NULL;
    if (block != 8 && block != 16)
        return dnnl_unimplemented;
    return make_tagged(out, 4, dims, dnnl_f32, block == 8 ? dnnl_nChw8c : dnnl_nChw16c);
}

size_t wgi_od_md_bytes(od_const_md md)
{
    return wgi_dnnl.memory_desc_get_size(md);
}

bool wgi_od_md_equal(od_const_md a, od_const_md b)
{
    return wgi_dnnl.memory_desc_equal(a, b) != 0;
}

/* ---- post-ops -------------------------------------------------------------------------------- */

static dnnl_status_t append(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, float alpha)
{
#if OD_V3
    return alg == dnnl_alg_kind_undef
               ? wgi_dnnl.post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef)
               : wgi_dnnl.post_ops_append_eltwise(ops, alg, alpha, 0);
#else
    return alg == dnnl_alg_kind_undef ? wgi_dnnl.post_ops_append_sum(ops, 1)
                                      : wgi_dnnl.post_ops_append_eltwise(ops, 1, alg, alpha, 0);
#endif
}

dnnl_status_t wgi_od_set_post_op(dnnl_primitive_attr_t attr, dnnl_alg_kind_t alg, float alpha)
{
    dnnl_post_ops_t ops;
    dnnl_status_t made = wgi_dnnl.post_ops_create(&ops);
    if (made != dnnl_success)
        return made;
    made = append(ops, alg, alpha);
    if (made == dnnl_success)
        made = wgi_dnnl.primitive_attr_set_post_ops(attr, ops);
    wgi_dnnl.post_ops_destroy(ops);
    return made;
}

/* ---- primitive descriptors ------------------------------------------------------------------- */

/* Returns a new primitive descriptor.  oneDNN 2.6 makes it from an operation descriptor d, which
 * `init` fills; 3.x makes it in one call, `create`.  Only one of the two is compiled.  For the end
 * of a function whose parameters are named pd, e, attr and hint. */
#if OD_V3
#define MAKE(desc_type, init, create) return create
#else
#define MAKE(desc_type, init, create)                                                              \
    desc_type d;                                                                                   \
    dnnl_status_t made = init;                                                                     \
    return made == dnnl_success ? wgi_dnnl.primitive_desc_create(pd, &d, attr, e, hint) : made
#endif

dnnl_status_t wgi_od_reorder(od_pd *pd, dnnl_engine_t e, od_const_md from, od_const_md to,
                             const_dnnl_primitive_attr_t attr)
{
    return wgi_dnnl.reorder_primitive_desc_create(pd, from, e, to, e, attr);
}

dnnl_status_t wgi_od_matmul(od_pd *pd, dnnl_engine_t e, od_const_md src, od_const_md weights,
                            od_const_md bias, od_const_md dst, const_dnnl_primitive_attr_t attr)
{
    const_dnnl_primitive_desc_t hint = NULL;
    (void)hint;
    MAKE(dnnl_matmul_desc_t, wgi_dnnl.matmul_desc_init(&d, src, weights, bias, dst),
         wgi_dnnl.matmul_primitive_desc_create(pd, e, src, weights, bias, dst, attr));
}

dnnl_status_t wgi_od_convolution(od_pd *pd, dnnl_engine_t e, od_const_md src, od_const_md weights,
                                 od_const_md bias, od_const_md dst, const od_geometry *g,
                                 const_dnnl_primitive_attr_t attr)
{
    const_dnnl_primitive_desc_t hint = NULL;
    (void)hint;
    MAKE(dnnl_convolution_desc_t,
         wgi_dnnl.dilated_convolution_forward_desc_init(
             &d, dnnl_forward_training, dnnl_convolution_direct, src, weights, bias, dst, g->stride,
             g->dilation, g->pad_before, g->pad_after),
         wgi_dnnl.convolution_forward_primitive_desc_create(
             pd, e, dnnl_forward_training, dnnl_convolution_direct, src, weights, bias, dst,
             g->stride, g->dilation, g->pad_before, g->pad_after, attr));
}

dnnl_status_t wgi_od_convolution_backward_data(od_pd *pd, dnnl_engine_t e, od_const_md diff_src,
                                               od_const_md weights, od_const_md diff_dst,
                                               const od_geometry *g,
                                               const_dnnl_primitive_desc_t hint,
                                               const_dnnl_primitive_attr_t attr)
{
    MAKE(dnnl_convolution_desc_t,
         wgi_dnnl.dilated_convolution_backward_data_desc_init(
             &d, dnnl_convolution_direct, diff_src, weights, diff_dst, g->stride, g->dilation,
             g->pad_before, g->pad_after),
         wgi_dnnl.convolution_backward_data_primitive_desc_create(
             pd, e, dnnl_convolution_direct, diff_src, weights, diff_dst, g->stride, g->dilation,
             g->pad_before, g->pad_after, hint, attr));
}

dnnl_status_t wgi_od_convolution_backward_weights(od_pd *pd, dnnl_engine_t e, od_const_md src,
                                                  od_const_md diff_weights, od_const_md diff_bias,
                                                  od_const_md diff_dst, const od_geometry *g,
                                                  const_dnnl_primitive_desc_t hint,
                                                  const_dnnl_primitive_attr_t attr)
{
    MAKE(dnnl_convolution_desc_t,
         wgi_dnnl.dilated_convolution_backward_weights_desc_init(
             &d, dnnl_convolution_direct, src, diff_weights, diff_bias, diff_dst, g->stride,
             g->dilation, g->pad_before, g->pad_after),
         wgi_dnnl.convolution_backward_weights_primitive_desc_create(
             pd, e, dnnl_convolution_direct, src, diff_weights, diff_bias, diff_dst, g->stride,
             g->dilation, g->pad_before, g->pad_after, hint, attr));
}

dnnl_status_t wgi_od_pooling(od_pd *pd, dnnl_engine_t e, dnnl_alg_kind_t alg, od_const_md src,
                             od_const_md dst, const od_geometry *g,
                             const_dnnl_primitive_attr_t attr)
{
    const_dnnl_primitive_desc_t hint = NULL;
    (void)hint;
    MAKE(dnnl_pooling_v2_desc_t,
         wgi_dnnl.pooling_v2_forward_desc_init(&d, dnnl_forward_training, alg, src, dst, g->stride,
                                               g->kernel, g->dilation, g->pad_before, g->pad_after),
         wgi_dnnl.pooling_forward_primitive_desc_create(pd, e, dnnl_forward_training, alg, src, dst,
                                                        g->stride, g->kernel, g->dilation,
                                                        g->pad_before, g->pad_after, attr));
}

dnnl_status_t wgi_od_pooling_backward(od_pd *pd, dnnl_engine_t e, dnnl_alg_kind_t alg,
                                      od_const_md diff_src, od_const_md diff_dst,
                                      const od_geometry *g, const_dnnl_primitive_desc_t hint,
                                      const_dnnl_primitive_attr_t attr)
{
    MAKE(dnnl_pooling_v2_desc_t,
         wgi_dnnl.pooling_v2_backward_desc_init(&d, alg, diff_src, diff_dst, g->stride, g->kernel,
                                                g->dilation, g->pad_before, g->pad_after),
         wgi_dnnl.pooling_backward_primitive_desc_create(pd, e, alg, diff_src, diff_dst, g->stride,
                                                         g->kernel, g->dilation, g->pad_before,
                                                         g->pad_after, hint, attr));
}
