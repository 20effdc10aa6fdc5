/* Normalisation by mean and variance: over a row (layernorm, rmsnorm), over the batch, over groups
 * of channels.  Variances are divided by n, not n - 1. */
#ifndef WG_OPS_NORM_H
#define WG_OPS_NORM_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The number of trailing axes that make a row. */
enum { WG_LAST_AXIS = 1, WG_LAST_TWO_AXES = 2 };

/** Attributes of layernorm, rmsnorm and their gradients. */
typedef struct wg_rownorm_attrs {
    int64_t axes; /**< a row is the last `axes` axes; 0: WG_LAST_AXIS */
    double eps;   /**< added to the variance */
} wg_rownorm_attrs;

/** Attributes of batchnorm, its gradient and batchnorm_eval. */
typedef struct wg_batchnorm_attrs {
    double eps; /**< added to the variance */
} wg_batchnorm_attrs;

/** Attributes of groupnorm and its gradient. */
typedef struct wg_groupnorm_attrs {
    int64_t groups; /**< number of equal parts of the channels */
    double eps;     /**< added to the variance */
} wg_groupnorm_attrs;

/** y = (x - mean) / sqrt(var + eps) * gain + bias, where mean and var are taken over a row, the
 * last `last_axes` axes: WG_LAST_AXIS (which 0 stands for), WG_LAST_TWO_AXES or any number up to
 * the rank.  gain and bias have the shape of a row; both, or only bias, may be NULL.  Further
 * results (wg_result_of): 1 is the mean, 2 is 1 / sqrt(var + eps), both of x's shape with those
 * axes of size 1.  Ba, Kiros, Hinton 2016. */
WG_API wg_value *(wg_layernorm)(const char *at, wg_value *x, wg_value *gain, wg_value *bias,
                                int last_axes, double eps);
#define wg_layernorm(...) wg_layernorm(WG_HERE, __VA_ARGS__)

/** y = x / sqrt(mean of x^2 + eps) * gain over the last `last_axes` axes; gain may be NULL.  Result
 * 1 is 1 / sqrt(mean of x^2 + eps).  Zhang, Sennrich 2019. */
WG_API wg_value *(wg_rmsnorm)(const char *at, wg_value *x, wg_value *gain, int last_axes,
                              double eps);
#define wg_rmsnorm(...) wg_rmsnorm(WG_HERE, __VA_ARGS__)

/** y = (x - mean) / sqrt(var + eps) * gain + bias for x [N, C, ...], where mean and var [C] of
 * this batch are taken over all axes but the second; gain and bias [C] as in layernorm.  Results
 * 1 and 2 are mean and var. */
WG_API wg_value *(wg_batchnorm)(const char *at, wg_value *x, wg_value *gain, wg_value *bias,
                                double eps);
#define wg_batchnorm(...) wg_batchnorm(WG_HERE, __VA_ARGS__)

/** The same with given mean and var [C]: for evaluation. */
WG_API wg_value *(wg_batchnorm_eval)(const char *at, wg_value *x, wg_value *mean, wg_value *var,
                                     wg_value *gain, wg_value *bias, double eps);
#define wg_batchnorm_eval(...) wg_batchnorm_eval(WG_HERE, __VA_ARGS__)

/** wg_batchnorm that also updates two states of shape [C] at the end of the run (wg_assign):
 *      running_mean <- (1 - momentum) running_mean + momentum mean
 *      running_var  <- (1 - momentum) running_var  + momentum var n / (n - 1)
 * where n is the number of elements of a channel; for n = 1 the factor n / (n - 1) is 1, and an
 * empty batch, n = 0, leaves both as they are. */
WG_API wg_value *(wg_batchnorm_train)(const char *at, wg_value *x, wg_value *gain, wg_value *bias,
                                      wg_value *running_mean, wg_value *running_var,
                                      double momentum, double eps);
#define wg_batchnorm_train(...) wg_batchnorm_train(WG_HERE, __VA_ARGS__)

/** x [N, C, ...]: the C channels in `groups` equal parts, each normalised as one row; gain and
 * bias [C] as in layernorm.  Results 1 and 2 are the mean and 1 / sqrt(var + eps) of each group of
 * each example, [N, groups].  Wu, He 2018. */
WG_API wg_value *(wg_groupnorm)(const char *at, wg_value *x, wg_value *gain, wg_value *bias,
                                int64_t groups, double eps);
#define wg_groupnorm(...) wg_groupnorm(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
