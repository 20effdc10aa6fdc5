/* Reshaping, permuting and broadcasting: the same elements in another layout. */
#ifndef WG_OPS_MOVEMENT_H
#define WG_OPS_MOVEMENT_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of reshape and expand. */
typedef struct wg_shape_attrs {
    wg_shape shape; /**< of y */
} wg_shape_attrs;

/** Attributes of permute. */
typedef struct wg_permute_attrs {
    wg_axes order; /**< axis i of y is axis order[i] of x */
} wg_permute_attrs;

/** The same elements in row-major order with another shape.  One size may be -1: it follows from
 * the number of elements. */
WG_API wg_value *(wg_reshape)(const char *at, wg_value *x, wg_shape shape);
#define wg_reshape(...) wg_reshape(WG_HERE, __VA_ARGS__)
/** Axis i of y is axis order[i] of x. */
WG_API wg_value *(wg_permute)(const char *at, wg_value *x, wg_axes order);
#define wg_permute(...) wg_permute(WG_HERE, __VA_ARGS__)
/** The last two axes exchanged. */
WG_API wg_value *(wg_transpose)(const char *at, wg_value *x);
#define wg_transpose(...) wg_transpose(WG_HERE, __VA_ARGS__)
/** x without axis `axis`, which must have size 1. */
WG_API wg_value *(wg_squeeze)(const char *at, wg_value *x, int axis);
#define wg_squeeze(...) wg_squeeze(WG_HERE, __VA_ARGS__)
/** x with a new axis of size 1, which is `axis` of the result. */
WG_API wg_value *(wg_unsqueeze)(const char *at, wg_value *x, int axis);
#define wg_unsqueeze(...) wg_unsqueeze(WG_HERE, __VA_ARGS__)
/** x broadcast to `shape`. */
WG_API wg_value *(wg_expand)(const char *at, wg_value *x, wg_shape shape);
#define wg_expand(...) wg_expand(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
