#include "backends/cpu/kernel.h"

/* The sum over one rank. */
static void copy_all(wg_call *c)
{
    for (int k = 0; k < c->node->n_in; k++)
        if (c->out[k] != c->in[k] && wg_value_count(c->node->in[k]) > 0)
            memcpy(c->out[k], c->in[k], wg_value_bytes(c->node->in[k]));
}

void wgi_cpu_all_reduce_start(wg_call *c)
{
    copy_all(c);
}

void wgi_cpu_all_reduce_wait(wg_call *c)
{
    copy_all(c);
}
