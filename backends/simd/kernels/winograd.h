/* How a convolution by Winograd's minimal filtering is divided into blocks, which determines its
 * scratch: winograd.c, winograd_grad.c. */
#ifndef WG_BACKENDS_SIMD_KERNELS_WINOGRAD_H
#define WG_BACKENDS_SIMD_KERNELS_WINOGRAD_H

#include "backends/simd/kernels/conv.h"

/* POINTS: products of a tile.  Results are made in groups of at most GROUP channels; channels of
 * what is read lie side by side, a multiple of LINE.  Blocks have about TILES tiles, or as many as
 * have ROOM channels together, but at least FEW.  A gradient of weights has chunks of at most CHUNK
 * channels of either side, and up to PIECES sums of blocks, at least BLOCKS each, which have
 * together at most SUMS numbers. */
enum {
    SIMD_WINOGRAD_POINTS = 16,
    SIMD_WINOGRAD_GROUP = 32,
    SIMD_WINOGRAD_LINE = 16,
    SIMD_WINOGRAD_TILES = 192,
    SIMD_WINOGRAD_ROOM = 6144,
    SIMD_WINOGRAD_FEW = 48,
    SIMD_WINOGRAD_SUM_ROOM = 8192,
    SIMD_WINOGRAD_CHUNK = 64,
    SIMD_WINOGRAD_PIECES = 16,
    SIMD_WINOGRAD_BLOCKS = 4,
    SIMD_WINOGRAD_SUMS = 1 << 20
};

/* Results [height, width] of windows on planes [h, w], with so many zeros above and to the left:
 * tiles [tile_rows, tile_columns] of 2x2 of them.  A block has `rows` by `columns` tiles of each of
 * `images` images.  `sets` of channels (the groups of conv.h) are convolutions by themselves: of
 * each, `in` channels are read, and the results, or for a gradient of weights dy, have `out`. */
typedef struct simd_winograd {
    int64_t batch, sets, in, out;
    int64_t h, w, top, left;
    int64_t height, width, tile_rows, tile_columns;
    int64_t images, rows, columns;
    int64_t image_blocks, row_blocks, column_blocks, blocks; /* of a set */
    int64_t tiles;                                           /* of a block */
    bool few; /* blocks: threads share the groups of channels of each */
    int64_t in_chunk, in_chunks, out_chunk, out_chunks, pieces; /* of a gradient of weights */
} simd_winograd;

/* Blocks of at most `tiles`: a few rows of tiles where they are long, for each row of tiles reads
 * two rows of its neighbours. */
static inline void simd_winograd_divide(simd_winograd *g, int64_t tiles)
{
    int64_t width = simd_larger(tiles / 4, 1), pieces = simd_divide_up(g->tile_columns, width);
    g->columns = simd_divide_up(g->tile_columns, pieces);
    g->column_blocks = simd_divide_up(g->tile_columns, g->columns);
    pieces = simd_divide_up(g->tile_rows, simd_larger(tiles / g->columns, 1));
    g->rows = simd_divide_up(g->tile_rows, pieces);
    g->row_blocks = simd_divide_up(g->tile_rows, g->rows);
    g->images = 1;
    if (g->column_blocks == 1 && g->row_blocks == 1)
        g->images = simd_smaller(simd_larger(tiles / (g->rows * g->columns), 1), g->batch);
    g->image_blocks = simd_divide_up(g->batch, g->images);
    g->images = simd_divide_up(g->batch, g->image_blocks);
    g->image_blocks = simd_divide_up(g->batch, g->images);
    g->blocks = g->image_blocks * g->row_blocks * g->column_blocks;
    g->tiles = g->images * g->rows * g->columns;
}

/* The same for each number of threads, so that bits are */
static inline void simd_winograd_divide_sum(simd_winograd *g)
{
    g->in_chunks = simd_divide_up(g->in, SIMD_WINOGRAD_CHUNK);
    g->in_chunk = simd_round_up(simd_divide_up(g->in, g->in_chunks), SIMD_WINOGRAD_LINE);
    g->in_chunks = simd_divide_up(g->in, g->in_chunk);
    g->out_chunks = simd_divide_up(g->out, SIMD_WINOGRAD_CHUNK);
    g->out_chunk = simd_divide_up(g->out, g->out_chunks);
    int64_t chunks = g->sets * g->in_chunks * g->out_chunks;
    simd_winograd_divide(g, SIMD_WINOGRAD_SUM_ROOM / (g->in_chunk + g->out_chunk));
    g->pieces = simd_smaller(SIMD_WINOGRAD_PIECES / chunks, g->blocks / SIMD_WINOGRAD_BLOCKS);
    g->pieces = simd_smaller(g->pieces, SIMD_WINOGRAD_SUMS / (g->sets * 9 * g->in * g->out));
    g->pieces = simd_larger(g->pieces, 1);
}

static inline simd_winograd simd_winograd_of(const simd_conv *a, simd_conv_kind kind)
{
    const simd_window *h = &a->h, *w = &a->w;
    simd_winograd g = {.batch = a->batch, .sets = a->groups};
    if (kind == SIMD_CONV_X) {
        g.in = a->out, g.out = a->in;
        g.h = h->count, g.w = w->count, g.top = 2 - h->padding, g.left = 2 - w->padding;
        g.height = h->size, g.width = w->size;
    } else {
        g.in = a->in, g.out = a->out;
        g.h = h->size, g.w = w->size, g.top = h->padding, g.left = w->padding;
        g.height = h->count, g.width = w->count;
    }
    g.tile_rows = simd_divide_up(g.height, 2);
    g.tile_columns = simd_divide_up(g.width, 2);
    if (kind == SIMD_CONV_W) {
        simd_winograd_divide_sum(&g);
        return g;
    }
    int64_t tiles = simd_smaller(SIMD_WINOGRAD_ROOM / g.in, SIMD_WINOGRAD_TILES);
    tiles = simd_larger(tiles, SIMD_WINOGRAD_FEW);
    simd_winograd_divide(&g, tiles);
    g.few = a->threads > 1 && g.sets * g.blocks < 4 * a->threads;
    return g;
}

/* Numbers of what a thread needs: a patch of what is read, the same of dy, points of either and of
 * the products, results. */
typedef struct simd_winograd_room {
    int64_t patch, other_patch, points, other_points, products, results, sum;
} simd_winograd_room;

static inline int64_t simd_winograd_points(int64_t size)
{
    return SIMD_WINOGRAD_POINTS * (size + SIMD_WINOGRAD_LINE);
}

static inline simd_winograd_room simd_winograd_room_of(const simd_winograd *g, simd_conv_kind kind)
{
    int64_t in = kind == SIMD_CONV_W ? g->in_chunk : simd_round_up(g->in, SIMD_WINOGRAD_LINE);
    int64_t out = simd_round_up(g->out_chunk, SIMD_WINOGRAD_LINE);
    int64_t around = (2 * g->rows + 2) * (2 * g->columns + 2), within = 4 * g->rows * g->columns;
    simd_winograd_room r = {.patch = around * in,
                            .points = g->few ? 0 : simd_winograd_points(g->tiles * in)};
    if (kind == SIMD_CONV_W) {
        r.other_patch = within * out;
        r.other_points = simd_winograd_points(g->tiles * out);
        r.products = simd_winograd_points(out * in);
        r.results = 9 * in;
    } else {
        r.products = simd_winograd_points(g->tiles * SIMD_WINOGRAD_GROUP);
        r.results = within * SIMD_WINOGRAD_GROUP;
    }
    r.sum = r.patch + r.other_patch + r.points + r.other_points + r.products + r.results;
    r.sum = simd_round_up(r.sum + 2 * SIMD_PRODUCT_PANEL, SIMD_WINOGRAD_LINE);
    return r;
}

/* Of one block, where blocks are few and all threads read them */
static inline int64_t simd_winograd_block(const simd_winograd *g)
{
    return simd_winograd_points(g->tiles * simd_round_up(g->in, SIMD_WINOGRAD_LINE));
}

static inline int64_t simd_winograd_weights(const simd_winograd *g)
{
    return g->sets * SIMD_WINOGRAD_POINTS * g->in * (g->out + 2 * SIMD_WINOGRAD_GROUP);
}

/* What threads share: the points of the weights and those of few blocks, or pieces of a gradient of
 * weights */
static inline int64_t simd_winograd_shared(const simd_winograd *g, simd_conv_kind kind)
{
    if (kind == SIMD_CONV_W)
        return g->pieces > 1
                   ? simd_round_up(g->pieces * g->sets * 9 * g->in * g->out, SIMD_WINOGRAD_LINE)
                   : 0;
    return simd_winograd_weights(g) + (g->few ? g->sets * g->blocks * simd_winograd_block(g) : 0);
}

/* In numbers, for any thread count up to a->threads: fewer threads have fewer blocks of their own
 * than there are blocks to be shared */
static inline int64_t simd_winograd_scratch(const simd_conv *a, simd_conv_kind kind)
{
    simd_winograd g = simd_winograd_of(a, kind);
    return simd_winograd_shared(&g, kind) + a->threads * simd_winograd_room_of(&g, kind).sum;
}

#endif
