/* The sizes that plans are made for: rounded up, so that one plan serves several batches. */
#ifndef WG_PRIVATE_DECODE_SIZES_H
#define WG_PRIVATE_DECODE_SIZES_H

#include "wengert/models/transformer.h"

/* Rows of a step, at least.  Products of fewer rows may add up in another order than those of more
 * (backends/simd/kernels/product.c), and what a sentence gets must not depend on how many others
 * are translated with it.  (For some models, fewer do: wgi_decode_context.) */
enum { WGI_LEAST_ROWS = 8 };

static inline int64_t wgi_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The smallest of min, 2 min, 4 min, ... that is at least n. */
static inline int64_t wgi_round_up_doubling(int64_t n, int64_t min)
{
    int64_t up = min;
    while (up < n)
        up *= 2;
    return up;
}

/* A rounded-up length, limited to the learned positions. */
static inline int64_t wgi_limit_length(const wg_transformer_config *c, int64_t n, int64_t rounded)
{
    bool limited = c->positions == WG_POSITIONS_LEARNED && n <= c->max_positions;
    return limited && rounded > c->max_positions ? c->max_positions : rounded;
}

/* The tokens from ... to - 1. */
typedef struct wgi_seen {
    int64_t from, to;
} wgi_seen;

/* Those that self-attention at token t of n sees. */
static inline wgi_seen wgi_seen_tokens(const wg_transformer_config *c, int64_t t, int64_t n)
{
    int64_t r = c->attention_window;
    wgi_seen all = {0, n}, near = {t > r ? t - r : 0, t + r + 1 < n ? t + r + 1 : n};
    return r ? near : all;
}

/* n tokens rounded up to a multiple of 8. */
static inline int64_t wgi_round_up_length(const wg_transformer_config *c, int64_t n)
{
    enum { STRIDE = 8 };
    return wgi_limit_length(c, n, (n + STRIDE - 1) / STRIDE * STRIDE);
}

#endif
