/* Random tensors from a counter-based generator (Philox): a number is a function of the plan's
 * seed, the step of the run, the node's key and the index of the element.  It is the same at any
 * number of threads, and a mask need not be stored.  Builders take keys from wg_graph_new_key: the
 * same build order gives the same numbers. */
#ifndef WG_OPS_RANDOM_H
#define WG_OPS_RANDOM_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of uniform, normal and bernoulli. */
typedef struct wg_random_attrs {
    wg_dtype dtype; /**< of y */
    wg_shape shape; /**< of y */
    double a;       /**< uniform: low; normal: mean; bernoulli: p */
    double b;       /**< uniform: high; normal: std; bernoulli: unused */
    int64_t key;    /**< of the draw */
} wg_random_attrs;

/** Attributes of dropout. */
typedef struct wg_dropout_attrs {
    double p;    /**< probability of 0 */
    int64_t key; /**< of the mask */
} wg_dropout_attrs;

/** Uniform on [low, high), low <= high; floats.  (Rounding may give `high` itself.) */
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
/** wg_uniform of x's graph, dtype and shape. */
WG_API wg_value *(wg_uniform_like)(const char *at, wg_value *x, double low, double high);
#define wg_uniform_like(...) wg_uniform_like(WG_HERE, __VA_ARGS__)
/** wg_normal of x's graph, dtype and shape: the noise of z = mean + std noise. */
WG_API wg_value *(wg_normal_like)(const char *at, wg_value *x, double mean, double std);
#define wg_normal_like(...) wg_normal_like(WG_HERE, __VA_ARGS__)

/** y = x / (1 - p) with probability 1 - p, else 0; p in [0, 1); floats.  For p = 0 it is x itself.
 * The derivative draws the same mask (Srivastava et al., "Dropout", 2014, in its inverted form). */
WG_API wg_value *(wg_dropout)(const char *at, wg_value *x, double p);
#define wg_dropout(...) wg_dropout(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
