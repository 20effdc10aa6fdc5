/* Joining, splitting and repeating tensors along axes. */
#ifndef WG_OPS_CONCAT_H
#define WG_OPS_CONCAT_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of concat and stack. */
typedef struct wg_concat_attrs {
    int64_t axis; /**< of the result */
} wg_concat_attrs;

/** Attributes of split. */
typedef struct wg_split_attrs {
    int64_t axis;  /**< of x */
    wg_data sizes; /**< int64_t of each piece */
} wg_split_attrs;

/** Attributes of tile. */
typedef struct wg_tile_attrs {
    wg_shape times; /**< one entry for each axis of x */
} wg_tile_attrs;

/** x[0], ..., x[n-1] one after another along `axis`; dtypes and all other sizes are equal. */
WG_API wg_value *(wg_concat)(const char *at, wg_value *const *x, size_t n, int axis);
#define wg_concat(...) wg_concat(WG_HERE, __VA_ARGS__)

/** n tensors of one shape along a new axis, which is `axis` of the result: [.., n, ..]. */
WG_API wg_value *(wg_stack)(const char *at, wg_value *const *x, size_t n, int axis);
#define wg_stack(...) wg_stack(WG_HERE, __VA_ARGS__)

/** x cut along `axis` into n pieces of the given sizes, which must sum to the axis; sizes NULL:
 * into n equal pieces.  Returns the first; wg_result_of(y, i) is piece i. */
WG_API wg_value *(wg_split)(const char *at, wg_value *x, int axis, const int64_t *sizes, size_t n);
#define wg_split(...) wg_split(WG_HERE, __VA_ARGS__)

/** x as a whole repeated times[k] times along each axis k: [a, b] three times is
 * [a, b, a, b, a, b]. */
WG_API wg_value *(wg_tile)(const char *at, wg_value *x, wg_shape times);
#define wg_tile(...) wg_tile(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
