#include "decode/owned.h"

#include <stdlib.h>

bool wgi_owned_copy(wgi_owned_model *to, const wg_search_model *model)
{
    *to = (wgi_owned_model){.model = *model, .config = *model->config};
    to->config.name = NULL;
    to->config.dtype = to->config.dtype ? to->config.dtype : WG_F32;
    to->backends = calloc(model->n_backends + 1, sizeof *to->backends);
    if (!to->backends)
        return false;
    for (size_t i = 0; i < model->n_backends; i++)
        to->backends[i] = model->backends[i];
    to->model.config = &to->config;
    to->model.backends = to->backends;
    if (to->model.int8)
        to->model.store = to->integers = wg_store_new_over(model->store);
    return to->model.store != NULL;
}

void wgi_owned_clear(wgi_owned_model *m)
{
    wg_plan_free(m->quantizer);
    wg_store_free(m->integers);
    free(m->backends);
    *m = (wgi_owned_model){.quantizer = NULL};
}
