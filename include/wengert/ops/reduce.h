/* Reductions over any set of axes.
 *
 * `axes` may be WG_ALL_AXES; with WG_KEEP reduced axes stay, with size 1.  Over no elements a sum
 * is 0, a product 1, a norm 0, a logsumexp -inf and a mean NaN; max and min over no elements are
 * errors of the graph. */
#ifndef WG_OPS_REDUCE_H
#define WG_OPS_REDUCE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of sum, mean, max, min, prod, logsumexp, any and all. */
typedef struct wg_reduce_attrs {
    wg_axes axes; /**< none: all */
    bool keep;    /**< reduced axes stay, with size 1 */
} wg_reduce_attrs;

/** Attributes of var. */
typedef struct wg_var_attrs {
    wg_axes axes;       /**< none: all */
    bool keep;          /**< reduced axes stay, with size 1 */
    int64_t correction; /**< the divisor is the number of elements minus this */
} wg_var_attrs;

/** Attributes of vector_norm. */
typedef struct wg_vector_norm_attrs {
    wg_axes axes; /**< none: all */
    bool keep;    /**< reduced axes stay, with size 1 */
    double p;     /**< > 0, may be infinite */
} wg_vector_norm_attrs;

/** y = sum of x; numbers. */
WG_API wg_value *(wg_sum)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
#define wg_sum(...) wg_sum(WG_HERE, __VA_ARGS__)
/** y = mean of x; floats. */
WG_API wg_value *(wg_mean)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
#define wg_mean(...) wg_mean(WG_HERE, __VA_ARGS__)
/** y = largest of x; numbers; NaN if there is one.  Ties share the derivative equally. */
WG_API wg_value *(wg_max)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
#define wg_max(...) wg_max(WG_HERE, __VA_ARGS__)
/** y = smallest of x; otherwise like wg_max. */
WG_API wg_value *(wg_min)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
#define wg_min(...) wg_min(WG_HERE, __VA_ARGS__)
/** y = product of x; numbers.  Derivatives are exact even where elements are 0. */
WG_API wg_value *(wg_prod)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
#define wg_prod(...) wg_prod(WG_HERE, __VA_ARGS__)
/** y = sum (x - mean)^2 / (n - correction) over n > correction >= 0 elements; floats.  correction 1
 * is the unbiased estimate. */
WG_API wg_value *(wg_var)(const char *at, wg_value *x, wg_axes axes, wg_keep keep,
                          int64_t correction);
#define wg_var(...) wg_var(WG_HERE, __VA_ARGS__)
/** y = ln sum exp(x); floats.  Where all x are -inf, y is -inf and the derivative 0. */
WG_API wg_value *(wg_logsumexp)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
#define wg_logsumexp(...) wg_logsumexp(WG_HERE, __VA_ARGS__)
/** y = (sum |x|^p)^(1/p), p > 0; floats; p = INFINITY: y = max |x|, where ties share the
 * derivative.  Where y is 0 the derivative is 0. */
WG_API wg_value *(wg_vector_norm)(const char *at, wg_value *x, wg_axes axes, wg_keep keep,
                                  double p);
#define wg_vector_norm(...) wg_vector_norm(WG_HERE, __VA_ARGS__)

/** y = whether some x is true; bools.  Over no elements: false. */
WG_API wg_value *(wg_any)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
#define wg_any(...) wg_any(WG_HERE, __VA_ARGS__)
/** y = whether every x is true; bools.  Over no elements: true. */
WG_API wg_value *(wg_all)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
#define wg_all(...) wg_all(WG_HERE, __VA_ARGS__)

/** x summed down to `shape`, which broadcasts to x's: the transpose of broadcasting. */
WG_API wg_value *(wg_sum_to)(const char *at, wg_value *x, wg_shape shape);
#define wg_sum_to(...) wg_sum_to(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
