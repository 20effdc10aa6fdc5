/* Random tensors by counter (Philox): a number is a function of the plan's seed, the step of the
 * run, the node's key and the element's place, so it is the same at any number of threads, and a
 * mask need not be stored. Keys come from wg_graph_new_key when built: the same build order gives
 * the same numbers. */
#ifndef WG_OPS_RANDOM_H
#define WG_OPS_RANDOM_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of uniform, normal and bernoulli. */
typedef struct wg_random_attrs {
    wg_dtype dtype; /**< of y */
    wg_shape shape; /**< of y */
    double a, b;    /**< uniform: low, high; normal: mean, std; bernoulli: p, unused */
    int64_t key;    /**< of the numbers */
} wg_random_attrs;

/** Of dropout. */
typedef struct wg_dropout_attrs {
    double p;    /**< probability of 0 */
    int64_t key; /**< of the mask */
} wg_dropout_attrs;

/** Uniform on [low, high), low <= high; floats.  (Rounding may make it high itself.) */
WG_API wg_value *(wg_uniform)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape,
                              double low, double high);
#define wg_uniform(...) wg_uniform(WG_HERE, __VA_ARGS__)
/** Normal of the given mean and standard deviation >= 0; floats. */
WG_API wg_value *(wg_normal)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape,
                             double mean, double std);
#define wg_normal(...) wg_normal(WG_HERE, __VA_ARGS__)
/** 1 with probability p in [0, 1], else 0; any dtype, bool included. */
WG_API wg_value *(wg_bernoulli)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape,
                                double p);
#define wg_bernoulli(...) wg_bernoulli(WG_HERE, __VA_ARGS__)

/** y = x / (1 - p) where a coin of probability 1 - p falls so, else 0; p in [0, 1); floats.  p = 0
 * is x itself. The derivative draws the same coins again (Srivastava et al., "Dropout", 2014, in
 * its inverted form). */
WG_API wg_value *(wg_dropout)(const char *at, wg_value *x, double p);
#define wg_dropout(...) wg_dropout(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
