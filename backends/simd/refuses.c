/* Reasons to refuse a node that several kernels share. */
#include "backends/simd/internal.h"

static const char *an_empty_operand(const wg_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (wg_value_count(n->in[i]) == 0)
            return "an empty operand";
    return NULL;
}

const char *wgi_simd_refuses_other_than_f32(const wg_node *n)
{
    return n->in[0]->dtype == WG_F32 ? NULL : "not f32";
}

const char *wgi_simd_refuses_empty(const wg_node *n)
{
    const char *why = wgi_simd_refuses_other_than_f32(n);
    return why ? why : an_empty_operand(n);
}

const char *wgi_simd_refuses_other_floats(const wg_node *n)
{
    wg_dtype dtype = n->in[0]->dtype;
    return dtype == WG_F32 || dtype == WG_F64 ? NULL : "neither f32 nor f64";
}

const char *wgi_simd_refuses_empty_floats(const wg_node *n)
{
    const char *why = wgi_simd_refuses_other_floats(n);
    return why ? why : an_empty_operand(n);
}
