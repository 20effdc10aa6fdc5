#include "backends/plan/backends.h"

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
