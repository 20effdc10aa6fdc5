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

enum { WG_MAX_RANK = 8 };

/* Zero means "the default", as in every option struct. */
typedef enum wg_dtype {
    WG_DTYPE_DEFAULT = 0,
    WG_F32,
    WG_F64,
    WG_BF16,
    WG_I32,
    WG_I64,
    WG_I8, /* -128 to 127: quantised numbers, which only few ops compute with (wengert/ops/quantize.h) */
    WG_BOOL, /* one byte, 0 or 1 */
    WG_DTYPE_COUNT
} wg_dtype;

WG_API const char *wg_dtype_name(wg_dtype dtype); /* "f32" */
WG_API size_t wg_dtype_size(wg_dtype dtype);      /* bytes an element */
WG_API bool wg_dtype_is_float(wg_dtype dtype);    /* f32, f64, bf16 */
WG_API bool wg_dtype_is_int(wg_dtype dtype);      /* i32, i64: not i8 */

/** A dense row-major shape.  Rank 0 is a scalar; a dimension of 0 makes an empty tensor. */
typedef struct wg_shape {
    int rank;
    int64_t dim[WG_MAX_RANK];
} wg_shape;

/** A list of axes (or a permutation).  Negative axes count from the end. */
typedef struct wg_axes {
    int count;
    int axis[WG_MAX_RANK];
} wg_axes;

/** Shape from an array; a rank outside 0..WG_MAX_RANK gives a shape that every builder refuses. */
WG_API wg_shape wg_shape_make(int rank, const int64_t *dim);
WG_API wg_axes wg_axes_make(int count, const int *axis);

/** Number of elements: the product of the dimensions, 1 for a scalar. */
WG_API int64_t wg_shape_count(const wg_shape *shape);
WG_API bool wg_shape_equal(const wg_shape *a, const wg_shape *b);
/** Writes "[2,3]" into text; returns text. */
WG_API const char *wg_shape_text(const wg_shape *shape, char *text, size_t size);
/** Checks rank, signs and that the bytes of `dtype` elements fit in int64_t. */
WG_API bool wg_shape_valid(const wg_shape *shape, wg_dtype dtype);
/** Row-major strides in elements. */
WG_API void wg_shape_strides(const wg_shape *shape, int64_t stride[WG_MAX_RANK]);

#ifdef __cplusplus
}
/* WG_SHAPE(2, 3), WG_AXES(0, -1): from a list of integers. */
#include <initializer_list>
static inline wg_shape wg_shape_from(std::initializer_list<int64_t> dims)
{
    return wg_shape_make(static_cast<int>(dims.size()), dims.begin());
}
static inline wg_axes wg_axes_from(std::initializer_list<int> axes)
{
    return wg_axes_make(static_cast<int>(axes.size()), axes.begin());
}
#define WG_SHAPE(...) wg_shape_from({__VA_ARGS__})
#define WG_AXES(...) wg_axes_from({__VA_ARGS__})
#define WG_SCALAR wg_shape_make(0, nullptr)
#define WG_ALL_AXES wg_axes_make(0, nullptr)
#else
#define WG_SHAPE(...)                                                                              \
    wg_shape_make((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                       \
                  (const int64_t[]){__VA_ARGS__})
#define WG_AXES(...)                                                                               \
    wg_axes_make((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__})
#define WG_SCALAR wg_shape_make(0, NULL)
#define WG_ALL_AXES wg_axes_make(0, NULL)
#endif
#endif
