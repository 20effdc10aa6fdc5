#include "graph/element.h"
#include "backends/cpu/kernel.h"
#include "backends/lengths.h"
#include "wengert/ops/guard.h"

void wgi_cpu_guard(wg_call *c)
{
    for (int k = 1; k < c->node->n_in; k++) {
        const wg_value *check = c->node->in[k];
        for (int64_t i = 0; i < wg_value_count(check); i++) {
            double x = wgi_get_element(c->in[k], check->dtype, i);
            if (isfinite(x))
                continue;
            wg_call_fail(c, "%s is %g", check->name ? check->name : "a number under guard", x);
            c->status = WG_ENONFINITE;
            return;
        }
    }
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(c->node->out[0]));
}

void wgi_cpu_check_lengths(wg_call *c)
{
    const wg_check_lengths_attrs *a = c->node->attrs;
    if (wgi_lengths_valid(c, 0, a->max, a->of) && c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(c->node->out[0]));
}
