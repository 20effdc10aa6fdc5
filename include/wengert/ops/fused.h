/* Fused ops: a plan puts one in the place of several plain ops (backends/plan/fuse.c) if a backend
 * has a kernel for it.  Each is defined by its expansion into the plain ops; models do not build
 * them. */
#ifndef WG_OPS_FUSED_H
#define WG_OPS_FUSED_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of residual_layernorm and residual_layernorm_grad. */
typedef struct wg_residual_layernorm_attrs {
    double p;    /**< of dropout on the branch; 0: none */
    int64_t key; /**< of its mask */
    double eps;  /**< added to the variance */
} wg_residual_layernorm_attrs;

#ifdef __cplusplus
}
#endif
#endif
