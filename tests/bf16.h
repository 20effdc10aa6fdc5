/* Plans of bf16 in tests, on cpu and on oneDNN. */
#ifndef WG_TESTS_BF16_H
#define WG_TESTS_BF16_H

#include "tests/plans.h"
#include "wengert/backends/onednn.h"

static inline const wg_backend *backend_at(int i) /* cpu alone, then oneDNN if it is there */
{
    return i ? wg_onednn_backend() : NULL;
}

static inline int n_backends(void)
{
    return wg_onednn_backend() ? 2 : 1;
}

static inline wg_plan *plan_on(const wg_backend *backend, wg_graph *g, wg_value *const *y, size_t n)
{
    return plan_of(g, &(wg_plan_options){.outputs = y,
                                         .n_outputs = n,
                                         .backends = &backend,
                                         .n_backends = backend ? 1 : 0,
                                         .threads = 2,
                                         .seed = 5});
}

#endif
