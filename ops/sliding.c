#include "wengert/ops/sliding.h"

/* With every number below 2^31 and a size below 2^60, no product or sum here or in a kernel
 * overflows. */
static bool need_number(wg_node *n, const char *axis, const char *name, int64_t value, int64_t min)
{
    return (value >= min && value <= INT32_MAX) ||
           wg_fail(n, WG_EINVAL, "the %s along %s is %lld, must be %lld to %d", name, axis,
                   (long long)value, (long long)min, INT32_MAX);
}

bool wg_need_sliding(wg_node *n, const char *axis, wg_sliding *w)
{
    if (!need_number(n, axis, "kernel", w->kernel, 1) ||
        !need_number(n, axis, "stride", w->stride, 1) ||
        !need_number(n, axis, "padding", w->padding, 0) ||
        !need_number(n, axis, "dilation", w->dilation, 1))
        return false;
    if (w->size < 0 || w->size > INT64_MAX / 8)
        return wg_fail(n, WG_ESHAPE, "the size along %s is %lld", axis, (long long)w->size);
    int64_t span = w->dilation * (w->kernel - 1) + 1, padded = w->size + 2 * w->padding;
    int64_t more = w->partial && padded > 0 ? w->stride - 1 : 0;
    if (span > padded + more)
        return wg_fail(
            n, WG_ESHAPE,
            "along %s a kernel of %lld with dilation %lld spans %lld, more than the %lld of "
            "size %lld and padding %lld",
            axis, (long long)w->kernel, (long long)w->dilation, (long long)span, (long long)padded,
            (long long)w->size, (long long)w->padding);
    w->count = (padded + more - span) / w->stride + 1;
    if (w->partial && (w->count - 1) * w->stride >= w->size + w->padding)
        w->count--;
    return true;
}
