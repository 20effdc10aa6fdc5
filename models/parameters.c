#include "models/parameters.h"

wg_graph *wgi_transformer_parameters(const wg_transformer_config *config)
{
    wg_graph *g = wg_graph_new();
    bool encodes = config && config->encoder_layers > 0;
    const wg_transformer_inputs in = wg_transformer_inputs_new(g, 1, encodes, 1);
    wg_transformer m = wg_transformer_begin(g, config, WG_MODE_INFERENCE);
    wg_output(wg_transformer_loss(&m, &in, NULL), "loss");
    return g;
}
