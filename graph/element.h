/* Elements of any dtype, one at a time, through double (i64: through int64_t, which double cannot
 * hold). */
#ifndef WG_PRIVATE_GRAPH_ELEMENT_H
#define WG_PRIVATE_GRAPH_ELEMENT_H

#include "wengert/graph/half.h"
#include "wengert/graph/shape.h"

#include <math.h>
#include <string.h>

static inline double wgi_get_element(const void *data, wg_dtype dtype, int64_t i)
{
    switch (dtype) {
    case WG_F32: return (double)((const float *)data)[i];
    case WG_F64: return ((const double *)data)[i];
    case WG_BF16: return (double)wg_bf16_to_f32(((const uint16_t *)data)[i]);
    case WG_F16: return (double)wg_f16_to_f32(((const uint16_t *)data)[i]);
    case WG_I32: return ((const int32_t *)data)[i];
    case WG_I64: return (double)((const int64_t *)data)[i];
    case WG_I8: return ((const int8_t *)data)[i];
    case WG_U8:
    case WG_BOOL: return ((const uint8_t *)data)[i];
    default: return 0;
    }
}

/* The cast of C, except that NaN becomes 0 and what does not fit becomes the nearest limit. */
static inline int64_t wgi_to_int(double x, int64_t lo, int64_t hi)
{
    if (x != x)
        return 0;
    return x <= (double)lo ? lo : x >= (double)hi ? hi : (int64_t)x;
}

static inline void wgi_put_element(void *data, wg_dtype dtype, int64_t i, double x)
{
    switch (dtype) {
    case WG_F32: ((float *)data)[i] = (float)x; break;
    case WG_F64: ((double *)data)[i] = x; break;
    case WG_BF16: ((uint16_t *)data)[i] = wg_bf16_from_f64(x); break;
    case WG_F16: ((uint16_t *)data)[i] = wg_f16_from_f64(x); break;
    case WG_I32: ((int32_t *)data)[i] = (int32_t)wgi_to_int(x, INT32_MIN, INT32_MAX); break;
    case WG_I64: ((int64_t *)data)[i] = wgi_to_int(x, INT64_MIN, INT64_MAX); break;
    case WG_I8: ((int8_t *)data)[i] = (int8_t)wgi_to_int(x, INT8_MIN, INT8_MAX); break;
    case WG_U8: ((uint8_t *)data)[i] = (uint8_t)wgi_to_int(x, 0, UINT8_MAX); break;
    case WG_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    default: break;
    }
}

/* Whether an element of that dtype can be x, up to rounding: not a fraction of an integer, nor what
 * would become a limit, an infinity or zero. */
static inline bool wgi_can_hold(wg_dtype dtype, double x)
{
    int64_t room = 0;
    wgi_put_element(&room, dtype, 0, x);
    double back = wgi_get_element(&room, dtype, 0);
    if (wg_dtype_is_float(dtype))
        return !isfinite(x) || (isfinite(back) && (back != 0 || x == 0));
    return back == x && x < 0x1p63;
}

/* Exact, of WG_I32 and WG_I64 only. */
static inline int64_t wgi_get_int(const void *data, wg_dtype dtype, int64_t i)
{
    return dtype == WG_I32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

#endif
