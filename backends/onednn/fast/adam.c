/* Adam and AdamW (Kingma, Ba 2015; Loshchilov, Hutter 2019) over one tensor, in one pass over memory:
 *
 *     m = beta1 m + share1 g,  v = beta2 v + share2 g^2,  p = p - shrink p - rate m / (sqrt(v) root_scale + eps)
 *
 * with share = 1 - beta, rate = lr / (1 - beta1^t) and root_scale = 1 / sqrt(1 - beta2^t).  Terms that are switched off
 * are not computed: 0 times an infinite parameter would be NaN. */
#include "backends/onednn/fast/fast.h"

#include <math.h>

#define X(name, args) void FAST(name)(const args *);
FAST_KERNELS(X)
#undef X

void FAST(adam)(const fast_adam *a)
{
    float b1 = a->beta1, b2 = a->beta2, c1 = a->share1, c2 = a->share2, rate = a->rate,
          scale = a->root_scale;
    float eps = a->eps, shrink = a->shrink, decay = a->decay;
    const float *p = a->p, *g = a->g, *m = a->m, *v = a->v;
    float *new_p = a->new_p, *new_m = a->new_m, *new_v = a->new_v;
    int threads = a->count < 1 << 14 ? 1 : a->threads;
#pragma omp parallel for simd schedule(static) num_threads(threads)
    for (int64_t i = 0; i < a->count; i++) {
        float pi = p[i], gi = decay != 0 ? g[i] + decay * pi : g[i];
        float mi = b1 * m[i] + c1 * gi, vi = b2 * v[i] + c2 * gi * gi;
        new_m[i] = mi;
        new_v[i] = vi;
        new_p[i] = (shrink != 0 ? pi - shrink * pi : pi) - rate * mi / (sqrtf(vi) * scale + eps);
    }
}
