/* oneDNN's functions as the library calls them: wgi_dnnl.engine_create is dnnl_engine_create,
 * except that what it throws becomes a status.  oneDNN is C++ behind a C interface and lets
 * std::bad_alloc escape, which would terminate a C program.
 *
 * backends/onednn/dnnl.cc makes the table.  No other file calls oneDNN by name. */
#ifndef WG_BACKENDS_DNNL_H
#define WG_BACKENDS_DNNL_H

#include <dnnl.h>

#define WGI_DNNL_BOTH(CALL)                                                                        \
    CALL(version)                                                                                  \
    CALL(set_max_cpu_isa)                                                                          \
    CALL(get_effective_cpu_isa)                                                                    \
    CALL(get_primitive_cache_capacity)                                                             \
    CALL(set_primitive_cache_capacity)                                                             \
    CALL(engine_create)                                                                            \
    CALL(engine_destroy)                                                                           \
    CALL(stream_create)                                                                            \
    CALL(stream_destroy)                                                                           \
    CALL(memory_create)                                                                            \
    CALL(memory_destroy)                                                                           \
    CALL(memory_set_data_handle)                                                                   \
    CALL(memory_desc_equal)                                                                        \
    CALL(memory_desc_get_size)                                                                     \
    CALL(post_ops_create)                                                                          \
    CALL(post_ops_destroy)                                                                         \
    CALL(post_ops_append_eltwise)                                                                  \
    CALL(post_ops_append_sum)                                                                      \
    CALL(primitive_attr_create)                                                                    \
    CALL(primitive_attr_clone)                                                                     \
    CALL(primitive_attr_destroy)                                                                   \
    CALL(primitive_attr_set_post_ops)                                                              \
    CALL(primitive_attr_set_scratchpad_mode)                                                       \
    CALL(primitive_desc_query)                                                                     \
    CALL(primitive_desc_query_md)                                                                  \
    CALL(primitive_desc_destroy)                                                                   \
    CALL(reorder_primitive_desc_create)                                                            \
    CALL(primitive_create)                                                                         \
    CALL(primitive_get_primitive_desc)                                                             \
    CALL(primitive_execute)                                                                        \
    CALL(primitive_destroy)                                                                        \
    CALL(sgemm)

#if DNNL_VERSION_MAJOR >= 3
#define WGI_DNNL_CALLS(CALL)                                                                       \
    WGI_DNNL_BOTH(CALL)                                                                            \
    CALL(memory_desc_create_with_strides)                                                          \
    CALL(memory_desc_create_with_tag)                                                              \
    CALL(memory_desc_destroy)                                                                      \
    CALL(matmul_primitive_desc_create)                                                             \
    CALL(convolution_forward_primitive_desc_create)                                                \
    CALL(convolution_backward_data_primitive_desc_create)                                          \
    CALL(convolution_backward_weights_primitive_desc_create)                                       \
    CALL(pooling_forward_primitive_desc_create)                                                    \
    CALL(pooling_backward_primitive_desc_create)
#else
#define WGI_DNNL_CALLS(CALL)                                                                       \
    WGI_DNNL_BOTH(CALL)                                                                            \
    CALL(memory_desc_init_by_strides)                                                              \
    CALL(memory_desc_init_by_tag)                                                                  \
    CALL(primitive_desc_create)                                                                    \
    CALL(matmul_desc_init)                                                                         \
    CALL(dilated_convolution_forward_desc_init)                                                    \
    CALL(dilated_convolution_backward_data_desc_init)                                              \
    CALL(dilated_convolution_backward_weights_desc_init)                                           \
    CALL(pooling_v2_forward_desc_init)                                                             \
    CALL(pooling_v2_backward_desc_init)
#endif

typedef struct wgi_dnnl_calls {
#define WGI_DNNL_FIELD(name) __typeof__(dnnl_##name) *name;
    WGI_DNNL_CALLS(WGI_DNNL_FIELD)
#undef WGI_DNNL_FIELD
} wgi_dnnl_calls;

#ifdef __cplusplus
extern "C" {
#endif
/* A call that throws returns dnnl_out_of_memory for std::bad_alloc, else dnnl_runtime_error; one
 * that has no status returns 0 or NULL. */
extern const wgi_dnnl_calls wgi_dnnl;
#ifdef __cplusplus
}
#endif

#endif
