/* A Transformer encoder over tokens, at any size. */
#ifndef WG_MODELS_ENCODER_H
#define WG_MODELS_ENCODER_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_encoder_options {
    int64_t batch, length; /* B, T                                     */
    int64_t vocabulary;
    int64_t d_model, d_ff;
    int heads, layers; /* heads divide d_model                     */
    double dropout;    /* after the embedding and each sublayer, and of attention weights */
    double smoothing;  /* of labels, in the loss                   */
    bool tied; /* logits are products with the embedding's rows (section 3.4), without bias */
} wg_encoder_options;

/** Embedding, `layers` times x -> LayerNorm(x + Dropout(Sublayer(x))) for self-attention and feed-forward (Vaswani et
 * al. 2017, section 3.1), then logits over the vocabulary, by which each token is told from the others.  Inputs:
 * "tokens" [B, T] i64 in [0, vocabulary), "lengths" [B] i64 in [0, T].  Returns the mean cross entropy, a scalar and
 * the output "loss", or NULL after an error. */
WG_API wg_value *wg_encoder(wg_graph *g, const wg_encoder_options *options);

#ifdef __cplusplus
}
#endif
#endif
