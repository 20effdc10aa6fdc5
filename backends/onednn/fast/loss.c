/* Cross-entropy of a linear layer's logits, without ever holding all of them: rows go in chunks through
 *
 *     L = X W',  loss = sum over rows of w_row H(q_row, softmax(L)),  G = w (softmax(L) - q)
 *     dX = scale G W,  dW += scale G' X
 *
 * where G overwrites L in the chunk, q is the smoothed one-hot target and w_row the row's weight (0 if ignored).  The
 * three products are oneDNN's sgemm on all threads. */
#include "backends/onednn/fast/fast.h"

#include <dnnl.h>
#include <math.h>

#define X(name, args) void FAST(name)(const args *);
FAST_KERNELS(X)
#undef X

/* One row of logits becomes its gradient; returns the row's loss.  `on` is q at the target, `off` elsewhere; they sum
 * to 1:  H = lse - on x_t - off (sum x - x_t). */
static float loss_row(float *x, int64_t n, int64_t target, float on, float off, float weight)
{
    float top = -INFINITY, sum = 0, total = 0;
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    float at_target = x[target];
#pragma omp simd reduction(+ : sum, total)
    for (int64_t i = 0; i < n; i++) {
        float shifted = x[i] - top, e = fast_exp(shifted);
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

void FAST(linear_loss)(const fast_loss *a)
{
    int64_t d = a->width, v = a->classes;
    double loss = 0;
    for (int64_t first = 0; first < a->rows; first += a->chunk) {
        int64_t rows = a->rows - first < a->chunk ? a->rows - first : a->chunk;
        const float *x = a->x + first * d;
        float *g = a->scratch, *losses = a->scratch + a->chunk * v;
        dnnl_sgemm('N', 'T', rows, v, d, 1, x, d, a->w, d, 0, g, v);
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
        if (a->dx)
            dnnl_sgemm('N', 'N', rows, d, v, a->scale, g, v, a->w, d, 0, a->dx + first * d, d);
        if (a->dw)
            dnnl_sgemm('T', 'N', v, d, rows, a->scale, g, v, x, d, first ? 1 : 0, a->dw, d);
    }
    *a->loss = (float)loss;
}
