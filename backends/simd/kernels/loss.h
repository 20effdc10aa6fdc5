/* Cross-entropy of rows of logits (float/row_losses.c), and of a linear layer's logits (loss.c). */
#ifndef WG_BACKENDS_SIMD_KERNELS_LOSS_H
#define WG_BACKENDS_SIMD_KERNELS_LOSS_H

#include "backends/simd/kernels/product.h"

#include <stdbool.h>
#include <stdint.h>

/* Of each row of x [rows, classes]: losses[r] = weights[r] H(q, softmax(x)), and its gradient dx,
 * both 0 where the weight is 0, and either NULL if it is not wanted.  q is `on` at the target,
 * `off` elsewhere, and sums to 1.  Every target lies in [0, classes) where its weight is not 0.  dx
 * may be x. */
typedef struct simd_row_losses {
    const void *x;
    const int64_t *targets; /* [rows] */
    const double *weights;  /* [rows] */
    void *losses, *dx;
    int64_t rows, classes;
    double on, off;
    int threads;
} simd_row_losses;

/* The products of the loss are divided into blocks of about so many classes or rows, an even number
 * of them if more than one: large enough to be fast on one thread, and a matter of sizes alone, so
 * that bits do not depend on the number of threads. */
enum {
    SIMD_BLOCK_OF_CLASSES = 640,
    SIMD_BLOCK_OF_ROWS = 256,
    SIMD_SUM_PIECE = 1024,
    SIMD_SUM_PIECES = 8
};
static inline int64_t simd_blocks(int64_t count, int64_t size)
{
    int64_t blocks = (count + size - 1) / size;
    return blocks > 1 ? (blocks + 1) / 2 * 2 : 1;
}

/* Into how many pieces the sums over classes of dx are divided, where its blocks alone would keep
 * few threads busy. */
static inline int64_t simd_loss_pieces(int64_t rows, int64_t classes)
{
    int64_t pieces = classes / SIMD_SUM_PIECE;
    if (simd_blocks(rows, SIMD_BLOCK_OF_ROWS) >= 4)
        return 1;
    return pieces < 1 ? 1 : pieces > SIMD_SUM_PIECES ? SIMD_SUM_PIECES : pieces;
}

/* In floats: a chunk of logits and of losses, and the pieces of its dx. */
static inline int64_t simd_loss_chunk(int64_t chunk, int64_t width, int64_t classes)
{
    int64_t pieces = simd_loss_pieces(chunk, classes);
    return chunk * (classes + 1) + (pieces > 1 ? pieces * chunk * width : 0);
}

/* Of a thread's products, none of which has more rows, columns or terms than this. */
static inline int64_t simd_loss_gemm(int64_t chunk, int64_t width, int64_t classes)
{
    int64_t block = 2 * SIMD_BLOCK_OF_CLASSES;
    return simd_product_scratch(chunk + classes, width > block ? width : block,
                                width + chunk + classes, 1);
}

static inline int64_t simd_loss_scratch(int64_t chunk, int64_t width, int64_t classes, int threads)
{
    return simd_loss_chunk(chunk, width, classes) + threads * simd_loss_gemm(chunk, width, classes);
}

/* See loss.c.  x [rows, width], w [classes, width].  dx, dw: NULL if not wanted.  Every target lies
 * in [0, classes) where its weight is not 0.  Scratch: simd_loss_scratch. */
typedef struct simd_loss {
    const float *x, *w;
    const int64_t *targets; /* [rows] */
    const double *weights;  /* [rows] */
    float *loss, *dx, *dw;
    float scale; /* the cotangent of the loss */
    int64_t rows, width, classes, chunk;
    float on, off;
    int threads;
    float *scratch;
    bool *failed; /* as in simd_attention */
} simd_loss;

#endif
