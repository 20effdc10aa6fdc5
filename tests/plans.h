/* Plans in tests: made, proved free of overlaps and run, or the test fails with the message. */
#ifndef WG_TESTS_PLANS_H
#define WG_TESTS_PLANS_H

#include "tests/test.h"
#include "wengert/backends/plan.h"

static inline wg_plan *plan_of(wg_graph *g, const wg_plan_options *options)
{
    wg_plan *p = NULL;
    check_that(wg_plan_create(&p, g, options) == WG_OK, "%s", wg_graph_message(g));
    check_that(wg_plan_check(p) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

static inline void run(wg_plan *p, uint64_t step)
{
    check_that(wg_plan_run(p, step) == WG_OK, "%s", wg_plan_message(p));
}

static inline const float *floats(wg_plan *p, const wg_value *v)
{
    const float *x = wg_plan_data(p, v);
    assert_non_null(x);
    return x;
}

#endif
