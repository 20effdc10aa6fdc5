/* The Transformer of "Attention Is All You Need" (Vaswani et al. 2017): encoder and decoder stacks
 * over tokens, with the variants that other systems use as options, so that their weights and
 * results carry over.
 *
 *     wg_transformer m = wg_transformer_begin(g, config, WG_MODE_TRAINING);
 *     wg_value *memory = wg_transformer_encode(&m, source, source_lengths);
 *     wg_value *states = wg_transformer_decode(&m, target_in, memory, source_lengths);
 *     wg_value *logits = wg_transformer_logits(&m, states);
 *
 * With encoder_layers = 0 the decoder stands alone and is a language model: it has no attention to
 * a memory, and what it predicts depends on the tokens before only.
 *
 *     wg_value *states = wg_transformer_decode(&m, target_in, NULL, NULL);
 *
 * Shapes: B sentences, S source and T target positions, d = d_model, V target tokens.  Ids are i32
 * or i64.  Sentences are padded at the end; padding does not affect any position that counts. */
#ifndef WG_MODELS_TRANSFORMER_H
#define WG_MODELS_TRANSFORMER_H

#include "wengert/graph/error.h"
#include "wengert/models/positions.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which of the embeddings and the output projection share one matrix. */
typedef enum wg_tying {
    WG_TIED_ALL = 0, /**< source embedding, target embedding and logits (section 3.4) */
    WG_TIED_OUTPUT,  /**< target embedding and logits */
    WG_UNTIED        /**< none */
} wg_tying;

/** Whether each stack ends with a norm of its own. */
typedef enum wg_final_norm {
    WG_FINAL_NORM_PRE = 0, /**< if it is pre-norm, as in fairseq */
    WG_FINAL_NORM_ALWAYS,  /**< as in torch.nn.Transformer */
    WG_FINAL_NORM_NEVER    /**< also not if it is pre-norm */
} wg_final_norm;

/** What a model is built for. */
typedef enum wg_mode {
    WG_MODE_INFERENCE = 0, /**< no dropout */
    WG_MODE_TRAINING       /**< dropout as configured */
} wg_mode;

/** Sizes and options of a model.  Fields have no defaults: start from wg_transformer_find and
 * change fields. */
typedef struct wg_transformer_config {
    const char *name; /**< of the named configuration it came from */
    /** Tokens; equal to target_vocabulary under WG_TIED_ALL, not used without an encoder. */
    int64_t source_vocabulary;
    int64_t target_vocabulary; /**< tokens */
    int64_t d_model;           /**< size of a state, d */
    int64_t d_ff;              /**< inner size of the feed-forward layers */
    int64_t heads;             /**< attention heads of a layer */
    int64_t encoder_layers;    /**< layers of the encoder; 0: none, a language model */
    int64_t decoder_layers;    /**< layers of the decoder */
    int64_t d_k;               /**< width of a head's keys; 0: d_model / heads, a whole number */
    int64_t d_v;               /**< width of a head's values; 0: d_model / heads, a whole number */
    int64_t max_positions;     /**< longest sentence in tokens; limits learned positions only */
    int64_t first_position;    /**< 0 (paper), 1 (CTranslate2), padding id + 1 (fairseq) */
    wg_positions positions;    /**< how positions enter the model */
    wg_norm_kind norm;         /**< of every sublayer */
    bool pre_norm;             /**< x + f(norm(x)); else norm(x + f(x)) */
    wg_final_norm final_norm;  /**< which models have a norm at the end of each stack */
    double norm_eps;           /**< added to variances */
    wg_attention_kind attention; /**< how queries are compared with keys */
    /** Self-attention sees so many positions before its own and, in the encoder, as many after it
     * (restricted attention, section 4); 0: all. */
    int64_t attention_window;
    bool attention_bias; /**< the projections q, k, v and out have a bias */
    /** q, k, v of self-attention are one matrix [3 d, d].  All q, k, v, also of cross-attention,
     * are then drawn within Xavier's bound for that shape, 1/sqrt 2 of their own, as in PyTorch and
     * fairseq. */
    bool fused_projections;
    wg_activation activation;      /**< of the feed-forward layers */
    bool gated;                    /**< feed-forward is W2 (act(W1 x) * W3 x) */
    wg_tying tying;                /**< shared matrices */
    bool unscaled_embeddings;      /**< E[ids] is not multiplied by sqrt(d) */
    bool output_bias;              /**< the logits have a bias */
    double label_smoothing;        /**< in the loss, in [0, 1) */
    wg_smoothing smoothing_spread; /**< which classes get the mass of label_smoothing */
    double dropout;                /**< after each sublayer and on embeddings plus positions */
    double attention_dropout;      /**< of attention weights */
    double activation_dropout;     /**< inside the feed-forward layers */
    wg_dtype dtype;                /**< f32, or f64 for checks */
} wg_transformer_config;

/** The i-th of the named configurations tiny, small, base and big; NULL past the end. */
WG_API const wg_transformer_config *wg_transformer_config_at(size_t i);
/** The configuration of that name, or NULL. */
WG_API const wg_transformer_config *wg_transformer_find(const char *name);

/** Checks that such a model can be built.  WG_EINVAL: it cannot, and the error begins with the name
 * of the field. */
WG_API WG_MUST_USE wg_status wg_transformer_check(const wg_transformer_config *config,
                                                  wg_error *error);

/** A model under construction in one graph: the values that its parts share. */
typedef struct wg_transformer {
    wg_graph *graph;              /**< of all parts; not owned */
    wg_transformer_config config; /**< as checked by wg_transformer_begin */
    wg_mode mode;                 /**< training or inference */
    wg_value *source_embedding;   /**< [source_vocabulary, d]; NULL without an encoder */
    wg_value *target_embedding;   /**< [V, d] */
    wg_value *output_weight;      /**< [V, d] */
    wg_value *output_bias;        /**< [V], or NULL */
    /** [B] lengths of the targets, or NULL.  They hide padded targets, which positions that count
     * do not see anyway; so they change only the numbers computed for padding. */
    wg_value *target_lengths;
} wg_transformer;

/** Begins the model in g.  An invalid configuration is an error of the graph.
 *
 * The parameters are embedding/weight, or source_embedding/weight, target_embedding/weight and
 * output/weight where they are not tied; output/bias; encoder/layer0/... with norm1,
 * self_attn/{q,k,v,out} or self_attn/{qkv,out}, norm2, ff/{inner,gate,outer}; decoder/layer0/...,
 * which also has cross_attn and norm3 if there is an encoder; encoder/norm and decoder/norm as
 * final_norm says; encoder/positions and decoder/positions for learned ones.  Without an encoder,
 * the embedding is embedding/weight whether it is tied to the output or not.  Matrices are drawn by
 * Xavier's rule, embeddings from N(0, 1/d). */
WG_API wg_transformer(wg_transformer_begin)(const char *at, wg_graph *g,
                                            const wg_transformer_config *config, wg_mode mode);
#define wg_transformer_begin(...) wg_transformer_begin(WG_HERE, __VA_ARGS__)

/** source [B, S], of which the first lengths[b] tokens count, lengths [B]: memory [B, S, d].  An
 * error if S is more than max_positions and positions are learned, and without an encoder. */
WG_API wg_value *(wg_transformer_encode)(const char *at, wg_transformer *m, wg_value *source,
                                         wg_value *lengths);
#define wg_transformer_encode(...) wg_transformer_encode(WG_HERE, __VA_ARGS__)
/** target_in [B, T] (begin-of-sentence first), memory [B, S, d] and its lengths: states [B, T, d],
 * causal.  Without an encoder, memory and its lengths are NULL.  An error if T is more than
 * max_positions and positions are learned. */
WG_API wg_value *(wg_transformer_decode)(const char *at, wg_transformer *m, wg_value *target_in,
                                         wg_value *memory, wg_value *source_lengths);
#define wg_transformer_decode(...) wg_transformer_decode(WG_HERE, __VA_ARGS__)
/** states [..., d]: logits [..., V]. */
WG_API wg_value *wg_transformer_logits(wg_transformer *m, wg_value *states);

/** A batch as inputs of the graph, all i32. */
typedef struct wg_transformer_inputs {
    wg_value *source;         /**< "source" [B, S]; NULL without an encoder */
    wg_value *source_lengths; /**< "source_lengths" [B]; NULL without an encoder */
    wg_value *target_in;      /**< "target_in" [B, T]: begin-of-sentence, y_1, y_2, ... */
    wg_value *target_out; /**< "target_out" [B, T]: y_1, ..., end-of-sentence, WG_NO_TARGET... */
} wg_transformer_inputs;

/** Marks a position of target_out without a target. */
enum { WG_NO_TARGET = -1 };

/** Adds the inputs of a batch to g: B = rows, S = source_length (0: without a source, for a model
 * without an encoder), T = target_length. */
WG_API wg_transformer_inputs wg_transformer_inputs_new(wg_graph *g, int64_t rows,
                                                       int64_t source_length,
                                                       int64_t target_length);

/** The whole model up to its logits, with or without an encoder: states [B, T, d] of a batch. */
WG_API wg_value *(wg_transformer_states)(const char *at, wg_transformer *m,
                                         const wg_transformer_inputs *in);
#define wg_transformer_states(...) wg_transformer_states(WG_HERE, __VA_ARGS__)

/** The label-smoothed cross entropy of the whole model, summed over the targets that count and
 * divided by `normaliser` (a float scalar; NULL: by their number): a scalar of the model's
 * dtype. */
WG_API wg_value *wg_transformer_loss(wg_transformer *m, const wg_transformer_inputs *in,
                                     wg_value *normaliser);

#ifdef __cplusplus
}
#endif
#endif
