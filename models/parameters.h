#ifndef WG_PRIVATE_MODELS_PARAMETERS_H
#define WG_PRIVATE_MODELS_PARAMETERS_H

#include "wengert/models/transformer.h"

/* The smallest graph that has every parameter of such a model: its loss, as the output "loss", on
 * one sentence of one source token, if there is an encoder, and one target token.  A bad
 * configuration is an error of the graph; NULL without memory.  The caller frees it. */
wg_graph *wgi_transformer_parameters(const wg_transformer_config *config);

#endif
