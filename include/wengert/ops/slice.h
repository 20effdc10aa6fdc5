/* Parts of tensors: windows at places that are fixed or data, padding, reversal. */
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

/** What continues a tensor beyond its border. */
typedef enum wg_border {
    WG_BORDER_REFLECT, /**< mirrored, the last element not repeated: c b | a b c | b a */
    WG_BORDER_EDGE,    /**< the last element: a a | a b c | c c */
    WG_BORDER_WRAP     /**< from the other end: b c | a b c | a b */
} wg_border;

/** Attributes of pad_border. */
typedef struct wg_pad_border_attrs {
    wg_shape before;  /**< elements added before each axis */
    wg_shape after;   /**< elements added after it */
    wg_border border; /**< which */
} wg_pad_border_attrs;

/** Attributes of dynamic_slice. */
typedef struct wg_dynamic_slice_attrs {
    wg_shape size; /**< of y */
} wg_dynamic_slice_attrs;

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

/** x with `before` and `after` elements around it that continue x as `border` says; one entry for
 * each axis, none negative.  REFLECT takes at most one less than the size of the axis, WRAP at most
 * the size, EDGE any number where the axis is not empty.  np.pad of NumPy; F.pad of PyTorch calls
 * EDGE replicate and WRAP circular.  For added elements of one value: wg_pad. */
WG_API wg_value *(wg_pad_border)(const char *at, wg_value *x, wg_shape before, wg_shape after,
                                 wg_border border);
#define wg_pad_border(...) wg_pad_border(WG_HERE, __VA_ARGS__)

/** y[i] = x[start + i] for i in `size`, where `start` is data: i32 or i64 [rank of x], one entry
 * for each axis.  A window that is not within x ends the run with WG_EDATA (it is not moved into
 * x). */
WG_API wg_value *(wg_dynamic_slice)(const char *at, wg_value *x, wg_value *start, wg_shape size);
#define wg_dynamic_slice(...) wg_dynamic_slice(WG_HERE, __VA_ARGS__)

/** y = x, but y[start + i] = update[i]: what wg_dynamic_slice reads is replaced.  `start` as there;
 * update has x's rank and dtype, and no size above x's.  If x is a parameter or a state that is
 * assigned y (wg_assign), only that window is written, unless x or y is an output or a reader of x
 * needs y. */
WG_API wg_value *(wg_dynamic_update_slice)(const char *at, wg_value *x, wg_value *start,
                                           wg_value *update);
#define wg_dynamic_update_slice(...) wg_dynamic_update_slice(WG_HERE, __VA_ARGS__)

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
