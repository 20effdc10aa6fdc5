/* How often a classifier is right, for reports (wg_step_metric) beside its loss. */
#ifndef WG_MODELS_ACCURACY_H
#define WG_MODELS_ACCURACY_H

#include "wengert/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The share of the targets that count whose logit is the largest, a scalar of f32; 0 if none
 * counts.  logits [..., V] float, targets [...] i32 or i64.  Of the options, which may be NULL and
 * may be those of wg_cross_entropy, `use_ignore` and `ignore` say which targets do not count.
 * WG_ESHAPE: the targets are not one for each row of logits. */
WG_API wg_value *(wg_accuracy)(const char *at, wg_value *logits, wg_value *targets,
                               const wg_cross_entropy_attrs *options);
#define wg_accuracy(...) wg_accuracy(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
