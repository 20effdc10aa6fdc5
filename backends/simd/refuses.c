/* Reasons to refuse a node that several kernels share. */
#include "backends/simd/internal.h"

const char *wgi_simd_refuses_other_than_f32(const wg_node *n)
{
    return n->in[0]->dtype == WG_F32 ? NULL : "not f32";
}

const char *wgi_simd_refuses_empty(const wg_node *n)
{
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    for (int i = 0; i < n->n_in; i++)
        if (wg_value_count(n->in[i]) == 0)
            return "an empty operand";
    return NULL;
}
