/* Cross-entropy of a linear layer's logits, without ever holding all of them: rows go in chunks
 * through
 *
 *     L = X W',  loss = sum over rows of w_row H(q_row, softmax(L)),  G = w (softmax(L) - q)
 *     dX = scale G W,  dW += scale G' X
 *
 * where G overwrites L in the chunk, q is the smoothed one-hot target and w_row the row's weight (0
 * if ignored).  The three products are divided into blocks of the result by their sizes alone, and
 * each block is computed by one thread: the same bits at any number of threads. */
#include "backends/simd/kernels/kernels.h"

#include <dnnl.h>
#include <math.h>

#define X(name, args) void SIMD(name)(const args *);
SIMD_KERNELS(X)
#undef X

/* One row of logits becomes its gradient; returns the row's loss.  `on` is q at the target, `off`
 * elsewhere; they sum to 1:  H = lse - on x_t - off (sum x - x_t). */
static float loss_row(float *x, int64_t n, int64_t target, float on, float off, float weight)
{
    float top = -INFINITY, sum = 0, total = 0;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    float at_target = x[target];
#pragma omp simd reduction(+ : sum, total)
    for (int64_t i = 0; i < n; i++) {
        float shifted = x[i] - top, e = simd_exp(shifted);
        sum += e;
        total += shifted;
        x[i] = e;
    }
    float loss = logf(sum) - (on - off) * (at_target - top) - (off != 0 ? off * total : 0);
    float scale = weight / sum, shift = weight * off;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] * scale - shift;
    x[target] -= weight * (on - off);
    return weight * loss;
}

/* c [m, n] = alpha a b + beta c; ta, tb as in BLAS. */
typedef struct product {
    char ta, tb;
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
} product;

/* Block i of `blocks` begins here and ends where the next begins; multiples of 16 keep vectors
 * whole. */
static int64_t block_begin(int64_t i, int64_t blocks, int64_t count)
{
    return i == blocks ? count : count * i / blocks / 16 * 16;
}

/* c in `down` blocks of rows times `across` blocks of columns, each computed by one thread: inside
 * a parallel region oneDNN's sgemm runs on the calling thread. */
static void multiply(const product *p, int64_t down, int64_t across, int threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t block = 0; block < down * across; block++) {
        int64_t row = block_begin(block % down, down, p->m);
        int64_t rows = block_begin(block % down + 1, down, p->m) - row;
        int64_t column = block_begin(block / down, across, p->n);
        int64_t columns = block_begin(block / down + 1, across, p->n) - column;
        const float *a = p->a + (p->ta == 'T' ? row : row * p->lda);
        const float *b = p->b + (p->tb == 'T' ? column * p->ldb : column);
        if (rows > 0 && columns > 0)
            dnnl_sgemm(p->ta, p->tb, rows, columns, p->k, p->alpha, a, p->lda, b, p->ldb, p->beta,
                       p->c + row * p->ldc + column, p->ldc);
    }
}

/* The same for a result of few blocks and a long sum, neither a nor b transposed and beta 0: the
 * sum is divided into `pieces`, again by sizes alone, each into its own [m, n] of `partial`, which
 * are added up in their order. */
static void multiply_long(const product *p, int64_t pieces, float *partial, int threads)
{
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < pieces; i++) {
        int64_t k = block_begin(i, pieces, p->k), end = block_begin(i + 1, pieces, p->k);
        dnnl_sgemm('N', 'N', p->m, p->n, end - k, p->alpha, p->a + k, p->lda, p->b + k * p->ldb,
                   p->ldb, 0, partial + i * p->m * p->n, p->n);
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t r = 0; r < p->m; r++) {
        float *c = p->c + r * p->ldc;
        const float *first = partial + r * p->n;
        memcpy(c, first, (size_t)p->n * sizeof *c);
        for (int64_t i = 1; i < pieces; i++)
            for (int64_t j = 0; j < p->n; j++)
                c[j] += first[i * p->m * p->n + j];
    }
}

void SIMD(linear_loss)(const simd_loss *a)
{
    int64_t d = a->width, v = a->classes, blocks = simd_blocks(v, SIMD_BLOCK_OF_CLASSES);
    double loss = 0;
    for (int64_t first = 0; first < a->rows; first += a->chunk) {
        int64_t rows = a->rows - first < a->chunk ? a->rows - first : a->chunk;
        const float *x = a->x + first * d;
        float *g = a->scratch, *losses = a->scratch + a->chunk * v;
        multiply(&(product){'N', 'T', rows, v, d, 1, x, d, a->w, d, 0, g, v}, 1, blocks,
                 a->threads);
#pragma omp parallel for schedule(static) num_threads(a->threads)
        for (int64_t r = 0; r < rows; r++) {
            int64_t target = a->targets[first + r];
            float weight = a->weights[first + r];
            if (weight != 0) { /* NaN too: it must show */
                losses[r] = loss_row(g + r * v, v, target, a->on, a->off, weight);
            } else {
                losses[r] = 0;
                memset(g + r * v, 0, (size_t)v * sizeof *g);
            }
        }
        for (int64_t r = 0; r < rows; r++)
            loss += losses[r];
        if (a->dx) {
            product dx = {'N', 'N', rows, d, v, a->scale, g, v, a->w, d, 0, a->dx + first * d, d};
            int64_t pieces = simd_loss_pieces(a->chunk, v); /* as the scratch has room for */
            if (pieces > 1)
                multiply_long(&dx, pieces, losses + a->chunk, a->threads);
            else
                multiply(&dx, simd_blocks(rows, SIMD_BLOCK_OF_ROWS), 1, a->threads);
        }
        if (a->dw)
            multiply(
                &(product){'T', 'N', v, d, rows, a->scale, g, v, x, d, first ? 1 : 0, a->dw, d},
                blocks, 1, a->threads);
    }
    *a->loss = (float)loss;
}
