#include "decode/candidates.h"
#include "graph/element.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>

void wgi_candidates_build(wg_transformer *m, wg_value *states, int64_t k, bool logits,
                          wg_value **values, wg_value **tokens)
{
    wg_value *all = wg_transformer_logits(m, states);
    *values = wg_topk(logits ? all : wg_log_softmax(all, -1), k, -1);
    *tokens = wg_result_of(*values, 1);
    wg_output(*values, "values");
    wg_output(*tokens, "tokens");
}

wg_status wgi_candidates_read(wgi_decode_context *c, wgi_scores *scores, const void *values,
                              const int64_t *tokens, size_t count, wgi_candidates *out)
{
    if (!WGI_RESERVE(scores->at, scores->capacity, count))
        return wgi_error_set(&c->error, WG_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        scores->at[i] = wgi_get_element(values, c->model->config->dtype, (int64_t)i);
    *out = (wgi_candidates){scores->at, tokens};
    return WG_OK;
}
