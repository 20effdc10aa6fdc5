/* Convolutions of 3x3 taps, stride 1, by Winograd's minimal filtering F(2x2, 3x3), and their
 * gradients in x: Lavin and Gray, "Fast algorithms for convolutional neural networks" (CVPR 2016).
 *
 * A tile of 2x2 results sees 4x4 numbers of each channel.  With x those numbers and g the weights,
 *
 *     y = A' [sum over channels of (G g G') * (B' x B)] A     (* number by number)
 *
 *     G = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1],  A' = [1 1 1 0; 0 1 -1 -1]
 *
 * takes 16 multiplications, where the definition takes 36.  For each of these points the sum over
 * channels is a product of matrices, M = V U, V [tiles, in] and U [in, out].  V is made for a block
 * of tiles, which stays in the second-level cache, and M for a group of channels.  Channels lie
 * side by side there, so that the transformations go along vectors of channels however small planes
 * are.
 *
 * The gradient in x is the same with the roles of x and y exchanged: weights turned by half a turn,
 * and 2 - p zeros where there were p.
 *
 * What is infinite or NaN spreads over its tile, and large numbers may overflow: results that are
 * not finite are computed again by their definition, in double.
 *
 * Each number of M is a sum in the order of channels, whatever tile it lies in: bits do not depend
 * on the number of threads. */
#include "backends/one_copy.h"
#include "backends/simd/kernels/tasks.h"
#include "backends/simd/kernels/winograd_tiles.h"

enum {
    PANELS = SIMD_WINOGRAD_GROUP / (int)WIDTH, /* of a group */
    GROUP = PANELS * WIDTH,
    SOURCES = 8, /* channels whose weights are a task */
    CHUNK = 64   /* channels that are read of a block, if blocks are few */
};

typedef struct conv {
    const simd_conv *a;
    bool back; /* the gradient in x */
    simd_winograd g;
    int64_t groups, pitch; /* of the results of a set; of channels that are read */
    simd_winograd_room sizes;
    float *points; /* of the weights: [sets, groups, POINTS, PANELS, in, WIDTH] */
    float *v;      /* of few blocks: [sets, blocks], as in `room` */
    float *room;
    simd_work work;
} conv;

/* A thread's scratch: V [POINTS] [tiles, pitch] and M [POINTS] [tiles, GROUP], whose points are not
 * whole pages apart, and results [2 rows, 2 columns, GROUP] */
typedef struct room {
    float *patch, *v, *m, *results;
    int64_t v_next, m_next;
} room;

static room room_of(const conv *c, int64_t me)
{
    float *at = c->room + me * c->sizes.sum;
    room r = {.patch = at, .v = at + c->sizes.patch};
    r.m = r.v + c->sizes.points; /* of few blocks: none, and v is set later */
    r.results = r.m + c->sizes.products;
    r.v_next = c->g.tiles * c->pitch + LINE;
    r.m_next = c->g.tiles * GROUP + LINE;
    return r;
}

/* ---- the weights ----------------------------------------------------------------------------- */

/* `group` counts those of all sets. */
static float *points_at(const conv *c, int64_t group, int64_t point, int64_t panel, int64_t source)
{
    return c->points +
           (((group * POINTS + point) * PANELS + panel) * c->g.in + source) * (int64_t)WIDTH;
}

/* The taps of a set from channel `source` to some channels of results, [count, 9], ld apart */
static const float *taps_of(const conv *c, int64_t set, int64_t source, int64_t first, int64_t *ld)
{
    int64_t at = c->back ? source * c->g.out + first : first * c->g.in + source;
    *ld = c->back ? 9 : c->g.in * 9;
    return (const float *)c->a->weight + (set * c->g.in * c->g.out + at) * 9;
}

/* G g of one column */
SIMD_INLINE void points_of_taps(vector g0, vector g1, vector g2, vector y[4])
{
    vector sum = (g0 + g2) * 0.5F, half = g1 * 0.5F;
    y[0] = g0;
    y[1] = sum + half;
    y[2] = sum - half;
    y[3] = g2;
}

/* G g G' of a vector of results' channels: taps [9] [GROUP], to `next` apart */
SIMD_INLINE void points_of_weights(const float *taps, bool back, float *to, int64_t next)
{
    vector g[9], column[3][4];
    SIMD_UNROLLED
    for (int k = 0; k < 9; k++)
        g[k] = *(const vector *)(taps + (back ? 8 - k : k) * GROUP);
    SIMD_UNROLLED
    for (int j = 0; j < 3; j++)
        points_of_taps(g[j], g[3 + j], g[6 + j], column[j]);
    SIMD_UNROLLED
    for (int i = 0; i < 4; i++) {
        vector y[4];
        points_of_taps(column[0][i], column[1][i], column[2][i], y);
        SIMD_UNROLLED
        for (int j = 0; j < 4; j++)
            *(vector *)(to + (4 * i + j) * next) = y[j];
    }
}

/* Task: a group of all sets, and SOURCES channels that are read */
static void transform_weights(const conv *c, int64_t task)
{
    int64_t parts = simd_divide_up(c->g.in, SOURCES), group = task / parts;
    int64_t first = task % parts * SOURCES, end = simd_smaller(first + SOURCES, c->g.in);
    int64_t channel = group % c->groups * GROUP, count = simd_smaller(GROUP, c->g.out - channel);
    int64_t next = points_at(c, 0, 1, 0, 0) - points_at(c, 0, 0, 0, 0);
    float taps[9 * GROUP] = {0};
    for (int64_t source = first; source < end; source++) {
        int64_t ld;
        const float *from = taps_of(c, group / c->groups, source, channel, &ld);
        simd_transpose_matrix(from, ld, count, 9, taps, GROUP);
        for (int64_t k = 0; k < GROUP; k += LANES)
            points_of_weights(taps + k, c->back,
                              points_at(c, group, 0, k / WIDTH, source) + k % WIDTH, next);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* M = V U of a group of the block's set, all points */
static void multiply_points(const conv *c, const room *r, const block *b, int64_t group)
{
    int64_t count = simd_smaller(GROUP, c->g.out - group * GROUP), tiles = tiles_of(b);
    for (int point = 0; point < POINTS; point++)
        for (int64_t panel = 0; panel * WIDTH < count; panel++) {
            tile t = {.terms = c->g.in,
                      .a = r->v + point * r->v_next,
                      .a_row = c->pitch,
                      .a_step = 1,
                      .b = points_at(c, b->set * c->groups + group, point, panel, 0),
                      .b_step = WIDTH,
                      .c = r->m + point * r->m_next + panel * WIDTH,
                      .ldc = GROUP,
                      .rows = tiles,
                      .columns = count - panel * WIDTH > LANES ? WIDTH : LANES,
                      .alpha = 1};
            loose_tiles(t);
        }
}

/* ---- results --------------------------------------------------------------------------------- */

/* A' m A of a vector of channels of a tile: m `next` apart, to `line` apart.  Returns 0, or NaN if
 * one is not finite. */
SIMD_INLINE vector results_of_tile(const float *m, int64_t next, vector bias, float *to,
                                   int64_t line)
{
    vector a[4], b[4];
    SIMD_UNROLLED
    for (int j = 0; j < 4; j++) {
        vector m0 = *(const vector *)(m + j * next), m1 = *(const vector *)(m + (4 + j) * next),
               m2 = *(const vector *)(m + (8 + j) * next),
               m3 = *(const vector *)(m + (12 + j) * next);
        a[j] = m0 + (m1 + m2);
        b[j] = (m1 - m2) - m3;
    }
    vector y0 = a[0] + (a[1] + a[2]) + bias, y1 = (a[1] - a[2]) - a[3] + bias;
    vector y2 = b[0] + (b[1] + b[2]) + bias, y3 = (b[1] - b[2]) - b[3] + bias;
    *(vector *)to = y0;
    *(vector *)(to + GROUP) = y1;
    *(vector *)(to + line) = y2;
    *(vector *)(to + line + GROUP) = y3;
    return (y0 - y0) + (y1 - y1) + ((y2 - y2) + (y3 - y3));
}

/* Of the block's image `image`: results [2 rows, 2 columns, GROUP].  Returns whether all are
 * finite. */
static bool make_results(const room *r, const block *b, int64_t image, int64_t channels,
                         const float *bias)
{
    int64_t line = 2 * b->columns * GROUP, first = image * b->rows * b->columns;
    vector odd = {0};
    for (int64_t row = 0; row < b->rows; row++)
        for (int64_t column = 0; column < b->columns; column++)
            for (int64_t k = 0; k < channels; k += LANES)
                odd += results_of_tile(r->m + (first + row * b->columns + column) * GROUP + k,
                                       r->m_next, *(const vector *)(bias + k),
                                       r->results + 2 * row * line + 2 * column * GROUP + k, line);
    bool finite = true;
    for (int i = 0; i < LANES; i++)
        finite = finite && odd[i] == 0;
    return finite;
}

/* Results of a block in an image: rows and columns of planes, of a group's channels */
typedef struct part {
    int64_t image, set, row, rows, column, columns, channel, channels;
} part;

static part part_of(const conv *c, const block *b, int64_t image, int64_t group)
{
    part p = {.image = b->image + image,
              .set = b->set,
              .row = 2 * b->row,
              .column = 2 * b->column,
              .channel = group * GROUP,
              .channels = simd_smaller(GROUP, c->g.out - group * GROUP)};
    p.rows = simd_smaller(2 * b->rows, c->g.height - p.row);
    p.columns = simd_smaller(2 * b->columns, c->g.width - p.column);
    return p;
}

static float *result_at(const conv *c, const part *p, int64_t channel, int64_t row, int64_t column)
{
    int64_t plane = (p->image * c->g.sets + p->set) * c->g.out + channel;
    return (float *)c->a->to + (plane * c->g.height + row) * c->g.width + column;
}

static void write_results(const conv *c, const block *b, const part *p, float *results)
{
    bool whole = p->columns == c->g.width;
    int64_t step = whole ? p->rows : 1, line = 2 * b->columns * GROUP;
    lie l = {p->columns, 2 * b->columns, GROUP};
    for (int64_t row = 0; row < p->rows; row += step)
        move(result_at(c, p, p->channel, p->row + row, p->column), c->g.height * c->g.width,
             p->channels, step * p->columns, &l, results + row * line, true);
}

/* One result by its definition */
static float exactly(const conv *c, const part *p, int64_t channel, int64_t row, int64_t column)
{
    const simd_winograd *g = &c->g;
    const float *bias = c->a->bias, *from = c->back ? c->a->y : c->a->x;
    double sum = 0;
    for (int64_t source = 0; source < g->in && sum == sum; source++) {
        int64_t ld;
        const float *taps = taps_of(c, p->set, source, channel, &ld);
        const float *x = from + ((p->image * g->sets + p->set) * g->in + source) * g->h * g->w;
        for (int64_t k = 0; k < 9; k++) {
            int64_t i = row - g->top + k / 3, j = column - g->left + k % 3;
            if (i >= 0 && i < g->h && j >= 0 && j < g->w)
                sum += (double)taps[c->back ? 8 - k : k] * (double)x[i * g->w + j];
        }
    }
    return (float)(bias ? sum + (double)bias[p->set * g->out + channel] : sum);
}

static void mend_results(const conv *c, const part *p)
{
    for (int64_t channel = p->channel; channel < p->channel + p->channels; channel++)
        for (int64_t row = p->row; row < p->row + p->rows; row++)
            for (int64_t column = p->column; column < p->column + p->columns; column++) {
                float *y = result_at(c, p, channel, row, column);
                if (*y - *y != 0)
                    *y = exactly(c, p, channel, row, column);
            }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Of a block whose points are made */
static void make_group(const conv *c, const room *r, const block *b, int64_t group)
{
    float bias[GROUP] = {0};
    multiply_points(c, r, b, group);
    for (int64_t image = 0; image < b->images; image++) {
        part p = part_of(c, b, image, group);
        if (c->a->bias)
            memcpy(bias, (const float *)c->a->bias + p.set * c->g.out + p.channel,
                   (size_t)p.channels * sizeof *bias);
        bool finite = make_results(r, b, image, p.channels, bias);
        write_results(c, b, &p, r->results);
        if (!finite)
            mend_results(c, &p);
    }
}

/* Some of the channels that are read in a block: their points */
static void read_channels(const conv *c, const room *r, const block *b, int64_t first,
                          int64_t count)
{
    const float *x = c->back ? c->a->y : c->a->x;
    const points to = {r->v + first, c->pitch, r->v_next};
    count = simd_smaller(count, c->g.in - first);
    read_points(&c->g, b, x, first, count, simd_round_up(count, LINE), r->patch, &to);
}

/* Task: a block */
static void make_block(const conv *c, const room *r, int64_t task)
{
    block b = block_at(&c->g, task);
    read_channels(c, r, &b, 0, c->g.in);
    for (int64_t group = 0; group < c->groups; group++)
        make_group(c, r, &b, group);
}

/* Tasks of few blocks: some channels of one, or a group of its results */
static void read_chunk(const conv *c, room *r, int64_t task)
{
    int64_t chunks = simd_divide_up(c->g.in, CHUNK), i = task / chunks;
    block b = block_at(&c->g, i);
    r->v = c->v + i * simd_winograd_block(&c->g);
    read_channels(c, r, &b, task % chunks * CHUNK, CHUNK);
}

static void make_group_of_block(const conv *c, room *r, int64_t task)
{
    int64_t i = task / c->groups;
    block b = block_at(&c->g, i);
    r->v = c->v + i * simd_winograd_block(&c->g);
    make_group(c, r, &b, task % c->groups);
}

/* Every thread comes through here. */
static void run_tasks(conv *c)
{
    const simd_winograd *g = &c->g;
    const int64_t blocks = g->sets * g->blocks;
    const int64_t chunks = g->few ? blocks * simd_divide_up(g->in, CHUNK) : 0;
    const int64_t parts = g->sets * c->groups * simd_divide_up(g->in, SOURCES);
    const int64_t weights = c->a->has_points ? 0 : parts;
    room r = room_of(c, simd_take(&c->work.members));
    simd_turn my = {.ticket = simd_take(&c->work.taken)};
    simd_begin_phase(&my, chunks + weights);
    for (int64_t i; simd_next_task(&c->work, &my, &i); simd_end_task(&c->work, &my))
        if (i < chunks)
            read_chunk(c, &r, i);
        else
            transform_weights(c, i - chunks);
    simd_begin_phase(&my, g->few ? blocks * c->groups : blocks);
    for (int64_t i; simd_next_task(&c->work, &my, &i); simd_end_task(&c->work, &my))
        if (g->few)
            make_group_of_block(c, &r, i);
        else
            make_block(c, &r, i);
}

static void run(const simd_conv *a, simd_conv_kind kind)
{
    conv c = {.a = a, .back = kind == SIMD_CONV_X, .g = simd_winograd_of(a, kind)};
    c.groups = simd_divide_up(c.g.out, GROUP);
    c.pitch = simd_round_up(c.g.in, LINE);
    c.sizes = simd_winograd_room_of(&c.g, kind);
    c.points = a->points ? a->points : a->scratch;
    c.room = (float *)a->scratch + simd_winograd_shared(&c.g, kind);
    c.v = c.room - (c.g.few ? c.g.sets * c.g.blocks * simd_winograd_block(&c.g) : 0);
    void (*tasks)(conv *) = run_tasks;
    WGI_ONE_COPY(tasks);
    if (a->threads > 1) {
#pragma omp parallel num_threads(a->threads)
        tasks(&c);
    } else {
        tasks(&c);
    }
}

void SIMD(winograd_forward)(const simd_conv *a)
{
    run(a, SIMD_CONV_Y);
}

void SIMD(winograd_grad_x)(const simd_conv *a)
{
    run(a, SIMD_CONV_X);
}
