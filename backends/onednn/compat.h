/* The one place that knows oneDNN 2.6 (Debian 12) from 3.x (Debian 13).
 *
 * A memory descriptor is an owned pointer in both: od_md.  A primitive is asked for by one call
 * that makes its primitive descriptor; creating, executing and querying it are the same in both. */
#ifndef WG_BACKENDS_ONEDNN_COMPAT_H
#define WG_BACKENDS_ONEDNN_COMPAT_H

#include "backends/dnnl.h"

#include <stdbool.h>
#include <stddef.h>

#define OD_V3 (DNNL_VERSION_MAJOR >= 3)

/* Whether gelu by erf is inf for inf: 3.6 makes NaN of it on AVX-512. */
enum { OD_GELU_ERF = !OD_V3 };

#if OD_V3
typedef dnnl_memory_desc_t od_md;
typedef const_dnnl_memory_desc_t od_const_md;
#else
typedef dnnl_memory_desc_t *od_md;
typedef const dnnl_memory_desc_t *od_const_md;
#endif

/* ---- memory descriptors: wgi_od_md_free what these make; NULL is allowed there --------------- */

/* strides NULL: dense, row-major */
dnnl_status_t wgi_od_md_strided(od_md *out, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                                const dnnl_dims_t strides);
/* a layout of oneDNN's choice */
dnnl_status_t wgi_od_md_any(od_md *out, int rank, const dnnl_dims_t dims, dnnl_data_type_t type);
/* f32 [N, C, H, W] that lies as [N, C / block, H, W, block]: 8 or 16, else dnnl_unimplemented */
dnnl_status_t wgi_od_md_blocked(od_md *out, const dnnl_dims_t dims, int64_t block);
void wgi_od_md_free(od_md md);
size_t wgi_od_md_bytes(od_const_md md);
bool wgi_od_md_equal(od_const_md a, od_const_md b);

/* ---- post-ops -------------------------------------------------------------------------------- */

/* What comes after a primitive: a function of its result, or with dnnl_alg_kind_undef, + what the
 * result holds before. */
dnnl_status_t wgi_od_set_post_op(dnnl_primitive_attr_t attr, dnnl_alg_kind_t alg, float alpha);

/* ---- primitive descriptors ------------------------------------------------------------------- */

typedef dnnl_primitive_desc_t od_pd;

dnnl_status_t wgi_od_reorder(od_pd *pd, dnnl_engine_t e, od_const_md from, od_const_md to,
                             const_dnnl_primitive_attr_t attr);
dnnl_status_t wgi_od_matmul(od_pd *pd, dnnl_engine_t e, od_const_md src, od_const_md weights,
                            od_const_md bias, od_const_md dst, const_dnnl_primitive_attr_t attr);

/* Convolution and pooling share a geometry; bias may be NULL. */
typedef struct od_geometry {
    dnnl_dims_t stride, dilation, pad_before, pad_after, kernel;
} od_geometry;

dnnl_status_t wgi_od_convolution(od_pd *pd, dnnl_engine_t e, od_const_md src, od_const_md weights,
                                 od_const_md bias, od_const_md dst, const od_geometry *g,
                                 const_dnnl_primitive_attr_t attr);
dnnl_status_t wgi_od_convolution_backward_data(od_pd *pd, dnnl_engine_t e, od_const_md diff_src,
                                               od_const_md weights, od_const_md diff_dst,
                                               const od_geometry *g,
                                               const_dnnl_primitive_desc_t hint,
                                               const_dnnl_primitive_attr_t attr);
dnnl_status_t wgi_od_convolution_backward_weights(od_pd *pd, dnnl_engine_t e, od_const_md src,
                                                  od_const_md diff_weights, od_const_md diff_bias,
                                                  od_const_md diff_dst, const od_geometry *g,
                                                  const_dnnl_primitive_desc_t hint,
                                                  const_dnnl_primitive_attr_t attr);
dnnl_status_t wgi_od_pooling(od_pd *pd, dnnl_engine_t e, dnnl_alg_kind_t alg, od_const_md src,
                             od_const_md dst, const od_geometry *g,
                             const_dnnl_primitive_attr_t attr);
dnnl_status_t wgi_od_pooling_backward(od_pd *pd, dnnl_engine_t e, dnnl_alg_kind_t alg,
                                      od_const_md diff_src, od_const_md diff_dst,
                                      const od_geometry *g, const_dnnl_primitive_desc_t hint,
                                      const_dnnl_primitive_attr_t attr);

#endif
