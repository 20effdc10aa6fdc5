/* First-order linear recurrences: the inside of state-space models, of gated linear recurrent
 * units, of exponential moving averages along a sequence. */
#ifndef WG_OPS_SCAN_H
#define WG_OPS_SCAN_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of linear_scan and linear_scan_grad. */
typedef struct wg_linear_scan_attrs {
    int64_t axis; /**< of x, along which the recurrence runs */
    bool reverse; /**< from the last element to the first */
} wg_linear_scan_attrs;

/** y[t] = a[t] y[t-1] + x[t] along `axis`, with y[-1] = initial.
 *
 *  x: floats of any shape; y has its shape and dtype.  a broadcasts to x.  initial has x's shape
 *  without the axis; NULL stands for zeros.  With attrs->reverse, y[t] = a[t] y[t+1] + x[t], and
 *  initial comes after the last element.  The time and memory of one pass over a and x, whatever
 *  the length; the gradient likewise. */
WG_API wg_value *(wg_linear_scan)(const char *at, wg_value *a, wg_value *x, wg_value *initial,
                                  const wg_linear_scan_attrs *attrs);
#define wg_linear_scan(...) wg_linear_scan(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
