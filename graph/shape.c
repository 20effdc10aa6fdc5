#include "wengert/graph/shape.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[WG_DTYPE_COUNT] = {
    [WG_DTYPE_DEFAULT] = {"default", 0},
    [WG_F32] = {"f32", 4},
    [WG_F64] = {"f64", 8},
    [WG_BF16] = {"bf16", 2},
    [WG_F16] = {"f16", 2},
    [WG_I32] = {"i32", 4},
    [WG_I64] = {"i64", 8},
    [WG_I8] = {"i8", 1},
    [WG_U8] = {"u8", 1},
    [WG_BOOL] = {"bool", 1},
};

static bool known(wg_dtype d)
{
    return (int)d >= 0 && d < WG_DTYPE_COUNT;
}

const char *wg_dtype_name(wg_dtype d)
{
    return known(d) ? dtypes[d].name : "no dtype";
}

size_t wg_dtype_size(wg_dtype d)
{
    return known(d) ? dtypes[d].size : 0;
}

bool wg_dtype_is_float(wg_dtype d)
{
    return d == WG_F32 || d == WG_F64 || wg_dtype_is_half(d);
}

bool wg_dtype_is_half(wg_dtype d)
{
    return d == WG_BF16 || d == WG_F16;
}

bool wg_dtype_is_int(wg_dtype d)
{
    return d == WG_I32 || d == WG_I64;
}

wg_shape wg_shape_make(int rank, const int64_t *dim)
{
    wg_shape s = {.rank = rank};
    for (int i = 0; dim && i < rank && i < WG_MAX_RANK; i++)
        s.dim[i] = dim[i];
    return s;
}

wg_axes wg_axes_make(int count, const int *axis)
{
    wg_axes a = {.count = count};
    for (int i = 0; axis && i < count && i < WG_MAX_RANK; i++)
        a.axis[i] = axis[i];
    return a;
}

int64_t wg_shape_count(const wg_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

size_t wg_shape_bytes(const wg_shape *shape, wg_dtype dtype)
{
    return (size_t)wg_shape_count(shape) * wg_dtype_size(dtype);
}

bool wg_shape_equal(const wg_shape *a, const wg_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *wg_shape_text(const wg_shape *s, char *text, size_t size)
{
    if (s->rank < 0 || s->rank > WG_MAX_RANK) {
        snprintf(text, size, "[rank %d]", s->rank);
        return text;
    }
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < s->rank && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, i ? ",%lld" : "%lld", (long long)s->dim[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}

/* The product is checked over the non-zero dimensions, so that [0, huge, huge] is refused as well:
 * an empty tensor's other dimensions still get multiplied by shape rules. */
bool wg_shape_valid(const wg_shape *s, wg_dtype d)
{
    if (s->rank < 0 || s->rank > WG_MAX_RANK || !known(d) || d == WG_DTYPE_DEFAULT)
        return false;
    int64_t max = INT64_MAX / (int64_t)dtypes[d].size;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0 || (s->dim[i] > 0 && s->dim[i] > max))
            return false;
        if (s->dim[i] > 0)
            max /= s->dim[i];
    }
    return true;
}

void wg_shape_strides(const wg_shape *s, int64_t stride[WG_MAX_RANK])
{
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= s->dim[i];
    }
}
