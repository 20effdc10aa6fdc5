/* Element types, shapes and sets of axes: plain values, no ownership. */
#ifndef WG_GRAPH_SHAPE_H
#define WG_GRAPH_SHAPE_H

#include "wengert/graph/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Maximum number of axes. */
enum { WG_MAX_RANK = 8 };

/** The type of an element.  Zero means "the default", as in every option struct. */
typedef enum wg_dtype {
    WG_DTYPE_DEFAULT = 0, /* none given: the default of the context */
    WG_F32,               /* float */
    WG_F64,               /* double */
    WG_BF16,              /* uint16_t: wengert/graph/half.h */
    WG_F16,               /* uint16_t: wengert/graph/half.h */
    WG_I32,               /* int32_t */
    WG_I64,               /* int64_t */
    /** int8_t: quantised numbers, which few ops accept (wengert/ops/quantize.h). */
    WG_I8,
    /** uint8_t: images, bytes of text.  Ops that move numbers accept it; wg_cast it to compute. */
    WG_U8,
    WG_BOOL,       /* one byte, 0 or 1 */
    WG_DTYPE_COUNT /* number of dtypes, the default included */
} wg_dtype;

/** "f32"; never NULL. */
WG_API const char *wg_dtype_name(wg_dtype dtype);
/** Bytes of an element; 0 for anything that is not a dtype. */
WG_API size_t wg_dtype_size(wg_dtype dtype);
/** True for f32, f64, bf16 and f16. */
WG_API bool wg_dtype_is_float(wg_dtype dtype);
/** True for bf16 and f16, which are stored; a plan computes in f32. */
WG_API bool wg_dtype_is_half(wg_dtype dtype);
/** True for i32 and i64, but not for i8 and u8, which only few ops accept. */
WG_API bool wg_dtype_is_int(wg_dtype dtype);

/** A dense row-major shape.  Rank 0 is a scalar; a dimension of 0 makes an empty tensor. */
typedef struct wg_shape {
    int rank;                 /* number of axes */
    int64_t dim[WG_MAX_RANK]; /* the first `rank` entries are used */
} wg_shape;

/** A list of axes (or a permutation).  Negative axes count from the end. */
typedef struct wg_axes {
    int count;             /* number of axes */
    int axis[WG_MAX_RANK]; /* the first `count` entries are used */
} wg_axes;

/** Whether a reduction keeps the axes that it reduces. */
typedef enum wg_keep {
    WG_DROP = 0, /**< reduced axes are removed */
    WG_KEEP = 1  /**< reduced axes stay, with size 1 */
} wg_keep;

/** Shape from an array; a rank outside 0..WG_MAX_RANK gives a shape that every builder refuses. */
WG_API wg_shape wg_shape_make(int rank, const int64_t *dim);
/** Axes from an array; a count outside 0..WG_MAX_RANK gives a list that every builder refuses. */
WG_API wg_axes wg_axes_make(int count, const int *axis);

/** Number of elements: the product of the dimensions, 1 for a scalar. */
WG_API int64_t wg_shape_count(const wg_shape *shape);
/** Bytes of a dense tensor with that shape and element type. */
WG_API size_t wg_shape_bytes(const wg_shape *shape, wg_dtype dtype);
/** True if rank and dimensions are equal. */
WG_API bool wg_shape_equal(const wg_shape *a, const wg_shape *b);
/** Writes "[2,3]" into text; returns text. */
WG_API const char *wg_shape_text(const wg_shape *shape, char *text, size_t size);
/** True if rank and dimensions are in range and the size in bytes fits in int64_t. */
WG_API bool wg_shape_valid(const wg_shape *shape, wg_dtype dtype);
/** Row-major strides in elements. */
WG_API void wg_shape_strides(const wg_shape *shape, int64_t stride[WG_MAX_RANK]);

#ifdef __cplusplus
}
#include <initializer_list>
/** A shape from a list of integers. */
static inline wg_shape wg_shape_from(std::initializer_list<int64_t> dims)
{
    return wg_shape_make(static_cast<int>(dims.size()), dims.begin());
}
/** Axes from a list of integers. */
static inline wg_axes wg_axes_from(std::initializer_list<int> axes)
{
    return wg_axes_make(static_cast<int>(axes.size()), axes.begin());
}
/** WG_SHAPE(2, 3) is [2,3]. */
#define WG_SHAPE(...) wg_shape_from({__VA_ARGS__})
/** WG_AXES(0, -1): the first and the last axis. */
#define WG_AXES(...) wg_axes_from({__VA_ARGS__})
/** The shape of a scalar: rank 0. */
#define WG_SCALAR wg_shape_make(0, nullptr)
/** No list of axes: all of them. */
#define WG_ALL_AXES wg_axes_make(0, nullptr)
#else
/** WG_SHAPE(2, 3) is [2,3].  Of constants it may initialise what is static, too. */
#define WG_SHAPE(...)                                                                              \
    ((wg_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
/** WG_AXES(0, -1): the first and the last axis. */
#define WG_AXES(...) ((wg_axes){(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}})
/** The shape of a scalar: rank 0. */
#define WG_SCALAR ((wg_shape){0, {0}})
/** No list of axes: all of them. */
#define WG_ALL_AXES ((wg_axes){0, {0}})
#endif
#endif
