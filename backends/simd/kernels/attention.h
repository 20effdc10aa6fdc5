/* Attention (attention.c) and attention to slots of keys and values (paged.c). */
#ifndef WG_BACKENDS_SIMD_KERNELS_ATTENTION_H
#define WG_BACKENDS_SIMD_KERNELS_ATTENTION_H

#include "backends/simd/kernels/elements.h"
#include "backends/simd/kernels/product.h"

#include <stdbool.h>
#include <stdint.h>

/* One operand of attention: element (b, h, t, i) lies at data[b batch + h head + t row + i]. */
typedef struct simd_heads {
    float *data;
    int64_t batch, head, row;
} simd_heads;

/* y = softmax(scale q k' + bias + mask) v for each batch and head; q is [T, d], k [S, d] and v
 * [S, dv].  groups query heads share one key-value head.  Query t sees those keys from t + first to
 * t + last that are before lengths[b].  Scratch: simd_attention_scratch floats a thread. */
typedef struct simd_attention {
    simd_heads q, k, v, y;     /* forward; backward reads q, k, v  */
    simd_heads dy, dq, dk, dv; /* backward: all of dq, dk, dv      */
    const int64_t *lengths64;  /* [batch] or NULL                  */
    const int32_t *lengths32;
    simd_heads bias;   /* of the scores, rows of keys; data NULL: none */
    int64_t bias_step; /* 1, or 0: one number for all keys             */
    simd_heads dbias;  /* attention_bias: like the bias                */
    int64_t batches, heads, groups, T, S, d, d_v;
    float scale;
    int64_t first, last;
    wgi_mask mask; /* of dropout on the weights, as a [batches, heads, T, S] tensor; keep 0: none */
    int threads;
    float *scratch;
    bool *failed; /* set if a product lacked memory: simd_gemm */
} simd_attention;

/* Rows of q in a tile: the tile's scores [rows, keys] stay in the cache. */
static inline int64_t simd_attention_rows(int64_t T, int64_t S)
{
    int64_t keys = S > 0 ? S : 1, rows = (1 << 15) / keys; /* 128 KiB of scores */
    if (rows < 64)
        rows = (1 << 16) / keys < 64 ? (1 << 16) / keys
                                     : 64; /* long rows: twice that, as thin products are slow */
    rows = rows < 32 ? 32 : rows > 256 ? 256 : rows / 16 * 16;
    return rows < T ? rows : T;
}

/* A tile has `rows` rows, which see at most `keys` keys together: of S keys, a row sees at most
 * `span`, and each further row of a window one more. */
typedef struct simd_tile {
    int64_t rows, keys;
} simd_tile;

enum { SIMD_WINDOW_ROWS = 64 }; /* about as many rows of a window are a tile */
static inline simd_tile simd_attention_tile(int64_t T, int64_t S, int64_t span)
{
    bool narrow = span < S - SIMD_WINDOW_ROWS;
    int64_t rows = simd_attention_rows(T, narrow ? span + SIMD_WINDOW_ROWS : S);
    int64_t keys = narrow && span + rows - 1 < S ? span + rows - 1 : S;
    simd_tile tile = {rows, keys};
    return tile;
}

/* From one row of a tile's scores to the next: whole vectors. */
static inline int64_t simd_attention_ld(simd_tile tile)
{
    return (tile.keys + 15) / 16 * 16;
}

/* Of one thread: the weights of a tile, their cotangents, and the mask's numbers, of 16 bits. */
static inline int64_t simd_attention_room(simd_tile tile)
{
    return 2 * tile.rows * simd_attention_ld(tile) +
           (tile.rows * tile.keys + SIMD_MASK_ROOM + 31) / 32 * 16;
}

/* The same and what its products need. */
static inline int64_t simd_attention_scratch(int64_t T, int64_t S, int64_t span, int64_t d,
                                             int64_t d_v)
{
    simd_tile tile = simd_attention_tile(T, S, span);
    int64_t width = d > d_v ? d : d_v;
    int64_t scores = simd_gemm_scratch(tile.rows, tile.keys, width),
            sums = simd_gemm_scratch(tile.rows, width, tile.keys),
            gradients = simd_gemm_scratch(tile.keys, width, tile.rows), products = scores;
    products = sums > products ? sums : products;
    products = gradients > products ? gradients : products;
    return simd_attention_room(tile) + (products + 15) / 16 * 16;
}

/* See paged.c.  q [rows, heads, d], k [slots, heads / groups, d], v [slots, heads / groups, d_v], y
 * [rows, heads, d_v]; row r sees the slots [r max, r max + lengths[r]).  Scratch, aligned as
 * pointers: simd_paged_scratch floats a thread. */
typedef struct simd_paged {
    const float *q, *k, *v;
    float *y;
    const int64_t *slots64, *lengths64; /* or NULL: */
    const int32_t *slots32, *lengths32;
    int64_t rows, heads, groups, d, d_v, max;
    float scale;
    int threads;
    float *scratch;
} simd_paged;

static inline int64_t simd_paged_stride(int64_t keys)
{
    return (keys + 15) / 16 * 16;
}

/* The scores of all heads, and where the values of each slot are */
static inline int64_t simd_paged_scratch(int64_t heads, int64_t keys)
{
    return (heads + (int64_t)(sizeof(void *) / sizeof(float))) * simd_paged_stride(keys);
}

#endif
