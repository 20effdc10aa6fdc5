/* Convolutions as products: columns of what the windows see are multiplied with the weights.
 *
 * For each group of channels let U, `unfolded`, be [in taps, positions], where U[(c, tap), o] is
 * the number of channel c of x on which that tap of window o lies, 0 in the padding.  Then
 *
 *     y = weight U,      dU = weight' dy,      dweight = dy U',
 *
 * and dx is dU folded: each of its numbers added where it came from.  U is never made as a whole,
 * but for some channels and columns at a time (conv.h), which stay in the second-level cache.  A
 * kernel of one tap that moves by one, without padding, has U = x.
 *
 * The zeros of U make NaN of infinity, which padding must not: where there is padding, and a factor
 * that is not finite, the sums are made term by term.
 *
 * Tasks share nothing that they write, and sums have the order of blocks, which depend on sizes
 * alone: so bits do not depend on the number of threads. */
#include "backends/simd/kernels/finite.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/window.h"

typedef struct conv {
    const simd_conv *a;
    simd_conv_plan plan;
    int64_t volume; /* numbers of a channel of x */
    bool plain;     /* U = x */
    simd_conv_work work;
    int members; /* threads that take tasks: all, or one, and then all share in its products */
    real *room;  /* of the first of them */
    real *sums;  /* pieces of a gradient of weights */
} conv;

/* Columns: positions `first` to first + count of each of some examples */
typedef struct block {
    int64_t example, examples, first, count;
} block;

/* Some channels of a group of x */
typedef struct channels {
    int64_t group, first, count;
} channels;

static conv conv_of(const simd_conv *a, simd_conv_kind kind)
{
    conv v = {.a = a,
              .plan = simd_conv_plan_of(a),
              .volume = a->d.size * a->h.size * a->w.size,
              .plain = simd_conv_is_plain(a),
              .work = simd_conv_work_of(a, kind),
              .room = a->scratch};
    v.members = v.work.tasks < a->threads ? 1 : a->threads;
    v.sums = v.room + v.members * simd_conv_room(&v.work);
    return v;
}

static block block_at(const conv *v, int64_t examples, int64_t positions)
{
    const simd_conv_plan *p = &v->plan;
    block b = {.example = examples * p->examples, .first = positions * p->count};
    b.examples = simd_smaller(p->examples, v->a->batch - b.example);
    b.count = simd_smaller(p->count, p->positions - b.first);
    return b;
}

static channels channels_at(const conv *v, int64_t group, int64_t i)
{
    int64_t first = i * v->plan.channels;
    return (channels){group, first, simd_smaller(v->plan.channels, v->a->in - first)};
}

/* Where a channel of an example begins, of x's; `c` counts in the group */
static int64_t x_at(const conv *v, int64_t example, int64_t group, int64_t c)
{
    return ((example * v->a->groups + group) * v->a->in + c) * v->volume;
}

/* The same for y */
static int64_t y_at(const conv *v, int64_t example, int64_t group, int64_t o)
{
    return ((example * v->a->groups + group) * v->a->out + o) * v->plan.positions;
}

static int64_t weights_in_all(const conv *v)
{
    return v->a->groups * v->a->out * v->a->in * v->plan.taps;
}

/* A thread's room has what is unfolded, then a copy of y's part, then what products need. */
static real *unfolded_of(const conv *v, int me)
{
    return v->room + me * simd_conv_room(&v->work);
}

static real *copy_of(const conv *v, int me)
{
    return unfolded_of(v, me) + v->work.unfolded;
}

static real *scratch_of(const conv *v, int me)
{
    return copy_of(v, me) + v->work.copy;
}

static int threads_of_product(const conv *v)
{
    return v->members == 1 ? v->a->threads : 1;
}

/* ---- unfolding and folding ------------------------------------------------------------------- */

/* A tap, and the windows [from, to) of a row of positions in which it lies within the row */
typedef struct tap {
    int64_t d, h, w, from, to;
} tap;

static tap tap_of(const simd_conv *a, int64_t i)
{
    int64_t of_plane = a->h.kernel * a->w.kernel;
    tap t = {.d = i / of_plane, .h = i % of_plane / a->w.kernel, .w = i % a->w.kernel};
    window_range(&a->w, t.w, &t.from, &t.to);
    return t;
}

static bool is_within(int64_t position, const simd_window *w)
{
    return position >= 0 && position < w->size;
}

/* u = the numbers of a row of x on which the tap lies in the windows [first, end) */
static void unfold_row(const simd_window *w, const tap *t, const real *x, int64_t first,
                       int64_t end, real *u)
{
    const real *at = x + window_position(w, 0, t->w);
    int64_t from = t->from < first ? first : t->from, to = t->to < end ? t->to : end, q = first;
    for (; q < from && q < end; q++)
        u[q - first] = 0;
    if (w->stride == 1)
        for (; q < to; q++)
            u[q - first] = at[q];
    else
        for (; q < to; q++)
            u[q - first] = at[q * w->stride];
    for (; q < end; q++)
        u[q - first] = 0;
}

/* The reverse, which adds */
static void fold_row(const simd_window *w, const tap *t, real *x, int64_t first, int64_t end,
                     const real *u)
{
    real *at = x + window_position(w, 0, t->w);
    int64_t from = t->from < first ? first : t->from, to = t->to < end ? t->to : end;
    if (w->stride == 1)
        for (int64_t q = from; q < to; q++)
            at[q] += u[q - first];
    else
        for (int64_t q = from; q < to; q++)
            at[q * w->stride] += u[q - first];
}

/* One row of U: of a channel of x, positions from `first` on.  `folds`: x += u, else u = x. */
SIMD_INLINE void move_rows(const simd_conv *a, const tap *t, real *x, int64_t first, int64_t count,
                           real *u, bool folds)
{
    int64_t q = first % a->w.count, p = first / a->w.count % a->h.count,
            r = first / a->w.count / a->h.count;
    for (int64_t n; count > 0; count -= n, u += n, q = 0) {
        int64_t z = window_position(&a->d, r, t->d), i = window_position(&a->h, p, t->h);
        real *row = x + (z * a->h.size + i) * a->w.size;
        n = simd_smaller(a->w.count - q, count);
        if (is_within(z, &a->d) && is_within(i, &a->h)) {
            if (folds)
                fold_row(&a->w, t, row, q, q + n, u);
            else
                unfold_row(&a->w, t, row, q, q + n, u);
        } else if (!folds) {
            memset(u, 0, (size_t)n * sizeof *u);
        }
        r += p + 1 == a->h.count;
        p = p + 1 == a->h.count ? 0 : p + 1;
    }
}

/* Stride 1, and as many windows as a row has numbers: a row of U is then a plane of x, shifted by
 * some rows and columns, with zeros where the shift wraps around the sides. */
static bool has_moved_planes(const simd_conv *a)
{
    return a->h.stride == 1 && a->w.stride == 1 && a->w.count == a->w.size;
}

static void clear_sides(const simd_conv *a, const tap *t, int64_t first, int64_t end, real *u)
{
    int64_t width = a->w.size, row = first / width * width;
    for (; row < end; row += width) {
        int64_t left = row + t->from, right = row + t->to;
        for (int64_t q = row < first ? first : row; q < left && q < end; q++)
            u[q - first] = 0;
        for (int64_t q = right < first ? first : right; q < row + width && q < end; q++)
            u[q - first] = 0;
    }
}

/* Positions [first, end) of one plane, which lies at x */
SIMD_INLINE void move_plane(const simd_conv *a, const tap *t, real *x, int64_t first, int64_t end,
                            real *u, bool folds)
{
    int64_t down = window_position(&a->h, 0, t->h), width = a->w.size;
    int64_t by = down * width + window_position(&a->w, 0, t->w);
    int64_t from = simd_larger(first, simd_larger(-down * width, -by));
    int64_t to = (a->h.size - down) * width, last = a->h.size * width - by;
    to = simd_smaller(end, simd_smaller(to, last));
    to = simd_larger(to, from);
    if (from >= end || t->from >= t->to)
        from = to = end;
    if (folds) {
        clear_sides(a, t, first, end, u);
        for (int64_t i = from; i < to; i++)
            x[i + by] += u[i - first];
    } else {
        memset(u, 0, (size_t)(from - first) * sizeof *u);
        memcpy(u + from - first, x + from + by, (size_t)(to - from) * sizeof *u);
        memset(u + to - first, 0, (size_t)(end - to) * sizeof *u);
        clear_sides(a, t, first, end, u);
    }
}

SIMD_INLINE void move_positions(const simd_conv *a, const tap *t, real *x, int64_t first,
                                int64_t count, real *u, bool folds)
{
    int64_t of_plane = a->h.count * a->w.count, end = first + count;
    if (!has_moved_planes(a)) {
        move_rows(a, t, x, first, count, u, folds);
        return;
    }
    for (int64_t r = first / of_plane, next; first < end; r++, u += next - first, first = next) {
        int64_t z = window_position(&a->d, r, t->d), begin = r * of_plane;
        next = simd_smaller(begin + of_plane, end);
        if (is_within(z, &a->d))
            move_plane(a, t, x + z * a->h.size * a->w.size, first - begin, next - begin, u, folds);
        else if (!folds)
            memset(u, 0, (size_t)(next - first) * sizeof *u);
    }
}

SIMD_INLINE void move_all(const conv *v, channels c, block b, real *x, real *u, bool folds)
{
    for (int64_t k = 0; k < c.count * v->plan.taps; k++) {
        tap t = tap_of(v->a, k % v->plan.taps);
        for (int64_t e = 0; e < b.examples; e++, u += b.count)
            move_positions(v->a, &t,
                           x + x_at(v, b.example + e, c.group, c.first + k / v->plan.taps), b.first,
                           b.count, u, folds);
    }
}

static void unfold(const conv *v, channels c, block b, real *u)
{
    move_all(v, c, b, (real *)v->a->x, u, false); /* x is only read */
}

static void fold(const conv *v, channels c, block b, real *u)
{
    move_all(v, c, b, v->a->to, u, true);
}

/* ---- factors that are not finite ------------------------------------------------------------- */

static bool has_padding(const simd_conv *a)
{
    return a->d.padding || a->h.padding || a->w.padding;
}

/* Of one channel of an example and one tap, the terms of a row of positions: y[o] += weight[o] x
 * for each o of the group, or weight[o] += y[o] x.  Weights are w_step apart, rows of y y_step. */
static void add_terms(const real *x, int64_t x_step, int64_t n, int64_t outputs, real *weight,
                      int64_t w_step, real *y, int64_t y_step, bool forward)
{
    for (int64_t o = 0; o < outputs; o++, weight += w_step, y += y_step)
        for (int64_t q = 0; q < n; q++)
            if (forward)
                y[q] += *weight * x[q * x_step];
            else
                *weight += y[q] * x[q * x_step];
}

/* The same of all positions */
static void add_channel(const conv *v, int64_t example, channels c, int64_t k, real *weight,
                        real *y, bool forward)
{
    const simd_conv *a = v->a;
    const real *x = (const real *)a->x + x_at(v, example, c.group, c.first);
    tap t = tap_of(a, k);
    weight += (c.group * a->out * a->in + c.first) * v->plan.taps + k;
    y += y_at(v, example, c.group, 0);
    for (int64_t row = 0; row < a->d.count * a->h.count; row++) {
        int64_t z = window_position(&a->d, row / a->h.count, t.d);
        int64_t i = window_position(&a->h, row % a->h.count, t.h);
        if (is_within(z, &a->d) && is_within(i, &a->h) && t.from < t.to)
            add_terms(x + (z * a->h.size + i) * a->w.size + window_position(&a->w, t.from, t.w),
                      a->w.stride, t.to - t.from, a->out, weight, a->in * v->plan.taps,
                      y + row * a->w.count + t.from, v->plan.positions, forward);
    }
}

/* to += all terms, one after the other, by one thread: y where `forward`, else the weights */
static void add_all(const conv *v, bool forward)
{
    const simd_conv *a = v->a;
    real *weight = forward ? (real *)a->weight : a->to; /* what is no result is only read */
    real *y = forward ? a->to : (real *)a->y;
    for (int64_t example = 0; example < a->batch; example++)
        for (int64_t c = 0; c < a->groups * a->in; c++)
            for (int64_t k = 0; k < v->plan.taps; k++)
                add_channel(v, example, (channels){c / a->in, c % a->in, 1}, k, weight, y, forward);
}

/* ---- products -------------------------------------------------------------------------------- */

void SIMD(product)(const simd_product *p);

/* The part of U of these channels and columns: where x lies if that is it, else made. */
static const real *columns_of(const conv *v, channels c, block b, real *room, int64_t *ld)
{
    if (v->plain && b.examples == 1) {
        *ld = v->volume;
        return (const real *)v->a->x + x_at(v, b.example, c.group, c.first) + b.first;
    }
    *ld = b.examples * b.count;
    unfold(v, c, b, room);
    return room;
}

static const real *weights_of(const conv *v, channels c)
{
    return (const real *)v->a->weight + (c.group * v->a->out * v->a->in + c.first) * v->plan.taps;
}

/* The part of y of a block, through a copy if it has several examples: [out, examples count]. */
static void copy_y(const conv *v, int64_t group, block b, const real *y, real *copy)
{
    for (int64_t o = 0; o < v->a->out; o++)
        for (int64_t e = 0; e < b.examples; e++, copy += b.count)
            memcpy(copy, y + y_at(v, b.example + e, group, o) + b.first,
                   (size_t)b.count * sizeof *copy);
}

static void put_y(const conv *v, int64_t group, block b, const real *copy, real *y)
{
    for (int64_t o = 0; o < v->a->out; o++)
        for (int64_t e = 0; e < b.examples; e++, copy += b.count)
            memcpy(y + y_at(v, b.example + e, group, o) + b.first, copy,
                   (size_t)b.count * sizeof *copy);
}

/* Each row of c, [out, columns], becomes its bias. */
static void begin_with_bias(const simd_conv *a, int64_t group, int64_t columns, real *c,
                            int64_t ldc)
{
    const real *bias = a->bias;
    for (int64_t o = 0; o < a->out; o++)
        for (int64_t j = 0; j < columns; j++)
            c[o * ldc + j] = bias ? bias[group * a->out + o] : 0;
}

/* Task: a group, and a block of columns */
static void forward_task(const void *args, int64_t i, int me)
{
    const conv *v = args;
    const simd_conv *a = v->a;
    const simd_conv_plan *p = &v->plan;
    int64_t blocks = p->example_blocks * p->position_blocks, group = i / blocks;
    block b = block_at(v, i % blocks / p->position_blocks, i % blocks % p->position_blocks);
    int64_t columns = b.examples * b.count, ldc = b.examples > 1 ? columns : p->positions;
    real *copy = copy_of(v, me), *y = a->to, *c = y + y_at(v, b.example, group, 0) + b.first;
    c = b.examples > 1 ? copy : c;
    if (a->bias)
        begin_with_bias(a, group, columns, c, ldc);
    for (int64_t k = 0; k < p->channel_blocks; k++) {
        channels some = channels_at(v, group, k);
        simd_product product = {.m = a->out,
                                .n = columns,
                                .k = some.count * p->taps,
                                .alpha = 1,
                                .a = weights_of(v, some),
                                .lda = a->in * p->taps,
                                .beta = k > 0 || a->bias,
                                .c = c,
                                .ldc = ldc,
                                .threads = threads_of_product(v),
                                .scratch = scratch_of(v, me)};
        product.b = columns_of(v, some, b, unfolded_of(v, me), &product.ldb);
        SIMD(product)(&product);
    }
    if (b.examples > 1)
        put_y(v, group, b, copy, y);
}

void SIMD(conv_forward)(const simd_conv *a)
{
    conv v = conv_of(a, SIMD_CONV_Y);
    if (has_padding(a) && !simd_all_finite(a->weight, weights_in_all(&v))) {
        for (int64_t i = 0; i < a->batch * a->groups; i++)
            begin_with_bias(a, i % a->groups, v.plan.positions,
                            (real *)a->to + i * a->out * v.plan.positions, v.plan.positions);
        add_all(&v, true);
        return;
    }
    simd_uneven_tasks(v.members, v.work.tasks, 1, forward_task, &v);
}

/* ---- the gradient of x ----------------------------------------------------------------------- */

/* One block of columns: dx += folded weight' dy, or dx = weight' dy where nothing is folded */
static void give_back(const conv *v, channels some, block b, int me)
{
    const simd_conv *a = v->a;
    bool copied = b.examples > 1, direct = v->plain && !copied;
    const real *dy = a->y;
    real *copy = copy_of(v, me), *dx = a->to;
    int64_t columns = b.examples * b.count;
    simd_product product = {.m = some.count * v->plan.taps,
                            .n = columns,
                            .k = a->out,
                            .alpha = 1,
                            .a = weights_of(v, some),
                            .lda = a->in * v->plan.taps,
                            .ta = true,
                            .b = copied ? copy : dy + y_at(v, b.example, some.group, 0) + b.first,
                            .ldb = copied ? columns : v->plan.positions,
                            .c = unfolded_of(v, me),
                            .ldc = columns,
                            .threads = threads_of_product(v),
                            .scratch = scratch_of(v, me)};
    if (copied)
        copy_y(v, some.group, b, dy, copy);
    if (direct) {
        product.c = dx + x_at(v, b.example, some.group, some.first) + b.first;
        product.ldc = v->volume;
    }
    SIMD(product)(&product);
    if (!direct)
        fold(v, some, b, unfolded_of(v, me));
}

/* Task: some channels of dx of some examples, all positions */
static void grad_x_task(const void *args, int64_t i, int me)
{
    const conv *v = args;
    const simd_conv_plan *p = &v->plan;
    int64_t of_group = p->example_blocks * p->channel_blocks;
    channels some = channels_at(v, i / of_group, i % p->channel_blocks);
    block b = block_at(v, i % of_group / p->channel_blocks, 0);
    for (int64_t e = 0; e < b.examples; e++)
        memset((real *)v->a->to + x_at(v, b.example + e, some.group, some.first), 0,
               (size_t)(some.count * v->volume) * sizeof(real));
    for (int64_t k = 0; k < p->position_blocks; k++)
        give_back(v, some, block_at(v, i % of_group / p->channel_blocks, k), me);
}

void SIMD(conv_grad_x)(const simd_conv *a)
{
    conv v = conv_of(a, SIMD_CONV_X);
    simd_uneven_tasks(v.members, v.work.tasks, 1, grad_x_task, &v);
}

/* ---- the gradient of the weights ------------------------------------------------------------- */

static int64_t pieces_of(const conv *v)
{
    return v->plan.pieces > 1 ? v->plan.pieces : 1;
}

/* dweight += dy U' of one block of columns; the first of all begins with 0 */
static void add_block(const conv *v, channels some, block b, bool first, real *to, int me)
{
    const simd_conv *a = v->a;
    const real *dy = a->y;
    bool copied = b.examples > 1;
    int64_t columns = b.examples * b.count, taps = v->plan.taps;
    real *copy = copy_of(v, me);
    simd_product product = {.m = a->out,
                            .n = some.count * taps,
                            .k = columns,
                            .alpha = 1,
                            .a = copied ? copy : dy + y_at(v, b.example, some.group, 0) + b.first,
                            .lda = copied ? columns : v->plan.positions,
                            .tb = true,
                            .beta = !first,
                            .c = to + (some.group * a->out * a->in + some.first) * taps,
                            .ldc = a->in * taps,
                            .threads = threads_of_product(v),
                            .scratch = scratch_of(v, me)};
    if (copied)
        copy_y(v, some.group, b, dy, copy);
    product.b = columns_of(v, some, b, unfolded_of(v, me), &product.ldb);
    SIMD(product)(&product);
}

/* Task: some channels' weights, summed over a piece of the examples */
static void grad_w_task(const void *args, int64_t i, int me)
{
    const conv *v = args;
    const simd_conv_plan *p = &v->plan;
    int64_t pieces = pieces_of(v), piece = i % pieces, of_channels = i / pieces;
    channels some =
        channels_at(v, of_channels / p->channel_blocks, of_channels % p->channel_blocks);
    real *to = pieces > 1 ? v->sums + piece * weights_in_all(v) : v->a->to;
    int64_t first = p->example_blocks * piece / pieces,
            end = p->example_blocks * (piece + 1) / pieces;
    for (int64_t e = first; e < end; e++)
        for (int64_t k = 0; k < p->position_blocks; k++)
            add_block(v, some, block_at(v, e, k), e == first && k == 0, to, me);
}

/* Some of all weights: the sum of their pieces */
static void add_pieces(const void *args, int64_t task)
{
    enum { SHARE = 4096 };
    const conv *v = args;
    int64_t weights = weights_in_all(v);
    int64_t first = task * SHARE, end = simd_smaller(first + SHARE, weights);
    real *to = v->a->to;
    memcpy(to + first, v->sums + first, (size_t)(end - first) * sizeof *to);
    for (int64_t piece = 1; piece < v->plan.pieces; piece++)
        for (int64_t j = first; j < end; j++)
            to[j] += v->sums[piece * weights + j];
}

void SIMD(conv_grad_w)(const simd_conv *a)
{
    conv v = conv_of(a, SIMD_CONV_W);
    int64_t weights = weights_in_all(&v);
    if (has_padding(a) &&
        !simd_all_finite(a->y, a->batch * a->groups * a->out * v.plan.positions)) {
        memset(a->to, 0, (size_t)weights * sizeof(real));
        add_all(&v, false);
        return;
    }
    simd_uneven_tasks(v.members, v.work.tasks, 1, grad_w_task, &v);
    if (v.plan.pieces > 1)
        simd_tasks(weights < 1 << 14 ? 1 : a->threads, (weights + 4095) / 4096, add_pieces, &v);
}
