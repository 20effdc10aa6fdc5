/* Plans of bf16 in tests, on each backend. */
#ifndef WG_TESTS_BF16_H
#define WG_TESTS_BF16_H

#include "tests/plans.h"
#include "wengert/backends/load.h"
#include "wengert/backends/onednn.h"

/* Before cpu, which comes last in any case; of 0: none. */
static inline const wg_backend *backend_at(int i)
{
    return i ? wg_backend_at((size_t)i - 1) : NULL;
}

static inline int n_backends(void)
{
    return (int)wg_backend_list_built_in().count;
}

static inline wg_plan *plan_on(const wg_backend *backend, wg_graph *g, wg_value *const *y, size_t n)
{
    return plan_of(g, &(wg_plan_options){.outputs = y,
                                         .n_outputs = n,
                                         .backends = &backend,
                                         .n_backends = backend ? 1 : 0,
                                         .reference = !backend,
                                         .threads = 2,
                                         .seed = 5});
}

#endif
