#include "backends/lengths.h"
#include "graph/element.h"

bool wgi_lengths_valid(wg_call *c, int i, int64_t max, const char *of)
{
    const wg_value *lengths = c->node->in[i];
    int64_t count = wg_value_count(lengths);
    for (int64_t k = 0; k < count; k++) {
        int64_t length = wgi_get_int(c->in[i], lengths->dtype, k);
        if (length >= 0 && length <= max)
            continue;
        wg_call_fail_at(c, i, k, "%s%slength %lld of example %lld is outside [0,%lld]",
                        of ? of : "", of ? ": " : "", (long long)length, (long long)k,
                        (long long)max);
        return false;
    }
    return true;
}
