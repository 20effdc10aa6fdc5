/* A model of which the caller may free what it passed in. */
#ifndef WG_PRIVATE_DECODE_OWNED_H
#define WG_PRIVATE_DECODE_OWNED_H

#include "wengert/decode/search.h"

typedef struct wgi_owned_model {
    wg_search_model model; /* points to the copies below; with int8 its store is `integers` */
    wg_transformer_config config;
    const wg_backend **backends;
    wg_store *integers; /* with int8: layered over the caller's store */
    wg_plan *quantizer; /* with int8: the plan that fills `integers` (wgi_context_quantize) */
} wgi_owned_model;

/* Copies the model; false without memory.  Clear it in either case; it must not be moved. */
bool wgi_owned_copy(wgi_owned_model *to, const wg_search_model *model);
void wgi_owned_clear(wgi_owned_model *m);

#endif
