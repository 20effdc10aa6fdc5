/* The Transformer of "Attention Is All You Need" (Vaswani et al. 2017): encoder and decoder stacks
 * over tokens, with the variants that other systems use as options, so that their weights and
 * results carry over.
 *
 *     wg_transformer m = wg_transformer_begin(g, config);
 *     wg_value *memory = wg_transformer_encode(&m, source, source_lengths);
 *     wg_value *states = wg_transformer_decode(&m, target_in, memory, source_lengths);
 *     wg_value *logits = wg_transformer_logits(&m, states);
 *
 * Shapes: B sentences, S source and T target positions, d = d_model, V target tokens.  Ids are i32
 * or i64.  Sentences are padded at the end; no number of a padded position shows in any position
 * that counts. */
#ifndef WG_MODELS_TRANSFORMER_H
#define WG_MODELS_TRANSFORMER_H

#include "wengert/graph/error.h"
#include "wengert/models/positions.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wg_tying {
    WG_TIED_ALL = 0, /* one matrix: source embedding, target embedding, logits (section 3.4) */
    WG_TIED_OUTPUT,  /* target embedding and logits                                           */
    WG_UNTIED
} wg_tying;

/** Every field says what it is; start from wg_transformer_find and change some. */
typedef struct wg_transformer_config {
    const char *name;                             /* of the named configuration it came from */
    int64_t source_vocabulary, target_vocabulary; /* equal if all embeddings are tied */
    int64_t d_model, d_ff;
    int64_t heads, encoder_layers, decoder_layers;
    int64_t d_k,
        d_v; /* of a head: numbers in a key and in a value; 0: d_model / heads, which must be whole */
    int64_t max_positions; /* longest sentence in tokens (a limit of learned positions only) */
    int64_t
        first_position; /* of the first token: 0 (paper), 1 (CTranslate2), padding id + 1 (fairseq) */
    int positions;      /* wg_positions                                   */
    int norm;           /* wg_norm_kind                                   */
    bool pre_norm;      /* x + f(norm(x)), and a last norm for each stack; else norm(x + f(x)) */
    double norm_eps;
    int attention;       /* wg_attention_kind                           */
    bool attention_bias; /* of the projections q, k, v and out          */
    bool
        fused_projections; /* q, k, v of self-attention as one matrix [3 d, d].  All q, k, v then have Xavier's bound
                                  for that shape, 1/sqrt 2 of their own, as in PyTorch and fairseq */
    int activation;            /* wg_activation of the feed-forward layers    */
    bool gated;                /* W2 (act(W1 x) * W3 x)                       */
    int tying;                 /* wg_tying                                    */
    bool output_bias;          /* of the logits                               */
    double label_smoothing;    /* in the loss                                 */
    int smoothing_spread;      /* wg_smoothing                                */
    double dropout;            /* after each sublayer and on embeddings plus positions */
    double attention_dropout;  /* of attention weights                        */
    double activation_dropout; /* inside the feed-forward layer               */
    wg_dtype dtype;            /* f32, or f64 for checks                      */
} wg_transformer_config;

/** The named configurations tiny, small, base and big; NULL past the end, or for a name that is none
 * of them. */
WG_API const wg_transformer_config *wg_transformer_config_at(size_t i);
WG_API const wg_transformer_config *wg_transformer_find(const char *name);

/** Can such a model be built?  If not, WG_EINVAL, and `error` (NULL is allowed) says why,
 * beginning with the field. */
WG_API WG_MUST_USE wg_status wg_transformer_check(const wg_transformer_config *config,
                                                  wg_error *error);

/** Configurations of two layers and few numbers, one for each option, for checks of every variant.
 * Writes the i-th, whose
 *  name says what is special about it; false past the end. */
WG_API bool wg_transformer_variant(size_t i, wg_transformer_config *config);

/** A model under construction in one graph: the parameters that several parts share. */
typedef struct wg_transformer {
    wg_graph *graph;
    wg_transformer_config config;
    bool training; /* dropout is on */
    wg_value *source_embedding, *target_embedding, *output_weight, *output_bias;
    wg_value *
        target_lengths; /* [B] or NULL: hides padded targets from each other; the positions that count never see
                                 them, so this changes only what is computed for padding */
} wg_transformer;

/** Begins the model in g; without `training` there is no dropout.  A bad configuration is an error
 * of the graph.
 *
 *  The parameters are embedding/weight, or source_embedding/weight, target_embedding/weight and
 *  output/weight where they are not tied; output/bias; encoder/layer0/... with norm1,
 *  self_attn/{q,k,v,out} or self_attn/{qkv,out}, norm2, ff/{inner,gate,outer}; decoder/layer0/...
 *  with cross_attn and norm3 besides; encoder/norm and decoder/norm for pre_norm; encoder/positions
 *  and decoder/positions for learned ones.  Matrices are drawn by Xavier's rule, embeddings from
 *  N(0, 1/d). */
WG_API wg_transformer(wg_transformer_begin)(const char *at, wg_graph *g,
                                            const wg_transformer_config *config, bool training);
#define wg_transformer_begin(...) wg_transformer_begin(WG_HERE, __VA_ARGS__)

/** source [B, S], lengths [B] (of which the first lengths[b] tokens count): memory [B, S, d].  An
 * error if S is more than
 *  max_positions and positions are learned. */
WG_API wg_value *(wg_transformer_encode)(const char *at, wg_transformer *m, wg_value *source,
                                         wg_value *lengths);
#define wg_transformer_encode(...) wg_transformer_encode(WG_HERE, __VA_ARGS__)
/** target_in [B, T] (begin-of-sentence first), memory [B, S, d] and its lengths: states [B, T, d],
 * causal.  An error as
 *  above. */
WG_API wg_value *(wg_transformer_decode)(const char *at, wg_transformer *m, wg_value *target_in,
                                         wg_value *memory, wg_value *source_lengths);
#define wg_transformer_decode(...) wg_transformer_decode(WG_HERE, __VA_ARGS__)
/** states [..., d]: logits [..., V]. */
WG_API wg_value *wg_transformer_logits(wg_transformer *m, wg_value *states);

/** A batch as inputs of the graph, all i32. */
typedef struct wg_transformer_inputs {
    wg_value *source;         /* "source" [B, S]                                                */
    wg_value *source_lengths; /* "source_lengths" [B]                                           */
    wg_value *target_in;      /* "target_in" [B, T]: begin-of-sentence, y_1, y_2, ...           */
    wg_value *target_out; /* "target_out" [B, T]: y_1, ..., end-of-sentence, then WG_NO_TARGET */
} wg_transformer_inputs;
enum { WG_NO_TARGET = -1 };

WG_API wg_transformer_inputs wg_transformer_inputs_of(wg_graph *g, int64_t rows,
                                                      int64_t source_length, int64_t target_length);

/** The label-smoothed cross entropy of the whole model, summed over the targets that count and
 * divided by
 *  `normaliser` (a float scalar; NULL: by their number): a scalar of the model's dtype. */
WG_API wg_value *wg_transformer_loss(wg_transformer *m, const wg_transformer_inputs *in,
                                     wg_value *normaliser);

#ifdef __cplusplus
}
#endif
#endif
