/* Which convolutions pay by Winograd's minimal filtering, as kernel "winograd" of `simd` computes
 * them: `onednn` yields those. */
#ifndef WG_BACKENDS_WINOGRAD_H
#define WG_BACKENDS_WINOGRAD_H

#include "wengert/ops/conv.h"

#include <stdbool.h>

static inline bool wgi_winograd_axis(const wg_sliding *s)
{
    return s->kernel == 3 && s->stride == 1 && s->dilation == 1 && s->padding <= 2;
}

/* Of f32 along two axes.  With fewer channels a group the transformations take as long as the
 * products, and few results do not pay for those of the weights (docs/notes/performance.md has the
 * figures). */
static inline bool wgi_winograd_pays(const wg_conv_geometry *g)
{
    enum { CHANNELS = 16, RESULTS = 128 };
    return wgi_winograd_axis(&g->h) && wgi_winograd_axis(&g->w) && g->in >= CHANNELS &&
           g->out >= CHANNELS && g->batch * g->h.count * g->w.count >= RESULTS;
}

#endif
