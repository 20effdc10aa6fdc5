/* An evaluator (wengert/graph/evaluator.h) made of plans. */
#ifndef WG_BACKENDS_EVALUATE_H
#define WG_BACKENDS_EVALUATE_H

#include "wengert/graph/evaluator.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Each run is a plan on the cpu backend with a store and one thread of its own; assignments are
 * left out.  Static, never NULL. */
WG_API const wg_evaluator *wg_plan_evaluator(void);

#ifdef __cplusplus
}
#endif
#endif
