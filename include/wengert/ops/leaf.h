/* Leaves: tensors whose numbers come from outside the graph, and generated ones. */
#ifndef WG_OPS_LEAF_H
#define WG_OPS_LEAF_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Distributions of initial values. */
typedef enum wg_init_kind {
    WG_INIT_CONSTANT = 0,     /**< all are `scale` */
    WG_INIT_NORMAL,           /**< N(0, scale^2) */
    WG_INIT_UNIFORM,          /**< U(-scale, scale) */
    WG_INIT_XAVIER,           /**< U(-b, b), b = scale sqrt(6 / sum of the last two axes) */
    WG_INIT_HE_NORMAL,        /**< N(0, scale^2 2 / fan in), fan in = all axes but the first */
    WG_INIT_HE_UNIFORM,       /**< U(-b, b), b = scale sqrt(6 / fan in) */
    WG_INIT_TRUNCATED_NORMAL, /**< N(0, scale^2) within (-2 scale, 2 scale) */
    WG_INIT_ORTHOGONAL,       /**< scale Q, as a matrix of the first axis and all others */
    WG_INIT_VALUES,           /**< the given numbers; `scale` is 0 */
} wg_init_kind;

/** How the store first fills a parameter or a state; {0} is all zeros. */
typedef struct wg_init {
    wg_init_kind kind; /**< the distribution */
    double scale;      /**< as the distribution says */
    wg_data values;    /**< of WG_INIT_VALUES: dense, in the dtype of the leaf; else empty */
} wg_init;

/** All zeros. */
static inline wg_init wg_zeros(void)
{
    wg_init init = {WG_INIT_CONSTANT, 0, {NULL, 0}};
    return init;
}
/** All ones. */
static inline wg_init wg_ones(void)
{
    wg_init init = {WG_INIT_CONSTANT, 1, {NULL, 0}};
    return init;
}
/** All equal to `value`. */
static inline wg_init wg_constant_init(double value)
{
    wg_init init = {WG_INIT_CONSTANT, value, {NULL, 0}};
    return init;
}
/** N(0, std^2). */
static inline wg_init wg_normal_init(double std)
{
    wg_init init = {WG_INIT_NORMAL, std, {NULL, 0}};
    return init;
}
/** U(-bound, bound). */
static inline wg_init wg_uniform_init(double bound)
{
    wg_init init = {WG_INIT_UNIFORM, bound, {NULL, 0}};
    return init;
}
/** U(-b, b) by Xavier's rule, times `gain`. */
static inline wg_init wg_xavier(double gain)
{
    wg_init init = {WG_INIT_XAVIER, gain, {NULL, 0}};
    return init;
}

/** Normal by He's rule, times `gain`: keeps the size of values after relu (He et al. 2015). */
static inline wg_init wg_he(double gain)
{
    wg_init init = {WG_INIT_HE_NORMAL, gain, {NULL, 0}};
    return init;
}
/** Uniform by He's rule, times `gain`. */
static inline wg_init wg_he_uniform(double gain)
{
    wg_init init = {WG_INIT_HE_UNIFORM, gain, {NULL, 0}};
    return init;
}
/** N(0, std^2), drawn again where it is 2 std or more from 0. */
static inline wg_init wg_truncated_normal_init(double std)
{
    wg_init init = {WG_INIT_TRUNCATED_NORMAL, std, {NULL, 0}};
    return init;
}
/** A random matrix with orthonormal rows, or columns if these are fewer, times `gain` (Saxe et al.
 * 2013).  Takes rows times columns times the smaller of both steps. */
static inline wg_init wg_orthogonal(double gain)
{
    wg_init init = {WG_INIT_ORTHOGONAL, gain, {NULL, 0}};
    return init;
}
/** The given numbers, `bytes` bytes in the dtype and the shape of the leaf, row by row:
 * wg_values_init(table, sizeof table).  The builder of the leaf copies them into the graph, so they
 * are part of its text as well. */
static inline wg_init wg_values_init(const void *values, size_t bytes)
{
    wg_init init = {WG_INIT_VALUES, 0, {values, bytes}};
    return init;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/** Attributes of parameter, state and input. */
typedef struct wg_leaf_attrs {
    wg_dtype dtype;    /**< of the tensor */
    wg_shape shape;    /**< of the tensor */
    wg_init_kind init; /**< how the store first fills it */
    double scale;      /**< of init */
    wg_data values;    /**< of init */
} wg_leaf_attrs;

/** Attributes of constant. */
typedef struct wg_constant_attrs {
    wg_dtype dtype; /**< of y */
    wg_shape shape; /**< of y */
    wg_data data;   /**< its numbers, dense */
} wg_constant_attrs;

/** Attributes of fill. */
typedef struct wg_fill_attrs {
    wg_dtype dtype; /**< of y */
    wg_shape shape; /**< of y */
    double value;   /**< of each element */
} wg_fill_attrs;

/** Attributes of iota. */
typedef struct wg_iota_attrs {
    wg_dtype dtype; /**< of y */
    wg_shape shape; /**< of y */
    int64_t axis;   /**< along which numbers increase */
    double start;   /**< the first number */
    double step;    /**< between numbers */
} wg_iota_attrs;

/** Attributes of one_hot. */
typedef struct wg_one_hot_attrs {
    int64_t depth;  /**< size of the new last axis */
    wg_dtype dtype; /**< of y */
} wg_one_hot_attrs;

/* ---- builders -------------------------------------------------------------------------------- */

/** A trained tensor, named by scope and `name`; its numbers live in the plan's store.  In a scope
 * with wg_scope_reuse, the parameter of that name if there is one; in a scope with
 * wg_scope_average, the average of one. */
WG_API wg_value *(wg_parameter)(const char *at, wg_graph *g, const char *name, wg_dtype dtype,
                                wg_shape shape, wg_init init);
#define wg_parameter(...) wg_parameter(WG_HERE, __VA_ARGS__)

/** A tensor that is updated by wg_assign but not trained by a gradient: a moment, a running mean.
 * In a scope with wg_scope_reuse, the state of that name if there is one. */
WG_API wg_value *(wg_state)(const char *at, wg_graph *g, const char *name, wg_dtype dtype,
                            wg_shape shape, wg_init init);
#define wg_state(...) wg_state(WG_HERE, __VA_ARGS__)

/** A tensor that the caller fills before each run (wg_plan_data, wg_plan_bind). */
WG_API wg_value *(wg_input)(const char *at, wg_graph *g, const char *name, wg_dtype dtype,
                            wg_shape shape);
#define wg_input(...) wg_input(WG_HERE, __VA_ARGS__)

/** The given numbers, copied into the graph. */
WG_API wg_value *(wg_constant)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape,
                               const void *data);
#define wg_constant(...) wg_constant(WG_HERE, __VA_ARGS__)

/** Every element is `value`, rounded to the dtype.  WG_EDTYPE if the dtype cannot hold it: a
 *  fraction in integers, or a number too large or too small for it.  The same holds for every
 *  number that a builder takes. */
WG_API wg_value *(wg_fill)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape,
                           double value);
#define wg_fill(...) wg_fill(WG_HERE, __VA_ARGS__)

/** A scalar of x's dtype, in x's graph: for formulas such as wg_mul(x, wg_scalar_like(x, 0.5)). */
WG_API wg_value *(wg_scalar_like)(const char *at, wg_value *x, double value);
#define wg_scalar_like(...) wg_scalar_like(WG_HERE, __VA_ARGS__)

/** Zeros of x's shape and dtype. */
WG_API wg_value *(wg_zeros_like)(const char *at, wg_value *x);
#define wg_zeros_like(...) wg_zeros_like(WG_HERE, __VA_ARGS__)

/** y[..., i, ...] = start + i * step along `axis`, constant along all other axes. */
WG_API wg_value *(wg_iota)(const char *at, wg_graph *g, wg_dtype dtype, wg_shape shape, int axis,
                           double start, double step);
#define wg_iota(...) wg_iota(WG_HERE, __VA_ARGS__)

/** ids: any shape, i32 or i64; y[..., c] = (ids[...] == c), of `dtype`, c in [0, depth).  An id out
 * of range gives a row of zeros. */
WG_API wg_value *(wg_one_hot)(const char *at, wg_value *ids, int64_t depth, wg_dtype dtype);
#define wg_one_hot(...) wg_one_hot(WG_HERE, __VA_ARGS__)

/** The identity matrix [n, n], of any dtype. */
WG_API wg_value *(wg_eye)(const char *at, wg_graph *g, wg_dtype dtype, int64_t n);
#define wg_eye(...) wg_eye(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
