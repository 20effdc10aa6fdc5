/* What rows share: shape rules and samples. */
#include "ops/rows.h"

bool wgi_infer_unary_number(wg_node *n)
{
    return wg_need_number(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

bool wgi_infer_unary_float(wg_node *n)
{
    return wg_need_float(n, 0) && wgi_infer_unary_number(n);
}

bool wgi_infer_binary_number(wg_node *n)
{
    wg_shape s;
    return wg_need_same_dtype(n, 0, 1) && wg_need_number(n, 0) &&
           wg_need_broadcast(n, &n->in[0]->shape, &n->in[1]->shape, &s) &&
           wg_set_result(n, 0, n->in[0]->dtype, s);
}

bool wgi_infer_binary_float(wg_node *n)
{
    return wg_need_float(n, 0) && wgi_infer_binary_number(n);
}

const wg_sample wgi_unary_samples[] = {
    {"matrix", NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 5)}},
    {"scalar", NULL, 1, {WG_FLOATS(-2, 2, 0, 0)}},
    {"empty", NULL, 1, {WG_FLOATS(-2, 2, 2, 3, 0)}},
};
const wg_sample wgi_binary_samples[] = {
    {"same shape", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_FLOATS(-2, 2, 3, 2, 1, 4), WG_FLOATS(-2, 2, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_FLOATS(-2, 2, 2, 3, 2), WG_FLOATS(-2, 2, 0, 0)}},
    {"empty", NULL, 2, {WG_FLOATS(-2, 2, 2, 0, 4), WG_FLOATS(-2, 2, 1, 4)}},
};
