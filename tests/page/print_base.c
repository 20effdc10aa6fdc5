/* print_base: writes the graph of a training step of the base Transformer, with gradient, clipping
 * and Adam, for the tests of its page. */
#include "wengert.h"

int main(void)
{
    wg_transformer_config c = *wg_transformer_find("base");
    c.source_vocabulary = c.target_vocabulary = 10000;
    wg_graph *g = wg_graph_new();
    wg_transformer t = wg_transformer_begin(g, &c, WG_MODE_TRAINING);
    wg_transformer_inputs in = wg_transformer_inputs_new(g, 32, 32, 32);
    wg_value *loss = wg_output(wg_transformer_loss(&t, &in, NULL), "loss");
    wg_value *rate = wg_input(g, "rate", WG_F32, WG_SCALAR);
    wg_gradients d = wg_grad_all(loss);
    wg_clip_by_global_norm(d.grads, d.n, 25, d.grads);
    if (wg_adam_update(d.params, d.grads, d.n, rate, NULL) != WG_OK ||
        wg_graph_print(g, stdout) != WG_OK) {
        fprintf(stderr, "%s\n", wg_graph_message(g));
        return 1;
    }
    wg_graph_free(g);
    return 0;
}
