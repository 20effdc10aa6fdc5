#include "train/finite.h"
#include "graph/element.h"
#include "graph/error.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A float is NaN or infinite if all bits of its exponent are set: adding the lowest of them to
 * these bits alone then carries into the place of the sign.  This is done for all floats in 8 bytes
 * at once. */
typedef struct pattern {
    uint64_t exponent, lowest, sign; /* the bits of each float in 8 bytes */
} pattern;

static pattern pattern_of(wg_dtype dtype)
{
    switch (dtype) {
    case WG_F64:
        return (pattern){UINT64_C(0x7ff0000000000000), UINT64_C(0x0010000000000000),
                         UINT64_C(0x8000000000000000)};
    case WG_F32:
        return (pattern){UINT64_C(0x7f8000007f800000), UINT64_C(0x0080000000800000),
                         UINT64_C(0x8000000080000000)};
    case WG_BF16:
        return (pattern){UINT64_C(0x7f807f807f807f80), UINT64_C(0x0080008000800080),
                         UINT64_C(0x8000800080008000)};
    default: /* WG_F16 */
        return (pattern){UINT64_C(0x7c007c007c007c00), UINT64_C(0x0400040004000400),
                         UINT64_C(0x8000800080008000)};
    }
}

enum { BLOCK = 4096 }; /* bytes, in which an element is looked for if there is one */

/* The first byte of a block with such a float, or of what is left of the last one. */
static size_t skip_finite(const unsigned char *bytes, size_t size, pattern p)
{
    size_t at = 0;
    for (; size - at >= BLOCK; at += BLOCK) {
        uint64_t carries = 0;
#pragma omp simd reduction(| : carries)
        for (size_t i = 0; i < BLOCK; i += 8) {
            uint64_t x;
            memcpy(&x, bytes + at + i, sizeof x);
            carries |= (x & p.exponent) + p.lowest;
        }
        if (carries & p.sign)
            break;
    }
    return at;
}

/* The first element that is not finite; -1 if there is none. */
static int64_t first_nonfinite(const wg_tensor *t)
{
    if (!wg_dtype_is_float(t->dtype))
        return -1;
    int64_t count = wg_shape_count(&t->shape);
    size_t size = wg_dtype_size(t->dtype),
           first = skip_finite(t->data, (size_t)count * size, pattern_of(t->dtype));
    for (int64_t i = (int64_t)(first / size); i < count; i++)
        if (!isfinite(wgi_get_element(t->data, t->dtype, i)))
            return i;
    return -1;
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
