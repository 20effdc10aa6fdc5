#include "models/encoder.h"
#include "models/layers.h"
#include "graph/op.h"

static wg_value *drop(wg_value *x, const wg_encoder_options *o)
{
    return o->dropout > 0 ? wg_dropout(x, o->dropout) : x;
}

/* x -> LayerNorm(x + Dropout(Sublayer(x))), twice: self-attention, then feed-forward.  x: [B, T, d_model] */
static wg_value *encoder_layer(wg_value *x, wg_value *lengths, const wg_encoder_options *o)
{
    const wg_multi_head_options heads = {
        .heads = o->heads, .lengths = lengths, .dropout = o->dropout};
    wg_value *a = wg_multi_head_attention("self_attn", x, x, &heads);
    x = wg_layer_norm("norm1", wg_add(x, drop(a, o)));
    return wg_layer_norm("norm2", wg_add(x, drop(wg_feed_forward("ff", x, o->d_ff, NULL), o)));
}

wg_value *wg_encoder(wg_graph *g, const wg_encoder_options *o)
{
    wg_value *tokens = wg_input(g, "tokens", WG_I64, WG_SHAPE(o->batch, o->length));
    wg_value *lengths = wg_input(g, "lengths", WG_I64, WG_SHAPE(o->batch));

    wg_scope_push(g, "encoder");
    wg_value *x = wg_embedding_layer("embedding", tokens, o->vocabulary, o->d_model, WG_F32);
    wg_value *rows = x ? x->node->in[0] : NULL; /* of the embedding */
    x = drop(x, o);
    for (int i = 0; i < o->layers; i++) {
        wg_scope_push(g, "layer%d", i);
        x = encoder_layer(x, lengths, o);
        wg_scope_pop(g);
    }
    wg_scope_pop(g);
    wg_value *logits = o->tied ? wg_linear(x, rows, NULL, WG_ACTIVATION_NONE)
                               : wg_dense("logits", x, o->vocabulary, WG_ACTIVATION_NONE);
    const wg_cross_entropy_attrs loss = {.smoothing = o->smoothing};
    return wg_output(wg_cross_entropy(logits, tokens, NULL, &loss), "loss");
}
