/* Softmax and its logarithm along one axis. */
#ifndef WG_OPS_SOFTMAX_H
#define WG_OPS_SOFTMAX_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of softmax and log_softmax. */
typedef struct wg_softmax_attrs {
    int64_t axis; /**< of x */
} wg_softmax_attrs;

/** y = exp(x - max x) / sum exp(x - max x) along `axis`; float, x's shape.  A row that is all -inf
 * (everything masked) gives zeros; an element of -inf gives exactly 0; NaN and +inf give NaN in
 * their row. */
WG_API wg_value *(wg_softmax)(const char *at, wg_value *x, int axis);
#define wg_softmax(...) wg_softmax(WG_HERE, __VA_ARGS__)

/** y = x - max x - ln sum exp(x - max x) along `axis`: the logarithm of softmax, without its
 * underflow.  A row that is all -inf stays -inf. */
WG_API wg_value *(wg_log_softmax)(const char *at, wg_value *x, int axis);
#define wg_log_softmax(...) wg_log_softmax(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
