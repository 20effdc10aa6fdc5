/* Ops with a list of operands. */
#include "ops/ops_internal.h"

wg_value *wgi_apply_list(const char *at, const wg_op *op, const void *attrs, wg_value *const *in,
                         size_t n)
{
    if (n > INT32_MAX)
        return in && in[0] ? wg_graph_fail(wg_graph_of(in[0]), WG_EINVAL, at, op->name,
                                           "too many operands: %zu", n)
                           : NULL;
    wg_node *node = wg_apply(at, NULL, op, attrs, in, (int)n);
    return node ? node->out[0] : NULL;
}

bool wgi_check_flags(const char *at, const char *who, const wg_value *x, int flags, int all)
{
    if (!x || !(flags & ~all))
        return true;
    wg_graph_fail(wg_graph_of(x), WG_EINVAL, at, who, "flags are %d, must be a sum of bits of %d",
                  flags, all);
    return false;
}
