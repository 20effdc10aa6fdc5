/* How a convolution is divided into blocks, which determines its scratch: float/conv.c. */
#ifndef WG_BACKENDS_SIMD_KERNELS_CONV_H
#define WG_BACKENDS_SIMD_KERNELS_CONV_H

#include "backends/simd/kernels/product.h"

#include <stdint.h>

/* Which of the three tensors a kernel computes */
typedef enum simd_conv_kind { SIMD_CONV_Y, SIMD_CONV_X, SIMD_CONV_W } simd_conv_kind;

/* Windows along one axis, as in wengert/ops/sliding.h. */
typedef struct simd_window {
    int64_t size, kernel, stride, padding, dilation, count;
} simd_window;

/* conv3d and its adjoints (wengert/ops/conv.h), of which conv2d is the case of depth 1, of the
 * kernel's element type: x [batch, groups, in, d.size, h.size, w.size], weight [groups, out, in,
 * d.kernel, h.kernel, w.kernel], y [batch, groups, out, d.count, h.count, w.count], bias [groups,
 * out] or NULL.  `to` is the one of the three tensors that is computed.  Scratch:
 * simd_conv_scratch numbers. */
typedef struct simd_conv {
    const void *x, *weight, *y, *bias;
    void *to;
    int64_t batch, groups, in, out;
    simd_window d, h, w;
    int threads;
    void *scratch;
    float
        *points; /* of the weights, by minimal filtering, which stay there; NULL: in the scratch */
    bool has_points;
} simd_conv;

/* Some channels and some positions are unfolded at a time: about so many taps and columns.  A
 * gradient of weights is made in up to PIECES sums of examples, which have together at most
 * SIMD_CONV_SUMS numbers, where there are too few channels to share among the threads. */
enum {
    SIMD_CONV_TAPS = 384,
    SIMD_CONV_COLUMNS = 512,
    SIMD_CONV_PIECES = 16,
    SIMD_CONV_SUMS = 1 << 20
};

/* A kernel has `taps`, a channel of y `positions`.  `channels` of x are unfolded together, in
 * `channel_blocks`; the positions of `examples` examples, in `example_blocks`, or `count` positions
 * of one, in `position_blocks`. */
typedef struct simd_conv_plan {
    int64_t taps, positions;
    int64_t channels, channel_blocks, examples, example_blocks, count, position_blocks;
    int64_t columns; /* examples count */
    int64_t pieces;  /* of a gradient of weights, where there is more than one */
} simd_conv_plan;

static inline bool simd_window_is_plain(const simd_window *w)
{
    return w->kernel == 1 && w->stride == 1 && w->padding == 0;
}

/* Each window is a number of x. */
static inline bool simd_conv_is_plain(const simd_conv *a)
{
    return simd_window_is_plain(&a->d) && simd_window_is_plain(&a->h) &&
           simd_window_is_plain(&a->w);
}

static inline simd_conv_plan simd_conv_plan_of(const simd_conv *a)
{
    simd_conv_plan p = {.taps = a->d.kernel * a->h.kernel * a->w.kernel,
                        .positions = a->d.count * a->h.count * a->w.count,
                        .examples = 1,
                        .position_blocks = 1};
    int64_t most = SIMD_CONV_TAPS / p.taps > 1 ? SIMD_CONV_TAPS / p.taps : 1;
    p.channel_blocks = simd_divide_up(a->in, most);
    p.channels = simd_divide_up(a->in, p.channel_blocks);
    p.channel_blocks = simd_divide_up(a->in, p.channels);
    if (p.positions >= SIMD_CONV_COLUMNS)
        p.position_blocks = simd_divide_up(p.positions, SIMD_CONV_COLUMNS);
    else if (!simd_conv_is_plain(a) || p.positions < SIMD_PRODUCT_PANEL)
        p.examples = simd_smaller(SIMD_CONV_COLUMNS / p.positions, a->batch);
    p.count = (simd_divide_up(p.positions, p.position_blocks) + 15) / 16 * 16;
    p.count = simd_smaller(p.count, p.positions);
    p.position_blocks = simd_divide_up(p.positions, p.count);
    p.example_blocks = simd_divide_up(a->batch, p.examples);
    p.columns = p.examples * p.count;
    int64_t weights = a->groups * a->out * a->in * p.taps;
    p.pieces = SIMD_CONV_PIECES / (a->groups * p.channel_blocks);
    p.pieces = simd_smaller(p.pieces, SIMD_CONV_SUMS / weights);
    p.pieces = simd_smaller(p.pieces, p.example_blocks);
    return p;
}

/* A kernel's tasks, and what one needs: what is unfolded, a copy of y's part, and a product. */
typedef struct simd_conv_work {
    int64_t tasks, unfolded, copy, product; /* in numbers but `tasks` */
} simd_conv_work;

static inline simd_conv_work simd_conv_work_of(const simd_conv *a, simd_conv_kind kind)
{
    simd_conv_plan p = simd_conv_plan_of(a);
    int64_t terms = p.channels * p.taps, rows = terms > a->out ? terms : a->out;
    int64_t depth = rows > p.columns ? rows : p.columns;
    bool copies = p.examples > 1, plain = simd_conv_is_plain(a) && !copies;
    simd_conv_work w = {.unfolded = plain ? 0 : terms * p.columns,
                        .copy = copies ? a->out * p.columns : 0};
    w.tasks =
        a->groups * (kind == SIMD_CONV_Y   ? p.example_blocks * p.position_blocks
                     : kind == SIMD_CONV_X ? p.example_blocks * p.channel_blocks
                                           : (p.pieces > 1 ? p.pieces : 1) * p.channel_blocks);
    /* where there are fewer tasks than threads, these share in each product */
    int together = w.tasks < a->threads ? a->threads : 1;
    w.product = simd_product_scratch(rows, p.columns > terms ? p.columns : terms, depth, together);
    return w;
}

static inline int64_t simd_conv_room(const simd_conv_work *w)
{
    return (w->unfolded + w->copy + w->product + 15) / 16 * 16;
}

/* For any thread count up to a->threads */
static inline int64_t simd_conv_scratch(const simd_conv *a, simd_conv_kind kind)
{
    simd_conv one = *a;
    one.threads = 1;
    simd_conv_plan p = simd_conv_plan_of(a);
    simd_conv_work alone = simd_conv_work_of(&one, kind), together = simd_conv_work_of(a, kind);
    int64_t weights = a->groups * a->out * a->in * p.taps;
    int64_t rooms = simd_smaller(alone.tasks, a->threads) * simd_conv_room(&alone);
    int64_t shared = alone.tasks < a->threads ? simd_conv_room(&together) : 0;
    return (rooms > shared ? rooms : shared) +
           (kind == SIMD_CONV_W && p.pieces > 1 ? p.pieces * weights : 0);
}

#endif
