/* Ops that a plan makes out of several plain ones (backends/plan/fuse.c), where a backend has one
 * kernel for all of them.  Each is defined by its expansion into those plain ops; models do not
 * build them. */
#ifndef WG_OPS_FUSED_H
#define WG_OPS_FUSED_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of residual_layernorm and residual_layernorm_grad. */
typedef struct wg_residual_layernorm_attrs {
    double p;    /**< of dropout on the branch; 0: none */
    int64_t key; /**< of its mask */
    double eps;  /**< added to the variance */
} wg_residual_layernorm_attrs;

#ifdef __cplusplus
}
#endif
#endif
