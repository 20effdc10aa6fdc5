/* Adam and AdamW (Kingma, Ba 2015; Loshchilov, Hutter 2019) over one tensor, in one pass over memory:
 *
 *     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,  p = p (1 - lr decay) - step m / (sqrt(v) / c + eps)
 *
 * with step = lr / (1 - b1^t) and c = sqrt(1 - b2^t). */
#include "backends/onednn/fast/fast.h"

#include <math.h>

#define X(name, args) void FAST(name)(const args *);
FAST_KERNELS(X)
#undef X

void FAST(adam)(const fast_adam *a)
{
    float b1 = a->beta1, b2 = a->beta2, step = a->step, c = 1 / a->correction, eps = a->eps;
    float shrink = a->shrink, decay = a->decay;
#pragma omp parallel for simd schedule(static) num_threads(a->threads)
    for (int64_t i = 0; i < a->count; i++) {
        float p = a->p[i], g = a->g[i] + decay * p;
        float m = b1 * a->m[i] + (1 - b1) * g, v = b2 * a->v[i] + (1 - b2) * g * g;
        a->new_m[i] = m;
        a->new_v[i] = v;
        a->new_p[i] = p * shrink - step * m / (sqrtf(v) * c + eps);
    }
}
