/* Gradients of the weights of 3x3 taps, stride 1, by Winograd's minimal filtering: the adjoint of
 * winograd.c's form in g.  Of a tile, with x what it sees and e its 2x2 numbers of dy,
 *
 *     dg = G' [sum over tiles of (B' x B) * (A e A')] G       (* number by number)
 *
 * and for each of the 16 points the sum over tiles is a product of matrices, M = W' V, W [tiles,
 * out] and V [tiles, in].  A task makes M of a chunk of either side's channels, which stays in the
 * second-level cache, block by block of tiles, in their order, of a piece of all blocks; the sum of
 * the pieces comes last.  Chunks, blocks and pieces depend on sizes alone: so bits do not depend on
 * the number of threads.
 *
 * Gradients that are not finite are computed again by their definition, in double. */
#include "backends/one_copy.h"
#include "backends/simd/kernels/tasks.h"
#include "backends/simd/kernels/winograd_tiles.h"

enum { TAPS = 9 };

typedef struct sums {
    const simd_conv *a;
    simd_winograd g;
    int64_t pitch, out_pitch; /* of chunks of x and of dy */
    simd_winograd_room sizes;
    float *pieces; /* [pieces] [sets, out, in, TAPS] */
    float *room;
    simd_work work;
} sums;

/* A thread's scratch: V, W and M [POINTS] [out_chunk, pitch], whose points are not whole pages
 * apart; taps [TAPS, pitch] */
typedef struct room {
    float *patch, *other, *v, *w, *m, *taps;
    int64_t v_next, w_next, m_next;
} room;

static room room_of(const sums *s, int64_t me)
{
    float *at = s->room + me * s->sizes.sum;
    room r = {.patch = at, .other = at + s->sizes.patch};
    r.v = r.other + s->sizes.other_patch;
    r.w = r.v + s->sizes.points;
    r.m = r.w + s->sizes.other_points;
    r.taps = r.m + s->sizes.products;
    r.v_next = s->g.tiles * s->pitch + LINE;
    r.w_next = s->g.tiles * s->out_pitch + LINE;
    r.m_next = s->g.out_chunk * s->pitch + LINE;
    return r;
}

/* Some channels of dy and of x, of a set */
typedef struct chunk {
    int64_t set, out, outs, in, ins;
} chunk;

static chunk chunk_at(const simd_winograd *g, int64_t i)
{
    chunk k = {.set = i / g->in_chunks / g->out_chunks,
               .out = i / g->in_chunks % g->out_chunks * g->out_chunk,
               .in = i % g->in_chunks * g->in_chunk};
    k.outs = simd_smaller(g->out_chunk, g->out - k.out);
    k.ins = simd_smaller(g->in_chunk, g->in - k.in);
    return k;
}

/* ---- points of dy ---------------------------------------------------------------------------- */

/* A e A' of a vector of channels of a tile, A = [1 0; 1 1; 1 -1; 0 -1] */
SIMD_INLINE void points_of_tile(const float *e, int64_t line, int64_t pitch, float *to,
                                int64_t next)
{
    vector e0 = *(const vector *)e, e1 = *(const vector *)(e + pitch),
           e2 = *(const vector *)(e + line), e3 = *(const vector *)(e + line + pitch);
    vector a[4] = {e0, e0 + e2, e0 - e2, -e2}, b[4] = {e1, e1 + e3, e1 - e3, -e3};
    SIMD_UNROLLED
    for (int i = 0; i < 4; i++) {
        *(vector *)(to + (4 * i) * next) = a[i];
        *(vector *)(to + (4 * i + 1) * next) = a[i] + b[i];
        *(vector *)(to + (4 * i + 2) * next) = a[i] - b[i];
        *(vector *)(to + (4 * i + 3) * next) = -b[i];
    }
}

static void read_points_of_y(const sums *s, const room *r, const block *b, const chunk *k)
{
    const simd_winograd *g = &s->g;
    int64_t pitch = s->out_pitch, line = 2 * b->columns * pitch;
    patch p = {.h = g->height,
               .w = g->width,
               .top = 2 * b->row,
               .left = 2 * b->column,
               .rows = 2 * b->rows,
               .columns = 2 * b->columns,
               .channels = k->outs,
               .pitch = pitch};
    float *to = r->w;
    for (int64_t image = b->image; image < b->image + b->images; image++) {
        int64_t channel = (image * g->sets + k->set) * g->out + k->out;
        read_patch(&p, (const float *)s->a->y + channel * g->height * g->width, r->other);
        for (int64_t row = 0; row < b->rows; row++)
            for (int64_t column = 0; column < b->columns; column++, to += pitch)
                for (int64_t c = 0; c < pitch; c += LANES)
                    points_of_tile(r->other + 2 * row * line + 2 * column * pitch + c, line, pitch,
                                   to + c, r->w_next);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* M = W' V, or added to M */
static void multiply_points(const sums *s, const room *r, int64_t tiles, const chunk *k, bool add)
{
    for (int point = 0; point < POINTS; point++)
        for (int64_t c = 0; c < k->ins; c += WIDTH) {
            int64_t left = simd_round_up(k->ins, LANES) - c;
            tile t = {.terms = tiles,
                      .a = r->w + point * r->w_next,
                      .a_row = 1,
                      .a_step = s->out_pitch,
                      .b = r->v + point * r->v_next + c,
                      .b_step = s->pitch,
                      .c = r->m + point * r->m_next + c,
                      .ldc = s->pitch,
                      .rows = k->outs,
                      .columns = simd_smaller(left, WIDTH),
                      .alpha = 1,
                      .beta = add};
            loose_tiles(t);
        }
}

/* ---- taps ------------------------------------------------------------------------------------ */

/* G' m, G' = [1 1/2 1/2 0; 0 1/2 -1/2 0; 0 1/2 1/2 1] */
SIMD_INLINE void taps_of(vector m0, vector m1, vector m2, vector m3, vector y[3])
{
    vector sum = (m1 + m2) * 0.5F;
    y[0] = m0 + sum;
    y[1] = (m1 - m2) * 0.5F;
    y[2] = sum + m3;
}

/* G' m G of a vector of channels: m `next` apart, to `line` apart */
SIMD_INLINE void taps_of_points(const float *m, int64_t next, float *to, int64_t line)
{
    vector p[POINTS], column[4][3], y[3];
    SIMD_UNROLLED
    for (int i = 0; i < POINTS; i++)
        p[i] = *(const vector *)(m + i * next);
    SIMD_UNROLLED
    for (int j = 0; j < 4; j++)
        taps_of(p[j], p[4 + j], p[8 + j], p[12 + j], column[j]);
    SIMD_UNROLLED
    for (int i = 0; i < 3; i++) {
        taps_of(column[0][i], column[1][i], column[2][i], column[3][i], y);
        SIMD_UNROLLED
        for (int j = 0; j < 3; j++)
            *(vector *)(to + (3 * i + j) * line) = y[j];
    }
}

static void write_taps(const sums *s, const room *r, const chunk *k, float *to)
{
    for (int64_t o = 0; o < k->outs; o++) {
        for (int64_t c = 0; c < s->pitch; c += LANES)
            taps_of_points(r->m + o * s->pitch + c, r->m_next, r->taps + c, s->pitch);
        simd_transpose_matrix(r->taps, s->pitch, TAPS, k->ins,
                              to + ((k->set * s->g.out + k->out + o) * s->g.in + k->in) * TAPS,
                              TAPS);
    }
}

/* ---- what is not finite ---------------------------------------------------------------------- */

/* The sum over one image of what tap (i, j) sees times dy */
static double sum_of_image(const simd_winograd *g, const float *x, const float *dy, int64_t i,
                           int64_t j)
{
    int64_t first = simd_larger(g->left - j, 0), end = simd_smaller(g->w + g->left - j, g->width);
    double sum = 0;
    for (int64_t row = simd_larger(g->top - i, 0); row < simd_smaller(g->h + g->top - i, g->height);
         row++) {
        const float *at = x + (row - g->top + i) * g->w - g->left + j, *y = dy + row * g->width;
#pragma omp simd reduction(+ : sum)
        for (int64_t column = first; column < end; column++)
            sum += (double)at[column] * (double)y[column];
    }
    return sum;
}

/* One tap's gradient by its definition; `out` counts in all sets */
static float exactly(const sums *s, int64_t out, int64_t in, int64_t tap)
{
    const simd_winograd *g = &s->g;
    const int64_t outs = g->sets * g->out, ins = g->sets * g->in;
    const float *x = (const float *)s->a->x + (out / g->out * g->in + in) * g->h * g->w;
    const float *dy = (const float *)s->a->y + out * g->height * g->width;
    double sum = 0;
    for (int64_t image = 0; image < g->batch && sum == sum; image++)
        sum += sum_of_image(g, x + image * ins * g->h * g->w,
                            dy + image * outs * g->height * g->width, tap / 3, tap % 3);
    return (float)sum;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Task: a chunk, and a piece of the blocks */
static void sum_piece(const sums *s, const room *r, int64_t task)
{
    const simd_winograd *g = &s->g;
    int64_t piece = task % g->pieces;
    chunk k = chunk_at(g, task / g->pieces);
    int64_t first = g->blocks * piece / g->pieces, end = g->blocks * (piece + 1) / g->pieces;
    for (int64_t i = first; i < end; i++) {
        block b = block_at(g, k.set * g->blocks + i);
        read_points(g, &b, s->a->x, k.in, k.ins, s->pitch, r->patch,
                    &(const points){r->v, s->pitch, r->v_next});
        read_points_of_y(s, r, &b, &k);
        multiply_points(s, r, tiles_of(&b), &k, i > first);
    }
    write_taps(s, r, &k,
               g->pieces > 1 ? s->pieces + piece * g->sets * TAPS * g->in * g->out : s->a->to);
}

/* Task: the weights of a channel of y, of those of all sets */
static void end_channel(const sums *s, int64_t out)
{
    const simd_winograd *g = &s->g;
    int64_t count = g->in * TAPS;
    float *to = (float *)s->a->to + out * count;
    if (g->pieces > 1) {
        const float *from = s->pieces + out * count;
        memcpy(to, from, (size_t)count * sizeof *to);
        for (int64_t piece = 1; piece < g->pieces; piece++)
            for (int64_t i = 0; i < count; i++)
                to[i] += from[piece * count * g->sets * g->out + i];
    }
    for (int64_t i = 0; i < count; i++)
        if (to[i] - to[i] != 0)
            to[i] = exactly(s, out, i / TAPS, i % TAPS);
}

/* Every thread comes through here. */
static void run_tasks(sums *s)
{
    room r = room_of(s, simd_take(&s->work.members));
    simd_turn my = {.ticket = simd_take(&s->work.taken)};
    simd_begin_phase(&my, s->g.sets * s->g.in_chunks * s->g.out_chunks * s->g.pieces);
    for (int64_t i; simd_next_task(&s->work, &my, &i); simd_end_task(&s->work, &my))
        sum_piece(s, &r, i);
    simd_begin_phase(&my, s->g.sets * s->g.out);
    for (int64_t i; simd_next_task(&s->work, &my, &i); simd_end_task(&s->work, &my))
        end_channel(s, i);
}

void SIMD(winograd_grad_w)(const simd_conv *a)
{
    sums s = {.a = a, .g = simd_winograd_of(a, SIMD_CONV_W)};
    s.pitch = s.g.in_chunk;
    s.out_pitch = simd_round_up(s.g.out_chunk, LINE);
    s.sizes = simd_winograd_room_of(&s.g, SIMD_CONV_W);
    s.pieces = a->scratch;
    s.room = s.pieces + simd_winograd_shared(&s.g, SIMD_CONV_W);
    void (*tasks)(sums *) = run_tasks;
    WGI_ONE_COPY(tasks);
    if (a->threads > 1) {
#pragma omp parallel num_threads(a->threads)
        tasks(&s);
    } else {
        tasks(&s);
    }
}
