/* Layers: functions that create parameters and build a few nodes.  Each opens the scope `name`, in
 * which its parameters are named ("hidden1/weight"), takes its sizes and its dtype from x, and,
 * like every builder, accepts NULL and then returns NULL.  Errors name the line of the layer's
 * caller.
 *
 * Three marks of a scope change where parameters come from: wg_scope_reuse (two calls under one
 * name have one set of weights), wg_scope_average (moving averages take the place of parameters)
 * and wg_scope_parameter_dtype (parameters in f32 with activations in bf16).  docs/layers.md has
 * an example of each layer. */
#ifndef WG_MODELS_LAYERS_H
#define WG_MODELS_LAYERS_H

#include "wengert/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y[..., features] = activation(x[..., in] W' + b).  Parameters: weight [features, in] by Xavier's
 * rule, bias [features], zero. */
WG_API wg_value *(wg_dense)(const char *at, const char *name, wg_value *x, int64_t features,
                            wg_activation activation);
#define wg_dense(...) wg_dense(WG_HERE, __VA_ARGS__)

/** Options of wg_dense_with.  Zero means the default in every field. */
typedef struct wg_dense_options {
    wg_activation activation; /**< of the result; default: none */
    bool no_bias;             /**< y = activation(x W') */
    double gain;              /**< of Xavier's rule; 0: 1 */
    wg_init init;             /**< of weight; {0}: Xavier's rule, as for those below */
} wg_dense_options;

/** wg_dense with options, which may be NULL. */
WG_API wg_value *(wg_dense_with)(const char *at, const char *name, wg_value *x, int64_t features,
                                 const wg_dense_options *options);
#define wg_dense_with(...) wg_dense_with(WG_HERE, __VA_ARGS__)

/** Layer normalisation over the last axis, eps = 1e-5.  Parameters: gain [d], one, and bias [d],
 * zero. */
WG_API wg_value *(wg_layernorm_layer)(const char *at, const char *name, wg_value *x);
#define wg_layernorm_layer(...) wg_layernorm_layer(WG_HERE, __VA_ARGS__)

/** Kinds of normalisation over the last axis. */
typedef enum wg_norm_kind {
    WG_LAYERNORM = 0, /**< wg_layernorm: gain and bias */
    WG_RMSNORM        /**< wg_rmsnorm: gain */
} wg_norm_kind;

/** Normalisation of either kind over the last axis, parameters as above. */
WG_API wg_value *(wg_norm_layer)(const char *at, const char *name, wg_value *x, wg_norm_kind kind,
                                 double eps);
#define wg_norm_layer(...) wg_norm_layer(WG_HERE, __VA_ARGS__)

/** Group normalisation of x [N, C, ...]: the channels of an example in `groups` equal parts, each
 * normalised over its channels and positions (Wu, He 2018).  groups = C is instance normalisation.
 * `eps` is added to the variance; 0: 1e-5.  Parameters: gain [C], one, and bias [C], zero. */
WG_API wg_value *(wg_groupnorm_layer)(const char *at, const char *name, wg_value *x, int64_t groups,
                                      double eps);
#define wg_groupnorm_layer(...) wg_groupnorm_layer(WG_HERE, __VA_ARGS__)

/** Options of wg_batchnorm_layer.  Zero means the default in every field. */
typedef struct wg_batchnorm_options {
    double momentum; /**< share of a batch in the running statistics; 0: 0.1 */
    double eps;      /**< added to the variance; 0: 1e-5 */
} wg_batchnorm_options;

/** Batch normalisation of x [N, C, ...] over all axes but the second (Ioffe, Szegedy 2015).  With
 * `training`, by mean and variance of the batch, which a run also records in the states
 * running_mean [C], zero, and running_var [C], one; otherwise by these states.  Parameters: gain
 * [C], one, and bias [C], zero.  A graph for training and one for evaluation, planned with one
 * store, share all four.  Where the layer is called again under one name (wg_scope_reuse), the
 * batch of the first call is the one recorded.  `options` may be NULL. */
WG_API wg_value *(wg_batchnorm_layer)(const char *at, const char *name, wg_value *x, bool training,
                                      const wg_batchnorm_options *options);
#define wg_batchnorm_layer(...) wg_batchnorm_layer(WG_HERE, __VA_ARGS__)

/** How attention compares queries with keys. */
typedef enum wg_attention_kind {
    WG_ATTENTION_DOT = 0, /**< softmax(q k' / sqrt(d_k)) v */
    /** softmax(w . tanh(q + k)) v with a vector w per head: parameter score [heads, d_k]. */
    WG_ATTENTION_ADDITIVE,
    WG_ATTENTION_UNSCALED /**< softmax(q k') v */
} wg_attention_kind;

/** Options of attention.  Zero means the default in every field. */
typedef struct wg_multi_head_options {
    int64_t heads;     /**< of queries; 0: 1 */
    int64_t key_heads; /**< of keys and values, a divisor of heads; 0: heads */
    int64_t d_k;       /**< width of a head's queries and keys; 0: d / heads, a whole number */
    int64_t d_v;       /**< width of a head's values; 0: d / heads, a whole number */
    bool causal;       /**< query t sees the keys 0..t */
    bool window;       /**< query t sees the keys t - left .. t + right */
    int64_t left;      /**< with `window`: how many keys before its own a query sees */
    int64_t right;     /**< with `window`: how many keys after it */
    wg_value *bias;    /**< of the scores, or a mask of bools: wg_biased_attention; NULL: none */
    wg_value *lengths; /**< [B] i32 or i64: the first lengths[b] keys count; NULL: all */
    double dropout;    /**< probability with which an attention weight becomes 0 */
    wg_attention_kind kind; /**< how queries are compared with keys */
    bool no_bias;           /**< of the dense layers */
    double gain;            /**< of Xavier's rule for q, k and v; 0: 1 */
    bool fused;             /**< one dense layer qkv for q, k and v; self-attention only */
    bool rotary;            /**< queries and keys are rotated by their positions (wg_rotary) */
    int64_t first_position; /**< of t = 0 and s = 0, for `rotary` */
    wg_value *positions;    /**< [B] i32 or i64, added to first_position; NULL: 0 */
    /** [B, L] i32 or i64, with T = 1 (wg_paged_attention): keys and values are pools
     * [N, 1, key_heads d_k] and [N, 1, key_heads d_v], of which query b sees those at
     * slots[b, 0 .. lengths[b]); all slots must be in [0, N). */
    wg_value *slots;
} wg_multi_head_options;

/** Multi-head attention (Vaswani et al. 2017, section 3.2.2): queries from x [B, T, d], keys and
 * values from memory [B, S, d] (x itself for self-attention); y [B, T, d].  Dense layers q of heads
 * d_k features, k of key_heads d_k, v of key_heads d_v, and out of d.  Fewer heads of keys than of
 * queries are grouped-query attention (Ainslie et al. 2023), one is multi-query attention.
 * `options` may be NULL. */
WG_API wg_value *(wg_multi_head_attention)(const char *at, const char *name, wg_value *x,
                                           wg_value *memory, const wg_multi_head_options *options);
#define wg_multi_head_attention(...) wg_multi_head_attention(WG_HERE, __VA_ARGS__)

/* The two halves of multi-head attention, without a scope of their own, for a caller that stores
 * keys and values between them (an incremental decoder). */

/** Queries, keys and values of all heads. */
typedef struct wg_projections {
    wg_value *q;      /**< [B, T, heads d_k], rotated if `rotary` */
    wg_value *k;      /**< [B, S, key_heads d_k], rotated if `rotary` */
    wg_value *v;      /**< [B, S, key_heads d_v] */
    int64_t features; /**< d of y; 0: that of q */
} wg_projections;

/** q = x Wq' + bq, k = memory Wk' + bk, v = memory Wv' + bv.  Without x there is no q, without
 * memory no k and v. */
WG_API wg_projections(wg_attention_projections)(const char *at, wg_value *x, wg_value *memory,
                                                const wg_multi_head_options *options);
#define wg_attention_projections(...) wg_attention_projections(WG_HERE, __VA_ARGS__)

/** Concat(head_1, ..., head_h) Wo' + bo with head_i = Attention(q_i, k_i, v_i): y [B, T,
 * features]. */
WG_API wg_value *(wg_attention_heads)(const char *at, wg_projections p,
                                      const wg_multi_head_options *options);
#define wg_attention_heads(...) wg_attention_heads(WG_HERE, __VA_ARGS__)

/** Options of wg_feed_forward.  Zero means the default in every field. */
typedef struct wg_feed_forward_options {
    wg_activation activation; /**< act; 0: relu */
    /** W2 (act(W1 x + b1) * (W3 x + b3)) + b2: dense layer gate is W3 (Shazeer 2020). */
    bool gated;
    double dropout; /**< of the inner values */
    bool no_bias;   /**< of the dense layers */
} wg_feed_forward_options;

/** W2 relu(W1 x + b1) + b2 at every position of x [..., d]; dense layers inner (of `features`) and
 * outer.  `options` may be NULL. */
WG_API wg_value *(wg_feed_forward)(const char *at, const char *name, wg_value *x, int64_t features,
                                   const wg_feed_forward_options *options);
#define wg_feed_forward(...) wg_feed_forward(WG_HERE, __VA_ARGS__)

/** conv2d(x [N, C, H, W]) + b.  Parameters: weight [features, C/groups, kernel, kernel], uniform
 * within 1 / sqrt(fan in), and bias [features], zero.  `options` may be NULL. */
WG_API wg_value *(wg_conv_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                                 int64_t kernel, const wg_conv2d_options *options);
#define wg_conv_layer(...) wg_conv_layer(WG_HERE, __VA_ARGS__)

/** Options of wg_conv2d_layer.  Zero means the default in every field. */
typedef struct wg_conv2d_layer_options {
    wg_conv2d_options conv; /**< stride, padding, dilation, groups */
    int64_t kernel_w;       /**< width of the kernel; 0: its height */
    bool no_bias;           /**< only conv2d(x), as before a norm */
    wg_init init;           /**< of weight; {0}: uniform within 1 / sqrt(fan in) */
} wg_conv2d_layer_options;

/** wg_conv_layer with options: weight [features, C/groups, kernel, kernel_w].  `options` may be
 * NULL. */
WG_API wg_value *(wg_conv2d_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                                   int64_t kernel, const wg_conv2d_layer_options *options);
#define wg_conv2d_layer(...) wg_conv2d_layer(WG_HERE, __VA_ARGS__)

/** Options of wg_conv1d_layer.  Zero means the default in every field. */
typedef struct wg_conv1d_layer_options {
    wg_conv1d_options conv; /**< stride, padding, dilation, groups */
    bool no_bias;           /**< only conv1d(x) */
    wg_init init;           /**< of weight; {0}: uniform within 1 / sqrt(fan in) */
} wg_conv1d_layer_options;

/** conv1d(x [N, C, L]) + b.  Parameters: weight [features, C/groups, kernel] and bias [features],
 * zero.  `options` may be NULL. */
WG_API wg_value *(wg_conv1d_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                                   int64_t kernel, const wg_conv1d_layer_options *options);
#define wg_conv1d_layer(...) wg_conv1d_layer(WG_HERE, __VA_ARGS__)

/** Options of wg_conv3d_layer.  Zero means the default in every field. */
typedef struct wg_conv3d_layer_options {
    wg_conv3d_options conv; /**< stride, padding, dilation, groups */
    bool no_bias;           /**< only conv3d(x) */
    wg_init init;           /**< of weight; {0}: uniform within 1 / sqrt(fan in) */
} wg_conv3d_layer_options;

/** conv3d(x [N, C, D, H, W]) + b.  Parameters: weight [features, C/groups, kernel, kernel, kernel]
 * and bias [features], zero.  `options` may be NULL. */
WG_API wg_value *(wg_conv3d_layer)(const char *at, const char *name, wg_value *x, int64_t features,
                                   int64_t kernel, const wg_conv3d_layer_options *options);
#define wg_conv3d_layer(...) wg_conv3d_layer(WG_HERE, __VA_ARGS__)

/** conv_transpose2d(x [N, C, H, W]) + b, which is larger than x with a stride: kernel 4, stride 2
 * and padding 1 double it.  Parameters: weight [C, features/groups, kernel, kernel_w], by default
 * uniform within 1 / sqrt(features/groups kernel kernel_w), and bias [features], zero.  `options`,
 * with output_padding, may be NULL. */
WG_API wg_value *(wg_conv_transpose2d_layer)(const char *at, const char *name, wg_value *x,
                                             int64_t features, int64_t kernel,
                                             const wg_conv2d_layer_options *options);
#define wg_conv_transpose2d_layer(...) wg_conv_transpose2d_layer(WG_HERE, __VA_ARGS__)
/** The same for x [N, C, L]: weight [C, features/groups, kernel]. */
WG_API wg_value *(wg_conv_transpose1d_layer)(const char *at, const char *name, wg_value *x,
                                             int64_t features, int64_t kernel,
                                             const wg_conv1d_layer_options *options);
#define wg_conv_transpose1d_layer(...) wg_conv_transpose1d_layer(WG_HERE, __VA_ARGS__)
/** The same for x [N, C, D, H, W]: weight [C, features/groups, kernel, kernel, kernel]. */
WG_API wg_value *(wg_conv_transpose3d_layer)(const char *at, const char *name, wg_value *x,
                                             int64_t features, int64_t kernel,
                                             const wg_conv3d_layer_options *options);
#define wg_conv_transpose3d_layer(...) wg_conv_transpose3d_layer(WG_HERE, __VA_ARGS__)

/** Row ids[...] of a table [rows, features], drawn from N(0, 1/features): y [..., features] of
 * `dtype`; ids i32 or i64 in [0, rows).  Parameter: weight. */
WG_API wg_value *(wg_embedding_layer)(const char *at, const char *name, wg_value *ids, int64_t rows,
                                      int64_t features, wg_dtype dtype);
#define wg_embedding_layer(...) wg_embedding_layer(WG_HERE, __VA_ARGS__)

/** LSTM over time: y [B, T, features] from x [B, T, d], from zero states.  Parameters: wi [4
 * features, d], wh [4 features, features], uniform within 1 / sqrt(features), and bi [4 features],
 * zero. */
WG_API wg_value *(wg_lstm_layer)(const char *at, const char *name, wg_value *x, int64_t features);
#define wg_lstm_layer(...) wg_lstm_layer(WG_HERE, __VA_ARGS__)

/* ---- recurrent layers ------------------------------------------------------------------------ */

/** The cells of wengert/ops/recurrent.h. */
typedef enum wg_recurrent_kind {
    WG_RNN,  /**< h' = tanh(wi x + wh h + bi) */
    WG_LSTM, /**< gates i, f, g, o */
    WG_GRU   /**< gates r, z, n */
} wg_recurrent_kind;

/** In which direction a recurrent layer reads its sequences. */
typedef enum wg_recurrent_direction {
    WG_READ_FORWARD = 0, /**< from the first step to the last */
    WG_READ_BACKWARD,    /**< from the last step to the first */
    WG_READ_BOTH         /**< both, side by side in y */
} wg_recurrent_direction;

/** Options of wg_recurrent_layer.  Zero means the default in every field. */
typedef struct wg_recurrent_layer_options {
    wg_recurrent_direction direction; /**< default: forward */
    int64_t layers;                   /**< on top of each other; 0: 1 */
    double dropout;                   /**< of what goes from layer to layer */
    /** [B] i32 or i64: sequence b has the steps t < lengths[b]; a backward direction begins at the
     * last of them, and y is 0 after it.  NULL: all steps. */
    wg_value *lengths;
    wg_value *h;     /**< first states [layers directions, B, features]; NULL: zeros */
    wg_value *c;     /**< only LSTM: first cell states of that shape; NULL: zeros */
    bool relu;       /**< only RNN: relu instead of tanh */
    bool no_bias;    /**< without bi and bh */
    wg_init init;    /**< of wi and wh; {0}: uniform within 1 / sqrt(features) */
    wg_init wh_init; /**< of wh; {0}: as wi */
} wg_recurrent_layer_options;

/** What a recurrent layer gives. */
typedef struct wg_recurrence {
    wg_value *y; /**< [B, T, directions features]: h of each step of the last layer */
    wg_value *h; /**< [layers directions, B, features]: after the last step of each sequence */
    wg_value *c; /**< only LSTM: cell states of that shape; else NULL */
} wg_recurrence;

/** A stack of recurrent layers over x [B, T, d].  States are in the order of layers, and in a layer
 * of directions.  Parameters of G gates (1, 4 or 3): wi [G features, d], wh [G features, features]
 * and bi [G features], zero; for a GRU also bh [G features], zero.  Their names are preceded by
 * "layer0/", "layer1/", ... if there are several layers, and by "forward/" or "backward/" if both
 * directions are read.  `options` may be NULL. */
WG_API wg_recurrence(wg_recurrent_layer)(const char *at, const char *name, wg_recurrent_kind kind,
                                         wg_value *x, int64_t features,
                                         const wg_recurrent_layer_options *options);
#define wg_recurrent_layer(...) wg_recurrent_layer(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
