#include "backends/plan/backends.h"
#include "backends/memory.h"

#include <stdlib.h>

bool wgi_is_taken(const wgi_backends *b, size_t count, const wg_node *n)
{
    for (size_t i = 0; i < count; i++)
        if (!b->open[i].backend->refuses(b->open[i].state, n))
            return true;
    return false;
}

static void compute_nothing(wg_call *c)
{
    (void)c;
}

void wgi_skip_if_empty(const wg_node *n, wg_kernel *k)
{
    bool empty = n->n_out > 0;
    for (int i = 0; i < n->n_out && empty; i++)
        empty = wg_value_count(n->out[i]) == 0;
    if (empty)
        k->run = compute_nothing;
}

wg_status wgi_compute_node(const wgi_open_backend *b, const wg_node *n, const void *const *in,
                           void *const *out, int threads)
{
    wg_kernel kernel = {0};
    char message[WG_CALL_MESSAGE] = "";
    if (b->backend->refuses(b->state, n))
        return WG_EUNSUPPORTED;
    wg_status status = b->backend->prepare(b->state, n, &kernel);
    if (status != WG_OK)
        return status;
    wgi_skip_if_empty(n, &kernel);
    void *scratch = kernel.scratch ? wgi_aligned_alloc(kernel.scratch) : NULL;
    wg_call call = {.node = n,
                    .in = in,
                    .out = out,
                    .state = kernel.state,
                    .scratch = scratch,
                    .threads = threads,
                    .message = message};
    if (scratch || !kernel.scratch)
        kernel.run(&call);
    else
        call.status = WG_ENOMEM;
    free(scratch);
    if (b->backend->finish)
        b->backend->finish(b->state, &kernel);
    return call.status;
}
