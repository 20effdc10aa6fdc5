/* The backends that promise the same bits at any number of threads, for tests of that promise. */
#ifndef WG_TESTS_ANY_THREADS_H
#define WG_TESTS_ANY_THREADS_H

#include "tests/test.h"
#include "wengert/backends/load.h"

/* In the order in which plans ask them. */
static inline wg_backend_list any_threads_backends(void)
{
    wg_backend_list built = wg_backend_list_built_in(), kept = {.count = 0};
    for (size_t i = 0; i < built.count; i++)
        if (built.backend[i]->reproducible == WG_ANY_THREADS)
            kept.backend[kept.count++] = built.backend[i];
    check_that(kept.count >= 2, "of %zu backends only %zu promise it: simd and cpu are missing",
               built.count, kept.count);
    return kept;
}

#endif
