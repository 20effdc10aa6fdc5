/* Blocks of tiles, and what lies under them: winograd.c, winograd_grad.c. */
#ifndef WG_BACKENDS_SIMD_KERNELS_WINOGRAD_TILES_H
#define WG_BACKENDS_SIMD_KERNELS_WINOGRAD_TILES_H

#include "backends/simd/kernels/product_tile.h"
#include "backends/simd/kernels/transpose.h"
#include "backends/simd/kernels/winograd.h"

enum { POINTS = SIMD_WINOGRAD_POINTS, LINE = SIMD_WINOGRAD_LINE };

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Tiles from (row, column) on of each of some images, of a set of channels */
typedef struct block {
    int64_t set, image, images, row, rows, column, columns;
} block;

/* Block i of those of all sets, set after set */
static inline block block_at(const simd_winograd *g, int64_t i)
{
    int64_t of_set = i % g->blocks;
    block b = {.set = i / g->blocks,
               .column = of_set % g->column_blocks * g->columns,
               .row = of_set / g->column_blocks % g->row_blocks * g->rows,
               .image = of_set / g->column_blocks / g->row_blocks * g->images};
    b.columns = simd_smaller(g->columns, g->tile_columns - b.column);
    b.rows = simd_smaller(g->rows, g->tile_rows - b.row);
    b.images = simd_smaller(g->images, g->batch - b.image);
    return b;
}

static inline int64_t tiles_of(const block *b)
{
    return b->images * b->rows * b->columns;
}

/* ---- channel beside channel ------------------------------------------------------------------ */

/* Positions of planes, row by row, and numbers of a patch [rows, columns, pitch], of which a row
 * has `row` positions */
typedef struct lie {
    int64_t row, columns, pitch;
} lie;

static inline int64_t place_of(const lie *l, int64_t position)
{
    uint32_t row = (uint32_t)position / (uint32_t)l->row;
    return (row * l->columns + position - row * l->row) * l->pitch;
}

/* SIMD_STEP positions of as many planes, ld apart, become numbers of the patch; or the reverse,
 * `back`. */
SIMD_INLINE void move_square(float *plane, int64_t ld, int64_t position, const lie *l, float *patch,
                             bool back)
{
    float square[SIMD_STEP * SIMD_STEP], *first = patch + place_of(l, position);
    if (position % l->row + SIMD_STEP <= l->row) {
        if (back)
            simd_transpose_square(first, l->pitch, plane + position, ld);
        else
            simd_transpose_square(plane + position, ld, first, l->pitch);
        return;
    }
    if (!back)
        simd_transpose_square(plane + position, ld, square, SIMD_STEP);
    for (int i = 0; i < SIMD_STEP; i++) {
        simd_group *in_square = (simd_group *)(square + i * SIMD_STEP),
                   *in_patch = (simd_group *)(patch + place_of(l, position + i));
        *(back ? in_square : in_patch) = *(back ? in_patch : in_square);
    }
    if (back)
        simd_transpose_square(square, SIMD_STEP, plane + position, ld);
}

/* `count` positions of `channels` planes */
SIMD_INLINE void move(float *plane, int64_t ld, int64_t channels, int64_t count, const lie *l,
                      float *patch, bool back)
{
    int64_t c = 0;
    for (; count >= SIMD_STEP && c + SIMD_STEP <= channels; c += SIMD_STEP)
        for (int64_t i = 0; i < count; i += SIMD_STEP)
            move_square(plane + c * ld, ld, simd_smaller(i, count - SIMD_STEP), l, patch + c, back);
    for (int64_t i = 0; c < channels && i < count; i++)
        for (int64_t k = c; k < channels; k++) {
            float *in_plane = plane + k * ld + i, *in_patch = patch + place_of(l, i) + k;
            *(back ? in_plane : in_patch) = *(back ? in_patch : in_plane);
        }
}

/* ---- patches of what is read ----------------------------------------------------------------- */

/* From (top, left) of planes [channels, h, w] on, which may lie outside, where there are zeros;
 * also in channels beyond the last. */
typedef struct patch {
    int64_t h, w, top, left, rows, columns, channels, pitch;
} patch;

static inline void clear(float *x, int64_t count)
{
    if (count > 0)
        memset(x, 0, (size_t)count * sizeof *x);
}

/* Whole rows of planes, or parts of them one by one, become to [rows, columns, pitch]. */
static void read_patch(const patch *p, const float *x, float *to)
{
    int64_t line = p->columns * p->pitch, ld = p->h * p->w;
    int64_t above = simd_smaller(simd_larger(-p->top, 0), p->rows),
            end = simd_larger(simd_smaller(p->h - p->top, p->rows), above);
    int64_t before = simd_smaller(simd_larger(-p->left, 0), p->columns),
            last = simd_larger(simd_smaller(p->w - p->left, p->columns), before);
    int64_t step = last - before == p->w ? end - above : 1;
    lie l = {last - before, p->columns, p->pitch};
    clear(to, above * line);
    clear(to + end * line, (p->rows - end) * line);
    for (int64_t row = above; row < end; row++)
        if (p->channels < p->pitch) {
            clear(to + row * line, line);
        } else {
            clear(to + row * line, before * p->pitch);
            clear(to + row * line + last * p->pitch, (p->columns - last) * p->pitch);
        }
    for (int64_t row = above; l.row > 0 && row < end; row += step)
        move((float *)x + (p->top + row) * p->w + p->left + before, ld, p->channels, step * l.row,
             &l, to + row * line + before * p->pitch, false); /* x is only read */
}

/* ---- points of what windows see -------------------------------------------------------------- */

/* One column of a tile: B' x */
SIMD_INLINE void points_of_column(const float *x, int64_t line, vector y[4])
{
    vector x0 = *(const vector *)x, x1 = *(const vector *)(x + line),
           x2 = *(const vector *)(x + 2 * line), x3 = *(const vector *)(x + 3 * line);
    y[0] = x0 - x2;
    y[1] = x1 + x2;
    y[2] = x2 - x1;
    y[3] = x1 - x3;
}

/* Some channels of a row of tiles: V = B' x B, B' = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1].  A
 * tile's last two columns are the first two of the next. */
SIMD_INLINE void points_of_row(const float *x, int64_t line, int64_t columns, int64_t pitch,
                               float *to, int64_t to_pitch, int64_t next)
{
    vector a[4], b[4], c[4], d[4];
    points_of_column(x, line, a);
    points_of_column(x + pitch, line, b);
    for (int64_t i = 0; i < columns; i++, to += to_pitch) {
        x += 2 * pitch;
        points_of_column(x, line, c);
        points_of_column(x + pitch, line, d);
        SIMD_UNROLLED
        for (int k = 0; k < 4; k++) {
            *(vector *)(to + (4 * k) * next) = a[k] - c[k];
            *(vector *)(to + (4 * k + 1) * next) = b[k] + c[k];
            *(vector *)(to + (4 * k + 2) * next) = c[k] - b[k];
            *(vector *)(to + (4 * k + 3) * next) = b[k] - d[k];
            a[k] = c[k];
            b[k] = d[k];
        }
    }
}

/* Points of all tiles: [POINTS] [tiles, pitch] at `at`, where points are `next` apart */
typedef struct points {
    float *at;
    int64_t pitch, next;
} points;

/* Of all tiles over a patch of `pitch` channels */
static void make_points(const float *x, int64_t rows, int64_t columns, int64_t pitch,
                        const points *to, int64_t first)
{
    int64_t line = (2 * columns + 2) * pitch;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < pitch; c += LANES)
            points_of_row(x + 2 * row * line + c, line, columns, pitch,
                          to->at + (first + row * columns) * to->pitch + c, to->pitch, to->next);
}

/* Of `channels` channels of what is read in a block, from `first` of its set on: the points of all
 * its tiles, by way of a patch of so many channels as `pitch` says. */
static void read_points(const simd_winograd *g, const block *b, const float *x, int64_t first,
                        int64_t channels, int64_t pitch, float *room, const points *to)
{
    patch p = {.h = g->h,
               .w = g->w,
               .top = 2 * b->row - g->top,
               .left = 2 * b->column - g->left,
               .rows = 2 * b->rows + 2,
               .columns = 2 * b->columns + 2,
               .channels = channels,
               .pitch = pitch};
    for (int64_t i = 0; i < b->images; i++) {
        int64_t channel = ((b->image + i) * g->sets + b->set) * g->in + first;
        read_patch(&p, x + channel * g->h * g->w, room);
        make_points(room, b->rows, b->columns, pitch, to, i * b->rows * b->columns);
    }
}

#endif
