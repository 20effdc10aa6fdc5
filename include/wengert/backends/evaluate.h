/* An evaluator (wengert/graph/evaluator.h) made of plans. */
#ifndef WG_BACKENDS_EVALUATE_H
#define WG_BACKENDS_EVALUATE_H

#include "wengert/graph/evaluator.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An evaluator whose runs are plans on the reference backend, each with its own store and one
 * thread, without assignments.  Static, never NULL. */
WG_API const wg_evaluator *wg_plan_evaluator(void);

#ifdef __cplusplus
}
#endif
#endif
