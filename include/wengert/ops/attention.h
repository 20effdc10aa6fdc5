/* Attention: means of values, weighted by the similarity of a query and the keys; and rotary
 * positions.
 *
 * Shapes: B batch, H heads of queries, Hk heads of keys and values (Hk divides H; head h reads key
 * head h / (H / Hk)), T queries, S keys, d and dv the widths of a head.  A key that a query must
 * not see has weight exactly 0, and a query that sees no key gets zeros.  Keys and values past
 * `lengths` never affect the result, even if they are NaN.  Those that `causal` or `window` hides
 * must be finite, and do not affect it either.  A length below 0 or above the number of keys ends
 * the run with WG_EDATA. */
#ifndef WG_OPS_ATTENTION_H
#define WG_OPS_ATTENTION_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Attributes of attention.  Zero means the default in every field. */
typedef struct wg_attention_attrs {
    bool causal; /**< query t sees the keys s <= t + causal_offset */
    /** 0: aligned at the first key, as is_causal of PyTorch; S - T: aligned at the last. */
    int64_t causal_offset;
    double scale;   /**< of q.k; 0: 1 / sqrt(d) */
    double dropout; /**< probability p that a weight becomes 0; others are divided by 1 - p */
    int64_t key;    /**< of the dropout mask; 0: a new one */
    /** Query t sees the keys from t + causal_offset - left to t + causal_offset + right only. */
    bool window;
    int64_t left;  /**< with `window`: 0 or more keys before the query's own */
    int64_t right; /**< with `window`: 0 or more keys after it; `causal` hides them */
} wg_attention_attrs;

/** y = dropout(softmax(scale q k' + mask)) v.  q [B,H,T,d], k [B,Hk,S,d], v [B,Hk,S,dv] of one
 * float dtype; lengths [B] i32 or i64 (the first lengths[b] keys count) or NULL; y [B,H,T,dv].
 * `options` may be NULL.  Vaswani et al. 2017, eq. 1. */
WG_API wg_value *(wg_attention)(const char *at, wg_value *q, wg_value *k, wg_value *v,
                                wg_value *lengths, const wg_attention_attrs *options);
#define wg_attention(...) wg_attention(WG_HERE, __VA_ARGS__)

/** The same with a bias of the scores: softmax(scale q k' + bias + mask).  Each of the four axes of
 * bias is that of [B,H,T,S] or 1.  A bias of q's dtype has a gradient; one of bools stands for 0
 * where it is true and for -infinity where it is false, so that only keys where it is true are
 * seen.  NULL: no bias. */
WG_API wg_value *(wg_biased_attention)(const char *at, wg_value *q, wg_value *k, wg_value *v,
                                       wg_value *bias, wg_value *lengths,
                                       const wg_attention_attrs *options);
#define wg_biased_attention(...) wg_biased_attention(WG_HERE, __VA_ARGS__)

/** Only the weights, [B,H,T,S]: softmax(scale q k' + mask), before dropout. */
WG_API wg_value *(wg_attention_weights)(const char *at, wg_value *q, wg_value *k, wg_value *lengths,
                                        const wg_attention_attrs *options);
#define wg_attention_weights(...) wg_attention_weights(WG_HERE, __VA_ARGS__)

/** The weights of wg_biased_attention. */
WG_API wg_value *(wg_biased_attention_weights)(const char *at, wg_value *q, wg_value *k,
                                               wg_value *bias, wg_value *lengths,
                                               const wg_attention_attrs *options);
#define wg_biased_attention_weights(...) wg_biased_attention_weights(WG_HERE, __VA_ARGS__)

/** Keys relative to a query: t sees those of [t + first, t + last]. */
typedef struct wg_key_span {
    int64_t first; /**< less than -2^32 if nothing hides the keys before */
    int64_t last;  /**< more than 2^32 if nothing hides the keys after */
} wg_key_span;

/** What `causal` and `window` let a query see, for kernels of attention. */
WG_API wg_key_span wg_attention_span(const wg_attention_attrs *attrs);

/** Attributes of additive_attention.  Zero means the default in every field. */
typedef struct wg_additive_attrs {
    bool causal;           /**< query t sees the keys s <= t + causal_offset */
    int64_t causal_offset; /**< as in wg_attention_attrs */
    double dropout;        /**< of the weights, as in wg_attention_attrs */
    int64_t key;           /**< of the dropout mask; 0: a new one */
} wg_additive_attrs;

/** y = dropout(softmax over s of (w . tanh(q_t + k_s))) v.  q [B,T,d], k [B,S,d], w [d],
 * v [B,S,dv], y [B,T,dv]; or with heads: q [B,H,T,d], k [B,H,S,d], w [H,d], v [B,H,S,dv], y
 * [B,H,T,dv]; lengths as above.  `options` may be NULL.  Bahdanau, Cho, Bengio 2014 (q and k
 * already multiplied by their matrices). */
WG_API wg_value *(wg_additive_attention)(const char *at, wg_value *q, wg_value *k, wg_value *w,
                                         wg_value *v, wg_value *lengths,
                                         const wg_additive_attrs *options);
#define wg_additive_attention(...) wg_additive_attention(WG_HERE, __VA_ARGS__)

/* ---- paged attention ------------------------------------------------------------------------- */

/** Attributes of paged_attention. */
typedef struct wg_paged_attention_attrs {
    double scale; /**< of q.k; 0: 1 / sqrt(d) */
} wg_paged_attention_attrs;

/** Attention of query r over the keys and values at slots[r, 0], ..., slots[r, lengths[r] - 1] of a
 * pool: q [R,H,d], k [N,Hk,d], v [N,Hk,dv] of one float dtype; slots [R,L] and lengths [R] i32 or
 * i64; scale 0: 1 / sqrt(d); y [R,H,dv].  A length outside [0, L], or a slot that is read and not
 * in [0, N), ends the run with WG_EDATA; slots past the lengths may hold anything. */
WG_API wg_value *(wg_paged_attention)(const char *at, wg_value *q, wg_value *k, wg_value *v,
                                      wg_value *slots, wg_value *lengths, double scale);
#define wg_paged_attention(...) wg_paged_attention(WG_HERE, __VA_ARGS__)

/* ---- rotary positions ------------------------------------------------------------------------ */

/** Which two of the d elements are rotated together. */
typedef enum wg_rotary_pairs {
    WG_ROTARY_INTERLEAVED = 0, /**< 2i and 2i + 1 */
    WG_ROTARY_HALVES           /**< i and i + d / 2 */
} wg_rotary_pairs;

/** Attributes of rotary.  Zero means the default in every field. */
typedef struct wg_rotary_attrs {
    double base;           /**< 0: 10000 */
    int64_t first;         /**< the position of t = 0 */
    wg_rotary_pairs pairs; /**< which elements are rotated together */
    bool inverse;          /**< rotates by the negative angle */
} wg_rotary_attrs;

/** Rotates pair i of x[..., t, :] by the angle (first + t) base^(-2 i / d); x [..., T, d] float, d
 * even.  The product of a rotated query and a rotated key depends only on the difference of their
 * positions.  Su et al. 2021. */
WG_API wg_value *(wg_rotary)(const char *at, wg_value *x, const wg_rotary_attrs *options);
#define wg_rotary(...) wg_rotary(WG_HERE, __VA_ARGS__)

/** The same with positions that are data: x[b, ..., t, :] is at first + positions[b] + t; positions
 * [B] i32 or i64, x [B, ..., T, d]. */
WG_API wg_value *(wg_rotary_at)(const char *at, wg_value *x, wg_value *positions,
                                const wg_rotary_attrs *options);
#define wg_rotary_at(...) wg_rotary_at(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
