/* Positions: how a model learns the order of its tokens. */
#ifndef WG_MODELS_POSITIONS_H
#define WG_MODELS_POSITIONS_H

#include "wengert/models/layers.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How positions enter a model.  PE(p, i) is added to element i of d of the embedding at position
 * p. */
typedef enum wg_positions {
    /** PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(the same): the paper. */
    WG_POSITIONS_INTERLEAVED = 0,
    /** Sines, then cosines, of p / 10000^(i / (d/2 - 1)): tensor2tensor, fairseq, Marian. */
    WG_POSITIONS_HALVES,
    WG_POSITIONS_LEARNED, /**< a table of max_positions rows */
    WG_POSITIONS_ROTARY,  /**< q and k are rotated and nothing is added (Su et al. 2021) */
    /** Sines, then cosines, of p / 10000^(2i/d): the paper's numbers in another order, as in
     * Hugging Face's Marian. */
    WG_POSITIONS_PAPER_HALVES
} wg_positions;

/** True if positions are sines and cosines. */
WG_API bool wg_positions_are_sinusoids(wg_positions kind);

/** PE(position, i) for d elements; `kind` is of sines and cosines, d is even. */
WG_API double wg_sinusoid(wg_positions kind, int64_t position, int64_t i, int64_t d);

/** PE of the positions first, first + 1, ...: a constant [rows, d] of f32 or f64; `kind` is of
 * sines and cosines, d is even. */
WG_API wg_value *(wg_sinusoids)(const char *at, wg_graph *g, wg_positions kind, wg_dtype dtype,
                                int64_t rows, int64_t d, int64_t first);
#define wg_sinusoids(...) wg_sinusoids(WG_HERE, __VA_ARGS__)

/** Rows first + from, ..., first + from + rows - 1 of a learned table [first + max, d], drawn from
 * N(0, 1/d), whose row `first` belongs to the first token: [rows, d].  An error if from + rows >
 * max.  Parameter: weight. */
WG_API wg_value *(wg_learned_positions)(const char *at, const char *name, wg_graph *g,
                                        wg_dtype dtype, int64_t from, int64_t rows, int64_t d,
                                        int64_t first, int64_t max);
#define wg_learned_positions(...) wg_learned_positions(WG_HERE, __VA_ARGS__)

/* Biases of attention (wg_biased_attention) for T queries and S keys: [1, heads, T, S]. */

/** -m_h |t - s|, a constant, so that keys count less the further they are (Press, Smith, Lewis
 * 2022).  m_h = 2^(-8 (h + 1) / heads) if `heads` is a power of two; otherwise the first slopes are
 * those of the next lower one, and the rest every second slope of the next higher one. */
WG_API wg_value *(wg_alibi)(const char *at, wg_graph *g, wg_dtype dtype, int64_t heads, int64_t T,
                            int64_t S);
#define wg_alibi(...) wg_alibi(WG_HERE, __VA_ARGS__)

/** A learned number for each head and distance: weight[h, r + radius] with r = s - t, cut to
 * [-radius, radius].  Parameter: weight [heads, 2 radius + 1], zero. */
WG_API wg_value *(wg_relative_bias)(const char *at, const char *name, wg_graph *g, wg_dtype dtype,
                                    int64_t heads, int64_t T, int64_t S, int64_t radius);
#define wg_relative_bias(...) wg_relative_bias(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
