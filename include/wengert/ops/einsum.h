/* Sums of products by Einstein's convention. */
#ifndef WG_OPS_EINSUM_H
#define WG_OPS_EINSUM_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of einsum. */
typedef struct wg_einsum_attrs {
    const char *spec; /**< "bij,bjk->bik" */
} wg_einsum_attrs;

/** y[result letters] = sum over all other letters of the product of the n operands, like einsum of
 * NumPy and PyTorch: "bij,bjk->bik".  A letter names an axis and has one size throughout; twice in
 * one operand it takes the diagonal.  "..." stands for leading axes that broadcast.  Without "->"
 * the result has the axes of "...", then the letters that occur once, in alphabetical order.
 * Operands are floats.  They are contracted from left to right, so their order determines the cost;
 * no intermediate result may have more than WG_MAX_RANK axes. */
WG_API wg_value *(wg_einsum)(const char *at, const char *spec, wg_value *const *x, size_t n);
#define wg_einsum(...) wg_einsum(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
