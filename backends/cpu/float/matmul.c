/* y[..., i, j] = sum over k of a[..., i, k] b[..., k, j], each sum in the order of k from 0: the
 * bits of the plain triple loop, whatever the blocks and the threads.
 *
 * y is cut into tiles, which threads share out.  For a tile, k advances in steps of DEPTH: so
 * many columns of a and rows of b are packed, transposed or not, into panels that the inner loops
 * read from end to end; then each block of y of ROWS x COLUMNS is carried in registers through
 * the depth (as in Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication,
 * 2008). */
#include "backends/broadcast.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/linalg.h"

enum {
    ROWS = 4,                    /* of a block of y held in registers:    */
    COLUMNS = 32 / sizeof(real), /* 4 x 8 floats, 4 x 4 doubles           */
    TILE = 128,                  /* most rows and columns of a tile       */
    DEPTH = 512 / sizeof(real),  /* of packed panels: 64 KiB each, on the stack */
};

/* A matrix as it lies in memory. */
typedef struct matrix {
    const real *at;
    int64_t row, column; /* strides */
} matrix;

static matrix part(matrix m, int64_t row, int64_t column)
{
    m.at += row * m.row + column * m.column;
    return m;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Strips of `width` lines: to[strip][k][line] = from[line, k], lines beyond the last are 0. */
static void pack(real *restrict to, matrix from, int64_t lines, int64_t depth, int width)
{
    for (int64_t first = 0; first < lines; first += width, to += depth * width) {
        int64_t count = min(width, lines - first);
        const real *restrict x = from.at + first * from.row;
        if (count < width)
            memset(to, 0, sizeof *to * (size_t)(depth * width));
        if (from.row == 1)
            for (int64_t k = 0; k < depth; k++)
                for (int64_t i = 0; i < count; i++)
                    to[k * width + i] = x[k * from.column + i];
        else
            for (int64_t i = 0; i < count; i++)
                for (int64_t k = 0; k < depth; k++)
                    to[k * width + i] = x[i * from.row + k * from.column];
    }
}

/* y[i][j] += sum over k of a[k][i] b[k][j], for one block. */
static void block(real y[restrict ROWS][COLUMNS], const real *restrict a, const real *restrict b,
                  int64_t depth)
{
    real s[ROWS][COLUMNS];
    memcpy(s, y, sizeof s);
    for (int64_t k = 0; k < depth; k++, a += ROWS, b += COLUMNS)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                s[i][j] += a[i] * b[j];
    memcpy(y, s, sizeof s);
}

/* One tile of y, rows x columns, `stride` apart. */
static void tile(real *y, int64_t stride, matrix a, matrix b, int64_t rows, int64_t columns,
                 int64_t inner)
{
    _Alignas(64) real pa[TILE * DEPTH], pb[TILE * DEPTH], yb[ROWS][COLUMNS] = {{0}};
    for (int64_t i = 0; i < rows; i++)
        memset(y + i * stride, 0, sizeof *y * (size_t)columns);
    for (int64_t k = 0; k < inner; k += DEPTH) {
        int64_t depth = min(DEPTH, inner - k);
        matrix bt = {b.at + k * b.row, b.column, b.row};
        pack(pa, part(a, 0, k), rows, depth, ROWS);
        pack(pb, bt, columns, depth, COLUMNS);
        for (int64_t j = 0; j < columns; j += COLUMNS)
            for (int64_t i = 0; i < rows; i += ROWS) {
                int64_t height = min(ROWS, rows - i), width = min(COLUMNS, columns - j);
                for (int64_t r = 0; r < height; r++)
                    memcpy(yb[r], y + (i + r) * stride + j, sizeof *y * (size_t)width);
                block(yb, pa + i * depth, pb + j * depth, depth);
                for (int64_t r = 0; r < height; r++)
                    memcpy(y + (i + r) * stride + j, yb[r], sizeof *y * (size_t)width);
            }
    }
}

/* The tiles of all matrices of a batch, which has `down` x `across` of them for each. */
typedef struct tiles {
    int64_t rows, columns, inner; /* of one product */
    int64_t height, down, across;
    bool transpose_a, transpose_b;
    wg_shape batch;
    int64_t a_stride[WG_MAX_RANK], b_stride[WG_MAX_RANK]; /* of the batch's axes, in matrices */
} tiles;

static void compute_tiles(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    const tiles *t = loop;
    int64_t rows = t->rows, columns = t->columns, inner = t->inner;
    for (int64_t k = first; k < end; k++) {
        int64_t i = k / t->across % t->down * t->height, j = k % t->across * TILE;
        int64_t product = k / t->across / t->down, ia = 0, ib = 0;
        for (int64_t axis = t->batch.rank - 1, rest = product; axis >= 0; axis--) {
            ia += rest % t->batch.dim[axis] * t->a_stride[axis];
            ib += rest % t->batch.dim[axis] * t->b_stride[axis];
            rest /= t->batch.dim[axis];
        }
        matrix a = {(const real *)c->in[0] + ia * rows * inner, t->transpose_a ? 1 : inner,
                    t->transpose_a ? rows : 1};
        matrix b = {(const real *)c->in[1] + ib * inner * columns, t->transpose_b ? 1 : columns,
                    t->transpose_b ? inner : 1};
        real *y = (real *)c->out[0] + product * rows * columns + i * columns + j;
        tile(y, columns, part(a, i, 0), part(b, 0, j), min(t->height, rows - i),
             min(TILE, columns - j), inner);
    }
}

void KERNEL(matmul)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_matmul_attrs *attrs = n->attrs;
    const wg_shape *as = &n->in[0]->shape, *bs = &n->in[1]->shape, *ys = &n->out[0]->shape;
    tiles t = {.rows = ys->dim[ys->rank - 2],
               .columns = ys->dim[ys->rank - 1],
               .inner = as->dim[as->rank - (attrs->transpose_a ? 2 : 1)],
               .height = TILE,
               .transpose_a = attrs->transpose_a,
               .transpose_b = attrs->transpose_b,
               .batch = *ys};
    if (cpu_count(n->out[0]) == 0)
        return;

    wg_shape abatch = *as, bbatch = *bs;
    t.batch.rank -= 2, abatch.rank -= 2, bbatch.rank -= 2;
    wgi_broadcast_strides(&abatch, &t.batch, t.a_stride);
    wgi_broadcast_strides(&bbatch, &t.batch, t.b_stride);

    int64_t batches = wg_shape_count(&t.batch);
    int threads = cpu_threads(c, batches * t.rows * t.columns * t.inner);
    t.across = (t.columns + TILE - 1) / TILE;
    t.down = (t.rows + TILE - 1) / TILE;
    while (batches * t.down * t.across < threads && t.height > 4 * ROWS) {
        t.height /= 2; /* lower where the tiles would not go round */
        t.down = (t.rows + t.height - 1) / t.height;
    }
    cpu_share(c, &t, batches * t.down * t.across, threads, compute_tiles);
}
