/* Small Transformers for checks: the paper's, and one for each option. */
#include "models/internal.h"

enum { NO_ENCODER = -1 }; /* of encoder_layers, which are 0 then and otherwise 2 */

/* What is special about each; the rest is filled in below. */
/* clang-format off */
static const struct {
    wg_transformer_config c;
    bool without_attention_bias, without_smoothing;
} variants[] = {
    {{.name = "as in the paper"}, false, false},
    {{.name = "positions in halves", .positions = WG_POSITIONS_HALVES}, false, false},
    {{.name = "positions of the paper in halves", .positions = WG_POSITIONS_PAPER_HALVES},
     false, false},
    {{.name = "learned positions", .positions = WG_POSITIONS_LEARNED}, false, false},
    {{.name = "learned positions from 2", .positions = WG_POSITIONS_LEARNED, .first_position = 2},
     false, false},
    {{.name = "rotary positions", .positions = WG_POSITIONS_ROTARY}, false, false},
    {{.name = "positions from 1", .first_position = 1}, false, false},
    {{.name = "rotary positions from 1", .positions = WG_POSITIONS_ROTARY, .first_position = 1},
     false, false},
    {{.name = "pre-norm", .pre_norm = true}, false, false},
    {{.name = "post-norm with final norms", .final_norm = WG_FINAL_NORM_ALWAYS}, false, false},
    {{.name = "pre-norm without final norms", .pre_norm = true,
      .final_norm = WG_FINAL_NORM_NEVER}, false, false},
    {{.name = "unscaled embeddings", .unscaled_embeddings = true}, false, false},
    {{.name = "rmsnorm", .norm = WG_RMSNORM}, false, false},
    {{.name = "pre-norm, rmsnorm", .pre_norm = true, .norm = WG_RMSNORM}, false, false},
    {{.name = "additive attention", .attention = WG_ATTENTION_ADDITIVE}, false, false},
    {{.name = "unscaled attention", .attention = WG_ATTENTION_UNSCALED}, false, false},
    {{.name = "attention in a window", .attention_window = 1}, false, false},
    {{.name = "attention in a window, dropout", .attention_window = 2,
      .positions = WG_POSITIONS_ROTARY, .fused_projections = true, .attention_dropout = 0.3},
     false, false},
    {{.name = "small keys", .d_k = 2}, false, false},
    {{.name = "three heads of two sizes", .heads = 3, .d_k = 2, .d_v = 5,
      .fused_projections = true}, false, false},
    {{.name = "no attention bias"}, true, false},
    {{.name = "fused projections", .fused_projections = true}, false, false},
    {{.name = "fused projections, no bias", .fused_projections = true}, true, false},
    {{.name = "gelu", .activation = WG_ACTIVATION_GELU}, false, false},
    {{.name = "gelu by tanh", .activation = WG_ACTIVATION_GELU_TANH}, false, false},
    {{.name = "silu", .activation = WG_ACTIVATION_SILU}, false, false},
    {{.name = "gated relu", .gated = true}, false, false},
    {{.name = "gated gelu", .gated = true, .activation = WG_ACTIVATION_GELU}, false, false},
    {{.name = "gated silu", .gated = true, .activation = WG_ACTIVATION_SILU}, false, false},
    {{.name = "tied output", .tying = WG_TIED_OUTPUT, .source_vocabulary = 7}, false, false},
    {{.name = "untied", .tying = WG_UNTIED, .source_vocabulary = 7}, false, false},
    {{.name = "output bias", .output_bias = true}, false, false},
    {{.name = "no smoothing"}, false, true},
    {{.name = "smoothing off target", .smoothing_spread = WG_SMOOTH_OFF_TARGET}, false, false},
    {{.name = "dropout", .dropout = 0.3}, false, false},
    {{.name = "dropout everywhere", .dropout = 0.2, .attention_dropout = 0.2,
      .activation_dropout = 0.2}, false, false},
    {{.name = "additive attention, dropout", .attention = WG_ATTENTION_ADDITIVE,
      .attention_dropout = 0.3},
     false, false},
    {{.name = "much at once", .positions = WG_POSITIONS_ROTARY, .norm = WG_RMSNORM,
      .pre_norm = true, .fused_projections = true, .gated = true,
      .activation = WG_ACTIVATION_SILU, .tying = WG_UNTIED,
      .output_bias = true, .dropout = 0.1, .attention_dropout = 0.1}, true, false},
    {{.name = "decoder alone", .encoder_layers = NO_ENCODER}, false, false},
    {{.name = "decoder alone, learned positions, pre-norm, untied", .encoder_layers = NO_ENCODER,
      .positions = WG_POSITIONS_LEARNED, .pre_norm = true, .tying = WG_UNTIED,
      .source_vocabulary = 7, .activation = WG_ACTIVATION_GELU, .dropout = 0.2}, false, true},
    {{.name = "decoder alone, much at once", .encoder_layers = NO_ENCODER,
      .positions = WG_POSITIONS_ROTARY, .norm = WG_RMSNORM, .pre_norm = true,
      .fused_projections = true, .gated = true, .activation = WG_ACTIVATION_SILU,
      .attention_window = 2}, true, false},
};
/* clang-format on */

bool wgi_transformer_variant(size_t i, wg_transformer_config *out)
{
    if (i >= WG_COUNT(variants))
        return false;
    wg_transformer_config c = variants[i].c;
    c.target_vocabulary = 11;
    c.source_vocabulary = c.source_vocabulary ? c.source_vocabulary : c.target_vocabulary;
    c.d_model = 8;
    c.d_ff = 12;
    c.heads = c.heads ? c.heads : 2;
    c.decoder_layers = 2;
    c.encoder_layers = c.encoder_layers == NO_ENCODER ? 0 : 2;
    c.max_positions = 16;
    c.norm_eps = 1e-5;
    c.activation = c.activation ? c.activation : WG_ACTIVATION_RELU;
    c.attention_bias = !variants[i].without_attention_bias;
    c.label_smoothing = variants[i].without_smoothing ? 0 : 0.1;
    c.dtype = WG_F32;
    *out = c;
    return true;
}
