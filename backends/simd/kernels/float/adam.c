/* Adam and AdamW (Kingma, Ba 2015; Loshchilov, Hutter 2019) over any number of tensors, in one pass
 * over memory:
 *
 *     g = factor g,  m = beta1 m + share1 g,  v = beta2 v + share2 g^2,
 *     p = p - shrink p - rate m / (sqrt(v) root_scale + eps)
 *
 * with share = 1 - beta, rate = lr / (1 - beta1^t) and root_scale = 1 / sqrt(1 - beta2^t).  Terms
 * that are switched off are not computed: 0 times an infinite parameter would be NaN.  And the norm
 * of all gradients, for that factor.
 *
 * Tensors are cut into pieces, and threads take equal shares of the pieces of all. */
#include "backends/simd/kernels/ahead.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

#include <tgmath.h>

enum { FEW_PIECES = 4 }; /* not worth waking threads for */

/* The part of a share of pieces that lies in one tensor: elements [from, to).  `at` pieces precede
 * the tensor, and the share is [first, end). */
static bool part_of(int64_t count, int64_t at, int64_t first, int64_t end, int64_t *from,
                    int64_t *to)
{
    *from = (first > at ? first - at : 0) * SIMD_PIECE;
    *to = (end - at) * SIMD_PIECE < count ? (end - at) * SIMD_PIECE : count;
    return *from < *to;
}

static void update(const simd_adam *a, const simd_adam_tensor *t, int64_t from, int64_t to)
{
    real b1 = (real)a->beta1, b2 = (real)a->beta2, c1 = (real)a->share1, c2 = (real)a->share2;
    real rate = (real)a->rate, scale = (real)a->root_scale, eps = (real)a->eps;
    real shrink = (real)a->shrink, decay = (real)a->decay, factor = (real)a->factor;
    const real *p = t->p, *g = t->g, *m = t->m, *v = t->v;
    real *new_p = t->new_p, *new_m = t->new_m, *new_v = t->new_v;
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        real pi = p[i], gi = factor * g[i];
        gi = decay != 0 ? gi + decay * pi : gi;
        real mi = b1 * m[i] + c1 * gi, vi = b2 * v[i] + c2 * gi * gi;
        new_m[i] = mi;
        new_v[i] = vi;
        new_p[i] = (shrink != 0 ? pi - shrink * pi : pi) - rate * mi / (sqrt(vi) * scale + eps);
    }
}

static int64_t pieces_of(const simd_adam *a)
{
    int64_t pieces = 0;
    for (int64_t k = 0; k < a->n_tensors; k++)
        pieces += simd_pieces(a->tensor[k].count);
    return pieces;
}

static void update_share(const void *args, simd_member m)
{
    const simd_adam *a = args;
    int64_t pieces = pieces_of(a), first = simd_first(m, pieces), end = simd_end(m, pieces);
    for (int64_t k = 0, at = 0, from, to; k < a->n_tensors && at < end; k++) {
        if (part_of(a->tensor[k].count, at, first, end, &from, &to))
            update(a, &a->tensor[k], from, to);
        at += simd_pieces(a->tensor[k].count);
    }
}

void SIMD(adam)(const simd_adam *a)
{
    simd_team(pieces_of(a) < FEW_PIECES ? 1 : a->threads, update_share, a);
}

/* In double, since squares of floats may be too large or too small for a real; in lanes, for a
 * fixed order.  A piece is read as two streams of addresses side by side: of a single one
 * a core prefetches too little to use the bandwidth of memory. */
static double squares(const real *x, int64_t n)
{
    enum { STREAMS = 2, WIDTH = 16, LANES = STREAMS * WIDTH };
    double lane[LANES] = {0};
    int64_t length = n / LANES * WIDTH, rest = STREAMS * length;
    for (int64_t i = 0; i < length; i += WIDTH)
        for (int s = 0; s < STREAMS; s++) {
            const real *stream = x + s * length + i;
            double *sum = lane + s * WIDTH;
            simd_ask_ahead(stream, WIDTH);
#pragma omp simd
            for (int l = 0; l < WIDTH; l++)
                sum[l] += (double)stream[l] * (double)stream[l];
        }
    for (int64_t i = rest; i < n; i++)
        lane[i - rest] += (double)x[i] * (double)x[i];
    for (int width = LANES / 2; width; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}

static int64_t pieces_of_spans(const simd_spans *a)
{
    int64_t pieces = 0;
    for (int64_t k = 0; k < a->n_spans; k++)
        pieces += simd_pieces(a->span[k].count);
    return pieces;
}

static void square_share(const void *args, simd_member m)
{
    const simd_spans *a = args;
    int64_t pieces = pieces_of_spans(a), first = simd_first(m, pieces), end = simd_end(m, pieces);
    for (int64_t k = 0, at = 0, from, to; k < a->n_spans && at < end; k++) {
        const simd_span *x = &a->span[k];
        if (part_of(x->count, at, first, end, &from, &to))
            for (int64_t i = from; i < to; i += SIMD_PIECE)
                a->partial[at + i / SIMD_PIECE] =
                    squares((const real *)x->data + i, to - i < SIMD_PIECE ? to - i : SIMD_PIECE);
        at += simd_pieces(x->count);
    }
}

void SIMD(norm)(const simd_spans *a)
{
    int64_t pieces = pieces_of_spans(a);
    double sum = 0;
    simd_team(pieces < FEW_PIECES ? 1 : a->threads, square_share, a);
    for (int64_t i = 0; i < pieces; i++)
        sum += a->partial[i];
    *(real *)a->y = (real)sqrt(sum);
}
