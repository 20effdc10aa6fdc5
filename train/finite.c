#include "train/finite.h"
#include "graph/element.h"
#include "graph/error.h"

#include <inttypes.h>
#include <math.h>

enum { BLOCK = 4096 };

/* Floats are finite if not all bits of the exponent are set.  Without a branch for each element,
 * compilers vectorise the loop. */
static bool block_is_finite_f32(const float *x, int64_t n)
{
    uint32_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return !bad;
}

static bool block_is_finite(const void *data, wg_dtype dtype, int64_t from, int64_t n)
{
    if (dtype == WG_F32)
        return block_is_finite_f32((const float *)data + from, n);
    for (int64_t i = from; i < from + n; i++)
        if (!isfinite(wgi_get_element(data, dtype, i)))
            return false;
    return true;
}

/* The first element that is not finite; -1 if there is none. */
static int64_t first_nonfinite(const wg_tensor *t)
{
    int64_t count = wg_dtype_is_float(t->dtype) ? wg_shape_count(&t->shape) : 0, from = 0;
    while (from < count) {
        int64_t n = count - from < BLOCK ? count - from : BLOCK;
        if (!block_is_finite(t->data, t->dtype, from, n))
            break;
        from += n;
    }
    while (from < count && isfinite(wgi_get_element(t->data, t->dtype, from)))
        from++;
    return from < count ? from : -1;
}

wg_status wgi_check_finite(const wg_tensor *list, size_t n, wg_status status, const char *path,
                           wg_error *error)
{
    wg_status found = WG_OK;
    for (size_t i = 0; i < n; i++) {
        int64_t at = first_nonfinite(&list[i]);
        if (at >= 0)
            found = wgi_error_line(
                error, status, "%s: tensor %s: element %" PRId64 " is %s", path, list[i].name, at,
                isnan(wgi_get_element(list[i].data, list[i].dtype, at)) ? "NaN" : "infinite");
    }
    return found;
}
