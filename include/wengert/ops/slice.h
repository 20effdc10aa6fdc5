/* Parts of tensors: windows, padding, reversal. */
#ifndef WG_OPS_SLICE_H
#define WG_OPS_SLICE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of slice: y[i] = x[start + i step], 0 <= i < size, along each axis.  Lists with an
 * entry for each axis are of type wg_shape. */
typedef struct wg_slice_attrs {
    wg_shape start; /**< of the first element */
    wg_shape size;  /**< of y */
    wg_shape step;  /**< not 0 */
} wg_slice_attrs;

/** Attributes of slice_grad. */
typedef struct wg_slice_grad_attrs {
    wg_shape shape; /**< of the result */
    wg_shape start; /**< of the slice */
    wg_shape step;  /**< of the slice */
} wg_slice_grad_attrs;

/** Attributes of pad. */
typedef struct wg_pad_attrs {
    wg_shape before; /**< elements added before each axis */
    wg_shape after;  /**< elements added after it */
    double value;    /**< of the added elements */
} wg_pad_attrs;

/** Attributes of flip. */
typedef struct wg_flip_attrs {
    wg_axes axes; /**< none: all */
} wg_flip_attrs;

/** Attributes of roll. */
typedef struct wg_roll_attrs {
    int64_t shift; /**< towards higher indices */
    int64_t axis;  /**< of x */
} wg_roll_attrs;

/** For wg_slice: as `stop`, the end of the axis; as `start` with step < 0, the last element. */
#define WG_TO_END INT64_MAX
/** For wg_slice with step < 0: as `stop`, beyond the first element, which is included. */
#define WG_TO_START INT64_MIN

/** x[start:stop:step] of Python along one axis: negative positions count from the end, positions
 * outside are clamped, step may be negative but not 0.  To reverse the whole axis: start WG_TO_END,
 * stop WG_TO_START, step -1. */
WG_API wg_value *(wg_slice)(const char *at, wg_value *x, int axis, int64_t start, int64_t stop,
                            int64_t step);
#define wg_slice(...) wg_slice(WG_HERE, __VA_ARGS__)

/** y[i] = x[start + i step] with one entry of start, size and step for each axis; every element
 * read must lie within x. */
WG_API wg_value *(wg_window)(const char *at, wg_value *x, wg_shape start, wg_shape size,
                             wg_shape step);
#define wg_window(...) wg_window(WG_HERE, __VA_ARGS__)

/** The transpose of wg_window: zeros of `shape`, in which position start + i step is dy[i]. */
WG_API wg_value *(wg_slice_grad)(const char *at, wg_value *dy, wg_shape shape, wg_shape start,
                                 wg_shape step);
#define wg_slice_grad(...) wg_slice_grad(WG_HERE, __VA_ARGS__)

/** x with `before` and `after` elements of `value` around it; one entry for each axis, none
 * negative. */
WG_API wg_value *(wg_pad)(const char *at, wg_value *x, wg_shape before, wg_shape after,
                          double value);
#define wg_pad(...) wg_pad(WG_HERE, __VA_ARGS__)

/** x reversed along `axes` (WG_ALL_AXES: along all). */
WG_API wg_value *(wg_flip)(const char *at, wg_value *x, wg_axes axes);
#define wg_flip(...) wg_flip(WG_HERE, __VA_ARGS__)

/** y[i + shift] = x[i] along `axis`, wrapping around at the end. */
WG_API wg_value *(wg_roll)(const char *at, wg_value *x, int64_t shift, int axis);
#define wg_roll(...) wg_roll(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
