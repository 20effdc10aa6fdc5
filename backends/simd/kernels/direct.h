/* How a convolution of few channels a group is divided, which determines its scratch:
 * float/direct.c. */
#ifndef WG_BACKENDS_SIMD_KERNELS_DIRECT_H
#define WG_BACKENDS_SIMD_KERNELS_DIRECT_H

#include "backends/simd/kernels/conv.h"

#include <stddef.h>

enum {
    SIMD_AXES = 3,             /* depth, height and width */
    SIMD_DIRECT_BLOCK = 4,     /* outputs that are computed together */
    SIMD_DIRECT_SLACK = 64,    /* numbers: vectors may reach so far beyond what is packed */
    SIMD_DIRECT_PART = 1 << 13 /* numbers that are packed of a channel, about */
};

/* One axis, in outputs: positions of y, or of a phase of x where that is computed. */
typedef struct simd_direct_axis {
    const simd_window *w;
    int64_t phases;      /* of what is read: the stride, or 1 */
    int64_t reach;       /* from the first tap of an output to the last, in outputs */
    int64_t count;       /* of outputs */
    int64_t whole, rest; /* dilation = whole stride + rest */
} simd_direct_axis;

typedef struct simd_direct {
    const simd_conv *a;
    simd_conv_kind kind;
    simd_direct_axis axis[SIMD_AXES];
    int64_t taps, inputs, outputs; /* of a channel, and channels of a group: read, computed */
    int64_t sums;                  /* numbers of f64 that a thread has: sums of taps, or a list */
    int along;                     /* the axis whose outputs are divided into `strips` of `strip` */
    int64_t strip, strips;
    int64_t channel, part; /* numbers of a strip: packed of a channel, and of one depth */
} simd_direct;

static inline simd_direct_axis simd_direct_axis_of(const simd_window *w, simd_conv_kind kind)
{
    bool back = kind == SIMD_CONV_X;
    return (simd_direct_axis){.w = w,
                              .phases = back ? 1 : w->stride,
                              .reach = (w->kernel - 1) * w->dilation / w->stride,
                              .whole = w->dilation / w->stride,
                              .rest = w->dilation % w->stride,
                              .count =
                                  back ? (w->size - 1 + w->padding) / w->stride + 1 : w->count};
}

/* All that a channel would take, packed: more than an integer holds where the padding is huge. */
static inline double simd_direct_size(const simd_conv *a, simd_conv_kind kind)
{
    const simd_window *w[SIMD_AXES] = {&a->d, &a->h, &a->w};
    double size = 1;
    for (int k = 0; k < SIMD_AXES; k++) {
        simd_direct_axis x = simd_direct_axis_of(w[k], kind);
        size *= ((double)x.count + (double)x.reach) * (double)x.phases;
    }
    return size;
}

static inline int64_t simd_direct_packed(const simd_direct *p, int64_t strip, int64_t *part)
{
    int64_t size = 1, plane = 1;
    for (int k = 0; k < SIMD_AXES; k++) {
        int64_t length = (k == p->along ? strip : p->axis[k].count) + p->axis[k].reach;
        size *= p->axis[k].phases * length;
        plane *= k ? length : 1;
    }
    *part = plane;
    return size;
}

static inline simd_direct simd_direct_of(const simd_conv *a, simd_conv_kind kind)
{
    bool back = kind == SIMD_CONV_X;
    simd_direct p = {.a = a,
                     .kind = kind,
                     .axis = {simd_direct_axis_of(&a->d, kind), simd_direct_axis_of(&a->h, kind),
                              simd_direct_axis_of(&a->w, kind)},
                     .taps = a->d.kernel * a->h.kernel * a->w.kernel,
                     .inputs = back                  ? a->out
                               : kind == SIMD_CONV_W ? 1
                                                     : a->in,
                     .outputs = back ? a->in : a->out};
    p.sums = kind == SIMD_CONV_W ? p.outputs * p.taps : p.taps;
    p.along = p.axis[0].count > 1 ? 0 : p.axis[1].count > 1 ? 1 : 0;
    int64_t most = p.axis[p.along].count, part;
    int64_t none = simd_direct_packed(&p, 0, &part);
    int64_t one = simd_direct_packed(&p, 1, &part) - none;
    int64_t fit = (SIMD_DIRECT_PART / simd_smaller(p.inputs, 4) - none) / one;
    p.strip = simd_smaller(simd_larger(fit, simd_smaller(most, 4)), most);
    p.strips = simd_divide_up(most, p.strip);
    p.strip = simd_divide_up(most, p.strips);
    p.strips = simd_divide_up(most, p.strip);
    p.channel = simd_direct_packed(&p, p.strip, &p.part);
    return p;
}

/* Bytes of a thread, for numbers of that size */
static inline size_t simd_direct_room(const simd_direct *p, size_t size)
{
    int64_t taps = p->inputs * p->taps;
    int64_t numbers = SIMD_DIRECT_BLOCK * taps + p->inputs * p->channel + SIMD_DIRECT_SLACK +
                      SIMD_DIRECT_BLOCK * (p->part + SIMD_DIRECT_SLACK);
    size_t lanes = p->kind == SIMD_CONV_W ? (size_t)(p->outputs * p->taps) * 64 : 0;
    size_t bytes = (size_t)(taps + p->sums) * 8 + (size_t)numbers * size + lanes;
    return (bytes + 127) / 64 * 64;
}

#endif
